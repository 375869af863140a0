//! What a session answers: scores and probabilities of pairs, links and classes of nodes, vectors.

use super::rows::without_edges;
use super::session::{Rows, Session};
use super::{Embedding, RowWriter, SessionOptions, Trained};
use crate::dataset::{Dataset, Features};
use crate::error::{Error, Result};
use crate::label_sets::LabelSets;
use crate::linalg::Matrix;
use crate::models::Answer;
use crate::models::decoder::PairDecoder;
use crate::ops::{sigmoid, softmax};
use std::path::{Path, PathBuf};

/// A possible link of a node.
#[derive(Debug, Clone, PartialEq)]
pub struct Link {
    /// The node at the other end.
    pub node: u32,
    /// The decoder's score.
    pub score: f32,
    /// Whether the graph has the link already.
    pub exists: bool,
}

/// The classes of some nodes.
#[derive(Debug, Clone, PartialEq)]
pub struct Classes {
    /// The most likely class of each node; where nodes may have several, all that are more likely than not, perhaps none.
    pub labels: LabelSets,
    /// The probability of every class, a row per node: rows add up to one, unless nodes may have several classes.
    pub probabilities: Matrix,
}

impl Session {
    /// The score of every pair.
    pub fn scores(&self, pairs: &[[u32; 2]]) -> Result<Vec<f32>> {
        self.scores_of_places(self.places_of(pairs)?.as_deref().unwrap_or(pairs))
    }

    /// The probability of every pair, as [`Trained::link_probabilities`] has it.
    pub fn probabilities(&self, pairs: &[[u32; 2]], prior: Option<f64>) -> Result<Vec<f32>> {
        let probabilities = super::LinkProbabilities::new(&self.config, self.model.architecture(), prior)?;
        Ok(self.scores(pairs)?.into_iter().map(|score| probabilities.of(score)).collect())
    }

    /// The `top` most likely links of each of these nodes, best first; those that the graph has only if `existing`.
    pub fn links(&self, nodes: &[u32], top: usize, existing: bool) -> Result<Vec<Vec<Link>>> {
        let nodes: Vec<[u32; 1]> = nodes.iter().map(|&node| [node]).collect();
        let places = self.places_of(&nodes)?.unwrap_or(nodes);
        let graph = self.sample.graph.lookup();
        let mut searches: Vec<Search> = places
            .iter()
            .map(|&[node]| {
                let neighbours = graph.neighbours(node as usize).to_vec();
                Search { node, neighbours, top, existing, links: Vec::new() }
            })
            .collect();
        let all = 0..self.num_nodes() as u32;
        match &self.rows {
            Rows::Held(..) | Rows::Compared => {
                for search in &mut searches {
                    let pairs: Vec<[u32; 2]> = search.others(all.clone()).map(|other| [search.node, other]).collect();
                    search.take(pairs.iter().map(|pair| pair[1]), &self.scores_of_places(&pairs)?);
                }
            }
            Rows::Propagated(of) => {
                let own = distinct(places.as_flattened());
                let rows = of.rows_of(&self.model, self.draw, &self.plan_for(own.len(), 0)?, &own)?;
                let shift = own.len() as u32;
                self.for_each_rows(0, &mut |first, block| {
                    // Rows of the nodes themselves in front of the others.
                    let h = [rows.data(), block.data()].concat();
                    let h = Matrix::from_data(own.len() + block.rows(), block.cols(), h);
                    let first = first as u32;
                    for search in &mut searches {
                        let place = own.binary_search(&search.node).expect("one of them") as u32;
                        let others: Vec<u32> = search.others(first..first + block.rows() as u32).collect();
                        let pairs: Vec<[u32; 2]> = others.iter().map(|other| [place, other - first + shift]).collect();
                        search.take(others.into_iter(), &self.scores_of_rows(&h, &pairs)?);
                    }
                    Ok(())
                })?;
            }
        }
        let numbers = self.places.as_ref().map(|places| {
            let mut numbers = vec![0; places.len()];
            (0..).zip(places).for_each(|(number, &place)| numbers[place as usize] = number);
            numbers
        });
        let numbered = |link: Link| match &numbers {
            Some(numbers) => Link { node: numbers[link.node as usize], ..link },
            None => link,
        };
        Ok(searches.into_iter().map(|search| search.links.into_iter().map(numbered).collect()).collect())
    }

