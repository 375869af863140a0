//! Probabilities of links, from scores that are logits.

use super::Trained;
use crate::error::{Error, Result};
use crate::models::Architecture;
use crate::ops::sigmoid::sigmoid;
use crate::train::Resolved;

/// How the scores of a model become probabilities.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinkProbabilities {
    /// What is added to a score: the difference of the logits of two shares of links.
    shift: f64,
}

impl LinkProbabilities {
    /// Of a model with these settings.
    pub(super) fn new(config: &Resolved, architecture: &Architecture, prior: Option<f64>) -> Result<LinkProbabilities> {
        if !config.task.is_about_pairs() {
            return Err(Error::WrongTask { task: config.task.name(), wanted: "probabilities of links" });
        }
        if !architecture.gives_logits(config.decoder) {
            return Err(Error::NoProbabilities { model: config.model.clone(), decoder: config.decoder.name() });
        }
        let of_training = training_prior(config);
        let prior = prior.unwrap_or(of_training);
        if !(prior > 0.0 && prior < 1.0) {
            return Err(Error::setting("prior", prior, "expected a share of links between 0 and 1"));
        }
        let logit = |p: f64| (p / (1.0 - p)).ln();
        Ok(LinkProbabilities { shift: logit(prior) - logit(of_training) })
    }

    /// The probability of a pair with this score.
    pub fn of(self, score: f32) -> f32 {
        sigmoid((f64::from(score) + self.shift) as f32)
    }
}

impl Trained {
    /// The share of links among the pairs of the training, as its loss weighs them.
    pub fn training_prior(&self) -> f64 {
        training_prior(&self.config)
    }

    /// How the scores of pairs become probabilities of links. The sigmoid of a score is the probability of a link among pairs of which as
    /// many are links as in the training ([`Trained::training_prior`]). Where a share of `prior` is expected to be links,
    /// `logit(p') = logit(p) + logit(prior) - logit(training prior)`.
    ///
    /// An error for models whose scores are not logits, such as heuristics and all models with the decoder `cosine`.
    pub fn link_probabilities(&self, prior: Option<f64>) -> Result<LinkProbabilities> {
        LinkProbabilities::new(&self.config, self.model.architecture(), prior)
    }
}

fn training_prior(config: &Resolved) -> f64 {
    config.decoder.training_prior(config.negatives_per_positive)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::{Dataset, Sample};
    use crate::models::Decoder;
    use crate::names::Auto;
    use crate::seeds::Seeds;
    use crate::task::{Split, Task};
    use crate::train::Config;
    use crate::training::Training;

    fn config(model: &str, decoder: Option<Decoder>, epochs: usize) -> Config {
        Config {
            model: model.into(),
            decoder: decoder.map_or(Auto::Auto, Auto::Is),
            epochs: epochs.into(),
            repeats: 1,
            ..Config::default()
        }
    }

    #[test]
    fn a_prior_moves_probabilities_by_a_difference_of_logits() {
        let dataset = Dataset::built_in("communities").unwrap();
        let pairs: Vec<[u32; 2]> = (0..50).map(|node| [node, (7 * node + 1) % 400]).collect();
        for (model, decoder, negatives_per_positive, expected_prior) in [
            ("smp-linear", Some(Decoder::InnerProduct), 1, 0.5),
            ("smp-linear", Some(Decoder::InnerProduct), 3, 0.25),
            ("smp-linear", Some(Decoder::HadamardMlp), 3, 0.5),
            ("smp-proximity", None, 1, 0.5),
        ] {
            let config = Config { negatives_per_positive: negatives_per_positive.into(), ..config(model, decoder, 3) };
            let trained = Training::new(&dataset, config).unwrap().run().unwrap();
            assert_eq!(trained.training_prior(), expected_prior);
            let session = trained.session(&dataset).unwrap();
            let scores = session.scores(&pairs).unwrap();
            let of = |prior| session.probabilities(&pairs, prior).unwrap();
            let expected: Vec<f32> = scores.iter().map(|&score| sigmoid(score)).collect();
            assert_eq!((of(None), of(Some(expected_prior))), (expected.clone(), expected.clone()));
            let logit = |p: f64| (p / (1.0 - p)).ln();
            for (p, moved) in expected.iter().zip(of(Some(0.05))) {
                let shift = logit(f64::from(moved)) - logit(f64::from(*p));
                assert!((shift - (logit(0.05) - logit(expected_prior))).abs() < 1e-3, "{p} {moved}");
            }
            for prior in [0.0, 1.0, -0.5, f64::NAN] {
                assert!(trained.link_probabilities(Some(prior)).unwrap_err().to_string().contains("`prior` is"));
            }
        }
    }

    #[test]
    fn held_out_pairs_are_links_as_often_as_their_probabilities_say() {
        let dataset = Dataset::built_in("communities").unwrap();
        for (model, decoder) in [("smp-linear", Some(Decoder::HadamardMlp)), ("smp-proximity", None)] {
            let trained = Training::new(&dataset, config(model, decoder, 60)).unwrap().run().unwrap();
            let split = trained.config.split().split(&dataset, Seeds::new(trained.run().seed)).unwrap();
            let Split::Pairs(parts) = split else { panic!("links are pairs") };
            let test = &parts.test()[0];
            // Message passing sees no held-out edge.
            let sample = Sample { graph: test.view.graph().clone().into(), ..dataset.samples[0].clone() };
            let visible = Dataset { samples: vec![sample], ..dataset.clone() };
            let session = trained.session(&visible).unwrap();
            let mean = |pairs: &[[u32; 2]], prior| {
                let found = session.probabilities(pairs, prior).unwrap();
                found.iter().map(|&p| f64::from(p)).sum::<f64>() / found.len() as f64
            };
            let (links, others) = (&test.question.positive, &test.question.negative);
            assert_eq!(links.len(), others.len());
            let found = mean(&[&links[..], others].concat(), None);
            assert!((found - 0.5).abs() < 0.05, "{model}: {found} of 0.5");
            // A link in ten.
            let few = &links[..links.len() / 9];
            let found = mean(&[few, others].concat(), Some(0.1));
            assert!((found - 0.1).abs() < 0.04, "{model}: {found} of 0.1");
        }
    }

    #[test]
    fn scores_that_are_not_logits_give_no_probabilities() {
        let dataset = Dataset::built_in("communities").unwrap();
        for (model, decoder) in [
            ("smp-linear", Decoder::Cosine),
            ("smp-identity", Decoder::Cosine),
            ("node2vec", Decoder::InnerProduct),
            ("katz", Decoder::Graph),
        ] {
            let trained = Training::new(&dataset, config(model, Some(decoder), 1)).unwrap().run().unwrap();
            let error = trained.session(&dataset).unwrap().probabilities(&[[0, 1]], None).unwrap_err().to_string();
            let expected = format!("scores of {model} with the decoder {decoder} are not logits");
            assert!(error.starts_with(&expected), "{error}");
        }
        let dataset = Dataset::built_in("leaders").unwrap();
        let classes = Config { task: Task::NodeClassification, ..config("smp-linear", None, 1) };
        let trained = Training::new(&dataset, classes).unwrap().run().unwrap();
        assert!(trained.session(&dataset).unwrap().probabilities(&[[0, 1]], None).is_err());
    }
}
