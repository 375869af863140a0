//! Does a task need *where* a node is, *what* it is, or both? Three models of one family, on the same splits, and what their differences say.

mod answer;

use crate::comparison::{ComparedModel, Comparison, PValues};
use crate::significance::holm;
use nigh::certify::WidthCheck;
use nigh::model::Dimensions;
use nigh::statistics::{difference_95, mean_and_std, paired_p};
use nigh::train::constant_answer;
use nigh::{Config, Dataset, Error, Memory, Operator, Result, Seeds};
use serde::Serialize;
use std::fmt;
use std::path::Path;

/// What a model of a diagnosis knows of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ingredients {
    /// Where it is and what it is: `Ã^K E` and `Ã^K F`.
    Both,
    /// What it is: `Ã^K F`.
    What,
    /// Where it is: `Ã^K E`.
    Where,
}

impl Ingredients {
    /// All of them, in the order in which results are shown.
    pub const ALL: [Ingredients; 3] = [Ingredients::Both, Ingredients::What, Ingredients::Where];

    /// The model: the paper's main one, and each of its two branches alone.
    pub fn model(self) -> &'static str {
        match self {
            Ingredients::Both => "smp-linear",
            Ingredients::What => "sgc",
            Ingredients::Where => "smp-signal",
        }
    }
}

impl fmt::Display for Ingredients {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Ingredients::Both => "both",
            Ingredients::What => "what",
            Ingredients::Where => "where",
        })
    }
}

/// What a task needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Need {
    /// Where a node is; what it is adds nothing that could be shown.
    Where,
    /// What a node is; where it is adds nothing that could be shown.
    What,
    /// Both: each adds to the other.
    Both,
    /// Either serves, and no difference could be shown.
    Either,
    /// Nothing could be shown.
    Unclear,
}

/// The question on a graph and a task. Its comparison trains the models, and `conclude` answers.
///
/// ```
/// use nigh_paper::{Diagnosis, Need};
/// use nigh::{Config, Dataset, Silent, Task};
///
/// let dataset = Dataset::built_in("leaders-community")?;
/// let config = Config { task: Task::NodeClassification, epochs: 100.into(), ..Config::default() };
/// let diagnosis = Diagnosis::new(&dataset, config)?;
/// let models = diagnosis.comparison().run(None, "0", &mut Silent)?;
/// let finding = diagnosis.conclude(&models)?;
/// assert_eq!(finding.need, Need::Where);
/// println!("{}", finding.answer.join(" "));
/// # Ok::<(), nigh::Error>(())
/// ```
#[derive(Debug)]
pub struct Diagnosis<'d> {
    comparison: Comparison<'d>,
}

/// The answer.
#[derive(Debug, Clone)]
pub struct Finding {
    /// What the task needs.
    pub need: Need,
    /// In three sentences: what it needs, how sure that is, and what to do.
    pub answer: [String; 3],
    /// Each model, in the order of `Ingredients::ALL`.
    pub models: Vec<DiagnosedModel>,
    /// The metric of the same answer to every question, by repeat.
    pub chance: Vec<f64>,
    /// Between each two models.
    pub differences: Vec<Difference>,
    /// The width of the signal that Theorem 2 requires, and the one in use; `None` for many hops.
    pub width: Option<WidthCheck>,
}

/// One of the models.
#[derive(Debug, Clone)]
pub struct DiagnosedModel {
    /// What it knows.
    pub knows: Ingredients,
    /// Its repeats.
    pub model: ComparedModel,
    /// Of its difference to chance, corrected for three models.
    pub chance_p: PValues,
    /// Whether it is significantly better than chance.
    pub beats_chance: bool,
}

/// The difference between two models on the same splits.
#[derive(Debug, Clone, Copy)]
pub struct Difference {
    /// One of them.
    pub first: Ingredients,
    /// The other.
    pub second: Ingredients,
    /// Mean of the first minus mean of the second.
    pub mean: f64,
    /// Student's 95 % confidence interval of it.
    pub interval_95: [f64; 2],
    /// Of a paired t-test, corrected for the three differences.
    pub p_values: PValues,
}

impl Difference {
    /// The better and the worse model, if the difference is significant.
    pub fn ranked(&self) -> Option<[Ingredients; 2]> {
        let order = if self.mean > 0.0 { [self.first, self.second] } else { [self.second, self.first] };
        self.p_values.is_significant().then_some(order)
    }
}

impl<'d> Diagnosis<'d> {
    /// Of the task of the settings. Their model is not used.
    pub fn new(dataset: &'d Dataset, config: Config) -> Result<Diagnosis<'d>> {
        if config.repeats < 2 {
            let problem = "differences are tested over repeats; expected 2 or more";
            return Err(Error::setting("repeats", config.repeats, problem));
        }
        let models: Vec<&str> = Ingredients::ALL.iter().map(|knows| knows.model()).collect();
        Ok(Diagnosis { comparison: Comparison::new(dataset, config, &models)? })
    }

    /// Keeps every training to this memory, with anonymous temporary files in `folder`; one that can't is an error.
    pub fn within(self, memory: Memory, folder: &Path) -> Diagnosis<'d> {
        Diagnosis { comparison: self.comparison.within(memory, folder) }
    }

