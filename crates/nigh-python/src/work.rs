//! Long work: without Python's lock, on threads of its own, and stopped by Ctrl-C.

use crate::errors::{exception, panicked};
use nigh::dataset::fetch::FetchObserver;
use nigh::formats::interrupt::catch;
use nigh::threads::{self, Interrupt};
use nigh::train::{Evaluation, Observer, Progress, Run, Stage};
use nigh_paper::{ComparedRepeat, ComparisonObserver, PlannedRepeat, Record, ReproductionObserver};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::time::{Duration, Instant};

/// How often signals are looked at, and how often progress is shown.
const INTERVAL: Duration = Duration::from_millis(50);

/// Runs `work` on so many threads, by default one per core, while other threads of Python go on. `watch` is called with a
/// dictionary as the work proceeds, by the thread that called: after every epoch if `each` is set, or as often as an eye can
/// follow. It stops a training by returning true, and everything by raising an exception.
pub fn run<T: Send>(
    py: Python<'_>,
    threads: Option<usize>,
    watch: Option<&Bound<'_, PyAny>>,
    each: bool,
    work: impl FnOnce(&mut Watch) -> nigh::Result<T> + Send,
) -> PyResult<T> {
    let (interrupt, (events, received)) = (Interrupt::new(), channel());
    let watch = watch.map(|watch| watch.clone().unbind());
    let observer = Watch { events, is_told: watch.is_some(), each, told: None };
    let (result, raised) = py.detach(move || {
        std::thread::scope(|scope| {
            // The channel is closed when the work ends and the observer is dropped.
            let worker = scope.spawn(|| {
                let mut observer = observer;
                threads::run(threads, &interrupt, || work(&mut observer))
            });
            let (mut raised, mut looked) = (None, Instant::now());
            loop {
                let mut results = Vec::new();
                match received.recv_timeout(INTERVAL) {
                    Ok(event) => results.push(event.deliver(watch.as_ref())),
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => break,
                }
                if looked.elapsed() >= INTERVAL {
                    looked = Instant::now();
                    results.push(Python::attach(|py| py.check_signals()));
                }
                if let Some(error) = results.into_iter().find_map(Result::err) {
                    interrupt.trip();
                    raised.get_or_insert(error);
                }
            }
            (worker.join(), raised)
        })
    });
    match (raised, result) {
        (Some(error), _) => Err(error),
        (None, Ok(Ok(result))) => Ok(result),
        (None, Ok(Err(error))) => Err(exception(py, error)),
        (None, Err(payload)) => Err(panicked(py, &*payload)),
    }
}

/// As `run`, of short work that tells nothing.
pub fn run_silently<T: Send>(
    py: Python<'_>,
    threads: Option<usize>,
    work: impl FnOnce() -> nigh::Result<T> + Send,
) -> PyResult<T> {
    run(py, threads, None, false, |_| work())
}

/// Short work that keeps Python's lock. What is stopped because memory is short is an error like any other, and no panic gets through.
pub fn guarded<T>(py: Python<'_>, work: impl FnOnce() -> nigh::Result<T>) -> PyResult<T> {
    match catch_unwind(AssertUnwindSafe(|| catch(work))) {
        Ok(Ok(result)) => result.map_err(|error| exception(py, error)),
        Ok(Err(stopped)) => Err(exception(py, stopped.into())),
        Err(payload) => Err(panicked(py, &*payload)),
    }
}

/// Tells the calling thread how far the work is.
pub struct Watch {
    events: Sender<Event>,
    /// Whether anybody listens.
    is_told: bool,
    /// Whether every epoch is told.
    each: bool,
    /// When something was told last.
    told: Option<Instant>,
}

