//! A trained model and a graph, ready to answer. Whether representations are held or computed for each question is decided when the
//! session is opened, and changes no bit of any answer.

use super::cost::Answering;
use super::rows::Propagations;
use super::{Trained, check_finite, graph_digest};
use crate::dataset::{Dataset, Features, Ids, Sample};
use crate::display::pluralize;
use crate::error::{Error, Result};
use crate::linalg::Matrix;
use crate::memory::Memory;
use crate::models::{Model, View, runs_in_memory};
use crate::propagation::levels::LevelsBy;
use crate::propagation::{CostEstimate, Execution, PanelPlan, PanelProgress};
use crate::train::Resolved;
use crate::train::limit::GraphSize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How a session is opened.
#[derive(Debug, Clone)]
pub struct SessionOptions {
    /// The graph to answer for, where the data have several.
    pub graph: Option<usize>,
    /// Memory to keep to. Without a limit, representations of all nodes are computed once and held.
    pub memory: Option<Memory>,
    /// Bytes of the limit that are left to the caller.
    pub reserved: usize,
    /// The folder of anonymous temporary files, used within a limit.
    pub folder: PathBuf,
    /// Receives the progress of each propagation within a limit: first that of the features, if there are any, then that of the signal.
    pub progress: PanelProgress,
}

impl Default for SessionOptions {
    /// In memory, of the only graph.
    fn default() -> SessionOptions {
        let (folder, progress) = (std::env::temp_dir(), PanelProgress::default());
        SessionOptions { graph: None, memory: None, reserved: 0, folder, progress }
    }
}

/// A trained model and a graph, ready to answer. Answers change nothing, so one session serves many threads.
///
/// Nodes are numbered as in the data. What is answered for all nodes comes in the order of [`Session::ids`].
///
/// ```
/// use nigh::{Config, Dataset, Training};
///
/// let dataset = Dataset::built_in("communities")?;
/// let config = Config { epochs: 40.into(), repeats: 1, ..Config::default() };
/// let session = Training::new(&dataset, config)?.run()?.session(&dataset)?;
/// let scores = session.scores(&[[0, 1], [0, 399]])?;
/// let best = &session.links(&[0], 3, false)?[0];
/// assert!(best.len() == 3 && !best[0].exists && best[0].score >= best[2].score);
/// assert!(scores.len() == 2 && session.vectors()?.matrix.rows() == 400);
/// # Ok::<(), nigh::Error>(())
/// ```
#[derive(Debug)]
pub struct Session {
    pub(super) model: Arc<Model>,
    pub(super) config: Resolved,
    /// The address of what the model draws.
    pub(super) draw: u64,
    /// The graph, its nodes in the model's order.
    pub(super) sample: Sample,
    /// Which of the data's graphs it is.
    number: u64,
    /// The place in the model's order of each node of the data, if they differ.
    pub(super) places: Option<Vec<u32>>,
    pub(super) rows: Rows,
    limit: Option<Limit>,
    estimate: Option<CostEstimate>,
    /// Who computes what is propagated, within a limit.
    levels_by: LevelsBy,
    /// Notes for the user.
    pub notes: Vec<String>,
}

/// Where representations come from.
#[derive(Debug)]
pub(super) enum Rows {
    /// Those of all nodes are held.
    Held(Box<View>, Matrix),
    /// They are computed from panels for each question.
    Propagated(Box<Propagations>),
    /// What pairs have in common is computed for each question.
    Compared,
}

/// A limit, and what decides how answers keep to it.
#[derive(Debug)]
struct Limit {
    memory: Memory,
    reserved: usize,
    folder: PathBuf,
    progress: PanelProgress,
    /// Whether the graph is the only one of the data.
    is_only: bool,
}

impl Trained {
    /// A session on the only graph, in memory.
    pub fn session(&self, dataset: &Dataset) -> Result<Session> {
        self.session_with(dataset, &SessionOptions::default())
    }

