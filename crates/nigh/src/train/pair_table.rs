//! Training pairs with what is known of them. None of it is learnt, so it is computed once for all epochs.

use crate::linalg::Matrix;
use crate::models::Model;
use crate::seeds::{Purpose, Seeds};
use crate::task::{Part, TrainingPairs};

/// The pairs of one training part: positives, and negatives for several epochs.
#[derive(Debug)]
pub(super) struct PairTable {
    /// What is known of all pairs: a row for each positive, then one for each negative.
    numbers: Matrix,
    negatives: Vec<[u32; 2]>,
    negatives_per_positive: usize,
    /// The order of the positives in this epoch.
    order: Vec<u32>,
    /// How many of them an epoch uses; 0 for all.
    asked: usize,
    /// Rows of the positives and of the negatives of the last batch.
    chosen: [Vec<u32>; 2],
}

/// Negatives of all parts together, at most.
const MAX_NEGATIVES: usize = 1_200_000;

impl PairTable {
    /// How many epochs have negatives of their own, if one takes `per_epoch`.
    pub fn draws(per_epoch: usize, epochs: usize) -> usize {
        (MAX_NEGATIVES / per_epoch.max(1)).clamp(1, epochs.max(1))
    }

    /// With negatives for `draws` epochs; `address` is that of the part and of the draw.
    pub fn new(
        model: &Model,
        part: &Part<TrainingPairs>,
        address: [u64; 2],
        negatives_per_positive: usize,
        draws: usize,
    ) -> PairTable {
        let positives = &part.question.positive;
        let num_negatives = draws * negatives_per_positive * positives.len();
        let mut negatives = Vec::new();
        let address = [part.view.graph, address[0], address[1], 0];
        part.question.draw_negatives(model.seeds().stream(Purpose::Negatives, &address), num_negatives, &mut negatives);
        // Together, so that rows of nodes are expanded once.
        let all = [&positives[..], &negatives].concat();
        let numbers = model.raw_pair_scalars(&part.view, &all);
        let order = (0..positives.len() as u32).collect();
        PairTable { numbers, negatives, negatives_per_positive, order, asked: 0, chosen: Default::default() }
    }

    /// What is known of the positives, and of the negatives.
    fn of_both(&self) -> [&[f32]; 2] {
        let (positive, negative) = self.numbers.data().split_at(self.order.len() * self.numbers.cols());
        [positive, negative]
    }

    /// Learns means and scales from all tables and applies them.
    pub fn standardize(tables: &mut [PairTable], model: &mut Model) {
        let (positive, negative): (Vec<&[f32]>, Vec<&[f32]>) =
            tables.iter().map(|table| table.of_both().into()).unzip();
        model.learn_scales(&positive, &negative);
        tables.iter_mut().for_each(|table| table.standardize_by(model));
    }

    /// Applies means and scales that the model has.
    pub fn standardize_by(&mut self, model: &Model) {
        model.standardize(&mut self.numbers);
    }

    /// Puts the positives into the order of an epoch.
    pub fn shuffle(&mut self, seeds: Seeds, address: [u64; 2]) {
        self.order.sort_unstable();
        seeds.rng(Purpose::Order, &address).shuffle(&mut self.order);
    }

    /// Asks about the first so many of an epoch's order; 0 for all.
    pub fn ask(&mut self, pairs: usize) {
        self.asked = pairs;
    }

    /// The pairs of a batch. Negatives of an epoch follow those of the epoch before, and start over behind the last.
    pub fn choose(
        &mut self,
        batch_size: usize,
        batch: usize,
        epoch: usize,
        part: &Part<TrainingPairs>,
        positive: &mut Vec<[u32; 2]>,
        negative: &mut Vec<[u32; 2]>,
    ) {
        let total = self.order.len();
        let asked = if self.asked == 0 { total } else { self.asked.min(total) };
        let size = if batch_size == 0 { asked } else { batch_size };
        let start = (batch * size).min(asked);
        let end = (start + size).min(asked);
        let [positives, negatives] = &mut self.chosen;
        positives.clear();
        positives.extend_from_slice(&self.order[start..end]);
        negatives.clear();
        let per_epoch = self.negatives_per_positive * total;
        let draws = (self.negatives.len() / per_epoch.max(1)).max(1);
        let first = (epoch - 1) % draws * per_epoch;
        let chosen = first + self.negatives_per_positive * start..first + self.negatives_per_positive * end;
        negatives.extend(chosen.map(|at| at as u32));
        positive.clear();
        positive.extend(positives.iter().map(|&at| part.question.positive[at as usize]));
        negative.clear();
        negative.extend(negatives.iter().map(|&at| self.negatives[at as usize]));
    }

