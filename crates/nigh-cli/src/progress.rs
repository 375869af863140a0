//! Progress on stderr: on a terminal a bar with loss, validation metric and time left, in logs a line per repeat and one whenever
//! nothing was said for some seconds.

use indicatif::{ProgressBar, ProgressStyle};
use nigh::Metric;
#[cfg(feature = "fetch")]
use nigh::display::byte_size;
use nigh::display::{duration, percent, pluralize, visible};
use nigh::train::{Evaluation, Observer, Progress, Run, Stage};
use std::io::{IsTerminal, Write};
use std::ops::ControlFlow;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Prints a line to stderr, as people may see it. If stderr is closed, the line is lost and the work continues.
pub fn print_line(line: &str) {
    // A line break in a name must not begin a line that looks like one of ours.
    let _ = writeln!(std::io::stderr(), "{}", visible(line).replace('\n', "\n  "));
}

/// A bar of `length` steps; hidden if stderr is not a terminal.
pub fn bar(length: u64, quiet: bool) -> ProgressBar {
    if quiet || !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{prefix} [{wide_bar}] {pos}/{len} {msg} {elapsed}, {eta} left")
        .expect("a valid template");
    ProgressBar::new(length).with_style(style.progress_chars("=> "))
}

/// A bar that shows a percentage, for steps of no interest to the user.
pub fn percentage_bar(length: u64, quiet: bool) -> ProgressBar {
    let style = ProgressStyle::with_template("{prefix} [{wide_bar}] {percent} % {msg} {eta} left");
    bar(length, quiet).with_style(style.expect("a valid template").progress_chars("=> "))
}

/// Shows downloads: on a terminal a bar with bytes, rate and time left, in logs a line per file.
#[cfg(feature = "fetch")]
pub struct DownloadBar {
    bar: ProgressBar,
    /// The file that the bar shows.
    file: String,
    quiet: bool,
}

#[cfg(feature = "fetch")]
impl DownloadBar {
    pub fn new(quiet: bool) -> DownloadBar {
        DownloadBar { bar: ProgressBar::hidden(), file: String::new(), quiet }
    }
}

#[cfg(feature = "fetch")]
impl nigh::dataset::fetch::FetchObserver for DownloadBar {
    fn note(&mut self, text: &str) {
        if !self.quiet {
            self.bar.suspend(|| print_line(&format!("note: {text}")));
        }
    }

    fn progress(&mut self, file: &str, bytes: u64, total: Option<u64>) {
        if self.file != file {
            self.bar.finish_and_clear();
            self.file = file.to_string();
            let template =
                "{prefix} [{wide_bar}] {decimal_bytes}/{decimal_total_bytes} {decimal_bytes_per_sec} {eta} left";
            let style = ProgressStyle::with_template(template).expect("a valid template").progress_chars("=> ");
            self.bar =
                bar(0, self.quiet).with_style(style).with_prefix(visible(&self.file).into_owned()).with_position(bytes);
        }
        if let Some(total) = total.filter(|_| self.bar.length() != total) {
            self.bar.set_length(total);
        }
        self.bar.set_position(bytes);
    }

    fn finished(&mut self, file: &str, bytes: u64) {
        self.bar.finish_and_clear();
        if !self.quiet && self.bar.is_hidden() {
            print_line(&format!("{file}: {}", byte_size(bytes)));
        }
    }
}

#[cfg(feature = "fetch")]
impl Drop for DownloadBar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// In logs, the longest time without a line.
const SILENCE: Duration = Duration::from_secs(8);

/// How often a bar on a terminal is drawn while nothing happens.
const TICK: Duration = Duration::from_millis(500);

/// What a command is doing: on a terminal a bar whose clock runs, in logs a line after some seconds of silence.
pub struct Activity {
    pub bar: ProgressBar,
    pulse: Option<Pulse>,
}