    /// A session on one graph. An error if the limit is too low.
    pub fn session_with(&self, dataset: &Dataset, options: &SessionOptions) -> Result<Session> {
        let number = match (options.graph, dataset.samples.len()) {
            (None, 1) => 0,
            (None, count) => return Err(Error::SeveralGraphs { count }),
            (Some(number), count) if number >= count => {
                return Err(Error::OutOfRange { what: "graph", number, count });
            }
            (Some(number), _) => number,
        };
        self.open(dataset, self.whole(dataset)?.as_ref(), number, options)
    }

    /// A session on each graph in turn.
    pub fn sessions(
        &self,
        dataset: &Dataset,
        options: &SessionOptions,
    ) -> Result<impl ExactSizeIterator<Item = Result<Session>>> {
        let whole = self.whole(dataset)?;
        Ok((0..dataset.samples.len()).map(move |number| self.open(dataset, whole.as_ref(), number, options)))
    }

    /// All graphs as a model of several graphs sees them: it knows nodes by their places in all of them.
    fn whole(&self, dataset: &Dataset) -> Result<Option<(Dataset, Vec<String>)>> {
        let is_known_by_places = dataset.samples.len() > 1 && self.ids.is_empty();
        is_known_by_places.then(|| self.align(dataset)).transpose()
    }

    fn open(
        &self,
        dataset: &Dataset,
        whole: Option<&(Dataset, Vec<String>)>,
        number: usize,
        options: &SessionOptions,
    ) -> Result<Session> {
        let (sample, notes) = match (whole, &dataset.samples[..]) {
            (Some((aligned, notes)), _) => (aligned.samples[number].clone(), notes.clone()),
            (None, [_]) => {
                let (mut aligned, mut notes) = self.align(dataset)?;
                notes.extend(self.note_on_graph(&aligned));
                (aligned.samples.remove(0), notes)
            }
            (None, _) => {
                let (mut aligned, notes) = self.align(&dataset.graph(number))?;
                (aligned.samples.remove(0), notes)
            }
        };
        let (model, config, draw) = (self.model.clone(), self.config.clone(), self.run().best_epoch as u64);
        let places = places(&dataset.samples[number].ids, &sample.ids);
        let (number, rows, limit, levels_by) = (number as u64, Rows::Compared, None, LevelsBy::Panels);
        let session =
            Session { model, config, draw, sample, number, places, rows, limit, estimate: None, levels_by, notes };
        match options.memory {
            None => session.held(),
            Some(memory) => session.within(memory, options, dataset.samples.len() == 1),
        }
    }

    /// A note on a graph that is not that of the training.
    fn note_on_graph(&self, aligned: &Dataset) -> Option<String> {
        (graph_digest(aligned) != self.summary.graph).then(|| {
            format!(
                "not the graph of the training, which had {} and {}",
                pluralize(self.summary.num_nodes, "node"),
                pluralize(self.summary.num_edges, "edge"),
            )
        })
    }
}

/// The place of each node in another order, if the orders differ.
fn places(ids: &Arc<Ids>, order: &Arc<Ids>) -> Option<Vec<u32>> {
    let numbers = (ids != order).then(|| order.lookup())?;
    Some(ids.iter().map(|name| numbers.find(&name).expect("a node of the data")).collect())
}

impl Session {
    /// The names of all nodes, in the order in which answers for all of them come: nodes of the training first, in its order.
    pub fn ids(&self) -> &Arc<Ids> {
        &self.sample.ids
    }

    /// What answers take and how they are computed, within a limit.
    pub fn estimate(&self) -> Option<&CostEstimate> {
        self.estimate.as_ref()
    }

    /// The number of nodes.
    pub(super) fn num_nodes(&self) -> usize {
        self.sample.graph.num_nodes()
    }

    /// With the representations of all nodes.
    fn held(self) -> Result<Session> {
        let view = self.config.task.whole_view(&self.sample, self.number)?;
        let h = self.represented(&view)?;
        Ok(Session { rows: Rows::Held(view.into(), h), ..self })
    }

