//! Whether the parts of a dataset fit together.

use super::{Dataset, FixedSplit};
use crate::error::{Error, Result};

impl Dataset {
    /// Checks that everything fits together; a dataset built by hand is checked here.
    pub fn check(&self) -> Result<()> {
        let wrong = |problem: String| Err(Error::Inconsistent { dataset: self.name.clone(), problem });
        let Some(first) = self.samples.first() else { return wrong("no graph at all".into()) };
        for (number, sample) in self.samples.iter().enumerate() {
            let n = sample.graph.num_nodes();
            let labels = sample.labels.as_ref().map_or(n, |labels| labels.len());
            let sets = sample.label_sets.as_ref().map_or(n, |sets| sets.len());
            let addresses = sample.addresses.as_ref().map_or(n, |rows| rows.len());
            let lengths = [
                ("rows of features", sample.features.rows()),
                ("labels", labels),
                ("sets of labels", sets),
                ("ids", sample.ids.len()),
                ("addresses", addresses),
            ];
            if let Some((what, count)) = lengths.into_iter().find(|length| length.1 != n) {
                let dataset = self.name.clone();
                return Err(Error::NodeCount { dataset, graph: number, nodes: n, what, count });
            }
            let (width, expected) = (sample.features.cols(), first.features.cols());
            if width != expected {
                return wrong(format!("graph {number} has {width} features per node, graph 0 has {expected}"));
            }
            if sample.labels.is_some() && sample.label_sets.is_some() {
                return wrong(format!("graph {number} has both one label per node and several"));
            }
            let in_sets = sample.label_sets.iter().flat_map(|sets| sets.classes());
            let largest = sample.labels.iter().flat_map(|labels| labels.iter()).flatten().chain(in_sets).max();
            if let Some(label) = largest.filter(|&&label| label as usize >= self.class_names.len()) {
                let classes = self.class_names.len();
                return wrong(format!("graph {number} has label {label}, but there are {classes} classes"));
            }
        }
        if self.is_multi_label() && self.samples.iter().any(|sample| sample.labels.is_some()) {
            return wrong("some graphs have one label per node and others several".into());
        }
        if let Some(counts) = self.paper_defaults.graphs
            && (counts.iter().sum::<usize>() != self.samples.len() || counts.contains(&0))
        {
            return wrong(format!("{} graphs can't be shared out as {counts:?}", self.samples.len()));
        }
        if !(self.graph_names.is_empty() || self.graph_names.len() == self.samples.len()) {
            return wrong(format!("{} names for {} graphs", self.graph_names.len(), self.samples.len()));
        }
        let n = first.graph.num_nodes() as u32;
        let labelled = |&node: &u32| node < n && first.is_labelled(node as usize);
        match &self.fixed_split {
            Some(FixedSplit::Nodes(parts)) if !parts.iter().flatten().all(labelled) => {
                wrong("the given split names a node without a label".into())
            }
            // The rest was checked when it was made: this is called again and again.
            Some(FixedSplit::Edges { train, held_out }) => {
                let pairs = held_out.iter().flat_map(|part| [&part.positive, &part.negative]).chain([train]);
                match pairs.flatten().flatten().any(|&node| node >= n) {
                    true => wrong("the given split names an unknown node".into()),
                    false => Ok(()),
                }
            }
            Some(FixedSplit::Pairs(parts)) => {
                let pairs = || parts.iter().flat_map(|part| [&part.positive, &part.negative]);
                let is_empty = parts[0].positive.is_empty();
                if pairs().flatten().flatten().any(|&node| node >= n) || is_empty {
                    return wrong("the given split has an empty part or names an unknown node".into());
                }
                let seen = parts.iter().flat_map(|part| &part.positive).find(|[a, b]| first.graph.has_edge(*a, *b));
                match seen {
                    Some([a, b]) => wrong(format!("edge {a}-{b} is held out and yet part of the graph")),
                    None => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }
}
