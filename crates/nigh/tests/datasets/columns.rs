//! A graph in memory is that of a file with the same rows.

use nigh::dataset::{Dataset, FeatureRows, GraphColumns, IdColumn, Ids, InputFiles, IntegerColumn, LabelRows};
use nigh::formats::Texts;
use nigh::{Features, Matrix, Result};

fn integers(edges: &[i64]) -> [IdColumn<'_>; 2] {
    [0, 1].map(|at| IdColumn::Integers(IntegerColumn::new(edges.get(at..).unwrap_or_default(), 2)))
}

fn texts(words: &str) -> Texts {
    words.split(' ').map(|word| if word == "-" { "" } else { word }).collect()
}

fn dataset(edges: &[i64], others: GraphColumns<'static>) -> Result<Dataset> {
    let [source, target] = integers(edges);
    let GraphColumns { name, weights, directed, nodes, features, labels, .. } = others;
    Dataset::from_columns(GraphColumns { name, source, target, weights, directed, nodes, features, labels })
}

fn problem(edges: &[i64], others: GraphColumns<'static>) -> String {
    dataset(edges, others).unwrap_err().to_string()
}

#[test]
fn columns_give_the_dataset_of_the_file_with_the_same_rows() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    for edges in [vec![5, 1, 1, 0, 0, 5, 7, 5, 7, 5, 7, 7], vec![-3, 900_000_000_000, 4, -3]] {
        let text: String = edges.chunks(2).map(|edge| format!("{},{}\n", edge[0], edge[1])).collect();
        let read = Dataset::from_files(&write("mine", &text), &InputFiles::default()).unwrap();
        let made = dataset(&edges, GraphColumns { name: "mine".into(), ..GraphColumns::default() }).unwrap();
        assert_eq!(made.name, read.name);
        assert_eq!(made.samples[0].ids, read.samples[0].ids);
        assert_eq!(made.samples[0].graph.digest(), read.samples[0].graph.digest());
        assert_eq!((&made.notes, made.cleaning), (&read.notes, read.cleaning));
    }
    let names = Dataset::from_columns(GraphColumns {
        source: IdColumn::Texts(texts("b c a")),
        target: IdColumn::Texts(texts("a b c")),
        ..GraphColumns::default()
    });
    assert_eq!(names.unwrap().samples[0].ids.iter().collect::<Vec<_>>(), ["a", "b", "c"]);
}

#[test]
fn rows_and_columns_of_a_matrix_are_the_same_edges() {
    let by_edge = [0i64, 1, 1, 2, 2, 3];
    let by_end = [0i64, 1, 2, 1, 2, 3];
    let column = |start: usize| IdColumn::Integers(IntegerColumn::new(&by_end[start..start + 3], 1));
    let columns = GraphColumns { source: column(0), target: column(3), ..GraphColumns::default() };
    let ends = Dataset::from_columns(columns).unwrap();
    let edges = dataset(&by_edge, GraphColumns::default()).unwrap();
    assert_eq!(ends.samples[0].graph.digest(), edges.samples[0].graph.digest());
}

#[test]
fn nodes_give_isolated_ones_and_the_order_of_rows() {
    let features = |ids: Option<Texts>| FeatureRows {
        ids: ids.map(IdColumn::Texts),
        rows: Features::Dense(Matrix::from_fn(3, 2, |row, column| (2 * row + column) as f32).into()),
        names: vec!["x".into(), "y".into()],
    };
    let counted = GraphColumns { nodes: Some(IdColumn::Counted(5)), ..GraphColumns::default() };
    let five = dataset(&[0, 1, 1, 3], counted).unwrap();
    assert_eq!((five.num_nodes(), &*five.samples[0].ids), (5, &Ids::Numbers(5)));

    let named = GraphColumns {
        nodes: Some(IdColumn::Texts(texts("9 4 8"))),
        features: Some(features(None)),
        ..GraphColumns::default()
    };
    let arranged = dataset(&[4, 9], named).unwrap();
    assert_eq!(arranged.samples[0].ids.iter().collect::<Vec<_>>(), ["9", "4", "8"]);
    let Features::Dense(rows) = &arranged.samples[0].features else { panic!("dense") };
    assert_eq!(rows.data(), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);

    let by_id = GraphColumns { features: Some(features(Some(texts("9 4 8")))), ..GraphColumns::default() };
    let by_id = dataset(&[4, 9], by_id).unwrap();
    let Features::Dense(rows) = &by_id.samples[0].features else { panic!("dense") };
    assert_eq!((rows.row(0), rows.row(1), rows.row(2)), (&[2.0, 3.0][..], &[0.0, 1.0][..], &[4.0, 5.0][..]));
    assert_eq!(by_id.feature_names, ["x", "y"]);
}

#[test]
fn labels_are_one_or_several_per_row() {
    let labels = |names: &str, starts: Option<Vec<u32>>| LabelRows { ids: None, labels: texts(names), starts };
    let one = GraphColumns { labels: Some(labels("b - a", None)), ..GraphColumns::default() };
    let one = dataset(&[0, 1, 1, 2], one).unwrap();
    assert_eq!(one.class_names, ["a", "b"]);
    assert_eq!(one.samples[0].labels.as_deref(), Some(&[Some(1), None, Some(0)][..]));
    let several = GraphColumns { labels: Some(labels("b a a", Some(vec![0, 2, 2, 3]))), ..GraphColumns::default() };
    let several = dataset(&[0, 1, 1, 2], several).unwrap();
    let sets = several.samples[0].label_sets.as_ref().unwrap();
    assert_eq!([sets.of(0), sets.of(1), sets.of(2)], [&[0, 1][..], &[], &[0]]);
}

#[test]
fn what_does_not_fit_is_named_by_its_row() {
    let plain = GraphColumns::default;
    assert_eq!(problem(&[], plain()), "edges: no edges; message passing needs some");
    assert!(problem(&[1, 1], plain()).contains("no edge between two different nodes"));
    let weights = |weights: Vec<f32>| GraphColumns { weights: Some(weights), ..plain() };
    assert_eq!(problem(&[0, 1], weights(vec![1.0, 2.0])), "edges: 1 edges, but 2 weights");
    assert_eq!(problem(&[0, 1, 1, 2], weights(vec![1.0, -2.0])), "edges: row 1: weight -2 is not a positive number");
    let counted = GraphColumns { nodes: Some(IdColumn::Counted(3)), ..plain() };
    assert_eq!(problem(&[0, 1, 1, 3], counted), "edges: row 1: (1, 3) is not between nodes 0 to 2");
    let features = |rows: usize, value: f32| {
        let rows = Features::Dense(Matrix::from_fn(rows, 1, |_, _| value).into());
        GraphColumns { features: Some(FeatureRows { ids: None, rows, names: Vec::new() }), ..plain() }
    };
    assert!(problem(&[4, 9], features(3, 1.0)).contains("features: 3 rows, but the graph has 2 nodes"));
    assert_eq!(problem(&[0, 1], features(2, f32::NAN)), "features: row 0, column 0: NaN is not a finite number");
    let empty =
        GraphColumns { source: IdColumn::Texts(texts("a -")), target: IdColumn::Texts(texts("b c")), ..plain() };
    assert_eq!(Dataset::from_columns(empty).unwrap_err().to_string(), "edges: row 1: an id is empty");
}
