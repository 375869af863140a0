//! 5. Tasks. A task is a split: which pairs or nodes a model has to answer for, and which edges message passing may see.

mod hard_negatives;
mod link_prediction;
mod masking;
pub(crate) mod negatives;
mod node_classification;
mod non_edges;
mod pairwise;
mod ranking;
mod reconstruction;
mod sampled;

pub use crate::choices::{Masking, SplitChoice, Task};
pub use link_prediction::TestEdges;
#[cfg(test)]
pub(crate) use link_prediction::{GraphParts, hold_out};
pub(crate) use masking::{Folds, mask};
pub(crate) use negatives::PairSampler;
pub use negatives::{EvaluationNegatives, Negatives};
pub use pairwise::SameLabelPairs;
pub use ranking::EvaluationPairs;
pub(crate) use ranking::{ConnectedPairs, Ranking};
#[cfg(test)]
pub(crate) use sampled::MOST_HELD_OUT;
pub(crate) use sampled::{DrawnPairs, SampledPairs, Sampling};
pub(crate) use sampled::{MOST_LISTED, edges_at, held_out_edges, num_held_out, sample_pairs};

use crate::dataset::{Dataset, Features, FixedPairs, FixedSplit, Sample};
use crate::error::{Error, Result, SplitProblem};
use crate::graph::Graph;
use crate::label_sets::LabelSets;
use crate::models::View;
use crate::propagation::Execution;
use crate::seeds::{Purpose, Seeds, Stream};
use crate::threads;
use negatives::NegativeRule;
use rayon::prelude::*;
use sha2::{Digest, Sha256};
use std::sync::Arc;

/// A question about one graph, with the view of it that message passing may see and nothing else: held-out edges can't
/// leak, because they are not here.
#[derive(Debug, Clone)]
pub struct Part<Q> {
    /// What message passing sees. Parts of one graph share it.
    pub view: Arc<View>,
    /// What the model has to answer.
    pub question: Q,
}

/// Nodes to classify, with the right answers.
#[derive(Debug, Clone, PartialEq)]
pub struct LabelledNodes {
    /// Which nodes.
    pub nodes: Vec<u32>,
    /// Their classes.
    pub labels: Vec<u32>,
}

/// Nodes to classify that may have several labels, with the right answers.
#[derive(Debug, Clone, PartialEq)]
pub struct LabelledSets {
    /// Which nodes.
    pub nodes: Vec<u32>,
    /// Their classes.
    pub sets: LabelSets,
}

/// Pairs to learn from: positives, and where as many negatives come from in every epoch.
#[derive(Debug, Clone)]
pub struct TrainingPairs {
    /// Pairs that belong together.
    pub positive: Vec<[u32; 2]>,
    /// Whether they are all edges of the view's graph in the place of a list, which is then empty.
    are_edges: bool,
    negatives: PairSampler,
    /// The new number of every node, if the nodes were reordered; negatives are drawn by the old ones.
    places: Option<Arc<[u32]>>,
    /// The pairs of all epochs in the place of these, if they were drawn beforehand.
    drawn: Option<Arc<DrawnPairs>>,
}

impl TrainingPairs {
    /// Positives, and the sampler of negatives.
    pub fn new(positive: Vec<[u32; 2]>, negatives: PairSampler) -> TrainingPairs {
        TrainingPairs { positive, are_edges: false, negatives, places: None, drawn: None }
    }

    /// All edges that the view has: too many to list them.
    pub(crate) fn edges_of_view(negatives: PairSampler) -> TrainingPairs {
        TrainingPairs { are_edges: true, ..TrainingPairs::new(Vec::new(), negatives) }
    }

    /// The pairs of all epochs.
    pub(crate) fn of_epochs(drawn: DrawnPairs) -> TrainingPairs {
        let nothing = TrainingPairs::new(Vec::new(), PairSampler::new(0, NegativeRule::Any));
        TrainingPairs { drawn: Some(drawn.into()), ..nothing }
    }

    /// The pairs of all epochs, if they were drawn beforehand.
    pub(crate) fn drawn(&self) -> Option<&DrawnPairs> {
        self.drawn.as_deref()
    }

