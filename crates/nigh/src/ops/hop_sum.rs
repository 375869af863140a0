//! `Y = Σ_k a_k Ã^k X`: neighbourhoods of every size at once, with learnt or fixed coefficients.

use super::propagate::draw_edges;
use crate::graph::{EdgeMask, HopBuffers, Operator, apply_hop_sum, apply_hops, apply_masked_hops, buffered_width};
use crate::linalg::dispatch::simd;
use crate::linalg::half::Storage;
use crate::linalg::{Matrix, add_scaled, dot, for_row_blocks, for_two_row_blocks, rows_of};
use crate::tape::{Gradients, Inputs, Operation, Pass};
use std::sync::Arc;

/// `Y = Σ_{k=0..K} a_k Ã^k X`; `inputs = [X, a]` with a learnt row `a` of `K + 1` numbers, or `[X]` with fixed ones.
///
/// `K` hops forward and `K` back, and no power of `Ã` times `X` is kept. With `G_k = (Ã^T)^k G`, the gradients are
/// `dX = Σ_k a_k G_k` and `da_k = <G, Ã^k X> = <G_k, X>`.
#[derive(Debug)]
pub struct HopSum {
    operator: Operator,
    transposed: Operator,
    coefficients: Coefficients,
    mask: Option<EdgeMask>,
    buffers: HopBuffers,
    /// `G_k` and `G_(k+1)`.
    powers: [Matrix; 2],
    /// `<G_k, X>` of each row.
    products: Vec<f32>,
}

#[derive(Debug)]
enum Coefficients {
    /// The second input has this many.
    Learnt(usize),
    Fixed(Vec<f32>),
}

impl HopSum {
    /// `inputs = [X, a]`, where `a` has `hops + 1` numbers.
    pub fn learnt(operator: Operator, hops: usize) -> HopSum {
        HopSum::new(operator, Coefficients::Learnt(hops + 1))
    }

    /// `inputs = [X]`, with these `a_0, ..., a_K`.
    pub fn fixed(operator: Operator, coefficients: Vec<f32>) -> HopSum {
        assert!(!coefficients.is_empty(), "a coefficient of X itself at least");
        HopSum::new(operator, Coefficients::Fixed(coefficients))
    }

    /// `inputs = [X]`; personalised PageRank as APPNP takes it (Gasteiger et al.): `Z <- (1 - α) Ã Z + α X`, `hops` times from
    /// `Z = X` on, hence `a_k = α (1 - α)^k` and `a_K = (1 - α)^K`.
    pub fn page_rank(operator: Operator, hops: usize, teleport: f32) -> HopSum {
        let powers: Vec<f32> = (0..=hops).map(|k| (1.0 - teleport).powi(k as i32)).collect();
        let coefficient = |(k, power): (usize, f32)| if k == hops { power } else { teleport * power };
        HopSum::fixed(operator, powers.into_iter().enumerate().map(coefficient).collect())
    }

    /// In training every hop drops each edge with probability `rate`, in both directions alike, and scales those that it keeps by
    /// `1 / (1 - rate)`; self loops stay: `Y = a_0 X + Ã_1 (a_1 X + Ã_2 (a_2 X + ...))` with a mask of its own in each `Ã_k`.
    /// `name` is part of the masks' address, and node `i` is known as `addresses[i]`.
    pub fn with_edge_dropout(self, rate: f32, name: &str, addresses: Arc<[u32]>) -> HopSum {
        HopSum { mask: Some(EdgeMask::new(rate, name, addresses)), ..self }
    }

    fn new(operator: Operator, coefficients: Coefficients) -> HopSum {
        HopSum {
            transposed: operator.transposed(),
            operator,
            coefficients,
            mask: None,
            buffers: HopBuffers::default(),
            powers: Default::default(),
            products: Vec::new(),
        }
    }
}

impl Coefficients {
    fn values<'a>(&'a self, inputs: Inputs<'a>) -> &'a [f32] {
        match self {
            Coefficients::Learnt(count) => {
                let a = inputs.get(1).data();
                assert_eq!(a.len(), *count, "a coefficient per hop and one of X itself");
                a
            }
            Coefficients::Fixed(values) => values,
        }
    }
}

impl Operation for HopSum {
    fn forward(&mut self, inputs: Inputs<'_>, output: &mut Matrix, pass: &Pass) {
        let a = self.coefficients.values(inputs);
        draw_edges(&mut self.mask, &self.operator, a.len() - 1, pass);
        let mask = self.mask.as_mut().and_then(EdgeMask::drawn);
        apply_hop_sum(&self.operator, a, mask, inputs.get(0), output, &mut self.buffers);
    }

    /// Buffers of the hops, and two powers of the gradient.
    fn buffered_width(&self, inputs: &[usize]) -> usize {
        buffered_width(inputs[0]) + 2 * inputs[0]
    }

