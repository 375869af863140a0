//! Features in their leading directions: `X̂ V`, with rare words weighed more and rows of length one.

use crate::dataset::Features;
use crate::linalg::dispatch::simd;
use crate::linalg::svd::{Rows, truncated_svd};
use crate::linalg::{Matrix, add_scaled, for_row_blocks};
use crate::models::Model;
use crate::tape::WeightAccess;
use std::ops::Range;

/// `V`: from features to directions.
const PROJECTION: &str = "pairs/projection";

/// How much each feature counts: the inverse document frequency of words.
const RARITY: &str = "pairs/rarity";

/// Directions, where there are more features.
const MOST_DIRECTIONS: usize = 256;

/// The leading ones, in which nodes are represented: on CiteSeer twice as many are no better, and take twice the memory and time.
const REPRESENTED: usize = 128;

/// Declares `V` and the weights of features: zero until they are learnt.
pub(in crate::models) fn declare(num_features: usize, weights: &mut WeightAccess<'_>) {
    weights.frozen(PROJECTION, [num_features, num_features.min(MOST_DIRECTIONS)]);
    weights.frozen(RARITY, [1, num_features]);
}

/// How many columns of `X̂ V` represent a node with so many features.
pub(in crate::models) fn leading_width(num_features: usize) -> usize {
    if num_features > MOST_DIRECTIONS { REPRESENTED } else { num_features }
}

/// The columns of `X̂ V` in which nodes are represented: all features if they are few. `V` is declared if it is not there yet.
pub(in crate::models) fn leading(features: &Features, num_features: usize, weights: &mut WeightAccess<'_>) -> Matrix {
    declare(num_features, weights);
    let width = leading_width(num_features);
    if features.rows() == 0 {
        return Matrix::zeros(0, width);
    }
    let projection = weights.frozen(PROJECTION, [num_features, num_features.min(MOST_DIRECTIONS)]).clone();
    let rarity = weights.frozen(RARITY, [1, num_features]).data();
    let mut rows = Matrix::default();
    Directions { features, rarity, projection: &projection }.fill(0..width, &mut rows);
    rows
}

/// `X̂ V`, of which any columns can be computed.
pub(crate) struct Directions<'a> {
    pub features: &'a Features,
    /// How much each feature counts.
    pub rarity: &'a [f32],
    /// `V`.
    pub projection: &'a Matrix,
}

impl Directions<'_> {
    /// The number of columns.
    pub fn cols(&self) -> usize {
        self.projection.cols()
    }

    /// Some columns of all rows.
    pub fn fill(&self, columns: Range<usize>, rows: &mut Matrix) {
        let Directions { features, rarity, projection } = self;
        let width = columns.len();
        rows.reshape(features.rows(), width);
        let part = if width == projection.cols() { None } else { Some(projection.columns(columns)) };
        let projection = part.as_ref().unwrap_or(projection);
        for_row_blocks(rows.data_mut(), width, 64 * width, |first, rows| {
            let mut entries: Vec<(u32, f32)> = Vec::new();
            for (at, row) in rows.chunks_exact_mut(width).enumerate() {
                entries.clear();
                match features {
                    Features::Sparse(matrix) => entries.extend(matrix.row(first + at)),
                    Features::Dense(matrix) => entries.extend((0..).zip(matrix.row(first + at).iter().copied())),
                    Features::Constant(_) => entries.push((0, 1.0)),
                }
                entries.iter_mut().for_each(|(column, value)| *value *= rarity[*column as usize]);
                let length = entries.iter().map(|(_, value)| value * value).sum::<f32>().sqrt();
                let scale = if length > 0.0 { 1.0 / length } else { 0.0 };
                row.fill(0.0);
                add_rows(row, &entries, scale, projection);
            }
        });
    }
}

