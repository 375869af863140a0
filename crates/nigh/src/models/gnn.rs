//! Graph neural networks that others have proposed, with the settings of the paper's appendix.

use super::catalog::{CatalogModel, Role, features, model};
use super::encoder::{Gat, PGnn, Sage};
use super::preset::Preset;
use crate::source::Source;

pub(super) const MODELS: &[CatalogModel] = &[
    CatalogModel::new("sgc", "Ã^K F W + b: what a node is, not where", |h| model([features().linear(h)]))
        .with_roles(&[Role::Compared, Role::Demonstrated, Role::Knows { place: false, features: true }]),
    CatalogModel::new("gcn", "graph convolutions over F: what a node is, not where", |h| model([features().gcn(h)]))
        .with_roles(&[Role::Compared, Role::Demonstrated]),
    CatalogModel::new("gat", "attention over neighbours: what a node is, not where", |h| {
        model([features().through(Gat { layers: h.layers(), heads: 4 })])
    })
    .with_preset(|_| Preset { dropout: 0.6, ..Preset::PAPER })
    .with_roles(&[Role::Compared])
    .with_relative_cost(4),
    CatalogModel::new("graphsage", "means of neighbours beside a node's own: what it is, not where", |h| {
        model([features().through(Sage { layers: h.layers(), storage: h.hop_storage })])
    })
    .with_relative_cost(2),
    CatalogModel::new("p-gnn", "messages from the nearest of random anchors: where a node is", |h| {
        model([features().through(PGnn { layers: h.layers() })])
    })
    .with_relative_cost(12),
    CatalogModel::new("gcn-onehot", "a GCN over F and one-hot ids: a learnt row per node", |h| {
        model([features().and(Source::OneHot).gcn(h)])
    }),
    CatalogModel::new("eigen-gnn", "a GCN over F and the leading eigenvectors of A", |h| {
        model([features().and(Source::Eigenvectors).gcn(h)])
    }),
];
