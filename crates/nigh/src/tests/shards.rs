//! A propagation in tasks from files to files: the graph file and the vectors of one machine, however the work is divided.

use nigh::dataset::generate::{PowerLaw, power_law};
use nigh::dataset::{GraphStore, InputFiles};
use nigh::panels::{PanelPlan, PanelSource, Propagation};
use nigh::shards::Task;
use nigh::{Dataset, Memory, Operator, Purpose, Seeds, Signal, SignalScale, Storage};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

const DIM: usize = 20;
const WIDTHS: [usize; 2] = [16, 4];

/// Does a task that has to succeed.
fn run(task: Value, inputs: &[PathBuf], outputs: &[PathBuf]) -> Value {
    serde_json::from_value::<Task>(task).unwrap().run(inputs, outputs).unwrap()
}

/// Lines of edges, with self loops, repetitions in both directions and holes in the ids.
fn lines(named: bool, weighted: bool) -> Vec<String> {
    let graph = power_law(&PowerLaw::new(900, 4_000), 5).unwrap().graph;
    let id = |node: u32| match (named, node % 3) {
        (true, 0) => format!("n{node}"),
        _ => (5 * node).to_string(),
    };
    let edges: Vec<[u32; 2]> = graph.edges().collect();
    let turned = edges.iter().step_by(7).map(|&[a, b]| [b, a]);
    let loops = edges.iter().step_by(31).map(|&[a, _]| [a, a]);
    let all = edges.iter().copied().chain(turned).chain(loops);
    let weight = |at: usize| if weighted { format!(",{}", (1 + at % 5) as f32 / 2.0) } else { String::new() };
    all.enumerate().map(|(at, [a, b])| format!("{},{}{}\n", id(a), id(b), weight(at))).collect()
}

/// A graph in blocks of rows: the counts that hops need, the blocks and their rows.
struct Blocks {
    counts: Value,
    files: Vec<PathBuf>,
    rows: Vec<[usize; 2]>,
}

/// All stages from parts of the edges to blocks.
fn blocks(folder: &Path, lines: &[String], weighted: bool) -> Blocks {
    let header = if weighted { "source,target,weight\n" } else { "source,target\n" };
    let files = |stage: &str, count: usize| -> Vec<PathBuf> {
        (0..count).map(|number| folder.join(format!("{stage}-{number}"))).collect()
    };
    let parts = files("part", 3);
    let mut read = Vec::new();
    for (number, part) in parts.iter().enumerate() {
        let edges = folder.join(format!("edges-{number}.csv"));
        let mine: String = lines.iter().skip(number).step_by(parts.len()).map(String::as_str).collect();
        std::fs::write(&edges, header.to_string() + &mine).unwrap();
        read.push(run(json!({ "do": "read-edges" }), &[edges], std::slice::from_ref(part)));
    }
    let kind = if read.iter().any(|facts| facts["kind"] == "names") { "names" } else { "integers" };
    let bounds = match kind {
        "names" => [json!(null), json!("2"), json!("n"), json!(null)],
        _ => [json!(null), json!(700), json!(701), json!(null)],
    };
    let ids = files("ids", 3);
    let (mut bases, mut num_nodes) = (Vec::new(), 0);
    for (number, out) in ids.iter().enumerate() {
        let task = json!({ "do": "merge-ids", "kind": kind, "from": bounds[number], "to": bounds[number + 1] });
        bases.push(num_nodes);
        num_nodes += run(task, &parts, std::slice::from_ref(out))["count"].as_u64().unwrap() as usize;
    }
    let block_rows = 200;
    let rows: Vec<[usize; 2]> =
        (0..num_nodes).step_by(block_rows).map(|first| [first, (first + block_rows).min(num_nodes)]).collect();
    let mut entries = vec![Vec::new(); rows.len()];
    for (number, part) in parts.iter().enumerate() {
        let outs = files(&format!("entries-{number}"), rows.len());
        let task = json!({ "do": "route-edges", "kind": kind, "bases": bases, "block_rows": block_rows });
        run(task, &[std::slice::from_ref(part), &ids[..]].concat(), &outs);
        entries.iter_mut().zip(outs).for_each(|(entries, out)| entries.push(out));
    }
    let built = files("block", rows.len());
    let mut num_entries = 0;
    for ((out, rows), entries) in built.iter().zip(&rows).zip(&entries) {
        let task =
            json!({ "do": "build-block", "rows": rows, "num_nodes": num_nodes, "weighted": weighted, "bases": bases });
        let facts = run(task, &[&ids[..], entries].concat(), std::slice::from_ref(out));
        num_entries += facts["entries"].as_u64().unwrap();
    }
    let counts = json!({ "num_nodes": num_nodes, "num_edges": num_entries / 2, "weighted": weighted });
    Blocks { counts, files: built, rows }
}

