//! What is measured, by name: `kind/what/shape`.

use crate::shapes;
use nigh::Auto;
use nigh::Node2Vec;
use nigh::dataset::InputFiles;
use nigh::graph::Operator;
use nigh::ops::Attention;
use nigh::ops::LinearMap;
use nigh::ops::Propagate;
use nigh::ops::SparseProduct;
use nigh::ops::{Anchors, CLOSENESS, Structure};
use nigh::ops::{PairLoss, Scale};
use nigh::tape::{Operation, Pass, Tape, Var, Weights};
use nigh::task::Split;
use nigh::train::{Evaluation, Progress};
use nigh::{
    Config, Dataset, Decoder, Features, Matrix, Observer, Protocol, Purpose, Refresh, Seeds, Storage, Task, Training,
    View,
};
use rayon::prelude::*;
use serde_json::{Value, json};
use std::hint::black_box;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// Something to measure, set up.
pub enum Case {
    /// To be timed by the caller.
    Unit(Box<dyn FnMut()>),
    /// Gives the seconds of each of its units, as many as fit into the given time.
    Units(Box<dyn FnMut(f64) -> Vec<f64>>),
    /// Measures itself, once, in a process of its own.
    Report(Box<dyn FnMut() -> Result<Value, String>>),
}

/// Sets a case up.
pub fn case(name: &str, folder: Option<&Path>) -> Result<Case, String> {
    let words: Vec<&str> = name.split('/').collect();
    let unknown = || format!("no case {name} here");
    let number = |word: &str| word.parse::<usize>().map_err(|_| unknown());
    match words[..] {
        ["epoch", model, shape] => epochs(model, shape, Task::LinkPrediction),
        ["classes", model, shape] => epochs(model, shape, Task::NodeClassification),
        ["evaluation", model, shape] => evaluations(model, shape),
        ["propagate" | "propagate-half", width, shape] => {
            let width = number(width.strip_prefix('d').ok_or_else(unknown)?)?;
            let storage = if words[0] == "propagate" { Storage::Single } else { Storage::Half };
            propagate(width, shape, storage)
        }
        ["sparse-product", shape] => sparse_product(shape),
        ["pair-loss", shape] => pair_loss(shape),
        ["attention", shape] => attention(shape),
        ["p-gnn-message", shape] => p_gnn_message(shape),
        ["gemm", product] | ["gemm-backward", product] => {
            let sizes = product.split('x').map(number).collect::<Result<Vec<_>, _>>()?;
            let [m, k, n] = sizes[..] else { return Err(unknown()) };
            Ok(gemm(m, k, n, words[0] == "gemm-backward"))
        }
        ["node2vec", shape] => {
            let graph = view(shape)?;
            let settings = Node2Vec { epochs: 1, ..Node2Vec::default() };
            Ok(Case::Unit(Box::new(move || {
                black_box(settings.vectors(graph.graph(), 32, Seeds::new(0), &mut |_, _| ()));
            })))
        }
        ["bandwidth", bytes] => bandwidth(number(bytes.strip_suffix("MiB").ok_or_else(unknown)?)? << 20),
        ["scale", shape] | ["read-and-propagate", shape] => {
            let folder = folder.ok_or("a folder with the shape's files is missing")?.join(shape);
            Ok(Case::Report(Box::new(move || read_and_propagate(&folder))))
        }
        ["pair-mlp", shape] => {
            let dataset = dataset(shape)?;
            Ok(Case::Report(Box::new(move || pair_mlp(&dataset))))
        }
        _ => Err(unknown()),
    }
}

/// What message passing sees of the first graph of a shape.
fn view(shape: &str) -> Result<Arc<View>, String> {
    Ok(shapes::views(shape).map_err(|error| error.to_string())?.remove(0))
}

fn dataset(shape: &str) -> Result<Dataset, String> {
    shapes::dataset(shape).map_err(|error| error.to_string())
}

/// When each epoch ended.
struct Ends(Vec<Instant>);

impl Observer for Ends {
    fn epoch(&mut self, _: &Progress, _: Option<&Evaluation>) -> ControlFlow<()> {
        self.0.push(Instant::now());
        ControlFlow::Continue(())
    }
}

