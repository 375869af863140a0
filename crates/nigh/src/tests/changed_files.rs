//! A graph file that is cut or overwritten while it is in use gives an error that names it, or the right result; never a signal, a
//! panic or another result.

use nigh::certify::Certification;
use nigh::dataset::generate::{PowerLaw, power_law};
use nigh::dataset::{GraphStore, InputFiles};
use nigh::formats::sections::BLOCK;
use nigh::propagation::ExecutionMode;
use nigh::propagation::{MatrixFile, PanelPlan, PanelSource, Propagation};
use nigh::threads::{self, Interrupt};
use nigh::{
    Config, Dataset, Error, Graph, Matrix, Memory, Operator, Purpose, Result, Seeds, Signal, Storage, Training,
};
use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;

type Accident = fn(&Path, u64);

/// What somebody does to a file, at a share of its length.
const ACCIDENTS: [(&str, Accident); 3] = [
    ("cut", |path, at| File::options().write(true).open(path).unwrap().set_len(at).unwrap()),
    ("overwritten from here on", |path, at| {
        let length = path.metadata().unwrap().len();
        write_at(path, at, &vec![0xff; (length - at) as usize]);
    }),
    ("overwritten in one place", |path, at| write_at(path, at, b"other")),
];

fn write_at(path: &Path, at: u64, bytes: &[u8]) {
    let mut file = File::options().write(true).open(path).unwrap();
    file.seek(SeekFrom::Start(at)).unwrap();
    file.write_all(bytes).unwrap();
}

fn graph() -> Graph {
    power_law(&PowerLaw::new(3_000, 40_000), 3).unwrap().graph
}

fn operator(dataset: &Dataset) -> Operator {
    Operator::symmetric(dataset.samples[0].graph.clone())
}

/// `Ã^K E` with the edges read in every hop, or all at once before.
fn propagated(dataset: &Dataset, folder: &Path, reads_edges: bool) -> Result<Vec<u32>> {
    let stream = Seeds::new(1).stream(Purpose::Signal, &[0]);
    let source = PanelSource::Signal { signal: Signal::Gaussian, stream, dim: 16, factor: 1.0 };
    let propagation =
        Propagation { operator: operator(dataset), hops: 3, storage: Storage::Single, source, addresses: None };
    let plan = PanelPlan { width: 8, reads_edges, folder: folder.to_path_buf(), progress: Default::default() };
    let mut found = Vec::new();
    propagation.for_each_rows(&plan, &mut |_, rows| {
        found.extend(rows.data().iter().map(|entry| entry.to_bits()));
        Ok(())
    })?;
    Ok(found)
}

fn certified(dataset: &Dataset, out_of_core: bool) -> Result<Vec<u32>> {
    let graph = &dataset.samples[0].graph;
    let certification = Certification { pairs: 50, signal_dim: Some(20), ..Certification::default() };
    let mut plan = certification.plan(graph, 0, None)?;
    if out_of_core {
        plan.estimate.way = ExecutionMode::OutOfCore;
    }
    let found = certification.run(graph, &plan, |_, _| {})?;
    Ok(format!("{found:?}").bytes().map(u32::from).collect())
}

fn trained(dataset: &Dataset, folder: &Path, pairs_per_epoch: usize, model: &str) -> Result<Vec<u32>> {
    let config = Config { model: model.into(), pairs_per_epoch, epochs: 2.into(), repeats: 1, ..Config::default() };
    let training = Training::new(dataset, config)?;
    let training = if pairs_per_epoch > 0 { training.within(Memory::new(1 << 30), folder)? } else { training };
    Ok(training.run()?.to_bytes().iter().map(|&byte| u32::from(byte)).collect())
}