impl Activity {
    /// Around a bar.
    pub fn of(bar: ProgressBar, quiet: bool) -> Activity {
        let in_logs = !quiet && bar.is_hidden();
        if !bar.is_hidden() {
            bar.enable_steady_tick(TICK);
        }
        Activity { bar, pulse: in_logs.then(|| Pulse::start(SILENCE, print_line)) }
    }

    /// Of steps that can't be counted.
    pub fn uncounted(what: String, quiet: bool) -> Activity {
        let style = ProgressStyle::with_template("{spinner} {msg} {elapsed}").expect("a valid template");
        let activity = Activity::of(bar(0, quiet).with_style(style), quiet);
        activity.show(what);
        activity
    }

    /// Whether there is a log in place of a bar.
    pub fn is_log(&self) -> bool {
        self.pulse.is_some()
    }

    /// What is being done now.
    pub fn show(&self, text: String) {
        if let Some(pulse) = &self.pulse {
            let prefix = self.bar.prefix();
            pulse.state().text = if prefix.is_empty() { text.clone() } else { format!("{prefix}, {text}") };
        }
        self.bar.set_message(text);
    }

    /// Prints a line above the bar, or to the log.
    pub fn print(&self, line: &str) {
        if let Some(pulse) = &self.pulse {
            pulse.state().last = Instant::now();
        }
        self.bar.suspend(|| print_line(line));
    }
}