/// Seconds of each epoch but the first two, whose caches are cold, and the last, which includes an evaluation.
fn epoch_seconds(split: &Split, dataset: &Dataset, config: &Config) -> Vec<f64> {
    let mut ends = Ends(Vec::new());
    let training = Training::new(dataset, config.clone()).expect("settings that fit the data");
    training.split(split.clone()).observer(&mut ends).run().expect("a training that does not diverge");
    let kept = if config.evaluate_every == 1.into() { &ends.0[1..] } else { &ends.0[1..ends.0.len() - 1] };
    kept.windows(2).map(|pair| (pair[1] - pair[0]).as_secs_f64()).collect()
}

/// Training epochs without evaluation.
fn epochs(model: &str, shape: &str, task: Task) -> Result<Case, String> {
    let (dataset, split, config) = job(model, shape, task)?;
    Ok(Case::Units(Box::new(move |budget| {
        let run = |epochs: usize| {
            epoch_seconds(
                &split,
                &dataset,
                &Config { epochs: epochs.into(), evaluate_every: (1 << 24).into(), ..config.clone() },
            )
        };
        let first = run(4);
        let wanted = (budget / first[0]) as usize;
        if wanted < 2 { first } else { run(wanted.clamp(3, 997) + 3) }
    })))
}

/// An epoch with the evaluation after it.
fn evaluations(model: &str, shape: &str) -> Result<Case, String> {
    let (dataset, split, config) = job(model, shape, Task::LinkPrediction)?;
    let config = Config { epochs: 12.into(), evaluate_every: 1.into(), ..config };
    Ok(Case::Units(Box::new(move |_| epoch_seconds(&split, &dataset, &config))))
}

fn job(model: &str, shape: &str, task: Task) -> Result<(Dataset, Split, Config), String> {
    let dataset = dataset(shape)?;
    let (config, split) = shapes::split(&dataset, task).map_err(|error| error.to_string())?;
    let (name, refresh) = match model.strip_suffix("-resampled") {
        Some(name) => (name, Auto::Is(Refresh::Resampled)),
        None => (model, Auto::Is(Refresh::Fixed)),
    };
    Ok((dataset, split, Config { model: name.into(), refresh, ..config }))
}

fn some_matrix(rows: usize, cols: usize) -> Matrix {
    Matrix::from_fn(rows, cols, |i, c| ((i * 31 + c * 17) % 97) as f32 * 0.02 - 1.0)
}

/// One of three hops, with what goes before and after them.
fn propagate(width: usize, shape: &str, storage: Storage) -> Result<Case, String> {
    const HOPS: usize = 3;
    let operator = view(shape)?.operator.clone();
    let x = some_matrix(operator.graph().num_nodes(), width);
    let propagate = Propagate::new(operator, HOPS).stored(storage);
    let Case::Unit(mut unit) = on_a_tape(propagate, &[x], &[], false) else { unreachable!("a unit was made") };
    unit();
    Ok(Case::Units(Box::new(move |budget| {
        let (started, mut seconds) = (Instant::now(), Vec::new());
        while seconds.len() < 3 || (started.elapsed().as_secs_f64() < budget && seconds.len() < 1000) {
            let start = Instant::now();
            unit();
            seconds.push(start.elapsed().as_secs_f64() / HOPS as f64);
        }
        seconds
    })))
}

/// One operation on a tape of its own, forward, and optionally backward.
fn on_a_tape(operation: impl Operation + 'static, inputs: &[Matrix], weights: &[Matrix], backward: bool) -> Case {
    let mut store = Weights::new(Seeds::new(0));
    let mut tape = Tape::default();
    let mut vars: Vec<Var> = Vec::new();
    for input in inputs {
        let var = tape.feed(input.cols());
        *tape.value_mut(var) = input.clone();
        vars.push(var);
    }
    vars.extend(weights.iter().enumerate().map(|(at, w)| store.declare(&at.to_string(), w.clone())));
    let output = tape.push(operation, &vars);
    let pass = Pass { training: true, seeds: Seeds::new(0), graph: 0, draw: 0 };
    Case::Unit(Box::new(move || {
        tape.forward(&store, &pass);
        if backward {
            let (value, gradient) = tape.output_and_gradient(output);
            if gradient.shape() != value.shape() {
                gradient.copy_from(value);
            }
            store.clear_gradients();
            tape.backward(output, &mut store);
        }
    }))
}

