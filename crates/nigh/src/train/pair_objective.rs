//! The scores of pairs: a decoder and binary cross-entropy.

use super::batch_nodes::BatchNodes;
use super::objective::{CosinesOfVectors, Masked, Objective, PartName, Step, check_finite};
use super::pair_table::PairTable;
use super::resolve::FitSettings;
use crate::error::{Error, Result};
use crate::linalg::Matrix;
use crate::metric::{PairMetric, rank_correlation};
use crate::models::decoder::PairDecoder;
use crate::models::{Model, Recording};
use crate::ops::pairs::{Scale, scores as pair_scores};
use crate::propagation::products::PairEnds;
use crate::seeds::{Purpose, Seeds};
use crate::task::{EvaluationPairs, PairParts, Part, Ranking, TrainingPairs, mask};
use std::collections::HashMap;
use std::sync::Arc;

/// A decoder and its loss.
#[derive(Debug)]
pub(super) struct PairObjective {
    batch_size: usize,
    /// Positive pairs of an epoch and part; 0 for all.
    pairs_per_epoch: usize,
    negatives_per_positive: usize,
    /// One per training part, so that its positive pairs are sorted once; one for all if they are taken in batches.
    decoders: Vec<PairDecoder>,
    /// Scores pairs for evaluation.
    evaluator: PairDecoder,
    /// What is known of the pairs of each training part, if the decoder reads it.
    tables: Vec<PairTable>,
    /// The same for evaluation parts, portion by portion as they are scored.
    evaluation_scalars: HashMap<PartName, Vec<Matrix>>,
    /// All positive pairs of the part, in the order of this epoch, if they are taken in batches.
    shuffled: Vec<[u32; 2]>,
    batch: Vec<[u32; 2]>,
    negative: Vec<[u32; 2]>,
    batch_nodes: BatchNodes,
}

/// Pairs of an evaluation part whose scalars are kept from epoch to epoch.
const MAX_KEPT_PAIRS: usize = 1 << 22;

impl PairObjective {
    pub fn for_evaluation(model: &Model) -> Result<PairObjective> {
        Ok(PairObjective {
            batch_size: 0,
            pairs_per_epoch: 0,
            negatives_per_positive: 1,
            decoders: Vec::new(),
            evaluator: decoder_of(model)?,
            tables: Vec::new(),
            evaluation_scalars: HashMap::new(),
            shuffled: Vec::new(),
            batch: Vec::new(),
            negative: Vec::new(),
            batch_nodes: BatchNodes::default(),
        })
    }

    /// Positive pairs of a part in an epoch.
    fn num_asked(&self, part: &Part<TrainingPairs>) -> usize {
        if let Some(drawn) = part.question.drawn() {
            return drawn.per_epoch;
        }
        match (self.pairs_per_epoch, part.question.positive.len()) {
            (0, all) => all,
            (some, all) => some.min(all),
        }
    }

    /// The positive pairs of a batch, as many negatives, and the nodes that have to be represented for them.
    fn choose_batch(&mut self, step: Step, part: &Part<TrainingPairs>, recording: &Recording, model: &Model) {
        if let Some(drawn) = part.question.drawn() {
            let [positive, negative] = drawn.batch(step.epoch, step.batch, self.batch_size);
            self.batch.clear();
            self.batch.extend_from_slice(positive);
            self.negative.clear();
            self.negative.extend_from_slice(negative);
            return self.set_pairs(part, are_few(positive.len(), part) && recording.can_restrict());
        }
        if step.batch == 0 {
            self.shuffled.clone_from(&part.question.positive);
            let mut rng = model.seeds().rng(Purpose::Order, &[step.epoch as u64, step.part as u64]);
            match self.num_asked(part) {
                all if all == self.shuffled.len() => rng.shuffle(&mut self.shuffled),
                some => rng.choose_first(some, &mut self.shuffled),
            }
            self.shuffled.truncate(self.num_asked(part));
        }
        let pairs = self.shuffled.chunks(self.batch_size).nth(step.batch).expect("a batch that was counted");
        self.batch.clear();
        self.batch.extend_from_slice(pairs);
        draw_negatives(step, part, model, self.negatives_per_positive * pairs.len(), &mut self.negative);
        let are_few = are_few(pairs.len(), part);
        self.set_pairs(part, are_few && recording.can_restrict());
    }

