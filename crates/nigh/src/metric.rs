//! 7. Metrics: AUC, average precision, Hits@K, MRR, accuracy, micro-F1, macro-F1, all as fractions of one.

use crate::error::{Error, Result};
use crate::label_sets::LabelSets;
use crate::names::serde_as_word;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// What is measured. Names: `auc`, `ap`, `hits@K`, `mrr`, `accuracy`, `micro-f1`, `macro-f1`. The order is that of reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Metric {
    /// Of scores of pairs.
    Pairs(PairMetric),
    /// Of classes of nodes.
    Classes(ClassMetric),
}

/// What is measured of scores of positive and negative pairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PairMetric {
    /// Area under the ROC curve.
    Auc,
    /// Average precision.
    AveragePrecision,
    /// Fraction of positives above the K-th best negative.
    HitsAt(usize),
    /// Mean reciprocal rank of a positive among the negatives.
    MeanReciprocalRank,
}

/// What is measured of predicted classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ClassMetric {
    /// Fraction of nodes classified right.
    Accuracy,
    /// F1 over the decisions about all classes together; with one class per node, the accuracy.
    MicroF1,
    /// Mean of F1 over classes.
    MacroF1,
}

/// What is measured where nodes have several labels each, as scikit-learn does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetMetric {
    /// F1 over the decisions about all nodes and classes together.
    MicroF1,
    /// Mean of F1 over all classes; a class that neither occurs nor is answered counts zero.
    MacroF1,
    /// Average precision of the scores of a class, as a mean over the classes that occur.
    AveragePrecision,
}

/// Answers for nodes that may have several labels.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SetAnswers {
    /// The labels of each node.
    pub sets: LabelSets,
    /// A score of each class for each node, row by row.
    pub scores: Vec<f32>,
}

impl SetMetric {
    /// Every one of them.
    pub const ALL: [SetMetric; 3] = [SetMetric::AveragePrecision, SetMetric::MicroF1, SetMetric::MacroF1];

    /// The metric of answers for nodes with these labels.
    pub(crate) fn of(self, labels: &LabelSets, answers: &SetAnswers) -> f64 {
        let classes = answers.scores.len() / labels.len().max(1);
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
        match self {
            SetMetric::MicroF1 => {
                ClassCounts::of_sets(labels, &answers.sets, classes).into_iter().sum::<ClassCounts>().f1()
            }
            SetMetric::MacroF1 => {
                let counts = ClassCounts::of_sets(labels, &answers.sets, classes);
                mean(&counts.into_iter().map(ClassCounts::f1).collect::<Vec<_>>())
            }
            SetMetric::AveragePrecision => {
                let of_class = |class: usize| {
                    let scores = answers.scores.iter().skip(class).step_by(classes).zip(labels.iter());
                    let (positive, negative): (Vec<_>, Vec<_>) =
                        scores.partition(|(_, set)| set.contains(&(class as u32)));
                    let [positive, negative] = [positive, negative]
                        .map(|side| side.into_iter().map(|(&score, _)| score).collect::<Vec<f32>>());
                    (!positive.is_empty()).then(|| average_precision(&positive, &negative))
                };
                mean(&(0..classes).filter_map(of_class).collect::<Vec<_>>())
            }
        }
    }
}

impl Metric {
    /// As a metric of scores of pairs.
    pub fn of_pairs(self) -> Option<PairMetric> {
        if let Metric::Pairs(metric) = self { Some(metric) } else { None }
    }

    /// As a metric of sets of labels. Average precision has one name for pairs and for classes.
    pub fn of_sets(self) -> Option<SetMetric> {
        SetMetric::ALL.into_iter().find(|&metric| Metric::from(metric) == self)
    }

    /// As a metric of classes.
    pub fn of_classes(self) -> Option<ClassMetric> {
        if let Metric::Classes(metric) = self { Some(metric) } else { None }
    }
}

impl From<PairMetric> for Metric {
    fn from(metric: PairMetric) -> Metric {
        Metric::Pairs(metric)
    }
}

impl From<ClassMetric> for Metric {
    fn from(metric: ClassMetric) -> Metric {
        Metric::Classes(metric)
    }
}