    /// Draws negatives for one step into `pairs`, whose storage is reused.
    pub fn draw_negatives(&self, stream: Stream, count: usize, pairs: &mut Vec<[u32; 2]>) {
        self.negatives.draw(stream, count, pairs);
        if let Some(places) = &self.places {
            renumber(places, pairs);
        }
    }
}

/// What a part asks.
pub(crate) trait Question: Clone {
    /// Follows the nodes to their new numbers.
    fn renumber(&mut self, places: &Arc<[u32]>);

    /// Adds everything that is fixed about it to a fingerprint.
    fn hash(&self, hash: &mut Sha256);
}

impl Question for LabelledNodes {
    fn renumber(&mut self, places: &Arc<[u32]>) {
        self.nodes.iter_mut().for_each(|node| *node = places[*node as usize]);
    }

    fn hash(&self, hash: &mut Sha256) {
        self.nodes.iter().chain(&self.labels).for_each(|number| hash.update(number.to_le_bytes()));
    }
}

impl Question for LabelledSets {
    fn renumber(&mut self, places: &Arc<[u32]>) {
        self.nodes.iter_mut().for_each(|node| *node = places[*node as usize]);
    }

    fn hash(&self, hash: &mut Sha256) {
        let (starts, classes) = self.sets.parts();
        self.nodes.iter().chain(starts).chain(classes).for_each(|number| hash.update(number.to_le_bytes()));
    }
}

impl Question for TrainingPairs {
    fn renumber(&mut self, places: &Arc<[u32]>) {
        assert!(self.drawn.is_none(), "pairs that were drawn beforehand keep their order");
        renumber(places, &mut self.positive);
        self.places = Some(places.clone());
    }

    fn hash(&self, hash: &mut Sha256) {
        match &self.drawn {
            Some(drawn) => drawn.hash(hash),
            None => {
                hash_pairs(&self.positive, hash);
                // In the place of fixed negatives, of which there are none.
                hash_pairs(&[], hash);
            }
        }
    }
}

fn renumber(places: &[u32], pairs: &mut [[u32; 2]]) {
    pairs.par_chunks_mut(1 << 14).for_each(|pairs| {
        threads::check();
        pairs.iter_mut().flatten().for_each(|node| *node = places[*node as usize]);
    });
}

fn hash_pairs(pairs: &[[u32; 2]], hash: &mut Sha256) {
    hash.update((pairs.len() as u64).to_le_bytes());
    for pairs in pairs.chunks(1 << 16) {
        threads::check();
        pairs.iter().flatten().for_each(|end| hash.update(end.to_le_bytes()));
    }
}

fn fingerprint_of_large(visible: &Graph, features: &Features, held_out: [&EvaluationPairs; 2]) -> String {
    let mut hash = Sha256::new();
    hash.update(visible.digest());
    hash.update(features.digest());
    held_out.iter().for_each(|pairs| pairs.hash(&mut hash));
    nigh_formats::digest::hex(&hash.finalize())
}

/// Questions to learn from (`T`), and to choose the epoch by and to report (`E`).
#[derive(Debug, Clone)]
pub struct Parts<T, E> {
    /// To learn from.
    pub train: Vec<Part<T>>,
    /// To choose the epoch by.
    pub valid: Vec<Part<E>>,
    /// To report; `None` where the test is the validation, because nothing is held out.
    pub test: Option<Vec<Part<E>>>,
}

impl<T, E> Parts<T, E> {
    /// To report.
    pub fn test(&self) -> &[Part<E>] {
        self.test.as_ref().unwrap_or(&self.valid)
    }

    fn digest(&self) -> String
    where
        T: Question,
        E: Question,
    {
        let mut hash = Sha256::new();
        let mut seen = Vec::new();
        self.train.iter().for_each(|part| part.hash("train", &mut seen, &mut hash));
        self.valid.iter().for_each(|part| part.hash("valid", &mut seen, &mut hash));
        self.test().iter().for_each(|part| part.hash("test", &mut seen, &mut hash));
        nigh_formats::digest::hex(&hash.finalize())
    }
}

