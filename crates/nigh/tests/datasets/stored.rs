//! Graph files: written, read again, of the first version, and damaged.

use nigh::dataset::{Dataset, InputFiles};
use nigh::formats::sections::SectionWriter;
use nigh::{Graph, Memory};
use std::path::Path;

fn loaded(path: &Path) -> Dataset {
    Dataset::from_files(path, &InputFiles::default()).unwrap()
}

fn same(a: &Dataset, b: &Dataset) -> bool {
    a.samples[0].graph.digest() == b.samples[0].graph.digest() && a.samples[0].ids == b.samples[0].ids
}

#[test]
fn a_stored_graph_is_the_same_graph() {
    let folder = tempfile::tempdir().unwrap();
    let (text, out) = (folder.path().join("x.csv"), folder.path().join("x.nigh"));
    for content in ["0,1\n1,2\n2,0\n", "7,-3\n-3,12\n", "a,b\nb,\"c, d\"\n", "source,target,weight\na,b,0.5\nb,c,2\n"] {
        std::fs::write(&text, content).unwrap();
        let dataset = loaded(&text);
        let stored = dataset.store(&out).unwrap();
        assert_eq!((stored.num_nodes, stored.num_edges), (dataset.num_nodes(), dataset.num_edges()));
        assert!(same(&loaded(&out), &dataset), "{content}");
        assert!(loaded(&out).samples[0].graph.is_stored() && loaded(&out).notes.is_empty());
    }
    let lonely = Dataset::from_graph("x", Graph::from_edges(5, &[[1, 2]]).unwrap().0);
    lonely.store(&out).unwrap();
    assert!(same(&loaded(&out), &lonely), "nodes without edges stay");
}

#[test]
fn what_has_no_numbers_is_converted_as_well() {
    let folder = tempfile::tempdir().unwrap();
    let (text, out) = (folder.path().join("x.csv"), folder.path().join("x.nigh"));
    let memory = Memory::new(64 << 20);
    for content in ["a,b\nb,c\n", "5000000000,1\n1,-7\n", "1,2\n2,x\n", "0,2000000000\n"] {
        std::fs::write(&text, content).unwrap();
        Dataset::convert(&text, &InputFiles::default(), &out, memory).unwrap();
        assert!(same(&loaded(&out), &loaded(&text)), "{content}");
    }
    std::fs::write(&text, "1,1\n2,2\n").unwrap();
    std::fs::remove_file(&out).unwrap();
    let error = Dataset::convert(&text, &InputFiles::default(), &out, memory).unwrap_err().to_string();
    assert!(error.contains("no edge between two different nodes"), "{error}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing half-written stays behind");
    let error = Dataset::convert(&text, &InputFiles::default(), &out, Memory::new(1 << 20)).unwrap_err().to_string();
    assert!(error.contains("64 MiB at least"), "{error}");
}

#[test]
fn files_of_the_first_version_are_the_same_graphs() {
    let folder = tempfile::tempdir().unwrap();
    let (text, out) = (folder.path().join("x.csv"), folder.path().join("x.nigh"));
    for (name, edges) in [("names", "source,target,weight\na,b,0.5\nb,c,2\n"), ("numbers", "0,1\n1,2\n")] {
        let old = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/version-1/{name}.nigh"));
        std::fs::write(&text, edges).unwrap();
        assert!(same(&loaded(&old), &loaded(&text)), "{name}");
        loaded(&old).store(&out).unwrap();
        let mut bytes = std::fs::read(&old).unwrap();
        assert_ne!(bytes, std::fs::read(&out).unwrap());
        bytes[4096] ^= 1;
        std::fs::write(&out, bytes).unwrap();
        let error = Dataset::from_files(&out, &InputFiles::default()).unwrap_err().to_string();
        assert!(error.contains("section `neighbours` is damaged"), "{error}");
    }
}

#[test]
fn files_that_lie_are_opened_at_most_and_never_used() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.nigh");
    let problem = |offsets: &[u64], neighbours: &[u32], weights: Option<&[f32]>, ids: &[i64]| {
        let mut writer = SectionWriter::create(&path).unwrap();
        writer.section("offsets").unwrap();
        writer.write(offsets).unwrap();
        writer.section("neighbours").unwrap();
        writer.write(neighbours).unwrap();
        if let Some(weights) = weights {
            writer.section("weights").unwrap();
            writer.write(weights).unwrap();
        }
        if !ids.is_empty() {
            writer.section("ids").unwrap();
            writer.write(ids).unwrap();
        }
        writer.finish().unwrap();
        let read = Dataset::from_files(&path, &InputFiles::default());
        read.err().map_or(String::new(), |error| error.to_string())
    };
    assert_eq!(problem(&[0, 1, 2], &[1, 0], None, &[]), "");
    for (offsets, neighbours, expected) in [
        (&[0u64, 1][..], &[1u32, 0][..], "do not fit 2 neighbours"),
        (&[], &[], "do not fit 0 neighbours"),
        (&[0], &[], "no edge"),
        (&[0, 3, 2], &[1, 0], "do not ascend"),
        (&[0, 1, 2], &[1, 2], "exceed the 2 nodes"),
        (&[0, 1, 2], &[1, 1], "a link to 1"),
        (&[0, 2, 2], &[1, 1], "do not ascend"),
        (&[0, 1, 1, 2], &[1, 1], "at one of its ends"),
    ] {
        let found = problem(offsets, neighbours, None, &[]);
        assert!(found.contains(expected), "{found}");
    }
    assert!(problem(&[0, 1, 2], &[1, 0], Some(&[1.0]), &[]).contains("not as many weights"));
    assert!(problem(&[0, 1, 2], &[1, 0], Some(&[1.0, 2.0]), &[]).contains("at one of its ends"));
    assert!(problem(&[0, 1, 2], &[1, 0], Some(&[-1.0, -1.0]), &[]).contains("of weight -1"));
    assert!(problem(&[0, 1, 2], &[1, 0], None, &[4]).contains("but 1 names of nodes"));
    let twice = problem(&[0, 1, 2], &[1, 0], None, &[-4, -4]);
    assert!(twice.contains("x.nigh: nodes 0 and 1 are both called `-4`"), "{twice}");
}