    fn backward(&mut self, inputs: Inputs<'_>, _: &Matrix, gradient: &Matrix, wanted: &mut Gradients<'_>) {
        let HopSum { transposed, coefficients, mask, buffers, powers, products, .. } = self;
        let mut mask = mask.as_mut().and_then(EdgeMask::drawn);
        let a = coefficients.values(inputs);
        // Horner's rule, which saves the sums, gives masks the wrong order: Ã_k^T ⋯ Ã_1^T G is what belongs to a_k.
        if wanted.get(1).is_none() && mask.is_none() {
            if let Some(dx) = wanted.get(0) {
                apply_hop_sum(transposed, a, None, gradient, dx, buffers);
            }
            return;
        }
        let x = inputs.get(0);
        let [rows, width] = x.shape();
        if let Some(dx) = wanted.get(0) {
            dx.reshape(rows, width);
        }
        if let Some(da) = wanted.get(1) {
            da.reshape(1, a.len());
        }
        products.resize(rows, 0.0);
        let [power, next] = powers;
        for (k, &a_k) in a.iter().enumerate() {
            if k > 0 {
                let before = if k == 1 { gradient } else { &*power };
                match &mut mask {
                    Some(mask) => apply_masked_hops(transposed, k - 1..k, mask, before, &[], next, buffers),
                    None => apply_hops(transposed, 1, Storage::Single, before, &[], next, buffers),
                }
                std::mem::swap(power, next);
            }
            let g_k = if k == 0 { gradient } else { &*power };
            match wanted.get(0) {
                Some(dx) => for_two_row_blocks(dx.data_mut(), width, products, 1, 2 * width, |first, dx, products| {
                    let count = products.len();
                    add_and_multiply(rows_of(g_k, first, count), a_k, k == 0, rows_of(x, first, count), dx, products);
                }),
                None => for_row_blocks(products, 1, width, |first, products| {
                    let count = products.len();
                    multiply_rows(rows_of(g_k, first, count), rows_of(x, first, count), products);
                }),
            }
            if let Some(da) = wanted.get(1) {
                // Row after row in double precision: one order, and no digit lost on a million rows.
                da.data_mut()[k] = products.iter().map(|&product| f64::from(product)).sum::<f64>() as f32;
            }
        }
    }

    /// Every training pass drops other edges.
    fn is_dynamic(&self) -> bool {
        self.mask.as_ref().is_some_and(EdgeMask::is_active)
    }
}

simd! {
    /// `dx_i += a g_i`, or `= a g_i` for the first of them, and `<g_i, x_i>` of each row.
    fn add_and_multiply(g: &[f32], a: f32, is_first: bool, x: &[f32], dx: &mut [f32], products: &mut [f32]) {
        let width = (g.len() / products.len()).max(1);
        let rows = g.chunks_exact(width).zip(x.chunks_exact(width)).zip(dx.chunks_exact_mut(width));
        for (((g, x), dx), product) in rows.zip(products) {
            if is_first {
                for (dx, g) in dx.iter_mut().zip(g) {
                    *dx = a * g;
                }
            } else {
                add_scaled(dx, a, g);
            }
            *product = dot(g, x);
        }
    }
}

