//! PPI as its archive unpacks, right and damaged.

use nigh::dataset::{Dataset, NamedDataset};
use nigh::{Features, Result};
use nigh_formats::samples::{damaged, npy};
use proptest::prelude::*;
use std::path::Path;

fn read(folder: &Path) -> Result<Dataset> {
    NamedDataset::named("ppi").expect("it is public").read_from(folder)
}

/// A ring of eleven nodes 10, 11, ... with a self loop, and a pair; features of node `10 + i` are in row `12 - i`.
struct Files {
    graph: String,
    map: String,
    features: Vec<u8>,
}

fn files() -> Files {
    let nodes = (0..13).map(|i| format!(r#"{{"test": false, "id": {}, "val": [{{}}]}}"#, 10 + i));
    let link = |a: usize, b: usize| format!(r#"{{"source": {}, "target": {}}}"#, 10 + a, 10 + b);
    let links = (0..11).map(|i| link(i, (i + 1) % 11)).chain([link(3, 3), link(11, 12)]);
    let list = |items: Vec<String>| items.join(", ");
    let rows: Vec<f64> = (0..13).flat_map(|row| [f64::from(row % 2), 0.0, f64::from(row)]).collect();
    Files {
        graph: format!(
            r#"{{"directed": false, "graph": {{}}, "nodes": [{}], "links": [{}], "multigraph": false}}"#,
            list(nodes.collect()),
            list(links.collect())
        ),
        map: format!("{{{}}}", list((0..13).map(|i| format!(r#""{}": {}"#, 10 + i, 12 - i)).collect())),
        features: npy("<f8", "(13, 3)", &rows.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>()),
    }
}

fn read_files(graph: &[u8], map: &[u8], features: &[u8]) -> Result<Dataset> {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in [("ppi-G.json", graph), ("ppi-id_map.json", map), ("ppi-feats.npy", features)] {
        std::fs::write(folder.path().join(name), content).unwrap();
    }
    read(folder.path())
}

fn message(change: impl FnOnce(&mut Files)) -> String {
    let mut files = files();
    change(&mut files);
    let error = read_files(files.graph.as_bytes(), files.map.as_bytes(), &files.features);
    error.unwrap_err().to_string().rsplit_once("/ppi-").unwrap().1.to_string()
}

#[test]
fn large_components_are_graphs_and_features_follow_the_map() {
    let files = files();
    let dataset = read_files(files.graph.as_bytes(), files.map.as_bytes(), &files.features).unwrap();
    let [sample] = &dataset.samples[..] else { panic!("one graph") };
    assert_eq!((sample.graph.num_nodes(), sample.graph.num_edges()), (11, 11));
    assert_eq!((sample.ids.name(0), sample.ids.name(10)), ("10".into(), "20".into()));
    let Features::Dense(features) = &sample.features else { panic!("dense features") };
    // Node 11 has row 11: (1, 0, 11).
    let row = [2f32.ln() + 0.1, 0.1, 11.1];
    assert_eq!(features.row(1), row.map(|x| x / row.iter().sum::<f32>()));
    assert_eq!((dataset.paper_defaults.graphs, sample.labels.is_none()), (Some([16, 4, 4]), true));
    let left_out = "2 nodes in components of at most 10 nodes were left out";
    assert_eq!(dataset.notes.last().unwrap(), left_out);
}

#[test]
fn labels_are_read_where_the_folder_holds_them() {
    let (folder, files) = (tempfile::tempdir().unwrap(), files());
    let put = |name: &str, content: &[u8]| std::fs::write(folder.path().join(name), content).unwrap();
    put("ppi-G.json", files.graph.as_bytes());
    put("ppi-id_map.json", files.map.as_bytes());
    put("ppi-feats.npy", &files.features);
    // Node `10 + i` is in set 0 if `i` is even and in set 2 if it is below 3.
    let list = |i: usize| format!(r#""{}": [{}, 0, {}]"#, 10 + i, (i + 1) % 2, u8::from(i < 3));
    let lists: Vec<String> = (0..13).map(list).collect();
    put("ppi-class_map.json", format!("{{{}}}", lists.join(", ")).as_bytes());
    let dataset = read(folder.path()).unwrap();
    let sets = dataset.samples[0].label_sets.as_ref().unwrap();
    assert_eq!((sets.of(0), sets.of(1), sets.of(3)), (&[0, 2][..], &[2][..], &[][..]));
    assert_eq!((dataset.class_names.len(), dataset.samples[0].num_labelled()), (3, 7));
    let refused = |lists: &[String]| {
        put("ppi-class_map.json", format!("{{{}}}", lists.join(", ")).as_bytes());
        read(folder.path()).unwrap_err().to_string()
    };
    assert!(refused(&lists[..12]).contains("node 22 has no list of labels"));
    let wrong = [&lists[..12], &[r#""22": [1, 2, 0]"#.to_string()]].concat();
    assert!(refused(&wrong).contains("the list of node 22 is not of 3 zeros and ones"));
}

#[test]
fn small_rows_are_not_blown_up() {
    let files = files();
    let rows: Vec<u8> = [0.0f64, 1.0, 0.0].repeat(13).into_iter().flat_map(f64::to_le_bytes).collect();
    let features = npy("<f8", "(13, 3)", &rows);
    let dataset = read_files(files.graph.as_bytes(), files.map.as_bytes(), &features).unwrap();
    let Features::Dense(features) = &dataset.samples[0].features else { panic!("dense features") };
    assert_eq!(features.row(0), [0.1, 2f32.ln() + 0.1, 0.1], "a sum below 1 divides nothing");
}

#[test]
fn errors_name_the_file_and_the_value() {
    let graph = |from: &str, to: &str| message(|files| files.graph = files.graph.replace(from, to));
    assert_eq!(graph(r#""target": 22"#, r#""target": 99"#), "G.json: link 12 names node 99, which is not listed");
    assert_eq!(graph(r#""id": 21,"#, r#""id": 20,"#), "G.json: node 20 is listed twice");
    assert!(graph(r#""links""#, r#""lonks""#).starts_with("G.json: missing field `links` at line 1 column "));
    assert!(graph(r#""id": 21,"#, r#""id": -1,"#).starts_with("G.json: invalid value: integer `-1`, expected u64"));
    let empty = message(|files| files.graph = r#"{"nodes": [], "links": []}"#.into());
    assert_eq!(empty, "G.json: no connected component has more than 10 nodes");
    let map = |from: &str, to: &str| message(|files| files.map = files.map.replace(from, to));
    assert_eq!(map(r#""10""#, r#""9""#), "id_map.json: node 10 has no row of features");
    assert_eq!(map(": 12", ": 13"), "id_map.json: node 10 has row 13, but ppi-feats.npy has 13 rows");
    assert_eq!(map(": 12", ": 11"), "id_map.json: node 11 has row 11, like another node");
    let features = |features: Vec<u8>| message(|files| files.features = features);
    assert_eq!(features(npy("|u1", "(3,)", &[0; 3])), "feats.npy: has 1 dimensions; expected two");
    assert_eq!(features(npy("|u1", "(3, 1)", &[0; 3])), "feats.npy: has 1 columns; expected two and more");
    let minus = npy("|i1", "(1, 2)", &[0, 0xff]);
    assert_eq!(features(minus), "feats.npy: row 0, column 1 is -1, which can't be scaled");
}

#[test]
fn deep_nesting_in_a_skipped_field_needs_no_deep_stack() {
    let deep = "[".repeat(1_000_000);
    let error = message(|files| files.graph = format!(r#"{{"graph": {deep}"#));
    assert!(error.starts_with("G.json: "), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    #[test]
    fn no_damage_makes_it_panic(
        changes in prop::collection::vec((any::<usize>(), prop::sample::select(&b"019-{}[]\",: \xff"[..])), 0..4),
        noise in prop::collection::vec(any::<u8>(), 0..100), part in 0..3usize, cut in 0..2usize,
    ) {
        let files = files();
        let _ = read_files(&noise, files.map.as_bytes(), &files.features);
        let mut parts = [files.graph.into_bytes(), files.map.into_bytes(), files.features];
        parts[part] = damaged(std::mem::take(&mut parts[part]), &changes, cut);
        let _ = read_files(&parts[0], &parts[1], &parts[2]);
    }
}
