//! `nigh demo`: the proof of concept of the paper (section 5.2), beside the published figures.

#[cfg(feature = "pictures")]
use super::{check_writable, print_notes};
use super::{print, print_json};
use crate::cli::Demo;
use crate::progress;
use anyhow::Result;
use indicatif::ProgressBar;
#[cfg(feature = "pictures")]
use nigh::Error;
use nigh::display::{AlignedTable, mean_and_deviation, percent};
use nigh::models::catalog::CatalogModel;
use nigh::train::{Evaluation, Observer, Progress, mean_and_std};
use nigh::{Config, Dataset, Protocol, Reporting, Task, Trained, Training};
#[cfg(feature = "pictures")]
use nigh_paper::report::layout::tsne;
#[cfg(feature = "pictures")]
use nigh_paper::report::plot::{Panel, Scatter};
use nigh_paper::{Experiment, Published};
use rayon::prelude::*;
use serde_json::json;
use std::ops::ControlFlow;
#[cfg(feature = "pictures")]
use std::path::Path;

const LABELLINGS: [(&str, &str); 3] =
    [("community", "leaders-community"), ("status", "leaders-status"), ("both", "leaders")];

/// Those that know what a node is, and the one that knows where it is, too.
fn models() -> [&'static str; 3] {
    let names: Vec<&str> = CatalogModel::demonstrated().iter().map(|model| model.name).collect();
    names.try_into().expect("three models")
}

/// What the paper printed for each model and labelling, in percent.
fn published() -> [[(f64, f64); 3]; 3] {
    let table = Experiment::named("poc").expect("a table that ships");
    let row = |model: &str| {
        table.rows.iter().position(|row| row.model.as_deref() == Some(model)).expect("a row of the table")
    };
    let column = |data: &str| table.columns.iter().position(|column| column.dataset == data).expect("a column of it");
    models().map(|model| {
        LABELLINGS.map(|(_, data)| match table.published(row(model), column(data)) {
            Some(Published::Figure { mean, std, .. }) => (mean, std.unwrap_or(0.0)),
            other => unreachable!("a figure, not {other:?}"),
        })
    })
}

pub fn run(options: &Demo, quiet: bool) -> Result<()> {
    #[cfg(feature = "pictures")]
    if let Some(path) = &options.plot {
        check_extension(path)?;
        check_folder(path)?;
    }
    let config = |model: &str, repeat: usize| Config {
        task: Task::NodeClassification,
        model: model.into(),
        protocol: Protocol::Published,
        epochs: options.epochs.into(),
        repeats: 1,
        seed: options.seed.saturating_add(repeat as u64),
        ..Config::default()
    };
    let datasets = LABELLINGS.map(|(_, name)| Dataset::built_in(name)).into_iter().collect::<nigh::Result<Vec<_>>>()?;
    Config { repeats: options.repeats, ..config(models()[0], 0) }.resolve(&datasets[0])?;
    let bar =
        progress::bar((9 * options.repeats * options.epochs) as u64, quiet).with_prefix("communities and leaders");
    // 45 small runs: each runs on one thread, and the threads share the runs.
    let runs: Vec<(usize, usize, usize)> = (0..options.repeats)
        .flat_map(|repeat| (0..models().len()).flat_map(move |model| (0..3).map(move |labels| (model, labels, repeat))))
        .collect();
    let trained: Vec<Trained> = runs
        .par_iter()
        .map(|&(model, labels, repeat)| {
            let config = config(models()[model], repeat);
            let training = Training::new(&datasets[labels], config)?.reporting(Reporting::Nothing);
            training.observer(&mut EpochCounter { bar: &bar, pending: 0 }).run()
        })
        .collect::<nigh::Result<_>>()?;
    bar.finish_and_clear();
    let found = |model: usize, labels: usize| {
        let of_cell = runs.iter().zip(&trained).filter(|(run, _)| (run.0, run.1) == (model, labels));
        mean_and_std(&of_cell.map(|(_, trained)| trained.run().test).collect::<Vec<_>>())
    };
    #[cfg(feature = "pictures")]
    if let Some(path) = &options.plot {
        plot(path, &datasets[0], &runs, &trained)?;
        print_notes(&[format!("the picture is in {}", path.display())], quiet);
    }
    if options.json {
        let paper = published();
        let cells: Vec<_> = (0..models().len())
            .flat_map(|at| (0..3).map(move |labels| (at, labels)))
            .map(|(at, labels)| {
                let (model, (mean, std), (paper_mean, paper_std)) =
                    (models()[at], found(at, labels), paper[at][labels]);
                json!({
                    "model": model, "labels": LABELLINGS[labels].0, "mean": mean, "std": std,
                    "paper_mean": paper_mean / 100.0, "paper_std": paper_std / 100.0,
                })
            })
            .collect();
        return print_json(&json!({
            "dataset": "leaders", "task": "node-classification", "metric": "accuracy",
            "repeats": options.repeats, "epochs": options.epochs, "cells": cells,
        }));
    }
    print(&text(&datasets[0], options.repeats, found))
}

