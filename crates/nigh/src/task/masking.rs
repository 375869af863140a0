//! Training pairs are hidden from message passing while the model is asked about them. An edge that is visible when it is asked
//! about answers for itself, and the model learns to look for it where the test has none.

use super::{MOST_LISTED, Masking, Part, TrainingPairs, edges_at};
use crate::graph::stop;
use crate::seeds::{Purpose, Seeds};
use std::sync::Arc;

/// Folds of the training pairs, unless there are too many pairs.
const FOLDS: usize = 10;

/// How the training pairs of one graph are divided: folds of `size` pairs, of which `count` are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Folds {
    /// Pairs of each.
    pub size: usize,
    /// How many there are.
    pub count: usize,
}

impl Folds {
    /// So that at most `most` pairs are asked about.
    pub fn of(num_pairs: usize, most: usize) -> Folds {
        let size = num_pairs.div_ceil(FOLDS).clamp(1, most);
        Folds { size, count: (most / size).clamp(1, num_pairs.div_ceil(size).max(1)) }
    }
}

/// The training parts with the pairs of each hidden from its own view, degrees included; `epoch` decides about the folds if they
/// change. Pairs that are not edges have nothing to hide. About `most` pairs of each part are asked about, if it has more.
pub fn mask(
    parts: &[Part<TrainingPairs>],
    masking: Masking,
    most: usize,
    seeds: Seeds,
    epoch: u64,
) -> Option<Vec<Part<TrainingPairs>>> {
    let draw = match masking {
        Masking::None => return None,
        Masking::Folds => 0,
        Masking::Batch => epoch,
    };
    let masked = parts.iter().enumerate().flat_map(|(number, part)| {
        let mut rng = seeds.rng(Purpose::Masking, &[number as u64, draw]);
        let graph = part.view.graph();
        let total = if part.question.are_edges { graph.num_edges() } else { part.question.positive.len() };
        let Folds { size, count } = Folds::of(total, most);
        if total > MOST_LISTED && count == 1 {
            // Whether they are listed or not, they are the edges of the view.
            return vec![hide(part, &edges_at(graph, &rng.chosen_first(size, graph.num_edges())))];
        }
        let listed = || graph.edges().collect();
        let mut pairs = if part.question.are_edges { listed() } else { part.question.positive.clone() };
        rng.shuffle(&mut pairs);
        pairs.chunks(size).take(count).map(|fold| hide(part, fold)).collect::<Vec<_>>()
    });
    Some(masked.collect())
}

/// A part that asks about `fold` and does not see it.
fn hide(part: &Part<TrainingPairs>, fold: &[[u32; 2]]) -> Part<TrainingPairs> {
    let graph = part.view.execution.without(part.view.graph(), fold).unwrap_or_else(|error| stop(error));
    let question = TrainingPairs { positive: fold.to_vec(), are_edges: false, ..part.question.clone() };
    Part { view: Arc::new(part.view.over(graph)), question }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::Dataset;
    use crate::models::View;
    use crate::task::Split;
    use crate::train::Config;

    #[test]
    fn every_pair_is_asked_about_once_and_never_seen_when_it_is() {
        let dataset = Dataset::built_in("communities").unwrap();
        let split = Config::default().resolve(&dataset).unwrap().split();
        let Split::Pairs(parts) = split.split(&dataset, Seeds::new(1)).unwrap() else { panic!("pairs of nodes") };
        let whole = &parts.train[0];
        let folds = |masking, epoch| mask(&parts.train, masking, usize::MAX, Seeds::new(1), epoch).unwrap();
        let asked = folds(Masking::Folds, 1);
        assert_eq!(asked.len(), FOLDS);
        let mut seen: Vec<[u32; 2]> = Vec::new();
        for part in &asked {
            assert!(part.question.positive.iter().all(|&[a, b]| !part.view.graph().has_edge(a, b)));
            let left = whole.view.graph().num_edges() - part.question.positive.len();
            assert_eq!(part.view.graph().num_edges(), left, "all others are visible");
            seen.extend(&part.question.positive);
        }
        let sorted = |mut pairs: Vec<[u32; 2]>| {
            pairs.sort_unstable();
            pairs
        };
        assert_eq!(sorted(seen), sorted(whole.question.positive.clone()));
        let first = |parts: Vec<Part<TrainingPairs>>| parts[0].question.positive.clone();
        assert_eq!(first(folds(Masking::Folds, 1)), first(folds(Masking::Folds, 2)));
        assert_ne!(first(folds(Masking::Batch, 1)), first(folds(Masking::Batch, 2)));
        assert!(mask(&parts.train, Masking::None, usize::MAX, Seeds::new(1), 1).is_none());
    }

    #[test]
    fn of_many_pairs_some_are_asked_about() {
        let most = 300_000;
        assert_eq!(Folds::of(4_000, most), Folds { size: 400, count: 10 });
        assert_eq!(Folds::of(5, most), Folds { size: 1, count: 5 });
        assert_eq!(Folds::of(1_000_000, most), Folds { size: 100_000, count: 3 });
        assert_eq!(Folds::of(6_000_000, most), Folds { size: most, count: 1 });
        assert_eq!(Folds::of(6_000_000, usize::MAX), Folds { size: 600_000, count: 10 });
    }

    #[test]
    fn folds_keep_what_is_known_of_their_graph_and_graphs_have_folds_of_their_own() {
        let dataset = Dataset::built_in("communities").unwrap();
        let split = Config::default().resolve(&dataset).unwrap().split();
        let Split::Pairs(mut parts) = split.split(&dataset, Seeds::new(1)).unwrap() else { panic!("pairs of nodes") };
        let part = parts.train.remove(0);
        let addresses: Vec<u32> = (0..part.view.addresses.len() as u32).rev().collect();
        let view = View::clone(&part.view).numbered(3).with_addresses(addresses.clone());
        let moved = Part { view: Arc::new(view), ..part.clone() };
        let folds = mask(&[part, moved], Masking::Folds, usize::MAX, Seeds::new(1), 1).unwrap();
        let (own, others) = folds.split_at(FOLDS);
        assert_ne!(own[0].question.positive, others[0].question.positive);
        for fold in others {
            assert_eq!((fold.view.graph, &fold.view.addresses[..]), (3, &addresses[..]));
        }
    }

    #[test]
    fn no_more_pairs_are_hidden_in_an_epoch_than_are_asked_for() {
        let dataset = Dataset::built_in("communities").unwrap();
        let split = Config::default().resolve(&dataset).unwrap().split();
        let Split::Pairs(parts) = split.split(&dataset, Seeds::new(1)).unwrap() else { panic!("pairs of nodes") };
        for (most, count) in [(300, 1), (1_000, 3)] {
            let folds = mask(&parts.train, Masking::Folds, most, Seeds::new(1), 1).unwrap();
            let asked: usize = folds.iter().map(|fold| fold.question.positive.len()).sum();
            assert!(folds.len() == count && asked <= most, "{} folds, {asked} pairs", folds.len());
        }
    }
}
