//! Models that compare pairs, with message passing by tasks from files to files: the bytes of one machine, however the work is divided.

use nigh::dataset::InputFiles;
use nigh::dataset::generate::{PowerLaw, power_law};
use nigh::shards::ShardTask;
use nigh::{Config, Dataset, Training};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Does a task that has to succeed.
fn run(task: Value, inputs: &[PathBuf], outputs: &[PathBuf]) -> Value {
    serde_json::from_value::<ShardTask>(task).unwrap().run(inputs, outputs).unwrap()
}

/// Why a task does not succeed.
fn problem(task: Value, inputs: &[PathBuf], outputs: &[PathBuf]) -> String {
    serde_json::from_value::<ShardTask>(task).unwrap().run(inputs, outputs).unwrap_err().to_string()
}

/// A graph in a file, and features of its nodes.
struct Data {
    folder: tempfile::TempDir,
    graph: PathBuf,
    features: Option<PathBuf>,
}

impl Data {
    fn new(weighted: bool, num_features: usize) -> Data {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let graph = power_law(&PowerLaw::new(500, 2_500), 5).unwrap().graph;
        let weight = |at: usize| if weighted { format!(",{}", (1 + at % 5) as f32 / 2.0) } else { String::new() };
        let lines = graph.edges().enumerate().map(|(at, [a, b])| format!("{a},{b}{}\n", weight(at)));
        let header = if weighted { "source,target,weight\n" } else { "source,target\n" };
        std::fs::write(path("edges.csv"), header.to_string() + &lines.collect::<String>()).unwrap();
        Dataset::from_files(&path("edges.csv"), &InputFiles::default()).unwrap().store(&path("graph.nigh")).unwrap();
        let features = (num_features > 0).then(|| {
            let ids = Dataset::from_files(&path("graph.nigh"), &InputFiles::default()).unwrap().samples[0].ids.clone();
            let value = |row: usize, column: usize| ((row * 31 + column * 17) % 23) as f32 / 4.0;
            let row = |(at, id): (usize, _)| {
                let values: String = (0..num_features).map(|column| format!(",{}", value(at, column))).collect();
                format!("{id}{values}\n")
            };
            let header: String = (0..num_features).map(|column| format!(",f{column}")).collect();
            let rows: String = ids.iter().enumerate().map(row).collect();
            std::fs::write(path("features.csv"), format!("id{header}\n{rows}")).unwrap();
            path("features.csv")
        });
        Data { graph: path("graph.nigh"), features, folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The graph file and the file of features, if there is one.
    fn given(&self) -> Vec<PathBuf> {
        std::iter::once(self.graph.clone()).chain(self.features.clone()).collect()
    }

    fn dataset(&self) -> Dataset {
        let input = InputFiles { features: self.features.clone(), ..InputFiles::default() };
        Dataset::from_files(&self.graph, &input).unwrap()
    }

    /// The model of one machine.
    fn trained(&self, settings: &Value) -> Vec<u8> {
        let config = Config::from_table(serde_json::from_value(settings.clone()).unwrap()).unwrap();
        Training::new(&self.dataset(), config).unwrap().run().unwrap().to_bytes()
    }
}

/// Columns of a slice.
const WIDTH: usize = 16;

/// How rows are computed.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Mode {
    Slices,
    Rows,
}

/// The files of a request's rows.
fn rows_of(
    requests: &Path,
    graphs: &[PathBuf],
    number: usize,
    request: &Value,
    mode: Mode,
    folder: &Path,
) -> Vec<PathBuf> {
    let file = |name: String| folder.join(format!("{}-{number}-{name}", requests.file_stem().unwrap().display()));
    let graph = &graphs[request["graph"].as_u64().unwrap() as usize];
    let total = request["columns"].as_u64().unwrap() as usize;
    let hops: Vec<usize> =
        request["hops"].as_array().unwrap().iter().map(|hop| hop.as_u64().unwrap() as usize).collect();
    let task = |what: &str, columns: [usize; 2]| json!({ "do": what, "request": number, "columns": columns });
    if !request["storage"].is_null() {
        return power(requests, graph, request, &file);
    }
    let slice = |first: usize| {
        let columns = [first, (first + WIDTH).min(total)];
        let out = file(format!("{first}.npy"));
        if mode == Mode::Slices {
            run(task("level-slice", columns), &[requests.to_path_buf(), graph.clone()], std::slice::from_ref(&out));
            return out;
        }
        let num_nodes = nigh::dataset::GraphStore::open(graph).unwrap().graph().num_nodes();
        let scales = file("scales".into());
        run(
            json!({ "do": "level-scales", "request": number }),
            &[requests.to_path_buf(), graph.clone()],
            std::slice::from_ref(&scales),
        );
        let blocks: Vec<PathBuf> = (0..num_nodes)
            .step_by(300)
            .map(|first| {
                let block = file(format!("block-{first}"));
                let rows = [first, (first + 300).min(num_nodes)];
                run(
                    json!({ "do": "cut-block", "rows": rows }),
                    std::slice::from_ref(graph),
                    std::slice::from_ref(&block),
                );
                block
            })
            .collect();
        let mut of_hops: Vec<Vec<PathBuf>> = Vec::new();
        for hop in 0..=*hops.last().unwrap() {
            let before = of_hops.last().cloned().unwrap_or_default();
            let of_block = |(at, block): (usize, &PathBuf)| {
                let out = file(format!("hop-{hop}-{first}-{at}.npy"));
                let inputs = [vec![requests.to_path_buf(), block.clone(), scales.clone()], before.clone()].concat();
                run(task("level-rows", columns), &inputs, std::slice::from_ref(&out));
                out
            };
            of_hops.push(blocks.iter().enumerate().map(of_block).collect());
        }
        let wanted: Vec<PathBuf> = hops.iter().flat_map(|&hop| of_hops[hop].clone()).collect();
        run(
            task("gather-levels", columns),
            &[vec![requests.to_path_buf()], wanted].concat(),
            std::slice::from_ref(&out),
        );
        out
    };
    (0..total).step_by(WIDTH).map(slice).collect()
}

/// The files of all rows of a power of the operator.
fn power(requests: &Path, graph: &Path, request: &Value, file: &dyn Fn(String) -> PathBuf) -> Vec<PathBuf> {
    let (source, total) = (&request["matrix"], request["columns"].as_u64().unwrap() as usize);
    let is_stored = source["matrix"] == "requested";
    let stored: Vec<PathBuf> = is_stored.then(|| requests.to_path_buf()).into_iter().collect();
    let num_nodes = nigh::dataset::GraphStore::open(graph).unwrap().graph().num_nodes();
    let scale = match request["storage"] == "float16" {
        true => {
            run(json!({ "do": "find-scale", "source": source, "rows": [0, num_nodes] }), &stored, &[])["scale"].clone()
        }
        false => json!(null),
    };
    let hops = json!({ "hops": request["hops"][0], "storage": request["storage"], "scale": scale });
    let slice = |first: usize| {
        let out = file(format!("{first}.npy"));
        let columns = [first, (first + WIDTH).min(total)];
        let task = json!({ "do": "propagate-slice", "source": source, "hops": hops, "columns": columns });
        let facts = run(task, &[vec![graph.to_path_buf()], stored.clone()].concat(), std::slice::from_ref(&out));
        assert_eq!(facts["fits"], json!(true));
        out
    };
    (0..total).step_by(WIDTH).map(slice).collect()
}

/// What a run asks for, and the files of it.
fn requested(task: Value, inputs: &[PathBuf], name: &str, mode: Mode, folder: &Path) -> (Vec<Value>, Vec<PathBuf>) {
    let requests = folder.join(format!("{name}.requests"));
    let graphs: Vec<PathBuf> = (0..16).map(|number| folder.join(format!("{name}-{number}.nigh"))).collect();
    let facts = run(task, inputs, &[vec![requests.clone()], graphs.clone()].concat());
    let summaries = facts["requests"].as_array().unwrap().clone();
    let of = |(number, request)| rows_of(&requests, &graphs, number, request, mode, folder);
    let rows: Vec<PathBuf> = summaries.iter().enumerate().flat_map(of).collect();
    (summaries, [vec![requests], rows].concat())
}

/// The model that tasks train.
fn trained_by_tasks(data: &Data, settings: &Value, mode: Mode) -> Vec<u8> {
    let has_features = data.features.is_some();
    let mut files = data.given();
    for repeat in 0..settings["repeats"].as_u64().unwrap() {
        let task =
            json!({ "do": "request-training", "settings": settings, "repeat": repeat, "features": has_features });
        let (_, of_repeat) = requested(task, &data.given(), &format!("{mode:?}-{repeat}"), mode, data.folder.path());
        files.extend(of_repeat);
    }
    let out = data.path("model.zip");
    let task = json!({ "do": "train-requested", "settings": settings, "width": WIDTH, "features": has_features });
    run(task, &files, std::slice::from_ref(&out));
    std::fs::read(out).unwrap()
}

#[test]
fn tasks_train_the_default_model_for_links_to_the_bytes_of_one_machine() {
    let estimated = json!({ "proximities": "estimated", "signal-dim": 40 });
    let sampled = json!({ "proximities": "estimated", "signal-dim": 40, "pairs-per-epoch": 300, "test-edges": "training-and-validation" });
    for (weighted, num_features, more) in
        [(false, 0, &estimated), (true, 0, &sampled), (false, 20, &json!({})), (true, 20, &estimated)]
    {
        let data = Data::new(weighted, num_features);
        let mut settings = json!({ "task": "link-prediction", "model": "smp-proximity", "epochs": 2, "repeats": 2 });
        settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let expected = data.trained(&settings);
        for mode in [Mode::Slices, Mode::Rows] {
            let found = trained_by_tasks(&data, &settings, mode);
            assert!(found == expected, "{mode:?} {weighted} {num_features} {more}");
        }
    }
}

#[test]
fn tasks_train_models_of_rows_to_the_bytes_of_one_machine() {
    for (model, hop_storage, weighted, num_features) in [
        ("smp-linear", "float32", false, 0),
        ("smp-linear", "float32", true, 20),
        ("smp-mlp", "float16", false, 20),
        ("smp-signal", "float16", true, 0),
    ] {
        let data = Data::new(weighted, num_features);
        let settings = json!({
            "task": "link-prediction", "model": model, "epochs": 4, "repeats": 2, "pairs-per-epoch": 300,
            "hop-storage": hop_storage,
        });
        assert!(trained_by_tasks(&data, &settings, Mode::Slices) == data.trained(&settings), "{model} {hop_storage}");
    }
}

#[test]
fn models_in_memory_are_refused_by_tasks() {
    let data = Data::new(false, 0);
    let refused = |settings: Value| {
        let task = json!({ "do": "request-training", "settings": settings, "repeat": 0, "features": false });
        problem(task, &data.given(), &[data.path("x"), data.path("y")])
    };
    let all = refused(json!({ "task": "link-prediction", "model": "smp-linear" }));
    assert!(all.contains("pairs-per-epoch is 0, so that all edges are learnt from"), "{all}");
    let interleaved = refused(json!({ "task": "link-prediction", "model": "gcn" }));
    assert!(interleaved.contains("weights are learnt between its hops"), "{interleaved}");
    assert!(!data.path("x").exists());
}

#[test]
fn rows_of_another_run_and_damaged_requests_are_refused() {
    let data = Data::new(false, 0);
    let settings = |seed: usize| {
        json!({
            "task": "link-prediction", "model": "smp-proximity", "epochs": 2, "repeats": 1, "seed": seed,
            "proximities": "estimated", "signal-dim": 20,
        })
    };
    let task =
        |seed: usize| json!({ "do": "request-training", "settings": settings(seed), "repeat": 0, "features": false });
    let (summaries, files) = requested(task(1), &data.given(), "one", Mode::Slices, data.folder.path());
    assert!(summaries.iter().all(|request| [20, 64].contains(&request["columns"].as_u64().unwrap())), "{summaries:?}");
    let train = |seed: usize, width: usize| json!({ "do": "train-requested", "settings": settings(seed), "width": width, "features": false });
    let inputs = [data.given(), files.clone()].concat();
    let out = [data.path("out")];
    assert!(
        problem(train(2, WIDTH), &inputs, &out).contains("rows are missing that a run of the same settings asks for")
    );
    assert!(problem(train(1, 2 * WIDTH), &inputs, &out).contains(".npy"));
    assert!(problem(train(1, WIDTH), &inputs[..inputs.len() - 1], &out).contains("files of rows; found"));
    let mut others = inputs.clone();
    others.swap(2, 6);
    assert!(problem(train(1, WIDTH), &others, &out).contains("which were not asked for"));
    let slice = json!({ "do": "level-slice", "request": 0, "columns": [8, 16] });
    let of_graph = [files[0].clone(), data.path("one-0.nigh")];
    assert!(problem(slice, &of_graph, &out).contains("from a multiple of 16 on"));
    let beyond = json!({ "do": "level-slice", "request": 99, "columns": [0, 16] });
    assert!(problem(beyond, &of_graph, &out).contains("request 99 is out of range"), "a request that there is not");
    let graph = [data.graph.clone(), data.graph.clone()];
    let slice = json!({ "do": "level-slice", "request": 0, "columns": [0, 16] });
    assert!(problem(slice, &graph, &out).contains("it has no requests"));
    let repeat = json!({ "do": "request-training", "settings": settings(1), "repeat": 1, "features": false });
    assert!(problem(repeat, &data.given(), &[data.path("x"), data.path("y")]).contains("repeat 1 is out of range"));
    let few = problem(task(1), &data.given(), &[data.path("x"), data.path("y")]);
    assert!(few.contains("is the last of 1 graphs"), "{few}");
}
