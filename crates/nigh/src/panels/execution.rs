//! How a run keeps to its memory.

use super::PanelPlan;
use crate::dataset::stored_without;
use crate::error::Result;
use crate::graph::Graph;
use crate::plan::PropagationEstimate;
use crate::source::hop_products::{GROUP, PANEL};
use std::path::{Path, PathBuf};

/// How a run keeps to its memory: how many columns are propagated together, and where graphs are that edges were taken from. It changes
/// no bit of any result.
#[derive(Debug, Clone)]
pub(crate) struct Execution {
    pub panels: PanelPlan,
    /// The folder of anonymous temporary files for graphs that stay on disk; `None` if there is no limit of memory.
    pub graph_in: Option<PathBuf>,
}

impl Default for Execution {
    /// Everything in memory.
    fn default() -> Execution {
        let (folder, progress) = (std::env::temp_dir(), Default::default());
        let panels = PanelPlan { width: usize::MAX, reads_edges: false, folder, progress };
        Execution { panels, graph_in: None }
    }
}

impl Execution {
    /// As an estimate says, with anonymous temporary files in this folder.
    pub fn of(estimate: &PropagationEstimate, folder: &Path) -> Execution {
        Execution { panels: estimate.plan(folder), graph_in: Some(folder.to_path_buf()) }
    }

    /// Edges stay on disk, with anonymous temporary files in this folder, if there is one; everything in memory otherwise.
    pub fn on_disk(folder: Option<&Path>) -> Execution {
        let memory = Execution::default();
        match folder {
            Some(folder) => Execution {
                panels: PanelPlan { reads_edges: true, folder: folder.to_path_buf(), ..memory.panels },
                graph_in: Some(folder.to_path_buf()),
            },
            None => memory,
        }
    }

    /// The graph without some of its edges. One in a file stays there if edges are read from it in every hop.
    pub fn without(&self, graph: &Graph, hidden: &[[u32; 2]]) -> Result<Graph> {
        match &self.graph_in {
            Some(folder) if graph.is_stored() && self.panels.reads_edges => stored_without(graph, hidden, folder),
            _ => Ok(graph.without_edges(hidden)),
        }
    }

    /// Columns that are propagated together where pairs are compared.
    pub fn columns(&self) -> usize {
        (self.panels.width / GROUP * GROUP).clamp(GROUP, PANEL)
    }
}
