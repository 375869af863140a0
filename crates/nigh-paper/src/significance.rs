//! Corrected p-values, and differences and p-values as text.

use nigh::display::percent;

/// P-values of several comparisons, corrected for their number by the Holm-Bonferroni method.
///
/// ```
/// use nigh_paper::holm;
/// assert_eq!(holm(&[0.25, 0.0625, 0.125]), [0.25, 0.1875, 0.25]);
/// ```
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&a, &b| p[a].total_cmp(&p[b]));
    let (mut raised, mut least) = (vec![0.0; p.len()], 0.0f64);
    for (before, at) in order.into_iter().enumerate() {
        // Corrected p-values keep the order of the original ones.
        least = least.max((p[at] * (p.len() - before) as f64).min(1.0));
        raised[at] = least;
    }
    raised
}

/// `0.042`, `< 0.001`.
pub fn p_value(p: f64) -> String {
    if p < 0.001 { "< 0.001".to_string() } else { format!("{p:.3}") }
}

/// A difference of fractions in points of a percentage, with one decimal.
pub fn points(difference: f64) -> String {
    match percent(difference).as_str() {
        "-0.0" => "0.0".to_string(),
        points => points.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holm_corrects_for_the_number_of_comparisons() {
        assert_eq!(holm(&[]), [0.0; 0]);
        assert_eq!(holm(&[0.5]), [0.5]);
        // Three times the least, twice the next but at least the one before, at most one.
        assert_eq!(holm(&[0.5, 0.125, 0.1875]), [0.5, 0.375, 0.375]);
        assert_eq!(holm(&[0.75, 0.5]), [1.0, 1.0]);
    }
}
