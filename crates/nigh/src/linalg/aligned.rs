//! Memory for large buffers: aligned to cache lines, on large pages. Where too little is left, the work stops with an error.

use nigh_formats::memory::{self, prefer_large_pages};
use std::fmt::Debug;
use std::ops::{Deref, DerefMut};

/// A vector that starts at a cache line, on large pages if it is large. A row of 64 numbers then takes four lines, not
/// parts of five: a hop through a large graph is bound by the lines that it loads.
#[derive(Default)]
pub(crate) struct AlignedVec<T> {
    /// Unused entries before the first line.
    skipped: usize,
    entries: Vec<T>,
}

impl<T: Copy + Default> AlignedVec<T> {
    const LINE: usize = 64 / size_of::<T>();

    /// All zero. Written only after the advice on large pages: `vec!` writes zeros of any type but a primitive at once, on
    /// small ones.
    pub fn zeros(len: usize) -> AlignedVec<T> {
        AlignedVec::collect(len, std::iter::repeat_n(T::default(), len))
    }

    /// The first `len` entries of an iterator, which has at least as many.
    pub fn collect(len: usize, from: impl Iterator<Item = T>) -> AlignedVec<T> {
        AlignedVec::collect_as(|| format!("a buffer of {len} numbers"), len, from)
    }

    /// As `collect`, of something that is `what`.
    pub fn collect_as(what: impl FnOnce() -> String, len: usize, from: impl Iterator<Item = T>) -> AlignedVec<T> {
        let mut entries = memory::or_stop(memory::vector(len.saturating_add(AlignedVec::<T>::LINE), what));
        prefer_large_pages(entries.spare_capacity_mut());
        let skipped = skipped(&entries);
        entries.resize(skipped, T::default());
        entries.extend(from.take(len));
        assert_eq!(entries.len(), skipped + len, "an iterator of {len}");
        AlignedVec { skipped, entries }
    }

    /// Changes the length and keeps the storage if it is large enough. The contents are unspecified until they are written.
    pub fn reshape(&mut self, len: usize) {
        self.reshape_as(|| format!("a buffer of {len} numbers"), len);
    }

    /// As `reshape`, of something that is `what`.
    pub fn reshape_as(&mut self, what: impl FnOnce() -> String, len: usize) {
        if len > self.entries.capacity() - self.skipped {
            *self = AlignedVec::default();
            *self = AlignedVec::collect_as(what, len, std::iter::repeat_n(T::default(), len));
        }
        self.entries.resize(self.skipped + len, T::default());
    }
}

/// How many entries precede the first line.
fn skipped<T>(entries: &[T]) -> usize {
    entries.as_ptr().align_offset(64).min(64 / size_of::<T>())
}

impl<T> From<Vec<T>> for AlignedVec<T> {
    /// Keeps the storage of the vector, aligned or not.
    fn from(entries: Vec<T>) -> AlignedVec<T> {
        AlignedVec { skipped: 0, entries }
    }
}

impl<T> Deref for AlignedVec<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        &self.entries[self.skipped..]
    }
}

impl<T> DerefMut for AlignedVec<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.entries[self.skipped..]
    }
}

impl<T: Copy + Default> Clone for AlignedVec<T> {
    fn clone(&self) -> AlignedVec<T> {
        AlignedVec::collect(self.len(), self.iter().copied())
    }
}

impl<T: Debug> Debug for AlignedVec<T> {
    /// Without the unused entries: equal vectors print alike.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: PartialEq> PartialEq for AlignedVec<T> {
    fn eq(&self, other: &AlignedVec<T>) -> bool {
        **self == **other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_starts_at_a_cache_line() {
        for len in [0, 1, 15, 16, 17, 1000, 1 << 20] {
            let mut lines = AlignedVec::collect(len, (0..len).map(|at| at as f32));
            for lines in [&lines, &lines.clone(), &AlignedVec::zeros(len)] {
                assert_eq!((lines.len(), lines.as_ptr() as usize % 64), (len, 0));
            }
            assert_eq!(lines, AlignedVec::from((0..len).map(|at| at as f32).collect::<Vec<_>>()));
            lines.reshape(len / 2);
            lines.reshape(3 * len);
            assert_eq!((lines.len(), lines.as_ptr() as usize % 64), (3 * len, 0));
        }
    }
}
