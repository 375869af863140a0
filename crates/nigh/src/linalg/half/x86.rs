//! The conversions of x86. They are fast in functions compiled for their level, where they are inlined.

use super::{Convert, Half};
use crate::linalg::dispatch::{Avx2, Avx512};
use std::arch::x86_64::*;

impl Convert for Avx2 {
    #[inline(always)]
    fn widen<const B: usize>(self, halves: &[Half; B]) -> [f32; B] {
        let mut values = [0.0; B];
        let mut at = 0;
        while at + 8 <= B {
            // SAFETY: eight entries from `at` on are within both arrays, and `self` proves F16C.
            unsafe {
                let eight = _mm_loadu_si128(halves.as_ptr().add(at).cast());
                _mm256_storeu_ps(values.as_mut_ptr().add(at), _mm256_cvtph_ps(eight));
            }
            at += 8;
        }
        while at < B {
            values[at] = halves[at].widen();
            at += 1;
        }
        values
    }

    #[inline(always)]
    fn narrow<const B: usize>(self, values: &[f32; B]) -> [Half; B] {
        let mut halves = [Half(0); B];
        let mut at = 0;
        while at + 8 <= B {
            // SAFETY: as in `widen`.
            unsafe {
                let eight = _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(_mm256_loadu_ps(values.as_ptr().add(at)));
                _mm_storeu_si128(halves.as_mut_ptr().add(at).cast(), eight);
            }
            at += 8;
        }
        while at < B {
            halves[at] = Half::narrow(values[at]);
            at += 1;
        }
        halves
    }
}

impl Convert for Avx512 {
    #[inline(always)]
    fn widen<const B: usize>(self, halves: &[Half; B]) -> [f32; B] {
        if !B.is_multiple_of(16) {
            return self.avx2().widen(halves);
        }
        let mut values = [0.0; B];
        let mut at = 0;
        while at < B {
            // SAFETY: sixteen entries from `at` on are within both arrays, and `self` proves AVX-512F.
            unsafe {
                let sixteen = _mm256_loadu_si256(halves.as_ptr().add(at).cast());
                _mm512_storeu_ps(values.as_mut_ptr().add(at), _mm512_cvtph_ps(sixteen));
            }
            at += 16;
        }
        values
    }

    #[inline(always)]
    fn narrow<const B: usize>(self, values: &[f32; B]) -> [Half; B] {
        if !B.is_multiple_of(16) {
            return self.avx2().narrow(values);
        }
        let mut halves = [Half(0); B];
        let mut at = 0;
        while at < B {
            // SAFETY: as in `widen`.
            unsafe {
                let sixteen = _mm512_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(_mm512_loadu_ps(values.as_ptr().add(at)));
                _mm256_storeu_si256(halves.as_mut_ptr().add(at).cast(), sixteen);
            }
            at += 16;
        }
        halves
    }
}
