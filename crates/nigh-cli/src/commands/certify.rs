//! `nigh certify`: the bound of Theorem 2 on a graph, and the error measured there.

use super::{load, print, print_json};
use crate::cli::Certify;
use crate::progress;
use anyhow::Result;
use nigh::estimate;
use nigh::graph::proximity;
use nigh::plan::{Workload, too_little, total};
use nigh::report::aligned_table::AlignedTable;
use nigh::{Error, Memory, Operator};
use serde_json::json;

/// Larger widths are measured only on request: they take long and change little.
const MAX_DEFAULT_WIDTH: f64 = 65_536.0;

/// Columns of E that `estimate::measure` propagates at a time.
const MEASURED_AT_A_TIME: usize = estimate::COLUMNS;

pub fn run(options: &Certify, quiet: bool) -> Result<()> {
    let Certify { epsilon, delta, hops, signal, pairs, seed, .. } = *options;
    if !(epsilon.is_finite() && epsilon > 0.0) {
        return Err(Error::setting("epsilon", epsilon, "expected a number above 0").into());
    }
    if !(delta > 0.0 && delta < 1.0) {
        return Err(Error::setting("delta", delta, "expected a probability between 0 and 1").into());
    }
    let counts =
        [("hops", hops, 16), ("pairs", pairs, 1 << 24), ("signal-dim", options.signal_dim.unwrap_or(1), 1 << 22)];
    for (name, value, most) in counts {
        if !(1..=most).contains(&value) {
            return Err(Error::setting(name, value, format!("expected a whole number from 1 to {most}")).into());
        }
    }
    let dataset = load(&options.data, quiet)?;
    let [sample] = &dataset.samples[..] else {
        let count = dataset.samples.len();
        return Err(Error::SeveralGraphs { count }.into());
    };
    let graph = &sample.graph;
    if let Some(memory) = options.memory {
        // Columns are measured some at a time.
        let workload =
            Workload { id_bytes: sample.ids.num_bytes(), ..Workload::of_graph(graph, MEASURED_AT_A_TIME, hops) };
        let needed = total(&workload.inference());
        if needed > memory.bytes() {
            return Err(too_little(memory, Memory::new(needed), "a sample of the edges would do").into());
        }
    }
    let operator = Operator::symmetric(graph.clone());
    let max_norm = proximity::max_row_norm(&operator, hops);
    let sufficient = estimate::sufficient_width(max_norm, epsilon, delta).ceil();
    let dim = match options.signal_dim {
        Some(dim) => dim,
        None => sufficient.min(MAX_DEFAULT_WIDTH) as usize,
    };
    let bar = progress::bar(dim as u64, quiet).with_prefix("columns of E");
    let sample = estimate::sample_pairs(graph, hops, pairs, seed);
    let measured = estimate::measure(&operator, hops, signal, dim, &sample, seed, |done| bar.set_position(done as u64));
    bar.finish_and_clear();
    let within = estimate::share_within(&measured, epsilon);
    let mut errors: Vec<f64> = measured.iter().map(|pair| pair.error()).collect();
    errors.sort_by(f64::total_cmp);
    let mean = errors.iter().sum::<f64>() / errors.len() as f64;
    let quantile = errors[((1.0 - delta) * (errors.len() - 1) as f64).round() as usize];
    let largest = errors[errors.len() - 1];
    if options.json {
        return print_json(&json!({
            "dataset": dataset.name,
            "num_nodes": graph.num_nodes(),
            "num_edges": graph.num_edges(),
            "hops": hops,
            "epsilon": epsilon,
            "delta": delta,
            "max_row_norm": max_norm,
            "sufficient_width": sufficient,
            "signal": signal,
            "signal_dim": dim,
            "num_pairs": errors.len(),
            "mean_error": mean,
            "quantile_error": quantile,
            "max_error": largest,
            "share_within_epsilon": within,
        }));
    }
    let mut table = AlignedTable::new(&["error of <Ẽ_i, Ẽ_j>", &format!("at d = {dim}")]);
    table.row(&["mean".to_string(), format!("{mean:.5}")]);
    table.row(&[format!("{:.4} quantile", 1.0 - delta), format!("{quantile:.5}")]);
    table.row(&["largest".to_string(), format!("{largest:.5}")]);
    table.row(&[format!("share below {epsilon}"), format!("{within:.4}")]);
    let verdict = match (dim as f64 >= sufficient, within > 1.0 - delta) {
        (true, true) => format!("The guarantee of {:.4} holds.", 1.0 - delta),
        (false, true) => {
            "The theorem requires more, but this width is sufficient here: the bound is not tight.".to_string()
        }
        (_, false) => "This width is not sufficient on this graph.".to_string(),
    };
    print(&format!(
        "{}: {} nodes, {} edges, K = {hops}\n\n\
         max |row of Ã^{hops}|        {max_norm:.4}\n\
         Theorem 2 requires d >= {sufficient:.0}   (epsilon = {epsilon}, delta = {delta})\n\n\
         Measured with a {signal} E against the exact proximity of {} pairs at most {} hops apart:\n\n\
         {table}\n{verdict}\n",
        dataset.name,
        graph.num_nodes(),
        graph.num_edges(),
        errors.len(),
        2 * hops,
    ))
}
