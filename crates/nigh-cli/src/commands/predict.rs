//! `nigh predict`: scores of pairs, links of a node, classes of nodes.

use super::{WrongUsage, load, print, say};
use crate::cli::Predict;
use anyhow::{Result, anyhow};
use nigh::dataset::csv_field;
use nigh::dataset::edge_list::read_pairs;
use nigh::report::table::Table;
use nigh::trained::Applied;
use nigh::{Error, Trained};
use std::fmt::Write;
use std::path::Path;

pub fn run(options: &Predict, quiet: bool) -> Result<()> {
    let mut trained = Trained::load(&options.model)?;
    let task = trained.config.task;
    if task.asks_pairs() && options.pairs.is_none() && options.node.is_none() {
        return Err(WrongUsage(format!("a {task} model needs --pairs FILE or --node ID")).into());
    }
    if !task.asks_pairs() && (options.pairs.is_some() || options.node.is_some()) {
        return Err(WrongUsage(format!("a {task} model gives labels; leave out --pairs and --node")).into());
    }
    if options.node.is_some() && options.top == 0 {
        return Err(Error::setting("top", 0, "expected 1 or more").into());
    }
    let class_names = trained.summary.class_names.clone();
    let decoder = trained.config.decoder.to_string();
    let dataset = load(&options.data, quiet)?;
    let mut applied = trained.over(&dataset)?;
    say(&applied.notes, quiet);
    let text = match (&options.pairs, &options.node) {
        (Some(path), _) => pairs(&mut applied, path)?,
        (None, Some(node)) => links(&mut applied, node, options, &decoder)?,
        (None, None) => classes(&applied, &class_names)?,
    };
    match &options.out {
        Some(path) => nigh::atomic::write(path, text.as_bytes()).map_err(Error::io(path))?,
        None => print(&text)?,
    }
    Ok(())
}

fn pairs(applied: &mut Applied<'_>, path: &Path) -> Result<String> {
    let ids = applied.sample.ids.clone();
    let numbers = ids.lookup();
    let read = read_pairs(path, |name| numbers.contains_key(name))?;
    let mut pairs = Vec::with_capacity(read.len());
    for (line, names) in &read {
        let find = |name: &String| {
            let unknown = || Error::line(path, *line, format!("node `{name}` is not in the graph"));
            numbers.get(name.as_str()).copied().ok_or_else(unknown)
        };
        pairs.push([find(&names[0])?, find(&names[1])?]);
    }
    let scores = applied.scores(&pairs)?;
    let mut text = "source,target,score\n".to_string();
    for ((_, [source, target]), score) in read.iter().zip(scores) {
        writeln!(text, "{},{},{score}", csv_field(source), csv_field(target))?;
    }
    Ok(text)
}

fn links(applied: &mut Applied<'_>, name: &str, options: &Predict, decoder: &str) -> Result<String> {
    let ids = applied.sample.ids.clone();
    let numbers = ids.lookup();
    let node = *numbers.get(name).ok_or_else(|| {
        let known: Vec<String> = (0..ids.len()).map(|node| ids.name(node).into_owned()).collect();
        let nearest = nigh::error::nearest(name, &known).map(|near| format!("; did you mean `{near}`?"));
        anyhow!("node `{name}` is not in the graph{}", nearest.unwrap_or_default())
    })?;
    let links = applied.links(node, options.top, options.include_existing)?;
    if options.out.is_some() {
        let mut text = "source,target,score,exists\n".to_string();
        for link in &links {
            let target = csv_field(&ids.name(link.node as usize));
            writeln!(text, "{},{target},{},{}", csv_field(name), link.score, link.exists)?;
        }
        return Ok(text);
    }
    let mut heading = vec!["node", decoder];
    heading.extend(options.include_existing.then_some("exists"));
    let mut table = Table::new(&heading);
    for link in &links {
        let mut cells = vec![ids.name(link.node as usize).into_owned(), format!("{:.4}", link.score)];
        cells.extend(options.include_existing.then(|| if link.exists { "yes" } else { "no" }.to_string()));
        table.row(&cells);
    }
    Ok(table.to_string())
}

fn classes(applied: &Applied<'_>, class_names: &[String]) -> Result<String> {
    let mut text = "id,label,probability\n".to_string();
    for answer in applied.classes()? {
        let id = csv_field(&applied.sample.ids.name(answer.node as usize));
        let label = csv_field(&class_names[answer.class as usize]);
        writeln!(text, "{id},{label},{:.6}", answer.probability)?;
    }
    Ok(text)
}
