//! Half precision (IEEE 754 binary16) as storage between two hops; sums are always `f32`.

#[cfg(all(target_arch = "x86_64", not(nigh_portable)))]
mod x86;

use super::aligned::AlignedVec;
use super::dispatch::{Portable, simd};
use crate::names::named;
use nigh_formats::sections::Plain;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

named! {
    /// How `X` is stored between the hops of `Ã^K X`. Sums are `f32` either way, and so is the result.
    pub enum Storage, "hop storage" {
        /// Four bytes per entry, nothing rounded.
        Single = "float32",
        /// Two bytes per entry, rounded to eleven bits: faster where a hop is bound by memory.
        Half = "float16",
    }
}

/// The error of a product that was stored in halves between hops.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StorageError {
    /// `‖Y' - Y‖ / ‖Y‖`, Frobenius norms.
    pub frobenius: f64,
    /// The largest difference of two entries over the largest entry of `Y`.
    pub largest: f64,
}

impl StorageError {
    /// Of `Y'` against `Y`; zero if `Y` is zero.
    pub fn between(rounded: &[f32], exact: &[f32]) -> StorageError {
        let (mut squares, mut norm, mut most, mut largest) = (0.0, 0.0, 0f64, 0f64);
        for (&a, &b) in rounded.iter().zip(exact) {
            let (difference, b) = (f64::from(a) - f64::from(b), f64::from(b));
            squares += difference * difference;
            norm += b * b;
            most = most.max(difference.abs());
            largest = largest.max(b.abs());
        }
        let over = |a: f64, b: f64| if b > 0.0 { a / b } else { 0.0 };
        StorageError { frobenius: over(squares, norm).sqrt(), largest: over(most, largest) }
    }

    /// The larger of two, figure by figure.
    pub fn max(self, other: StorageError) -> StorageError {
        let (frobenius, largest) = (self.frobenius.max(other.frobenius), self.largest.max(other.largest));
        StorageError { frobenius, largest }
    }
}

impl std::fmt::Display for StorageError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let StorageError { frobenius, largest } = self;
        write!(f, "relative error of Ã^K E {frobenius:.1e}, of its largest entry {largest:.1e}")
    }
}

/// A number as binary16: one bit of sign, five of exponent, ten of fraction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(transparent)]
pub(crate) struct Half(pub u16);

// SAFETY: it is a `u16`, of which every pattern of bits is a number.
unsafe impl Plain for Half {}

/// The bits of infinity; those of a NaN are larger.
const INFINITE: u16 = 0x7c00;

impl Half {
    /// The exact value.
    #[inline(always)]
    pub fn widen(self) -> f32 {
        let (sign, magnitude) = (u32::from(self.0 & 0x8000) << 16, self.0 & 0x7fff);
        let bits = u32::from(magnitude) << 13;
        // As an `f32`, these bits are a number 2^112 times too small, subnormals included.
        let finite = (f32::from_bits(bits) * f32::from_bits((127 + 112) << 23)).to_bits();
        let quiet = if magnitude > INFINITE { 1 << 22 } else { 0 };
        f32::from_bits(sign | if magnitude >= INFINITE { 0x7f80_0000 | bits | quiet } else { finite })
    }

    /// The nearest, the even one of two; infinite from 65,520 on.
    #[inline(always)]
    pub fn narrow(value: f32) -> Half {
        let bits = value.to_bits();
        let (sign, magnitude) = ((bits >> 16) as u16 & 0x8000, bits & 0x7fff_ffff);
        // Half a unit in the last place, less one bit, which an odd last kept bit adds back: ties go to even.
        let rounded = magnitude.wrapping_sub(112 << 23).wrapping_add(0xfff + (magnitude >> 13 & 1)) >> 13;
        // The last bit of 0.5 is the smallest half, so this addition rounds to a subnormal.
        let subnormal = (f32::from_bits(magnitude) + 0.5).to_bits().wrapping_sub(0.5f32.to_bits());
        let nan = 0x7e00 | (magnitude >> 13 & 0x3ff);
        Half(
            sign | match magnitude {
                0x7f80_0001.. => nan as u16,
                0x4780_0000.. => INFINITE,
                0x3880_0000.. => rounded as u16,
                _ => subnormal as u16,
            },
        )
    }

