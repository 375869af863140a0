//! Small accidents that happen to files.

use proptest::prelude::*;

/// A small accident.
#[derive(Debug, Clone)]
pub enum Accident {
    Flip(usize, u8),
    Cut(usize, usize),
    Insert(usize, Vec<u8>),
    Repeat(usize, usize),
    /// A number at the edge of its type.
    Number(usize, Vec<u8>),
}

pub fn accidents() -> impl Strategy<Value = Accident> {
    let extremes = [0, 1, 0x7f, 0x80, 0xff, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, 1 << 60, u64::MAX >> 1, u64::MAX];
    let number = (prop::sample::select(extremes.to_vec()), prop::sample::select(vec![1, 2, 4, 8]));
    let at = any::<usize>;
    prop_oneof![
        (at(), any::<u8>()).prop_map(|(at, byte)| Accident::Flip(at, byte)),
        (at(), 1..40usize).prop_map(|(at, length)| Accident::Cut(at, length)),
        (at(), prop::collection::vec(any::<u8>(), 1..10)).prop_map(|(at, bytes)| Accident::Insert(at, bytes)),
        (at(), 1..40usize).prop_map(|(at, length)| Accident::Repeat(at, length)),
        (at(), number).prop_map(|(at, (value, size))| Accident::Number(at, value.to_le_bytes()[..size].to_vec())),
    ]
}

impl Accident {
    /// Changes the bytes.
    pub fn happen(&self, bytes: &mut Vec<u8>) {
        let length = bytes.len();
        let place = |at: &usize| at % (length + 1);
        match self {
            Accident::Flip(at, byte) if length > 0 => bytes[at % length] ^= byte,
            Accident::Flip(..) => {}
            Accident::Cut(at, count) => drop(bytes.drain(place(at)..(place(at) + count).min(length))),
            Accident::Insert(at, more) => drop(bytes.splice(place(at)..place(at), more.iter().copied())),
            Accident::Repeat(at, count) => {
                let part = bytes[place(at)..(place(at) + count).min(length)].to_vec();
                bytes.splice(place(at)..place(at), part);
            }
            Accident::Number(at, number) => {
                let end = (place(at) + number.len()).min(length);
                bytes.splice(place(at)..end, number.iter().copied());
            }
        }
    }
}