    /// The three models, to be trained.
    pub fn comparison(&self) -> &Comparison<'d> {
        &self.comparison
    }

    /// Whether models see features of nodes.
    pub fn has_features(&self) -> bool {
        let config = self.comparison.config();
        config.task.uses_features()
            && Dimensions::of(&config.node_features.seen(self.comparison.dataset())).features > 0
    }

    /// What the trained models say.
    pub fn conclude(&self, models: &[ComparedModel]) -> Result<Finding> {
        let chance = self.chance()?;
        let found = |knows: &Ingredients| {
            let is_it = |model: &&ComparedModel| model.model == knows.model() && model.repeats.len() == chance.len();
            let missing = || Error::setting("models", knows.model(), "it has other repeats than this diagnosis");
            models.iter().find(is_it).cloned().ok_or_else(missing)
        };
        let models = Ingredients::ALL.iter().map(found).collect::<Result<Vec<ComparedModel>>>()?;
        let tests: Vec<Vec<f64>> = models.iter().map(ComparedModel::tests).collect();
        let above_chance = p_values(tests.iter().map(|tests| [&tests[..], &chance]));
        let models: Vec<DiagnosedModel> = Ingredients::ALL
            .iter()
            .zip(models)
            .zip(above_chance)
            .map(|((&knows, model), chance_p)| {
                let beats_chance = chance_p.is_significant() && model.mean_and_std().0 > mean_and_std(&chance).0;
                DiagnosedModel { knows, model, chance_p, beats_chance }
            })
            .collect();
        let differences = differences(&tests);
        let need = need(&models, &differences);
        let answer = answer::sentences(self, need, &models, &chance, &differences);
        Ok(Finding { need, answer, models, chance, differences, width: self.width() })
    }

    /// What the same answer to every question gives, on the split of each repeat.
    fn chance(&self) -> Result<Vec<f64>> {
        let (comparison, resolved) = (&self.comparison, self.comparison.resolved());
        let seen = comparison.config().node_features.seen(comparison.dataset());
        let questions = |seed| resolved.draw_questions(&seen, Seeds::new(seed), comparison.folder());
        let of_seed = |seed| constant_answer(&questions(seed)?, resolved.metric);
        comparison.seeds().map(of_seed).collect()
    }

    fn width(&self) -> Option<WidthCheck> {
        let resolved = self.comparison.resolved();
        let samples = self.comparison.dataset().samples.iter();
        let operators: Vec<Operator> = samples.map(|sample| Operator::symmetric(sample.graph.clone())).collect();
        WidthCheck::of(&operators, resolved.hops, resolved.signal, resolved.signal_dim, resolved.seed)
    }
}

/// P-values of paired differences, corrected for their number.
fn p_values<'t>(pairs: impl Iterator<Item = [&'t [f64]; 2]>) -> Vec<PValues> {
    let p: Vec<f64> = pairs.map(|[a, b]| paired_p(a, b).expect(REPEATED)).collect();
    p.iter().zip(holm(&p)).map(|(&p, corrected)| PValues { p, corrected }).collect()
}

const REPEATED: &str = "a diagnosis has two repeats or more";

/// Between each two of the models, whose tests are in the order of `Ingredients::ALL`.
fn differences(tests: &[Vec<f64>]) -> Vec<Difference> {
    let pairs = [[0, 1], [0, 2], [2, 1]];
    let p = p_values(pairs.iter().map(|&[a, b]| [&tests[a][..], &tests[b][..]]));
    let difference = |([a, b], p_values): ([usize; 2], PValues)| Difference {
        first: Ingredients::ALL[a],
        second: Ingredients::ALL[b],
        mean: mean_and_std(&tests[a]).0 - mean_and_std(&tests[b]).0,
        interval_95: difference_95(&tests[a], &tests[b]).expect(REPEATED),
        p_values,
    };
    pairs.into_iter().zip(p).map(difference).collect()
}

/// An ingredient is needed if both are better than the other alone; where neither can be shown to add, the better one alone counts.
fn need(models: &[DiagnosedModel], differences: &[Difference]) -> Need {
    use Ingredients::{Both, What, Where};
    let beats = |better, worse| differences.iter().any(|difference| difference.ranked() == Some([better, worse]));
    let beats_chance = |knows| models.iter().any(|model| model.knows == knows && model.beats_chance);
    let need = match (beats(Both, What), beats(Both, Where)) {
        (true, true) => Need::Both,
        (true, false) => Need::Where,
        (false, true) => Need::What,
        (false, false) if beats(Where, What) => Need::Where,
        (false, false) if beats(What, Where) => Need::What,
        (false, false) => Need::Either,
    };
    let is_shown = match need {
        Need::Where => beats_chance(Where) && !beats(What, Where),
        Need::What => beats_chance(What) && !beats(Where, What),
        Need::Both => beats_chance(Both),
        Need::Either => beats_chance(What) && beats_chance(Where),
        Need::Unclear => true,
    };
    if is_shown { need } else { Need::Unclear }
}
