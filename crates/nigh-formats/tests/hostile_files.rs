//! Files that lie about themselves are refused with a message that says why. `NIGH_BLESS=1` writes them.

mod readers;
mod samples;

use samples::{Hostile, TENSOR, benchmark, check_hostile, folder, ints, mat, npy, pt, sparse, tar, zipped};
use std::io::Write;

const HOSTILE: &[Hostile] = &[
    // More than any file holds.
    ("rows.npy", "npy", "which should be 9223372036854775800 bytes and is 8", || {
        npy("<f8", "(1152921504606846975,)", &[0; 8])
    }),
    ("sides.npy", "npy", "more than any file holds", || npy("<f8", "(4294967296, 4294967296)", &[0; 8])),
    ("header.npy", "npy", "has a header of 4294967295 bytes", || b"\x93NUMPY\x02\0\xff\xff\xff\xff{}".to_vec()),
    ("rows.mtx", "matrix_market", "is 1152921504606846976 × 1; sides must stay below 2^31", || {
        b"%%MatrixMarket matrix coordinate pattern general\n1152921504606846976 1 1\n1 1\n".to_vec()
    }),
    ("entries.mtx", "matrix_market", "1 entries, but 1152921504606846976 were announced", || {
        b"%%MatrixMarket matrix coordinate pattern general\n9 9 1152921504606846976\n1 1\n".to_vec()
    }),
    ("rows.parquet", "parquet", "a page of 1152921504606846976 values; expected at most", || {
        parquet(1 << 60, 0, &data_page(1 << 60, 8, 0, &[]))
    }),
    ("columns.parquet", "parquet", "announces more columns than it names", || {
        with_footer(&[], &footer(&[element(None, i32::MAX.into()), element(Some(2), 0)], &[]))
    }),
    ("rows.arrows", "arrow", "that is a bomb", || arrows(23, 1 << 60)),
    ("body.arrows", "arrow", "a message claims a body of 1152921504606846976 bytes", || arrows(BODY, 1 << 60)),
    ("buffer.arrows", "arrow", "a buffer of 1099511627776 bytes", || arrows(184, 1 << 40)),
    ("text.pickle", "pickle", "2147483648 bytes announced, but the file ends after 1", || b"X\0\0\0\x80.".to_vec()),
    ("size.tar", "archive", "the archive is cut off", || tar("x.csv", "77777777777", b'0', b"1,2\n")),
    ("rows.mat", "matlab", "is 2000000000 × 1 with 1 entries; expected sides up to", || {
        mat([2_000_000_000, 1], &[7], &[0, 1])
    }),
    ("length.mat", "matlab", "variable 1 should be 4294967288 bytes", || {
        let bytes = mat([2, 2], &[1], &[0, 1, 1]);
        replaced_at(bytes, 132, &4_294_967_288u32.to_le_bytes())
    }),
    ("nodes.graph", "metis", "announces 1073741824 nodes and has 1 lines below", || b"1073741824 0\n\n".to_vec()),
    // Little that becomes much.
    ("bomb.zip", "archive", "that is a bomb", || zipped(&[("x.csv", &vec![b'\n'; 12 << 20])])),
    ("bomb.npz", "npz", "that is a zip bomb", || {
        let zip = zipped(&[("format.npy", &npy("|u1", "(300000,)", &[0; 300_000]))]);
        let size = zip.windows(4).rposition(|window| window == b"PK\x01\x02").unwrap() + 24;
        replaced_at(zip, size, &2_000_000_000u32.to_le_bytes())
    }),
    ("bomb.pt", "pt", "bytes or more from", || {
        let zip = pt(&[b'N'; 300_000]);
        let size = zip.windows(4).position(|window| window == b"PK\x01\x02").unwrap() + 24;
        replaced_at(zip, size, &2_000_000_000u32.to_le_bytes())
    }),
    ("snappy.parquet", "parquet", "claims to unpack 3 bytes into 1099511627776; that is a bomb", || {
        parquet(1, 1, &page(1, 0, 1 << 40, 3, &[0; 3]))
    }),
    ("gzip.parquet", "parquet", "unpacks into 9 bytes, but announces 8", || {
        let zeros = gzip(&[0; 1 << 20]);
        parquet(1, 2, &page(1, 0, 8, zeros.len() as i64, &zeros))
    }),
    ("run.parquet", "parquet", "a page of 1099511627776 values; expected at most", || {
        parquet(1 << 40, 0, &data_page(1 << 40, 8, 0, &[0, 2, 0]))
    }),
    // Deep.
    ("deep.parquet", "parquet", "nests columns more than 64 levels deep", || {
        let elements = [vec![element(None, 1); 400], vec![element(Some(2), 0)]].concat();
        with_footer(&[], &footer(&elements, &[]))
    }),
    ("deep.pickle", "pickle", "byte 3000", || [vec![b']'; 3000], b"Ra.".to_vec()].concat()),
    // Code.
    ("system.pickle", "pickle", "`os.system` is refused", || b"cos\nsystem\n(S'echo'\ntR.".to_vec()),
    ("system.pt", "pt", "`os.system` is refused", || pt(b"\x80\x02cos\nsystem\nX\x04\0\0\0echo\x85R.")),
    ("objects.npy", "npy", "holds pickled Python objects, which are never read", || {
        npy("|O", "(1,)", b"cos\nsystem\n.")
    }),
    ("entity.graphml", "graph_xml", "`id` of `node`", || {
        b"<!DOCTYPE x [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;&a;\">]><graphml><graph><node id=\"&b;\"/></graph></graphml>".to_vec()
    }),
    // Outside of what is there.
    ("net.mat", "matlab", "has an entry in row 2 of 2, counted from 0", || mat([2, 2], &[2], &[0, 1, 1])),
    ("adj.npz", "npz", "`adj_indptr`: row 1: falls from 2 to 1", || benchmark(&[0, 2, 1], &[1, 0])),
    ("neighbour.graph", "metis", "neighbour 3; expected 1 to 2", || b"2 1\n2\n3\n".to_vec()),
    ("indptr.npz", "npz", "`indptr`: row 1: falls from 3 to 1", || sparse("csr", &[0, 3, 1, 3], &[0, 1, 2])),
    ("indices.npz", "npz", "entry 1 is -1; expected 0 to 2", || sparse("csr", &[0, 1, 2, 3], &[0, -1, 2])),
    ("format.npz", "npz", "in the format `bsr`; expected csr, csc or coo", || sparse("bsr", &[0, 1, 2, 3], &[0, 1, 2])),
    ("strides.pt", "pt", "leaves its storage of 6", || {
        pt(&replaced(TENSOR.to_vec(), b"K\x03K\x02\x86", b"K\xffK\x02\x86"))
    }),
    ("column.mtx", "matrix_market", "expected a column from 1 to 3", || {
        b"%%MatrixMarket matrix coordinate real symmetric\n3 3 1\n3 4 1.0\n".to_vec()
    }),
    ("complex.mtx", "matrix_market", "entries are `complex`; expected real, integer or pattern", || {
        b"%%MatrixMarket matrix coordinate complex hermitian\n1 1 1\n1 1 0 0\n".to_vec()
    }),
    ("dictionary.parquet", "parquet", "refers to a dictionary that is not there", || {
        parquet(1, 0, &data_page(1, 8, 3, &[1, 2, 0]))
    }),
    ("page.parquet", "parquet", "claims 4096 bytes where its column has 8 left", || {
        parquet(1, 0, &page(1, 0, 4096, 4096, &[0; 8]))
    }),
    // Old, or cut off.
    ("version1.feather", "arrow", "is Feather version 1", || b"FEA1 columns, and FEA1".to_vec()),
    ("encrypted.parquet", "parquet", "is encrypted", || b"PARE and more PARE".to_vec()),
    ("several.zip", "archive", "is an archive of 2 files: a.csv, b.csv; unpack it and name one", || {
        zipped(&[("a.csv", b"1,2\n"), ("b.csv", b"1,2\n")])
    }),
    ("cut.graphml", "graph_xml", "ends within an element", || b"<graphml><graph><node id='a'/>".to_vec()),
    ("cut.npy", "npy", "ends within its entries", || ints(&[1, 2, 3])[..75].to_vec()),
    ("cut.npz", "npz", "is not a readable .npz archive", || sparse("csr", &[0, 1, 2, 3], &[0, 1, 2])[..500].to_vec()),
    ("cut.pt", "pt", "zip archive", || pt(TENSOR)[..200].to_vec()),
    ("cut.parquet", "parquet", "does not end with PAR1", || {
        let whole = parquet(1, 0, &data_page(1, 0, 8, &[0; 8]));
        whole[..whole.len() - 10].to_vec()
    }),
    ("cut.arrows", "arrow", "claims a body of 1208 bytes where 144 are left", || stream()[..1000].to_vec()),
];