    /// The classes of these nodes.
    ///
    /// ```
    /// use nigh::{Config, Dataset, Task, Training};
    ///
    /// let dataset = Dataset::built_in("leaders")?;
    /// let config = Config { task: Task::NodeClassification, epochs: 5.into(), repeats: 1, ..Config::default() };
    /// let classes = Training::new(&dataset, config)?.run()?.session(&dataset)?.classes(&[7, 3])?;
    /// assert_eq!(classes.probabilities.shape(), [2, dataset.class_names.len()]);
    /// assert!((classes.probabilities.row(0).iter().sum::<f32>() - 1.0).abs() < 1e-5);
    /// assert_eq!(classes.labels.of(0).len(), 1);
    /// # Ok::<(), nigh::Error>(())
    /// ```
    pub fn classes(&self, nodes: &[u32]) -> Result<Classes> {
        self.check_classifies()?;
        let nodes: Vec<[u32; 1]> = nodes.iter().map(|&node| [node]).collect();
        let places = self.places_of(&nodes)?.unwrap_or(nodes);
        let width = self.model.num_classes();
        let mut wanted: Vec<(u32, usize)> = places.iter().zip(0..).map(|(&[place], at)| (place, at)).collect();
        wanted.sort_unstable();
        let mut scores = Matrix::zeros(places.len(), width);
        self.for_each_rows(12 * places.len() * width, &mut |first, rows| {
            let start = wanted.partition_point(|&(place, _)| (place as usize) < first);
            let here = wanted[start..].iter().take_while(|(place, _)| (*place as usize) < first + rows.rows());
            here.for_each(|&(place, at)| scores.row_mut(at).copy_from_slice(rows.row(place as usize - first)));
            Ok(())
        })?;
        Ok(self.classified(&scores))
    }

    /// Calls `take` with the classes of all nodes in the order of [`Session::ids`], this many nodes at a time.
    pub fn for_each_classes(&self, nodes: usize, mut take: impl FnMut(Classes) -> Result<()>) -> Result<()> {
        self.check_classifies()?;
        let width = self.model.num_classes();
        let mut waiting: Vec<f32> = Vec::new();
        let mut flush = |waiting: &mut Vec<f32>, count: usize| {
            let rest = waiting.split_off(count * width);
            let rows = std::mem::replace(waiting, rest);
            take(self.classified(&Matrix::from_data(count, width, rows)))
        };
        self.for_each_rows(0, &mut |_, rows| {
            for row in 0..rows.rows() {
                waiting.extend_from_slice(rows.row(row));
                if waiting.len() == nodes * width {
                    flush(&mut waiting, nodes)?;
                }
            }
            Ok(())
        })?;
        match waiting.len() / width.max(1) {
            0 => Ok(()),
            left => flush(&mut waiting, left),
        }
    }

    /// The vectors of all nodes with their names: their representations; for a model that compares pairs, blocks whose cosines agree with
    /// its scores; for a gated model, what its branches know, weighted as their class scores are.
    pub fn vectors(&self) -> Result<Embedding> {
        let (n, mut data) = (self.num_nodes(), Vec::new());
        let width = match &self.rows {
            Rows::Compared => self.model.vectors_width(),
            Rows::Held(..) | Rows::Propagated(_) => self.model.representation_width(),
        };
        self.vectors_with(4 * n * width, &mut |rows| {
            data.reserve_exact((n * rows.cols()).saturating_sub(data.len()));
            data.extend_from_slice(rows.data());
            Ok(())
        })?;
        Ok(Embedding {
            graphs: None,
            ids: self.ids().clone(),
            matrix: Matrix::from_data(n, data.len() / n.max(1), data),
        })
    }

