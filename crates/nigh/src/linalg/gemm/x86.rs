//! The vectors of AVX-512 and AVX2, and the two products compiled for each.

use super::{Addend, Packed, Vector, multiply_transposed_by};
use crate::linalg::dispatch::features_of;
use std::arch::x86_64::*;

/// A register of AVX-512.
pub(super) type Vector16 = __m512;

/// A register of AVX2.
pub(super) type Vector8 = __m256;

/// `FULL` rows by two vectors are what the registers of a level hold.
macro_rules! compiled_for {
    ($name:ident, $Level:ident, $Vector:ty, $full:literal) => {
        pub(super) mod $name {
            use super::*;

            features_of! { $Level => enabled
                /// # Safety
                /// As for the generic function; and the machine has the features of the level.
                pub(in super::super) unsafe fn multiply(
                    b: &Packed,
                    a: &[f32],
                    above: usize,
                    cols: usize,
                    addend: Addend<'_>,
                    y: &mut [f32],
                ) {
                    // SAFETY: as promised by the caller.
                    unsafe { super::super::multiply::<$Vector, $full>(b, a, above, cols, addend, y) }
                }
            }

            features_of! { $Level => enabled
                /// # Safety
                /// As for the generic function; and the machine has the features of the level.
                pub(in super::super) unsafe fn multiply_transposed(
                    x: &[f32],
                    x_cols: usize,
                    g: &[f32],
                    width: usize,
                    y: &mut [f32],
                ) {
                    // SAFETY: as promised by the caller.
                    unsafe { multiply_transposed_by::<$Vector, $full>(x, x_cols, g, width, y) }
                }
            }
        }
    };
}
compiled_for!(avx512, Avx512, Vector16, 12);
compiled_for!(avx2, Avx2, Vector8, 6);

impl Vector for Vector16 {
    const COUNT: usize = 16;

    #[inline(always)]
    unsafe fn splat(x: f32) -> Vector16 {
        // SAFETY: the requirements of the trait are those of the instruction.
        unsafe { _mm512_set1_ps(x) }
    }

    #[inline(always)]
    unsafe fn load(from: *const f32) -> Vector16 {
        // SAFETY: the requirements of the trait are those of the instruction.
        unsafe { _mm512_loadu_ps(from) }
    }

    #[inline(always)]
    unsafe fn load_first(from: *const f32, count: usize) -> Vector16 {
        // SAFETY: the requirements of the trait are those of the instruction.
        unsafe { _mm512_maskz_loadu_ps((1 << count) - 1, from) }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: the requirements of the trait are those of the instruction.
        unsafe { _mm512_storeu_ps(to, self) }
    }

    #[inline(always)]
    unsafe fn store_first(self, to: *mut f32, count: usize) {
        // SAFETY: the requirements of the trait are those of the instruction.
        unsafe { _mm512_mask_storeu_ps(to, (1 << count) - 1, self) }
    }

    #[inline(always)]
    unsafe fn add_product(self, a: Vector16, b: Vector16) -> Vector16 {
        // SAFETY: the requirements of the trait are those of the instruction.
        unsafe { _mm512_fmadd_ps(a, b, self) }
    }
}

macro_rules! first_of_eight {
    ($count:expr) => {
        _mm256_cmpgt_epi32(_mm256_set1_epi32($count as i32), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7))
    };
}

impl Vector for Vector8 {
    const COUNT: usize = 8;

    #[inline(always)]
    unsafe fn splat(x: f32) -> Vector8 {
        // SAFETY: the requirements of the trait are those of the instruction.
        unsafe { _mm256_set1_ps(x) }
    }

    #[inline(always)]
    unsafe fn load(from: *const f32) -> Vector8 {
        // SAFETY: the requirements of the trait are those of the instruction.
        unsafe { _mm256_loadu_ps(from) }
    }

    #[inline(always)]
    unsafe fn load_first(from: *const f32, count: usize) -> Vector8 {
        // SAFETY: the requirements of the trait are those of the instruction.
        unsafe { _mm256_maskload_ps(from, first_of_eight!(count)) }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: the requirements of the trait are those of the instruction.
        unsafe { _mm256_storeu_ps(to, self) }
    }

    #[inline(always)]
    unsafe fn store_first(self, to: *mut f32, count: usize) {
        // SAFETY: the requirements of the trait are those of the instruction.
        unsafe { _mm256_maskstore_ps(to, first_of_eight!(count), self) }
    }

    #[inline(always)]
    unsafe fn add_product(self, a: Vector8, b: Vector8) -> Vector8 {
        // SAFETY: the requirements of the trait are those of the instruction.
        unsafe { _mm256_fmadd_ps(a, b, self) }
    }
}
