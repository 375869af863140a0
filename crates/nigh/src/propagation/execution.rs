//! How a run keeps to its memory.

use super::PanelPlan;
use super::levels::LevelsBy;
use crate::propagation::CostEstimate;
use crate::propagation::products::{GROUP, PANEL};
use std::path::{Path, PathBuf};

/// How a run keeps to its memory: how many columns are propagated together, and where graphs are that edges were taken from. It changes
/// no bit of any result.
#[derive(Debug, Clone)]
pub(crate) struct Execution {
    pub panels: PanelPlan,
    /// The folder of anonymous temporary files for graphs that stay on disk; `None` if there is no limit of memory.
    pub graph_in: Option<PathBuf>,
    /// Who computes what is propagated for several hops.
    pub levels_by: LevelsBy,
}

impl Default for Execution {
    /// Everything in memory.
    fn default() -> Execution {
        let (folder, progress) = (std::env::temp_dir(), Default::default());
        let panels = PanelPlan { width: usize::MAX, reads_edges: false, folder, progress };
        Execution { panels, graph_in: None, levels_by: LevelsBy::default() }
    }
}

impl Execution {
    /// As an estimate says, with anonymous temporary files in this folder.
    pub fn of(estimate: &CostEstimate, folder: &Path) -> Execution {
        Execution { panels: estimate.plan(folder), graph_in: Some(folder.to_path_buf()), ..Execution::default() }
    }

    /// Edges stay on disk, with anonymous temporary files in this folder, if there is one; everything in memory otherwise.
    pub fn on_disk(folder: Option<&Path>) -> Execution {
        let memory = Execution::default();
        match folder {
            Some(folder) => Execution {
                panels: PanelPlan { reads_edges: true, folder: folder.to_path_buf(), ..memory.panels.clone() },
                graph_in: Some(folder.to_path_buf()),
                ..memory
            },
            None => memory,
        }
    }

    /// Whether rows after hops are only asked for, and not there.
    pub fn is_recording(&self) -> bool {
        matches!(self.levels_by, LevelsBy::Requests(_))
    }

    /// Columns that are propagated together where pairs are compared.
    pub fn columns(&self) -> usize {
        (self.panels.width / GROUP * GROUP).clamp(GROUP, PANEL)
    }
}
