//! Randomness with an address: the same `(root seed, purpose, address, position)` is the same number, in any order and on any
//! number of threads. No generator is shared, so a draw added in one place changes no number in another.

use crate::threads;
use std::collections::HashMap;

/// What a stream of numbers is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
pub enum Purpose {
    /// A generated graph.
    Generate = 1,
    /// Which edges, pairs or nodes are held out.
    Split,
    /// Negative pairs.
    Negatives,
    /// The stochastic matrix `E`.
    Signal,
    /// Initial weights.
    Weights,
    /// Dropout masks.
    Dropout,
    /// The order of graphs and batches within an epoch.
    Order,
    /// Pairs that `certify` measures.
    Certify,
    /// The anchor sets of P-GNN.
    Anchors,
    /// Initial vectors of the search for eigenvectors.
    Eigen,
    /// Steps of random walks.
    Walk,
    /// Skip-gram: initial vectors, the order of walks, windows and negatives.
    SkipGram,
    /// Random classes.
    Guess,
    /// Which training pairs are hidden together.
    Masking,
    /// Candidates of a search for settings.
    Tune,
    /// Which training nodes are hidden together from the label source.
    Folds,
}

/// The root of all randomness of one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seeds {
    root: u64,
}

impl Seeds {
    /// The root of what draws nothing.
    pub(crate) const ZERO: Seeds = Seeds { root: 0 };

    /// All streams that follow from `root`.
    pub fn new(root: u64) -> Seeds {
        Seeds { root }
    }

    /// The number that everything follows from.
    pub(crate) fn root(self) -> u64 {
        self.root
    }

    /// The stream at an address, for instance `seeds.stream(Purpose::Signal, &[graph, epoch])`.
    pub fn stream(self, purpose: Purpose, address: &[u64]) -> Stream {
        let start = mix(self.root ^ mix(purpose as u64));
        // The length takes part, so that [1] and [1, 0] are different places.
        let key = address.iter().fold(mix(start ^ address.len() as u64), |key, &part| mix(key ^ mix(part)));
        Stream { key: [key as u32, (key >> 32) as u32] }
    }

    /// Numbers drawn one after the other from the stream at an address.
    pub fn rng(self, purpose: Purpose, address: &[u64]) -> Rng {
        self.stream(purpose, address).rng()
    }
}

/// A name as part of an address.
pub fn named(name: &str) -> u64 {
    name.bytes().fold(name.len() as u64, |address, byte| mix(address ^ u64::from(byte)))
}

/// The finaliser of splitmix64: every bit of the input moves every bit of the output.
pub(crate) fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

/// The lower half of a 64-bit lane.
const LOWER: u64 = 0xFFFF_FFFF;

// No closure: it would be compiled on its own, without the vector instructions of its caller.
#[inline(always)]
fn widened<const N: usize>(words: &[u32; N]) -> [u64; N] {
    let mut lanes = [0; N];
    for lane in 0..N {
        lanes[lane] = u64::from(words[lane]);
    }
    lanes
}

/// A random function from 128-bit positions to 128 bits: Philox4x32-10 (Salmon et al., SC 2011) under one key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Stream {
    key: [u32; 2],
}

impl Stream {
    /// The four words at a position.
    #[inline]
    pub fn at(self, position: [u32; 4]) -> [u32; 4] {
        let [mut a, mut b, mut c, mut d] = position;
        let [mut k0, mut k1] = self.key;
        for _ in 0..10 {
            let left = u64::from(a) * 0xD251_1F53;
            let right = u64::from(c) * 0xCD9E_8D57;
            [a, b, c, d] = [(right >> 32) as u32 ^ b ^ k0, right as u32, (left >> 32) as u32 ^ d ^ k1, left as u32];
            k0 = k0.wrapping_add(0x9E37_79B9);
            k1 = k1.wrapping_add(0xBB67_AE85);
        }
        [a, b, c, d]
    }

