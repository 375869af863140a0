//! Memory for the weights of a model, which is refused before they are set up if it is not there: a weight that features are multiplied
//! by has a row per feature, and a vocabulary or a hash may have any number of them.

use super::Resolved;
use crate::error::{Error, Result};
use crate::models::{Architecture, Dimensions, Model};
use nigh_formats::memory::{self, TooLarge};

/// Matrices of the shape of a weight: its value, the gradient and its next contribution, both moments of Adam, and the best value.
const COPIES: u64 = 6;

/// Numbers that are computed for each feature: where its entries start, its mean and deviation.
const BYTES_PER_FEATURE: u64 = 24;

/// Refuses a model whose weights take more memory than is left.
pub(crate) fn check(config: &Resolved, architecture: &Architecture, dimensions: Dimensions) -> Result<()> {
    check_against(memory::left(), config, architecture, dimensions)
}

fn check_against(
    left: Option<u64>,
    config: &Resolved,
    architecture: &Architecture,
    dimensions: Dimensions,
) -> Result<()> {
    let shape = config.shape(dimensions);
    let numbers = Model::num_numbers(architecture, &shape)? as u64;
    let bytes = (4 * COPIES)
        .saturating_mul(numbers)
        .saturating_add(BYTES_PER_FEATURE.saturating_mul(shape.num_features as u64));
    if left.is_none_or(|left| bytes <= left) {
        return Ok(());
    }
    let (features, width) = (shape.num_features, shape.width);
    let what = format!(
        "the weights of {} for {features} features and width {width}, {numbers} numbers with gradients and moments,",
        config.model
    );
    let remedy = "fewer features (hashed, or reduced by a truncated SVD), a smaller width or signal-dim, or node-features = none take \
                  less";
    Err(Error::too_large(TooLarge { what, bytes, left }, remedy))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::Dataset;
    use crate::train::Config;

    #[test]
    fn weights_beyond_memory_are_refused_with_their_shape_and_size_and_what_takes_less() {
        let dataset = Dataset::built_in("communities").unwrap();
        let config = Config { model: "gcn".into(), ..Config::default() }.resolve(&dataset).unwrap();
        let of = |features: usize| {
            let dimensions = Dimensions { features, ..Dimensions::of(&dataset) };
            let architecture = config.architecture(dimensions).unwrap();
            check_against(Some(14 << 30), &config, &architecture, dimensions).map_err(|error| error.to_string())
        };
        assert_eq!(of(10_000), Ok(()));
        let error = of(100_000_000).unwrap_err();
        for words in ["100000000 features and width 32", "would take 79.", "GB of memory, and 15.0 GB are left", "SVD"]
        {
            assert!(error.contains(words), "{words}: {error}");
        }
        assert!(of(usize::MAX).unwrap_err().contains("18.4 EB"));
    }
}
