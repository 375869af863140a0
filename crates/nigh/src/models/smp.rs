//! The paper's own family: `Ã^K E` says where a node is, `Ã^K F` what it is, and a head joins them.

use super::Head;
use super::catalog::{CatalogModel, Role, features, model, signal};
use super::encoder::Gin;

pub(super) const MODELS: &[CatalogModel] = &[
    CatalogModel::new("smp-linear", "Ã^K E and Ã^K F under a linear map: the paper's main model", |h| {
        model([features().linear(h).l2_normalize(), signal().propagated(h)]).head(Head::Linear)
    })
    .with_roles(&[Role::Main, Role::Compared, Role::Demonstrated, Role::Knows { place: true, features: true }]),
    CatalogModel::new("smp-identity", "Ã^K E and Ã^K F side by side, nothing learnt on top", |h| {
        model([features().linear(h).l2_normalize(), signal().propagated(h)])
    })
    .with_roles(&[Role::Compared]),
    CatalogModel::new("smp-mlp", "Ã^K E and Ã^K F under one hidden layer", |h| {
        model([features().linear(h).l2_normalize(), signal().propagated(h)]).head(h.mlp())
    }),
    CatalogModel::new("smp-linear-gcn-feat", "Ã^K E and a GCN over F under a linear map", |h| {
        model([features().gcn(h).l2_normalize(), signal().propagated(h)]).head(Head::Linear)
    }),
    CatalogModel::new("smp-linear-gcn-both", "a GCN over E and a GCN over F under a linear map", |h| {
        model([features().gcn(h), signal().gcn(h)]).head(Head::Linear)
    })
    .with_relative_cost(2),
    CatalogModel::new("smp-attention", "Ã^K E and Ã^K F, weighed against each other by every node", |h| {
        model([features().linear(h).l2_normalize(), signal().propagated(h)]).head(Head::Attention)
    }),
    CatalogModel::new("smp-gin", "a GIN over E (Theorem 3) and Ã^K F under a linear map", |h| {
        let gin = Gin { layers: h.layers() };
        model([features().linear(h).l2_normalize(), signal().through(gin)]).head(Head::Linear)
    }),
    CatalogModel::new("smp-signal", "Ã^K E alone under a linear map: where a node is, not what", |h| {
        model([signal().propagated(h)]).head(Head::Linear)
    })
    .with_roles(&[Role::Knows { place: true, features: false }]),
];
