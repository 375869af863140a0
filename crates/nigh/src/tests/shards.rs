//! A propagation in tasks from files to files: the graph file and the vectors of one machine, however the work is divided.

use nigh::dataset::generate::{PowerLaw, power_law};
use nigh::dataset::{GraphStore, InputFiles};
use nigh::formats::sections::{SectionWriter, Sections};
use nigh::propagation::{PanelPlan, PanelSource, Propagation};
use nigh::shards::{GraphCounts, HopSettings, ShardTask};
use nigh::{Config, Dataset, Memory, Operator, Purpose, Seeds, Signal, SignalScale, Storage, Training};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

const DIM: usize = 20;
const WIDTHS: [usize; 2] = [16, 4];

/// Does a task that has to succeed.
fn run(task: Value, inputs: &[PathBuf], outputs: &[PathBuf]) -> Value {
    serde_json::from_value::<ShardTask>(task).unwrap().run(inputs, outputs).unwrap()
}

/// Why a task does not succeed.
fn problem(task: Value, inputs: &[PathBuf], outputs: &[PathBuf]) -> String {
    serde_json::from_value::<ShardTask>(task).unwrap().run(inputs, outputs).unwrap_err().to_string()
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
    /// Self loops, repetitions and edges in both directions, as all tasks together count them.
    cleaned: [u64; 3],
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
    let count = |facts: &Value, what: &str| facts[what].as_u64().unwrap_or(0);
    let all = |facts: &Value| ["self_loops", "duplicates", "both_ways"].map(|what| count(facts, what));
    let (mut num_entries, mut cleaned) = (0, [0; 3]);
    for of_part in read.iter().map(all) {
        cleaned.iter_mut().zip(of_part).for_each(|(sum, count)| *sum += count);
    }
    for ((out, rows), entries) in built.iter().zip(&rows).zip(&entries) {
        let task =
            json!({ "do": "build-block", "rows": rows, "num_nodes": num_nodes, "weighted": weighted, "bases": bases });
        let facts = run(task, &[&ids[..], entries].concat(), std::slice::from_ref(out));
        num_entries += facts["entries"].as_u64().unwrap();
        cleaned.iter_mut().zip(all(&facts)).for_each(|(sum, count)| *sum += count);
    }
    let counts = json!({ "num_nodes": num_nodes, "num_edges": num_entries / 2, "weighted": weighted });
    Blocks { counts, cleaned, files: built, rows }
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
    let task = || json!({ "do": "read-features" });
    let inputs = [joined.clone(), path("features.csv"), path("model.zip")];
    let outputs = [path("all.nigh"), path("features")];
    let train = |model: &str| {
        let input = InputFiles { features: Some(path("features.csv")), ..InputFiles::default() };
        let dataset = Dataset::from_files(&joined, &input).unwrap();
        let config = Config {
            model: model.into(),
            epochs: 1.into(),
            repeats: 1,
            task: nigh::Task::LinkPrediction,
            ..Config::default()
        };
        let trained = Training::new(&dataset, config).unwrap().run().unwrap();
        std::fs::write(path("model.zip"), trained.to_bytes()).unwrap();
    };
    train("smp-linear");
    assert_eq!(run(task(), &inputs, &outputs)["num_features"], json!(2));

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
    train("smp-signal");
    run(task(), &inputs, &outputs);
    assert!(!path("same.nigh").exists() && !path("unused").exists());
    // A word per node: so many columns are multiplied before messages pass.
    let words = |name: &String| format!("{name}{}\n", ",0".repeat(599) + ",1");
    let header: String = (0..600).map(|word| format!(",w{word}")).collect();
    let listed: String = names.iter().map(words).collect();
    std::fs::write(path("features.csv"), format!("id{header}\n{listed}")).unwrap();
    train("smp-linear");
    let wide: ShardTask = serde_json::from_value(task()).unwrap();
    let problem = wide.run(&inputs, &outputs).unwrap_err().to_string();
    assert!(problem.contains("600 columns: sparse features this wide"), "{problem}");
    let narrow = json!({ "do": "propagate-slice", "source": json!({ "matrix": "features", "dim": 3 }), "hops": hops, "columns": [0, 1] });
    let narrow: ShardTask = serde_json::from_value(narrow).unwrap();
    let problem = narrow.run(&[path("all.nigh"), path("features")], &[path("unused")]).unwrap_err().to_string();
    assert!(problem.contains("has 2 columns; expected 3"), "{problem}");
}

#[test]
fn wrong_files_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let built = blocks(folder.path(), &lines(false, false), false);
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