    /// Hands the pairs of a batch to the decoder. With `restricts`, only their ends have to be represented.
    fn set_pairs(&mut self, part: &Part<TrainingPairs>, restricts: bool) {
        let num_nodes = part.view.graph().num_nodes();
        self.batch_nodes.clear();
        if restricts {
            self.batch_nodes.renumber(num_nodes, [&mut self.batch, &mut self.negative]);
        }
        let num_rows = self.batch_nodes.nodes().map_or(num_nodes, <[u32]>::len);
        self.decoders[0].set_positives(num_rows, &self.batch);
        self.decoders[0].set_negatives(num_rows, &self.negative);
    }

    /// As `choose_batch`, from pairs of which everything is known already.
    fn choose_from_table(&mut self, step: Step, part: &Part<TrainingPairs>, recording: &Recording, model: &Model) {
        let table = &mut self.tables[step.part];
        if step.batch == 0 {
            table.shuffle(model.seeds(), [step.epoch as u64, step.part as u64]);
        }
        table.ask(self.pairs_per_epoch);
        table.choose(self.batch_size, step.batch, step.epoch, part, &mut self.batch, &mut self.negative);
        self.set_pairs(part, are_few(part.question.positive.len(), part) && recording.can_restrict());
        let scalars = self.decoders[0].scalars_mut().expect("a decoder that reads scalars");
        self.tables[step.part].copy_scalars(scalars);
    }

    /// What is known of the pairs of each training part; `epochs` draws of negatives each, as far as memory allows.
    fn tables(&self, train: &[Part<TrainingPairs>], model: &Model, address: u64, epochs: usize) -> Vec<PairTable> {
        let total: usize = train.iter().map(|part| part.question.positive.len()).sum();
        let draws = PairTable::draws(total * self.negatives_per_positive, epochs);
        let table = |(number, part): (usize, &Part<TrainingPairs>)| {
            PairTable::new(model, part, [number as u64, address], self.negatives_per_positive, draws)
        };
        train.iter().enumerate().map(table).collect()
    }
}

/// Whether positive pairs and as many negatives have half of the nodes as their ends at most: it pays to leave the others out.
fn are_few(num_positives: usize, part: &Part<TrainingPairs>) -> bool {
    8 * num_positives <= part.view.graph().num_nodes()
}

/// Pairs of a batch. Where most nodes have no edge, all pairs are one batch, so that only its nodes are represented.
fn batch_size(fit: &FitSettings, train: &[Part<TrainingPairs>]) -> usize {
    let numbers = || train.iter().map(|part| part.question.positive.len());
    match fit.batch_size {
        // Those that are drawn for an epoch are one batch.
        0 if fit.pairs_per_epoch > 0 => fit.pairs_per_epoch.div_ceil(train.len().max(1)),
        0 if train.iter().zip(numbers()).all(|(part, number)| are_few(number, part)) => numbers().max().unwrap_or(0),
        chosen => chosen,
    }
}

/// Pairs on which cosines and scores are compared.
const MAX_COMPARED_PAIRS: usize = 20_000;

/// Nodes whose vectors are held to measure cosines: as many as these pairs need, of a question that names more.
const MAX_VECTORS: usize = 1 << 16;

/// As many positives as negatives.
fn some_pairs(question: &EvaluationPairs) -> [Vec<[u32; 2]>; 2] {
    let count = question.positive.len().min(MAX_COMPARED_PAIRS / 2);
    [&question.positive, &question.negative].map(|pairs| pairs[..count.min(pairs.len())].to_vec())
}

