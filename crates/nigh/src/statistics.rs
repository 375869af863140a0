//! Means over repeats, how far they can be trusted, and whether a difference is significant.

/// Mean and population standard deviation.
pub fn mean_and_std(values: &[f64]) -> (f64, f64) {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64;
    (mean, variance.sqrt())
}

/// Student's 95 % confidence interval of the mean of fractions of one. `None` for fewer than two. Splits of one graph overlap, so
/// the interval is about other splits of this graph, not about other graphs.
///
/// ```
/// use nigh::statistics::interval_95;
/// let [low, high] = interval_95(&[0.91, 0.92, 0.90, 0.93]).unwrap();
/// assert!((low - 0.894_457).abs() < 1e-6 && (high - 0.935_543).abs() < 1e-6);
/// assert_eq!(interval_95(&[0.9]), None);
/// ```
pub fn interval_95(values: &[f64]) -> Option<[f64; 2]> {
    interval_of_mean(values).map(|[low, high]| [low.max(0.0), high.min(1.0)])
}

/// Student's 95 % confidence interval of the mean of `a - b`, over repeats with the same seeds: it holds zero where `paired_p` is above
/// 0.05. `None` for fewer than two pairs.
///
/// ```
/// use nigh::statistics::difference_95;
/// let [low, high] = difference_95(&[0.91, 0.92, 0.90, 0.93], &[0.88, 0.90, 0.89, 0.90]).unwrap();
/// assert!((low - 0.007_266).abs() < 1e-6 && (high - 0.037_734).abs() < 1e-6, "{low} {high}");
/// ```
pub fn difference_95(a: &[f64], b: &[f64]) -> Option<[f64; 2]> {
    let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
    interval_of_mean(&differences).filter(|_| a.len() == b.len())
}

fn interval_of_mean(values: &[f64]) -> Option<[f64; 2]> {
    let n = values.len() as f64;
    if values.len() < 2 {
        return None;
    }
    let (mean, std) = mean_and_std(values);
    // The deviation with n - 1, over the root of n.
    let reach = critical_t(n - 1.0, 0.05) * std / (n - 1.0).sqrt();
    Some([mean - reach, mean + reach])
}

/// The `t` with `P(|T| > t) = p`, by bisection: the probability falls with `t`.
fn critical_t(freedom: f64, p: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1e3);
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if two_sided_p(middle, freedom) > p { low = middle } else { high = middle }
    }
    low
}

/// `P(|T| > t) = I_{v / (v + t²)}(v / 2, 1 / 2)` with `v` degrees of freedom.
fn two_sided_p(t: f64, freedom: f64) -> f64 {
    incomplete_beta(freedom / (freedom + t * t), freedom / 2.0, 0.5)
}

/// Two-sided p-value of the paired t-test over repeats with the same seeds. `None` for fewer than two pairs.
///
/// ```
/// use nigh::statistics::paired_p;
/// let p = paired_p(&[0.91, 0.92, 0.90, 0.93], &[0.88, 0.90, 0.89, 0.90]).unwrap();
/// assert!((p - 0.018_219_854_7).abs() < 1e-9);
/// ```
pub fn paired_p(a: &[f64], b: &[f64]) -> Option<f64> {
    let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
    let n = differences.len() as f64;
    if differences.len() < 2 || a.len() != b.len() {
        return None;
    }
    let mean = differences.iter().sum::<f64>() / n;
    let variance = differences.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / (n - 1.0);
    if variance == 0.0 {
        // The same difference in every pair: zero, or certain.
        return Some(if mean == 0.0 { 1.0 } else { 0.0 });
    }
    let t = mean / (variance / n).sqrt();
    Some(two_sided_p(t, n - 1.0))
}

/// The regularised incomplete beta function `I_x(a, b)`, by its continued fraction (Lentz).
fn incomplete_beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    let front = (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (1.0 - x).ln()).exp();
    // The fraction converges fast below the mean; above it, the symmetry of the function is used.
    if x < (a + 1.0) / (a + b + 2.0) {
        front * fraction(x, a, b) / a
    } else {
        1.0 - front * fraction(1.0 - x, b, a) / b
    }
}