impl Model {
    /// `X̂ V`, if the model looks at features so.
    pub(in crate::models) fn directions<'a>(&'a self, features: &'a Features) -> Option<Directions<'a>> {
        let [projection, rarity] = [PROJECTION, RARITY].map(|name| self.weights.get(name).map(|weight| &weight.value));
        Some(Directions { features, rarity: rarity?.data(), projection: projection? })
    }

    /// How many directions features are seen in; 0 if the model does not look at them so.
    pub(in crate::models) fn num_directions(&self) -> usize {
        self.weights.get(PROJECTION).map_or(0, |weight| weight.value.cols())
    }

    /// Learns the directions: all features, or the leading right singular vectors of many. Rare words count more than common ones.
    pub(in crate::models) fn learn_projection(&mut self, features: &Features) {
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

simd! {
    fn add_rows(sum: &mut [f32], entries: &[(u32, f32)], scale: f32, rows: &Matrix) {
        for &(row, value) in entries {
            add_scaled(sum, scale * value, rows.row(row as usize));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::Dataset;
    use crate::graph::Graph;
    use crate::linalg::SparseMatrix;
    use crate::models::Dimensions;
    use crate::seeds::Seeds;
    use crate::tape::Weights;
    use crate::train::Config;

    #[test]
    fn rare_words_count_more_and_rows_have_unit_length() {
        let words = SparseMatrix::from_rows(&[vec![(0, 2.0), (1, 2.0)], vec![(0, 5.0)], vec![]], 2);
        let (features, rarity, projection) = (Features::Sparse(words.into()), [1.0, 3.0], Matrix::identity(2));
        let directions = Directions { features: &features, rarity: &rarity, projection: &projection };
        let (mut found, mut second) = Default::default();
        directions.fill(0..2, &mut found);
        directions.fill(1..2, &mut second);
        assert_eq!(second, found.columns(1..2));
        let expected = [0.1f32.sqrt(), 0.9f32.sqrt(), 1.0, 0.0, 0.0, 0.0];
        assert!(found.data().iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6), "{found:?}");
    }

    fn model_of(dataset: &Dataset) -> Model {
        let config = Config { model: "smp-proximity".into(), ..Config::default() }.resolve(dataset).unwrap();
        let dimensions = Dimensions::of(dataset);
        Model::build(config.architecture(dimensions).unwrap(), config.shape(dimensions), Seeds::new(1)).unwrap()
    }

    #[test]
    fn of_many_words_those_are_compared_that_tell_most_by_tf_idf() {
        // Word 0 is in every node; of the others each is in one node.
        let row = |node: u32| vec![(0, 3.0), (node + 1, 1.0)];
        let words = SparseMatrix::from_rows(&(0..300).map(row).collect::<Vec<_>>(), 301);
        let path: Vec<[u32; 2]> = (1..300).map(|node| [node - 1, node]).collect();
        let mut dataset = Dataset::from_graph("words", Graph::from_edges(300, &path).unwrap().0);
        let mut model = {
            dataset.samples[0].features = Features::Sparse(words.clone().into());
            model_of(&dataset)
        };
        model.learn_projection(&dataset.samples[0].features);
        let learnt = |name: &str| model.weights.get(name).unwrap().value.clone();
        assert_eq!(learnt(RARITY).data(), words.inverse_document_frequencies());
        assert!(learnt(RARITY).data()[1] > 5.0 * learnt(RARITY).data()[0]);
        let expected = truncated_svd(Rows::Sparse(&words.tf_idf()), MOST_DIRECTIONS, Seeds::new(1)).right;
        assert!(learnt(PROJECTION) == expected);
    }

    #[test]
    fn nodes_are_represented_in_all_features_if_they_are_few_and_in_leading_directions_of_many() {
        let width = |count: usize| {
            let mut weights = Weights::new(Seeds::new(1));
            let features = Features::Dense(Matrix::ones(3, count).into());
            leading(&features, count, &mut WeightAccess::Declare(&mut weights)).cols()
        };
        assert_eq!([width(1), width(256), width(257)], [1, 256, REPRESENTED]);
    }
}