fn text(dataset: &Dataset, repeats: usize, found: impl Fn(usize, usize) -> (f64, f64)) -> String {
    let mut table = AlignedTable::new(&["accuracy, %", "community", "paper", "status", "paper", "both", "paper"]);
    table.row(&["random", "", "10.0", "", "50.0", "", "5.0"]);
    for (at, (model, published)) in models().iter().zip(published()).enumerate() {
        let mut cells = vec![model.to_string()];
        for (labels, (mean, std)) in published.iter().enumerate() {
            let ours = found(at, labels);
            cells.push(mean_and_deviation(ours, repeats));
            cells.push(format!("{mean:.1} ± {std:.1}"));
        }
        table.row(&cells);
    }
    let [sgc, gcn, smp] = [0, 1, 2].map(|model| (found(model, 0).0, found(model, 1).0, found(model, 2).0));
    let conclusion = if smp.0 > 3.0 * sgc.0.max(gcn.0) && smp.1 > 0.8 && smp.2 > 3.0 * sgc.2.max(gcn.2) {
        "SGC and GCN see what a node is, so they can tell leaders from followers but not one community from another.\n\
         SMP also sees where a node is: it finds both, and their combination."
    } else {
        "With so few epochs the difference is not clear yet; the paper trains for 1,000."
    };
    format!(
        "Communities and leaders: {} nodes, {} edges, 10 communities, active and inactive members; mean of {repeats}\n\n\
         {table}\n{conclusion}\n",
        dataset.num_nodes(),
        dataset.num_edges(),
    )
}

/// Moves the bar, a hundred epochs at a time.
struct EpochCounter<'a> {
    bar: &'a ProgressBar,
    pending: u64,
}

impl Observer for EpochCounter<'_> {
    fn epoch(&mut self, progress: &Progress, _: Option<&Evaluation>) -> ControlFlow<()> {
        self.pending += 1;
        if self.pending == 100 || progress.epoch == progress.epochs {
            self.bar.inc(self.pending);
            self.pending = 0;
        }
        ControlFlow::Continue(())
    }
}

#[cfg(feature = "pictures")]
fn check_extension(path: &Path) -> Result<()> {
    let extension = path.extension().unwrap_or_default().to_ascii_lowercase();
    if extension != "svg" && extension != "png" {
        return Err(Error::setting("plot", path.display(), "its name must end in .svg or .png").into());
    }
    Ok(())
}

#[cfg(feature = "pictures")]
fn check_folder(path: &Path) -> Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !folder.is_dir() {
        return Err(Error::file(folder, "no such folder").into());
    }
    check_writable(path)
}

/// Draws the nodes by the representations that SGC and SMP learnt of communities.
#[cfg(feature = "pictures")]
fn plot(path: &Path, dataset: &Dataset, runs: &[(usize, usize, usize)], trained: &[Trained]) -> Result<()> {
    let sample = &dataset.samples[0];
    let groups: Vec<usize> =
        sample.labels.iter().flat_map(|labels| labels.iter()).flatten().map(|&c| c as usize).collect();
    let panel = |model: usize, subtitle: &str| -> Result<Panel> {
        let at = runs.iter().position(|&run| run == (model, 0, 0)).expect("every model was run");
        let h = trained[at].embed(dataset)?.matrix;
        Ok(Panel {
            title: models()[model].to_string(),
            subtitle: format!("{subtitle}, accuracy {} %", percent(trained[at].run().test)),
            points: tsne(h.data(), h.rows(), h.cols()),
            groups: groups.clone(),
        })
    };
    let scatter = Scatter {
        title: "Learnt representations of communities and leaders (t-SNE)".to_string(),
        panels: vec![panel(0, "what a node is")?, panel(2, "what and where")?],
        legend: dataset.class_names.clone(),
    };
    scatter.write(path).map_err(Error::io(path))?;
    Ok(())
}
