//! node2vec (Grover and Leskovec, 2016): vectors from random walks.

use super::catalog::{CatalogModel, Role, ids, model};
use super::encoder::SkipGram;

/// The model that the settings of random walks belong to.
pub(crate) const NAME: &str = "node2vec";

pub(super) const MODELS: &[CatalogModel] =
    &[CatalogModel::new(NAME, "skip-gram over random walks, without features", |h| {
        model([ids().through(SkipGram { walks: h.walks, dim: h.signal_dim })])
    })
    .with_roles(&[Role::Compared])];
