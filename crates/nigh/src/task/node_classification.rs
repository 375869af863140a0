//! Node classification: a number of labelled nodes per class, or a fraction of them, for training, validation and test.

use super::{
    LabelledNodes, LabelledSets, NodeParts, Part, Parts, Question, SetParts, SplitChoice, SplitSettings, Task,
    graphs_by_part, labels_of, missing_labels, nodes_by_class, problem, sizes,
};
use crate::dataset::{Dataset, FixedSplit, Sample};
use crate::error::{Result, SplitProblem};
use crate::label_sets::LabelSets;
use crate::models::View;
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
        return split_by_graph(dataset, settings, seeds, labelled_nodes, |question| &question.labels);
    }
    let labels = labels_of(dataset, &dataset.samples[0], Task::NodeClassification)?;
    let drawn = || draw(dataset, labels, settings, seeds);
    split_graph(dataset, settings, drawn, labelled_nodes)
}

/// As `split`, where nodes have several labels each: fractions of all labelled nodes, since a node counts for several classes.
pub(super) fn split_sets(dataset: &Dataset, settings: &SplitSettings, seeds: Seeds) -> Result<SetParts> {
    if let Some(sample) = dataset.samples.iter().find(|sample| sample.label_sets.is_none()) {
        debug_assert!(sample.labels.is_none(), "sets of all graphs or of none");
        return Err(missing_labels(dataset, Task::NodeClassification));
    }
    if dataset.samples.len() > 1 {
        return split_by_graph(dataset, settings, seeds, labelled_sets, |question| question.sets.classes());
    }
    let drawn = || {
        let mut nodes: Vec<u32> = sets_of(&dataset.samples[0]).labelled().collect();
        let [train, valid, _] =
            sizes(nodes.len(), settings, "labelled nodes").map_err(|wrong| problem(dataset, 0, wrong))?;
        seeds.rng(Purpose::Split, &[0]).shuffle(&mut nodes);
        Ok([nodes[..train].to_vec(), nodes[train..train + valid].to_vec(), nodes[train + valid..].to_vec()])
    };
    split_graph(dataset, settings, drawn, labelled_sets)
}

/// What a part asks about these nodes of a sample, all of which have a label.
type Asks<Q> = fn(&Sample, Vec<u32>) -> Q;

fn labelled_nodes(sample: &Sample, nodes: Vec<u32>) -> LabelledNodes {
    let class = |&node: &u32| sample.labels.as_ref().and_then(|labels| labels[node as usize]);
    let labels = nodes.iter().map(|node| class(node).expect("chosen by its label")).collect();
    LabelledNodes { nodes, labels }
}

fn labelled_sets(sample: &Sample, nodes: Vec<u32>) -> LabelledSets {
    let sets = sets_of(sample).select(&nodes);
    LabelledSets { nodes, sets }
}

fn sets_of(sample: &Sample) -> &LabelSets {
    sample.label_sets.as_ref().expect("sets of labels were checked")
}

/// One graph: nodes of the split that comes with the data, or those that are `drawn`.
fn split_graph<Q>(
    dataset: &Dataset,
    settings: &SplitSettings,
    drawn: impl FnOnce() -> Result<[Vec<u32>; 3]>,
    asks: Asks<Q>,
) -> Result<Parts<Q, Q>> {
    let sample = &dataset.samples[0];
    let view: Arc<View> = Task::NodeClassification.whole_view(sample, 0)?.into();
    let (parts, needed) = match &dataset.fixed_split {
        // Counts per class that were set explicitly go before the usual split.
        Some(FixedSplit::Nodes(parts)) if settings.choice == SplitChoice::Given && settings.per_class.is_none() => {
            (parts.clone(), 2)
        }
        _ => (drawn()?, 3),
    };
    if let Some(empty) = parts[..needed].iter().position(Vec::is_empty) {
        let part = ["training", "validation", "test"][empty];
        return Err(problem(dataset, 0, SplitProblem::EmptyPart { part }));
    }
    let has_test = !parts[2].is_empty();
    let [train, valid, test] = parts.map(|mut nodes| {
        nodes.sort_unstable();
        vec![Part { view: view.clone(), question: asks(sample, nodes) }]
    });
    Ok(Parts { train, valid, test: has_test.then_some(test) })
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
fn split_by_graph<Q: Question>(
    dataset: &Dataset,
    settings: &SplitSettings,
    seeds: Seeds,
    asks: Asks<Q>,
    classes: fn(&Q) -> &[u32],
) -> Result<Parts<Q, Q>> {
    let graphs = graphs_by_part(dataset, settings, seeds)?;
    let part = |&number: &usize| -> Result<Part<Q>> {
        let sample = &dataset.samples[number];
        let nodes: Vec<u32> =
            (0..sample.graph.num_nodes()).filter(|&i| sample.is_labelled(i)).map(|i| i as u32).collect();
        if nodes.is_empty() {
            return Err(problem(dataset, number, SplitProblem::NoLabelledNode));
        }
        let view: Arc<View> = Task::NodeClassification.whole_view(sample, number as u64)?.into();
        Ok(Part { view, question: asks(sample, nodes) })
    };
    let parts = |graphs: &[usize]| graphs.iter().map(part).collect::<Result<Vec<_>>>();
    let split = Parts { train: parts(&graphs[0])?, valid: parts(&graphs[1])?, test: Some(parts(&graphs[2])?) };
    let classes = |parts: &[Part<Q>]| -> BTreeSet<u32> {
        parts.iter().flat_map(|part| classes(&part.question).iter().copied()).collect()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train::Config;

    #[test]
    fn nodes_of_each_class_are_drawn_on_their_own_into_one_part_each() {
        let dataset = Dataset::built_in("leaders").unwrap();
        let settings =
            Config { task: Task::NodeClassification, ..Config::default() }.resolve(&dataset).unwrap().split();
        let settings = SplitSettings { per_class: Some([10, 5, 15]), ..settings };
        let dataset = Dataset { class_names: vec!["even".into(), "odd".into()], ..dataset };
        let labels: Vec<Option<u32>> = (0..100).map(|node| Some(node % 2)).collect();
        let parts = draw(&dataset, &labels, &settings, Seeds::new(1)).unwrap();
        assert_eq!(parts.each_ref().map(Vec::len), [20, 10, 30]);
        let distinct: BTreeSet<u32> = parts.iter().flatten().copied().collect();
        assert_eq!(distinct.len(), 60, "no node is in two parts");
        let halves =
            |odd: u32| -> Vec<u32> { parts[0].iter().filter(|node| *node % 2 == odd).map(|node| node / 2).collect() };
        assert_ne!(halves(0), halves(1), "classes of one size have orders of their own");
    }
}
