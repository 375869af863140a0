//! Progress on stderr: on a terminal a bar with loss, validation metric and time left, in logs a line per repeat.

use indicatif::{ProgressBar, ProgressStyle};
use nigh::Metric;
#[cfg(feature = "fetch")]
use nigh::display::byte_size;
use nigh::display::{percent, visible};
use nigh::train::{Evaluation, Observer, Progress, Run};
use std::io::{IsTerminal, Write};
use std::ops::ControlFlow;

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
    let style =
        ProgressStyle::with_template("{prefix} [{wide_bar}] {pos}/{len} {msg} {eta} left").expect("a valid template");
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

/// Shows the progress of a training.
pub struct TrainingBar {
    bar: ProgressBar,
    metric: Metric,
    repeats: usize,
    ended: usize,
    lines: bool,
    valid: String,
}

impl TrainingBar {
    pub fn new(metric: Metric, repeats: usize, epochs: usize, quiet: bool) -> TrainingBar {
        let bar = bar((repeats * epochs) as u64, quiet);
        let lines = !quiet && bar.is_hidden();
        TrainingBar { bar, metric, repeats, ended: 0, lines, valid: String::new() }
    }

    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl Observer for TrainingBar {
    fn pretrain(&mut self, done: usize, total: usize) {
        self.bar.set_message(format!("walks {done}/{total}"));
        self.bar.tick();
    }

    fn epoch(&mut self, progress: &Progress, evaluation: Option<&Evaluation>) -> ControlFlow<()> {
        if let Some(evaluation) = evaluation {
            self.valid = format!("valid {} {}", self.metric, percent(evaluation.valid));
        }
        self.ended = progress.repeat;
        self.bar.set_prefix(format!("repeat {}/{}", progress.repeat + 1, progress.repeats));
        self.bar.set_position((progress.repeat * progress.epochs + progress.epoch) as u64);
        self.bar.set_message(format!("loss {:.4} {}", progress.loss, self.valid));
        ControlFlow::Continue(())
    }

    fn repeat(&mut self, run: &Run) {
        if self.lines {
            let (valid, test) = (percent(run.valid), percent(run.test));
            let (number, metric) = (self.ended + 1, self.metric);
            let (repeats, epoch) = (self.repeats, run.best_epoch);
            print_line(&format!("repeat {number}/{repeats}: {metric} valid {valid}, test {test} at epoch {epoch}"));
        }
    }
}