    /// Calls `take` with the vectors of all nodes in the order of [`Session::ids`], some at a time.
    pub fn for_each_vectors(&self, mut take: impl FnMut(&Matrix) -> Result<()>) -> Result<()> {
        self.vectors_with(0, &mut take)
    }

    /// The same, with this many bytes of the limit left to the answers.
    fn vectors_with(&self, answers: usize, take: &mut dyn FnMut(&Matrix) -> Result<()>) -> Result<()> {
        let model = &self.model;
        if !model.architecture().has_representations() {
            return Err(Error::NoRepresentations { model: self.config.model.clone() });
        }
        match &self.rows {
            Rows::Held(view, _) if model.gated_branches().is_some() => take(&model.gated_vectors(view, self.draw)),
            Rows::Held(view, h) if model.architecture().has_pair_features() => take(&model.vectors(view, h)),
            Rows::Held(..) | Rows::Propagated(_) => self.for_each_rows(answers, &mut |_, rows| take(rows)),
            Rows::Compared => {
                let (view, h, _) = self.compared(0, answers)?;
                model.for_each_vectors(&view, &h, self.folder(), take)
            }
        }
    }

    /// Writes the vectors of all nodes row by row, as [`RowWriter`] does. Returns every file written, and the number of columns.
    pub fn write_vectors(&self, path: &Path) -> Result<(Vec<PathBuf>, usize)> {
        RowWriter::check_name(path)?;
        let (mut writer, mut cols) = (None, 0);
        self.for_each_vectors(|rows| {
            cols = rows.cols();
            match &mut writer {
                None => writer.insert(RowWriter::create(path, self.ids().clone(), cols)?).rows(rows),
                Some(writer) => writer.rows(rows),
            }
        })?;
        let writer = match writer {
            Some(writer) => writer,
            None => RowWriter::create(path, self.ids().clone(), cols)?,
        };
        Ok((writer.finish()?, cols))
    }

    /// Places in the model's order of nodes of the data, if the orders differ. An error for a node that is not there.
    fn places_of<const N: usize>(&self, nodes: &[[u32; N]]) -> Result<Option<Vec<[u32; N]>>> {
        let count = self.num_nodes();
        if let Some(&node) = nodes.as_flattened().iter().find(|&&node| node as usize >= count) {
            return Err(Error::OutOfRange { what: "node", number: node as usize, count });
        }
        let place = |places: &Vec<u32>| nodes.iter().map(|of| of.map(|node| places[node as usize])).collect();
        Ok(self.places.as_ref().map(place))
    }

    /// The scores of pairs of places in the model's order.
    fn scores_of_places(&self, pairs: &[[u32; 2]]) -> Result<Vec<f32>> {
        let mut decoder = self.decoder()?;
        match &self.rows {
            Rows::Held(view, h) => Ok(decoder.scores(&self.model, view, h, pairs).to_vec()),
            Rows::Propagated(of) => {
                let ends = distinct(pairs.as_flattened());
                let h = of.rows_of(&self.model, self.draw, &self.plan_for(pairs.len(), 0)?, &ends)?;
                let place = |node: u32| ends.binary_search(&node).expect("an end of a pair") as u32;
                self.scores_of_rows(&h, &pairs.iter().map(|pair| pair.map(place)).collect::<Vec<_>>())
            }
            Rows::Compared => {
                let (view, h, portion) = self.compared(pairs.len(), 0)?;
                let portions = pairs.chunks(portion);
                Ok(portions.flat_map(|pairs| decoder.scores(&self.model, &view, &h, pairs).to_vec()).collect())
            }
        }
    }

