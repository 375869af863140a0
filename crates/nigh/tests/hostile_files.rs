//! Files of graphs that lie about themselves are refused with a message that says why. `NIGH_BLESS=1` writes them.

mod graph_files;
#[path = "../../nigh-formats/tests/samples/mod.rs"]
mod samples;

use graph_files::gzip;
use samples::{Hostile, check_hostile};

const HOSTILE: &[Hostile] = &[
    ("bomb.csv.gz", "gz", "the most that is read", || gzip(&b"0,1\n".repeat(2_000_000))),
    ("bomb.txt.gz", "csv", "that is a bomb, not a table", || gzip(&b"\n".repeat(12 << 20))),
    ("deep.json", "json", "EOF while parsing", || [&b"{\"nodes\": [{\"id\": 1, \"x\": "[..], &[b'['; 3000]].concat()),
    ("unlisted.json", "json", "link 0 names node `2`, which is not listed", || {
        br#"{"nodes": [{"id": 1}], "links": [{"source": 1, "target": 2}]}"#.to_vec()
    }),
    ("wide.json", "json_rows", "features, if numbered from zero; expected at most", || {
        br#"{"a": [4000000000]}"#.to_vec()
    }),
    ("quote.csv", "csv", "opens a quote and does not close it", || b"a,b\n\"c,d\n".to_vec()),
    ("latin1.csv", "csv", "(0xfc) is not UTF-8 text", || b"M\xfcnchen,Z\xfcrich\n".to_vec()),
    ("cut.json", "json", "EOF while parsing", || br#"{"nodes": [{"id": 1}], "links": [{"sou"#.to_vec()),
    ("cut.nigh", "store", "its header says", || {
        let mut bytes = graph_files::stored(b"0 1\n1 2\n");
        bytes.truncate(bytes.len() - 8);
        bytes
    }),
    ("bit.nigh", "store", "section `neighbours` is damaged", || {
        let mut bytes = graph_files::stored(b"0 1\n1 2\n");
        bytes[4096] ^= 1;
        bytes
    }),
    ("blocks.nigh", "store", "section `neighbours` is damaged", || {
        // The checksum of its only block, behind four neighbours.
        let mut bytes = graph_files::stored(b"0 1\n1 2\n");
        bytes[4096 + 16] ^= 1;
        bytes
    }),
    ("version-1.nigh", "store", "section `neighbours` is damaged", || {
        let mut bytes = include_bytes!("version-1/numbers.nigh").to_vec();
        bytes[4096] ^= 1;
        bytes
    }),
    ("neighbour.nigh", "store", "neighbours exceed the 2 nodes", || graph_files::sections(&[0, 1, 2], &[1, 2])),
    ("offsets.nigh", "store", "do not ascend", || graph_files::sections(&[0, 1 << 40, 2], &[1, 0])),
    ("cut.csv.gz", "gz", "edge.csv.gz", || gzip(&b"0,1\n".repeat(100))[..20].to_vec()),
];

#[test]
fn hostile_files_are_refused_with_a_reason() {
    check_hostile(HOSTILE, graph_files::read);
}
