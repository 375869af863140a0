//! The same numbers as PyTorch's AdamW and cosine schedule and scikit-learn's tf-idf. `fixtures/make_parts.py` made theirs.

use nigh::dataset::NamedDataset;
use nigh::train::{Adam, Optimizer, Schedule};
use nigh::{Config, Dataset, Features, Matrix, Seeds, tape::Weights};
use serde_json::Value;

fn fixture(name: &str) -> Value {
    let all: Value = serde_json::from_str(include_str!("fixtures/parts.json")).unwrap();
    all[name].clone()
}

fn row(value: &Value) -> Vec<f32> {
    value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap() as f32).collect()
}

fn rows(value: &Value) -> Vec<Vec<f32>> {
    value.as_array().unwrap().iter().map(row).collect()
}

fn assert_near(found: &[f32], expected: &[f32], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() <= 2e-6 * expected.abs().max(1.0), "{what}: {found}, expected {expected}");
    }
}

#[test]
fn decoupled_weight_decay_under_a_cosine_schedule_is_that_of_pytorch() {
    let case = fixture("adamw");
    let number = |name: &str| case[name].as_f64().unwrap() as f32;
    let (gradients, rates) = (rows(&case["gradients"]), row(&case["rates"]));
    let config = Config {
        model: "smp-linear".into(),
        epochs: gradients.len().into(),
        learning_rate: number("learning_rate").into(),
        ..Config::default()
    };
    let resolved = config.resolve(&Dataset::built_in("communities").unwrap()).unwrap();
    let mut fit = resolved.fit();
    assert_eq!((fit.schedule, fit.optimizer), (Schedule::Step, Optimizer::Adam), "the paper's");
    (fit.schedule, fit.optimizer) = (Schedule::Cosine, Optimizer::AdamW);
    let mut weights = Weights::new(Seeds::new(0));
    weights.declare("w", Matrix::from_rows(&[row(&case["start"])]));
    let mut adam = Adam::new(&weights);
    for (at, (gradient, expected)) in gradients.iter().zip(rows(&case["weights"])).enumerate() {
        let rate = fit.learning_rate_at(at + 1);
        assert_near(&[rate], &rates[at..=at], "rate");
        weights.entries_mut()[0].gradient = Matrix::from_rows(&[gradient]);
        adam.step_with(&mut weights, rate, number("weight_decay"), fit.optimizer);
        assert_near(weights.entries()[0].value.data(), &expected, &format!("step {at}"));
    }
}

#[test]
fn a_schedule_moves_with_every_batch_and_keeps_to_its_epochs() {
    let config = Config {
        model: "smp-linear".into(),
        epochs: 10.into(),
        decay_at: 4.into(),
        decay_factor: 0.1,
        learning_rate: 0.01.into(),
        ..Config::default()
    };
    let resolved = config.resolve(&Dataset::built_in("communities").unwrap()).unwrap();
    let mut fit = resolved.fit();
    let rates = |fit: &nigh::train::FitSettings| (1..=10).map(|epoch| fit.learning_rate_at(epoch)).collect::<Vec<_>>();
    assert_eq!(rates(&fit), [[0.01; 4].as_slice(), &[0.001; 6]].concat());
    fit.schedule = Schedule::Constant;
    assert_eq!(rates(&fit), [0.01; 10]);
    fit.schedule = Schedule::Cosine;
    let within: Vec<f32> = (1..=10)
        .flat_map(|epoch| (0..4).map(move |batch| (epoch, batch)))
        .map(|(e, b)| fit.learning_rate_within(e, b, 4))
        .collect();
    assert!(within[0] == 0.01 && within.is_sorted_by(|a, b| a > b) && *within.last().unwrap() > 0.0);
    assert!((within[20] - 0.005).abs() < 1e-8, "half of the way");
    assert!(within.iter().step_by(4).eq(&rates(&fit)));
}

#[test]
fn tf_idf_is_that_of_scikit_learn() {
    let case = fixture("tf_idf");
    // Sparse only from sixteen columns on.
    let padded: Vec<Vec<f32>> = rows(&case["counts"]).iter().map(|row| [&row[..], &[0.0; 20]].concat()).collect();
    let Features::Sparse(counts) = Features::from_matrix(Matrix::from_rows(&padded)) else { panic!("mostly zeros") };
    let weighted = counts.tf_idf();
    for (at, expected) in rows(&case["weighted"]).iter().enumerate() {
        let mut found = [0.0; 5];
        weighted.row(at).for_each(|(column, value)| found[column as usize] = value);
        assert_near(&found, expected, &format!("row {at}"));
    }
}

#[test]
#[ignore = "needs NIGH_DATA"]
fn the_words_of_citations_lose_no_more_than_a_hundredth_of_the_energy_that_any_256_directions_hold() {
    let root =
        std::path::PathBuf::from(std::env::var_os("NIGH_DATA").expect("NIGH_DATA names the folder of the datasets"));
    // The sums of the 256 largest eigenvalues of the words' Gram matrix by numpy.
    for (name, best) in [("citeseer", 1362.03194), ("pubmed", 16176.4945)] {
        let dataset = NamedDataset::named(name).unwrap().read_from(&root.join(name)).unwrap();
        let start = std::time::Instant::now();
        let reduced = dataset.samples[0].features.reduced(256, Seeds::new(1));
        println!("{name}: reduced in {:.0} ms", start.elapsed().as_secs_f64() * 1e3);
        let energy: f64 = reduced.data().iter().map(|&x| f64::from(x) * f64::from(x)).sum();
        println!("{name}: {:.5} of the energy", energy / best);
        assert!((0.99..1.00001).contains(&(energy / best)), "{name}: {energy} of {best}");
    }
}
