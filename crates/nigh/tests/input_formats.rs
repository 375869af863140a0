//! One graph in every format: the same nodes, edges, weights, features and labels are read.

use nigh::Dataset;
use nigh::dataset::{EdgeColumns, IdColumns, Ids, InputFiles, NodeColumns, WeightColumn};
use nigh::formats::npy;
use nigh::formats::records::{RecordColumn, Records};
use nigh_formats::samples::matlab::{MatSample, mat};
use nigh_formats::samples::{self, gzip};
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
    let named: Vec<(String, String)> = EDGES.iter().map(|(a, b, _)| (a.to_string(), b.to_string())).collect();
    let edges_with = |edge: &dyn Fn(&str, &str, f32) -> String| -> String {
        named.iter().zip(EDGES).map(|((a, b), (_, _, w))| edge(a, b, w)).collect()
    };
    let xml_nodes: String = (0..5).map(|id| format!("<node id=\"{id}\"/>")).collect();
    let graphml = format!(
        "<?xml version='1.0'?><graphml><key id=\"d0\" for=\"edge\" attr.name=\"weight\"/><graph edgedefault=\"undirected\">\
         {xml_nodes}{}</graph></graphml>",
        edges_with(&|a, b, w| format!("<edge source=\"{a}\" target=\"{b}\"><data key=\"d0\">{w}</data></edge>"))
    );
    let gexf = format!(
        "<gexf><graph><nodes>{xml_nodes}</nodes><edges>{}</edges></graph></gexf>",
        edges_with(&|a, b, w| format!("<edge source=\"{a}\" target=\"{b}\" weight=\"{w}\"/>"))
    );
    let dense: Vec<f32> = (0..25)
        .map(|at| EDGES.iter().find(|edge| (edge.0, edge.1) == (at / 5, at % 5)).map_or(0.0, |edge| edge.2))
        .collect();
    let by_columns: Vec<f64> = (0..25).map(|at| f64::from(dense[5 * (at % 5) + at / 5])).collect();
    let utf16: Vec<u8> = std::iter::once(0xfeff).chain(csv.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    let unnamed = [
        folder.file("headless.csv", lines(",", "\n")),
        folder.file("trailing.csv", lines(",", ",\n")),
        folder.file("tab.tsv", lines("\t", "\n")),
        folder.file("mixed.txt", lines("\t", "\n").replacen('\t', " ", 7)),
        folder.file("blanks.txt", format!("# a comment\n{}", lines("   ", "  \n"))),
        folder.file("triples.npy", array(&[6, 3], EDGES.iter().flat_map(|&(a, b, w)| [a as f32, b as f32, w]))),
    ];
    let files = [
        folder.file("comma.csv", &csv),
        folder.file("crlf.csv", csv.replace('\n', "\r\n")),
        folder.file("semicolon.csv", csv.replace(',', ";")),
        folder.file("windows.csv", utf16),
        folder.file("packed.zip", samples::zipped(&[("data/", ""), ("data/edges.csv", &csv), ("README.txt", "hello")])),
        folder.file("packed.tar.gz", gzip(&samples::tar(&[("edges.csv", &csv)]))),
        folder.file("edges.graphml", graphml),
        folder.file("edges.gexf", gexf),
        folder.file("edges.edgelist", edges_with(&|a, b, w| format!("{a} {b} {{'weight': {w}, 'kind': 'a, b'}}\n"))),
        folder.file("dense.npy", array(&[5, 5], dense.iter().copied())),
        folder.file("edges.mat", mat(&[("net", MatSample::Full { shape: [5, 5], values: &by_columns })], false, true)),
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
    let same = |file: &Path, dataset: &Dataset, expected: &Dataset| {
        assert_eq!(meaning(dataset), meaning(expected), "{}", file.display());
        assert_eq!(dataset.samples[0].graph.digest(), expected.samples[0].graph.digest(), "{}", file.display());
    };
    files.iter().for_each(|file| same(file, &load(file), &expected));
    let weighed = |file: &PathBuf, weight: &str| {
        let edge_columns = EdgeColumns { weight: weight.into(), ..EdgeColumns::default() };
        let input = InputFiles { edge_columns, ..InputFiles::default() };
        Dataset::from_files(file, &input).unwrap_or_else(|error| panic!("{error}"))
    };
    unnamed.iter().for_each(|file| same(file, &weighed(file, "3"), &expected));
    // Without weights all are the same again, also those formats that have none.
    let plain: String = EDGES.iter().map(|(a, b, _)| format!("{a} {b}\n")).collect();
    let ends = || EDGES.iter().flat_map(|edge| [edge.0, edge.1]);
    let transposed = EDGES.iter().map(|edge| edge.0).chain(EDGES.iter().map(|edge| edge.1));
    let bare = [
        folder.file("plain.txt", &plain),
        folder.file("bare.edgelist", plain.replace('\n', " {}\n")),
        folder.file("edges.adjlist", "0 1 3 2\n1 2\n2 3\n3 4\n4\n"),
        folder.file("edges.graph", "% METIS\n5 6\n2 4 3\n1 3\n2 4 1\n3 1 5\n4\n"),
        folder.file("pairs.npy", array(&[6, 2], ends())),
        folder.file("index.npy", array(&[2, 6], transposed)),
        folder.file("floats.csv", plain.replace(' ', ".0,").replace('\n', ".0\n")),
    ];
    let unweighted = load(&bare[0]);
    assert!(!unweighted.samples[0].graph.is_weighted());
    bare.iter().for_each(|file| same(file, &load(file), &unweighted));
    files.iter().chain(&unnamed).for_each(|file| same(file, &weighed(file, "none"), &unweighted));
    for file in &unnamed {
        let dataset = load(file);
        same(file, &dataset, &unweighted);
        let note = "has no name and is not used; it can be named as the weight";
        assert!(dataset.notes.iter().any(|found| found.ends_with(note)), "{}: {:?}", file.display(), dataset.notes);
    }
}

/// Words and counts of `n` nodes, as SciPy stores the rows of a matrix under names that start so.
fn csr(start: &str, shape: [i64; 2], ends: &[i64], columns: &[i64], values: &[f32]) -> Vec<(String, Vec<u8>)> {
    vec![
        (format!("{start}data"), array(&[values.len()], values.iter().copied())),
        (format!("{start}indices"), array(&[columns.len()], columns.iter().copied())),
        (format!("{start}indptr"), array(&[ends.len()], ends.iter().copied())),
        (format!("{start}shape"), array(&[2], shape)),
    ]
}

fn archive(members: &[(String, Vec<u8>)]) -> Vec<u8> {
    zipped(&members.iter().map(|(name, bytes)| (name.as_str(), bytes.clone())).collect::<Vec<_>>())
}

/// Features and labels of every node.
fn of_nodes(dataset: &Dataset) -> (Vec<f32>, Vec<Option<u32>>) {
    let sample = &dataset.samples[0];
    let matrix = match &sample.features {
        nigh::Features::Dense(matrix) => matrix.data().to_vec(),
        nigh::Features::Sparse(matrix) => {
            let mut dense = vec![0.0; matrix.rows() * matrix.cols()];
            (0..matrix.rows()).for_each(|row| {
                matrix.row(row).for_each(|(column, value)| dense[matrix.cols() * row + column as usize] = value)
            });
            dense
        }
        nigh::Features::Constant(_) => Vec::new(),
    };
    (matrix, sample.labels.as_ref().map_or(Vec::new(), |labels| labels.to_vec()))
}

#[test]
fn a_benchmark_file_has_graph_features_and_labels() {
    let folder = Folder::new();
    let pickled = samples::npy("|O", "(2,)", b"cos\nsystem\n(S'echo'\ntR.");
    let labels = ("labels".to_string(), array(&[4], [1i64, 0, 1, -1]));
    let graph = |start: &str| csr(start, [4, 4], &[0, 1, 3, 4, 4], &[1, 0, 2, 1], &[1.0; 4]);
    let words = |start: &str| csr(start, [4, 3], &[0, 1, 2, 2, 3], &[2, 0, 1], &[1.0, 2.0, 3.0]);
    let values = [0.0, 0.0, 1.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 3.0, 0.0];
    let sparse = [graph("adj_"), words("attr_"), vec![labels.clone(), ("metadata".into(), pickled.clone())]].concat();
    let dotted = [graph("adj_matrix."), words("attr_matrix."), vec![labels.clone()]].concat();
    let dense = [graph("adj_"), vec![("attr_matrix".into(), array(&[4, 3], values)), labels.clone()]].concat();
    let edges = vec![
        ("edges".to_string(), array(&[2, 2], [0i64, 1, 1, 2])),
        ("node_features".into(), array(&[4, 3], values)),
        ("node_labels".into(), array(&[4], [1i64, 0, 1, -1])),
    ];
    for (name, members) in [("sparse", &sparse), ("dotted", &dotted), ("dense", &dense), ("edges", &edges)] {
        let dataset = load(&folder.file(&format!("{name}.npz"), archive(members)));
        assert_eq!((dataset.num_nodes(), dataset.num_edges()), (4, 2), "{name}");
        assert_eq!(of_nodes(&dataset), (values.to_vec(), vec![Some(1), Some(0), Some(1), None]), "{name}");
        assert!(!dataset.samples[0].graph.is_weighted());
    }
    // Names of classes are used where they are text.
    let named = [sparse.clone(), vec![("class_names".into(), samples::npy("|S3", "(2,)", b"redtan"))]].concat();
    assert_eq!(load(&folder.file("named.npz", archive(&named))).class_names, ["red", "tan"]);
    let hidden = [sparse.clone(), vec![("class_names".into(), pickled)]].concat();
    let file = folder.file("hidden.npz", archive(&hidden));
    assert_eq!(load(&file).class_names, ["0", "1"]);
    // Other files take precedence, and the file gives features and labels to another graph.
    let other = folder.file("edges.csv", "0,1\n1,2\n2,3\n");
    let input = InputFiles { features: Some(file.clone()), labels: Some(file), ..InputFiles::default() };
    let dataset = Dataset::from_files(&other, &input).unwrap();
    assert_eq!((of_nodes(&dataset).0, dataset.num_edges()), (values.to_vec(), 3));
    let words = csr("attr_", [3, 3], &[0, 1, 2, 2], &[2, 0], &[1.0, 2.0]);
    let error = refused(&folder.file("short.npz", archive(&[graph("adj_"), words].concat())));
    assert!(error.ends_with("short.npz: 3 rows of features, but the graph has 4 nodes"), "{error}");
    let error = refused(&folder.file("x.npz", archive(&[("z".to_string(), array(&[1], [1i64]))])));
    assert!(error.contains("is no graph") && error.ends_with("it holds z"), "{error}");
}

fn refused(path: &Path) -> String {
    Dataset::from_files(path, &InputFiles::default()).unwrap_err().to_string()
}

#[test]
fn a_matlab_file_has_graph_features_and_labels() {
    let folder = Folder::new();
    let net = MatSample::Sparse { shape: [3, 3], rows: &[1, 0, 2, 1], ends: &[0, 1, 3, 4], values: &[1.0; 4] };
    let group = MatSample::Sparse { shape: [3, 2], rows: &[1, 0, 2], ends: &[0, 1, 3], values: &[1.0; 3] };
    let words = MatSample::Full { shape: [3, 2], values: &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0] };
    let expected = (vec![1.0, 4.0, 2.0, 5.0, 3.0, 6.0], vec![Some(1), Some(0), Some(1)]);
    for name in ["net", "network", "A"] {
        let variables = [("note", MatSample::Text("hello")), ("group", group), (name, net), ("Attributes", words)];
        let dataset = load(&folder.file("x.mat", mat(&variables, false, true)));
        assert_eq!((dataset.num_nodes(), dataset.num_edges()), (3, 2));
        assert_eq!(of_nodes(&dataset), expected, "{name}");
    }
    let column = MatSample::Full { shape: [3, 1], values: &[2.0, 1.0, 2.0] };
    let dataset = load(&folder.file("y.mat", mat(&[("whatever", net), ("label", column)], true, false)));
    assert_eq!((of_nodes(&dataset).1, &dataset.class_names[..]), (expected.1, &["1".to_string(), "2".to_string()][..]));
    let several = MatSample::Full { shape: [3, 2], values: &[1.0, 1.0, 0.0, 1.0, 0.0, 0.0] };
    let dataset = load(&folder.file("z.mat", mat(&[("net", net), ("group", several)], false, false)));
    let sets = dataset.samples[0].label_sets.as_ref().unwrap();
    assert_eq!(sets.iter().collect::<Vec<_>>(), [&[0, 1][..], &[0], &[]]);
    let half = MatSample::Full { shape: [3, 2], values: &[1.0, 0.5, 0.0, 1.0, 0.0, 0.0] };
    let error = refused(&folder.file("z.mat", mat(&[("net", net), ("group", half)], false, false)));
    assert!(error.ends_with("z.mat: row 1, column 0 is 0.5; expected 0 or 1, with a column per class"), "{error}");
    let error = refused(&folder.file("none.mat", mat(&[("x", words)], false, false)));
    assert!(error.ends_with("expected a square matrix `net`, `network` or `A`; it holds x"), "{error}");
    let error = refused(&folder.file("new.mat", b"MATLAB 7.3 MAT-file, Platform: GLNXA64"));
    assert!(error.contains("new.mat: is a Matlab 7.3 file; save it as version 7"), "{error}");
}