#[test]
fn what_was_cleaned_is_counted_once_however_rows_are_divided() {
    for named in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let built = blocks(folder.path(), &lines(named, false), false);
        let num_edges = built.counts["num_edges"].as_u64().unwrap();
        let [turned, loops] = [num_edges.div_ceil(7), num_edges.div_ceil(31)];
        assert_eq!(built.cleaned[..2], [loops, turned]);
        // Edges between names go on as they are listed; those between integers are cleaned as they are read, part by part.
        assert!(!named || built.cleaned[2] == turned, "{:?}, expected {turned}", built.cleaned);
    }
}

/// The same file with other numbers in one of its sections, and checksums that are right.
fn with_section(path: &Path, changed: &str, numbers: &[u32], out: &Path) {
    let sections = Sections::open(path).unwrap();
    let mut writer = SectionWriter::create(out).unwrap();
    for name in ["rows", "neighbours", "offsets", "scales", "ids"] {
        let Some(own) = sections.get::<u32>(name).unwrap() else { continue };
        writer.section(name).unwrap();
        let own = own.read_all().unwrap();
        writer.write(if name == changed { numbers } else { &own }).unwrap();
    }
    writer.finish().unwrap();
}

#[test]
fn a_block_that_contradicts_itself_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let built = blocks(folder.path(), &lines(false, false), false);
    let path = |name: &str| folder.path().join(name);
    let sections = Sections::open(&built.files[0]).unwrap();
    let section = |name: &str| sections.get::<u32>(name).unwrap().unwrap().read_all().unwrap();
    let refused = |name: &str, numbers: &[u32]| {
        with_section(&built.files[0], name, numbers, &path("damaged"));
        let blocks = [&[path("damaged")], &built.files[1..]].concat();
        let found = problem(json!({ "do": "join-blocks" }), &blocks, &[path("out")]);
        assert!(found.contains("is no block of rows 0 to 200"), "{name}: {found}");
    };
    let mut neighbours = section("neighbours");
    neighbours[3] = built.counts["num_nodes"].as_u64().unwrap() as u32;
    refused("neighbours", &neighbours);
    // Offsets are pairs of words, the lower first.
    let mut offsets = section("offsets");
    offsets.swap(4, 6);
    assert!(offsets[4] > offsets[6]);
    refused("offsets", &offsets);
    refused("scales", &section("scales")[1..]);
}

#[test]
fn blocks_and_rows_of_another_graph_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let built = blocks(folder.path(), &lines(false, false), false);
    let path = |name: &str| folder.path().join(name);
    let chain: Vec<[u32; 2]> = (1..300).map(|node| [node - 1, node]).collect();
    let chain = nigh::Graph::from_edges(300, &chain).unwrap().0;
    Dataset::from_graph("chain", chain).store(&path("chain.nigh")).unwrap();
    run(json!({ "do": "cut-block", "rows": [200, 300] }), &[path("chain.nigh")], &[path("other")]);
    let mixed = [built.files[0].clone(), path("other")];
    let found = problem(json!({ "do": "join-blocks" }), &mixed, &[path("out")]);
    assert!(found.contains("other: does not start at row 200"), "{found}");
    let found = problem(json!({ "do": "cut-block", "rows": [200, 301] }), &[path("chain.nigh")], &[path("out")]);
    assert!(found.contains("has 300 nodes, not rows 200..301"), "{found}");
    // A graph file whose last byte is another.
    run(json!({ "do": "join-blocks" }), &built.files, &[path("joined.nigh")]);
    let mut bytes = std::fs::read(path("joined.nigh")).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(path("spoilt.nigh"), bytes).unwrap();
    assert!(problem(json!({ "do": "check-graph" }), &[path("spoilt.nigh")], &[]).contains("is damaged"));
}

#[test]
fn entries_of_other_rows_and_ids_of_other_parts_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let built = blocks(folder.path(), &lines(false, false), false);
    let path = |name: &str| folder.path().join(name);
    let refused = |entries: &str| {
        let num_nodes = &built.counts["num_nodes"];
        let task =
            json!({ "do": "build-block", "rows": [0, 200], "num_nodes": num_nodes, "weighted": false, "bases": [] });
        problem(task, &[path(entries)], &[path("out")])
    };
    let found = refused("entries-0-1");
    assert!(found.contains("has an entry of row") && found.contains("not of 0..200"), "{found}");
    let bytes = std::fs::read(path("entries-0-0")).unwrap();
    std::fs::write(path("cut"), &bytes[..bytes.len() - 4]).unwrap();
    std::fs::write(path("longer"), [&bytes[..], &[0; 4]].concat()).unwrap();
    for name in ["cut", "longer"] {
        assert!(refused(name).contains("which is not what its counts say"), "{name}");
    }

    // Ids of another part, in two ranges: the one is named that would have the first that is missing.
    std::fs::write(path("few.csv"), "0,700\n0,705\n").unwrap();
    run(json!({ "do": "read-edges" }), &[path("few.csv")], &[path("few-part")]);
    for (name, from, to) in [("few-0", json!(null), json!(700)), ("few-1", json!(700), json!(null))] {
        let task = json!({ "do": "merge-ids", "kind": "integers", "from": from, "to": to });
        run(task, &[path("few-part")], &[path(name)]);
    }
    std::fs::write(path("more.csv"), "0,705\n-5,700\n").unwrap();
    run(json!({ "do": "read-edges" }), &[path("more.csv")], &[path("more-part")]);
    let task = json!({ "do": "route-edges", "kind": "integers", "bases": [0, 1], "block_rows": 10 });
    let found = problem(task, &[path("more-part"), path("few-0"), path("few-1")], &[path("out")]);
    assert!(found.contains("few-0: lacks the id `-5`"), "{found}");
}

