//! Reads a graph from a file and says how long it took and how much memory. `benches/reading` runs it beside peers.

use nigh::Dataset;
use nigh::dataset::InputFiles;
use std::path::Path;
use std::time::Instant;

fn main() {
    // `cargo bench` adds an option of its own.
    let Some(path) = std::env::args().skip(1).find(|argument| !argument.starts_with('-')) else {
        println!("give the path of a file of edges; `benches/reading` does so");
        return;
    };
    let start = Instant::now();
    let dataset = Dataset::from_files(Path::new(&path), &InputFiles::default()).expect("a readable graph");
    let seconds = start.elapsed().as_secs_f64();
    let (nodes, edges) = (dataset.num_nodes(), dataset.num_edges());
    let graph_bytes = 8 * (nodes + 1) + 2 * 4 * edges;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse().ok());
    let peak_bytes = 1024 * peak.unwrap_or(0u64);
    println!(
        "{{\"seconds\": {seconds:.3}, \"nodes\": {nodes}, \"edges\": {edges}, \"graph_bytes\": {graph_bytes}, \
         \"peak_bytes\": {peak_bytes}}}"
    );
}