struct Event {
    facts: Vec<(&'static str, Fact)>,
    /// Where the work waits for what was answered.
    answer: Option<SyncSender<bool>>,
}

enum Fact {
    Text(String),
    Count(usize),
    Number(f64),
}

impl Event {
    /// Calls Python, and hands its answer to the work.
    fn deliver(self, watch: Option<&Py<PyAny>>) -> PyResult<()> {
        let Some(watch) = watch else { return Ok(()) };
        let answer = Python::attach(|py| {
            let event = PyDict::new(py);
            for (name, fact) in self.facts {
                match fact {
                    Fact::Text(text) => event.set_item(name, text)?,
                    Fact::Count(count) => event.set_item(name, count)?,
                    Fact::Number(number) => event.set_item(name, number)?,
                }
            }
            watch.call1(py, (event,))?.is_truthy(py)
        });
        if let Some(waiting) = self.answer {
            // It no longer waits if it was interrupted.
            let _ = waiting.send(*answer.as_ref().unwrap_or(&true));
        }
        answer.map(drop)
    }
}

impl Watch {
    /// Tells something, unless something else was told just now.
    fn tell(&mut self, kind: &str, mut facts: Vec<(&'static str, Fact)>) {
        if self.is_told && self.told.is_none_or(|told| told.elapsed() >= INTERVAL) {
            self.told = Some(Instant::now());
            facts.push(("kind", Fact::Text(kind.to_string())));
            let _ = self.events.send(Event { facts, answer: None });
        }
    }

    /// Tells something in any case, and waits for the answer.
    fn ask(&mut self, kind: &str, mut facts: Vec<(&'static str, Fact)>) -> bool {
        let (answer, answered) = sync_channel(1);
        facts.push(("kind", Fact::Text(kind.to_string())));
        self.is_told
            && self.events.send(Event { facts, answer: Some(answer) }).is_ok()
            && answered.recv().unwrap_or(true)
    }

    /// So much of so much is done, and what it is.
    pub fn step(&mut self, what: &str, done: usize, total: usize) {
        let facts =
            vec![("what", Fact::Text(what.to_string())), ("done", Fact::Count(done)), ("total", Fact::Count(total))];
        self.tell("step", facts);
    }
}

impl Observer for Watch {
    fn stage(&mut self, stage: Stage, done: usize, total: usize) {
        self.step(&stage.to_string(), done, total);
    }

    fn epoch(&mut self, progress: &Progress, evaluation: Option<&Evaluation>) -> ControlFlow<()> {
        let Progress { repeat, repeats, epoch, epochs, loss } = *progress;
        let mut facts = vec![
            ("repeat", Fact::Count(repeat)),
            ("repeats", Fact::Count(repeats)),
            ("epoch", Fact::Count(epoch)),
            ("epochs", Fact::Count(epochs)),
            ("loss", Fact::Number(loss)),
        ];
        facts.extend(evaluation.map(|evaluation| ("valid", Fact::Number(evaluation.valid))));
        if self.each {
            return if self.ask("epoch", facts) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
        }
        self.tell("epoch", facts);
        ControlFlow::Continue(())
    }

    fn repeat(&mut self, run: &Run) {
        let facts = vec![
            ("seed", Fact::Count(run.seed as usize)),
            ("valid", Fact::Number(run.valid)),
            ("best_epoch", Fact::Count(run.best_epoch)),
        ];
        self.ask("repeat", facts);
    }
}

impl ComparisonObserver for Watch {
    fn begins(&mut self, model: &str, seed: u64, done: usize) {
        let facts = vec![
            ("model", Fact::Text(model.to_string())),
            ("seed", Fact::Count(seed as usize)),
            ("done", Fact::Count(done)),
        ];
        self.ask("begins", facts);
    }

    fn ends(&mut self, repeat: &ComparedRepeat) {
        let facts = vec![
            ("model", Fact::Text(repeat.model.clone())),
            ("seed", Fact::Count(repeat.record.seed as usize)),
            ("test", Fact::Number(repeat.record.test)),
        ];
        self.ask("ends", facts);
    }
}

impl FetchObserver for Watch {
    fn progress(&mut self, file: &str, bytes: u64, total: Option<u64>) {
        self.step(file, bytes as usize, total.unwrap_or(0) as usize);
    }
}

impl ReproductionObserver for Watch {
    fn planned(&mut self, repeats: &[PlannedRepeat<'_>], _notes: &[String]) {
        self.ask("planned", vec![("total", Fact::Count(repeats.len()))]);
    }

    fn begins(&mut self, repeat: &PlannedRepeat<'_>) {
        ComparisonObserver::begins(self, &named(repeat), repeat.seed, repeat.number);
    }

    fn ends(&mut self, repeat: &PlannedRepeat<'_>, record: &Record) {
        let facts = vec![("model", Fact::Text(named(repeat))), ("test", Fact::Number(record.test))];
        self.ask("ends", facts);
    }
}

fn named(repeat: &PlannedRepeat<'_>) -> String {
    format!("{} on {}", repeat.cell.config.model, repeat.cell.dataset)
}