#[test]
fn ids_have_one_order_and_one_spelling() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let read = |name: &str, lines: &str| {
        std::fs::write(path(&format!("{name}.csv")), lines).unwrap();
        run(json!({ "do": "read-edges" }), &[path(&format!("{name}.csv"))], &[path(name)]);
        path(name)
    };
    let merge = json!({ "do": "merge-ids", "kind": "names", "from": null, "to": null });
    let twice = [read("fractions", "x,7.0\n"), read("whole", "7,8\n")];
    let found = problem(merge, &twice, &[path("merged")]);
    assert!(found.contains("`7` is an id beside names as well"), "{found}");

    // Integers of one part beside names of another are in the order of texts: 10 before 9, in ranges as well.
    let parts = [read("integers", "9,10\n10,100\n"), read("names", "a,b\n")];
    for (name, from, to) in [("below", json!(null), json!("5")), ("above", json!("5"), json!(null))] {
        let merge = json!({ "do": "merge-ids", "kind": "names", "from": from, "to": to });
        run(merge, &parts, &[path(name)]);
    }
    let route = json!({ "do": "route-edges", "kind": "names", "bases": [0, 2], "block_rows": 5 });
    let entries = ["integers-entries", "names-entries"].map(path);
    for (part, entries) in parts.iter().zip(&entries) {
        run(route.clone(), &[part.clone(), path("below"), path("above")], std::slice::from_ref(entries));
    }
    let build = json!({ "do": "build-block", "rows": [0, 5], "num_nodes": 5, "weighted": false, "bases": [0, 2] });
    run(build, &[&[path("below"), path("above")], &entries[..]].concat(), &[path("block")]);
    run(json!({ "do": "join-blocks" }), &[path("block")], &[path("joined.nigh")]);
    let store = GraphStore::open(&path("joined.nigh")).unwrap();
    assert_eq!(store.ids().unwrap().iter().collect::<Vec<_>>(), ["10", "100", "9", "a", "b"]);
    assert_eq!(store.graph().edges().collect::<Vec<_>>(), [[0, 1], [0, 2], [3, 4]]);

    // A file that lists its nodes in an order of its own can't be one part of several.
    std::fs::write(path("own.graphml"), GRAPHML).unwrap();
    let found = problem(json!({ "do": "read-edges" }), &[path("own.graphml")], &[path("own")]);
    assert!(found.contains("lists its nodes in an order of its own"), "{found}");
}

const GRAPHML: &str = r#"<?xml version="1.0"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph edgedefault="undirected">
<node id="b"/><node id="a"/><node id="c"/><edge source="b" target="a"/><edge source="a" target="c"/>
</graph></graphml>"#;

#[test]
fn edges_that_are_all_self_loops_make_no_graph() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("loops.csv"), "1,1\n2,2\n").unwrap();
    run(json!({ "do": "read-edges" }), &[path("loops.csv")], &[path("part")]);
    let merge = json!({ "do": "merge-ids", "kind": "integers", "from": null, "to": null });
    run(merge, &[path("part")], &[path("ids")]);
    let route = json!({ "do": "route-edges", "kind": "integers", "bases": [0], "block_rows": 2 });
    run(route, &[path("part"), path("ids")], &[path("entries")]);
    let build = json!({ "do": "build-block", "rows": [0, 2], "num_nodes": 2, "weighted": false, "bases": [0] });
    run(build, &[path("ids"), path("entries")], &[path("block")]);
    let found = problem(json!({ "do": "join-blocks" }), &[path("block")], &[path("none.nigh")]);
    assert!(found.contains("no edge between two different nodes"), "{found}");
}

