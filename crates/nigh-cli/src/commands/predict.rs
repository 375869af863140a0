//! `nigh predict`: scores of pairs, links of a node, classes of nodes.

use super::propagate::{peak, shown, working_folder};
use super::{WrongUsage, check_writable, create_parents, load, print, print_data, print_notes};
use crate::cli::Predict;
use anyhow::{Result, anyhow};
use nigh::answer::{Classes, Link, LinkProbabilities, SessionOptions};
use nigh::dataset::Ids;
use nigh::display::AlignedTable;
use nigh::formats::records::{RecordColumn, RecordWriter, Records, is_parquet};
use nigh::formats::text_table::Formulas;
use nigh::{Dataset, Error, Session, Trained};
use std::path::Path;

pub fn run(options: &Predict, quiet: bool) -> Result<()> {
    let trained = Trained::load(&options.model)?;
    let task = trained.config.task;
    if task.is_about_pairs() && options.pairs.is_none() && options.node.is_none() {
        return Err(WrongUsage(format!("a {task} model needs --pairs FILE or --node ID")).into());
    }
    if !task.is_about_pairs() && (options.pairs.is_some() || options.node.is_some()) {
        return Err(WrongUsage(format!("a {task} model predicts labels; leave out --pairs and --node")).into());
    }
    if !task.is_about_pairs() && options.probabilities {
        let problem = format!("a {task} model predicts labels with their probabilities; leave out --probabilities");
        return Err(WrongUsage(problem).into());
    }
    let probabilities = options.probabilities.then(|| trained.link_probabilities(options.prior)).transpose()?;
    if !task.is_about_pairs() && options.in_graph.is_some() {
        return Err(
            WrongUsage(format!("a {task} model classifies the nodes of all graphs; leave out --in-graph")).into()
        );
    }
    if options.node.is_some() && options.top == 0 {
        return Err(Error::setting("top", 0, "expected 1 or more").into());
    }
    let is_table = options.node.is_some() && options.out.is_none();
    let formulas = options.formulas.of_csv(!is_table && !options.out.as_deref().is_some_and(is_parquet))?;
    options.data.check_stdin(options.pairs.as_deref())?;
    if let Some(path) = &options.out {
        check_writable(path)?;
    }
    let dataset = load(&options.data, quiet)?;
    let session_options = SessionOptions {
        memory: options.memory,
        folder: working_folder(options.out.as_deref()),
        progress: shown(format!("propagating over {}", dataset.name), quiet),
        ..SessionOptions::default()
    };
    if task.is_about_pairs() {
        let number = number_of_graph(&dataset, options.in_graph.as_ref())?;
        let session = trained.session_with(&dataset, &SessionOptions { graph: Some(number), ..session_options })?;
        print_notes_of(&session, quiet);
        let ids = &dataset.samples[number].ids;
        let records = match (&options.pairs, &options.node) {
            (Some(path), _) => {
                let (records, notes) = session.scores_of_file(ids, path, probabilities)?;
                print_notes(&notes, quiet);
                records
            }
            (None, name) => {
                let name = name.as_ref().expect("pairs or a node");
                let links = links(&session, ids, name, options)?;
                if options.out.is_none() {
                    return print(&links_table(&links, ids, probabilities, options.include_existing));
                }
                let target = links.iter().map(|link| ids.name(link.node as usize));
                let records = Records::default()
                    .with("source", id_column(links.iter().map(|_| name)))
                    .with("target", id_column(target));
                with_scores(records, links.iter().map(|link| link.score).collect(), probabilities)
                    .with("exists", RecordColumn::Booleans(links.iter().map(|link| link.exists).collect()))
            }
        };
        let records = records.with_formulas(formulas);
        match &options.out {
            Some(path) => {
                create_parents(path)?;
                records.write(path)?;
            }
            None => print_data(&records.to_csv())?,
        }
    } else {
        classes(&trained, &dataset, options, session_options, formulas, quiet)?;
    }
    print_notes(&[peak()], quiet || options.memory.is_none());
    Ok(())
}

fn print_notes_of(session: &Session, quiet: bool) {
    print_notes(&session.notes, quiet);
    print_notes(&session.estimate().map(ToString::to_string).into_iter().collect::<Vec<_>>(), quiet);
}

fn number_of_graph(dataset: &Dataset, name: Option<&String>) -> Result<usize> {
    let names: Vec<String> = (0..dataset.samples.len()).map(|number| dataset.graph_name(number)).collect();
    match (name, &names[..]) {
        (None, [_]) => Ok(0),
        (None, several) => {
            let problem = format!("{} graphs; choose one with --in-graph NAME", several.len());
            Err(WrongUsage(problem).into())
        }
        (Some(name), _) => {
            let unknown = || Error::UnknownName { kind: "graph", name: name.clone(), known: names.clone() };
            Ok(names.iter().position(|known| known == name).ok_or_else(unknown)?)
        }
    }
}

/// With the score of each pair, and its probability.
fn with_scores(records: Records, scores: Vec<f32>, probabilities: Option<LinkProbabilities>) -> Records {
    let of_scores =
        probabilities.map(|probabilities| scores.iter().map(|&score| probabilities.of(score)).collect::<Vec<_>>());
    let records = records.with("score", RecordColumn::Numbers(scores));
    match of_scores {
        Some(found) => records.with("probability", RecordColumn::Numbers(found)),
        None => records,
    }
}

