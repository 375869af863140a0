//! `nigh certify`: the bound of Theorem 2 on a graph, and the error measured there.

use super::propagate::peak;
use super::{load, print, print_json, print_notes};
use crate::cli::Certify;
use crate::progress;
use anyhow::Result;
use nigh::Error;
use nigh::certify::{Certificate, Certification};
use nigh::display::AlignedTable;
use serde_json::json;

pub fn run(options: &Certify, quiet: bool) -> Result<()> {
    let Certify { epsilon, delta, hops, signal_dim, signal, pairs, seed, .. } = *options;
    let certification = Certification { epsilon, delta, hops, signal, signal_dim, pairs, seed };
    certification.check()?;
    let dataset = load(&options.data, quiet)?;
    let [sample] = &dataset.samples[..] else {
        let count = dataset.samples.len();
        return Err(Error::SeveralGraphs { count }.into());
    };
    let graph = &sample.graph;
    let plan = certification.plan(graph, sample.ids.num_bytes(), options.memory)?;
    print_notes(&[plan.estimate.to_string()], quiet || options.memory.is_none());
    let bar = progress::bar(0, quiet).with_prefix("columns of E");
    let certificate = certification.run(graph, &plan, |done, columns| {
        bar.set_length(columns as u64);
        bar.set_position(done as u64);
    })?;
    bar.finish_and_clear();
    print_notes(&[peak()], quiet || options.memory.is_none());
    if options.json {
        let mut shown = json!(certificate);
        shown["dataset"] = json!(dataset.name);
        shown["num_nodes"] = json!(graph.num_nodes());
        shown["num_edges"] = json!(graph.num_edges());
        return print_json(&shown);
    }
    let Certificate { signal_dim: dim, sufficient_width: sufficient, .. } = certificate;
    let mut table = AlignedTable::new(&["error of <Ẽ_i, Ẽ_j>", &format!("at d = {dim}")]);
    table.row(&["mean".to_string(), format!("{:.5}", certificate.mean_error)]);
    table.row(&[format!("{:.4} quantile", 1.0 - delta), format!("{:.5}", certificate.quantile_error)]);
    table.row(&["largest".to_string(), format!("{:.5}", certificate.max_error)]);
    table.row(&[format!("share below {epsilon}"), format!("{:.4}", certificate.share_within_epsilon)]);
    let verdict = match (dim as f64 >= sufficient, certificate.holds()) {
        (true, true) => format!("The guarantee of {:.4} holds.", 1.0 - delta),
        (false, true) => {
            "The theorem requires more, but this width is sufficient here: the bound is not tight.".to_string()
        }
        (_, false) => "This width is not sufficient on this graph.".to_string(),
    };
    let exactness = if certificate.max_row_norm_is_exact { "" } else { " at most, with probability 0.999" };
    print(&format!(
        "{}: {} nodes, {} edges, K = {hops}\n\n\
         max |row of Ã^{hops}|        {:.4}{exactness}\n\
         Theorem 2 requires d >= {sufficient:.0}   (epsilon = {epsilon}, delta = {delta})\n\n\
         Measured with a {signal} E against the exact proximity of {} pairs at most {} hops apart:\n\n\
         {table}\n{verdict}\n",
        dataset.name,
        graph.num_nodes(),
        graph.num_edges(),
        certificate.max_row_norm,
        certificate.num_pairs,
        2 * hops,
    ))
}