impl From<SetMetric> for Metric {
    fn from(metric: SetMetric) -> Metric {
        match metric {
            SetMetric::MicroF1 => Metric::Classes(ClassMetric::MicroF1),
            SetMetric::MacroF1 => Metric::Classes(ClassMetric::MacroF1),
            SetMetric::AveragePrecision => Metric::Pairs(PairMetric::AveragePrecision),
        }
    }
}

/// Metrics by their names, in the order of reports.
pub type Metrics = BTreeMap<Metric, f64>;

impl PairMetric {
    /// What is reported beside the metric that chooses the epoch.
    pub const REPORTED: [PairMetric; 6] = [
        PairMetric::Auc,
        PairMetric::AveragePrecision,
        PairMetric::HitsAt(10),
        PairMetric::HitsAt(50),
        PairMetric::HitsAt(100),
        PairMetric::MeanReciprocalRank,
    ];
}

impl ClassMetric {
    /// What is reported beside the metric that chooses the epoch.
    pub const REPORTED: [ClassMetric; 3] = [ClassMetric::Accuracy, ClassMetric::MicroF1, ClassMetric::MacroF1];
}

impl PairMetric {
    /// The metric of scores of positive and negative pairs.
    pub fn of(self, positive: &[f32], negative: &[f32]) -> f64 {
        match self {
            PairMetric::Auc => auc(positive, negative),
            PairMetric::AveragePrecision => average_precision(positive, negative),
            PairMetric::HitsAt(k) => hits_at(k, positive, negative),
            PairMetric::MeanReciprocalRank => mean_reciprocal_rank(positive, negative),
        }
    }
}

/// Where a positive stands among the negatives that it alone is ranked with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Standing {
    /// Negatives with a higher score.
    pub above: usize,
    /// Negatives with the same score.
    pub level: usize,
    /// All of its negatives.
    pub total: usize,
}

impl PairMetric {
    /// The mean over positives that are ranked each among negatives of its own, as OGB and HeaRT do; those without a negative
    /// are left out. AUC is the probability that a positive scores above a negative of its own, average precision that of a
    /// list with one right answer.
    pub(crate) fn of_standings(self, standings: &[Standing]) -> f64 {
        let value = |standing: &Standing| {
            let [above, level, total] = [standing.above, standing.level, standing.total].map(|count| count as f64);
            match self {
                PairMetric::Auc => (total - above - 0.5 * level) / total,
                PairMetric::AveragePrecision => 1.0 / (1.0 + above + level),
                // Strictly above the K-th best negative, or there is no K-th.
                PairMetric::HitsAt(k) => f64::from(standing.above + standing.level < k),
                PairMetric::MeanReciprocalRank => 1.0 / (1.0 + above + 0.5 * level),
            }
        };
        let asked = standings.iter().filter(|standing| standing.total > 0);
        asked.clone().map(value).sum::<f64>() / asked.count() as f64
    }
}

impl ClassMetric {
    /// The metric of predicted classes.
    pub fn of(self, labels: &[u32], predictions: &[u32]) -> f64 {
        match self {
            ClassMetric::Accuracy => accuracy(labels, predictions),
            ClassMetric::MicroF1 => micro_f1(labels, predictions),
            ClassMetric::MacroF1 => macro_f1(labels, predictions),
        }
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Metric::Pairs(PairMetric::Auc) => f.pad("auc"),
            Metric::Pairs(PairMetric::AveragePrecision) => f.pad("ap"),
            Metric::Pairs(PairMetric::HitsAt(k)) => f.pad(&format!("hits@{k}")),
            Metric::Pairs(PairMetric::MeanReciprocalRank) => f.pad("mrr"),
            Metric::Classes(ClassMetric::Accuracy) => f.pad("accuracy"),
            Metric::Classes(ClassMetric::MicroF1) => f.pad("micro-f1"),
            Metric::Classes(ClassMetric::MacroF1) => f.pad("macro-f1"),
        }
    }
}

impl FromStr for Metric {
    type Err = Error;