fn matrix() -> Value {
    serde_json::to_value(nigh::shards::MatrixSettings::drawn(Signal::Gaussian, 3, DIM)).unwrap()
}

/// `Ã^K E` on one machine.
fn expected(graph: &Path, hops: usize, storage: Storage, folder: &Path) -> Vec<f32> {
    let stream = Seeds::new(3).stream(Purpose::Signal, &[0]);
    let factor = SignalScale::InverseSqrt.factor(DIM);
    let source = PanelSource::Signal { signal: Signal::Gaussian, stream, dim: DIM, factor };
    let operator = Operator::symmetric(GraphStore::open(graph).unwrap().graph().clone().into());
    let propagation = Propagation { operator, hops, storage, source, addresses: None };
    let plan = PanelPlan { width: DIM, reads_edges: false, folder: folder.to_path_buf(), progress: Default::default() };
    let mut data = Vec::new();
    let take = &mut |_: usize, rows: &nigh::Matrix| {
        data.extend_from_slice(rows.data());
        Ok(())
    };
    propagation.for_each_rows(&plan, take).unwrap();
    data
}

/// The numbers of all files of rows, and their digest as the task gives it.
fn numbers(files: &[PathBuf]) -> (Vec<f32>, String) {
    let mut all = Vec::new();
    for path in files {
        let bytes = std::fs::read(path).unwrap();
        let data = &bytes[10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]))..];
        all.extend(data.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)));
    }
    (all, run(json!({ "do": "digest-rows", "slices": 1 }), files, &[])["sha256"].as_str().unwrap().to_string())
}

#[test]
fn blocks_join_to_the_graph_file_and_every_division_to_the_vectors_of_one_machine() {
    for (named, weighted) in [(false, false), (true, false), (false, true), (true, true)] {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let lines = lines(named, weighted);
        let built = blocks(folder.path(), &lines, weighted);
        let (joined, whole, stored) = (path("joined.nigh"), path("whole.csv"), path("stored.nigh"));
        run(json!({ "do": "join-blocks" }), &built.files, std::slice::from_ref(&joined));
        let header = if weighted { "source,target,weight\n" } else { "source,target\n" };
        std::fs::write(&whole, header.to_string() + &lines.concat()).unwrap();
        Dataset::convert(&whole, &InputFiles::default(), &stored, Memory::new(64 << 20)).unwrap();
        assert_eq!(std::fs::read(&joined).unwrap(), std::fs::read(&stored).unwrap(), "{named} {weighted}");
        assert_eq!(run(json!({ "do": "check-graph" }), std::slice::from_ref(&joined), &[]), built.counts);

        // Blocks that are cut from the graph file are those that it was joined from.
        let cut = path("cut");
        run(
            json!({ "do": "cut-block", "rows": built.rows[2] }),
            std::slice::from_ref(&joined),
            std::slice::from_ref(&cut),
        );
        assert_eq!(std::fs::read(&cut).unwrap(), std::fs::read(&built.files[2]).unwrap());

        for (hops, storage) in [(1, Storage::Single), (3, Storage::Single), (2, Storage::Half)] {
            let expected = expected(&joined, hops, storage, folder.path());
            let scale = match storage {
                Storage::Single => json!(null),
                Storage::Half => {
                    let scale = |rows: &[usize; 2]| {
                        let task = json!({ "do": "find-scale", "source": matrix(), "rows": rows });
                        run(task, &[], &[])["scale"].as_f64().unwrap()
                    };
                    json!(built.rows.iter().map(scale).fold(f64::INFINITY, f64::min))
                }
            };
            let settings = json!({ "hops": hops, "storage": storage, "scale": scale });
            for by_slices in [true, false] {
                let slices = if by_slices { slices(&joined, &settings, folder.path()) } else { Vec::new() };
                let panels = if by_slices { Vec::new() } else { hops_by_rows(&built, &settings, hops, folder.path()) };
                let mut parts = Vec::new();
                for (number, rows) in built.rows.iter().enumerate() {
                    let out = path(&format!("rows-{number}.npy"));
                    let (skip, files) = match by_slices {
                        true => (rows[0], slices.clone()),
                        false => (0, panels.iter().map(|panel: &Vec<PathBuf>| panel[number].clone()).collect()),
                    };
                    let names = if by_slices { &joined } else { &built.files[number] };
                    let task = json!({ "do": "write-rows", "rows": rows, "skip": skip, "slices": 2 });
                    run(task, &[vec![names.clone()], files].concat(), std::slice::from_ref(&out));
                    parts.push(out);
                }
                let (found, digest) = numbers(&parts);
                assert!(found == expected, "{named} {weighted} {hops} {storage} {by_slices}");
                let names: String = parts.iter().map(|part| names_beside(part)).collect();
                let ids = GraphStore::open(&stored).unwrap().ids().unwrap();
                assert_eq!(names, ids.iter().map(|id| format!("{id}\n")).collect::<String>());
                let parquet = path("rows.parquet");
                if by_slices {
                    let task = json!({ "do": "digest-rows", "slices": 2 });
                    assert_eq!(run(task, &slices, &[])["sha256"], json!(digest));
                    let all = [0, expected.len() / DIM];
                    let task = json!({ "do": "write-rows", "rows": all, "skip": 0, "slices": 2 });
                    run(task, &[vec![joined.clone()], slices].concat(), std::slice::from_ref(&parquet));
                    assert_eq!(
                        run(json!({ "do": "digest-rows", "slices": 1 }), &[parquet], &[])["sha256"],
                        json!(digest)
                    );
                }
            }
        }
    }
}

