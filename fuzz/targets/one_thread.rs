//! Readers of graphs hand work to other threads. For a file of a few bytes that takes longer than the work.

/// The calling thread does it all from now on.
pub fn work_here() {
    rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build_global().expect("no pool before");
}
