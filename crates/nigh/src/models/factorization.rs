//! Factors of the adjacency matrix: a learnt row per node.

use super::catalog::{CatalogModel, Role, ids, model};
use super::encoder::Table;

pub(super) const MODELS: &[CatalogModel] =
    &[CatalogModel::new("matrix-factorization", "a learnt row per node, without features or messages", |_| {
        model([ids().through(Table)])
    })
    .with_roles(&[Role::Compared])];
