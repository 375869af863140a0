//! Sums of lanes for sixteen inner products at a time, so that every addition works on whole vectors. The order of additions
//! is that of `dot`.

#[cfg(all(target_arch = "x86_64", not(nigh_portable)))]
mod x86;

use super::dispatch::{Level, by_level};
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
    let blocks = blocks.iter().zip(sums);
    by_level! {
        Level::current(),
        // SAFETY: the level proves that the machine has the features.
        Avx512(_) => blocks.for_each(|(block, sums)| unsafe { x86::fold_avx512(block, sums) }),
        // SAFETY: the level proves that the machine has the features.
        Avx2(_) => blocks.for_each(|(block, sums)| unsafe { x86::fold_avx2(block, sums) }),
        Portable => blocks.for_each(|(block, sums)| *sums = std::array::from_fn(|at| fold_one(&block[at]))),
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::dispatch::testing::at_every_level;

    #[test]
    fn every_level_adds_in_the_order_of_one_sum_alone() {
        for count in [0, 1, 15, 16, 17, 48, 50] {
            let number = |k: usize, lane: usize| ((k * 31 + lane * 17) % 29) as f32 * 0.37 - 4.1;
            let parts: Vec<[f32; LANES]> = (0..count).map(|k| std::array::from_fn(|lane| number(k, lane))).collect();
            let alone = |part: &[f32; LANES]| fold_one(part).to_bits();
            let expected: Vec<u32> = parts.iter().map(alone).collect();
            let together = || {
                let mut sums = vec![0.0; count];
                fold(&parts, &mut sums);
                sums.into_iter().map(f32::to_bits).collect::<Vec<u32>>()
            };
            for (level, sums) in at_every_level(together) {
                assert_eq!(sums, expected, "{level:?}");
            }
        }
    }
}
