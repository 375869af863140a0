//! UTF-16 to UTF-8: some programs on Windows write tables so.

use std::io::{self, Read};

/// Units of two bytes that are decoded at once.
const UNITS: usize = 1 << 15;

/// Text that begins with a byte order mark, which is left out.
pub(crate) struct Utf16Read<R> {
    source: R,
    big_endian: bool,
    /// The first half of a character whose second half is still to come.
    half: Option<u16>,
    /// Decoded, and given up to `at`.
    text: Vec<u8>,
    at: usize,
    started: bool,
}

impl<R: Read> Utf16Read<R> {
    pub fn new(source: R, big_endian: bool) -> Utf16Read<R> {
        Utf16Read { source, big_endian, half: None, text: Vec::new(), at: 0, started: false }
    }

    /// Decodes the next units; there is no text at the end.
    fn decode(&mut self) -> io::Result<()> {
        let mut bytes = Vec::new();
        self.source.by_ref().take(2 * UNITS as u64).read_to_end(&mut bytes)?;
        if !bytes.len().is_multiple_of(2) {
            return Err(io::Error::other("is UTF-16 and ends within a character"));
        }
        let is_last = bytes.len() < 2 * UNITS;
        let unit =
            |&bytes: &[u8; 2]| if self.big_endian { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) };
        let mut units: Vec<u16> = self.half.take().into_iter().chain(bytes.as_chunks().0.iter().map(unit)).collect();
        if !std::mem::replace(&mut self.started, true) {
            units.remove(0);
        }
        if !is_last {
            self.half = units.pop_if(|unit| (0xd800..0xdc00).contains(unit));
        }
        let text: Result<String, _> = char::decode_utf16(units).collect();
        self.text = text.map_err(|error| io::Error::other(format!("is UTF-16 with half a character: {error}")))?.into();
        self.at = 0;
        Ok(())
    }
}

impl<R: Read> Read for Utf16Read<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.text.len() {
            self.decode()?;
        }
        let count = buffer.len().min(self.text.len() - self.at);
        buffer[..count].copy_from_slice(&self.text[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use crate::compressed;
    use std::io::{Cursor, Read};

    fn encoded(text: &str, big_endian: bool) -> Vec<u8> {
        let bytes = |unit: u16| if big_endian { unit.to_be_bytes() } else { unit.to_le_bytes() };
        std::iter::once(0xfeff).chain(text.encode_utf16()).flat_map(bytes).collect()
    }

    fn read(bytes: Vec<u8>) -> std::io::Result<String> {
        let mut text = String::new();
        compressed::read(Cursor::new(bytes))?.read_to_string(&mut text).map(|_| text)
    }

    #[test]
    fn both_byte_orders_are_read() {
        // Characters of two units lie across the bounds of what is decoded at once.
        for text in ["", "a,Zürich\r\n", &"x🦀".repeat(40_000), &"🦀".repeat(40_000)] {
            assert!(read(encoded(text, false)).unwrap() == *text);
            assert!(read(encoded(text, true)).unwrap() == *text);
        }
    }

    #[test]
    fn half_a_character_is_refused() {
        let whole = encoded("a🦀", false);
        let message = |bytes: &[u8]| read(bytes.to_vec()).unwrap_err().to_string();
        assert_eq!(message(&whole[..whole.len() - 1]), "is UTF-16 and ends within a character");
        assert!(message(&whole[..whole.len() - 2]).starts_with("is UTF-16 with half a character"));
    }
}