impl<Q> Part<Q> {
    fn hash<'a>(&'a self, name: &str, seen: &mut Vec<&'a Arc<View>>, hash: &mut Sha256)
    where
        Q: Question,
    {
        hash.update(name);
        hash.update(self.view.graph.to_le_bytes());
        // Parts of one graph share their view.
        if !seen.iter().any(|view| Arc::ptr_eq(view, &self.view)) {
            seen.push(&self.view);
            hash.update(self.view.graph().digest());
            hash.update(self.view.features.digest());
        }
        self.question.hash(hash);
    }
}

/// The parts of a node classification.
pub type NodeParts = Parts<LabelledNodes, LabelledNodes>;

/// The parts of a node classification with several labels per node.
pub type SetParts = Parts<LabelledSets, LabelledSets>;

/// The parts of a task about pairs.
pub type PairParts = Parts<TrainingPairs, EvaluationPairs>;

/// The data of one repeat: what is learnt, chosen by and reported, and what message passing may see.
#[derive(Debug, Clone)]
pub enum Split {
    /// Nodes and their classes.
    Nodes(NodeParts),
    /// Nodes that may have several classes each.
    Sets(SetParts),
    /// Pairs that belong together, and pairs that do not.
    Pairs(PairParts),
}

impl Split {
    /// A fingerprint of every question and of everything that message passing sees.
    pub fn digest(&self) -> String {
        match self {
            Split::Nodes(parts) => parts.digest(),
            Split::Sets(parts) => parts.digest(),
            Split::Pairs(parts) => parts.digest(),
        }
    }
}

/// A split as lists, with the fingerprint that models trained on it have.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedSplit {
    /// The lists.
    pub fixed: FixedSplit,
    /// As [`Split::digest`].
    pub digest: String,
}

/// How data are split.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct SplitSettings {
    /// What the model has to answer.
    pub task: Task,
    /// Whether a split that comes with the data is used.
    pub choice: SplitChoice,
    /// Fraction of edges, pairs or labelled nodes for validation.
    pub valid_fraction: f32,
    /// Fraction for the test.
    pub test_fraction: f32,
    /// Labelled nodes per class in training, validation and test (0 for all others), instead of fractions.
    pub per_class: Option<[usize; 3]>,
    /// How negatives for training are drawn.
    pub train_negatives: Negatives,
    /// What positives are told from in validation and test.
    pub evaluation_negatives: EvaluationNegatives,
    /// Negatives per positive in validation and test.
    pub negative_ratios: [f32; 2],
    /// Which edges message passing sees in the test of link prediction.
    pub test_edges: TestEdges,
    /// Which pairs of like nodes are positives.
    pub same_label_pairs: SameLabelPairs,
}

impl SplitSettings {
    /// How the pool of negatives is drawn. Tasks other than link prediction have no other kind, which settings are checked for.
    fn pooled(&self) -> Negatives {
        self.evaluation_negatives.pooled().unwrap_or(Negatives::Exact)
    }

    /// Negatives of validation (0) or test (1) for so many positives.
    fn num_negatives(&self, part: usize, positives: usize) -> usize {
        ((f64::from(self.negative_ratios[part]) * positives as f64).round() as usize).max(1)
    }

    /// Whether the split of these data is a random one of a graph whose edges are too many to list.
    fn is_large(&self, dataset: &Dataset) -> bool {
        let is_given = self.choice == SplitChoice::Given
            && dataset.fixed_split.as_ref().is_some_and(|split| split.held_out().is_some());
        let large = |sample: &Sample| sample.graph.num_edges() > MOST_LISTED;
        self.task == Task::LinkPrediction && dataset.samples.len() == 1 && large(&dataset.samples[0]) && !is_given
    }

    /// A fingerprint of a split of these data: of everything that is asked and seen. All visible edges of a large graph are for training, so
    /// that their order is left out.
    pub fn fingerprint(&self, dataset: &Dataset, split: &Split) -> String {
        match split {
            Split::Pairs(parts) if self.is_large(dataset) => {
                let [valid, test] = [&parts.valid[0], &parts.test()[0]];
                fingerprint_of_large(valid.view.graph(), &valid.view.features, [&valid.question, &test.question])
            }
            _ => split.digest(),
        }
    }

