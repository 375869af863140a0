//! The format of a file, recognised by its first bytes; METIS by its name as well. What is recognised and not read is refused
//! with what to do instead.

use crate::compressed;
use crate::error::{Error, Result};
use crate::{files, matlab, metis, sections};
use std::io::Read;
use std::path::Path;

/// The formats in which users keep tables, arrays and graphs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Lines of columns.
    Text,
    /// Parquet or Arrow.
    Columnar,
    /// A sparse matrix as text.
    MatrixMarket,
    /// An array of NumPy.
    Npy,
    /// A zip of arrays.
    Npz,
    /// Matrices of Matlab.
    Matlab,
    /// Lines of neighbours, as METIS reads them.
    Metis,
    /// GraphML or GEXF.
    Xml,
    /// Sections of plain numbers: a graph file of this project.
    Sections,
    /// JSON, for instance the node-link form of networkx.
    Json,
}

/// So many first bytes are enough.
const START: usize = 1024;

impl Format {
    /// The format of a file, which may be compressed.
    pub fn of(path: &Path) -> Result<Format> {
        // What can be read only once is taken for text.
        if files::is_stream(path) {
            return Ok(Format::Text);
        }
        let mut start = Vec::new();
        compressed::open(path)?.take(START as u64).read_to_end(&mut start).map_err(Error::io(path))?;
        match Format::of_start(&start) {
            Format::Text if is_named(path, &["graph", "metis"]) && metis::is_start(&start) => Ok(Format::Metis),
            Format::Text => match refused(&start) {
                Some((what, remedy)) => Err(Error::file(path, format!("is {what}; {remedy}"))),
                None => Ok(Format::Text),
            },
            format => Ok(format),
        }
    }

    /// The format of content that starts with these bytes; 1,024 are enough.
    pub fn of_start(start: &[u8]) -> Format {
        let text = start.trim_ascii_start();
        let begins = |words: &[&str]| words.iter().any(|word| begins_with(text, word));
        match start {
            [b'P', b'A', b'R', b'1' | b'E', ..] | [b'A', b'R', b'R', b'O', b'W', b'1', ..] => Format::Columnar,
            // A stream of Arrow, and the first version of Feather.
            [0xff, 0xff, 0xff, 0xff, ..] | [b'F', b'E', b'A', b'1', ..] => Format::Columnar,
            [0x93, b'N', b'U', b'M', b'P', b'Y', ..] => Format::Npy,
            [b'P', b'K', 3 | 5, 4 | 6, ..] => Format::Npz,
            _ if start.starts_with(&sections::MAGIC) => Format::Sections,
            _ if matlab::is_start(start) => Format::Matlab,
            _ if begins_with(start, "%%matrixmarket") => Format::MatrixMarket,
            _ if text.starts_with(b"{") => Format::Json,
            _ if begins(&["<graphml", "<gexf", "<?xml", "<!--", "<!doctype g"]) => Format::Xml,
            _ => Format::Text,
        }
    }
}

/// Whether a text begins so, in small or capital letters.
fn begins_with(text: &[u8], word: &str) -> bool {
    text.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word.as_bytes()))
}

/// Whether the name of a file ends so, before the endings of compression.
pub fn is_named(path: &Path, endings: &[&str]) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let packed = [".gz", ".zst", ".zip", ".tar"];
    let bare = packed.iter().fold(name.as_str(), |name, ending| name.strip_suffix(ending).unwrap_or(name));
    bare.rsplit_once('.').is_some_and(|(_, ending)| endings.contains(&ending))
}

const UNPACK: &str = "unpack it first";
const EXPORT: &str = "save it as csv";
const FROM_NETWORKX: &str = "read it with networkx and write it with networkx.write_edgelist or write_graphml";