    fn from_str(word: &str) -> Result<Metric> {
        let hits = word.strip_prefix("hits@").and_then(|k| k.parse().ok()).filter(|&k: &usize| k > 0);
        Ok(match (word, hits) {
            ("auc", _) => Metric::Pairs(PairMetric::Auc),
            ("ap", _) => Metric::Pairs(PairMetric::AveragePrecision),
            ("mrr", _) => Metric::Pairs(PairMetric::MeanReciprocalRank),
            ("accuracy", _) => Metric::Classes(ClassMetric::Accuracy),
            ("micro-f1", _) => Metric::Classes(ClassMetric::MicroF1),
            ("macro-f1", _) => Metric::Classes(ClassMetric::MacroF1),
            (_, Some(k)) => Metric::Pairs(PairMetric::HitsAt(k)),
            _ if word.starts_with("hits@") => {
                return Err(Error::setting("metric", word, "expected hits@K with K a whole number of 1 or more"));
            }
            _ => {
                let known =
                    ["auc", "ap", "hits@20", "mrr", "accuracy", "micro-f1", "macro-f1"].map(String::from).to_vec();
                return Err(Error::UnknownName { kind: "metric", name: word.to_string(), known });
            }
        })
    }
}

serde_as_word!(Metric);

/// Scores in descending order with whether each is a positive's.
fn ranked(positive: &[f32], negative: &[f32]) -> Vec<(f32, bool)> {
    let mut all: Vec<(f32, bool)> =
        positive.iter().map(|&s| (s, true)).chain(negative.iter().map(|&s| (s, false))).collect();
    all.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
    all
}

/// Runs of equal scores, best first: `(positives, negatives)` in each.
fn ties(positive: &[f32], negative: &[f32]) -> Vec<(f64, f64)> {
    ranked(positive, negative)
        // One NaN is no better than another.
        .chunk_by(|a, b| a.0 == b.0 || a.0.is_nan() && b.0.is_nan())
        .map(|run| {
            let positives = run.iter().filter(|entry| entry.1).count();
            (positives as f64, (run.len() - positives) as f64)
        })
        .collect()
}

/// The probability that a positive scores above a negative, a tie counting half.
pub fn auc(positive: &[f32], negative: &[f32]) -> f64 {
    let mut above = 0.0;
    let mut wins = 0.0;
    for (positives, negatives) in ties(positive, negative) {
        wins += negatives * (above + 0.5 * positives);
        above += positives;
    }
    wins / (positive.len() as f64 * negative.len() as f64)
}

/// `Σ (R_n - R_(n-1)) P_n` over distinct scores, without interpolation.
pub(crate) fn average_precision(positive: &[f32], negative: &[f32]) -> f64 {
    let (mut found, mut seen, mut sum) = (0.0, 0.0, 0.0);
    for (positives, negatives) in ties(positive, negative) {
        found += positives;
        seen += positives + negatives;
        sum += positives * found / seen;
    }
    sum / positive.len() as f64
}

/// OGB's rule: a hit is strictly above the K-th best negative; with fewer than K negatives everything is a hit.
pub(crate) fn hits_at(k: usize, positive: &[f32], negative: &[f32]) -> f64 {
    if negative.len() < k {
        return 1.0;
    }
    let mut negative = negative.to_vec();
    let (_, threshold, _) = negative.select_nth_unstable_by(k - 1, |a, b| b.total_cmp(a));
    let hits = positive.iter().filter(|score| **score > *threshold).count();
    hits as f64 / positive.len() as f64
}

/// The rank of a positive is one plus the negatives above it plus half of those level with it, as OGB counts; here all
/// positives are ranked among the same negatives.
pub(crate) fn mean_reciprocal_rank(positive: &[f32], negative: &[f32]) -> f64 {
    let mut sorted = negative.to_vec();
    sorted.sort_unstable_by(|a, b| b.total_cmp(a));
    let reciprocal = |score: &f32| {
        let above = sorted.partition_point(|n| n > score);
        let level_or_above = sorted.partition_point(|n| n >= score);
        1.0 / (1.0 + 0.5 * (above + level_or_above) as f64)
    };
    positive.iter().map(reciprocal).sum::<f64>() / positive.len() as f64
}

/// The rank of every value among all of them, from 0 to 1; equal values share the mean of their ranks.
pub(crate) fn ranks(values: &[f32]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]).then(a.cmp(&b)));
    let mut ranks = vec![0.0; values.len()];
    let mut first = 0;
    for run in order.chunk_by(|&a, &b| values[a] == values[b]) {
        let mean = first as f64 + (run.len() - 1) as f64 / 2.0;
        run.iter().for_each(|&at| ranks[at] = mean / (values.len().max(2) - 1) as f64);
        first += run.len();
    }
    ranks
}

