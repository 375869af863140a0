//! Many inner products at once: their partial sums, sixteen lanes each, are added up sixteen products at a time, so that
//! every addition works on whole vectors. The order of additions is that of `dot`.

use super::entries;

/// Lanes of a partial sum, and products that are folded together.
pub(crate) const LANES: usize = 16;

/// The partial sums of `<a, b>`: `a_c b_c` goes to lane `c mod 16`.
#[inline(always)]
pub(crate) fn lane_products(a: &[f32], b: &[f32]) -> [f32; LANES] {
    match a.len() {
        32 => products_of::<32>(a, b),
        64 => products_of::<64>(a, b),
        _ => {
            let mut sums = [0.0; LANES];
            for (a, b) in a.chunks(LANES).zip(b.chunks(LANES)) {
                for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
                    *sum += a * b;
                }
            }
            sums
        }
    }
}

#[inline(always)]
fn products_of<const W: usize>(a: &[f32], b: &[f32]) -> [f32; LANES] {
    let (a, b) = (entries::<W>(a, 0).as_chunks::<LANES>().0, entries::<W>(b, 0).as_chunks::<LANES>().0);
    let mut sums = [0.0; LANES];
    for (a, b) in a.iter().zip(b) {
        for lane in 0..LANES {
            sums[lane] += a[lane] * b[lane];
        }
    }
    sums
}

/// `sums[k]` is the sum of `parts[k]`: lanes half the width apart are added, then a quarter, an eighth, a sixteenth.
pub(crate) fn fold(parts: &[[f32; LANES]], sums: &mut [f32]) {
    assert_eq!(parts.len(), sums.len(), "a sum for each part");
    let ((blocks, rest), (sums, sums_rest)) = (parts.as_chunks::<LANES>(), sums.as_chunks_mut::<LANES>());
    #[cfg(target_arch = "x86_64")]
    {
        if std::is_x86_feature_detected!("avx512f") {
            // SAFETY: the feature that the function was compiled for has just been found.
            blocks.iter().zip(sums).for_each(|(block, sums)| unsafe { fold_avx512(block, sums) });
            return rest.iter().zip(sums_rest).for_each(|(part, sum)| *sum = fold_one(part));
        }
        if std::is_x86_feature_detected!("avx2") {
            // SAFETY: as above.
            blocks.iter().zip(sums).for_each(|(block, sums)| unsafe { fold_avx2(block, sums) });
            return rest.iter().zip(sums_rest).for_each(|(part, sum)| *sum = fold_one(part));
        }
    }
    blocks.iter().zip(sums).for_each(|(block, sums)| *sums = std::array::from_fn(|at| fold_one(&block[at])));
    rest.iter().zip(sums_rest).for_each(|(part, sum)| *sum = fold_one(part));
}

/// One sum alone.
#[inline(always)]
pub(crate) fn fold_one(part: &[f32; LANES]) -> f32 {
    let mut part = *part;
    let mut half = LANES / 2;
    while half > 0 {
        for lane in 0..half {
            part[lane] += part[lane + half];
        }
        half /= 2;
    }
    part[0]
}

/// Each step folds two vectors into one: the lower lanes of each pair of quarters, eighths, ... against the upper ones.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn fold_avx512(parts: &[[f32; LANES]; LANES], sums: &mut [f32; LANES]) {
    use std::arch::x86_64::*;
    // SAFETY: sixteen numbers are read from an array of sixteen.
    let part = |at: usize| unsafe { _mm512_loadu_ps(parts[at].as_ptr()) };
    // Four parts become the four quarters of one vector, part `at + 4 q` in quarter `q`.
    let quarters = |at: usize| {
        let halves = |a: __m512, b: __m512| {
            _mm512_add_ps(_mm512_shuffle_f32x4::<0x44>(a, b), _mm512_shuffle_f32x4::<0xEE>(a, b))
        };
        let (a, b) = (halves(part(at), part(at + 4)), halves(part(at + 8), part(at + 12)));
        _mm512_add_ps(_mm512_shuffle_f32x4::<0x88>(a, b), _mm512_shuffle_f32x4::<0xDD>(a, b))
    };
    let pairs = |a: __m512, b: __m512| {
        let (a, b) = (_mm512_castps_pd(a), _mm512_castps_pd(b));
        let (low, high) = (_mm512_unpacklo_pd(a, b), _mm512_unpackhi_pd(a, b));
        _mm512_add_ps(_mm512_castpd_ps(low), _mm512_castpd_ps(high))
    };
    let (a, b) = (pairs(quarters(0), quarters(1)), pairs(quarters(2), quarters(3)));
    let all = _mm512_add_ps(_mm512_shuffle_ps::<0x88>(a, b), _mm512_shuffle_ps::<0xDD>(a, b));
    // SAFETY: sixteen numbers are written to an array of sixteen.
    unsafe { _mm512_storeu_ps(sums.as_mut_ptr(), all) };
}

/// As for AVX-512, eight parts at a time.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn fold_avx2(parts: &[[f32; LANES]; LANES], sums: &mut [f32; LANES]) {
    use std::arch::x86_64::*;
    for (parts, sums) in parts.as_chunks::<8>().0.iter().zip(sums.as_chunks_mut::<8>().0) {
        let part = |at: usize| {
            let (low, high) = parts[at].split_at(8);
            // SAFETY: eight numbers are read from slices of eight.
            unsafe { _mm256_add_ps(_mm256_loadu_ps(low.as_ptr()), _mm256_loadu_ps(high.as_ptr())) }
        };
        let halves = |at: usize| {
            let (a, b) = (part(at), part(at + 4));
            _mm256_add_ps(_mm256_permute2f128_ps::<0x20>(a, b), _mm256_permute2f128_ps::<0x31>(a, b))
        };
        let pairs = |a: __m256, b: __m256| {
            let (a, b) = (_mm256_castps_pd(a), _mm256_castps_pd(b));
            let (low, high) = (_mm256_unpacklo_pd(a, b), _mm256_unpackhi_pd(a, b));
            _mm256_add_ps(_mm256_castpd_ps(low), _mm256_castpd_ps(high))
        };
        let (a, b) = (pairs(halves(0), halves(1)), pairs(halves(2), halves(3)));
        let all = _mm256_add_ps(_mm256_shuffle_ps::<0x88>(a, b), _mm256_shuffle_ps::<0xDD>(a, b));
        // SAFETY: eight numbers are written to an array of eight.
        unsafe { _mm256_storeu_ps(sums.as_mut_ptr(), all) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_instruction_set_adds_in_the_order_of_one_sum_alone() {
        for count in [0, 1, 15, 16, 17, 48, 50] {
            let number = |k: usize, lane: usize| ((k * 31 + lane * 17) % 29) as f32 * 0.37 - 4.1;
            let parts: Vec<[f32; LANES]> = (0..count).map(|k| std::array::from_fn(|lane| number(k, lane))).collect();
            let mut sums = vec![0.0; count];
            fold(&parts, &mut sums);
            let alone = |part: &[f32; LANES]| fold_one(part).to_bits();
            assert!(sums.iter().zip(&parts).all(|(sum, part)| sum.to_bits() == alone(part)));
            #[cfg(target_arch = "x86_64")]
            if std::is_x86_feature_detected!("avx2") {
                for (block, alone) in parts.as_chunks().0.iter().zip(sums.as_chunks::<LANES>().0) {
                    let mut sums = [0.0; LANES];
                    // SAFETY: the feature has just been found.
                    unsafe { fold_avx2(block, &mut sums) };
                    assert_eq!(&sums, alone);
                }
            }
        }
    }
}
