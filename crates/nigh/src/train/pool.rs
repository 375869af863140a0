//! Worker threads that stay awake. An epoch over a small graph is some thirty steps of a few tens of microseconds each, and a
//! thread that slept between two of them takes longer than that to wake.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How long to wait for the other threads. Those that do not come are busy.
const GATHER_TIMEOUT: Duration = Duration::from_millis(2);

/// How often an idle thread polls for work before it yields its core: some ten microseconds.
const SPINS_BEFORE_YIELD: usize = 100;

thread_local! {
    /// Whether this thread works or waits already, and so must not wait in another call.
    static TAKEN: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work` on one thread of the pool while the others poll for its parallel steps. Called from outside the pool, each step
/// would wake a thread and sleep until it is done.
pub(super) fn on_the_pool<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    let watch = Watch { wanted: rayon::current_num_threads() - 1, ..Watch::default() };
    rayon::scope(|scope| {
        let _taken = Taken::new();
        (0..watch.wanted).for_each(|_| scope.spawn(|_| watch.keep()));
        watch.gather();
        // Also when the work panics.
        let _over = Over(&watch.is_over);
        work()
    })
}

#[derive(Default)]
struct Watch {
    wanted: usize,
    came: AtomicUsize,
    has_begun: AtomicBool,
    is_over: AtomicBool,
}

impl Watch {
    /// Waits for the others. There is no work yet, so each that comes is idle.
    fn gather(&self) {
        let start = Instant::now();
        while self.came.load(Ordering::Acquire) < self.wanted && start.elapsed() < GATHER_TIMEOUT {
            std::hint::spin_loop();
        }
        self.has_begun.store(true, Ordering::Release);
    }

    /// Executes parallel steps until the work is over.
    fn keep(&self) {
        if self.has_begun.load(Ordering::Acquire) || TAKEN.get() {
            return;
        }
        let _taken = Taken::new();
        self.came.fetch_add(1, Ordering::AcqRel);
        while !self.has_begun.load(Ordering::Acquire) {
            std::hint::spin_loop();
        }
        let mut idle = 0;
        while !self.is_over.load(Ordering::Acquire) {
            if rayon::yield_now() == Some(rayon::Yield::Executed) {
                idle = 0;
                continue;
            }
            idle += 1;
            std::hint::spin_loop();
            if idle > SPINS_BEFORE_YIELD {
                // Other programs may need the core.
                std::thread::yield_now();
            }
        }
    }
}

/// Marks the end when it is dropped.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// Marks this thread as taken until it is dropped.
struct Taken {
    before: bool,
}

impl Taken {
    fn new() -> Taken {
        Taken { before: TAKEN.replace(true) }
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        TAKEN.set(self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rayon::prelude::*;

    fn sum() -> u64 {
        on_the_pool(|| (0..100).map(|_| (0..10_000u64).into_par_iter().sum::<u64>()).sum())
    }

    #[test]
    fn concurrent_and_nested_calls_all_end() {
        for threads in [1, 2, 3, 8] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let expected = 100 * 49_995_000;
            assert_eq!(pool.install(sum), expected);
            let sums: Vec<u64> = pool.install(|| (0..16).into_par_iter().map(|_| sum()).collect());
            assert!(sums.iter().all(|&sum| sum == expected), "{threads} threads: {sums:?}");
            assert_eq!(pool.install(|| on_the_pool(sum)), expected);
        }
    }

    #[test]
    fn a_panic_ends_the_watch() {
        let result = std::panic::catch_unwind(|| on_the_pool(|| panic!("as asked")));
        assert!(result.is_err());
        assert_eq!(sum(), 100 * 49_995_000);
    }
}