/// Spearman's rank correlation; `None` where one side is constant.
///
/// ```
/// use nigh::metric::rank_correlation;
/// assert_eq!(rank_correlation(&[1.0, 2.0, 4.0], &[0.0, 5.0, 6.0]), Some(1.0));
/// assert_eq!(rank_correlation(&[1.0, 2.0, 4.0], &[3.0, 2.0, 1.0]), Some(-1.0));
/// ```
pub fn rank_correlation(a: &[f32], b: &[f32]) -> Option<f64> {
    let [a, b] = [a, b].map(ranks);
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (mean_a, mean_b) = (mean(&a), mean(&b));
    let moment = |x: &[f64], mean_x: f64, y: &[f64], mean_y: f64| -> f64 {
        x.iter().zip(y).map(|(x, y)| (x - mean_x) * (y - mean_y)).sum()
    };
    let scale = (moment(&a, mean_a, &a, mean_a) * moment(&b, mean_b, &b, mean_b)).sqrt();
    (scale > 0.0).then(|| moment(&a, mean_a, &b, mean_b) / scale)
}

/// The fraction of right answers.
pub(crate) fn accuracy(labels: &[u32], predictions: &[u32]) -> f64 {
    let right = labels.iter().zip(predictions).filter(|(label, prediction)| label == prediction).count();
    right as f64 / labels.len() as f64
}

/// How often a class is answered rightly, and how often it is a label or an answer.
#[derive(Debug, Clone, Copy, Default)]
struct ClassCounts {
    right: usize,
    labels_and_predictions: usize,
}

impl ClassCounts {
    /// By class, for every class that occurs among labels or predictions.
    fn of(labels: &[u32], predictions: &[u32]) -> BTreeMap<u32, ClassCounts> {
        let mut counts: BTreeMap<u32, ClassCounts> = BTreeMap::new();
        for (&label, &prediction) in labels.iter().zip(predictions) {
            counts.entry(label).or_default().labels_and_predictions += 1;
            let predicted = counts.entry(prediction).or_default();
            predicted.labels_and_predictions += 1;
            predicted.right += usize::from(label == prediction);
        }
        counts
    }

    /// By class, for nodes that have several.
    fn of_sets(labels: &LabelSets, predictions: &LabelSets, classes: usize) -> Vec<ClassCounts> {
        let mut counts = vec![ClassCounts::default(); classes];
        for (labels, predictions) in labels.iter().zip(predictions.iter()) {
            labels.iter().chain(predictions).for_each(|&class| counts[class as usize].labels_and_predictions += 1);
            let right = predictions.iter().filter(|class| labels.binary_search(class).is_ok());
            right.for_each(|&class| counts[class as usize].right += 1);
        }
        counts
    }

    /// `2 P R / (P + R)`; zero where there is nothing to find and nothing found.
    fn f1(self) -> f64 {
        2.0 * self.right as f64 / self.labels_and_predictions.max(1) as f64
    }
}

impl std::iter::Sum for ClassCounts {
    fn sum<I: Iterator<Item = ClassCounts>>(all: I) -> ClassCounts {
        all.fold(ClassCounts::default(), |sum, of_class| ClassCounts {
            right: sum.right + of_class.right,
            labels_and_predictions: sum.labels_and_predictions + of_class.labels_and_predictions,
        })
    }
}

/// F1 over the decisions about all classes together.
pub(crate) fn micro_f1(labels: &[u32], predictions: &[u32]) -> f64 {
    ClassCounts::of(labels, predictions).into_values().sum::<ClassCounts>().f1()
}

