//! Numbers for names, in the order of their first mention.

use crate::Texts;
use crate::memory::prefer_large_pages;
use foldhash::fast::RandomState;
use std::hash::BuildHasher;

/// Names are looked up in batches, so that they wait for memory together.
const BATCH: usize = 64;

/// Gives every name a number. A table of our own, because looking up many names at once hides most of the time that
/// memory takes: of 60 million names in a list of edges nearly all are known, and none is in the cache.
#[derive(Debug)]
pub struct Interner {
    names: Texts,
    /// The key of each name, see `key`.
    keys: Vec<u128>,
    /// The upper half of a name's hash, and its number plus one; zero where there is none. At most half full.
    slots: Vec<u64>,
    // Seeded differently in every process, so that no file can be made to collide; numbers do not depend on it.
    hasher: RandomState,
    seed: u64,
}

impl Default for Interner {
    fn default() -> Interner {
        let hasher = RandomState::default();
        let seed = hasher.hash_one(0) | 1;
        Interner { names: Texts::default(), keys: Vec::new(), slots: Vec::new(), hasher, seed }
    }
}

/// A short name as one number: up to 15 bytes, and their count. Longer names share one key.
#[inline]
fn key(name: &str) -> u128 {
    const LONG: u128 = 255 << 120;
    let bytes = name.as_bytes();
    if bytes.len() > 15 {
        return LONG;
    }
    // Two overlapping loads instead of a copy of unpredictable length.
    let text = match bytes.len() {
        8.. => {
            let start = u64::from_le_bytes(*bytes.first_chunk().expect("eight bytes"));
            let end = u64::from_le_bytes(*bytes.last_chunk().expect("eight bytes"));
            u128::from(start) | u128::from(end) << (8 * (bytes.len() - 8))
        }
        4.. => {
            let start = u32::from_le_bytes(*bytes.first_chunk().expect("four bytes"));
            let end = u32::from_le_bytes(*bytes.last_chunk().expect("four bytes"));
            u128::from(start) | u128::from(end) << (8 * (bytes.len() - 4))
        }
        _ => bytes.iter().rev().fold(0, |text, &byte| text << 8 | u128::from(byte)),
    };
    text | (bytes.len() as u128) << 120
}

fn is_short(key: u128) -> bool {
    key >> 120 < 255
}

impl Interner {
    /// The names, by number.
    pub fn names(&self) -> &Texts {
        &self.names
    }

    /// As `names`.
    pub fn into_names(self) -> Texts {
        self.names
    }

    /// How many names have a number.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether none has.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of a name, assigned at its first mention.
    pub fn number(&mut self, name: &str) -> u32 {
        let key = key(name);
        self.number_hashed(name, key, self.hash(name, key))
    }

    /// The number of a name that has been mentioned.
    pub fn find(&self, name: &str) -> Option<u32> {
        let key = key(name);
        if self.slots.is_empty() { None } else { self.slot(name, key, self.hash(name, key)).ok() }
    }

    /// As `number`, of many names.
    pub fn numbers(&mut self, names: &[&str], numbers: &mut Vec<u32>) {
        for names in names.chunks(BATCH) {
            self.grow_for(names.len());
            // Short loops without branches, so that many loads are under way at once.
            let mask = self.slots.len() - 1;
            let (mut keys, mut hashes, mut guesses, mut known) = ([0; BATCH], [0; BATCH], [0; BATCH], [0; BATCH]);
            for (at, name) in names.iter().enumerate() {
                keys[at] = key(name);
                hashes[at] = self.hash(name, keys[at]);
            }
            for (guess, &hash) in guesses.iter_mut().zip(&hashes[..names.len()]) {
                *guess = self.slots[hash as usize & mask] as u32;
            }
            if !self.keys.is_empty() {
                for (known, &guess) in known.iter_mut().zip(&guesses[..names.len()]) {
                    *known = self.keys[guess.saturating_sub(1) as usize];
                }
            }
            for (at, name) in names.iter().enumerate() {
                let right = guesses[at] > 0 && known[at] == keys[at] && is_short(keys[at]);
                numbers.push(match right {
                    true => guesses[at] - 1,
                    false => self.number_hashed(name, keys[at], hashes[at]),
                });
            }
        }
    }

    #[inline]
    fn hash(&self, name: &str, key: u128) -> u64 {
        if !is_short(key) {
            return self.hasher.hash_one(name);
        }
        // The folded product of the halves, each mixed with the secret seed.
        let mix = |a: u64, b: u64| {
            let product = u128::from(a) * u128::from(b);
            product as u64 ^ (product >> 64) as u64
        };
        mix(mix(key as u64 ^ self.seed, 0x9E37_79B9_7F4A_7C15) ^ (key >> 64) as u64, self.seed)
    }

    fn number_hashed(&mut self, name: &str, key: u128, hash: u64) -> u32 {
        self.grow_for(1);
        match self.slot(name, key, hash) {
            Ok(number) => number,
            Err(free) => {
                let number = self.names.len() as u32;
                assert!(number < u32::MAX, "more names than 32-bit numbers");
                self.names.push(name);
                self.keys.push(key);
                self.slots[free] = hash >> 32 << 32 | u64::from(number + 1);
                number
            }
        }
    }

    /// The number of a name, or the slot where it belongs.
    fn slot(&self, name: &str, key: u128, hash: u64) -> Result<u32, usize> {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let (tag, number) = (self.slots[at] >> 32, self.slots[at] as u32);
            if number == 0 {
                return Err(at);
            }
            let node = number as usize - 1;
            if tag == hash >> 32 && self.keys[node] == key && (is_short(key) || &self.names[node] == name) {
                return Ok(number - 1);
            }
            at = (at + 1) & mask;
        }
    }

    /// Makes room for this many more names.
    fn grow_for(&mut self, more: usize) {
        if (self.names.len() + more) * 2 <= self.slots.len() {
            return;
        }
        let size = ((self.names.len() + more) * 4).next_power_of_two().max(1024);
        self.slots = vec![0; size];
        prefer_large_pages(&mut self.slots);
        for number in 0..self.names.len() {
            let hash = self.hash(&self.names[number], self.keys[number]);
            let mut at = hash as usize & (size - 1);
            while self.slots[at] != 0 {
                at = (at + 1) & (size - 1);
            }
            self.slots[at] = hash >> 32 << 32 | (number as u64 + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    proptest! {
        #[test]
        fn names_are_numbered_by_first_mention(names in prop::collection::vec("[ab]{0,4}|[0-9]{1,3}|[ab]{7,9}|x{14}[yz]{0,4}|[a-cü]{1,8}", 0..600)) {
            let mut expected: HashMap<&str, u32> = HashMap::new();
            let numbers: Vec<u32> = names.iter().map(|name| {
                let next = expected.len() as u32;
                *expected.entry(name).or_insert(next)
            }).collect();
            let mut one_by_one = Interner::default();
            prop_assert_eq!(&numbers, &names.iter().map(|name| one_by_one.number(name)).collect::<Vec<_>>());
            let mut together = Interner::default();
            let mut found = Vec::new();
            let words: Vec<&str> = names.iter().map(String::as_str).collect();
            together.numbers(&words, &mut found);
            prop_assert_eq!(&numbers, &found);
            prop_assert!(words.iter().zip(&numbers).all(|(name, &number)| together.find(name) == Some(number)));
            prop_assert_eq!(together.find("never"), None);
        }
    }
}
