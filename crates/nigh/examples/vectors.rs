//! What vectors are worth: the cosines of several models' vectors on the same held-out links. For each graph and model it prints
//! the width of the vectors; AUC of the score; AUC of the cosines alone; and the rank correlation of the cosines with the
//! scores of `smp-proximity`.
//!
//! `NIGH_DATA=folder cargo run --release -p nigh --example vectors -- 3 cora usair`: three splits of each of these graphs;
//! without arguments, all graphs of docs/beyond.md.

use nigh::dataset::{Folders, InputFiles};
use nigh::display::AlignedTable;
use nigh::metric::{auc, rank_correlation};
use nigh::train::mean_and_std;
use nigh::{Config, Dataset, Matrix, Sample, Seeds, Split, Training};

/// Graphs, with the rules of the tables of docs/beyond.md.
const LINKS: &str = "protocol = \"ncn\"";
const UNATTRIBUTED: &str = "valid-fraction = 0.05\ntest-edges = \"training-and-validation\"";
const GRAPHS: [(&str, &str); 8] = [
    ("cora", LINKS),
    ("citeseer", LINKS),
    ("pubmed", LINKS),
    ("usair", UNATTRIBUTED),
    ("ns", UNATTRIBUTED),
    ("pb", UNATTRIBUTED),
    ("power", UNATTRIBUTED),
    ("router", UNATTRIBUTED),
];

/// Models whose vectors are compared, the one whose scores all are compared with first. The paper's width is 32; node2vec's own 128.
const MODELS: [(&str, &str); 5] = [
    ("smp-proximity", ""),
    ("smp-linear", ""),
    ("smp-linear", "signal-dim = 256\nwidth = 256"),
    ("node2vec", ""),
    ("node2vec", "signal-dim = 128"),
];

/// What one model gives on one split.
struct Answers {
    width: usize,
    scores: Vec<f32>,
    cosines: Vec<f32>,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let repeats: u64 = words.next().map_or(Ok(3), |word| word.parse())?;
    let wanted: Vec<String> = words.collect();
    let mut table = AlignedTable::new(&["graph, vectors of", "width", "AUC of score", "AUC of cosines", "correlation"]);
    for (name, rules) in GRAPHS.iter().filter(|(name, _)| wanted.is_empty() || wanted.iter().any(|word| word == name)) {
        let dataset = Dataset::load(name, &InputFiles::default(), &Folders::new(None))?;
        let mut figures: Vec<Vec<[f64; 3]>> = vec![Vec::new(); MODELS.len()];
        let mut widths = [0; MODELS.len()];
        for seed in 1..=repeats {
            let config = |at: usize| settings(&[rules, MODELS[at].1], MODELS[at].0, seed);
            let split = config(0)?.resolve(&dataset)?.draw_split(&dataset, Seeds::new(seed))?;
            let mut of_scores = Vec::new();
            for at in 0..MODELS.len() {
                let (answers, num_positive) = answers(&dataset, config(at)?, &split)?;
                if at == 0 {
                    of_scores = answers.scores.clone();
                }
                let auc_of = |scores: &[f32]| auc(&scores[..num_positive], &scores[num_positive..]);
                let correlation = rank_correlation(&answers.cosines, &of_scores).unwrap_or(0.0);
                figures[at].push([auc_of(&answers.scores), auc_of(&answers.cosines), correlation]);
                widths[at] = answers.width;
            }
        }
        for (at, (model, _)) in MODELS.iter().enumerate() {
            let mean = |column: usize| mean_and_std(&figures[at].iter().map(|row| row[column]).collect::<Vec<_>>()).0;
            let [score, cosines] = [0, 1].map(|column| format!("{:.1}", 100.0 * mean(column)));
            table.row(&[format!("{name}, {model}"), widths[at].to_string(), score, cosines, format!("{:.2}", mean(2))]);
        }
        eprintln!("{name} done");
    }
    print!("{table}");
    Ok(())
}

fn settings(texts: &[&str], model: &str, seed: u64) -> Result<Config, Box<dyn std::error::Error>> {
    let config = Config::from_table(texts.join("\n").parse()?)?;
    Ok(Config { model: model.into(), repeats: 1, seed, ..config })
}

/// Scores and cosines of the pairs of the test, the positive ones first, from the graph that the test may see.
fn answers(dataset: &Dataset, config: Config, split: &Split) -> Result<(Answers, usize), Box<dyn std::error::Error>> {
    let trained = Training::new(dataset, config)?.split(split.clone()).run()?;
    let Split::Pairs(parts) = split else { return Err("links are pairs".into()) };
    let test = &parts.test()[0];
    let pairs = [&test.question.positive[..], &test.question.negative].concat();
    let sample = Sample { graph: test.view.graph().clone().into(), ..dataset.samples[0].clone() };
    let visible = Dataset { samples: vec![sample], ..dataset.clone() };
    let session = trained.session(&visible)?;
    let scores = session.scores(&pairs)?;
    let vectors = session.vectors()?.matrix;
    let cosines = pairs.iter().map(|&pair| cosine(&vectors, pair)).collect();
    Ok((Answers { width: vectors.cols(), scores, cosines }, test.question.positive.len()))
}

fn cosine(vectors: &Matrix, pair: [u32; 2]) -> f32 {
    let [a, b] = pair.map(|node| vectors.row(node as usize));
    let product = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
    let lengths = (product(a, a) * product(b, b)).sqrt();
    if lengths > 0.0 { product(a, b) / lengths } else { 0.0 }
}