    /// Neither infinite nor a NaN.
    #[inline(always)]
    pub fn is_finite(self) -> bool {
        self.0 & 0x7fff < INFINITE
    }
}

/// The conversions of a level; its proof carries them. All give the same bits.
pub(crate) trait Convert: Copy {
    /// Exact values.
    fn widen<const B: usize>(self, halves: &[Half; B]) -> [f32; B];
    /// Nearest halves.
    fn narrow<const B: usize>(self, values: &[f32; B]) -> [Half; B];
}

impl Convert for Portable {
    #[inline(always)]
    fn widen<const B: usize>(self, halves: &[Half; B]) -> [f32; B] {
        let mut values = [0.0; B];
        for at in 0..B {
            values[at] = halves[at].widen();
        }
        values
    }

    #[inline(always)]
    fn narrow<const B: usize>(self, values: &[f32; B]) -> [Half; B] {
        let mut halves = [Half(0); B];
        for at in 0..B {
            halves[at] = Half::narrow(values[at]);
        }
        halves
    }
}

/// Entries that one task converts.
const BLOCK: usize = 1 << 14;

/// The power of two that brings the largest magnitude to between 2^8 and 2^9: hops may then enlarge entries 127-fold before
/// they overflow, and entries down to 2^-22 of the largest keep eleven bits. None if an entry is infinite or NaN.
pub(crate) fn scale_of(values: &[f32]) -> Option<f32> {
    let largest = values.par_chunks(BLOCK).map(largest_bits).max().unwrap_or(0);
    // Magnitudes are ordered like their bits, and a NaN is above infinity.
    let exponent = (largest >> 23).max(9);
    (exponent < 255).then(|| f32::from_bits((127 + 8 + 127 - exponent) << 23))
}

simd! {
    fn largest_bits(values: &[f32]) -> u32 {
        let mut largest = 0;
        for value in values {
            largest = largest.max(value.to_bits() & 0x7fff_ffff);
        }
        largest
    }
}

/// Row `i` of `halves` is that of `values` times `scale · right[i]`.
pub(crate) fn narrow(values: &[f32], right: &[f32], scale: f32, halves: &mut AlignedVec<Half>) {
    halves.reshape(values.len());
    let width = values.len() / right.len().max(1);
    if width == 0 {
        return;
    }
    let blocks = halves.par_chunks_mut(ROWS * width).zip(values.par_chunks(ROWS * width)).zip(right.par_chunks(ROWS));
    blocks.for_each(|((halves, values), right)| narrow_rows(values, right, scale, width, halves));
}

/// Rows that one task converts.
const ROWS: usize = 1 << 10;

simd! {
    fn narrow_rows(values: &[f32], right: &[f32], scale: f32, width: usize, halves: &mut [Half]) {
        for ((halves, values), r) in halves.chunks_exact_mut(width).zip(values.chunks_exact(width)).zip(right) {
            let factor = r * scale;
            for (half, value) in halves.iter_mut().zip(values) {
                *half = Half::narrow(value * factor);
            }
        }
    }
}

/// How a number is stored: as it is, or as the nearest half.
pub(crate) trait Entry: Copy + Default + Send + Sync {
    /// As numbers.
    fn load<const B: usize>(block: &[Self; B], convert: impl Convert) -> [f32; B];
    /// From numbers.
    fn store<const B: usize>(values: [f32; B], convert: impl Convert) -> [Self; B];
    /// Whether an entry overflowed the range of the type.
    fn overflows(row: &[Self]) -> bool;
}

impl Entry for f32 {
    #[inline(always)]
    fn load<const B: usize>(block: &[f32; B], _: impl Convert) -> [f32; B] {
        *block
    }

    #[inline(always)]
    fn store<const B: usize>(values: [f32; B], _: impl Convert) -> [f32; B] {
        values
    }

    #[inline(always)]
    fn overflows(_: &[f32]) -> bool {
        false
    }
}