fn names_beside(part: &Path) -> String {
    std::fs::read_to_string(format!("{}.ids.txt", part.display())).unwrap()
}

/// Slices of the graph file.
fn slices(graph: &Path, settings: &Value, folder: &Path) -> Vec<PathBuf> {
    let mut first = 0;
    let slice = |width: usize| {
        let out = folder.join(format!("slice-{first}"));
        let columns = [first, first + width];
        let task = json!({ "do": "propagate-slice", "source": matrix(), "hops": settings, "columns": columns });
        assert_eq!(run(task, &[graph.to_path_buf()], std::slice::from_ref(&out))["fits"], json!(true));
        first += width;
        out
    };
    WIDTHS.map(slice).to_vec()
}

/// All rows of all slices, a hop after the other.
fn hops_by_rows(built: &Blocks, settings: &Value, hops: usize, folder: &Path) -> Vec<Vec<PathBuf>> {
    let mut panels = Vec::new();
    let mut first = 0;
    let unscaled = built.counts["weighted"] == json!(true) && settings["storage"] == json!("float32");
    for width in WIDTHS {
        let out = |hop: usize, block: usize| folder.join(format!("hop-{first}-{hop}-{block}"));
        for (block, file) in built.files.iter().enumerate() {
            let columns = [first, first + width];
            let task = json!({ "do": "start-rows", "source": matrix(), "hops": settings, "columns": columns, "graph": built.counts });
            run(task, std::slice::from_ref(file), &[out(0, block)]);
        }
        for hop in 1..=hops {
            for (block, file) in built.files.iter().enumerate() {
                let mut inputs = vec![file.clone()];
                inputs.extend((0..built.files.len()).map(|block| out(hop - 1, block)));
                inputs.extend(built.files.iter().filter(|_| unscaled).cloned());
                let task = json!({ "do": "hop-rows", "hops": settings, "width": width, "last": hop == hops, "graph": built.counts });
                assert_eq!(run(task, &inputs, &[out(hop, block)])["fits"], json!(true));
            }
        }
        panels.push((0..built.files.len()).map(|block| out(hops, block)).collect());
        first += width;
    }
    panels
}

#[test]
fn a_half_that_overflows_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let built = blocks(folder.path(), &lines(false, false), false);
    let joined = folder.path().join("joined.nigh");
    run(json!({ "do": "join-blocks" }), &built.files, std::slice::from_ref(&joined));
    for scale in [json!(1e9), json!(null)] {
        let settings = json!({ "hops": 2, "storage": "float16", "scale": scale });
        let out = folder.path().join("slice");
        let task = json!({ "do": "propagate-slice", "source": matrix(), "hops": settings, "columns": [0, 16] });
        assert_eq!(run(task, std::slice::from_ref(&joined), std::slice::from_ref(&out))["fits"], json!(false));
        assert!(!out.exists());
    }
}

