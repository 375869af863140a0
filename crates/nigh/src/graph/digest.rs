//! The fingerprint of a graph.

use super::{Arrays, Graph};
use nigh_formats::interrupt::fail;
use nigh_formats::sections::{Plain, Section};
use sha2::{Digest, Sha256};

impl Graph {
    /// A fingerprint of nodes, edges and weights.
    pub fn digest(&self) -> String {
        let mut hash = Sha256::new();
        hash.update((self.num_nodes() as u64).to_le_bytes());
        match self.held() {
            Ok(Arrays { offsets, neighbours, weights }) => {
                update(&mut hash, offsets, |offset| (offset as u64).to_le_bytes());
                update(&mut hash, neighbours, u32::to_le_bytes);
                weights.iter().for_each(|weights| update(&mut hash, weights, f32::to_le_bytes));
            }
            Err(stored) => {
                update_stored(&mut hash, stored.offsets(), |offset| (offset as u64).to_le_bytes());
                update_stored(&mut hash, stored.neighbours(), u32::to_le_bytes);
                stored.weights().iter().for_each(|weights| update_stored(&mut hash, weights, f32::to_le_bytes));
            }
        }
        nigh_formats::digest::hex(&hash.finalize())
    }
}

/// Numbers that are hashed at a time.
const HASHED: usize = 1 << 16;

/// Adds the bytes of numbers, lowest first.
fn update<T: Plain, const B: usize>(hash: &mut Sha256, numbers: &[T], bytes: fn(T) -> [u8; B]) {
    let mut block: Vec<[u8; B]> = Vec::with_capacity(HASHED.min(numbers.len()));
    for chunk in numbers.chunks(HASHED) {
        block.clear();
        block.extend(chunk.iter().map(|&number| bytes(number)));
        hash.update(block.as_flattened());
    }
}

/// As `update`, from a file.
fn update_stored<T: Plain, const B: usize>(hash: &mut Sha256, numbers: &Section<T>, bytes: fn(T) -> [u8; B]) {
    for chunk in numbers.chunks(HASHED) {
        update(hash, &chunk.unwrap_or_else(|error| fail(error)), bytes);
    }
}
