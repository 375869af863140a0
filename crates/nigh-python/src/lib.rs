//! `nigh._nigh`: the engine as Python sees it. What users call is in `python/nigh`, which turns their objects into arrays and
//! gives answers the names of their nodes.

mod arrow;
mod errors;
mod experiments;
mod fit_graph;
mod graph;
mod ids;
mod memory;
mod model;
mod program;
mod settings;
mod shards;
mod splits;
mod work;

use pyo3::prelude::*;

#[pymodule]
mod _nigh {
    #[pymodule_export]
    use crate::arrow::{UnreadColumn, read_arrow};
    #[pymodule_export]
    use crate::experiments::{certify, compare, datasets, fetch, models, report, reproduce, settings};
    #[pymodule_export]
    use crate::fit_graph::{fit_nodes, fit_pairs};
    #[pymodule_export]
    use crate::graph::Graph;
    #[pymodule_export]
    use crate::memory::{check_memory, estimate};
    #[pymodule_export]
    use crate::model::{Embedding, Model, train};
    #[pymodule_export]
    use crate::program::program;
    #[pymodule_export]
    use crate::shards::{drawn_signal, file_digest, memory_bytes, run_task, training_settings, worker_memory};
    #[pymodule_export]
    use crate::splits::{given_split, split, with_split, with_split_folder, write_split};

    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "Python's name")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
