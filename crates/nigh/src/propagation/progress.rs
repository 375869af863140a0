//! How much of a propagation is done.

use std::cell::Cell;
use std::fmt;
use std::sync::Arc;

/// Called with the entries that are done and their total, some times a second; nobody by default.
#[derive(Clone, Default)]
pub struct PanelProgress(Option<Arc<dyn Fn(u64, u64) + Send + Sync>>);

impl PanelProgress {
    /// Calls this.
    pub fn new(report: impl Fn(u64, u64) + Send + Sync + 'static) -> PanelProgress {
        PanelProgress(Some(Arc::new(report)))
    }

    /// Nothing done yet of so many entries.
    pub(super) fn begin(&self, total: u64) -> DoneEntries<'_> {
        DoneEntries { report: self.0.as_deref(), done: Cell::new(0), total }
    }
}

impl fmt::Debug for PanelProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PanelProgress({})", if self.0.is_some() { "reported" } else { "nobody" })
    }
}

/// Entries of all hops that are done.
pub(super) struct DoneEntries<'a> {
    report: Option<&'a (dyn Fn(u64, u64) + Send + Sync)>,
    done: Cell<u64>,
    total: u64,
}

impl DoneEntries<'_> {
    pub fn add(&self, rows: usize, cols: usize) {
        if let Some(report) = self.report {
            self.done.set(self.done.get() + rows as u64 * cols as u64);
            report(self.done.get(), self.total);
        }
    }
}
