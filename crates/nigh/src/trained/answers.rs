//! The classes of nodes, from their rows of `H`.

use super::{StreamedEmbedding, Trained};
use crate::error::{Error, Result};
use crate::linalg::Matrix;
use crate::models::Answer;
use crate::ops::{sigmoid, softmax};
use std::path::Path;

/// A node and its class.
#[derive(Debug, Clone, PartialEq)]
pub struct Classified {
    /// The node.
    pub node: u32,
    /// The most likely class.
    pub class: u32,
    /// How likely it is.
    pub probability: f32,
}

/// A node and its classes, where nodes may have several.
#[derive(Debug, Clone, PartialEq)]
pub struct LabelledNode {
    /// The node.
    pub node: u32,
    /// Those that are more likely than not, in ascending order; perhaps none.
    pub classes: Vec<u32>,
    /// How likely each class is, those that are not answered too.
    pub probabilities: Vec<f32>,
}

impl Trained {
    /// The most likely class of consecutive nodes.
    pub(super) fn classified(&self, first: usize, h: &Matrix) -> Result<Vec<Classified>> {
        match self.model.shape().answer {
            Answer::Classes(_) => {}
            Answer::Sets(_) => return Err(self.wrong_task("single class per node")),
            Answer::Scores(_) => return Err(self.wrong_task("classes")),
        }
        let mut p = vec![0.0; h.cols()];
        let classified = |row: usize| {
            softmax::probabilities(h.row(row), &mut p);
            let class = softmax::most_likely(h.row(row));
            Classified { node: (first + row) as u32, class, probability: p[class as usize] }
        };
        Ok((0..h.rows()).map(classified).collect())
    }

    /// Every class of consecutive nodes.
    pub(super) fn labelled(&self, first: usize, h: &Matrix) -> Result<Vec<LabelledNode>> {
        if !matches!(self.model.shape().answer, Answer::Sets(_)) {
            return Err(self.wrong_task("sets of labels"));
        }
        let labelled = |row: usize| {
            let scores = h.row(row);
            let probabilities = scores.iter().map(|&score| sigmoid::sigmoid(score)).collect();
            LabelledNode { node: (first + row) as u32, classes: sigmoid::answered(scores).collect(), probabilities }
        };
        Ok((0..h.rows()).map(labelled).collect())
    }

    fn wrong_task(&self, wanted: &'static str) -> Error {
        Error::WrongTask { task: self.config.task.name(), wanted }
    }
}

impl StreamedEmbedding<'_> {
    /// Hands over the most likely class of every node, some nodes at a time and in order; panels wait in `folder`.
    pub fn for_each_classes(&self, folder: &Path, take: impl FnMut(Vec<Classified>) -> Result<()>) -> Result<()> {
        self.for_each_answers(folder, Trained::classified, take)
    }

    /// The same of a model of nodes with several labels each.
    pub fn for_each_label_sets(&self, folder: &Path, take: impl FnMut(Vec<LabelledNode>) -> Result<()>) -> Result<()> {
        self.for_each_answers(folder, Trained::labelled, take)
    }

    fn for_each_answers<A>(
        &self,
        folder: &Path,
        answers: impl Fn(&Trained, usize, &Matrix) -> Result<Vec<A>>,
        mut take: impl FnMut(Vec<A>) -> Result<()>,
    ) -> Result<()> {
        // A model of another task is refused before anything is propagated.
        answers(self.trained, 0, &Matrix::zeros(0, self.cols()))?;
        let mut first = 0;
        self.for_each_rows(folder, |h| {
            super::streamed::check_finite(h)?;
            take(answers(self.trained, first, h)?)?;
            first += h.rows();
            Ok(())
        })
    }
}