/// The vectors of the nodes that a part asks about, and what is measured by them.
struct AskedVectors {
    question: EvaluationPairs,
    rows: Matrix,
    /// The nodes that have a row, if not all have one.
    nodes: Option<Vec<u32>>,
}

impl AskedVectors {
    fn new(model: &Model, part: &Part<EvaluationPairs>, h: Matrix) -> AskedVectors {
        if !model.architecture().has_pair_features() {
            return AskedVectors { question: part.question.clone(), rows: h, nodes: None };
        }
        let (question, nodes) = compared(&part.question);
        AskedVectors { rows: model.vectors_of(&part.view, &h, &nodes), question, nodes: Some(nodes) }
    }

    fn cosines(&self, pairs: &[[u32; 2]]) -> Vec<f32> {
        let mut cosines = Vec::new();
        match &self.nodes {
            None => pair_scores(&self.rows, pairs, Scale::Unit, &mut cosines),
            Some(nodes) => {
                let place = |node: u32| nodes.binary_search(&node).expect("an end of an asked pair") as u32;
                let pairs: Vec<[u32; 2]> = pairs.iter().map(|pair| pair.map(place)).collect();
                pair_scores(&self.rows, &pairs, Scale::Unit, &mut cosines);
            }
        }
        cosines
    }

    fn auc(&self) -> Result<f64> {
        self.question.measure(PairMetric::Auc, |pairs| Ok(self.cosines(pairs)))
    }
}

/// A question, or as much of it as does not take too many vectors, and the nodes that it names.
fn compared(question: &EvaluationPairs) -> (EvaluationPairs, Vec<u32>) {
    let ends = |question: &EvaluationPairs| PairEnds::of(&[&question.positive[..], &question.negative].concat()).nodes;
    let nodes = ends(question);
    if nodes.len() <= MAX_VECTORS {
        return (question.clone(), nodes);
    }
    let [positive, negative] = some_pairs(question);
    let question = EvaluationPairs::pooled(positive, negative);
    let nodes = ends(&question);
    (question, nodes)
}

/// AUC of the cosines of vectors, as a mean over parts; `None` for a model without vectors, and where each positive has negatives
/// of its own. `first` are the vectors of the first part, if they are known.
fn vectors_auc(
    model: &Model,
    parts: &[Part<EvaluationPairs>],
    draw: u64,
    mut first: Option<AskedVectors>,
) -> Result<Option<f64>> {
    let has_vectors = model.architecture().has_pair_features() || model.representation_width() > 0;
    if !has_vectors || parts.iter().any(|part| part.question.ranking != Ranking::Pooled) {
        return Ok(None);
    }
    let of_part = |part: &Part<EvaluationPairs>| {
        let vectors = first.take();
        vectors.unwrap_or_else(|| AskedVectors::new(model, part, model.represent(&part.view, draw))).auc()
    };
    let figures = parts.iter().map(of_part).collect::<Result<Vec<f64>>>()?;
    Ok((!figures.is_empty()).then(|| figures.iter().sum::<f64>() / figures.len() as f64))
}

fn decoder_of(model: &Model) -> Result<PairDecoder> {
    PairDecoder::new(model).ok_or(Error::WrongTask { task: "node-classification", wanted: "scores for pairs" })
}

/// Negatives at the address of a step. Validation and test draw theirs at addresses of two parts, not three.
fn draw_negatives(step: Step, part: &Part<TrainingPairs>, model: &Model, count: usize, negative: &mut Vec<[u32; 2]>) {
    let address = [part.view.graph, step.epoch as u64, step.batch as u64];
    part.question.draw_negatives(model.seeds().stream(Purpose::Negatives, &address), count, negative);
}

impl Objective for PairObjective {
    type Training = TrainingPairs;
    type Evaluation = EvaluationPairs;
    type Metric = PairMetric;

