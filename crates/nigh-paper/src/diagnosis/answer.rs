//! A diagnosis in three sentences: what the task needs, how sure that is, what to do.

use super::{DiagnosedModel, Diagnosis, Difference, Ingredients, Need};
use crate::significance::p_value;
use nigh::display::percent;
use nigh::statistics::mean_and_std;
use nigh::train::NodeFeatures;
use nigh::{Auto, Config, Dataset, Task};

pub(super) fn sentences(
    diagnosis: &Diagnosis<'_>,
    need: Need,
    models: &[DiagnosedModel],
    chance: &[f64],
    differences: &[Difference],
) -> [String; 3] {
    let words = Words { has_features: diagnosis.has_features() };
    let config = diagnosis.comparison().config();
    let subject = subject(config, diagnosis.comparison().dataset(), diagnosis.has_features());
    let metric = diagnosis.comparison().metric();
    let [both, what, place] = [0, 1, 2].map(|at: usize| percent(models[at].model.mean_and_std().0));
    let figures = format!(
        "{metric} is {both} % with both, {what} % with {} alone, {place} % with position alone, and the same answer to \
         everything gives {} %",
        words.what(),
        percent(mean_and_std(chance).0)
    );
    let claim = match need {
        Need::Where => format!("{subject} needs where a node is; what it is adds nothing that could be shown"),
        Need::What => format!("{subject} needs what a node is; where it is adds nothing that could be shown"),
        Need::Both => format!("{subject} needs both, where a node is and what it is"),
        Need::Either => format!(
            "{subject} can be done from where a node is or from what it is; which counts for more could not be shown"
        ),
        Need::Unclear => format!("{subject} does not show what it needs"),
    };
    [
        format!("{claim} ({figures})."),
        words.certainty(models, differences),
        words.advice(config, need, models, differences),
    ]
}

/// What is done to which graph.
fn subject(config: &Config, dataset: &Dataset, has_features: bool) -> String {
    let name = &dataset.name;
    let task = match config.task {
        Task::LinkPrediction => format!("Predicting the links of {name}"),
        Task::NodeClassification => format!("Classifying the nodes of {name}"),
        Task::PairwiseNodeClassification => format!("Telling which nodes of {name} share a class"),
        Task::GraphReconstruction => format!("Reconstructing the edges of {name}"),
    };
    match (has_features, config.task.uses_features(), config.node_features) {
        (true, ..) => task,
        (false, true, NodeFeatures::Given) => format!("{task}, which has no features beyond degrees,"),
        // The task or the user leaves them out.
        (false, ..) => format!("{task} without features"),
    }
}

/// What the ingredients are called.
struct Words {
    has_features: bool,
}

impl Words {
    /// What a node is: its features or, without any, no more than the degrees around it.
    fn what(&self) -> &'static str {
        if self.has_features { "features" } else { "degrees" }
    }

    fn alone(&self, knows: Ingredients) -> String {
        match knows {
            Ingredients::Both => "both".to_string(),
            Ingredients::What => format!("{} alone", self.what()),
            Ingredients::Where => "position alone".to_string(),
        }
    }

    /// The second sentence.
    fn certainty(&self, models: &[DiagnosedModel], differences: &[Difference]) -> String {
        let p = |difference: &Difference| match p_value(difference.p_values.corrected) {
            small if small.starts_with('<') => format!("p {small}"),
            value => format!("p = {value}"),
        };
        let difference = |difference: &Difference| {
            let (points, p) = (percent(difference.mean.abs()), p(difference));
            match difference.ranked() {
                Some([better, worse]) => {
                    format!("{} beats {} by {points} points ({p})", self.alone(better), self.alone(worse))
                }
                None => {
                    let [first, second] = [difference.first, difference.second].map(|knows| self.alone(knows));
                    format!("{first} and {second} can't be told apart ({points} points, {p})")
                }
            }
        };
        let mut parts: Vec<String> = differences.iter().map(difference).collect();
        let no_better = models.iter().filter(|model| !model.beats_chance).map(|model| self.alone(model.knows));
        parts.extend(no_better.map(|model| format!("{model} does not beat chance")));
        let last = parts.pop().unwrap_or_default();
        let repeats = models[0].model.repeats.len();
        format!("Over {repeats} repeats, by paired t-tests with Holm's correction, {}, and {last}.", parts.join(", "))
    }

    /// The third sentence.
    fn advice(&self, config: &Config, need: Need, models: &[DiagnosedModel], differences: &[Difference]) -> String {
        // What the other ingredient takes away from one alone, if that can be shown.
        let cost = |alone: Ingredients| {
            let is_cost = |difference: &&Difference| difference.ranked() == Some([alone, Ingredients::Both]);
            differences.iter().find(is_cost).map(|difference| percent(difference.mean.abs()))
        };
        let (taken, reason) = match need {
            Need::Where => {
                let plain = "a plain GNN, which knows no position, is not enough";
                let reason = match (self.has_features, cost(Ingredients::Where)) {
                    (false, _) => plain.to_string(),
                    (true, None) => format!("{plain}, and features can be left out"),
                    (true, Some(points)) => format!("{plain}, and features cost {points} points"),
                };
                (Ingredients::Where, reason)
            }
            Need::What => {
                let reason = match cost(Ingredients::What) {
                    None => "position adds nothing that could be shown".to_string(),
                    Some(points) => format!("position costs {points} points"),
                };
                (Ingredients::What, reason)
            }
            Need::Both => (Ingredients::Both, "leaving either out costs more than chance explains".to_string()),
            Need::Either => {
                let mean = |model: &&DiagnosedModel| model.model.mean_and_std().0;
                let best = models.iter().max_by(|a, b| mean(a).total_cmp(&mean(b))).map(|model| model.knows);
                let reason = "it is ahead so far, and more repeats may show which ingredient counts";
                (best.unwrap_or(Ingredients::Both), reason.to_string())
            }
            Need::Unclear => {
                let more = if config.task.is_about_pairs() { "edges" } else { "labels" };
                return format!("Rely on none of the three yet: more repeats, more {more} or other features may tell.");
            }
        };
        let usual = Config { model: Auto::Auto, ..config.clone() }.chosen_model().name;
        let further = match Ingredients::ALL.iter().any(|knows| knows.model() == usual) {
            true => String::new(),
            false => format!("; comparing it with {usual}, the default, shows whether more can be had"),
        };
        format!("Of the three take {}: {reason}{further}.", taken.model())
    }
}