    /// The four words at each of `N` positions `[a[lane], b[lane], c[lane], 0]`, the first words of all of them first: what
    /// `at` gives, in arithmetic that the compiler can vectorise.
    #[inline(always)]
    pub(crate) fn at_each<const N: usize>(self, a: &[u32; N], b: &[u32; N], c: &[u32; N]) -> [[u32; N]; 4] {
        // Words in lanes of 64 bits, as products have them. The upper halves are never read.
        let (mut a, mut b, mut c, mut d) = (widened(a), widened(b), widened(c), [0; N]);
        let [mut k0, mut k1] = self.key;
        for _ in 0..10 {
            for lane in 0..N {
                let left = (a[lane] & LOWER) * 0xD251_1F53;
                let right = (c[lane] & LOWER) * 0xCD9E_8D57;
                a[lane] = (right >> 32) ^ b[lane] ^ u64::from(k0);
                c[lane] = (left >> 32) ^ d[lane] ^ u64::from(k1);
                (b[lane], d[lane]) = (right, left);
            }
            k0 = k0.wrapping_add(0x9E37_79B9);
            k1 = k1.wrapping_add(0xBB67_AE85);
        }
        let mut words = [[0; N]; 4];
        for lane in 0..N {
            (words[0][lane], words[1][lane]) = (a[lane] as u32, b[lane] as u32);
            (words[2][lane], words[3][lane]) = (c[lane] as u32, d[lane] as u32);
        }
        words
    }

    /// The four words at a position given as two 64-bit numbers.
    #[inline]
    pub fn at_pair(self, x: u64, y: u64) -> [u32; 4] {
        self.at([x as u32, (x >> 32) as u32, y as u32, (y >> 32) as u32])
    }

    /// Reads the stream from its start.
    pub fn rng(self) -> Rng {
        Rng { stream: self, position: 0, words: [0; 4], left: 0 }
    }
}

/// A number in `[0, 1)` with 24 random bits, the precision of an `f32`.
#[inline]
pub fn unit(word: u32) -> f32 {
    (word >> 8) as f32 * (1.0 / 16_777_216.0)
}

/// A number below `n` from 64 random bits; the bias is below `n / 2^64`.
#[inline]
pub fn below(high: u32, low: u32, n: u64) -> u64 {
    let word = (u64::from(high) << 32) | u64::from(low);
    ((u128::from(word) * u128::from(n)) >> 64) as u64
}

/// Reads one stream from its start, word by word.
#[derive(Debug, Clone)]
pub struct Rng {
    stream: Stream,
    position: u64,
    words: [u32; 4],
    left: usize,
}

/// Items that are shuffled between two checks for an interruption.
const ITEMS_PER_CHECK: usize = 1 << 16;

impl Rng {
    /// The next 32 bits.
    pub fn word(&mut self) -> u32 {
        if self.left == 0 {
            self.words = self.stream.at_pair(self.position, 0);
            self.position += 1;
            self.left = 4;
        }
        self.left -= 1;
        self.words[3 - self.left]
    }

    /// Uniform in `[0, 1)`.
    pub fn unit(&mut self) -> f32 {
        unit(self.word())
    }

    /// Uniform below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        let (high, low) = (self.word(), self.word());
        below(high, low, n as u64) as usize
    }

    /// Brings some at random to the front, in random order.
    pub fn choose_first<T>(&mut self, count: usize, items: &mut [T]) {
        for first in 0..count.min(items.len()) {
            items.swap(first, first + self.below(items.len() - first));
        }
    }

    /// What `choose_first` brings to the front of the numbers below `len`, in memory for those alone.
    pub fn chosen_first(&mut self, count: usize, len: usize) -> Vec<usize> {
        let mut moved = HashMap::new();
        let choose = |first: usize| exchange(&mut moved, first, first + self.below(len - first));
        (0..count.min(len)).map(choose).collect()
    }

    /// The last of the numbers below `len` after `shuffle`, in memory for those alone.
    pub fn shuffled_last(&mut self, count: usize, len: usize) -> Vec<usize> {
        let mut moved = HashMap::new();
        // The first of all stays in its place, and nothing is drawn for it.
        let mut other = |last: usize| if last == 0 { 0 } else { self.below(last + 1) };
        let places = (len - count.min(len)..len).rev();
        let mut numbers: Vec<usize> = places.map(|last| exchange(&mut moved, last, other(last))).collect();
        numbers.reverse();
        numbers
    }

    /// Brings `items` into a random order (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            if last.is_multiple_of(ITEMS_PER_CHECK) {
                threads::check();
            }
            items.swap(last, self.below(last + 1));
        }
    }
}

