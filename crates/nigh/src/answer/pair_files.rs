//! Pairs in a file, and their scores as a table.

use super::{LinkProbabilities, Session};
use crate::dataset::{Ids, Pairs, read_pairs};
use crate::error::{Error, Result};
use nigh_formats::records::{RecordColumn, Records};
use std::path::Path;

impl Session {
    /// The pairs of a file, by the names that the data give the nodes, with their scores and perhaps probabilities; and notes for the user.
    pub fn scores_of_file(
        &self,
        ids: &Ids,
        path: &Path,
        probabilities: Option<LinkProbabilities>,
    ) -> Result<(Records, Vec<String>)> {
        let numbers = ids.lookup();
        let Pairs { pairs: read, has_header, notes } = read_pairs(path, |name| numbers.find(name).is_some())?;
        let mut pairs = Vec::with_capacity(read.len());
        for (at, (line, names)) in read.iter().enumerate() {
            let find = |name: &String| {
                let is_header = at == 0 && !has_header && names.iter().all(|name| numbers.find(name).is_none());
                let more = if is_header { "; if it is a header, name its columns as source and target" } else { "" };
                let unknown = || Error::line(path, *line, format!("node `{name}` is not in the graph{more}"));
                numbers.find(name).ok_or_else(unknown)
            };
            pairs.push([find(&names[0])?, find(&names[1])?]);
        }
        let scores = self.scores(&pairs)?;
        let end = |end: usize| RecordColumn::from(&Ids::from_names(read.iter().map(|(_, names)| &names[end])));
        let records = Records::default().with("source", end(0)).with("target", end(1));
        let of_scores =
            probabilities.map(|probabilities| scores.iter().map(|&score| probabilities.of(score)).collect());
        let records = records.with("score", RecordColumn::Numbers(scores));
        Ok((
            match of_scores {
                Some(found) => records.with("probability", RecordColumn::Numbers(found)),
                None => records,
            },
            notes,
        ))
    }
}