/// Every way of using a graph file: a name, and the work.
type Use = (&'static str, fn(&Dataset, &Path) -> Result<Vec<u32>>);

const USES: [Use; 8] = [
    ("propagate out of core", |dataset, folder| propagated(dataset, folder, true)),
    ("propagate in memory", |dataset, folder| propagated(dataset, folder, false)),
    ("certify out of core", |dataset, _| certified(dataset, true)),
    ("certify in memory", |dataset, _| certified(dataset, false)),
    ("train on sampled pairs", |dataset, folder| trained(dataset, folder, 500, "smp-linear")),
    ("train on all edges", |dataset, folder| trained(dataset, folder, 0, "gcn")),
    ("store", |dataset, folder| {
        let path = folder.join("again.nigh");
        dataset.store(&path)?;
        Ok(std::fs::read(path).unwrap().into_iter().map(u32::from).collect())
    }),
    ("list", |dataset, _| Ok(dataset.samples[0].graph.edges().flatten().collect())),
];

#[test]
fn a_file_that_is_cut_or_overwritten_while_it_is_in_use_is_an_error_that_names_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.nigh");
    Dataset::from_graph("x", graph()).store(&path).unwrap();
    // Neighbours start at the second page; the checksums of their blocks and the offsets follow.
    let neighbours = 4_096..4_096 + 8 * graph().num_edges() as u64;
    let offsets = (neighbours.end.next_multiple_of(8) + 8 * (neighbours.end - 4_096).div_ceil(BLOCK as u64))
        .next_multiple_of(4_096);
    let places = [
        4_096,
        5_000,
        neighbours.end / 2,
        neighbours.end - 10,
        offsets + 300,
        offsets + 8 * graph().num_nodes() as u64,
    ];
    let (whole, opened) = (std::fs::read(&path).unwrap(), || Dataset::from_files(&path, &InputFiles::default()));
    for (name, work) in USES {
        let run = |dataset: &Dataset| threads::run(Some(2), &Interrupt::new(), || work(dataset, folder.path()));
        std::fs::write(&path, &whole).unwrap();
        let expected = run(&opened().unwrap()).unwrap();
        for (accident, happen) in ACCIDENTS {
            for at in places {
                std::fs::write(&path, &whole).unwrap();
                let dataset = opened().unwrap();
                happen(&path, at);
                match run(&dataset) {
                    Err(Error::Format(error)) => {
                        let text = error.to_string();
                        assert!(text.contains("x.nigh: ") && text.contains("while it was in use"), "{name}: {text}");
                    }
                    Err(other) => panic!("{name}, {accident} at {at}: {other}"),
                    Ok(found) => {
                        assert!(found == expected, "{name}, {accident} at {at}: another result");
                        panic!("{name} does not read what is {accident} at {at}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_file_that_is_replaced_while_it_is_in_use_stays_what_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.nigh");
    Dataset::from_graph("x", graph()).store(&path).unwrap();
    let dataset = Dataset::from_files(&path, &InputFiles::default()).unwrap();
    let expected = propagated(&dataset, folder.path(), true).unwrap();
    // Under another name first, as every program should: the file that is open is still there.
    Dataset::from_graph("x", Graph::from_edges(3, &[[0, 1]]).unwrap().0).store(&path).unwrap();
    assert!(propagated(&dataset, folder.path(), true).unwrap() == expected);
}

#[test]
fn features_in_a_file_that_changes_are_an_error_that_names_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("features");
    let matrix = Matrix::from_fn(3_000, 12, |row, column| (row * 12 + column) as f32);
    MatrixFile::write(&PanelSource::Dense(matrix.into()), 3_000, &path).unwrap();
    let propagation = Propagation {
        operator: Operator::symmetric(graph().into()),
        hops: 1,
        storage: Storage::Single,
        source: PanelSource::File(MatrixFile::open(&path).unwrap()),
        addresses: None,
    };
    let run = || {
        let out = folder.path().join("x.npy");
        threads::run(Some(2), &Interrupt::new(), || propagation.write_columns(0..12, &out))
    };
    assert!(run().unwrap());
    write_at(&path, 50_000, b"x");
    let error = run().unwrap_err().to_string();
    assert!(error.contains("features: section `rows` is damaged"), "{error}");
    File::options().write(true).open(&path).unwrap().set_len(9_000).unwrap();
    let error = run().unwrap_err().to_string();
    assert!(error.contains("features: became shorter"), "{error}");
}

#[test]
fn a_graph_that_changed_since_it_was_opened_is_not_loaded() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.nigh");
    Dataset::from_graph("x", graph()).store(&path).unwrap();
    let store = GraphStore::open(&path).unwrap();
    write_at(&path, 5_000, b"x");
    let error = store.graph().load().unwrap_err().to_string();
    assert!(error.contains("section `neighbours` is damaged, or was changed"), "{error}");
}