#[test]
fn json_lists_the_features_and_labels_of_nodes() {
    let folder = Folder::new();
    let edges = folder.file("edges.csv", "0,1\n1,2\n");
    let read = |features: &str, labels: &str| {
        let features = Some(folder.file("x.json", features));
        let labels = Some(folder.file("y.json", labels)).filter(|_| !labels.is_empty());
        let input = InputFiles { features, labels, ..InputFiles::default() };
        Dataset::from_files(&edges, &input).map_err(|error| error.to_string())
    };
    let dataset = read(r#"{"1": [2, 0], "0": [], "2": [1]}"#, r#"{"0": "red", "2": 7, "1": null}"#).unwrap();
    assert_eq!(of_nodes(&dataset).0, [0.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0]);
    assert_eq!((&of_nodes(&dataset).1[..], dataset.class_names.len()), (&[Some(1), None, Some(0)][..], 2));
    let named = read(r#"{"0": ["tall"], "1": ["old", "tall"], "2": []}"#, "").unwrap();
    assert_eq!(
        (of_nodes(&named).0, named.feature_names),
        (vec![0.0, 1.0, 1.0, 1.0, 0.0, 0.0], vec!["old".into(), "tall".into()])
    );
    let values = read(r#"{"0": [0.5, 1], "1": [2, 2], "2": [0, 0]}"#, "").unwrap();
    assert_eq!(of_nodes(&values).0, [0.5, 1.0, 2.0, 2.0, 0.0, 0.0]);
    assert!(
        values.notes.iter().any(|note| note.ends_with("lists have the values of 2 features")),
        "{:?}",
        values.notes
    );
    let wrong = |features: &str| read(features, "").unwrap_err().rsplit_once("x.json").unwrap().1.to_string();
    assert_eq!(
        wrong(r#"{"0": [0.5], "1": [1, 1]}"#),
        ": the features of `1` are 2 values; expected 1 as in the first row, or each feature once"
    );
    assert_eq!(wrong(r#"{"0": [0.5], "1": ["a"]}"#), ": the features of `1` hold \"a\"; expected numbers");
    assert!(wrong(r#"{"0": 3}"#).starts_with(":1: invalid type: integer `3`, expected a sequence"));
    assert!(wrong("{}").starts_with(": no rows; expected an object of a list of features for each id"));
    assert!(wrong(r#"{"0": [99999999999]}"#).contains("features, if numbered from zero; expected at most"));
}

#[test]
fn ids_with_and_without_a_fraction_are_one_node_across_files() {
    let folder = Folder::new();
    let read = |edges: &str, features: &str, labels: &str| {
        let input = InputFiles {
            features: Some(folder.file("x.csv", features)),
            labels: Some(folder.file("y.csv", labels)),
            ..InputFiles::default()
        };
        Dataset::from_files(&folder.file("edges.csv", edges), &input).map_err(|error| error.to_string())
    };
    let features = "id,x\n1.0,1\n2.0,2\n9.0,9\n7.0,7\n";
    let dataset = read("1,2\n2,7\n", features, "id,label\n7.0,1.0\n1.0,\n2,2\n").unwrap();
    assert_eq!(*dataset.samples[0].ids, Ids::Integers(vec![1, 2, 7, 9]), "9.0 is new, and a whole number");
    assert_eq!(of_nodes(&dataset), (vec![1.0, 2.0, 7.0, 9.0], vec![None, Some(1), Some(0), None]));
    assert_eq!(dataset.class_names, ["1", "2"]);
    let notes = dataset.notes.join("\n");
    assert!(notes.contains("`1.0` in ") && notes.contains(" is node `1`, and so are other ids"), "{notes}");
    // Among names as well.
    let dataset = read("a,2.0\n", "id,x\na,1\n2,2\n", "id,label\na,x\n2,y\n").unwrap();
    assert_eq!(of_nodes(&dataset).0, [2.0, 1.0], "`2.0` is before `a`");
    let error = read("1,2\n", "id,x\n1,1\n2,2\n1.0,3\n", "id,label\n1,x\n").unwrap_err();
    assert!(error.ends_with("x.csv:4: node `1.0` has a row already, on line 2"), "{error}");
    // As pandas stores integers beside missing values.
    let ends = |ends: [f32; 2]| RecordColumn::Numbers(ends.to_vec());
    let floats = Records::default().with("source", ends([1.0, 2.0])).with("target", ends([2.0, 7.0]));
    assert_eq!(*load(&folder.file("x.parquet", floats.to_parquet())).samples[0].ids, Ids::Integers(vec![1, 2, 7]));
}

#[test]
fn every_file_may_have_its_own_column_of_ids() {
    let folder = Folder::new();
    let input = InputFiles {
        nodes: Some(folder.file("n.csv", "kind,who\nq,b\nq,a\nq,c\n")),
        features: Some(folder.file("x.csv", "x,person\n1,a\n2,b\n3,c\n")),
        labels: Some(folder.file("y.csv", "label,member\nred,a\ntan,b\n")),
        id_columns: IdColumns { nodes: Some("who".into()), features: Some("2".into()), labels: Some("member".into()) },
        ..InputFiles::default()
    };
    let edges = folder.file("edges.csv", "a,b\nb,c\n");
    let dataset = Dataset::from_files(&edges, &input).unwrap();
    assert_eq!(dataset.samples[0].ids.iter().collect::<Vec<_>>(), ["b", "a", "c"]);
    assert_eq!(of_nodes(&dataset), (vec![2.0, 1.0, 3.0], vec![Some(1), Some(0), None]));
    let node_columns = NodeColumns { id: Some("member".into()), ..NodeColumns::default() };
    let input = InputFiles { node_columns, id_columns: IdColumns::default(), nodes: None, features: None, ..input };
    assert_eq!(of_nodes(&Dataset::from_files(&edges, &input).unwrap()).1, [Some(0), Some(1), None]);
}

#[test]
fn numbers_to_predict_are_no_labels() {
    let folder = Folder::new();
    let ring: String = (0..100).map(|node| format!("{node},{}\n", (node + 1) % 100)).collect();
    let edges = folder.file("edges.csv", ring);
    let read = |labels: &dyn Fn(usize) -> String, label: Option<&str>| {
        let rows: String = (0..100).map(|node| format!("{node},{}\n", labels(node))).collect();
        let labels = Some(folder.file("y.csv", format!("id,views\n{rows}")));
        let node_columns = NodeColumns { label: label.map(String::from), ..NodeColumns::default() };
        Dataset::from_files(&edges, &InputFiles { labels, node_columns, ..InputFiles::default() })
    };
    let views = |node: usize| (node / 3 * 17).to_string();
    let error = read(&views, None).unwrap_err().to_string();
    assert!(error.ends_with("y.csv: 34 classes for 100 nodes: is this a number to predict? Labels are classes; if these are, name their column"), "{error}");
    assert!(read(&|node| format!("0.{node}"), None).is_err());
    let chosen = read(&views, Some("views")).unwrap();
    assert!(chosen.notes.iter().any(|note| note.ends_with("is this a number to predict?")), "{:?}", chosen.notes);
    assert_eq!(read(&|node| (node % 25).to_string(), None).unwrap().class_names.len(), 25, "four of each");
    assert_eq!(read(&|node| format!("c{node}"), None).unwrap().class_names.len(), 100, "words are classes");
}

#[test]
fn features_that_are_edges_are_recognised() {
    let folder = Folder::new();
    let (edges, features) = ("1,2\n2,3\n1,3\n", "id,x\n1,0.5\n2,1\n3,2\n");
    let input = InputFiles { features: Some(folder.file("edges.csv", edges)), ..InputFiles::default() };
    let error = Dataset::from_files(&folder.file("same.csv", edges), &input).unwrap_err().to_string();
    assert!(error.contains("edges.csv:1: columns 1 and 2 both have ids, like edges: are the graph and"), "{error}");
    let wide: String = (0..9).map(|id| format!("{id},0.5,{id},0.25\n")).collect();
    let error = Dataset::from_files(&folder.file("wide.csv", wide), &input).unwrap_err().to_string();
    assert!(error.ends_with("are the graph and its features swapped?"), "{error}");
    let input = InputFiles { features: Some(folder.file("x.csv", features)), ..InputFiles::default() };
    assert_eq!(Dataset::from_files(&folder.file("same.csv", edges), &input).unwrap().feature_names, ["x"]);
}

#[test]
fn a_matrix_has_no_columns_of_weights() {
    let folder = Folder::new();
    let file = folder.file("x.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 -1\n");
    let read = |weight: WeightColumn| {
        let edge_columns = EdgeColumns { weight, ..EdgeColumns::default() };
        Dataset::from_files(&file, &InputFiles { edge_columns, ..InputFiles::default() })
    };
    assert_eq!(read(WeightColumn::None).unwrap().num_edges(), 1);
    let error = read("3".into()).unwrap_err().to_string();
    assert!(error.ends_with("is a matrix, whose entries are the weights; there is no column `3`"), "{error}");
    let error = read(WeightColumn::Auto).unwrap_err().to_string();
    assert!(error.ends_with("entry (0, 1) is -1; a weight must be a positive number"), "{error}");
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