/// The body of the first message with rows of the stream.
const BODY: i64 = 1208;

/// What pyarrow wrote.
fn stream() -> Vec<u8> {
    std::fs::read(folder("tests/fixtures/tables/pyarrow-stream.arrows")).unwrap()
}

/// Every eight bytes that say `from` say `to`.
fn arrows(from: i64, to: i64) -> Vec<u8> {
    replaced(stream(), &from.to_le_bytes(), &to.to_le_bytes())
}

/// The same bytes with every `from` replaced.
fn replaced(mut bytes: Vec<u8>, from: &[u8], to: &[u8]) -> Vec<u8> {
    let places: Vec<usize> = (0..=bytes.len() - from.len()).filter(|&at| bytes[at..].starts_with(from)).collect();
    assert!(!places.is_empty() && from.len() == to.len(), "nothing to replace");
    places.iter().for_each(|&at| bytes[at..at + to.len()].copy_from_slice(to));
    bytes
}

fn replaced_at(mut bytes: Vec<u8>, at: usize, to: &[u8]) -> Vec<u8> {
    bytes[at..at + to.len()].copy_from_slice(to);
    bytes
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A number as Thrift writes it: zigzag, seven bits a byte.
fn number(value: i64) -> Vec<u8> {
    let mut rest = (value << 1 ^ value >> 63) as u64;
    let mut bytes = Vec::new();
    while rest > 127 {
        bytes.push(rest as u8 | 128);
        rest >>= 7;
    }
    bytes.push(rest as u8);
    bytes
}

/// Integers in fields with these steps from one to the next.
fn numbers(fields: &[(u8, i64)]) -> Vec<u8> {
    fields.iter().flat_map(|&(step, value)| [vec![step << 4 | 6], number(value)].concat()).collect()
}

/// A column called `a` of this type, or with this many children.
fn element(kind: Option<i64>, children: i64) -> Vec<u8> {
    let kind = kind.map_or(vec![], |kind| numbers(&[(1, kind)]));
    let repetition = numbers(&[(if kind.is_empty() { 3 } else { 2 }, 0)]);
    [kind, repetition, b"\x18\x01a".to_vec(), numbers(&[(1, children)]), vec![0]].concat()
}

fn footer(elements: &[Vec<u8>], groups: &[u8]) -> Vec<u8> {
    let mut count = Vec::new();
    let mut left = elements.len();
    while left > 127 {
        count.push(left as u8 | 128);
        left >>= 7;
    }
    count.push(left as u8);
    let schema = [&[0x19, 0xfc][..], &count, &elements.concat()].concat();
    [numbers(&[(1, 1)]), schema, numbers(&[(1, 0)]), groups.to_vec(), vec![0]].concat()
}

fn with_footer(pages: &[u8], footer: &[u8]) -> Vec<u8> {
    [b"PAR1", pages, footer, &(footer.len() as u32).to_le_bytes(), b"PAR1"].concat()
}

/// One column of 64-bit integers in one group.
fn parquet(rows: i64, codec: i64, pages: &[u8]) -> Vec<u8> {
    let about = numbers(&[(1, 2), (3, codec), (1, rows), (2, pages.len() as i64), (2, 4)]);
    let group = [&[0x19, 0x1c, 0x3c][..], &about, &[0, 0], &numbers(&[(2, rows)]), &[0]].concat();
    let groups = [&[0x19, 0x1c][..], &group].concat();
    with_footer(pages, &footer(&[element(None, 1), element(Some(2), 0)], &groups))
}

/// A page that claims these sizes.
fn page(count: i64, encoding: i64, unpacked: i64, packed: i64, bytes: &[u8]) -> Vec<u8> {
    let head = numbers(&[(1, 0), (1, unpacked), (1, packed)]);
    let data = numbers(&[(1, count), (1, encoding), (1, 3), (1, 3)]);
    [&head[..], &[0x2c], &data, &[0, 0], bytes].concat()
}

fn data_page(count: i64, encoding: i64, size: i64, bytes: &[u8]) -> Vec<u8> {
    page(count, encoding, size, size, bytes)
}

#[test]
fn hostile_files_are_refused_with_a_reason() {
    check_hostile(HOSTILE, readers::read);
}
