//! Binary cross-entropy of several scores at once, in arithmetic that the compiler can vectorise.

/// `-y log σ(s) - (1-y) log(1-σ(s))` of each score and its derivative by `s`, without overflow. Within a few units in the
/// last place of the exact values.
#[inline(always)]
pub(crate) fn cross_entropies<const N: usize>(scores: &[f32; N], labels: &[f32; N]) -> ([f32; N], [f32; N]) {
    let (mut losses, mut slopes) = ([0.0; N], [0.0; N]);
    for at in 0..N {
        let (score, label) = (scores[at], labels[at]);
        let small = exp_of_negative(-score.abs());
        let above = 1.0 / (1.0 + small);
        let sigmoid = if score >= 0.0 { above } else { small * above };
        let positive = if score < 0.0 { 0.0 } else { score };
        losses[at] = positive - score * label + ln_1p_of_share(small);
        slopes[at] = sigmoid - label;
    }
    (losses, slopes)
}

/// `e^x` for `x <= 0`: `2^n e^r` with `|r| <= ln 2 / 2`. NaN stays NaN.
#[inline(always)]
pub(crate) fn exp_of_negative(x: f32) -> f32 {
    const ROUND: f32 = 12_582_912.0;
    // Below, the result would be subnormal, and makes no difference to a sum with one.
    let x = if x < -87.0 { -87.0 } else { x };
    // This addition rounds the fraction away and leaves the integer in the lowest bits.
    let shifted = x * std::f32::consts::LOG2_E + ROUND;
    let n = shifted - ROUND;
    // ln 2 in two parts: the first has so few bits that its product with n is exact.
    let r = (x - n * 0.693_359_4) - n * -2.121_944_4e-4;
    let series = 1.0
        + r * (1.0 + r * (0.5 + r * (0.166_666_67 + r * (0.041_666_668 + r * (0.008_333_334 + r * 0.001_388_889)))));
    series * f32::from_bits(shifted.to_bits().wrapping_add(127) << 23)
}

/// `ln(1 + x)` for `x` from 0 to 1, as `2 artanh(x / (2 + x))`.
#[inline(always)]
fn ln_1p_of_share(x: f32) -> f32 {
    let z = x / (2.0 + x);
    let s = z * z;
    let series = 1.0 / 3.0 + s * (1.0 / 5.0 + s * (1.0 / 7.0 + s * (1.0 / 9.0 + s * (1.0 / 11.0 + s * (1.0 / 13.0)))));
    2.0 * (z + z * s * series)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_and_slopes_are_those_of_the_formula() {
        for step in -2400..=2400 {
            let score = step as f32 * 0.0437;
            for label in [0.0, 1.0] {
                let ([loss], [slope]) = cross_entropies(&[score], &[label]);
                let exact = f64::from(score);
                let softplus = |x: f64| x.max(0.0) + (-x.abs()).exp().ln_1p();
                let (expected, slope_expected) =
                    (softplus(exact) - exact * f64::from(label), 1.0 / (1.0 + (-exact).exp()) - f64::from(label));
                // As near as a sum of single-precision numbers as large as the score can be.
                let room = 2e-7 * exact.abs().max(1.0);
                assert!((f64::from(loss) - expected).abs() <= room, "{score}, {label}: {loss}, expected {expected}");
                assert!((f64::from(slope) - slope_expected).abs() <= 2e-7, "{score}, {label}: {slope}");
            }
        }
    }

    #[test]
    fn confident_scores_do_not_overflow_and_what_is_not_a_number_stays_so() {
        let ([right, wrong], [slope, steep]) = cross_entropies(&[500.0, -500.0], &[1.0; 2]);
        assert!((0.0..1e-30).contains(&right) && wrong == 500.0, "{right}, {wrong}");
        assert_eq!((slope, steep), (0.0, -1.0));
        let ([loss], [slope]) = cross_entropies(&[f32::NAN], &[0.0]);
        assert!(loss.is_nan() && slope.is_nan());
    }
}
