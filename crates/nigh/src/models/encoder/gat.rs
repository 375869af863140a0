//! Graph attention (Veličković et al.): every node weighs its neighbours, and itself, by how well they fit it.

use super::{Encoder, Input, Layers, Scope};
use crate::ops::attention::Attention;
use crate::tape::{Init, Var};

/// `K` layers of attention with ReLU between them. Dropout applies to what enters a layer and to the weights of neighbours.
#[derive(Debug)]
pub struct Gat {
    /// Their number, width and dropout probability.
    pub layers: Layers,
    /// Attention heads side by side, in every layer but the last, which has one.
    pub heads: usize,
}

impl Encoder for Gat {
    fn encode(&self, scope: &mut Scope<'_>, mut input: Input) -> Var {
        // As wide as hidden layers are, in whole heads.
        let Layers { count, hidden, dropout } = self.layers;
        let hidden = hidden.next_multiple_of(self.heads);
        input = scope.dropout(input, dropout, "gat/0/dropout");
        for layer in 1..=count {
            let last = layer == count;
            let (heads, width) = if last { (1, scope.width) } else { (self.heads, hidden) };
            let name = format!("gat/{layer}");
            let x = scope.product(&input, &format!("{name}/weight"), width, Init::glorot([input.cols(), width]));
            let init = Init::glorot([heads, width / heads]);
            let source = scope.weight(&format!("{name}/source"), [1, width], init);
            let target = scope.weight(&format!("{name}/target"), [1, width], init);
            let bias = scope.weight(&format!("{name}/bias"), [1, width], Init::Zeros);
            let attention = Attention::new(scope.operator.clone(), heads)
                .dropping(dropout, &scope.name(&format!("{name}/attention")))
                .by(scope.addresses.clone());
            let x = scope.tape.push(attention, &[x, source, target, bias]);
            if last {
                return x;
            }
            input = Input::dense(scope.relu_dropout(x, dropout, &format!("{name}/dropout")));
        }
        unreachable!("a configuration with zero layers is refused on input")
    }
}