/// The mean of F1 over every class that occurs among labels or predictions.
pub(crate) fn macro_f1(labels: &[u32], predictions: &[u32]) -> f64 {
    let counts = ClassCounts::of(labels, predictions);
    counts.values().map(|of_class| of_class.f1()).sum::<f64>() / counts.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_positive_is_ranked_among_negatives_of_its_own() {
        let standings = [Standing { above: 0, level: 0, total: 4 }, Standing { above: 2, level: 1, total: 4 }];
        assert_eq!(PairMetric::HitsAt(3).of_standings(&standings), 0.5);
        assert_eq!(PairMetric::MeanReciprocalRank.of_standings(&standings), (1.0 + 1.0 / 3.5) / 2.0);
        assert_eq!(PairMetric::Auc.of_standings(&standings), (1.0 + 1.5 / 4.0) / 2.0);
    }
    use proptest::prelude::*;

    #[test]
    fn names_are_read_back() {
        for name in ["auc", "ap", "hits@20", "hits@100", "mrr", "accuracy", "micro-f1", "macro-f1"] {
            assert_eq!(name.parse::<Metric>().unwrap().to_string(), name);
        }
        assert!("hits@0".parse::<Metric>().is_err());
        assert!("acuracy".parse::<Metric>().unwrap_err().to_string().contains("`accuracy`"));
    }

    #[test]
    fn a_positive_alone_is_judged_as_scikit_learn_judges_a_list_with_one_right_answer() {
        // roc_auc_score([1, 0, 0, 0, 0], s), average_precision_score likewise, for s = [2, 3, 2, 1, 0], by hand: one negative
        // above, one level, two below.
        let standing = Standing { above: 1, level: 1, total: 4 };
        assert_eq!(PairMetric::Auc.of_standings(&[standing]), 2.5 / 4.0);
        assert_eq!(PairMetric::AveragePrecision.of_standings(&[standing]), 1.0 / 3.0);
        // OGB: (optimistic rank 2 + pessimistic rank 3) / 2.
        assert_eq!(PairMetric::MeanReciprocalRank.of_standings(&[standing]), 1.0 / 2.5);
        assert_eq!([2, 3].map(|k| PairMetric::HitsAt(k).of_standings(&[standing])), [0.0, 1.0]);
        // The same as asked by lists of scores.
        for metric in [PairMetric::Auc, PairMetric::AveragePrecision, PairMetric::HitsAt(2), PairMetric::HitsAt(9)] {
            assert_eq!(metric.of_standings(&[standing]), metric.of(&[2.0], &[3.0, 2.0, 1.0, 0.0]));
        }
        // A positive without negatives is not asked about.
        assert_eq!(PairMetric::Auc.of_standings(&[standing, Standing::default()]), 2.5 / 4.0);
    }

    #[test]
    fn f1_counts_each_decision_or_each_class_alike() {
        // By hand: class 0 has P = 1/2, R = 1; class 1 has P = 1, R = 1/3; class 2 is a wrong answer alone.
        let (labels, predictions) = ([0, 1, 1, 1], [0, 1, 0, 2]);
        assert!((macro_f1(&labels, &predictions) - (2.0 / 3.0 + 0.5) / 3.0).abs() < 1e-15);
        // Each node has one class and gets one: wrong answers are as many missed as made up.
        assert_eq!(micro_f1(&labels, &predictions), accuracy(&labels, &predictions));
    }

    #[test]
    fn classes_that_do_not_occur_do_not_count() {
        assert_eq!(macro_f1(&[0, 7, 7], &[0, 7, 7]), 1.0);
    }

    #[test]
    fn equal_scores_share_the_mean_of_their_ranks() {
        assert_eq!(ranks(&[3.0, 1.0, 1.0, 0.0, 1.0]), [1.0, 0.5, 0.5, 0.0, 0.5]);
        // One negative above, two level: between ranks 2 and 4.
        assert_eq!(mean_reciprocal_rank(&[2.0], &[3.0, 2.0, 2.0, 1.0]), 1.0 / 3.0);
    }

    proptest! {
        #[test]
        fn auc_does_not_change_under_monotone_maps(
            positive in prop::collection::vec(-4i8..4, 1..30),
            negative in prop::collection::vec(-4i8..4, 1..30),
        ) {
            let scores = |list: &[i8]| list.iter().map(|&s| f32::from(s)).collect::<Vec<_>>();
            let mapped = |list: &[i8]| list.iter().map(|&s| (f32::from(s) * 0.7 + 3.0).exp()).collect::<Vec<_>>();
            let plain = auc(&scores(&positive), &scores(&negative));
            prop_assert_eq!(plain, auc(&mapped(&positive), &mapped(&negative)));
            // Turning the scores around turns the area around.
            let turned = |list: &[i8]| list.iter().map(|&s| -f32::from(s)).collect::<Vec<_>>();
            prop_assert!((plain + auc(&turned(&positive), &turned(&negative)) - 1.0).abs() < 1e-12);
        }
    }
}