    /// The fingerprint of a random split of one graph, of which the training edges were not listed: the same as if they had been.
    pub fn fingerprint_of_known(
        &self,
        dataset: &Dataset,
        visible: &Graph,
        held_out: [&EvaluationPairs; 2],
        seeds: Seeds,
    ) -> String {
        let sample = &dataset.samples[0];
        if self.is_large(dataset) {
            return fingerprint_of_large(visible, &sample.features, held_out);
        }
        let mut train = sample.graph.listed();
        seeds.rng(Purpose::Split, &[0]).shuffle(&mut train);
        train.truncate(train.len() - held_out.iter().map(|pairs| pairs.positive.len()).sum::<usize>());
        // As the parts of a listed split are hashed, which share one view.
        let mut hash = Sha256::new();
        let start = |hash: &mut Sha256, name: &str| {
            hash.update(name);
            hash.update(0u64.to_le_bytes());
        };
        start(&mut hash, "train");
        hash.update(visible.digest());
        hash.update(sample.features.digest());
        hash_pairs(&train, &mut hash);
        hash_pairs(&[], &mut hash);
        for (name, pairs) in ["valid", "test"].into_iter().zip(held_out) {
            start(&mut hash, name);
            pairs.hash(&mut hash);
        }
        nigh_formats::digest::hex(&hash.finalize())
    }

    /// The split of a seed as lists of nodes or edges, to be used elsewhere or again. Where each positive has negatives of its own, they
    /// are not listed.
    pub fn listed(&self, dataset: &Dataset, seeds: Seeds) -> Result<ListedSplit> {
        let asked = |pairs: &EvaluationPairs| {
            let is_pooled = pairs.ranking == Ranking::Pooled;
            FixedPairs {
                positive: pairs.positive.clone(),
                negative: if is_pooled { pairs.negative.clone() } else { Vec::new() },
            }
        };
        if dataset.samples.len() != 1 {
            return Err(Error::SeveralGraphs { count: dataset.samples.len() });
        }
        let split = match self.task {
            Task::LinkPrediction | Task::NodeClassification => self.split(dataset, seeds)?,
            other => {
                let problem = "splits of link-prediction and node-classification can be listed";
                return Err(Error::setting("task", other, problem));
            }
        };
        let digest = self.fingerprint(dataset, &split);
        let fixed = match split {
            Split::Nodes(parts) => FixedSplit::Nodes(
                [&parts.train[0], &parts.valid[0], &parts.test()[0]].map(|part| part.question.nodes.clone()),
            ),
            Split::Sets(parts) => FixedSplit::Nodes(
                [&parts.train[0], &parts.valid[0], &parts.test()[0]].map(|part| part.question.nodes.clone()),
            ),
            Split::Pairs(parts) => FixedSplit::Edges {
                train: parts.train[0].question.positive.clone(),
                held_out: [&parts.valid[0], &parts.test()[0]].map(|part| asked(&part.question)),
            },
        };
        Ok(ListedSplit { fixed, digest })
    }

    /// Splits the data; `seeds` are those of the repeat.
    pub fn split(&self, dataset: &Dataset, seeds: Seeds) -> Result<Split> {
        self.split_within(dataset, seeds, true, &Arc::default())
    }

    /// As `split`, with views that keep to their memory. Without `lists`, training edges that are too many are not listed.
    pub fn split_within(
        &self,
        dataset: &Dataset,
        seeds: Seeds,
        lists: bool,
        execution: &Arc<Execution>,
    ) -> Result<Split> {
        Ok(match self.task {
            Task::LinkPrediction if !lists && self.is_large(dataset) => {
                Split::Pairs(link_prediction::split_unlisted(dataset, self, seeds, execution)?)
            }
            Task::LinkPrediction => Split::Pairs(link_prediction::split(dataset, self, seeds, execution)?),
            Task::NodeClassification if dataset.is_multi_label() => {
                Split::Sets(node_classification::split_sets(dataset, self, seeds)?)
            }
            Task::NodeClassification => Split::Nodes(node_classification::split(dataset, self, seeds)?),
            Task::PairwiseNodeClassification => Split::Pairs(pairwise::split(dataset, self, seeds)?),
            Task::GraphReconstruction => Split::Pairs(reconstruction::split(dataset, self, seeds)?),
        })
    }
}