fn fraction(x: f64, a: f64, b: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let away_from_zero = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut result = d;
    for m in 1..300 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut change = 1.0;
        for step in [even, odd] {
            d = 1.0 / away_from_zero(1.0 + step * d);
            c = away_from_zero(1.0 + step / c);
            change = c * d;
            result *= change;
        }
        if (change - 1.0).abs() < 1e-14 {
            break;
        }
    }
    result
}

/// `ln Γ(x)` for `x > 0`: Stirling's series, from where it is exact to the last digits.
fn ln_gamma(mut x: f64) -> f64 {
    let mut below = 0.0;
    while x < 10.0 {
        below += x.ln();
        x += 1.0;
    }
    let square = 1.0 / (x * x);
    let series = (1.0 / 12.0 - square * (1.0 / 360.0 - square * (1.0 / 1260.0 - square / 1680.0))) / x;
    (x - 0.5) * x.ln() - x + 0.5 * std::f64::consts::TAU.ln() + series - below
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p_values_are_those_of_the_t_distribution() {
        // Critical values of Student's t: P(|T| > t) with v degrees of freedom.
        let by_freedom = [(1.0, 12.706_204_736, 0.05), (4.0, 2.776_445_105, 0.05), (4.0, 4.604_094_871, 0.01)];
        for (v, t, p) in by_freedom.into_iter().chain([(9.0, 2.262_157_163, 0.05), (30.0, 2.749_995_654, 0.01)]) {
            let found = two_sided_p(t, v);
            assert!((found - p).abs() < 1e-9, "{v} {t}: {found}");
            assert!((critical_t(v, p) - t).abs() < 1e-8, "{v} {p}: {}", critical_t(v, p));
        }
        // One degree of freedom is Cauchy's distribution: P(|T| > 1) = 1/2.
        assert!((incomplete_beta(0.5, 0.5, 0.5) - 0.5).abs() < 1e-12);
    }

    #[test]
    fn deviations_are_those_of_the_population() {
        assert_eq!(mean_and_std(&[1.0, 2.0, 3.0, 4.0]), (2.5, 1.25f64.sqrt()));
        assert_eq!(mean_and_std(&[0.7]), (0.7, 0.0));
    }

    #[test]
    fn equal_repeats_give_p_one_and_constant_differences_p_zero() {
        assert_eq!(paired_p(&[0.5, 0.6], &[0.5, 0.6]), Some(1.0));
        assert_eq!(paired_p(&[1.0, 2.0, 3.0], &[0.0, 1.0, 2.0]), Some(0.0));
        assert_eq!(paired_p(&[0.5], &[0.6]), None);
    }

    // scipy.stats.ttest_rel and t.interval: deviations divide by n - 1, which matters most for few repeats.
    #[test]
    fn few_repeats_show_little() {
        let (a, b) = ([0.91, 0.92, 0.90, 0.93], [0.88, 0.90, 0.89, 0.90]);
        assert!((paired_p(&a, &b).unwrap() - 0.018_219_854_7).abs() < 1e-9);
        let [low, high] = difference_95(&a, &b).unwrap();
        assert!((low - 0.007_266).abs() < 1e-6 && (high - 0.037_734).abs() < 1e-6, "{low} {high}");
        let [low, high] = interval_95(&a).unwrap();
        assert!((low - 0.894_457).abs() < 1e-6 && (high - 0.935_543).abs() < 1e-6, "{low} {high}");
    }

    #[test]
    fn intervals_of_fractions_are_between_zero_and_one_and_those_of_differences_are_not() {
        let values = [0.0, 0.1, 1.0, 0.9];
        assert_eq!(interval_95(&values), Some([0.0, 1.0]));
        assert!(difference_95(&values, &[0.5; 4]).unwrap()[0] < 0.0);
    }
}
