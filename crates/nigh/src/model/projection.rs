//! Features in their leading directions: `X̂ V`, with rare words weighed more and rows of length one.

use super::{Model, View};
use crate::dataset::Features;
use crate::linalg::dispatch::simd;
use crate::linalg::svd::{Rows, truncated_svd};
use crate::linalg::{Matrix, add_scaled, for_row_blocks};
use crate::tape::WeightAccess;

/// `V`: from features to directions.
const PROJECTION: &str = "pairs/projection";

/// How much each feature counts: the inverse document frequency of words.
const RARITY: &str = "pairs/rarity";

/// Directions, where there are more features.
const MOST_DIRECTIONS: usize = 256;

/// The leading ones, in which nodes are represented: on CiteSeer twice as many are no better, and take twice the memory and time.
const REPRESENTED: usize = 128;

/// Declares `V` and the weights of features: zero until they are learnt.
pub(super) fn declare(num_features: usize, weights: &mut WeightAccess<'_>) {
    weights.frozen(PROJECTION, [num_features, num_features.min(MOST_DIRECTIONS)]);
    weights.frozen(RARITY, [1, num_features]);
}

/// The columns of `X̂ V` in which nodes are represented: all features if they are few. `V` is declared if it is not there yet.
pub(super) fn leading(features: &Features, num_features: usize, weights: &mut WeightAccess<'_>) -> Matrix {
    declare(num_features, weights);
    let width = if num_features > MOST_DIRECTIONS { REPRESENTED } else { num_features };
    if features.rows() == 0 {
        return Matrix::zeros(0, width);
    }
    let projection = weights.frozen(PROJECTION, [num_features, num_features.min(MOST_DIRECTIONS)]);
    let leading = Matrix::from_fn(num_features, width, |feature, column| projection.row(feature)[column]);
    projected(features, weights.frozen(RARITY, [1, num_features]).data(), &leading)
}

impl Model {
    /// `X̂ V`, if the model looks at features so.
    pub(super) fn projected_features(&self, view: &View) -> Option<Matrix> {
        let [projection, rarity] = [PROJECTION, RARITY].map(|name| self.weights.get(name).map(|weight| &weight.value));
        Some(projected(&view.features, rarity?.data(), projection?))
    }

    /// Learns the directions: all features, or the leading right singular vectors of many. Rare words count more than common ones.
    pub(super) fn learn_projection(&mut self, features: &Features) {
        let seeds = self.seeds();
        let Some(projection) = self.weights.named(PROJECTION) else { return };
        let [num_features, rank] = projection.value.shape();
        projection.value = match features {
            _ if num_features == rank => Matrix::identity(rank),
            Features::Sparse(matrix) => truncated_svd(Rows::Sparse(&matrix.tf_idf()), rank, seeds).right,
            Features::Dense(matrix) => truncated_svd(Rows::Dense(&matrix.with_unit_rows()), rank, seeds).right,
            Features::Constant(_) => Matrix::identity(rank),
        };
        let counts = match features {
            Features::Sparse(matrix) => matrix.inverse_document_frequencies(),
            _ => vec![1.0; num_features],
        };
        self.weights.named(RARITY).expect("declared with the projection").value =
            Matrix::from_data(1, num_features, counts);
    }
}

fn projected(features: &Features, rarity: &[f32], projection: &Matrix) -> Matrix {
    let width = projection.cols();
    let mut rows = Matrix::zeros(features.rows(), width);
    let entries = |row: usize| -> Vec<(u32, f32)> {
        match features {
            Features::Sparse(matrix) => matrix.row(row).collect(),
            Features::Dense(matrix) => (0..).zip(matrix.row(row).iter().copied()).collect(),
            Features::Constant(_) => vec![(0, 1.0)],
        }
    };
    for_row_blocks(rows.data_mut(), width, 64 * width, |first, rows| {
        for (at, row) in rows.chunks_exact_mut(width).enumerate() {
            let mut entries = entries(first + at);
            entries.iter_mut().for_each(|(column, value)| *value *= rarity[*column as usize]);
            let length = entries.iter().map(|(_, value)| value * value).sum::<f32>().sqrt();
            let scale = if length > 0.0 { 1.0 / length } else { 0.0 };
            add_rows(row, &entries, scale, projection);
        }
    });
    rows
}

simd! {
    fn add_rows(sum: &mut [f32], entries: &[(u32, f32)], scale: f32, rows: &Matrix) {
        for &(row, value) in entries {
            add_scaled(sum, scale * value, rows.row(row as usize));
        }
    }
}
