//! The nodes of large graphs in an order that suits the caches. Questions stay the same, and random draws for a node go by its
//! address; only sums over neighbours run in another order.

use crate::models::View;
use crate::task::{Part, Parts, Question};
use std::sync::Arc;

/// Epochs that save about as much time as finding an order takes.
const MIN_EPOCHS: usize = 20;

/// Reorders the nodes of all parts, if they share one large graph and the order pays off over `epochs`.
pub(super) fn reorder<T: Question, E: Question>(parts: &mut Parts<T, E>, epochs: usize) {
    let shared = &parts.train[0].view;
    let is_shared = |view: &Arc<View>| Arc::ptr_eq(view, shared);
    // Several graphs are small each, in all data seen so far.
    let one = parts.train.iter().all(|part| is_shared(&part.view))
        && parts.valid.iter().chain(parts.test()).all(|part| is_shared(&part.view));
    if !one || epochs < MIN_EPOCHS {
        return;
    }
    let Some(order) = shared.graph().locality_order() else { return };
    let view: Arc<View> = shared.permute(&order).expect("every node once").into();
    let mut places = vec![0; order.len()];
    (0..).zip(&order).for_each(|(place, &node)| places[node as usize] = place);
    let places: Arc<[u32]> = places.into();
    parts.train.iter_mut().for_each(|part| move_part(part, &view, &places));
    let evaluated = parts.valid.iter_mut().chain(parts.test.iter_mut().flatten());
    evaluated.for_each(|part| move_part(part, &view, &places));
}

fn move_part<Q: Question>(part: &mut Part<Q>, view: &Arc<View>, places: &Arc<[u32]>) {
    part.view = view.clone();
    part.question.renumber(places);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::Dataset;
    use crate::dataset::generate::{PowerLaw, power_law};
    use crate::seeds::{Purpose, Seeds};
    use crate::task::{PairParts, Split};
    use crate::train::Config;

    #[test]
    fn nodes_are_moved_with_all_questions_and_all_that_is_known_about_them() {
        let shape = PowerLaw { across: 0.1, ..PowerLaw::new(10_000, 60_000) };
        let dataset = Dataset::from_graph("scattered", power_law(&shape, 1).unwrap().graph);
        let settings = Config::default().resolve(&dataset).unwrap().split();
        let Split::Pairs(before) = settings.split(&dataset, Seeds::new(1)).unwrap() else { panic!("pairs of nodes") };
        let mut after = before.clone();
        reorder(&mut after, MIN_EPOCHS);
        let addresses = &after.train[0].view.addresses;
        let mut places = vec![0; 10_000];
        (0..).zip(addresses.iter()).for_each(|(place, &node)| places[node as usize] = place);
        assert_ne!(places, (0..10_000).collect::<Vec<u32>>(), "communities to bring together");
        let pairs = |parts: &PairParts| {
            let mut pairs = parts.train[0].question.positive.clone();
            for part in parts.valid.iter().chain(parts.test()) {
                pairs.extend(part.question.positive.iter().chain(&part.question.negative));
            }
            let mut negative = Vec::new();
            parts.train[0].question.draw_negatives(Seeds::new(2).stream(Purpose::Negatives, &[0]), 100, &mut negative);
            pairs.extend(negative);
            pairs
        };
        let (before_view, after_view) = (&before.train[0].view, &after.train[0].view);
        for ([a, b], [c, d]) in pairs(&before).into_iter().zip(pairs(&after)) {
            assert_eq!([c, d], [places[a as usize], places[b as usize]]);
            // What message passing must not see it still does not see.
            assert_eq!(after_view.graph().has_edge(c, d), before_view.graph().has_edge(a, b));
        }
        let mut few = before.clone();
        reorder(&mut few, MIN_EPOCHS - 1);
        assert!(Arc::ptr_eq(&few.train[0].view, &before.train[0].view), "too few epochs to be worth it");
    }
}
