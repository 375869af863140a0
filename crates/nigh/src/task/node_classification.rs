//! Node classification: a number of labelled nodes per class, or a fraction of them, for training, validation and test.

use super::{
    LabelledNodes, NodeParts, Part, SplitChoice, SplitSettings, Task, graphs_by_part, labels_of, nodes_by_class,
    problem,
};
use crate::dataset::{Dataset, FixedSplit};
use crate::error::{Result, SplitProblem};
use crate::model::View;
use crate::seeds::{Purpose, Seeds};
use std::collections::BTreeSet;
use std::sync::Arc;

pub(super) fn split(dataset: &Dataset, settings: &SplitSettings, seeds: Seeds) -> Result<NodeParts> {
    let mut classes: BTreeSet<u32> = BTreeSet::new();
    for sample in &dataset.samples {
        classes.extend(labels_of(dataset, sample, Task::NodeClassification)?.iter().flatten());
    }
    if classes.len() < 2 {
        return Err(problem(dataset, 0, SplitProblem::OneClass { count: classes.len() }));
    }
    if dataset.samples.len() > 1 {
        return split_by_graph(dataset, settings, seeds);
    }
    let sample = &dataset.samples[0];
    let labels = labels_of(dataset, sample, Task::NodeClassification)?;
    let view: Arc<View> = Task::NodeClassification.whole_view(sample, 0)?.into();
    let parts = match &dataset.fixed_split {
        // Counts per class that were set explicitly go before the usual split.
        Some(FixedSplit::Nodes(parts)) if settings.choice == SplitChoice::Given && settings.per_class.is_none() => {
            parts.clone()
        }
        _ => draw(dataset, labels, settings, seeds)?,
    };
    if let Some(empty) = parts.iter().position(Vec::is_empty) {
        let part = ["training", "validation", "test"][empty];
        return Err(problem(dataset, 0, SplitProblem::EmptyPart { part }));
    }
    let [train, valid, test] = parts.map(|mut nodes| {
        nodes.sort_unstable();
        let labels = nodes.iter().map(|&node| labels[node as usize].expect("chosen by its label")).collect();
        vec![Part { view: view.clone(), question: LabelledNodes { nodes, labels } }]
    });
    Ok(NodeParts { train, valid, test: Some(test) })
}

/// A number of nodes of each class, or a fraction of them.
fn draw(dataset: &Dataset, labels: &[Option<u32>], settings: &SplitSettings, seeds: Seeds) -> Result<[Vec<u32>; 3]> {
    let mut parts: [Vec<u32>; 3] = Default::default();
    for (class, mut nodes) in nodes_by_class(labels, dataset.class_names.len()).into_iter().enumerate() {
        seeds.rng(Purpose::Split, &[0, class as u64]).shuffle(&mut nodes);
        let [train, valid, test] = sizes_in_class(nodes.len(), settings, &dataset.class_names[class])
            .map_err(|wrong| problem(dataset, 0, wrong))?;
        parts[0].extend(&nodes[..train]);
        parts[1].extend(&nodes[train..train + valid]);
        parts[2].extend(&nodes[train + valid..train + valid + test]);
    }
    Ok(parts)
}

/// Several graphs: each stands in one part with all its labelled nodes.
fn split_by_graph(dataset: &Dataset, settings: &SplitSettings, seeds: Seeds) -> Result<NodeParts> {
    let graphs = graphs_by_part(dataset, settings, seeds)?;
    let part = |&number: &usize| -> Result<Part<LabelledNodes>> {
        let sample = &dataset.samples[number];
        let labels = labels_of(dataset, sample, Task::NodeClassification)?;
        let nodes: Vec<u32> = (0..labels.len() as u32).filter(|&i| labels[i as usize].is_some()).collect();
        if nodes.is_empty() {
            return Err(problem(dataset, number, SplitProblem::NoLabelledNode));
        }
        let labels = nodes.iter().map(|&node| labels[node as usize].expect("chosen by its label")).collect();
        let view: Arc<View> = Task::NodeClassification.whole_view(sample, number as u64)?.into();
        Ok(Part { view, question: LabelledNodes { nodes, labels } })
    };
    let parts = |graphs: &[usize]| graphs.iter().map(part).collect::<Result<Vec<_>>>();
    let split = NodeParts { train: parts(&graphs[0])?, valid: parts(&graphs[1])?, test: Some(parts(&graphs[2])?) };
    let classes = |parts: &[Part<LabelledNodes>]| -> BTreeSet<u32> {
        parts.iter().flat_map(|part| part.question.labels.iter().copied()).collect()
    };
    let learnt = classes(&split.train);
    for (part, parts) in [("validation", &split.valid[..]), ("test", split.test())] {
        if learnt.is_disjoint(&classes(parts)) {
            return Err(problem(dataset, 0, SplitProblem::UnseenClasses { part }));
        }
    }
    Ok(split)
}

fn sizes_in_class(
    total: usize,
    settings: &SplitSettings,
    class: &str,
) -> std::result::Result<[usize; 3], SplitProblem> {
    let Some([train, valid, test]) = settings.per_class else {
        // Fractions of each class; what a small class can't share out stays for training.
        let share = |fraction: f32| (total as f64 * f64::from(fraction)).round() as usize;
        let valid = share(settings.valid_fraction).min(total.saturating_sub(1));
        let test = share(settings.test_fraction).min(total.saturating_sub(1 + valid));
        return Ok([total - valid - test, valid, test]);
    };
    if total < train + valid + test.max(1) {
        return Err(SplitProblem::SmallClass { class: class.to_string(), total, wanted: [train, valid, test] });
    }
    Ok([train, valid, if test == 0 { total - train - valid } else { test }])
}
