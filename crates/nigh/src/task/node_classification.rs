//! Node classification: so many labelled nodes per class, or a share of them, for training, validation and test.

use super::{Part, Question, Split, Task, graphs_by_part, labels_of};
use crate::dataset::{Dataset, FixedSplit};
use crate::error::{Error, Result};
use crate::model::View;
use crate::seeds::{Purpose, Seeds};
use crate::train::Config;
use std::collections::BTreeSet;
use std::sync::Arc;

pub(super) fn split(dataset: &Dataset, config: &Config, seeds: Seeds) -> Result<Split> {
    let mut classes: BTreeSet<u32> = BTreeSet::new();
    for sample in &dataset.samples {
        classes.extend(labels_of(dataset, sample, Task::NodeClassification)?.iter().flatten());
    }
    if classes.len() < 2 {
        let count = classes.len();
        return Err(Error::Data(format!("labelled nodes of {count} class; at least 2 are needed to tell apart")));
    }
    if dataset.samples.len() > 1 {
        return split_by_graph(dataset, config, seeds);
    }
    let sample = &dataset.samples[0];
    let labels = labels_of(dataset, sample, Task::NodeClassification)?;
    let view: Arc<View> = Task::NodeClassification.whole_view(sample, 0)?.into();
    let parts = match &dataset.fixed_split {
        // Asked for in so many words, counts per class go before the usual split.
        Some(FixedSplit::Nodes(parts)) if config.train_per_class.get() == 0 => parts.clone(),
        _ => draw(dataset, labels, config, seeds)?,
    };
    if let Some(empty) = parts.iter().position(Vec::is_empty) {
        let part = ["training", "validation", "test"][empty];
        return Err(Error::Data(format!("the graph is too small to split: no labelled node is left for {part}")));
    }
    let [train, valid, test] = parts.map(|mut nodes| {
        nodes.sort_unstable();
        let labels = nodes.iter().map(|&node| labels[node as usize].expect("chosen by its label")).collect();
        vec![Part { view: view.clone(), question: Question::Nodes { nodes, labels } }]
    });
    Ok(Split { train, valid, test })
}

/// So many nodes of each class, or shares of them.
fn draw(dataset: &Dataset, labels: &[Option<u32>], config: &Config, seeds: Seeds) -> Result<[Vec<u32>; 3]> {
    let mut parts: [Vec<u32>; 3] = Default::default();
    for class in 0..dataset.class_names.len() as u32 {
        let mut nodes: Vec<u32> = (0..labels.len() as u32).filter(|&i| labels[i as usize] == Some(class)).collect();
        seeds.rng(Purpose::Split, &[0, u64::from(class)]).shuffle(&mut nodes);
        let [train, valid, test] = sizes_in_class(nodes.len(), config, &dataset.class_names[class as usize])?;
        parts[0].extend(&nodes[..train]);
        parts[1].extend(&nodes[train..train + valid]);
        parts[2].extend(&nodes[train + valid..train + valid + test]);
    }
    Ok(parts)
}

/// Several graphs: each stands in one part with all its labelled nodes.
fn split_by_graph(dataset: &Dataset, config: &Config, seeds: Seeds) -> Result<Split> {
    let graphs = graphs_by_part(dataset, config, seeds)?;
    let part = |&number: &usize| -> Result<Part> {
        let sample = &dataset.samples[number];
        let labels = labels_of(dataset, sample, Task::NodeClassification)?;
        let nodes: Vec<u32> = (0..labels.len() as u32).filter(|&i| labels[i as usize].is_some()).collect();
        if nodes.is_empty() {
            return Err(Error::Data(format!("graph {number} has no labelled node")));
        }
        let labels = nodes.iter().map(|&node| labels[node as usize].expect("chosen by its label")).collect();
        let view: Arc<View> = Task::NodeClassification.whole_view(sample, number as u64)?.into();
        Ok(Part { view, question: Question::Nodes { nodes, labels } })
    };
    let parts = |graphs: &[usize]| graphs.iter().map(part).collect::<Result<Vec<_>>>();
    let split = Split { train: parts(&graphs[0])?, valid: parts(&graphs[1])?, test: parts(&graphs[2])? };
    let classes = |parts: &[Part]| -> BTreeSet<u32> {
        let labels = |part: &Part| match &part.question {
            Question::Nodes { labels, .. } => labels.clone(),
            Question::Pairs { .. } => Vec::new(),
        };
        parts.iter().flat_map(labels).collect()
    };
    let learnt = classes(&split.train);
    for (name, parts) in [("validation", &split.valid), ("test", &split.test)] {
        if learnt.is_disjoint(&classes(parts)) {
            return Err(Error::Data(format!(
                "no class of the {name} graphs occurs in a training graph; nothing can be learnt about them"
            )));
        }
    }
    Ok(split)
}

fn sizes_in_class(total: usize, config: &Config, class: &str) -> Result<[usize; 3]> {
    let (train, valid, test) =
        (config.train_per_class.get(), config.valid_per_class.get(), config.test_per_class.get());
    if train == 0 {
        // Shares of each class; what a small class can't share out stays for training.
        let share = |fraction: f32| (total as f64 * f64::from(fraction)).round() as usize;
        let valid = share(config.valid_fraction).min(total.saturating_sub(1));
        let test = share(config.test_fraction).min(total.saturating_sub(1 + valid));
        return Ok([total - valid - test, valid, test]);
    }
    let asked = train + valid + test.max(1);
    if total < asked {
        return Err(Error::Data(format!(
            "class `{class}` has {total} labelled nodes, too few for {train} + {valid} + {}",
            if test == 0 { "the rest".to_string() } else { test.to_string() }
        )));
    }
    Ok([train, valid, if test == 0 { total - train - valid } else { test }])
}
