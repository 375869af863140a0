//! Decompression into exactly the announced size.

use crate::{Parsed, memory};
use std::io::Read;

/// A compression format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Codec {
    None,
    Snappy,
    Gzip,
    Zstd,
    Lz4Block,
    Lz4Frame,
}

/// Bytes that grow more than this, beyond `GROWTH_FREE`, are a bomb; and no piece is larger than `LIMIT`.
const GROWTH: u64 = 2000;
const GROWTH_FREE: u64 = 16 << 20;
const LIMIT: u64 = 1 << 30;

/// Exactly `size` bytes.
pub(super) fn unpack(codec: Codec, packed: Vec<u8>, size: u64) -> Parsed<Vec<u8>> {
    let length = packed.len() as u64;
    if codec == Codec::None {
        return if length == size { Ok(packed) } else { Err(format!("has {length} bytes, but announces {size}")) };
    }
    if size > LIMIT || size > length * GROWTH + GROWTH_FREE {
        return Err(format!("claims to unpack {length} bytes into {size}; that is a bomb"));
    }
    // Some writers leave out an empty frame.
    if size == 0 {
        return Ok(Vec::new());
    }
    let wrong = |error: &dyn std::fmt::Display| format!("can't be unpacked as {codec:?}: {error}");
    let bytes = memory::filled(size as usize, 0u8, || format!("{size} unpacked bytes"));
    let mut bytes = bytes.map_err(|problem| problem.to_string())?;
    let got = match codec {
        Codec::None => unreachable!("returned above"),
        Codec::Snappy => snap::raw::Decoder::new().decompress(&packed, &mut bytes).map_err(|e| wrong(&e))?,
        Codec::Lz4Block => lz4_flex::block::decompress_into(&packed, &mut bytes).map_err(|e| wrong(&e))?,
        Codec::Zstd => ruzstd::decoding::FrameDecoder::new().decode_all(&packed, &mut bytes).map_err(|e| wrong(&e))?,
        Codec::Gzip => fill(flate2::read::MultiGzDecoder::new(&packed[..]), &mut bytes).map_err(|e| wrong(&e))?,
        Codec::Lz4Frame => fill(lz4_flex::frame::FrameDecoder::new(&packed[..]), &mut bytes).map_err(|e| wrong(&e))?,
    };
    if got as u64 == size { Ok(bytes) } else { Err(format!("unpacks into {got} bytes, but announces {size}")) }
}

/// Number of bytes filled; one more than the space if something is left over.
fn fill(mut source: impl Read, space: &mut [u8]) -> std::io::Result<usize> {
    let mut filled = 0;
    while filled < space.len() {
        match source.read(&mut space[filled..])? {
            0 => return Ok(filled),
            got => filled += got,
        }
    }
    Ok(filled + source.read(&mut [0])?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn sizes_must_be_what_was_announced() {
        let text = b"a text of some length, of some length, of some length";
        let size = text.len() as u64;
        let snappy = snap::raw::Encoder::new().compress_vec(text).unwrap();
        for (codec, packed) in [(Codec::None, text.to_vec()), (Codec::Gzip, gzip(text)), (Codec::Snappy, snappy)] {
            assert_eq!(unpack(codec, packed.clone(), size).unwrap(), text, "{codec:?}");
            for wrong in [size - 1, size + 1] {
                unpack(codec, packed.clone(), wrong).unwrap_err();
            }
            unpack(codec, packed[..packed.len() - 1].to_vec(), size).unwrap_err();
        }
    }

    #[test]
    fn bombs_are_refused_before_memory_is_taken() {
        for codec in [Codec::Snappy, Codec::Gzip, Codec::Zstd, Codec::Lz4Block, Codec::Lz4Frame] {
            let bomb = unpack(codec, vec![0; 10], 1 << 60).unwrap_err();
            assert_eq!(bomb, "claims to unpack 10 bytes into 1152921504606846976; that is a bomb");
            unpack(codec, vec![0; 10], 100).unwrap_err();
        }
        // It announces little and holds much.
        let zeros = gzip(&vec![0; 3 << 20]);
        assert_eq!(unpack(Codec::Gzip, zeros, 1000).unwrap_err(), "unpacks into 1001 bytes, but announces 1000");
    }
}
