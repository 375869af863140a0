//! The archives of Coauthor CS and Physics, right and damaged.

use nigh::dataset::{Dataset, Folders, Ids, InputFiles, NamedDataset};
use nigh::{Features, Result, SparseMatrix};
use nigh_formats::samples::{damaged, ints, npy, npz};
use proptest::prelude::*;
use zip::CompressionMethod::Stored;

/// A path of three nodes; node 0 has words 0 and 3, node 1 word 1 (and 2, zero times), node 2 none.
fn members() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("adj_data", npy("<f4", "(4,)", &[1f32; 4].map(f32::to_le_bytes).concat())),
        ("adj_indices", ints(&[1, 0, 2, 1])),
        ("adj_indptr", ints(&[0, 1, 3, 4])),
        ("adj_shape", ints(&[3, 3])),
        ("attr_data", ints(&[5, 2, 7, 0])),
        ("attr_indices", ints(&[3, 0, 1, 2])),
        ("attr_indptr", ints(&[0, 2, 4, 4])),
        ("attr_shape", ints(&[3, 4])),
        ("labels", ints(&[0, 1, 1])),
        ("class_names", npy("|O", "(2,)", b"a pickle")),
    ]
}

fn read_members(members: &[(&str, Vec<u8>)]) -> Result<Dataset> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("ms_academic_cs.npz"), npz(members, Stored)).unwrap();
    NamedDataset::named("coauthor-cs").expect("it is public").read_from(folder.path())
}

fn message(name: &str, content: Vec<u8>) -> String {
    let mut members = members();
    members.iter_mut().filter(|member| member.0 == name).for_each(|member| member.1 = content.clone());
    let error = read_members(&members).unwrap_err().to_string();
    error.split_once(&format!("ms_academic_cs.npz: member `{name}`: ")).expect(&error).1.to_string()
}

#[test]
fn words_count_once_and_rows_sum_to_one() {
    let dataset = read_members(&members()).unwrap();
    let [sample] = &dataset.samples[..] else { panic!("one graph") };
    assert_eq!(sample.graph.edges().collect::<Vec<_>>(), [[0, 1], [1, 2]]);
    let rows = [vec![(0, 0.5), (3, 0.5)], vec![(1, 1.0)], vec![]];
    let Features::Sparse(features) = &sample.features else { panic!("sparse features") };
    assert_eq!(**features, SparseMatrix::from_rows(&rows, 4));
    assert_eq!(sample.labels.as_deref(), Some(&[Some(0), Some(1), Some(1)][..]));
    assert_eq!((&dataset.class_names[..], &*sample.ids), (&["0".into(), "1".into()][..], &Ids::Numbers(3)));
    assert_eq!(dataset.paper_defaults.per_class, Some([20, 30, 0]));
    assert!(dataset.notes.is_empty());
}

#[test]
fn errors_name_the_member_and_the_value() {
    assert_eq!(message("adj_indptr", ints(&[0, 3, 1, 4])), "falls from 3 to 1 at entry 2");
    assert_eq!(message("adj_indptr", ints(&[0, 1, 3, 5])), "runs from 0 to 5; expected 0 to 4");
    assert_eq!(message("adj_indptr", ints(&[0, 4])), "has 2 entries; 3 rows need one more than that");
    assert_eq!(message("adj_indices", ints(&[1, 0, 2, 3])), "entry 3 is 3; there are 3 columns");
    assert_eq!(message("attr_indices", ints(&[3, -1, 1, 2])), "entry 1 is -1; there are 4 columns");
    assert_eq!(message("adj_shape", ints(&[3, 4])), "3 × 4 is not square; links need it to be");
    assert_eq!(message("adj_shape", ints(&[3])), "has 1 entries; expected rows and columns");
    assert_eq!(message("attr_shape", ints(&[3, 1 << 30])), "1073741824 columns; expected at most 1048576");
    assert_eq!(message("attr_data", ints(&[1])), "has 1 entries beside 4 indices");
    assert_eq!(message("attr_data", ints(&[1, 1, -2, 1])), "entry 2 is -2; expected a count");
    let nan = npy("<f4", "(4,)", &[f32::NAN; 4].map(f32::to_le_bytes).concat());
    assert_eq!(message("attr_data", nan), "entry 0 is NaN; expected a count");
    assert_eq!(message("labels", ints(&[0, 1])), "has shape [2]; expected one label for each of 3 nodes");
    assert_eq!(message("labels", ints(&[0, 7, 1])), "node 1 has label 7; expected 0 or a little more");
    assert_eq!(
        message("labels", npy("<i4", "(1, 1)", &[0; 4])),
        "has shape [1, 1]; expected one label for each of 3 nodes"
    );
    assert_eq!(message("adj_data", npy("<i4", "()", &[0; 4])), "has 0 dimensions; expected one");
}

#[test]
fn rows_less_than_none_are_refused() {
    let mut members = members();
    for (name, content) in &mut members {
        match *name {
            "adj_shape" | "attr_shape" => *content = ints(&[-1, 0]),
            _ => *content = ints(&[]),
        }
    }
    let error = read_members(&members).unwrap_err().to_string();
    assert!(error.ends_with("member `adj_indptr`: has 0 entries; -1 rows need one more than that"), "{error}");
}

#[test]
fn what_is_not_there_is_named() {
    let error = read_members(&members()[1..]).unwrap_err().to_string();
    assert!(error.contains("no member `adj_data`; it holds adj_indices, adj_indptr"), "{error}");
    let error = Dataset::load("coauthor-sc", &InputFiles::default(), &Folders::new(None)).unwrap_err().to_string();
    assert_eq!(error, "unknown graph `coauthor-sc`; did you mean `coauthor-cs`?");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    #[test]
    fn no_damage_makes_it_panic(
        member in 0..9usize, changes in prop::collection::vec((any::<usize>(), any::<u8>()), 1..4), cut in 0..3usize,
    ) {
        let mut members = members();
        members[member].1 = damaged(std::mem::take(&mut members[member].1), &changes, cut);
        let _ = read_members(&members);
    }

    #[test]
    fn no_numbers_make_it_panic(member in 0..9usize, values in prop::collection::vec(-2..6i32, 0..6)) {
        let mut members = members();
        members[member].1 = ints(&values);
        let _ = read_members(&members);
    }
}