/// First bytes of what is not read, what it is, and what to do.
const REFUSED: &[(&[u8], &str, &str)] = &[
    (
        b"MATLAB 7.3 MAT-file",
        "a Matlab 7.3 file",
        "save it as version 7 (`save(..., '-v7')` in Matlab), or read it with h5py and write it with scipy.io.savemat",
    ),
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file", "write its arrays with numpy.save, or its table as csv"),
    (b"BZh", "compressed by bzip2", UNPACK),
    (b"\xfd7zXZ\0", "compressed by xz", UNPACK),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", UNPACK),
    (b"Rar!\x1a\x07", "a rar archive", UNPACK),
    (b"SQLite format 3\0", "a database of SQLite", "export the table as csv"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Excel workbook", "save the sheet as csv"),
    (b"%PDF-", "a PDF", "expected a table or a graph"),
    (b"RDX", "a file of R", "write the table with write.csv"),
    (b"\xff\xfe\0\0", "UTF-32 text", "save it as UTF-8"),
    (b"\0\0\xfe\xff", "UTF-32 text", "save it as UTF-8"),
    (
        b"version https://git-lfs",
        "a pointer of Git LFS and not the file itself",
        "fetch the file with `git lfs pull` or download it",
    ),
];

/// What the content is that starts so, and what to do, if it is known not to be read.
fn refused(start: &[u8]) -> Option<(&'static str, &'static str)> {
    // Three letters of text may begin a table.
    let is_text = !start.iter().any(|&byte| byte == 0 || byte >= 0x80);
    let known = REFUSED.iter().find(|known| start.starts_with(known.0) && !(is_text && known.0.len() == 3));
    if let Some((_, what, remedy)) = known {
        return Some((what, remedy));
    }
    let text = start.trim_ascii_start();
    let mut words = text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let (first, second) = (words.next().unwrap_or_default().to_ascii_lowercase(), words.next().unwrap_or_default());
    let opens = |bracket: u8| second.first() == Some(&bracket) || first.ends_with(&[bracket]);
    Some(match start {
        [0x80, 2..=5, ..] => (
            "a Python pickle, which can run any code and is never read",
            "write a graph with networkx.write_edgelist, a matrix with scipy.sparse.save_npz, an array with numpy.save",
        ),
        _ if begins_with(text, "<!doctype html") || begins_with(text, "<html") => {
            ("a web page", "was the page of a download saved instead of the file?")
        }
        _ if is_matlab_4(start) => ("a Matlab 4 file", "save it as version 7 (`save(..., '-v7')` in Matlab)"),
        _ if first.starts_with(b"*vertices") || first.starts_with(b"*network") => ("a Pajek file", FROM_NETWORKX),
        _ if (first.starts_with(b"graph") && opens(b'[')) || (first == b"creator" && second.starts_with(b"\"")) => {
            ("a GML file", FROM_NETWORKX)
        }
        _ if first == b"digraph" || first == b"strict" || (first.starts_with(b"graph") && opens(b'{')) => {
            ("a DOT file of Graphviz", FROM_NETWORKX)
        }
        _ if start.contains(&0) => ("binary and none of the formats that are read", EXPORT),
        _ => return None,
    })
}

/// Five words of 32 bits: type, rows, columns, whether complex, length of the name; then the name.
fn is_matlab_4(start: &[u8]) -> bool {
    let Some((header, name)) = start.split_at_checked(20) else { return false };
    let words: Vec<u32> = header.as_chunks().0.iter().map(|&word| u32::from_le_bytes(word)).collect();
    let length = words[4] as usize;
    let is_name = |name: &[u8]| name.split_last().is_some_and(|(end, name)| *end == 0 && name.is_ascii());
    words[0] < 60 && words[3] < 2 && length > 1 && name.get(..length).is_some_and(is_name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::gzip;

    fn of(name: &str, content: &[u8]) -> Result<Format> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        Format::of(&path)
    }

    #[test]
    fn the_first_bytes_tell() {
        let mut matlab = vec![b' '; 124];
        matlab.extend(b"\0\x01IM");
        for (start, format) in [
            (&b"PAR1\x15\x04"[..], Format::Columnar),
            (b"ARROW1\0\0", Format::Columnar),
            (b"\xff\xff\xff\xff\x10\0", Format::Columnar),
            (b"\x93NUMPY\x01\0", Format::Npy),
            (b"PK\x03\x04", Format::Npz),
            (b"\x8fNIGH\r\n\x1a\x01\0", Format::Sections),
            (b"%%MatrixMarket matrix", Format::MatrixMarket),
            (&matlab, Format::Matlab),
            (b" \n{\"nodes\"", Format::Json),
            (b"<?xml version='1.0'?>", Format::Xml),
            (b"\n<GEXF>", Format::Xml),
            (b"a,b\n", Format::Text),
            (b"PA,b\n", Format::Text),
            (b"graph,source,target\n", Format::Text),
            (b"<http://a> <http://b>\n", Format::Text),
            (b"RDX,b\nBZh,c\n", Format::Text),
            (b"", Format::Text),
        ] {
            assert_eq!((of("x", start).unwrap(), Format::of_start(start)), (format, format), "{start:?}");
        }
    }

    #[test]
    fn the_name_tells_metis_from_edges() {
        for (name, content, format) in [
            ("x.graph", &b"3 2\n2\n1 3\n2\n"[..], Format::Metis),
            ("X.METIS.gz", &gzip(b"% x\n3 2 001\n"), Format::Metis),
            ("x.txt", b"3 2\n2\n", Format::Text),
            ("x.graph", b"a b\n", Format::Text),
        ] {
            assert_eq!(of(name, content).unwrap(), format, "{name}");
        }
    }

    #[test]
    fn what_is_not_read_is_named() {
        let four = [&[0u32, 2, 2, 0, 4].iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>(), &b"net\0"[..]];
        for (content, expected) in [
            (&b"MATLAB 7.3 MAT-file, Platform"[..], "is a Matlab 7.3 file; save it as version 7"),
            (&four.concat(), "is a Matlab 4 file"),
            (b"\x89HDF\r\n\x1a\n\0", "is an HDF5 file"),
            (b"BZh91AY&SY\0\xff", "is compressed by bzip2; unpack it first"),
            (b"\x80\x04\x95", "is a Python pickle"),
            (b"<!DOCTYPE html><html>", "is a web page"),
            (b"*Vertices 3\n", "is a Pajek file; read it with networkx"),
            (b"graph [\n  node [", "is a GML file"),
            (b"Creator \"igraph\"\n", "is a GML file"),
            (b"digraph G {\n", "is a DOT file"),
            (b"graph{\n", "is a DOT file"),
            (b"version https://git-lfs.github.com/spec/v1\n", "is a pointer of Git LFS"),
            (b"a\0b", "is binary and none of the formats that are read"),
        ] {
            let error = of("x", content).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
