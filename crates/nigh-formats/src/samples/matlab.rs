//! Files as Matlab writes them, for tests.

use std::io::Write;

/// A variable.
#[derive(Clone, Copy)]
pub enum MatSample<'a> {
    Sparse {
        shape: [i32; 2],
        rows: &'a [i32],
        ends: &'a [i32],
        values: &'a [f64],
    },
    /// Column by column.
    Full {
        shape: [i32; 2],
        values: &'a [f64],
    },
    Text(&'a str),
}

struct MatWriter {
    big_endian: bool,
}

impl MatWriter {
    fn words(&self, words: &[i32]) -> Vec<u8> {
        words.iter().flat_map(|word| if self.big_endian { word.to_be_bytes() } else { word.to_le_bytes() }).collect()
    }

    fn numbers(&self, values: &[f64]) -> Vec<u8> {
        let bytes = |value: &f64| if self.big_endian { value.to_be_bytes() } else { value.to_le_bytes() };
        values.iter().flat_map(bytes).collect()
    }

    fn element(&self, kind: i32, content: &[u8]) -> Vec<u8> {
        // Short ones are written into the tag.
        if (1..=4).contains(&content.len()) {
            let tag = self.words(&[(content.len() as i32) << 16 | kind]);
            return [&tag[..], content, &[0; 4][content.len()..]].concat();
        }
        let padding = content.len().next_multiple_of(8) - content.len();
        [&self.words(&[kind, content.len() as i32])[..], content, &[0; 8][..padding]].concat()
    }

    fn variable(&self, name: &str, sample: MatSample<'_>) -> Vec<u8> {
        let (class, shape, content) = match sample {
            MatSample::Sparse { shape, rows, ends, values } => {
                let parts = [(5, self.words(rows)), (5, self.words(ends)), (9, self.numbers(values))];
                (5, shape, parts.map(|(kind, bytes)| self.element(kind, &bytes)).concat())
            }
            MatSample::Full { shape, values } => (6, shape, self.element(9, &self.numbers(values))),
            MatSample::Text(text) => (4, [1, text.len() as i32], self.element(16, text.as_bytes())),
        };
        let flags = self.element(6, &self.words(&[class, 0]));
        let sides = self.element(5, &self.words(&shape));
        self.element(14, &[flags, sides, self.element(1, name.as_bytes()), content].concat())
    }
}

/// A file of version 5 with these variables, each compressed or none.
pub fn mat(variables: &[(&str, MatSample<'_>)], big_endian: bool, packed: bool) -> Vec<u8> {
    let writer = MatWriter { big_endian };
    let mut bytes = b"MATLAB 5.0 MAT-file, written by a test".to_vec();
    bytes.resize(124, b' ');
    bytes.extend(if big_endian { b"\x01\0MI" } else { b"\0\x01IM" });
    for (name, sample) in variables {
        let variable = writer.variable(name, *sample);
        if packed {
            let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
            encoder.write_all(&variable).unwrap();
            let packed = encoder.finish().unwrap();
            bytes.extend(writer.words(&[15, packed.len() as i32]));
            bytes.extend(packed);
        } else {
            bytes.extend(variable);
        }
    }
    bytes
}