    /// The scores of pairs of rows.
    fn scores_of_rows(&self, h: &Matrix, pairs: &[[u32; 2]]) -> Result<Vec<f32>> {
        let view = without_edges(Features::Constant(h.rows()))?;
        Ok(self.decoder()?.scores(&self.model, &view, h, pairs).to_vec())
    }

    fn decoder(&self) -> Result<PairDecoder> {
        PairDecoder::new(&self.model).ok_or_else(|| self.wrong_task("scores for pairs"))
    }

    fn check_classifies(&self) -> Result<()> {
        match self.model.shape().answer {
            Answer::Scores(_) => Err(self.wrong_task("classes")),
            Answer::Classes(_) | Answer::Sets(_) => Ok(()),
        }
    }

    fn wrong_task(&self, wanted: &'static str) -> Error {
        Error::WrongTask { task: self.config.task.name(), wanted }
    }

    /// Classes from class scores.
    fn classified(&self, scores: &Matrix) -> Classes {
        let several = matches!(self.model.shape().answer, Answer::Sets(_));
        let mut probabilities = Matrix::zeros(scores.rows(), scores.cols());
        let mut sets: Vec<Vec<u32>> = Vec::with_capacity(scores.rows());
        for row in 0..scores.rows() {
            let (scores, p) = (scores.row(row), probabilities.row_mut(row));
            sets.push(match several {
                true => {
                    p.iter_mut().zip(scores).for_each(|(p, &score)| *p = sigmoid::sigmoid(score));
                    sigmoid::answered(scores).collect()
                }
                false => {
                    softmax::probabilities(scores, p);
                    vec![softmax::most_likely(scores)]
                }
            });
        }
        Classes { labels: sets.into_iter().collect(), probabilities }
    }
}

/// The search for the best links of a node.
struct Search {
    node: u32,
    /// In ascending order.
    neighbours: Vec<u32>,
    top: usize,
    existing: bool,
    links: Vec<Link>,
}

impl Search {
    fn is_linked(&self, other: u32) -> bool {
        self.neighbours.binary_search(&other).is_ok()
    }

    /// Those of some nodes that may be at the other end.
    fn others(&self, nodes: std::ops::Range<u32>) -> impl Iterator<Item = u32> {
        nodes.filter(|&other| other != self.node && (self.existing || !self.is_linked(other)))
    }

    /// Keeps the best.
    fn take(&mut self, others: impl Iterator<Item = u32>, scores: &[f32]) {
        let found: Vec<Link> =
            others.zip(scores).map(|(node, &score)| Link { node, score, exists: self.is_linked(node) }).collect();
        self.links.extend(found);
        self.links.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.node.cmp(&b.node)));
        self.links.truncate(self.top);
    }
}

/// Each node once, in ascending order.
fn distinct(nodes: &[u32]) -> Vec<u32> {
    let mut nodes = nodes.to_vec();
    nodes.sort_unstable();
    nodes.dedup();
    nodes
}

impl Trained {
    /// The vectors of all nodes of all graphs, all of whose edges are known.
    pub fn embed(&self, dataset: &Dataset) -> Result<Embedding> {
        self.embed_with(dataset, &SessionOptions::default()).map(|embedded| embedded.0)
    }

    /// As `embed`, with notes for the user.
    pub fn embed_with(&self, dataset: &Dataset, options: &SessionOptions) -> Result<(Embedding, Vec<String>)> {
        let (mut parts, mut notes) = (Vec::new(), Vec::new());
        for (number, session) in self.sessions(dataset, options)?.enumerate() {
            let session = session?;
            parts.push((dataset.graph_name(number), session.vectors()?));
            let new: Vec<String> = session.notes.into_iter().filter(|note| !notes.contains(note)).collect();
            notes.extend(new);
        }
        match parts.len() {
            1 => Ok((parts.remove(0).1, notes)),
            _ => Ok((Embedding::of_graphs(parts), notes)),
        }
    }
}
