//! One graph in every format: the same nodes, edges, weights, features and labels are read.

use nigh::Dataset;
use nigh::dataset::{EdgeColumns, Ids, InputFiles, NodeColumns};
use nigh::formats::npy;
use nigh::formats::records::{RecordColumn, Records};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};

/// A folder that is gone when the test ends.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, content).unwrap();
        path
    }
}

const EDGES: [(i64, i64, f32); 6] = [(0, 1, 0.5), (1, 2, 2.0), (2, 3, 1.0), (3, 0, 4.0), (0, 2, 1.5), (4, 3, 3.0)];

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

fn zstd(content: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(content, ruzstd::encoding::CompressionLevel::Fastest)
}

/// An array in NumPy's format.
fn array<N: npy::NpyNumber>(shape: &[usize], entries: impl IntoIterator<Item = N>) -> Vec<u8> {
    let mut bytes = Vec::new();
    npy::write(&mut bytes, shape, entries).unwrap();
    bytes
}

fn zipped(members: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, content) in members {
        zip.start_file(format!("{name}.npy"), zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(content).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn ids(numbers: impl Iterator<Item = i64>) -> RecordColumn {
    (&Ids::from_names(numbers.map(|number| number.to_string()))).into()
}

fn records(prefix: &str) -> Records {
    let named = |end: fn(&(i64, i64, f32)) -> i64| -> RecordColumn {
        RecordColumn::from_texts(EDGES.iter().map(|edge| format!("{prefix}{}", end(edge))))
    };
    let ends = match prefix {
        "" => [ids(EDGES.iter().map(|edge| edge.0)), ids(EDGES.iter().map(|edge| edge.1))],
        _ => [named(|edge| edge.0), named(|edge| edge.1)],
    };
    let [source, target] = ends;
    let weights = RecordColumn::Numbers(EDGES.iter().map(|edge| edge.2).collect());
    Records::default().with("source", source).with("target", target).with("weight", weights)
}

/// Lines of `source`, `target` and `weight`.
fn lines(between: &str, end: &str) -> String {
    EDGES.iter().map(|(a, b, w)| format!("{a}{between}{b}{between}{w}{end}")).collect()
}

/// Edges by name with their weights.
fn meaning(dataset: &Dataset) -> BTreeMap<[String; 2], u32> {
    let sample = &dataset.samples[0];
    let weights = sample.graph.edge_weights();
    let name = |node: u32| sample.ids.name(node as usize).into_owned();
    sample.graph.edges().zip(weights).map(|([a, b], weight)| ([name(a), name(b)], weight.to_bits())).collect()
}

fn load(path: &Path) -> Dataset {
    Dataset::from_files(path, &InputFiles::default()).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn every_format_of_edges_means_the_same() {
    let folder = Folder::new();
    let csv = format!("source,target,weight\n{}", lines(",", "\n"));
    let market: String = EDGES.iter().map(|(a, b, w)| format!("{} {} {w}\n", a + 1, b + 1)).collect();
    let links: Vec<String> =
        EDGES.iter().map(|(a, b, w)| format!("{{\"source\": {a}, \"target\": {b}, \"weight\": {w}}}")).collect();
    let nodes: Vec<String> = (0..5).map(|id| format!("{{\"id\": {id}}}")).collect();
    let json = format!("{{\"directed\": false, \"nodes\": [{}], \"links\": [{}]}}", nodes.join(", "), links.join(", "));
    let end = |end: fn(&(i64, i64, f32)) -> i64| array(&[6], EDGES.iter().map(end).collect::<Vec<_>>());
    let scipy = zipped(&[
        ("row", end(|edge| edge.0)),
        ("col", end(|edge| edge.1)),
        ("format", array(&[], [*b"coo"])),
        ("shape", array(&[2], [5i64, 5])),
        ("data", array(&[6], EDGES.iter().map(|edge| edge.2))),
    ]);
    let files = [
        folder.file("comma.csv", &csv),
        folder.file("crlf.csv", csv.replace('\n', "\r\n")),
        folder.file("semicolon.csv", csv.replace(',', ";")),
        folder.file("headless.csv", lines(",", "\n")),
        folder.file("tab.tsv", lines("\t", "\n")),
        folder.file("blanks.txt", format!("# a comment\n{}", lines("   ", "  \n"))),
        folder.file("packed.csv.gz", gzip(csv.as_bytes())),
        folder.file("packed.csv.zst", zstd(csv.as_bytes())),
        folder.file("edges.parquet", records("").to_parquet()),
        folder.file("edges.mtx", format!("%%MatrixMarket matrix coordinate real general\n5 5 6\n{market}")),
        folder.file(
            "edges.mtx.gz",
            gzip(format!("%%MatrixMarket matrix coordinate real general\n5 5 6\n{market}").as_bytes()),
        ),
        folder.file("edges.npz", scipy),
        folder.file("edges.json", json),
    ];
    let expected = load(&files[0]);
    assert_eq!((expected.num_nodes(), expected.num_edges()), (5, 6));
    assert_eq!(*expected.samples[0].ids, Ids::Numbers(5));
    for file in &files {
        let dataset = load(file);
        assert_eq!(meaning(&dataset), meaning(&expected), "{}", file.display());
        assert_eq!(dataset.samples[0].graph.digest(), expected.samples[0].graph.digest(), "{}", file.display());
    }
}

#[test]
fn names_come_back_from_text_and_from_parquet() {
    let folder = Folder::new();
    let csv = load(&folder.file("names.csv", records("user-").to_csv()));
    let parquet = load(&folder.file("names.parquet", records("user-").to_parquet()));
    assert_eq!(meaning(&csv), meaning(&parquet));
    assert_eq!(csv.samples[0].ids.name(0), "user-0");
    assert_eq!(csv.samples[0].ids, parquet.samples[0].ids);
}

#[test]
fn every_format_of_features_and_labels_means_the_same() {
    let folder = Folder::new();
    let edges = folder.file("edges.csv", lines(",", "\n"));
    let value = |node: usize, column: usize| (node * 3 + column) as f32 * 0.25 - 1.0;
    let values: Vec<f32> = (0..5).flat_map(|node| (0..3).map(move |column| value(node, column))).collect();
    // The rows of tables come in another order than the nodes.
    let order = [3, 0, 4, 1, 2];
    let column = |column: usize| RecordColumn::Numbers(order.iter().map(|&node| value(node, column)).collect());
    let id = || ids(order.iter().map(|&node| node as i64));
    let table = Records::default().with("node", id()).with("x", column(0)).with("y", column(1)).with("z", column(2));
    let sparse: String = order
        .iter()
        .flat_map(|&node| (0..3).map(move |column| format!("{node},{column},{}\n", value(node, column))))
        .collect();
    let market: String = (0..15).map(|at| format!("{} {} {}\n", at / 3 + 1, at % 3 + 1, values[at])).collect();
    let rows = |of: &[usize]| -> Vec<f32> { of.iter().flat_map(|&node| (0..3).map(move |c| value(node, c))).collect() };
    let features = [
        folder.file("x.csv", table.to_csv()),
        folder.file("x.parquet", table.to_parquet()),
        folder.file("x.npy", array(&[5, 3], values.clone())),
        folder.file(
            "named.npz",
            zipped(&[("features", array(&[5, 3], rows(&order))), ("ids", array(&[5], order.map(|node| node as i64)))]),
        ),
        folder.file("sparse.csv", format!("id,feature,value\n{sparse}")),
        folder.file("x.mtx", format!("%%MatrixMarket matrix coordinate real general\n5 3 15\n{market}")),
    ];
    let classes = ["red", "blue", "red", "red", "blue"];
    let words = Records::default()
        .with("id", id())
        .with("label", RecordColumn::from_texts(order.iter().map(|&node| classes[node])));
    let labels = [
        folder.file("y.csv", words.to_csv()),
        folder.file("y.parquet", words.to_parquet()),
        folder.file("y.npz", zipped(&[("y", array(&[5], [1i64, 0, 1, 1, 0]))])),
        folder.file("y.npy", array(&[5], [1i32, 0, 1, 1, 0])),
    ];
    let with = |features: &PathBuf, labels: &PathBuf| {
        let input =
            InputFiles { features: Some(features.clone()), labels: Some(labels.clone()), ..InputFiles::default() };
        Dataset::from_files(&edges, &input).unwrap_or_else(|error| panic!("{error}"))
    };
    for file in &features {
        let sample = &with(file, &labels[0]).samples[0];
        let matrix: Vec<f32> = match &sample.features {
            nigh::Features::Dense(matrix) => matrix.data().to_vec(),
            nigh::Features::Sparse(matrix) => {
                let mut dense = vec![0.0; 15];
                (0..5).for_each(|row| {
                    matrix.row(row).for_each(|(column, value)| dense[3 * row + column as usize] = value)
                });
                dense
            }
            nigh::Features::Constant(_) => panic!("{} has features", file.display()),
        };
        assert_eq!(matrix, values, "{}", file.display());
    }
    for file in &labels {
        let dataset = with(&features[0], file);
        assert_eq!(dataset.class_names.len(), 2);
        let of_nodes: Vec<u32> = dataset.samples[0].labels.as_ref().unwrap().iter().flatten().copied().collect();
        assert_eq!(of_nodes, [1, 0, 1, 1, 0], "{}", file.display());
    }
}

#[test]
fn features_that_have_no_ids_count_the_nodes_also_those_without_an_edge() {
    let folder = Folder::new();
    let edges = folder.file("edges.csv", "0,2\n2,5\n");
    let features = folder.file("x.npy", array(&[8, 1], (0..8).map(|row| row as f32)));
    let input = InputFiles { features: Some(features), ..InputFiles::default() };
    let dataset = Dataset::from_files(&edges, &input).unwrap();
    assert_eq!((dataset.num_nodes(), dataset.num_edges()), (8, 2));
    assert!(dataset.samples[0].graph.has_edge(2, 5));
    // Names have no order, unless a list gives them one.
    let named = folder.file("named.csv", "a,b\nb,c\n");
    let error = Dataset::from_files(&named, &input).unwrap_err().to_string();
    assert!(error.contains("rows without ids, but nodes have names"), "{error}");
    let nodes = Some(folder.file("nodes.csv", "id\nc\nalone\na\nb\n"));
    let features = Some(folder.file("y.npy", array(&[4, 1], (0..4).map(|row| row as f32))));
    let dataset = Dataset::from_files(&named, &InputFiles { nodes, features, ..InputFiles::default() }).unwrap();
    let sample = &dataset.samples[0];
    assert_eq!(sample.ids.iter().collect::<Vec<_>>(), ["c", "alone", "a", "b"]);
    assert!(dataset.notes.iter().any(|note| note.ends_with("nodes.csv was read as a header: `id`")));
    assert!(sample.graph.has_edge(2, 3) && sample.graph.has_edge(3, 0) && sample.graph.degree(1) == 0);
}

#[test]
fn a_column_of_graphs_makes_several() {
    let folder = Folder::new();
    let edges = "graph,source,target,weight\nx,1,2,1\ny,1,2,2\nx,2,3,3\ny,5,1,4\nz,7,8,5\n";
    let features = "graph,id,f,g\ny,1,1,0\nx,1,0,1\nx,2,2,0\nx,3,3,0\ny,2,4,0\ny,5,5,0\nz,7,6,0\nz,8,7,0\nz,9,8,0\n";
    let input = InputFiles {
        features: Some(folder.file("x.csv", features)),
        labels: Some(folder.file("y.csv", "set,node,kind\nx,1,a\ny,1,b\nz,9,a\n")),
        node_columns: NodeColumns { label: Some("kind".into()), graph: None, ..NodeColumns::default() },
        ..InputFiles::default()
    };
    let path = folder.file("edges.csv", edges);
    let error = Dataset::from_files(&path, &input).unwrap_err().to_string();
    assert!(error.ends_with("y.csv:2: node `1` is in several graphs; add a column `graph`"), "{error}");
    let labels = Some(folder.file("y.csv", "graph,node,kind\nx,1,a\ny,1,b\nz,9,a\n"));
    let dataset = Dataset::from_files(&path, &InputFiles { labels, ..input }).unwrap();
    assert_eq!(dataset.graph_names, ["x", "y", "z"]);
    let names: Vec<Vec<String>> =
        dataset.samples.iter().map(|sample| sample.ids.iter().map(String::from).collect()).collect();
    assert_eq!(names, [vec!["1", "2", "3"], vec!["1", "2", "5"], vec!["7", "8", "9"]]);
    assert_eq!(dataset.samples[1].graph.edge_weights(), [2.0, 4.0]);
    assert_eq!(dataset.samples[2].graph.degree(2), 0, "node 9 has features and no edge");
    let labels: Vec<Vec<Option<u32>>> =
        dataset.samples.iter().map(|sample| sample.labels.as_ref().unwrap().to_vec()).collect();
    assert_eq!(labels, [[Some(0), None, None], [Some(1), None, None], [None, None, Some(0)]]);
    let nigh::Features::Dense(matrix) = &dataset.samples[1].features else { panic!("dense") };
    assert_eq!(matrix.data(), [1.0, 0.0, 4.0, 0.0, 5.0, 0.0]);
}

#[test]
fn what_was_cleaned_is_noted() {
    let folder = Folder::new();
    let notes =
        |content: &str| -> BTreeSet<String> { load(&folder.file("edges.txt", content)).notes.into_iter().collect() };
    let some = |texts: &[&str]| -> BTreeSet<String> { texts.iter().map(|text| text.to_string()).collect() };
    assert_eq!(notes("a b\nb c\n"), some(&["edges are taken in both directions"]));
    assert_eq!(notes("a b\nb a\n"), some(&["1 repeated edges (either direction) were merged"]));
    assert_eq!(
        notes("a b\nb a\nb c\nc c\n"),
        some(&[
            "1 repeated edges (either direction) were merged",
            "1 self loops were dropped; the operator gives every node its own",
            "the graph is directed: 1 of 2 edges have no way back; all are taken in both directions",
        ])
    );
    let cleaning = load(&folder.file("edges.txt", "a b\nb a\na b\nc c\nb c\n")).cleaning.unwrap();
    assert_eq!((cleaning.duplicates, cleaning.self_loops, cleaning.both_ways), (2, 1, 1));
}

#[test]
fn errors_in_tables_name_file_row_and_column() {
    let folder = Folder::new();
    let bad = Records::default()
        .with("from", ids([1, 2].into_iter()))
        .with("to", RecordColumn::Numbers(vec![0.5, 1.5]))
        .with("weight", RecordColumn::Numbers(vec![1.0, -1.0]));
    let path = folder.file("bad.parquet", bad.to_parquet());
    let error = Dataset::from_files(&path, &InputFiles::default()).unwrap_err().to_string();
    assert!(error.ends_with("bad.parquet: column `to` holds numbers with fractions; expected ids"), "{error}");
    let edge_columns = EdgeColumns { target: Some("from".into()), source: Some("3".into()), ..EdgeColumns::default() };
    let error =
        Dataset::from_files(&path, &InputFiles { edge_columns, ..InputFiles::default() }).unwrap_err().to_string();
    assert!(error.contains("can't be two things at once"), "{error}");
    let negative = Records::default()
        .with("u", ids([1, 2].into_iter()))
        .with("v", ids([2, 3].into_iter()))
        .with("weight", RecordColumn::Numbers(vec![1.0, -1.0]));
    let path = folder.file("negative.parquet", negative.to_parquet());
    let error = Dataset::from_files(&path, &InputFiles::default()).unwrap_err().to_string();
    assert!(error.ends_with("negative.parquet: row 2: weight -1 is not a positive number"), "{error}");
    let edges = folder.file("edges.csv", "1,2\n2,3\n");
    let features =
        Records::default().with("id", ids([1, 2, 2].into_iter())).with("x", RecordColumn::Numbers(vec![1.0, 2.0, 3.0]));
    let features = Some(folder.file("x.parquet", features.to_parquet()));
    let error = Dataset::from_files(&edges, &InputFiles { features, ..InputFiles::default() }).unwrap_err().to_string();
    assert!(error.ends_with("x.parquet: row 3: node `2` has a row already, on row 2"), "{error}");
}
