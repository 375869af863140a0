//! Progress on stderr: a bar with loss, validation metric and time left for people, a line per repeat for logs.

use indicatif::{ProgressBar, ProgressStyle};
use nigh::train::{Evaluation, Observer, Progress, Run};
use nigh::{Metric, report::table::percent};
use std::io::IsTerminal;

/// A bar of `length` steps; hidden where nobody watches.
pub fn bar(length: u64, quiet: bool) -> ProgressBar {
    if quiet || !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style =
        ProgressStyle::with_template("{prefix} [{wide_bar}] {pos}/{len} {msg} {eta} left").expect("a valid template");
    ProgressBar::new(length).with_style(style.progress_chars("=> "))
}

/// Shows a training as it goes.
pub struct Bar {
    bar: ProgressBar,
    metric: Metric,
    repeats: usize,
    ended: usize,
    lines: bool,
    valid: String,
}

impl Bar {
    pub fn new(metric: Metric, repeats: usize, epochs: usize, quiet: bool) -> Bar {
        let bar = bar((repeats * epochs) as u64, quiet);
        let lines = !quiet && bar.is_hidden();
        Bar { bar, metric, repeats, ended: 0, lines, valid: String::new() }
    }

    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl Observer for Bar {
    fn epoch(&mut self, progress: &Progress, evaluation: Option<&Evaluation>) {
        if let Some(evaluation) = evaluation {
            self.valid = format!("valid {} {}", self.metric, percent(evaluation.valid));
        }
        self.ended = progress.repeat;
        self.bar.set_prefix(format!("repeat {}/{}", progress.repeat + 1, progress.repeats));
        self.bar.set_position((progress.repeat * progress.epochs + progress.epoch) as u64);
        self.bar.set_message(format!("loss {:.4} {}", progress.loss, self.valid));
    }

    fn repeat(&mut self, run: &Run) {
        if self.lines {
            let (valid, test) = (percent(run.valid), percent(run.test));
            let (number, metric) = (self.ended + 1, self.metric);
            eprintln!(
                "repeat {number}/{}: {metric} valid {valid}, test {test} at epoch {}",
                self.repeats, run.best_epoch
            );
        }
    }
}
