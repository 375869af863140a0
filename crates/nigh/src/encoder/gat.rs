//! Graph attention (Veličković et al.): every node weighs its neighbours, and itself, by how well they fit it.

use super::{Encoder, Input, Scope};
use crate::ops::attention::Attention;
use crate::tape::{Start, Var};

/// How many heads look at the neighbours, side by side, in every layer but the last, which has one.
const HEADS: usize = 4;

/// `K` layers of attention with ReLU between them. Entries of what enters a layer are dropped, and weights of neighbours.
#[derive(Debug)]
pub struct Gat;

impl Encoder for Gat {
    fn encode(&self, scope: &mut Scope<'_>, mut input: Input) -> (Var, usize) {
        // As wide as hidden layers are, in whole heads.
        let hidden = scope.hidden.next_multiple_of(HEADS);
        input = scope.dropout(input, "gat/0/dropout");
        for layer in 1..=scope.hops {
            let last = layer == scope.hops;
            let (heads, width) = if last { (1, scope.width) } else { (HEADS, hidden) };
            let name = format!("gat/{layer}");
            let x = scope.product(&input, &format!("{name}/weight"), width, Start::Glorot);
            let bound = Start::Glorot.bound([heads, width / heads]);
            let source = scope.weights.uniform(&scope.name(&format!("{name}/source")), [1, width], bound);
            let target = scope.weights.uniform(&scope.name(&format!("{name}/target")), [1, width], bound);
            let bias = scope.weights.zeros(&scope.name(&format!("{name}/bias")), [1, width]);
            let attention = Attention::new(scope.operator.clone(), heads)
                .dropping(scope.dropout, &scope.name(&format!("{name}/attention")))
                .by(scope.addresses.clone());
            let x = scope.tape.push(attention, &[x, source, target, bias]);
            if last {
                return (x, width);
            }
            input = Input::dense(scope.relu_dropout(x, &format!("{name}/dropout")), hidden);
        }
        unreachable!("a configuration with zero layers is refused at the door")
    }
}