simd! {
    fn multiply_rows(g: &[f32], x: &[f32], products: &mut [f32]) {
        let width = (g.len() / products.len()).max(1);
        for ((g, x), product) in g.chunks_exact(width).zip(x.chunks_exact(width)).zip(products) {
            *product = dot(g, x);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::generate;
    use crate::graph::Graph;
    use crate::linalg::dispatch::testing::assert_same_bits_at_every_level;
    use crate::ops::propagate::Propagate;
    use crate::tape::{check_gradients, value_and_gradients};

    fn weighted() -> Operator {
        let (graph, _) = Graph::from_weighted_edges(5, &[[0, 1], [1, 2], [0, 3]], &[0.5, 2.0, 1.0]).unwrap();
        Operator::symmetric(graph.into())
    }

    fn filled(rows: usize, cols: usize) -> Matrix {
        Matrix::from_fn(rows, cols, |i, c| ((i * 31 + c * 17) % 1013) as f32 * 0.002 - 1.0)
    }

    #[test]
    fn gradients_agree_with_finite_differences() {
        // The mean is not symmetric: its gradient needs the transposed operator.
        for operator in [weighted(), weighted().mean()] {
            for hops in 0..4 {
                check_gradients(&[[5, 3], [1, hops + 1]], || HopSum::learnt(operator.clone(), hops));
                check_gradients(&[[5, 3]], || HopSum::page_rank(operator.clone(), hops, 0.1));
                let addresses: Arc<[u32]> = [9, 0, 4, 2, 7].into();
                let learnt = || HopSum::learnt(operator.clone(), hops).with_edge_dropout(0.4, "a", addresses.clone());
                check_gradients(&[[5, 3], [1, hops + 1]], learnt);
                let page_rank = || HopSum::page_rank(operator.clone(), hops, 0.1);
                check_gradients(&[[5, 3]], || page_rank().with_edge_dropout(0.4, "a", addresses.clone()));
            }
        }
    }

    #[test]
    fn it_is_the_sum_of_dense_powers() {
        // 24 nodes of degree about 5, and a complete graph, whose rows are scaled before they are read.
        let dense = (0..40).flat_map(|a| (a + 1..40).map(move |b| [a, b])).collect::<Vec<_>>();
        let graphs = [generate::communities(4, 6, 0.1, 3).graph, Graph::from_edges(40, &dense).unwrap().0];
        for operator in graphs.map(|graph| Operator::symmetric(graph.into())) {
            let n = operator.graph().num_nodes();
            let matrix = operator.propagate(Matrix::identity(n), 1);
            for (width, a) in [(3, vec![0.3]), (16, vec![0.5, -0.2]), (7, vec![0.1, 0.7, -0.4, 0.9])] {
                let x = filled(n, width);
                let inputs = [x.clone(), Matrix::from_rows(&[&a])];
                let (y, gradients) = value_and_gradients(&mut HopSum::learnt(operator.clone(), a.len() - 1), &inputs);
                let (fixed, of_fixed) =
                    value_and_gradients(&mut HopSum::fixed(operator.clone(), a.clone()), &inputs[..1]);
                assert_eq!(fixed, y);
                let mut expected = vec![0.0; n * width];
                let mut power: Vec<f64> = x.data().iter().map(|&x| f64::from(x)).collect();
                for &a in &a {
                    expected.iter_mut().zip(&power).for_each(|(sum, p)| *sum += f64::from(a) * p);
                    let entry = |at: usize| {
                        let (i, c) = (at / width, at % width);
                        (0..n).map(|j| f64::from(matrix.row(i)[j]) * power[j * width + c]).sum()
                    };
                    power = (0..n * width).map(entry).collect();
                }
                let near = |found: f32, expected: f64| (f64::from(found) - expected).abs() < 1e-5;
                assert!(y.data().iter().zip(&expected).all(|(&found, &expected)| near(found, expected)));
                let pairs = gradients[0].data().iter().zip(of_fixed[0].data());
                assert!(pairs.clone().all(|(&a, &b)| near(a, f64::from(b))), "powers and Horner's rule");
            }
        }
    }

    #[test]
    fn with_dropped_edges_the_last_power_alone_is_propagation_that_drops_the_same() {
        let operator = Operator::symmetric(generate::communities(4, 6, 0.1, 3).graph.into());
        let (x, addresses): (_, Arc<[u32]>) = ([filled(24, 16)], (0..24).rev().collect());
        let mut sum = HopSum::fixed(operator.clone(), vec![0.0, 0.0, 0.0, 1.0]);
        sum = sum.with_edge_dropout(0.5, "a", addresses.clone());
        let mut propagate = Propagate::new(operator, 3).with_edge_dropout(0.5, "a", addresses);
        let (y, gradients) = value_and_gradients(&mut sum, &x);
        let (expected, expected_gradients) = value_and_gradients(&mut propagate, &x);
        let near = |a: &Matrix, b: &Matrix| a.data().iter().zip(b.data()).all(|(a, b)| (a - b).abs() < 1e-6);
        assert!(near(&y, &expected) && near(&gradients[0], &expected_gradients[0]));
    }

    #[test]
    fn page_rank_is_the_iteration_of_appnp() {
        let (operator, x) = (weighted(), filled(5, 8));
        for hops in [0, 1, 10] {
            let (y, _) =
                value_and_gradients(&mut HopSum::page_rank(operator.clone(), hops, 0.1), std::slice::from_ref(&x));
            let mut z = x.clone();
            for _ in 0..hops {
                z = operator.propagate(z, 1);
                z.data_mut().iter_mut().zip(x.data()).for_each(|(z, x)| *z = 0.9 * *z + 0.1 * x);
            }
            assert!(y.data().iter().zip(z.data()).all(|(y, z)| (y - z).abs() < 1e-6), "{y:?} {z:?}");
        }
    }

    #[test]
    fn the_bits_do_not_depend_on_threads_or_level() {
        let shape = generate::PowerLaw::new(3_000, 40_000);
        let operator = Operator::symmetric(generate::power_law(&shape, 5).unwrap().graph.into());
        for width in [7, 64] {
            let inputs = [filled(3_000, width), Matrix::from_rows(&[[0.5, -0.25, 0.3]])];
            let learnt = || HopSum::learnt(operator.clone(), 2);
            let run = || {
                let mut dropping = learnt().with_edge_dropout(0.5, "a", (0..3_000).collect());
                (value_and_gradients(&mut learnt(), &inputs), value_and_gradients(&mut dropping, &inputs))
            };
            let on = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(run);
            let alone = on(1);
            assert_eq!(alone, on(2));
            assert_eq!(alone, on(4));
            assert_same_bits_at_every_level(run);
        }
    }

    #[test]
    fn the_second_pass_finds_its_storage() {
        let (operator, inputs) = (weighted(), [filled(5, 16), Matrix::from_rows(&[[0.5, -0.25, 0.3]])]);
        let mut sum = HopSum::learnt(operator, 2);
        let places = |sum: &HopSum| {
            let mut places = sum.powers.each_ref().map(|power| power.data().as_ptr());
            places.sort_unstable();
            (places, sum.products.as_ptr())
        };
        value_and_gradients(&mut sum, &inputs);
        let first = places(&sum);
        value_and_gradients(&mut sum, &inputs);
        assert_eq!(places(&sum), first);
    }
}