    /// With representations that are computed for each question, where the model propagates before it learns; of all nodes otherwise.
    fn within(mut self, memory: Memory, options: &SessionOptions, is_only: bool) -> Result<Session> {
        let SessionOptions { reserved, folder, progress, .. } = options.clone();
        self.limit = Some(Limit { memory, reserved, folder, progress, is_only });
        self.estimate = Some(self.estimate_for(0, 0)?);
        if self.answering().holds_all(Some(memory)) {
            return self.held();
        }
        let constant = Features::Constant(self.num_nodes());
        let features = if self.config.task.uses_features() { &self.sample.features } else { &constant };
        let propagations = Propagations::of_sample(&self.model, &self.sample, features, self.draw);
        self.rows = propagations.map_or(Rows::Compared, |of| Rows::Propagated(of.into()));
        Ok(self)
    }

    fn answering(&self) -> Answering<'_> {
        Answering {
            config: &self.config,
            architecture: self.model.architecture(),
            shape: *self.model.shape(),
            size: GraphSize::of(&self.sample),
            is_only: self.limit().is_only,
        }
    }

    /// How rows are computed for this many pairs, or for all nodes, with this many bytes of the limit left to the answers.
    fn estimate_for(&self, num_pairs: usize, answers: usize) -> Result<CostEstimate> {
        let limit = self.limit();
        self.answering().estimate(num_pairs, limit.reserved + answers, Some(limit.memory))
    }

    /// With what others propagate: of a model that propagates before it learns, within a limit.
    pub(crate) fn executed_by(self, levels_by: LevelsBy) -> Result<Session> {
        match &self.rows {
            Rows::Held(..) => {
                let reason = self.model.architecture().separation().in_memory_reason().unwrap_or_default();
                Err(runs_in_memory(&self.config.model, reason))
            }
            Rows::Propagated(_) | Rows::Compared => Ok(Session { levels_by, ..self }),
        }
    }

    /// The plan for this many pairs, or for all nodes, with this many bytes of the limit left to the answers.
    pub(super) fn plan_for(&self, num_pairs: usize, answers: usize) -> Result<Execution> {
        let estimate = match (num_pairs, answers, &self.estimate) {
            (0, 0, Some(estimate)) => estimate.clone(),
            _ => self.estimate_for(num_pairs, answers)?,
        };
        let limit = self.limit();
        let panels = PanelPlan { progress: limit.progress.clone(), ..estimate.plan(&limit.folder) };
        Ok(Execution { panels, levels_by: self.levels_by.clone(), ..Execution::default() })
    }

    fn limit(&self) -> &Limit {
        self.limit.as_ref().expect("within a limit")
    }

    /// The folder of anonymous temporary files.
    pub(super) fn folder(&self) -> &Path {
        &self.limit().folder
    }

    /// What pairs are compared over, a portion at a time: the view, the representations of all nodes, and how many pairs a portion has.
    pub(super) fn compared(&self, num_pairs: usize, answers: usize) -> Result<(View, Matrix, usize)> {
        let portions = [PAIRS_AT_A_TIME, PAIRS_AT_A_TIME / 4, PAIRS_AT_A_TIME / 16].map(|most| most.min(num_pairs));
        let fitting = portions.iter().find_map(|&portion| Some((portion, self.estimate_for(portion, answers).ok()?)));
        let (portion, estimate) = match fitting {
            Some(found) => found,
            None => (portions[2], self.estimate_for(portions[2], answers)?),
        };
        let execution = Execution { levels_by: self.levels_by.clone(), ..Execution::of(&estimate, self.folder()) };
        if !execution.panels.reads_edges {
            self.sample.graph.load()?;
        }
        let view = self.config.task.whole_view(&self.sample, self.number)?.within(execution.into());
        let h = self.represented(&view)?;
        Ok((view, h, portion.max(1)))
    }

    /// `H` of all nodes.
    fn represented(&self, view: &View) -> Result<Matrix> {
        let h = self.model.represent(view, self.draw);
        check_finite(&h).map(|()| h)
    }

    /// Calls `take` with `H` of all nodes, some at a time: the first of them, and their rows. This many bytes of the limit are left
    /// to the answers.
    pub(super) fn for_each_rows(
        &self,
        answers: usize,
        take: &mut dyn FnMut(usize, &Matrix) -> Result<()>,
    ) -> Result<()> {
        match &self.rows {
            Rows::Held(_, h) => take(0, h),
            Rows::Propagated(of) => of.for_each_rows(&self.model, self.draw, &self.plan_for(0, answers)?.panels, take),
            Rows::Compared => take(0, &self.compared(0, answers)?.1),
        }
    }
}

