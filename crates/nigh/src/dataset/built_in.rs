//! The graphs that need no file.

use super::{Counts, Dataset, Features, PaperDefaults, generate};
use crate::error::Result;
use crate::linalg::SparseMatrix;
use crate::names::one_of;
use crate::source::SignalScale;

/// Their names, and a line about each.
pub const BUILT_IN: &[(&str, &str)] = &[
    ("grid", "20 × 20 grid, 400 nodes, no features"),
    ("communities", "20 cliques of 20 in a ring, 1 % of the edges rewired; label = clique"),
    ("leaders", "400 nodes in 10 communities, active or inactive; label = both"),
    ("leaders-community", "the same graph; label = community"),
    ("leaders-status", "the same graph; label = active or inactive"),
    ("ppa-sized", "as large as ogbl-ppa: 30 million edges, most of them inside communities; one of 58 species a node"),
];

impl Counts {
    /// The counts of `ppa-sized`, which takes seconds to generate.
    pub const PPA_SIZED: Counts = Counts { graphs: 1, nodes: 576_289, edges: 30_326_273, features: 58, classes: 0 };
}

/// Built-in graphs are the same for everyone.
const BUILT_IN_SEED: u64 = 0;

impl Dataset {
    /// A graph as large as ogbl-ppa, with this share of edges between communities.
    pub fn ppa_sized(name: &str, across: f32) -> Result<Dataset> {
        let Counts { nodes, edges, features, .. } = Counts::PPA_SIZED;
        let shape = generate::PowerLaw { across, exponent: 3.0, ..generate::PowerLaw::new(nodes, edges) };
        let mut dataset = Dataset::from_graph(name, generate::power_law(&shape, 1)?.graph);
        let species: Vec<_> = (0..nodes).map(|i| vec![((i * 31 % features) as u32, 1.0)]).collect();
        dataset.samples[0].features = Features::Sparse(SparseMatrix::from_rows(&species, features).into());
        Ok(dataset)
    }

    /// One of `BUILT_IN`.
    pub fn built_in(name: &str) -> Result<Dataset> {
        let known: Vec<&str> = BUILT_IN.iter().map(|known| known.0).collect();
        one_of("graph", name, &known)?;
        let paper_defaults =
            PaperDefaults { signal_scale: Some(SignalScale::Unit), per_class: Some([5, 5, 0]), graphs: None };
        Ok(match name {
            "grid" => Dataset::from_graph(name, generate::grid(20, 20)),
            "communities" => {
                let generated = generate::communities(20, 20, 0.01, BUILT_IN_SEED);
                let dataset = Dataset::from_graph(name, generated.graph);
                let paper_defaults = PaperDefaults { per_class: Some([5, 5, 10]), ..PaperDefaults::default() };
                let words = (0..20).map(|c| format!("clique-{c}")).collect();
                Dataset { paper_defaults, ..dataset.with_labels(&generated.labels, words) }
            }
            "ppa-sized" => Dataset::ppa_sized(name, 0.2)?,
            leaders => {
                let generated = generate::leaders(&generate::Leaders::default(), BUILT_IN_SEED);
                let dataset = Dataset { paper_defaults, ..Dataset::from_graph(name, generated.graph) };
                let status = |active: u32| if active == 1 { "active" } else { "inactive" };
                match leaders {
                    "leaders-community" => {
                        dataset.with_labels(&generated.community, (0..10).map(|c| format!("community-{c}")).collect())
                    }
                    "leaders-status" => {
                        dataset.with_labels(&generated.active, (0..2).map(|s| status(s).to_string()).collect())
                    }
                    _ => {
                        let both = generated.community.iter().zip(&generated.active).map(|(c, a)| 2 * c + a);
                        let words = (0..20).map(|class| format!("community-{}-{}", class / 2, status(class % 2)));
                        dataset.with_labels(&both.collect::<Vec<_>>(), words.collect())
                    }
                }
            }
        })
    }
}