impl Entry for Half {
    #[inline(always)]
    fn load<const B: usize>(block: &[Half; B], convert: impl Convert) -> [f32; B] {
        convert.widen(block)
    }

    #[inline(always)]
    fn store<const B: usize>(values: [f32; B], convert: impl Convert) -> [Half; B] {
        convert.narrow(&values)
    }

    #[inline(always)]
    fn overflows(row: &[Half]) -> bool {
        let mut overflows = false;
        for half in row {
            overflows |= !half.is_finite();
        }
        overflows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::dispatch::testing::assert_same_bits_at_every_level;

    /// All halves, and floats of every exponent with the fractions around which rounding changes.
    fn floats() -> Vec<f32> {
        let fractions =
            (0..1u32 << 10).flat_map(|top| [0, 1, 0xfff, 0x1000, 0x1001, 0x1fff].map(|low| top << 13 | low));
        let positive = fractions.flat_map(|fraction| (0..256u32).map(move |exponent| exponent << 23 | fraction));
        let mut floats: Vec<f32> = positive.flat_map(|bits| [bits, bits | 1 << 31]).map(f32::from_bits).collect();
        floats.extend((0..=u16::MAX).map(|bits| Half(bits).widen()));
        floats
    }

    #[test]
    fn every_half_is_its_own_nearest_half() {
        for bits in 0..=u16::MAX {
            let again = Half::narrow(Half(bits).widen());
            let nan = bits & 0x7fff > INFINITE;
            assert_eq!(again.0, if nan { bits | 0x200 } else { bits });
        }
        assert_eq!([0x0001, 0x3c00, 0x7bff].map(|bits| Half(bits).widen()), [2f32.powi(-24), 1.0, 65504.0]);
    }

    #[test]
    fn rounding_goes_to_the_nearest_half_and_to_the_even_one_of_two() {
        let finite = (0..INFINITE).map(|bits| Half(bits).widen()).collect::<Vec<_>>();
        for (low, pair) in finite.windows(2).enumerate() {
            // The middle of two halves is a float; so are its neighbours.
            let middle = (pair[0] + pair[1]) / 2.0;
            let even = low as u16 + (low as u16 & 1);
            assert_eq!(Half::narrow(middle).0, even);
            assert_eq!(Half::narrow(middle.next_down()).0, low as u16);
            assert_eq!(Half::narrow(middle.next_up()).0, low as u16 + 1);
        }
        assert_eq!([65519.99, 65520.0, f32::MAX].map(|value| Half::narrow(value).0), [0x7bff, INFINITE, INFINITE]);
    }

    #[test]
    fn conversions_have_the_same_bits_at_every_level() {
        simd! {
            fn widened[convert: Convert](halves: &[[Half; 16]]) -> Vec<[f32; 16]> {
                halves.iter().map(|halves| convert.widen(halves)).collect()
            }
        }
        simd! {
            fn narrowed[convert: Convert](values: &[[f32; 16]]) -> Vec<[Half; 16]> {
                values.iter().map(|values| convert.narrow(values)).collect()
            }
        }
        let (halves, floats) = ((0..=u16::MAX).map(Half).collect::<Vec<_>>(), floats());
        let converted = || {
            let wide = widened(halves.as_chunks().0).into_iter().flatten().map(f32::to_bits);
            let narrow = narrowed(floats.as_chunks().0).into_iter().flatten().map(|half| u32::from(half.0));
            wide.chain(narrow).collect::<Vec<u32>>()
        };
        assert_same_bits_at_every_level(converted);
    }

    #[test]
    fn rows_are_narrowed_alike_at_every_level() {
        let floats: Vec<f32> = floats().into_iter().filter(|value| value.is_finite()).take(1 << 16).collect();
        let right: Vec<f32> = (0..1 << 12).map(|row| 1.0 / (1.0 + row as f32)).collect();
        assert_same_bits_at_every_level(|| {
            let scale = scale_of(&floats).expect("finite numbers");
            let mut halves = AlignedVec::default();
            narrow(&floats, &right, scale, &mut halves);
            (scale, halves.iter().map(|half| u32::from(half.0)).collect::<Vec<_>>())
        });
    }
}