impl Task {
    /// Refuses a split of nodes for a task about edges, and the reverse.
    pub fn check_split(self, split: &FixedSplit) -> Result<()> {
        let expected = match self {
            Task::LinkPrediction => "edges",
            Task::NodeClassification => "nodes",
            Task::PairwiseNodeClassification => "nodes of the same class",
            Task::GraphReconstruction => "all edges",
        };
        let split = if split.held_out().is_some() { "edges" } else { "nodes" };
        if split == expected { Ok(()) } else { Err(Error::SplitKind { task: self.name(), expected, split }) }
    }

    /// What message passing sees of a sample when every one of its edges is known.
    pub fn whole_view(self, sample: &Sample, graph: u64) -> Result<View> {
        self.view_of(sample, sample.graph.clone(), graph)
    }

    fn view_of(self, sample: &Sample, visible: Arc<Graph>, graph: u64) -> Result<View> {
        let features =
            if self.uses_features() { sample.features.clone() } else { Features::Constant(visible.num_nodes()) };
        let view = View::new(visible, features)?.numbered(graph);
        Ok(match &sample.addresses {
            Some(rows) => view.with_addresses(rows.clone()),
            None => view,
        })
    }
}

/// The problem of one graph, by its name if there are others.
fn problem(dataset: &Dataset, number: usize, problem: SplitProblem) -> Error {
    let graph = (dataset.samples.len() > 1).then(|| dataset.graph_name(number));
    Error::Split { dataset: dataset.name.clone(), graph, problem }
}

/// The sizes of the parts of `total`, at least one each: `[train, valid, test]`.
fn sizes(total: usize, settings: &SplitSettings, what: &'static str) -> std::result::Result<[usize; 3], SplitProblem> {
    if total < 3 {
        return Err(SplitProblem::TooFew { total, what });
    }
    let share = |fraction: f32| ((total as f64 * f64::from(fraction)).round() as usize).clamp(1, total - 2);
    let valid = share(settings.valid_fraction);
    let test = share(settings.test_fraction).min(total - 1 - valid);
    Ok([total - valid - test, valid, test])
}

/// Which graphs are for training, validation and test, when there are several.
fn graphs_by_part(dataset: &Dataset, settings: &SplitSettings, seeds: Seeds) -> Result<[Vec<usize>; 3]> {
    let mut order: Vec<usize> = (0..dataset.samples.len()).collect();
    seeds.rng(Purpose::Split, &[u64::MAX]).shuffle(&mut order);
    let whole = |problem| Error::Split { dataset: dataset.name.clone(), graph: None, problem };
    let [train, valid, _] = match dataset.paper_defaults.graphs {
        Some(counts) => counts,
        None => sizes(order.len(), settings, "graphs").map_err(whole)?,
    };
    Ok([order[..train].to_vec(), order[train..train + valid].to_vec(), order[train + valid..].to_vec()])
}

/// The labels of a sample, without which the task makes no sense.
fn labels_of<'a>(dataset: &Dataset, sample: &'a Sample, task: Task) -> Result<&'a Arc<[Option<u32>]>> {
    sample.labels.as_ref().ok_or_else(|| missing_labels(dataset, task))
}

fn missing_labels(dataset: &Dataset, task: Task) -> Error {
    Error::MissingLabels { dataset: dataset.name.clone(), task: task.to_string() }
}