/// Ids as integers if all of them are.
fn id_column<T: AsRef<str>>(names: impl IntoIterator<Item = T>) -> RecordColumn {
    (&Ids::from_names(names)).into()
}

fn links(session: &Session, ids: &Ids, name: &str, options: &Predict) -> Result<Vec<Link>> {
    let node = ids.lookup().find(name).ok_or_else(|| {
        let known: Vec<String> = ids.iter().map(String::from).collect();
        let nearest = nigh::nearest(name, &known).map(|near| format!("; did you mean `{near}`?"));
        anyhow!("node `{name}` is not in the graph{}", nearest.unwrap_or_default())
    })?;
    Ok(session.links(&[node], options.top, options.include_existing)?.remove(0))
}

/// Links as a table for the terminal.
fn links_table(links: &[Link], ids: &Ids, probabilities: Option<LinkProbabilities>, existing: bool) -> String {
    let mut heading = vec!["node", "score"];
    heading.extend(probabilities.map(|_| "probability"));
    heading.extend(existing.then_some("exists"));
    let mut table = AlignedTable::new(&heading);
    for link in links {
        let mut cells = vec![ids.name(link.node as usize).into_owned(), format!("{:.4}", link.score)];
        cells.extend(probabilities.map(|probabilities| format!("{:.4}", probabilities.of(link.score))));
        cells.extend(existing.then(|| if link.exists { "yes" } else { "no" }.to_string()));
        table.row(&cells);
    }
    table.to_string()
}

/// Writes the classes of the nodes of all graphs, some nodes at a time.
fn classes(
    trained: &Trained,
    dataset: &Dataset,
    options: &Predict,
    session_options: SessionOptions,
    formulas: Formulas,
    quiet: bool,
) -> Result<()> {
    if let Some(path) = &options.out {
        create_parents(path)?;
    }
    let file = options.out.as_deref().map(RecordWriter::create).transpose()?;
    let at_a_time = file.as_ref().map_or(1 << 16, RecordWriter::piece);
    let mut writer = AnswerWriter { file, has_header: false, formulas };
    // An answer, its id and label as texts, and the line or column made of them.
    let of_node = 160 + if trained.summary.multi_label { 24 * trained.summary.class_names.len() } else { 0 };
    let reserved = of_node * at_a_time.min(dataset.num_nodes());
    let has_names = dataset.samples.iter().any(|sample| matches!(*sample.ids, Ids::Names(_)));
    let session_options = SessionOptions { reserved, ..session_options };
    for (number, session) in trained.sessions(dataset, &session_options)?.enumerate() {
        let session = session?;
        print_notes_of(&session, quiet || number > 0);
        let (ids, mut first) = (session.ids(), 0);
        session.for_each_classes(at_a_time, |classes| {
            let nodes = first..first + classes.labels.len();
            first = nodes.end;
            let of_graph = match dataset.samples.len() {
                1 => Records::default(),
                _ => {
                    let name = dataset.graph_name(number);
                    Records::default().with("graph", RecordColumn::from_texts(nodes.clone().map(|_| &name)))
                }
            };
            let id = match has_names {
                true => RecordColumn::from_texts(nodes.map(|node| ids.name(node))),
                false => RecordColumn::from_integers(nodes.map(|node| ids.integer(node).unwrap_or_default())),
            };
            writer.write(with_classes(of_graph.with("id", id), trained, &classes))
        })?;
    }
    writer.file.map(RecordWriter::finish).transpose()?;
    Ok(())
}

/// With the class of each node and its probability; where nodes may have several classes, with all of them and every probability.
fn with_classes(records: Records, trained: &Trained, Classes { labels, probabilities }: &Classes) -> Records {
    let names = &trained.summary.class_names;
    if !trained.summary.multi_label {
        let likely = labels.iter().zip(0..).map(|(labels, row)| probabilities.row(row)[labels[0] as usize]).collect();
        let labels = labels.iter().map(|labels| &names[labels[0] as usize]);
        return records
            .with("label", RecordColumn::from_texts(labels))
            .with("probability", RecordColumn::Numbers(likely));
    }
    let joined =
        |labels: &[u32]| labels.iter().map(|&class| names[class as usize].as_str()).collect::<Vec<_>>().join(";");
    let records = records.with("labels", RecordColumn::from_texts(labels.iter().map(joined)));
    names.iter().enumerate().fold(records, |records, (class, name)| {
        let of_class = (0..labels.len()).map(|row| probabilities.row(row)[class]).collect();
        records.with(format!("probability of {name}"), RecordColumn::Numbers(of_class))
    })
}

/// Writes answers as they come, to a file or to stdout.
struct AnswerWriter {
    file: Option<RecordWriter>,
    has_header: bool,
    formulas: Formulas,
}

impl AnswerWriter {
    fn write(&mut self, records: Records) -> nigh::Result<()> {
        let records = records.with_formulas(self.formulas);
        let has_header = std::mem::replace(&mut self.has_header, true);
        match &mut self.file {
            Some(file) => Ok(file.write(&records)?),
            None => {
                let header = if has_header { String::new() } else { records.csv_header() };
                let failed = |error: anyhow::Error| error.downcast().unwrap_or_else(std::io::Error::other);
                print_data(&(header + &records.csv_rows()))
                    .map_err(|error| Error::io(Path::new("stdout"))(failed(error)))
            }
        }
    }
}
