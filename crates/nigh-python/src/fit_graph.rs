//! The graph that an estimator of scikit-learn learns from: what it was given to fit, and nothing else that its graph knows.

use crate::errors::{exception, input_error, reading};
use crate::graph::Graph;
use nigh::dataset::{Dataset, FixedPairs, FixedSplit, PaperDefaults};
use nigh::{LabelSets, Sample};
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use std::sync::Arc;

/// The same graph with the labels of `nodes` alone: a class each, or columns of 0 and 1 for several. The nodes for validation are
/// those at the places `valid` of `nodes`, the others are learnt from.
#[pyfunction]
pub fn fit_nodes(
    py: Python<'_>,
    graph: &Graph,
    nodes: PyReadonlyArray1<'_, u32>,
    labels: PyReadonlyArray2<'_, bool>,
    several: bool,
    class_names: Vec<String>,
    valid: PyReadonlyArray1<'_, bool>,
) -> PyResult<Graph> {
    let sample = only(py, graph)?;
    let (nodes, labels, valid) = (nodes.as_array(), labels.as_array(), valid.as_array());
    let mut sets: Vec<Vec<u32>> = vec![Vec::new(); sample.graph.num_nodes()];
    let mut parts: [Vec<u32>; 3] = Default::default();
    for ((&node, row), &is_valid) in nodes.iter().zip(labels.rows()).zip(valid) {
        sets[node as usize] = (0..).zip(row).filter(|(_, has)| **has).map(|(class, _)| class).collect();
        parts[usize::from(is_valid)].push(node);
    }
    let mut sample = Sample { labels: None, label_sets: None, ..sample.clone() };
    if several {
        sample.label_sets = Some(Arc::new(sets.into_iter().collect::<LabelSets>()));
    } else {
        sample.labels = Some(sets.iter().map(|set| set.first().copied()).collect());
    }
    Ok(graph.to_fit(sample, class_names, FixedSplit::Nodes(parts)))
}

/// The nodes of the graph with these edges alone, and no labels. An edge that the graph has keeps its weight. The edges `valid`
/// are held out for validation, and told from `negatives`, or from pairs that are drawn where there are none.
#[pyfunction]
pub fn fit_pairs(
    py: Python<'_>,
    graph: &Graph,
    edges: PyReadonlyArray2<'_, u32>,
    valid: PyReadonlyArray1<'_, bool>,
    negatives: PyReadonlyArray2<'_, u32>,
) -> PyResult<Graph> {
    let sample = only(py, graph)?;
    let (edges, negative) = (pairs(&edges), pairs(&negatives));
    let n = sample.graph.num_nodes();
    let built = match sample.graph.is_weighted() {
        false => nigh::Graph::from_edges(n, &edges),
        true => {
            let weights = || edges.iter().map(|&edge| weight(&sample.graph, edge)).collect::<Vec<f32>>();
            let weights = reading(py, weights)?;
            nigh::Graph::from_weighted_edges(n, &edges, &weights)
        }
    };
    let built = built.map_err(|error| exception(py, error))?.0;
    let (mut train, mut positive) = (Vec::new(), Vec::new());
    for (&edge, &is_valid) in edges.iter().zip(valid.as_array()) {
        if is_valid { positive.push(edge) } else { train.push(edge) }
    }
    let held_out = [FixedPairs { positive, negative }, FixedPairs::default()];
    let sample = Sample { graph: built.into(), labels: None, label_sets: None, ..sample.clone() };
    Ok(graph.to_fit(sample, Vec::new(), FixedSplit::Edges { train, held_out }))
}

fn only<'a>(py: Python<'_>, graph: &'a Graph) -> PyResult<&'a Sample> {
    match &graph.dataset.samples[..] {
        [sample] => Ok(sample),
        samples => Err(input_error(py, format!("the graph is {} graphs; an estimator fits one", samples.len()))),
    }
}

fn pairs(array: &PyReadonlyArray2<'_, u32>) -> Vec<[u32; 2]> {
    array.as_array().rows().into_iter().map(|row| [row[0], row[1]]).collect()
}

/// Of an edge, or 1 where there is none.
fn weight(graph: &nigh::Graph, [a, b]: [u32; 2]) -> f32 {
    let at = graph.neighbours(a as usize).binary_search(&b);
    at.ok().and_then(|at| graph.weights(a as usize).map(|weights| weights[at])).unwrap_or(1.0)
}

impl Graph {
    fn to_fit(&self, sample: Sample, class_names: Vec<String>, split: FixedSplit) -> Graph {
        let given = &*self.dataset;
        let dataset = Dataset {
            name: given.name.clone(),
            samples: vec![sample],
            graph_names: Vec::new(),
            class_names,
            feature_names: given.feature_names.clone(),
            paper_defaults: PaperDefaults { per_class: None, ..given.paper_defaults },
            fixed_split: Some(split),
            notes: Vec::new(),
            cleaning: None,
        };
        Graph { dataset: dataset.into(), has_text_ids: self.has_text_ids }
    }
}