/// Pairs that are compared at a time where memory allows: every portion propagates again.
const PAIRS_AT_A_TIME: usize = 1 << 21;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::propagation::ExecutionMode;
    use crate::train::Config;
    use crate::training::Training;

    /// Communities with this many features, of which one entry in `share` is not zero.
    fn with_features(columns: usize, share: usize) -> Dataset {
        let plain = Dataset::built_in("communities").unwrap();
        let entry = |row: usize, column: usize| match (row * 7 + column * 13) % share {
            0 => 0.5 + ((row + column) % 5) as f32,
            _ => 0.0,
        };
        let features = Features::from_matrix(Matrix::from_fn(plain.num_nodes(), columns, entry));
        let sample = Sample { features, ..plain.samples[0].clone() };
        Dataset { samples: vec![sample], ..plain }
    }

    fn within(bytes: usize) -> SessionOptions {
        SessionOptions { memory: Some(Memory::new(bytes)), ..SessionOptions::default() }
    }

    #[test]
    fn features_of_any_kind_give_the_same_rows_within_a_limit() {
        let maps_first = |session: &Session| match &session.rows {
            Rows::Propagated(of) => of.maps_first(),
            Rows::Held(..) | Rows::Compared => panic!("rows are propagated"),
        };
        let mut seen = Vec::new();
        for (columns, share) in [(5, 1), (40, 9), (3_000, 300)] {
            let dataset = with_features(columns, share);
            for (model, storage) in [("smp-linear", "float32"), ("smp-mlp", "float16")] {
                let config = Config {
                    model: model.into(),
                    hop_storage: storage.parse().unwrap(),
                    epochs: 3.into(),
                    repeats: 1,
                    ..Config::default()
                };
                let trained = Training::new(&dataset, config).unwrap().run().unwrap();
                let expected = trained.embed(&dataset).unwrap().matrix;
                for (way, width) in [(ExecutionMode::InMemory, 32), (ExecutionMode::OutOfCore, 8)] {
                    let mut session = trained.session_with(&dataset, &within(1 << 30)).unwrap();
                    let estimate = session.estimate.as_mut().unwrap();
                    (estimate.way, estimate.panel_width) = (way, width);
                    seen.push((matches!(dataset.samples[0].features, Features::Sparse(_)), maps_first(&session)));
                    let mut rows = Vec::new();
                    session
                        .for_each_vectors(|some| {
                            rows.extend_from_slice(some.data());
                            Ok(())
                        })
                        .unwrap();
                    assert!(rows == expected.data(), "{columns} features, {model}, {way:?}");
                }
            }
        }
        seen.dedup();
        assert_eq!(seen, [(false, false), (true, false), (true, true)]);
        let config = Config { model: "smp-linear".into(), epochs: 1.into(), repeats: 1, ..Config::default() };
        let dataset = with_features(5, 1);
        let trained = Training::new(&dataset, config).unwrap().run().unwrap();
        let session = trained.session_with(&dataset, &within(1 << 30)).unwrap();
        let features = session.estimate().unwrap().memory.iter().find(|part| part.part == "features").unwrap();
        assert_eq!(features.bytes, 5 * 4 * trained.summary.num_nodes);
    }

    #[test]
    fn every_model_answers_the_same_within_a_limit_as_without() {
        use crate::models::catalog::{Hyperparameters, MODELS};
        use crate::task::Task;
        let dataset = Dataset::built_in("leaders").unwrap();
        let n = dataset.num_nodes() as u32;
        let pairs: Vec<[u32; 2]> = (0..60).map(|node| [node % n, (7 * node + 1) % n]).collect();
        let nodes: Vec<u32> = (0..n).rev().collect();
        for row in MODELS {
            let classifies = row.architecture(&Hyperparameters::default()).can_classify();
            let tasks = [Some(Task::LinkPrediction), classifies.then_some(Task::NodeClassification)];
            for task in tasks.into_iter().flatten() {
                let config = Config {
                    model: row.name.into(),
                    task,
                    epochs: 2.into(),
                    repeats: 1,
                    walks_per_node: 1,
                    ..Config::default()
                };
                let trained = Training::new(&dataset, config).unwrap().run().unwrap();
                let [held, limited] = [SessionOptions::default(), within(4 << 30)]
                    .map(|options| trained.session_with(&dataset, &options).unwrap());
                assert!(held.estimate().is_none() && limited.estimate().is_some(), "{}", row.name);
                match task {
                    Task::LinkPrediction => {
                        assert_eq!(held.scores(&pairs).unwrap(), limited.scores(&pairs).unwrap(), "{}", row.name);
                        for existing in [false, true] {
                            let [a, b] =
                                [&held, &limited].map(|session| session.links(&[7, 3, 7], 5, existing).unwrap());
                            assert!(a == b && a.len() == 3 && a[0] == a[2] && a[0].len() == 5, "{}", row.name);
                        }
                    }
                    _ => {
                        let found = limited.classes(&nodes).unwrap();
                        assert_eq!(held.classes(&nodes).unwrap(), found, "{}", row.name);
                        let mut row_of = nodes.len();
                        limited
                            .for_each_classes(7, |some| {
                                for at in 0..some.labels.len() {
                                    row_of -= 1;
                                    assert_eq!(some.labels.of(at), found.labels.of(row_of));
                                    assert_eq!(some.probabilities.row(at), found.probabilities.row(row_of));
                                }
                                assert!(some.labels.len() == 7 || row_of == 0);
                                Ok(())
                            })
                            .unwrap();
                        assert_eq!(row_of, 0, "{}", row.name);
                    }
                }
                match held.vectors() {
                    Ok(vectors) => assert_eq!(vectors, limited.vectors().unwrap(), "{}", row.name),
                    Err(Error::NoRepresentations { .. }) => assert!(limited.vectors().is_err(), "{}", row.name),
                    Err(error) => panic!("{}: {error}", row.name),
                }
                let refused = trained.session_with(&dataset, &within(1 << 20)).unwrap_err().to_string();
                assert!(refused.contains("`memory` is 1 MiB, but this run takes"), "{refused}");
                assert_eq!(refused.contains("runs in memory"), matches!(limited.rows, Rows::Held(..)), "{refused}");
            }
        }
    }

    #[test]
    fn sessions_on_several_graphs_answer_within_a_limit_as_without() {
        let parts = [5, 6, 7].map(|seed| {
            let edges = (0..40).map(|node| [node, (node * seed + 3) % 40]).filter(|[a, b]| a != b);
            let graph = crate::graph::Graph::from_edges(40, &edges.collect::<Vec<_>>()).unwrap().0;
            Dataset::from_graph("part", graph).samples.remove(0)
        });
        let dataset = Dataset::from_samples("parts", parts.to_vec(), Vec::new()).unwrap();
        for model in ["smp-linear", "smp-proximity", "gcn"] {
            let config = Config { model: model.into(), epochs: 3.into(), repeats: 1, ..Config::default() };
            let trained = Training::new(&dataset, config).unwrap().run().unwrap();
            let [expected, found] = [SessionOptions::default(), within(1 << 30)].map(|options| {
                let answers = |session: Result<Session>| {
                    let session = session.unwrap();
                    (session.scores(&[[0, 1], [2, 9]]).unwrap(), session.vectors().unwrap())
                };
                trained.sessions(&dataset, &options).unwrap().map(answers).collect::<Vec<_>>()
            });
            assert!(expected == found && found.len() == 3 && found[0] != found[1], "{model}");
            assert!(matches!(trained.session(&dataset), Err(Error::SeveralGraphs { count: 3 })));
            let last = SessionOptions { graph: Some(2), ..SessionOptions::default() };
            assert_eq!(trained.session_with(&dataset, &last).unwrap().vectors().unwrap(), found[2].1);
            let beyond = SessionOptions { graph: Some(3), ..SessionOptions::default() };
            assert!(
                trained.session_with(&dataset, &beyond).unwrap_err().to_string().contains("graph 3 is out of range")
            );
        }
    }
}
