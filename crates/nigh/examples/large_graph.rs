//! Draws a large graph with communities, whose degrees follow a power law, straight into a graph file.
//!
//! `cargo run --release --example large_graph -- graph.nigh NODES EDGES MEMORY`, for instance `... 10000000 100000000 2GiB`.

use nigh::Memory;
use nigh::dataset::generate::{PowerLaw, store_power_law};
use nigh::display::byte_size;
use std::error::Error;
use std::path::Path;
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, nodes, edges, memory] = &arguments[..] else { return Err("expected FILE NODES EDGES MEMORY".into()) };
    let shape = PowerLaw::new(nodes.parse()?, edges.parse()?);
    let (memory, started): (Memory, _) = (memory.parse()?, Instant::now());
    let stored = store_power_law(&shape, 1, Path::new(path), memory)?;
    println!(
        "{path}: {} nodes, {} edges, {}, {:.1} s",
        stored.num_nodes,
        stored.num_edges,
        byte_size(stored.num_bytes),
        started.elapsed().as_secs_f64()
    );
    Ok(())
}
