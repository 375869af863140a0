//! Many short rows of numbers, sorted sixteen at a time.
//!
//! A comparison sort spends most of its time on mispredicted branches. A sorting network makes the same comparisons for
//! any numbers, so sixteen rows pass through it together, one per lane.

use super::dispatch::simd;
use std::sync::OnceLock;

const LANES: usize = 16;
/// Longer rows are sorted one by one.
const LONGEST: usize = 128;
/// Below this many numbers, building the networks takes longer than they save.
const WORTH_NETWORKS: usize = 1 << 16;

/// The entries at one position of sixteen rows.
type RowLanes = [u32; LANES];

/// Sorts every row; row `i` ends at `ends[i]`, where the next begins.
pub(crate) fn sort_rows(values: &mut [u32], ends: &[u32]) {
    let mut start = 0;
    if values.len() < WORTH_NETWORKS {
        for &end in ends {
            values[start..end as usize].sort_unstable();
            start = end as usize;
        }
        return;
    }
    static NETWORKS: OnceLock<Vec<Vec<[u8; 2]>>> = OnceLock::new();
    let networks = NETWORKS.get_or_init(|| (0..=LONGEST).map(network).collect());
    let mut places = vec![[0; LANES]; LONGEST];
    let mut batch: [(usize, usize); LANES] = [(0, 0); LANES];
    let mut filled = 0;
    for &end in ends {
        let row = (start, end as usize);
        start = row.1;
        match row.1 - row.0 {
            0 | 1 => continue,
            length if length > LONGEST => {
                values[row.0..row.1].sort_unstable();
                continue;
            }
            _ => batch[filled] = row,
        }
        filled += 1;
        if filled == LANES {
            sort_batch(values, &batch, &mut places, networks);
            filled = 0;
        }
    }
    sort_batch(values, &batch[..filled], &mut places, networks);
}

simd! {
    fn sort_batch(values: &mut [u32], rows: &[(usize, usize)], places: &mut [RowLanes], networks: &[Vec<[u8; 2]>]) {
        let longest = rows.iter().map(|(start, end)| end - start).max().unwrap_or(0);
        // Padding that sorts behind every number of a shorter row.
        places[..longest].fill([u32::MAX; LANES]);
        for (lane, &(start, end)) in rows.iter().enumerate() {
            for (place, &value) in places.iter_mut().zip(&values[start..end]) {
                place[lane] = value;
            }
        }
        for &[a, b] in &networks[longest] {
            let (low, high) = (places[a as usize], places[b as usize]);
            for lane in 0..LANES {
                places[a as usize][lane] = low[lane].min(high[lane]);
                places[b as usize][lane] = low[lane].max(high[lane]);
            }
        }
        for (lane, &(start, end)) in rows.iter().enumerate() {
            for (value, place) in values[start..end].iter_mut().zip(places.iter()) {
                *value = place[lane];
            }
        }
    }
}

/// Batcher's merge exchange: which places of a row to compare, in order (Knuth, volume 3, algorithm 5.2.2M).
fn network(length: usize) -> Vec<[u8; 2]> {
    let mut comparisons = Vec::new();
    if length < 2 {
        return comparisons;
    }
    let top = length.next_power_of_two() / 2;
    let mut p = top;
    while p > 0 {
        let (mut q, mut r, mut d) = (top, 0, p);
        loop {
            let places = (0..length - d).filter(|place| place & p == r);
            comparisons.extend(places.map(|place| [place as u8, (place + d) as u8]));
            if q == p {
                break;
            }
            (d, r) = (q - p, p);
            q /= 2;
        }
        p /= 2;
    }
    comparisons
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::dispatch::testing::assert_same_bits_at_every_level;
    use proptest::prelude::*;

    #[test]
    fn a_network_sorts_all_zeros_and_ones_and_so_everything() {
        for length in 0..=14usize {
            let comparisons = network(length);
            for bits in 0..1u32 << length {
                let mut row: Vec<u32> = (0..length).map(|place| bits >> place & 1).collect();
                for &[a, b] in &comparisons {
                    if row[a as usize] > row[b as usize] {
                        row.swap(a.into(), b.into());
                    }
                }
                assert!(row.is_sorted(), "{length}: {bits:b}");
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 16, failure_persistence: None, ..Default::default() })]

        #[test]
        fn rows_come_out_as_they_would_one_by_one(
            lengths in prop::collection::vec(0usize..200, 700..1200), salt: u32, small: bool,
        ) {
            let ends: Vec<u32> = lengths.iter().scan(0, |end, length| { *end += *length as u32; Some(*end) }).collect();
            let number = |at: u32| (at ^ salt).wrapping_mul(0x9E37_79B9) >> if small { 28 } else { 0 };
            let mut values: Vec<u32> = (0..*ends.last().unwrap()).map(number).collect();
            values[0] = u32::MAX;
            let mut expected = values.clone();
            let mut start = 0;
            for &end in &ends {
                expected[start..end as usize].sort_unstable();
                start = end as usize;
            }
            sort_rows(&mut values, &ends);
            prop_assert!(values == expected);
        }
    }

    #[test]
    fn every_level_sorts_alike() {
        let ends: Vec<u32> = (0..4000u32).map(|row| (row + 1) * 37).collect();
        let values: Vec<u32> = (0..4000 * 37u32).map(|at| at.wrapping_mul(0x9E37_79B9)).collect();
        assert_same_bits_at_every_level(|| {
            let mut values = values.clone();
            sort_rows(&mut values, &ends);
            values
        });
    }
}
