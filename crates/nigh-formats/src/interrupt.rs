//! Stopping long work: from outside, as Ctrl-C does, or because memory is short.
//!
//! Loops that may take long call [`check`] once per block of work. After [`Interrupt::trip`] the next check unwinds the stack
//! to [`catch`], without a message: everything in between is dropped as after an error, on all threads of the work. So no
//! function in between has to return an error for it, and none computes with half of a result. A program that is compiled with
//! `panic = "abort"` ends there. [`fail`] takes the same path, for a file that can no longer be read in the midst of such work.

use crate::error::Error;
use crate::memory::TooLarge;
use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A switch that stops the work that watches it. Clones are the same switch.
#[derive(Debug, Clone, Default)]
pub struct Interrupt(Arc<Switch>);

#[derive(Debug, Default)]
struct Switch {
    is_tripped: AtomicBool,
    /// So many more checks pass, if it trips by itself.
    checks_left: Option<AtomicUsize>,
}

/// Why work was stopped.
#[derive(Debug, thiserror::Error)]
pub enum Stopped {
    /// From outside.
    #[error("interrupted")]
    Interrupted,
    /// It needs more memory than is left.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
    /// By a file that could be opened, and can't be read.
    #[error(transparent)]
    Failed(#[from] Error),
}

impl Interrupt {
    /// A switch that is not tripped.
    pub fn new() -> Interrupt {
        Interrupt::default()
    }

    /// Trips by itself after so many checks: a test meets every one of them.
    #[doc(hidden)]
    pub fn after_checks(count: usize) -> Interrupt {
        Interrupt(Arc::new(Switch { checks_left: Some(AtomicUsize::new(count)), ..Switch::default() }))
    }

    /// Stops the work, from any thread or signal handler.
    pub fn trip(&self) {
        self.0.is_tripped.store(true, Ordering::Relaxed);
    }

    /// Whether the work is to stop, or was.
    pub fn is_tripped(&self) -> bool {
        self.0.is_tripped.load(Ordering::Relaxed)
    }

    fn passes(&self) -> bool {
        if let Some(left) = &self.0.checks_left
            && left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_err()
        {
            self.trip();
        }
        !self.is_tripped()
    }
}

/// The switches that the threads of a pool watch; those of the work that they do now.
#[derive(Debug, Clone, Default)]
pub struct Watched(Arc<Switches>);

#[derive(Debug, Default)]
struct Switches {
    list: Mutex<Vec<Interrupt>>,
    /// How often the list was replaced.
    version: AtomicUsize,
}

/// What a thread knows of the switches that it watches. A check only reads what all threads share, or it would slow down many.
#[derive(Debug)]
struct Known {
    watched: Watched,
    version: usize,
    list: Vec<Interrupt>,
}

thread_local! {
    static KNOWN: RefCell<Option<Known>> = const { RefCell::new(None) };
}

impl Watched {
    /// From now on this thread watches these switches, whichever they are at the time of a check.
    pub fn by_this_thread(&self) {
        let (version, list) = self.current();
        KNOWN.replace(Some(Known { watched: self.clone(), version, list }));
    }

    /// Those that this thread watches.
    pub fn here() -> Vec<Interrupt> {
        KNOWN.with_borrow_mut(|known| known.as_mut().map(|known| known.list().to_vec())).unwrap_or_default()
    }

    /// Watches other switches.
    pub fn set(&self, interrupts: Vec<Interrupt>) {
        let mut list = self.0.list.lock().unwrap_or_else(PoisonError::into_inner);
        *list = interrupts;
        self.0.version.fetch_add(1, Ordering::Release);
    }

    fn current(&self) -> (usize, Vec<Interrupt>) {
        let list = self.0.list.lock().unwrap_or_else(PoisonError::into_inner);
        (self.0.version.load(Ordering::Acquire), list.clone())
    }
}

impl Known {
    fn list(&mut self) -> &[Interrupt] {
        if self.watched.0.version.load(Ordering::Acquire) != self.version {
            (self.version, self.list) = self.watched.current();
        }
        &self.list
    }
}

/// Stops here if a switch that this thread watches was tripped: the call does not return, and `catch` does. It takes some
/// nanoseconds, so it belongs to a block of work and not to a single edge.
pub fn check() {
    let passes = KNOWN.with_borrow_mut(|known| {
        let mut watched = known.iter_mut().flat_map(|known| known.list());
        watched.all(Interrupt::passes)
    });
    // A destructor that works while the stack unwinds must end.
    if !passes && !std::thread::panicking() {
        stop(Stopped::Interrupted);
    }
}

/// How many calls of `catch` are under way.
static CATCHING: AtomicUsize = AtomicUsize::new(0);

/// Unwinds the stack to `catch`. Where nobody catches, it is a panic with a message.
pub fn stop(reason: Stopped) -> ! {
    if CATCHING.load(Ordering::Relaxed) == 0 {
        panic!("{reason}");
    }
    panic::resume_unwind(Box::new(reason))
}

/// Stops the work with the error of a file that could be opened and can't be read, which `catch` returns.
pub fn fail(error: Error) -> ! {
    stop(Stopped::Failed(error))
}

/// The result of work, or why it was stopped. A panic stays a panic.
pub fn catch<T>(work: impl FnOnce() -> T) -> Result<T, Stopped> {
    CATCHING.fetch_add(1, Ordering::Relaxed);
    // What the work has changed is dropped, or checked by its owner as after an error.
    let result = panic::catch_unwind(AssertUnwindSafe(work));
    CATCHING.fetch_sub(1, Ordering::Relaxed);
    result.map_err(|payload| match payload.downcast::<Stopped>() {
        Ok(reason) => *reason,
        Err(other) => panic::resume_unwind(other),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_pass_until_a_watched_switch_is_tripped() {
        let (mine, other) = (Interrupt::new(), Interrupt::new());
        let watched = Watched::default();
        watched.set(vec![mine.clone()]);
        std::thread::spawn(move || {
            check();
            watched.by_this_thread();
            other.trip();
            assert!(catch(check).is_ok());
            mine.clone().trip();
            assert!(matches!(catch(check), Err(Stopped::Interrupted)));
            watched.set(Vec::new());
            assert!(catch(check).is_ok());
            watched.set(vec![Interrupt::after_checks(2)]);
            assert!(catch(|| (0..5).map(|at| (check(), at).1).collect::<Vec<_>>()).is_err());
            watched.set(vec![Interrupt::after_checks(5)]);
            assert!(catch(|| (0..5).for_each(|_| check())).is_ok());
        })
        .join()
        .unwrap();
        assert!(panic::catch_unwind(|| catch(|| panic!("as asked"))).is_err(), "a panic is no interruption");
    }

    #[test]
    fn a_file_that_fails_stops_the_work_of_all_threads_with_its_error() {
        use rayon::prelude::*;
        let broken = || Error::file(std::path::Path::new("x.nigh"), "is broken");
        let work = || {
            (0..1_000).into_par_iter().for_each(|at| {
                if at % 100 == 7 {
                    fail(broken())
                }
            })
        };
        let stopped = catch(work).unwrap_err();
        assert!(matches!(&stopped, Stopped::Failed(_)) && stopped.to_string() == "x.nigh: is broken");
    }
}