    /// The numbers of the chosen pairs: positives, then negatives.
    pub fn copy_scalars(&self, scalars: &mut Matrix) {
        let (width, first) = (self.numbers.cols(), self.order.len());
        let [positives, negatives] = &self.chosen;
        scalars.reshape(positives.len() + negatives.len(), width);
        let rows = positives.iter().map(|&at| self.numbers.row(at as usize));
        let rows = rows.chain(negatives.iter().map(|&at| self.numbers.row(first + at as usize)));
        for (place, row) in scalars.data_mut().chunks_exact_mut(width).zip(rows) {
            place.copy_from_slice(row);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::Dataset;
    use crate::models::Dimensions;
    use crate::task::Split;
    use crate::train::Config;

    /// Four pairs, with one negative each for three epochs.
    fn table() -> (PairTable, Part<TrainingPairs>) {
        let dataset = Dataset::built_in("communities").unwrap();
        let split = Config::default().resolve(&dataset).unwrap().split().split(&dataset, Seeds::new(1)).unwrap();
        let Split::Pairs(mut parts) = split else { unreachable!("links are pairs") };
        let mut part = parts.train.remove(0);
        part.question.positive.truncate(4);
        let table = PairTable {
            numbers: Matrix::zeros(16, 1),
            negatives: (0..12).map(|number| [number, number]).collect(),
            negatives_per_positive: 1,
            asked: 0,
            order: (0..4).collect(),
            chosen: Default::default(),
        };
        (table, part)
    }

    #[test]
    fn epochs_take_negatives_of_their_own_until_there_are_no_more() {
        let (mut table, part) = table();
        let mut negatives = |epoch: usize, batch: usize| -> Vec<u32> {
            let (mut positive, mut negative) = (Vec::new(), Vec::new());
            table.choose(2, batch, epoch, &part, &mut positive, &mut negative);
            assert_eq!(positive, part.question.positive[2 * batch..2 * batch + 2]);
            negative.iter().map(|pair| pair[0]).collect()
        };
        assert_eq!([negatives(1, 0), negatives(1, 1)], [[0, 1], [2, 3]]);
        assert_eq!([negatives(2, 0), negatives(3, 1)], [[4, 5], [10, 11]]);
        assert_eq!(negatives(4, 0), [0, 1]);
    }

    #[test]
    fn every_epoch_has_an_order_of_its_own_that_does_not_depend_on_the_one_before() {
        let (mut table, _) = table();
        table.order = (0..50).collect();
        let mut order = |epoch: u64| {
            table.shuffle(Seeds::new(1), [epoch, 0]);
            table.order.clone()
        };
        let (first, second) = (order(1), order(2));
        assert_ne!(first, second);
        assert_eq!(order(1), first);
    }

    #[test]
    fn an_epoch_of_some_pairs_takes_no_others() {
        let (mut table, part) = table();
        table.ask(3);
        let (mut positive, mut negative) = (Vec::new(), Vec::new());
        table.choose(0, 0, 2, &part, &mut positive, &mut negative);
        assert_eq!((&positive[..], &negative[..]), (&part.question.positive[..3], &[[4, 4], [5, 5], [6, 6]][..]));
        table.choose(2, 1, 1, &part, &mut positive, &mut negative);
        assert_eq!((positive.len(), negative.len()), (1, 1), "the last batch");
    }

    #[test]
    fn no_more_negatives_are_drawn_than_epochs_take_and_memory_allows() {
        let draws = [PairTable::draws(10, 3), PairTable::draws(MAX_NEGATIVES / 2, 9), PairTable::draws(0, 0)];
        assert_eq!(draws, [3, 2, 1]);
        assert_eq!(PairTable::draws(2 * MAX_NEGATIVES, 9), 1);
    }

    #[test]
    fn both_kinds_of_pairs_are_standardised_and_other_draws_have_other_negatives() {
        let dataset = Dataset::built_in("communities").unwrap();
        let config = Config { model: "smp-proximity".into(), ..Config::default() }.resolve(&dataset).unwrap();
        let dimensions = Dimensions::of(&dataset);
        let architecture = config.architecture(dimensions).unwrap();
        let mut model = Model::build(architecture, config.shape(dimensions), Seeds::new(1)).unwrap();
        let (_, mut part) = table();
        part.question.positive = part.view.graph().edges().take(50).collect();
        let new = |model: &Model, address: [u64; 2]| PairTable::new(model, &part, address, 2, 3);
        let mut tables = [new(&model, [0, 0])];
        let width = tables[0].numbers.cols();
        assert_eq!(tables[0].of_both().map(<[f32]>::len), [50 * width, 2 * 3 * 50 * width]);
        let raw = model.raw_pair_scalars(&part.view, &tables[0].negatives);
        assert_eq!(raw.data(), tables[0].of_both()[1]);
        PairTable::standardize(&mut tables, &mut model);
        let [table] = tables;
        let known = [&part.question.positive, &table.negatives].map(|pairs| model.pair_scalars(&part.view, pairs));
        assert_eq!(known.each_ref().map(Matrix::data), table.of_both());
        assert!(known[1] != raw);
        for address in [[0, 1], [1, 0]] {
            assert_ne!(new(&model, address).negatives, table.negatives, "{address:?}");
        }
    }
}
