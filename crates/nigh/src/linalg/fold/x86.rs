//! Sixteen sums at once, with the shuffles of AVX-512 and AVX2.

use super::LANES;
use crate::linalg::dispatch::features_of;
use std::arch::x86_64::*;

features_of! { Avx512 => enabled
    /// Each step folds two vectors into one: the lower lanes of each pair of quarters, eighths, ... against the upper ones.
    pub(super) fn fold_avx512(parts: &[[f32; LANES]; LANES], sums: &mut [f32; LANES]) {
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
}

features_of! { Avx2 => enabled
    /// As for AVX-512, eight parts at a time.
    pub(super) fn fold_avx2(parts: &[[f32; LANES]; LANES], sums: &mut [f32; LANES]) {
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
}