    fn new(
        fit: &FitSettings,
        model: &mut Model,
        train: &[Part<TrainingPairs>],
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<PairObjective> {
        let mut objective = PairObjective {
            batch_size: batch_size(fit, train),
            pairs_per_epoch: fit.pairs_per_epoch.div_ceil(train.len().max(1)),
            negatives_per_positive: fit.negatives_per_positive,
            ..PairObjective::for_evaluation(model)?
        };
        if objective.batch_size > 0 {
            objective.decoders.push(decoder_of(model)?);
        } else {
            for part in train {
                let mut decoder = decoder_of(model)?;
                decoder.set_positives(part.view.graph().num_nodes(), &part.question.positive);
                objective.decoders.push(decoder);
            }
        }
        if model.num_pair_scalars() > 0 {
            progress(0, 1);
            objective.tables = objective.tables(train, model, 0, fit.epochs);
            PairTable::standardize(&mut objective.tables, model);
            progress(1, 1);
        }
        Ok(objective)
    }

    fn mask(parts: &[Part<TrainingPairs>], fit: &FitSettings, seeds: Seeds, epoch: usize) -> Masked<TrainingPairs> {
        mask(parts, fit.masking, fit.masked_pairs, seeds, epoch as u64)
    }

    fn finish(model: &mut Model, parts: &PairParts, draw: u64) -> Result<CosinesOfVectors> {
        if model.num_pair_scalars() == 0 {
            return Ok(CosinesOfVectors { auc: vectors_auc(model, parts.test(), draw, None)?, agreement: None });
        }
        let mut decoder = decoder_of(model)?;
        let mut answers = |model: &Model, part: &Part<EvaluationPairs>| {
            let pairs = some_pairs(&part.question).concat();
            let h = model.represent(&part.view, draw);
            let scores = decoder.scores(model, &part.view, &h, &pairs).to_vec();
            (pairs, h, scores)
        };
        let (valid, test) = (&parts.valid[0], &parts.test()[0]);
        let (question, asked) = compared(&test.question);
        let (pairs, h, scores) = answers(model, valid);
        let mut nodes = pairs.as_flattened().to_vec();
        let is_shared = Arc::ptr_eq(&valid.view, &test.view);
        if is_shared {
            // Messages pass once for both.
            nodes.extend(&asked);
        }
        let blocks = model.vector_blocks(&valid.view, &h, nodes);
        model.learn_vectors(&blocks, &pairs, &scores);
        let (pairs, h, scores) = answers(model, test);
        let rows = match is_shared {
            true => model.vectors_from(&blocks, &asked),
            false => model.vectors_of(&test.view, &h, &asked),
        };
        drop(blocks);
        let vectors = AskedVectors { question, rows, nodes: Some(asked) };
        let cosines = vectors.cosines(&pairs);
        let auc = vectors_auc(model, parts.test(), draw, Some(vectors))?;
        Ok(CosinesOfVectors { auc, agreement: rank_correlation(&cosines, &scores) })
    }

    fn replace_parts(&mut self, train: &[Part<TrainingPairs>], model: &Model, epoch: usize) {
        if !self.tables.is_empty() {
            self.tables = self.tables(train, model, epoch as u64, 1);
            self.tables.iter_mut().for_each(|table| table.standardize_by(model));
        }
    }

    fn num_batches(&self, part: &Part<TrainingPairs>) -> usize {
        match self.batch_size {
            0 => 1,
            size => self.num_asked(part).div_ceil(size),
        }
    }

    fn loss(&mut self, step: Step, part: &Part<TrainingPairs>, recording: &mut Recording, model: &mut Model) -> f64 {
        let mut decoder = 0;
        let pass = if !self.tables.is_empty() {
            self.choose_from_table(step, part, recording, model);
            recording.restrict(model, self.batch_nodes.nodes());
            recording.train(model, step.draw)
        } else if self.batch_size > 0 {
            self.choose_batch(step, part, recording, model);
            recording.restrict(model, self.batch_nodes.nodes());
            recording.train(model, step.draw)
        } else {
            decoder = step.part;
            recording.restrict(model, None);
            let (negative, decoder) = (&mut self.negative, &mut self.decoders[decoder]);
            // Neither needs the other, and sorting pairs keeps one thread busy.
            let represent = || recording.train(model, step.draw);
            let draw = || {
                let count = self.negatives_per_positive * part.question.positive.len();
                draw_negatives(step, part, model, count, negative);
                decoder.set_negatives(part.view.graph().num_nodes(), negative);
            };
            rayon::join(represent, draw).0
        };
        let (h, gradient) = recording.representation_and_gradient();
        self.decoders[decoder].loss(h, &mut model.weights, &pass, gradient)
    }

    fn metrics(
        &mut self,
        metrics: &[PairMetric],
        name: PartName,
        part: &Part<EvaluationPairs>,
        h: &Matrix,
        model: &Model,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<Vec<f64>> {
        if let Some(heuristic) = model.architecture().heuristic {
            let (graph, total, mut done) = (part.view.operator.graph(), part.question.num_scored() as usize, 0);
            return part.question.measure_all(metrics, |pairs| {
                let mut scored = |step: usize, steps: usize| progress(done + pairs.len() * step / steps, total);
                let scores = heuristic.scores_with(graph, pairs, &mut scored);
                done += pairs.len();
                Ok(scores)
            });
        }
        let kept = &mut self.evaluation_scalars;
        let known = kept.entry(name).or_default();
        let (evaluator, mut portion, mut num_kept) = (&mut self.evaluator, 0, 0);
        part.question.measure_all(metrics, |pairs| {
            num_kept += pairs.len();
            let scores = if self.tables.is_empty() || num_kept > MAX_KEPT_PAIRS {
                evaluator.scores(model, &part.view, h, pairs)
            } else {
                if portion == known.len() {
                    known.push(model.pair_scalars(&part.view, pairs));
                }
                portion += 1;
                evaluator.scores_given(model, &part.view, h, pairs, Some(&known[portion - 1]))
            };
            check_finite(scores).map(|()| scores.to_vec())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::Dataset;
    use crate::models::Dimensions;
    use crate::task::Split;
    use crate::train::Config;

    #[test]
    fn every_epoch_takes_other_pairs_together_and_all_of_them() {
        let dataset = Dataset::built_in("communities").unwrap();
        let config = Config { batch_size: 500.into(), ..Config::default() }.resolve(&dataset).unwrap();
        let (seeds, dimensions) = (Seeds::new(1), Dimensions::of(&dataset));
        let architecture = config.architecture(dimensions).unwrap();
        let mut model = Model::build(architecture, config.shape(dimensions), seeds).unwrap();
        let Split::Pairs(parts) = config.split().split(&dataset, seeds).unwrap() else {
            unreachable!("links are pairs")
        };
        let train = &parts.train;
        let mut objective = PairObjective::new(&config.fit(), &mut model, train, &mut |_, _| ()).unwrap();
        let recording = model.record(&train[0].view);
        let mut batches = |epoch: usize| -> Vec<Vec<[u32; 2]>> {
            let batch = |batch| {
                objective.choose_batch(Step { part: 0, batch, epoch, draw: 0 }, &train[0], &recording, &model);
                objective.batch.clone()
            };
            (0..train[0].question.positive.len().div_ceil(500)).map(batch).collect()
        };
        let (first, second) = (batches(1), batches(2));
        assert_ne!(first[0], second[0]);
        let sorted = |mut pairs: Vec<[u32; 2]>| {
            pairs.sort_unstable();
            pairs
        };
        let all = sorted(train[0].question.positive.clone());
        assert_eq!((sorted(first.concat()), sorted(second.concat())), (all.clone(), all));
    }

    fn setting(config: Config) -> (FitSettings, Model, PairParts) {
        let dataset = Dataset::built_in("communities").unwrap();
        let config = config.resolve(&dataset).unwrap();
        let (seeds, dimensions) = (Seeds::new(1), Dimensions::of(&dataset));
        let architecture = config.architecture(dimensions).unwrap();
        let model = Model::build(architecture, config.shape(dimensions), seeds).unwrap();
        let Split::Pairs(parts) = config.split().split(&dataset, seeds).unwrap() else {
            unreachable!("links are pairs")
        };
        (config.fit(), model, parts)
    }

    #[test]
    fn an_epoch_of_some_pairs_has_as_many_and_so_many_negatives_for_each() {
        let config = Config {
            model: "gcn".into(),
            pairs_per_epoch: 100,
            batch_size: 70.into(),
            negatives_per_positive: 2.into(),
            ..Config::default()
        };
        let (fit, mut model, parts) = setting(config);
        let part = &parts.train[0];
        let mut objective = PairObjective::new(&fit, &mut model, &parts.train, &mut |_, _| ()).unwrap();
        assert_eq!(objective.num_batches(part), 2);
        let recording = model.record(&part.view);
        for (batch, size) in [(0, 70), (1, 30)] {
            objective.choose_batch(Step { part: 0, batch, epoch: 1, draw: 0 }, part, &recording, &model);
            assert_eq!((objective.batch.len(), objective.negative.len()), (size, 2 * size));
        }
        // Without batches they are one, and graphs share them.
        let fit = FitSettings { batch_size: 0, ..fit };
        let both = [part.clone(), part.clone()];
        assert_eq!((batch_size(&fit, &both[..1]), batch_size(&fit, &both)), (100, 50));
    }

    #[test]
    fn pairs_of_new_folds_are_known_on_the_scale_of_the_first_and_epochs_have_negatives_of_their_own() {
        let (fit, mut model, mut parts) = setting(Config { model: "smp-proximity".into(), ..Config::default() });
        parts.train[0].question.positive.truncate(60);
        let fit = FitSettings { batch_size: 0, pairs_per_epoch: 0, ..fit };
        let mut objective = PairObjective::new(&fit, &mut model, &parts.train, &mut |_, _| ()).unwrap();
        let check = |objective: &mut PairObjective, at: usize, part: &Part<TrainingPairs>, epoch: usize| {
            let (mut positive, mut negative, mut scalars) = (Vec::new(), Vec::new(), Matrix::default());
            objective.tables[at].choose(0, 0, epoch, part, &mut positive, &mut negative);
            objective.tables[at].copy_scalars(&mut scalars);
            assert_eq!(positive.len(), part.question.positive.len());
            assert!(scalars == model.pair_scalars(&part.view, &[&positive[..], &negative].concat()));
            negative
        };
        let part = &parts.train[0];
        assert_ne!(check(&mut objective, 0, part, 1), check(&mut objective, 0, part, 2));
        let folds = mask(&parts.train, crate::task::Masking::Folds, 20, Seeds::new(1), 1).unwrap();
        assert_eq!(folds.len(), 3);
        objective.replace_parts(&folds, &model, 2);
        for (at, part) in folds.iter().enumerate() {
            check(&mut objective, at, part, 1);
        }
    }

    #[test]
    fn validation_and_test_are_scored_by_what_is_known_of_their_own_pairs() {
        let (fit, mut model, parts) = setting(Config { model: "smp-proximity".into(), ..Config::default() });
        let mut start = || PairObjective::new(&fit, &mut model, &parts.train, &mut |_, _| ()).unwrap();
        let [mut both, mut alone] = [start(), start()];
        let figure = |objective: &mut PairObjective, name: PartName| {
            let part = if name.0 == 0 { &parts.valid[0] } else { &parts.test()[0] };
            let h = model.represent(&part.view, 0);
            objective.metrics(&[PairMetric::Auc], name, part, &h, &model, &mut |_, _| ()).unwrap()
        };
        let valid = figure(&mut both, (0, 0));
        let test = figure(&mut both, (1, 0));
        assert_eq!((figure(&mut alone, (1, 0)), figure(&mut both, (0, 0))), (test, valid));
    }
}