/// The nodes of each class, in order.
fn nodes_by_class(labels: &[Option<u32>], num_classes: usize) -> Vec<Vec<u32>> {
    let mut classes = vec![Vec::new(); num_classes];
    for (node, label) in labels.iter().enumerate() {
        if let Some(label) = label {
            classes[*label as usize].push(node as u32);
        }
    }
    classes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::Matrix;
    use crate::train::Config;

    #[test]
    fn reconstruction_alone_sees_no_features() {
        let dataset = Dataset::built_in("communities").unwrap();
        let n = dataset.samples[0].graph.num_nodes();
        let features = Features::from_matrix(Matrix::from_fn(n, 2, |i, _| i as f32));
        let sample = Sample { features, ..dataset.samples[0].clone() };
        let columns = |task: Task| task.whole_view(&sample, 0).unwrap().features.cols();
        assert_eq!(columns(Task::LinkPrediction), 2);
        assert_ne!(columns(Task::GraphReconstruction), 2);
    }

    #[test]
    fn something_is_left_to_train_on_however_large_the_other_parts() {
        let settings = Config::default().resolve(&Dataset::built_in("communities").unwrap()).unwrap().split();
        let of = |total, valid_fraction, test_fraction| {
            sizes(total, &SplitSettings { valid_fraction, test_fraction, ..settings }, "edges").unwrap()
        };
        assert_eq!(of(20, 0.1, 0.2), [14, 2, 4]);
        assert_eq!(of(3, 0.1, 0.1), [1, 1, 1]);
        assert_eq!(of(5, 0.5, 0.5), [1, 3, 1]);
    }

    #[test]
    fn every_graph_is_in_one_part() {
        let one = Dataset::built_in("communities").unwrap();
        let dataset = Dataset { samples: vec![one.samples[0].clone(); 10], ..one };
        let settings = Config::default().resolve(&dataset).unwrap().split();
        let parts = graphs_by_part(&dataset, &settings, Seeds::new(1)).unwrap();
        assert_eq!(parts.each_ref().map(Vec::len), [8, 1, 1]);
        let mut all = parts.concat();
        all.sort_unstable();
        assert_eq!(all, (0..10).collect::<Vec<_>>());
    }

    #[test]
    fn the_fingerprint_of_a_split_is_of_all_that_is_asked_and_seen() {
        let dataset = Dataset::built_in("communities").unwrap();
        let settings = Config::default().resolve(&dataset).unwrap().split();
        let Split::Pairs(parts) = settings.split(&dataset, Seeds::new(1)).unwrap() else { panic!("pairs") };
        let changed = |change: &dyn Fn(&mut PairParts)| {
            let mut parts = parts.clone();
            change(&mut parts);
            Split::Pairs(parts).digest()
        };
        let same = changed(&|_| ());
        assert_eq!(same, changed(&|_| ()));
        let view = &parts.train[0].view;
        let seen = |graph: Graph, features: Features| Arc::new(View::new(graph, features).unwrap());
        let fewer = seen(view.graph().without_edges(&parts.train[0].question.positive[..1]), view.features.clone());
        let featured = seen(view.graph().clone(), Features::from_matrix(Matrix::ones(400, 2)));
        let test = |parts: &mut PairParts, pairs: fn(&mut EvaluationPairs) -> &mut Vec<[u32; 2]>| {
            pairs(&mut parts.test.as_mut().unwrap()[0].question).swap(0, 1);
        };
        let see = |parts: &mut PairParts, view: &Arc<View>| {
            (parts.train[0].view, parts.valid[0].view) = (view.clone(), view.clone());
            parts.test.as_mut().unwrap()[0].view = view.clone();
        };
        let changes: [&dyn Fn(&mut PairParts); 7] = [
            &|parts| parts.train[0].question.positive.swap(0, 1),
            &|parts| parts.valid[0].question.positive.swap(0, 1),
            &|parts| parts.valid[0].question.negative.swap(0, 1),
            &|parts| test(parts, |pairs| &mut pairs.positive),
            &|parts| test(parts, |pairs| &mut pairs.negative),
            &|parts| see(parts, &fewer),
            &|parts| see(parts, &featured),
        ];
        for (number, change) in changes.into_iter().enumerate() {
            assert_ne!(changed(change), same, "change {number}");
        }
        let nodes = |labels: Vec<u32>| {
            let part = Part { view: view.clone(), question: LabelledNodes { nodes: vec![4, 7], labels } };
            Split::Nodes(NodeParts { train: vec![part.clone()], valid: vec![part], test: None }).digest()
        };
        assert_ne!(nodes(vec![0, 1]), nodes(vec![0, 2]));
    }

    #[test]
    fn negatives_that_belong_to_one_positive_are_not_listed() {
        let dataset = Dataset::built_in("communities").unwrap();
        let settings = Config::default().resolve(&dataset).unwrap().split();
        let settings = SplitSettings { evaluation_negatives: EvaluationNegatives::Heart, ..settings };
        let listed = settings.listed(&dataset, Seeds::new(1)).unwrap().fixed;
        let FixedSplit::Edges { held_out: [valid, test], .. } = listed else { panic!("edges") };
        assert!(!valid.positive.is_empty() && valid.negative.is_empty() && test.negative.is_empty());
    }
}
