//! A split with the nodes of large graphs in an order that suits the memory. What is asked stays the same question, and
//! what is drawn for a node goes by its address; only sums run over neighbours in another order.

use super::Config;
use crate::model::View;
use crate::task::{NegativePairs, Part, Question, Split};
use rayon::prelude::*;
use std::sync::Arc;

/// To find an order takes about as long as so many epochs save.
const WORTH_EPOCHS: usize = 20;

pub(super) struct Reordered {
    pub split: Split,
    /// For each training part, where each node is now, if it was moved.
    pub places: Vec<Option<Arc<[u32]>>>,
}

impl Reordered {
    pub fn new(mut split: Split, config: &Config) -> Reordered {
        let mut places = vec![None; split.train.len()];
        // One graph for all parts; several are small each, as far as anyone has seen.
        let shared = split.train.iter().chain(&split.valid).chain(&split.test);
        let one = shared.clone().all(|part| Arc::ptr_eq(&part.view, &split.train[0].view));
        if one
            && config.epochs >= WORTH_EPOCHS
            && let Some(order) = split.train[0].view.graph().locality_order()
        {
            let view: Arc<View> = split.train[0].view.permute(&order).expect("every node once").into();
            let mut place = vec![0; order.len()];
            (0..).zip(&order).for_each(|(at, &node)| place[node as usize] = at);
            for part in split.train.iter_mut().chain(&mut split.valid).chain(&mut split.test) {
                move_part(part, &view, &place);
            }
            places.fill(Some(place.into()));
        }
        Reordered { split, places }
    }
}

fn move_part(part: &mut Part, view: &Arc<View>, places: &[u32]) {
    part.view = view.clone();
    match &mut part.question {
        Question::Nodes { nodes, .. } => nodes.iter_mut().for_each(|node| *node = places[*node as usize]),
        Question::Pairs { positive, negative } => {
            place(places, positive);
            // Those for training are drawn by their own numbers, and moved then.
            if let NegativePairs::Given(negative) = negative {
                place(places, negative);
            }
        }
    }
}

/// Moves the ends of pairs to their places.
pub(super) fn place(places: &[u32], pairs: &mut [[u32; 2]]) {
    pairs.par_chunks_mut(1 << 14).for_each(|pairs| {
        pairs.iter_mut().flatten().for_each(|node| *node = places[*node as usize]);
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::Dataset;
    use crate::dataset::generate::{PowerLaw, power_law};
    use crate::seeds::Seeds;
    use crate::task::Task;

    #[test]
    fn nodes_are_moved_with_all_that_is_asked_and_known_about_them() {
        let shape = PowerLaw { across: 0.1, ..PowerLaw::new(10_000, 60_000) };
        let dataset = Dataset::from_graph("scattered", power_law(&shape, 1).unwrap().graph);
        let config = Config::default().resolve(&dataset).unwrap();
        let split = Task::LinkPrediction.split(&dataset, &config, Seeds::new(1)).unwrap();
        let Reordered { split: arranged, places } = Reordered::new(split.clone(), &config);
        let places = places[0].as_ref().expect("communities to bring together");
        assert!((0..10_000).all(|node| arranged.train[0].view.addresses[places[node] as usize] == node as u32));
        let parts = |split: &Split| [split.train[0].clone(), split.valid[0].clone(), split.test[0].clone()];
        for (before, after) in parts(&split).iter().zip(parts(&arranged)) {
            let pairs = |part: &Part| match &part.question {
                Question::Pairs { positive, .. } => positive.clone(),
                Question::Nodes { .. } => panic!("pairs are asked"),
            };
            for ([a, b], [c, d]) in pairs(before).into_iter().zip(pairs(&after)) {
                assert_eq!([c, d], [places[a as usize], places[b as usize]]);
                // What message passing must not see it still does not see.
                assert_eq!(after.view.graph().has_edge(c, d), before.view.graph().has_edge(a, b));
            }
        }
        let few = Config { epochs: WORTH_EPOCHS - 1, ..config };
        assert!(Reordered::new(split, &few).places[0].is_none(), "too few epochs to be worth it");
    }
}
