//! Threads that work for one call, and the switch that stops it.
//!
//! Everything in this crate that works on several threads does so on those of rayon's pool that it is called in, with the same
//! bits on any number of threads. Outside of [`run`] that is rayon's global pool, which a forked process can't use: its threads
//! stayed behind in the parent. The pools of [`run`] belong to the process that started them.
//!
//! ```
//! use nigh::threads::{self, Interrupt};
//! use nigh::{Config, Dataset, Error, Training};
//!
//! let dataset = Dataset::built_in("communities")?;
//! let config = Config { epochs: 3.into(), repeats: 1, ..Config::default() };
//! let interrupt = Interrupt::new();
//! let trained = threads::run(Some(2), &interrupt, || Training::new(&dataset, config.clone())?.run())?;
//! assert_eq!(trained.summary.repeats.len(), 1);
//! interrupt.trip();
//! let stopped = threads::run(Some(2), &interrupt, || Training::new(&dataset, config)?.run());
//! assert!(matches!(stopped, Err(Error::Interrupted)));
//! # Ok::<(), Error>(())
//! ```

use crate::error::{Error, Result};
pub use nigh_formats::interrupt::{Interrupt, check};
use nigh_formats::interrupt::{Stopped, Watched, catch};
use std::sync::Mutex;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// The most threads that a pool may have.
pub const MAX_THREADS: usize = 1024;

/// How often `run_polling` polls.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Pools that nobody uses at the moment, so that short calls need not start threads.
static IDLE: Mutex<Vec<Pool>> = Mutex::new(Vec::new());

struct Pool {
    /// The process that has its threads.
    process: u32,
    /// As many as there are cores, if none is given.
    threads: Option<usize>,
    pool: rayon::ThreadPool,
    watched: Watched,
}

/// Runs `work` on so many threads, by default one per core. When `interrupt` is tripped, meanwhile or before, the work stops
/// within a fraction of a second, and the result is [`Error::Interrupted`]. A graph file that can no longer be read stops it, too.
pub fn run<T: Send, E: From<Error> + Send>(
    threads: Option<usize>,
    interrupt: &Interrupt,
    work: impl FnOnce() -> std::result::Result<T, E> + Send,
) -> std::result::Result<T, E> {
    Pool::take(threads)?.watching(interrupt, |pool| pool.install(|| checked(work)))
}

/// As `run`; meanwhile the calling thread, which does nothing else, calls `poll` twenty times a second. The work stops when it
/// returns true.
pub fn run_polling<T: Send, E: From<Error> + Send>(
    threads: Option<usize>,
    interrupt: &Interrupt,
    mut poll: impl FnMut() -> bool,
    work: impl FnOnce() -> std::result::Result<T, E> + Send,
) -> std::result::Result<T, E> {
    Pool::take(threads)?.watching(interrupt, |pool| {
        let (done, result) = channel();
        pool.in_place_scope(|scope| {
            scope.spawn(move |_| drop(done.send(checked(work))));
            loop {
                match result.recv_timeout(POLL_INTERVAL) {
                    Ok(result) => return result,
                    Err(RecvTimeoutError::Timeout) if interrupt.is_tripped() => {}
                    Err(RecvTimeoutError::Timeout) => {
                        if poll() {
                            interrupt.trip();
                        }
                    }
                    // The work panicked, and so will the end of the scope.
                    Err(RecvTimeoutError::Disconnected) => return Err(Stopped::Interrupted),
                }
            }
        })
    })
}

/// What comes of work that does not even begin if it is interrupted already.
fn checked<R>(work: impl FnOnce() -> R) -> std::result::Result<R, Stopped> {
    catch(|| {
        check();
        work()
    })
}

impl Pool {
    /// A pool for one call.
    fn take(threads: Option<usize>) -> Result<Pool> {
        if let Some(number) = threads.filter(|number| !(1..=MAX_THREADS).contains(number)) {
            let problem = format!("expected a whole number from 1 to {MAX_THREADS}");
            return Err(Error::setting("threads", number, problem));
        }
        let process = std::process::id();
        // A process that was forked while another thread had the lock would wait for ever.
        if let Ok(mut idle) = IDLE.try_lock() {
            // The threads of other processes are not here to be ended.
            idle.extract_if(.., |pool| pool.process != process).for_each(std::mem::forget);
            if let Some(at) = idle.iter().position(|pool| pool.threads == threads) {
                return Ok(idle.swap_remove(at));
            }
        }
        let watched = Watched::default();
        let on_threads = watched.clone();
        let builder = rayon::ThreadPoolBuilder::new().num_threads(threads.unwrap_or(0));
        let builder = builder.thread_name(|number| format!("nigh-{number}"));
        let pool = builder.start_handler(move |_| on_threads.by_this_thread()).build().map_err(|error| {
            let asked = threads.map_or("one per core".to_string(), |threads| threads.to_string());
            Error::setting("threads", asked, format!("they can't be started: {error}"))
        })?;
        Ok(Pool { process, threads, pool, watched })
    }

