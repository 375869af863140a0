//! `nigh certify`: the width of Theorem 2 and the error measured at it.

use crate::test_folder::TestFolder;
use serde_json::Value;

fn number(result: &Value, name: &str) -> f64 {
    result[name].as_f64().unwrap_or_else(|| panic!("{name} is missing in {result}"))
}

#[test]
fn the_width_is_the_formula_of_theorem_2() {
    let folder = TestFolder::new();
    for (epsilon, delta, hops) in [(0.1, 0.05, 2), (0.02, 0.1, 2), (0.03, 0.01, 3), (0.2, 0.5, 1)] {
        let line = format!("certify communities --epsilon {epsilon} --delta {delta} --hops {hops} -q --json");
        let result = folder.nigh(&line).json();
        let norm = number(&result, "max_row_norm");
        // Rows of Ã^K are rows of a contraction.
        assert!(norm > 0.0 && norm <= 1.0, "{line}");
        // The lemma behind the theorem needs epsilon / norm < 1/2.
        let e = f64::min(epsilon / norm, 0.5);
        let width = 4.0 * f64::ln(4.0 / delta) / (e * e - e * e * e);
        assert_eq!(number(&result, "sufficient_width"), width.ceil(), "{line}");
        assert_eq!(result["signal_dim"], result["sufficient_width"].as_f64().unwrap() as u64, "measured there");
    }
}

#[test]
fn at_the_width_of_the_theorem_its_guarantee_holds() {
    let folder = TestFolder::new();
    for signal in ["gaussian", "uniform", "rademacher", "sparse"] {
        let line = format!("certify communities --epsilon 0.02 --delta 0.05 --signal {signal} -q --json");
        let result = folder.nigh(&line).json();
        assert!(number(&result, "share_within_epsilon") > 0.95, "{signal}: {result}");
        assert!(number(&result, "quantile_error") < 0.02, "{signal}: {result}");
        assert_eq!(result["num_pairs"], 1000);
    }
}

#[test]
fn a_wider_signal_has_a_smaller_error() {
    let folder = TestFolder::new();
    let error = |dim: usize| {
        let result = folder.nigh(&format!("certify communities --signal-dim {dim} -q --json")).json();
        assert_eq!(result["signal_dim"], dim);
        number(&result, "mean_error")
    };
    let errors = [4, 64, 1024].map(error);
    assert!(errors.is_sorted_by(|a, b| a > b), "{errors:?}");
    let too_narrow = folder.nigh("certify communities --signal-dim 4 --epsilon 0.01 -q").ok();
    assert!(too_narrow.contains("not sufficient on this graph"), "{too_narrow}");
}

#[test]
fn an_epsilon_or_delta_out_of_range_is_refused() {
    let folder = TestFolder::new();
    for epsilon in ["0", "-1", "nan", "inf"] {
        folder.refuses(&format!("certify grid --epsilon {epsilon}"), 2, &["`epsilon` is", "above 0"]);
    }
    for delta in ["0", "1", "2", "-0.5", "nan"] {
        folder.refuses(&format!("certify grid --delta {delta}"), 2, &["`delta` is", "between 0 and 1"]);
    }
    folder.refuses("certify grid --epsilon small", 2, &["small", "--epsilon"]);
}

#[test]
fn a_width_too_large_to_measure_is_reported_and_a_smaller_one_measured() {
    let folder = TestFolder::with(&[("path.txt", "a b\nb c\nc d\n")]);
    let result = folder.nigh("certify path.txt --epsilon 1e-9 -q --json").json();
    assert!(result["sufficient_width"].as_f64().unwrap() > 1e18);
    assert_eq!(result["signal_dim"], 65_536);
    assert!(result["max_error"].as_f64().unwrap() < 0.1);
}

#[test]
fn counts_out_of_range_and_graphs_without_edges_are_refused() {
    let folder = TestFolder::with(&[("loops.txt", "a a\nb b\n"), ("empty.txt", "")]);
    folder.refuses("certify grid --pairs 0", 2, &["`pairs` is 0"]);
    folder.refuses("certify grid --hops 0", 2, &["`hops` is 0"]);
    folder.refuses("certify grid --signal-dim 0", 2, &["`signal-dim` is 0"]);
    folder.refuses("certify grid --signal noise", 2, &["unknown signal `noise`", "gaussian"]);
    folder.refuses("certify loops.txt", 1, &["loops.txt", "no edge between two different nodes"]);
    folder.refuses("certify empty.txt", 1, &["empty.txt", "no edges"]);
}