#[test]
fn hops_from_files_of_other_blocks_are_refused_and_halves_that_overflow_are_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let built = blocks(folder.path(), &lines(false, true), true);
    let path = |name: String| folder.path().join(name);
    let out = path("hop".to_string());
    let settings = |storage: &str, scale: Value| json!({ "hops": 2, "storage": storage, "scale": scale });
    let start = |settings: &Value| -> Vec<PathBuf> {
        let of_block = |(number, block): (usize, &PathBuf)| {
            let out = path(format!("start-{number}"));
            let task = json!({ "do": "start-rows", "source": matrix(), "hops": settings, "columns": [0, 16], "graph": built.counts });
            run(task, std::slice::from_ref(block), std::slice::from_ref(&out));
            out
        };
        built.files.iter().enumerate().map(of_block).collect()
    };
    let hop = |settings: &Value| json!({ "do": "hop-rows", "hops": settings, "width": 16, "last": false, "graph": built.counts });
    let (single, last) = (settings("float32", json!(null)), built.files.len() - 1);
    let mut panels = start(&single);
    // The last block has fewer rows than the first, which stands in its place.
    let scales = [&built.files[..last], &built.files[..1]].concat();
    let found = problem(hop(&single), &[&built.files[..1], &panels, &scales].concat(), std::slice::from_ref(&out));
    assert!(found.contains("scales for"), "{found}");
    panels[last] = panels[0].clone();
    let found = problem(hop(&single), &[&built.files[..1], &panels, &built.files].concat(), std::slice::from_ref(&out));
    assert!(found.contains("are left of"), "{found}");

    let halves = settings("float16", json!(1e9));
    let panels = start(&halves);
    let fits = |block: &PathBuf| {
        let inputs = [std::slice::from_ref(block), &panels].concat();
        let fits = run(hop(&halves), &inputs, std::slice::from_ref(&out))["fits"] == json!(true);
        assert_eq!(out.exists(), fits);
        fits
    };
    assert!(!built.files.iter().all(fits), "sums over a hub have no room");
}

#[test]
fn names_are_those_of_the_rows_and_of_the_model() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let lines = lines(true, false);
    let built = blocks(folder.path(), &lines, false);
    run(json!({ "do": "join-blocks" }), &built.files, &[path("joined.nigh")]);
    let task = json!({ "do": "write-rows", "rows": [0, 200], "skip": 0, "slices": 0 });
    let found = problem(task, &[built.files[1].clone()], &[path("rows.npy")]);
    assert!(found.contains("has rows 200..400, not 0..200"), "{found}");

    let config = Config { model: "smp-signal".into(), epochs: 3.into(), repeats: 1, ..Config::default() };
    let config = Config { refresh: nigh::Refresh::Resampled.into(), ..config };
    let dataset = Dataset::from_files(&path("joined.nigh"), &InputFiles::default()).unwrap();
    let trained = Training::new(&dataset, config).unwrap().run().unwrap();
    std::fs::write(path("model"), trained.to_bytes()).unwrap();
    // The same graph, with another name for one node, in the same place.
    std::fs::create_dir(path("other")).unwrap();
    let renamed = |line: &String| line.replace("n30,", "n30-,").replace(",n30\n", ",n30-\n");
    let other = blocks(&path("other"), &lines.iter().map(renamed).collect::<Vec<_>>(), false);
    let unknown = |(block, rows): (&PathBuf, &[usize; 2])| {
        let task: ShardTask = serde_json::from_value(json!({ "do": "match-model", "rows": rows })).unwrap();
        task.run(&[path("model"), block.clone()], &[]).err().map(|error| error.to_string())
    };
    assert_eq!(built.files.iter().zip(&built.rows).find_map(unknown), None);
    let found: Vec<String> = other.files.iter().zip(&other.rows).filter_map(unknown).collect();
    assert!(found.len() == 1 && found[0].contains("is n30-,") && found[0].contains("the same graph"), "{found:?}");

    // What is propagated is of the epoch whose weights were kept.
    let passing = nigh::shards::message_passing(&trained).unwrap();
    let signal = trained.propagations(dataset.samples[0].graph.clone(), None).unwrap().signal;
    let PanelSource::Signal { stream, .. } = signal.source else { panic!("a signal") };
    assert_eq!(passing["matrix"]["stream"], serde_json::to_value(stream).unwrap());
}

#[test]
fn a_worker_takes_two_panels_of_its_columns_and_halves_take_half_of_them() {
    let counts = GraphCounts { num_nodes: 1_000_000, num_edges: 3_000_000, weighted: false };
    let memory = |hops: usize, storage: Storage| {
        let settings = HopSettings { hops, storage, scale: None };
        counts.memory(&settings, 32, 10_000)
    };
    let panel = 4 * 32 * 1_000_000;
    let [one, two, many] = [1, 2, 5].map(|hops| memory(hops, Storage::Single)[0]);
    assert_eq!([two - one, many - two], [panel, 0]);
    assert_eq!(two - memory(2, Storage::Half)[0], panel);
    assert_eq!(memory(2, Storage::Single)[1] - memory(2, Storage::Half)[1], (panel + panel / 100) / 2);
}