fn sparse_product(shape: &str) -> Result<Case, String> {
    let Features::Sparse(matrix) = &view(shape)?.features else {
        return Err(format!("{shape} has no sparse features"));
    };
    Ok(on_a_tape(SparseProduct::new(matrix.clone()), &[], &[some_matrix(matrix.cols(), 32)], false))
}

fn pair_loss(shape: &str) -> Result<Case, String> {
    let view = view(shape)?;
    let n = view.graph().num_nodes();
    let positive: Vec<_> = view.graph().edges().collect();
    let mut rng = Seeds::new(0).rng(Purpose::Negatives, &[]);
    let negative: Vec<_> = positive.iter().map(|_| [rng.below(n) as u32, rng.below(n) as u32]).collect();
    let mut loss = PairLoss::default();
    loss.positive.rebuild(n, &positive);
    loss.negative.rebuild(n, &negative);
    let (h, mut gradient) = (some_matrix(n, 32), Matrix::default());
    Ok(Case::Unit(Box::new(move || {
        black_box(loss.loss(&h, Scale::Unit, &mut gradient));
    })))
}

fn attention(shape: &str) -> Result<Case, String> {
    let operator = view(shape)?.operator.clone();
    let x = some_matrix(operator.graph().num_nodes(), 32);
    let vector = || some_matrix(1, 32);
    Ok(on_a_tape(Attention::new(operator, 4), &[x], &[vector(), vector(), vector()], true))
}

/// The messages of one layer of P-GNN, with its anchors.
fn p_gnn_message(shape: &str) -> Result<Case, String> {
    let view = view(shape)?;
    let anchors = Anchors::new(view.operator.graph().clone(), view.addresses.clone(), None);
    let x = || some_matrix(view.graph().num_nodes(), 32);
    Ok(on_a_tape(Structure::new(anchors), &[x(), x(), Matrix::from_rows(&[CLOSENESS])], &[], true))
}

fn gemm(m: usize, k: usize, n: usize, backward: bool) -> Case {
    on_a_tape(LinearMap::new(1), &[some_matrix(m, k)], &[some_matrix(k, n)], backward)
}

/// Sums a buffer with all threads: what reading costs when nothing else does.
fn bandwidth(bytes: usize) -> Result<Case, String> {
    let mut buffer = Matrix::zeros(bytes / 256, 64);
    buffer.data_mut().fill(1.0);
    Ok(Case::Unit(Box::new(move || {
        let sum = |block: &[f32]| {
            let mut sums = [0f32; 64];
            for values in block.chunks_exact(64) {
                for lane in 0..64 {
                    sums[lane] += values[lane];
                }
            }
            sums.iter().sum::<f32>()
        };
        black_box(buffer.data().par_chunks(1 << 18).map(sum).sum::<f32>());
    })))
}

/// Reads a graph with its features from text, normalises it, and propagates a signal of 64 columns and the features.
fn read_and_propagate(folder: &Path) -> Result<Value, String> {
    let features = folder.join("features.csv");
    let input = InputFiles { features: features.exists().then_some(features), ..InputFiles::default() };
    let start = Instant::now();
    let dataset = Dataset::from_files(&folder.join("edges.csv"), &input).map_err(|error| error.to_string())?;
    let read = start.elapsed().as_secs_f64();
    let sample = &dataset.samples[0];
    let n = sample.graph.num_nodes();
    let operator = Operator::symmetric(sample.graph.clone());
    let nodes: Vec<u32> = (0..n as u32).collect();
    let e = nigh::Signal::Gaussian.matrix(Seeds::new(0).stream(Purpose::Signal, &[0]), &nodes, 0..64, 0.125);
    let hop = hop_seconds(&operator, &e);
    let start = Instant::now();
    black_box(operator.propagate_stored(&e, 3, Storage::Single));
    let signal = start.elapsed().as_secs_f64();
    let mut answer = json!({
        "nodes": n, "edges": dataset.num_edges(), "read": read, "seconds": hop, "signal": signal,
    });
    if let Features::Sparse(matrix) = &sample.features {
        let start = Instant::now();
        let mut f = Matrix::zeros(n, matrix.cols());
        (0..n).for_each(|i| matrix.row(i).for_each(|(column, value)| f.row_mut(i)[column as usize] = value));
        black_box(operator.propagate(f, 3));
        answer["features"] = json!(start.elapsed().as_secs_f64());
    }
    answer["peak_bytes"] = json!(peak_bytes());
    let start = Instant::now();
    if let Some(order) = sample.graph.locality_order() {
        let reordered = Operator::symmetric(sample.graph.permute(&order).map_err(|error| error.to_string())?.into());
        answer["arrange"] = json!(start.elapsed().as_secs_f64());
        answer["arranged_hop"] = json!(hop_seconds(&reordered, &e));
    }
    Ok(answer)
}

