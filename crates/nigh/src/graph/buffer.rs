//! The numbers of a graph: in memory, or in a mapped file.

use nigh_formats::sections::{Mapped, Plain};
use std::ops::{Deref, Range};

#[derive(Debug, Clone)]
pub(crate) enum Buffer<T> {
    Owned(Vec<T>),
    Mapped(Mapped<T>),
}

impl<T: Plain> Deref for Buffer<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        match self {
            Buffer::Owned(numbers) => numbers,
            Buffer::Mapped(numbers) => numbers,
        }
    }
}

impl<T: Plain> Buffer<T> {
    /// In memory.
    pub fn into_vec(self) -> Vec<T> {
        match self {
            Buffer::Owned(numbers) => numbers,
            Buffer::Mapped(numbers) => numbers.to_vec(),
        }
    }

    /// Gives the memory of these numbers back to the system, if a file has them.
    pub fn release(&self, numbers: Range<usize>) {
        if let Buffer::Mapped(mapped) = self {
            mapped.release(numbers);
        }
    }

    /// Tells the system that these numbers are used soon, if a file has them.
    pub fn will_need(&self, numbers: Range<usize>) {
        if let Buffer::Mapped(mapped) = self {
            mapped.will_need(numbers);
        }
    }

    pub fn is_mapped(&self) -> bool {
        matches!(self, Buffer::Mapped(_))
    }
}

impl<T> From<Vec<T>> for Buffer<T> {
    fn from(numbers: Vec<T>) -> Buffer<T> {
        Buffer::Owned(numbers)
    }
}

impl<T: Plain + PartialEq> PartialEq for Buffer<T> {
    fn eq(&self, other: &Buffer<T>) -> bool {
        **self == **other
    }
}
