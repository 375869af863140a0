//! Many short texts in one allocation.

use std::ops::Index;

/// A list of texts, stored back to back: a few bytes each instead of an allocation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Texts {
    text: String,
    /// The start of each, and the end of the last.
    bounds: Vec<usize>,
}

impl Default for Texts {
    fn default() -> Texts {
        Texts { text: String::new(), bounds: vec![0] }
    }
}

impl Texts {
    /// Number of texts.
    #[inline]
    pub fn len(&self) -> usize {
        self.bounds.len() - 1
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One of the texts.
    #[inline]
    pub fn get(&self, at: usize) -> &str {
        &self.text[self.bounds[at]..self.bounds[at + 1]]
    }

    /// Bytes of all texts.
    pub fn num_bytes(&self) -> usize {
        self.bounds.last().copied().unwrap_or(0) - self.bounds[0]
    }

    /// Adds a text.
    #[inline]
    pub fn push(&mut self, text: &str) {
        self.text.push_str(text);
        self.bounds.push(self.text.len());
    }

    /// All texts, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> + Clone {
        (0..self.len()).map(|at| &self[at])
    }

    /// Adds a text, unless it is not UTF-8.
    pub(crate) fn push_bytes(&mut self, bytes: &[u8]) -> Result<(), String> {
        let wrong = |error: std::str::Utf8Error| {
            format!("byte {} of a text (0x{:02x}) is not UTF-8", error.valid_up_to() + 1, bytes[error.valid_up_to()])
        };
        self.push(std::str::from_utf8(bytes).map_err(wrong)?);
        Ok(())
    }

    /// `count` texts from `start` on.
    pub(crate) fn range(&self, start: usize, count: usize) -> Texts {
        let bounds = &self.bounds[start..=start + count];
        let text = self.text[bounds[0]..bounds[count]].to_string();
        Texts { text, bounds: bounds.iter().map(|bound| bound - bounds[0]).collect() }
    }
}

impl Index<usize> for Texts {
    type Output = str;

    #[inline]
    fn index(&self, at: usize) -> &str {
        self.get(at)
    }
}

impl<T: AsRef<str>> FromIterator<T> for Texts {
    fn from_iter<I: IntoIterator<Item = T>>(all: I) -> Texts {
        let mut texts = Texts::default();
        all.into_iter().for_each(|text| texts.push(text.as_ref()));
        texts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_come_back_as_they_were_given() {
        let words = ["", "a", "Zürich", "", "b c"];
        let texts: Texts = words.iter().collect();
        assert_eq!(texts.len(), 5);
        assert_eq!(texts.iter().collect::<Vec<_>>(), words);
        assert_eq!(&texts[2], "Zürich");
    }
}