/// Features of nodes without an edge as well: the graph has these, and `Ã^K F` is that of one machine.
#[test]
fn features_are_propagated_in_the_order_of_nodes() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let built = blocks(folder.path(), &lines(true, false), false);
    let joined = path("joined.nigh");
    run(json!({ "do": "join-blocks" }), &built.files, std::slice::from_ref(&joined));
    let names: Vec<String> =
        GraphStore::open(&joined).unwrap().ids().unwrap().iter().map(|id| id.to_string()).collect();
    let value = |name: &str, column: usize| (name.len() * 3 + column) as f32 / 4.0 + name.as_bytes()[0] as f32;
    let row = |name: &String| format!("{name},{},{}\n", value(name, 0), value(name, 1));
    let listed: String = names.iter().rev().chain([&"alone".to_string()]).map(row).collect();
    std::fs::write(path("features.csv"), format!("id,a,b\n{listed}")).unwrap();
    let task = |settings: Value| json!({ "do": "read-features", "settings": settings });
    let linear = json!({ "model": "smp-linear", "pairs-per-epoch": 10, "task": "link-prediction" });
    let (inputs, outputs) = ([joined.clone(), path("features.csv")], [path("all.nigh"), path("features")]);
    assert_eq!(run(task(linear.clone()), &inputs, &outputs)["num_features"], json!(2));

    let input = InputFiles { features: Some(path("features.csv")), ..InputFiles::default() };
    let dataset = Dataset::from_files(&joined, &input).unwrap();
    let sample = &dataset.samples[0];
    assert_eq!(sample.graph.num_nodes(), names.len() + 1);
    assert_eq!(GraphStore::open(&path("all.nigh")).unwrap().ids().unwrap(), *sample.ids);
    let nigh::Features::Dense(features) = &sample.features else { panic!("dense") };
    let expected = Operator::symmetric(sample.graph.clone()).propagate(features.as_ref().clone(), 2);
    let hops = json!({ "hops": 2, "storage": "float32", "scale": null });
    let source = json!({ "matrix": "features", "dim": 2 });
    for column in 0..2 {
        let out = path(&format!("{column}.npy"));
        let task = json!({ "do": "propagate-slice", "source": source, "hops": hops, "columns": [column, column + 1] });
        run(task, &[path("all.nigh"), path("features")], std::slice::from_ref(&out));
        let found = nigh::formats::npy::open(&out).unwrap().floats().unwrap();
        assert_eq!(found, (0..=names.len()).map(|row| expected.row(row)[column]).collect::<Vec<_>>());
    }

    // Nodes that are all there: the graph stays as it is. A model without a branch for features: nothing to propagate.
    let listed: String = names.iter().map(row).collect();
    std::fs::write(path("features.csv"), format!("id,a,b\n{listed}")).unwrap();
    let outputs = [path("same.nigh"), path("unused")];
    run(task(json!({ "model": "smp-signal", "task": "link-prediction" })), &inputs, &outputs);
    assert!(!path("same.nigh").exists() && !path("unused").exists());
    // A word per node: so many columns are multiplied before messages pass.
    let words = |name: &String| format!("{name}{}\n", ",0".repeat(599) + ",1");
    let header: String = (0..600).map(|word| format!(",w{word}")).collect();
    let listed: String = names.iter().map(words).collect();
    std::fs::write(path("features.csv"), format!("id{header}\n{listed}")).unwrap();
    let wide: Task = serde_json::from_value(task(linear)).unwrap();
    let problem = wide.run(&inputs, &outputs).unwrap_err().to_string();
    assert!(problem.contains("600 features: so many, of which most are zero"), "{problem}");
    let narrow = json!({ "do": "propagate-slice", "source": json!({ "matrix": "features", "dim": 3 }), "hops": hops, "columns": [0, 1] });
    let narrow: Task = serde_json::from_value(narrow).unwrap();
    let problem = narrow.run(&[path("all.nigh"), path("features")], &[path("unused")]).unwrap_err().to_string();
    assert!(problem.contains("has 2 columns; expected 3"), "{problem}");
}

#[test]
fn wrong_files_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let built = blocks(folder.path(), &lines(false, false), false);
    let problem = |task: Value, inputs: &[PathBuf], outputs: &[PathBuf]| {
        serde_json::from_value::<Task>(task).unwrap().run(inputs, outputs).unwrap_err().to_string()
    };
    let out = folder.path().join("out");
    let turned: Vec<PathBuf> = built.files.iter().rev().cloned().collect();
    let found = problem(json!({ "do": "join-blocks" }), &turned, std::slice::from_ref(&out));
    assert!(found.contains("does not start at row 0"), "{found}");
    let found = problem(json!({ "do": "join-blocks" }), &[folder.path().join("part-0")], std::slice::from_ref(&out));
    assert!(found.contains("has no section `rows`; it is no block of a graph"), "{found}");
    let task = json!({ "do": "merge-ids", "kind": "integers", "from": null, "to": null });
    let found = problem(task, &[built.files[0].clone()], std::slice::from_ref(&out));
    assert!(found.contains("it holds no part of a graph"), "{found}");
    let settings = json!({ "hops": 1, "storage": "float32", "scale": null });
    let task = json!({ "do": "hop-rows", "hops": settings, "width": 4, "last": true, "graph": built.counts });
    let found = problem(task, &[built.files[0].clone()], std::slice::from_ref(&out));
    assert!(found.contains("numbers are missing of"), "{found}");
    let found = problem(json!({ "do": "join-blocks" }), &built.files, &[]);
    assert!(found.contains("so many are not read and written"), "{found}");
    assert!(!out.exists());
}