/// One hop, the median of five times.
fn hop_seconds(operator: &Operator, x: &Matrix) -> f64 {
    let mut y = Matrix::default();
    operator.apply(x, &mut y);
    let mut seconds = [(); 5].map(|()| {
        let start = Instant::now();
        operator.apply(x, &mut y);
        start.elapsed().as_secs_f64()
    });
    seconds.sort_by(f64::total_cmp);
    seconds[2]
}

/// One epoch of smp-linear under the pair predictor with PPA's settings: the rate of its dense products over the whole time,
/// and that of the predictor's largest product alone.
fn pair_mlp(dataset: &Dataset) -> Result<Value, String> {
    const WIDTH: usize = 256;
    const SIGNAL: usize = 64;
    const BATCH: usize = 1 << 16;
    let words = |error: nigh::Error| error.to_string();
    let config = Config {
        decoder: Auto::Is(Decoder::HadamardMlp),
        hops: 3.into(),
        width: WIDTH.into(),
        signal_dim: SIGNAL.into(),
        batch_size: Auto::Is(BATCH),
        weight_decay: 0.0.into(),
        clip_norm: 1.0,
        epochs: 1.into(),
        repeats: 1,
        protocol: Protocol::Published,
        ..Config::default()
    };
    let training = Training::new(dataset, config).map_err(words)?;
    let split = training.config().draw_split(dataset, Seeds::new(0)).map_err(words)?;
    let Split::Pairs(mut split) = split else { unreachable!("link prediction is about pairs") };
    // PPA's own split trains on 21 million edges.
    let positive = &mut split.train[0].question.positive;
    positive.truncate(21_231_931);
    let pairs = positive.len();
    let view = split.train[0].view.clone();
    // Evaluation would be timed as well: a single pair makes it small.
    for part in split.valid.iter_mut().chain(split.test.iter_mut().flatten()) {
        part.question.positive.truncate(1);
        part.question.negative.truncate(1);
    }
    let Case::Unit(mut product) = gemm(2 * BATCH, WIDTH, WIDTH, true) else { unreachable!("a unit was made") };
    let mut product_seconds = || crate::timed(&mut product)["seconds"].as_f64().expect("a time");
    let before = product_seconds();
    let start = Instant::now();
    training.split(Split::Pairs(split)).run().map_err(words)?;
    let seconds = start.elapsed().as_secs_f64();
    // An epoch takes minutes, and the speed of the machine may change: the faster counts.
    let product_seconds = before.min(product_seconds());

    // Nodes of a batch: the expected number of different ones among its ends.
    let (n, batches) = (view.graph().num_nodes() as f64, pairs.div_ceil(BATCH) as f64);
    let batch_nodes = n * (1.0 - (1.0 - 1.0 / n).powf(4.0 * pairs as f64 / batches));
    // Multiplications of a row: forward and by weights everywhere, and back to what was learnt before.
    let (f, w) = (view.features.cols() as f64, WIDTH as f64);
    let node = 2.0 * f * w + 2.0 * (w + SIGNAL as f64) * w + w * w;
    let pair = 3.0 * (2.0 * w * w + w);
    let operations = 2.0 * (batches * batch_nodes * node + 2.0 * pairs as f64 * pair);
    let alone = 6.0 * 2.0 * BATCH as f64 * w * w / product_seconds;
    let rate = operations / seconds;
    Ok(json!({
        "seconds": seconds, "pairs": pairs, "peak_bytes": peak_bytes(), "gflops": rate * 1e-9,
        "gemm_gflops": alone * 1e-9, "share_of_gemm_rate": rate / alone,
    }))
}

fn peak_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse().ok());
    1024 * peak.unwrap_or(0u64)
}