/// Exchanges the numbers at two places of a list that is `0, 1, ...` but for what was moved. Returns the number that is now at the
/// first place, which is not asked for again.
fn exchange(moved: &mut HashMap<usize, usize>, place: usize, other: usize) -> usize {
    let own = moved.remove(&place).unwrap_or(place);
    if place == other { own } else { moved.insert(other, own).unwrap_or(other) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_of_many_are_found_as_if_all_had_been_moved() {
        for (count, len) in [(0, 5), (3, 5), (5, 5), (40, 1_000), (1_000, 1_000)] {
            for seed in 0..20 {
                let rng = || Seeds::new(seed).rng(Purpose::Split, &[1]);
                let mut all: Vec<usize> = (0..len).collect();
                rng().shuffle(&mut all);
                assert_eq!(rng().shuffled_last(count, len), all[len - count..]);
                let mut all: Vec<usize> = (0..len).collect();
                rng().choose_first(count, &mut all);
                assert_eq!(rng().chosen_first(count, len), all[..count]);
            }
        }
    }

    #[test]
    fn philox_gives_the_published_known_answers() {
        // Random123, kat_vectors: philox4x32, 10 rounds.
        assert_eq!(Stream { key: [0, 0] }.at([0; 4]), [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]);
        let ones = u32::MAX;
        assert_eq!(Stream { key: [ones, ones] }.at([ones; 4]), [0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd]);
        assert_eq!(
            Stream { key: [0xa4093822, 0x299f31d0] }.at([0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344]),
            [0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1]
        );
    }

    #[test]
    fn many_positions_at_once_give_what_each_gives_alone() {
        let stream = Seeds::new(3).stream(Purpose::Dropout, &[5]);
        let mut rng = Seeds::new(4).rng(Purpose::Order, &[]);
        let [a, b, c] = [(); 3].map(|()| [(); 16].map(|()| rng.word()));
        let words = stream.at_each(&a, &b, &c);
        for lane in 0..16 {
            assert_eq!(words.map(|all| all[lane]), stream.at([a[lane], b[lane], c[lane], 0]));
        }
    }

    #[test]
    fn another_purpose_or_address_is_another_stream() {
        let seeds = Seeds::new(7);
        let streams = [
            seeds.stream(Purpose::Signal, &[0, 1]),
            seeds.stream(Purpose::Signal, &[1, 0]),
            seeds.stream(Purpose::Signal, &[0]),
            seeds.stream(Purpose::Dropout, &[0, 1]),
            Seeds::new(8).stream(Purpose::Signal, &[0, 1]),
        ];
        for (i, a) in streams.iter().enumerate() {
            assert!(streams[i + 1..].iter().all(|b| a != b));
        }
        assert_eq!(streams[0], Seeds::new(7).stream(Purpose::Signal, &[0, 1]));
    }

    #[test]
    fn draws_below_n_are_uniform_and_a_shuffle_loses_nothing() {
        let mut rng = Seeds::new(1).rng(Purpose::Order, &[]);
        let mut counts = [0usize; 7];
        (0..70_000).for_each(|_| counts[rng.below(7)] += 1);
        assert!(counts.iter().all(|&c| (9_500..10_500).contains(&c)), "{counts:?}");
        let mut items: Vec<usize> = (0..100).collect();
        rng.shuffle(&mut items);
        assert_ne!(items, (0..100).collect::<Vec<_>>());
        items.sort_unstable();
        assert_eq!(items, (0..100).collect::<Vec<_>>());
    }
}