    /// Runs work that stops when one of the switches is tripped: this one, and those that the caller's thread watches.
    fn watching<T, E: From<Error>>(
        self,
        interrupt: &Interrupt,
        work: impl FnOnce(&rayon::ThreadPool) -> std::result::Result<std::result::Result<T, E>, Stopped>,
    ) -> std::result::Result<T, E> {
        let mut interrupts = Watched::here();
        interrupts.push(interrupt.clone());
        self.watched.set(interrupts);
        let result = work(&self.pool);
        self.watched.set(Vec::new());
        if let Ok(mut idle) = IDLE.try_lock()
            && idle.iter().all(|pool| pool.threads != self.threads)
        {
            idle.push(self);
        }
        result.map_err(|stopped| Error::from(stopped).into()).flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rayon::prelude::*;
    use std::time::Instant;

    /// Works for ever, on all threads.
    fn endless() -> Result<()> {
        (0..64).into_par_iter().for_each(|_| {
            loop {
                check();
                std::thread::yield_now();
            }
        });
        Ok(())
    }

    #[test]
    fn work_runs_on_as_many_threads_as_asked_for() {
        for threads in [1, 3, 2, 3] {
            let found = run(Some(threads), &Interrupt::new(), || Ok::<_, Error>(rayon::current_num_threads()));
            assert_eq!(found.unwrap(), threads);
        }
        for threads in [0, MAX_THREADS + 1] {
            let error = run(Some(threads), &Interrupt::new(), || Ok::<_, Error>(())).unwrap_err();
            assert_eq!(
                error.to_string(),
                format!("`threads` is {threads}, but expected a whole number from 1 to 1024")
            );
        }
    }

    #[test]
    fn a_tripped_switch_stops_its_own_work_and_what_it_calls_and_no_other() {
        let (mine, other) = (Interrupt::new(), Interrupt::new());
        std::thread::scope(|scope| {
            let stopped = scope.spawn(|| run(Some(2), &mine, || run(Some(2), &Interrupt::new(), endless)));
            let lasting = scope.spawn(|| run(Some(2), &other, endless));
            std::thread::sleep(Duration::from_millis(20));
            mine.trip();
            assert!(matches!(stopped.join().unwrap(), Err(Error::Interrupted)));
            assert!(!lasting.is_finished());
            other.trip();
            assert!(matches!(lasting.join().unwrap(), Err(Error::Interrupted)));
        });
        assert!(matches!(run(None, &mine, || Ok::<_, Error>(())), Err(Error::Interrupted)), "it does not begin");
        assert!(run(Some(2), &Interrupt::new(), || Ok::<_, Error>(())).is_ok(), "the pool forgets");
    }

    #[test]
    fn the_calling_thread_polls_and_stops() {
        let (caller, mut polls, started) = (std::thread::current().id(), 0, Instant::now());
        let poll = || {
            assert_eq!(std::thread::current().id(), caller);
            polls += 1;
            polls == 3
        };
        assert!(matches!(run_polling(Some(2), &Interrupt::new(), poll, endless), Err(Error::Interrupted)));
        assert!(polls == 3 && started.elapsed() >= 2 * POLL_INTERVAL);
        assert_eq!(run_polling(None, &Interrupt::new(), || false, || Ok::<_, Error>(7)).unwrap(), 7);
        let failed = run_polling(None, &Interrupt::new(), || false, || Err::<(), _>(Error::NotSparse));
        assert!(matches!(failed, Err(Error::NotSparse)));
    }

    #[test]
    fn a_panic_stays_a_panic() {
        let work = || -> Result<()> { panic!("as asked") };
        assert!(std::panic::catch_unwind(|| run(Some(2), &Interrupt::new(), work)).is_err());
        assert!(std::panic::catch_unwind(|| run_polling(Some(2), &Interrupt::new(), || false, work)).is_err());
    }
}
