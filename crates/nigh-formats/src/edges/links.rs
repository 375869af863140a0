//! Graphs that list their nodes, and links between them by name.

use super::{EdgeList, WeightColumn};
use crate::Texts;
use crate::error::{Error, Result};
use crate::graph_xml::XmlGraph;
use crate::ids::Ids;
use crate::interner::Interner;
use std::path::Path;

/// Nodes and links between their numbers.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Links {
    /// In the order of the list, also those without a link.
    pub ids: Texts,
    pub directed: bool,
    pub edges: Vec<[u32; 2]>,
    pub weights: Option<Vec<f32>>,
    pub notes: Vec<String>,
}

impl Links {
    /// Numbers the nodes and looks up the ends of links.
    pub fn new<'a>(
        path: &Path,
        nodes: impl IntoIterator<Item = &'a str>,
        ends: impl IntoIterator<Item = [&'a str; 2]>,
        weights: Vec<Option<f64>>,
        weight: &WeightColumn,
    ) -> Result<Links> {
        let mut ids = Interner::default();
        for (at, id) in nodes.into_iter().enumerate() {
            if ids.number(id) as usize != at {
                return Err(Error::file(path, format!("node `{id}` is listed twice")));
            }
        }
        let mut links = Links::default();
        for (at, [source, target]) in ends.into_iter().enumerate() {
            let number = |id: &str| {
                let unknown = || Error::file(path, format!("link {at} names node `{id}`, which is not listed"));
                ids.find(id).ok_or_else(unknown)
            };
            links.edges.push([number(source)?, number(target)?]);
        }
        if links.edges.is_empty() {
            return Err(Error::file(path, "no links; expected `links` or `edges` between nodes"));
        }
        if let Some(name) = weight.attribute() {
            links.weigh(path, weights, name, *weight != WeightColumn::Auto)?;
        }
        links.ids = ids.into_names();
        Ok(links)
    }

    /// From GraphML or GEXF.
    pub fn from_xml(path: &Path, graph: XmlGraph, weight: &WeightColumn) -> Result<Links> {
        let ends = graph.sources.iter().zip(graph.targets.iter()).map(|(source, target)| [source, target]);
        Ok(Links { directed: graph.directed, ..Links::new(path, graph.nodes.iter(), ends, graph.weights, weight)? })
    }

    /// All links have a weight, or none has.
    fn weigh(&mut self, path: &Path, weights: Vec<Option<f64>>, name: &str, required: bool) -> Result<()> {
        let without = weights.iter().position(Option::is_none);
        if let Some(at) = without.filter(|_| required || weights.iter().any(Option::is_some)) {
            return Err(Error::file(path, format!("link {at} has no `{name}`, which others have or should have")));
        }
        if without.is_some() {
            return Ok(());
        }
        let weights: Vec<f32> = weights.into_iter().flatten().map(|weight| weight as f32).collect();
        if let Some(at) = weights.iter().position(|weight| !(weight.is_finite() && *weight > 0.0)) {
            let problem = format!("link {at} has weight {}; a weight must be a positive number", weights[at]);
            return Err(Error::weight(Error::file(path, problem)));
        }
        if !required {
            self.notes.push(format!("weights are `{name}` of the links; they can be left out"));
        }
        self.weights = Some(weights);
        Ok(())
    }

    /// As an edge list whose nodes have an order.
    pub fn into_list(self) -> EdgeList {
        EdgeList {
            ids: Ids::from_texts(self.ids),
            edges: vec![self.edges],
            weights: self.weights.into_iter().collect(),
            directed: Some(self.directed),
            ordered: true,
            notes: self.notes,
            ..EdgeList::default()
        }
    }
}
