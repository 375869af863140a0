//! Draws a large graph with communities, whose degrees follow a power law, straight into a graph file.
//!
//! `cargo run --release --example large_graph -- graph.nigh NODES DRAWS MEMORY`, for instance `... 6000000 120000000 2GiB`. Edges that are
//! drawn again are merged, and nodes without an edge are left out: some fifth less than was drawn.

use nigh::Memory;
use nigh::dataset::generate::{PowerLaw, store_power_law};
use nigh::display::byte_size;
use std::error::Error;
use std::path::Path;
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, nodes, draws, memory] = &arguments[..] else { return Err("expected FILE NODES DRAWS MEMORY".into()) };
    let shape = PowerLaw::new(nodes.parse()?, draws.parse()?);
    // Communities of a thousand nodes: smaller ones would draw most of their edges again and again.
    let shape = PowerLaw { num_communities: (shape.num_nodes / 1000).max(1), ..shape };
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