impl Drop for Activity {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Says what is being done whenever nothing was said for a time.
struct Pulse {
    shared: Arc<(Mutex<PulseState>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

struct PulseState {
    text: String,
    /// When a line was last printed.
    last: Instant,
    is_over: bool,
}

impl Pulse {
    fn start(silence: Duration, print: impl Fn(&str) + Send + 'static) -> Pulse {
        let started = Instant::now();
        let state = PulseState { text: "starting".into(), last: started, is_over: false };
        let shared = Arc::new((Mutex::new(state), Condvar::new()));
        let (state, ended) = (shared.clone(), shared.clone());
        let beat = move || {
            let mut state = state.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            while !state.is_over {
                let left = silence.saturating_sub(state.last.elapsed());
                if left.is_zero() {
                    print(&format!("{}, {} so far", state.text, duration(started.elapsed())));
                    state.last = Instant::now();
                    continue;
                }
                let waited = ended.1.wait_timeout(state, left);
                state = waited.unwrap_or_else(|poisoned| poisoned.into_inner()).0;
            }
        };
        Pulse { shared, thread: std::thread::Builder::new().name("progress".into()).spawn(beat).ok() }
    }

    fn state(&self) -> MutexGuard<'_, PulseState> {
        self.shared.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Drop for Pulse {
    fn drop(&mut self) {
        self.state().is_over = true;
        self.shared.1.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The stage of a repeat as text.
pub fn stage_text(stage: Stage, done: usize, total: usize) -> String {
    if total > 1 { format!("{stage} {} %", 100 * done / total) } else { stage.to_string() }
}

/// Foresees from the first epochs how long all of them take.
#[derive(Default)]
pub struct Pace {
    /// When the first of them ended, and how many had by then.
    since: Option<(Instant, usize)>,
    is_known: bool,
}

/// Epochs are measured for this long.
const MEASURED: Duration = Duration::from_secs(2);

/// From here on a run is announced as long.
const LONG: Duration = Duration::from_secs(60);

impl Pace {
    /// Once, the time that is left when `done` of `total` epochs have ended, if it is long.
    pub fn long_time_left(&mut self, done: usize, total: usize) -> Option<Duration> {
        let Some((since, first)) = self.since else {
            self.since = Some((Instant::now(), done));
            return None;
        };
        let (measured, epochs) = (since.elapsed(), done - first);
        if self.is_known || measured < MEASURED {
            return None;
        }
        self.is_known = true;
        Some(time_left(measured, epochs, total - done)).filter(|left| *left >= LONG)
    }
}

fn time_left(measured: Duration, epochs: usize, left: usize) -> Duration {
    measured.mul_f64(left as f64 / epochs.max(1) as f64)
}

/// Shows the progress of a training.
pub struct TrainingBar {
    activity: Activity,
    metric: Metric,
    repeats: usize,
    ended: usize,
    valid: String,
    pace: Pace,
    quiet: bool,
}

impl TrainingBar {
    pub fn new(metric: Metric, repeats: usize, epochs: usize, quiet: bool) -> TrainingBar {
        let activity = Activity::of(bar((repeats * epochs) as u64, quiet), quiet);
        TrainingBar { activity, metric, repeats, ended: 0, valid: String::new(), pace: Pace::default(), quiet }
    }
}

impl Observer for TrainingBar {
    fn stage(&mut self, stage: Stage, done: usize, total: usize) {
        self.activity.show(stage_text(stage, done, total));
    }

    fn epoch(&mut self, progress: &Progress, evaluation: Option<&Evaluation>) -> ControlFlow<()> {
        let Progress { repeat, repeats, epoch, epochs, loss } = *progress;
        if let Some(evaluation) = evaluation {
            self.valid = format!("valid {} {}", self.metric, percent(evaluation.valid));
        }
        let done = repeat * epochs + epoch;
        self.ended = repeat;
        self.activity.bar.set_prefix(format!("repeat {}/{repeats}", repeat + 1));
        self.activity.bar.set_position(done as u64);
        let epoch = if self.activity.is_log() { format!("epoch {epoch}/{epochs}, ") } else { String::new() };
        self.activity.show(format!("{epoch}loss {loss:.4} {}", self.valid));
        if let Some(left) = self.pace.long_time_left(done, repeats * epochs).filter(|_| !self.quiet) {
            self.activity.print(&format!(
                "note: this takes about {} at most: {} of {}; --repeats, --epochs and --patience make it shorter",
                duration(left),
                pluralize(repeats, "repeat"),
                pluralize(epochs, "epoch"),
            ));
        }
        ControlFlow::Continue(())
    }

    fn repeat(&mut self, run: &Run) {
        if self.activity.is_log() {
            let (valid, test) = (percent(run.valid), percent(run.test));
            let (number, metric) = (self.ended + 1, self.metric);
            let (repeats, epoch) = (self.repeats, run.best_epoch);
            let line = format!("repeat {number}/{repeats}: {metric} valid {valid}, test {test} at epoch {epoch}");
            self.activity.print(&line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn silence_is_broken_with_what_is_being_done() {
        let (sender, lines) = mpsc::channel();
        let pulse = Pulse::start(Duration::from_millis(20), move |line: &str| sender.send(line.to_string()).unwrap());
        pulse.state().text = "splitting the data".into();
        let next = || lines.recv_timeout(Duration::from_secs(20)).unwrap();
        assert!([next(), next()].iter().any(|line| line == "splitting the data, 0 s so far"));
        drop(pulse);
        while lines.try_recv().is_ok() {}
        assert_eq!(lines.recv(), Err(mpsc::RecvError), "nothing is said after the end");
    }

    #[test]
    fn a_long_run_is_foreseen_once_from_its_first_epochs() {
        let mut pace = Pace::default();
        // The first epoch sets things up, and what comes within a moment says nothing.
        assert_eq!(pace.long_time_left(1, 5000), None);
        assert_eq!(pace.long_time_left(2, 5000), None);
        pace.since = Some((Instant::now() - Duration::from_secs(3), 1));
        let left = pace.long_time_left(4, 5000).unwrap();
        assert!((4996.0..5100.0).contains(&left.as_secs_f64()), "{left:?}");
        assert_eq!(pace.long_time_left(5, 5000), None, "said once");
        let mut short = Pace { since: Some((Instant::now() - Duration::from_secs(3), 1)), is_known: false };
        assert_eq!(short.long_time_left(4, 60), None);
        assert_eq!(time_left(Duration::from_secs(2), 4, 7200), Duration::from_secs(3600));
    }
}
