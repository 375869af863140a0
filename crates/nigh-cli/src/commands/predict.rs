//! `nigh predict`: scores of pairs, links of a node, classes of nodes.

use super::propagate::{peak, shown, working_folder};
use super::{WrongUsage, check_writable, create_parents, load, print, print_data, print_notes};
use crate::cli::Predict;
use anyhow::{Result, anyhow};
use nigh::dataset::{Ids, Pairs, read_pairs};
use nigh::display::AlignedTable;
use nigh::formats::records::{RecordColumn, RecordWriter, Records, is_parquet};
use nigh::formats::text_table::Formulas;
use nigh::propagation::Workload;
use nigh::trained::{Classified, Inference, LabelledNode, Link, LinkProbabilities, StreamedEmbedding};
use nigh::{Dataset, Error, Memory, Sample, Trained};
use std::path::{Path, PathBuf};
use std::sync::Arc;

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
    let streams = trained.can_embed_within() && dataset.samples.len() == 1;
    if !streams {
        check_memory(&trained, &dataset, options.memory)?;
    }
    if let Some(memory) = options.memory.filter(|_| streams && !task.is_about_pairs()) {
        return classes_within(&trained, &dataset, options, memory, formulas, quiet);
    }
    let records = match (&options.pairs, &options.node) {
        (None, None) if trained.summary.multi_label => label_sets(&trained, &dataset, quiet)?,
        (None, None) => classes(&trained, &dataset, quiet)?,
        (Some(path), _) => pairs(&infer(&trained, &dataset, options, quiet)?, path, probabilities, quiet)?,
        (None, Some(name)) => {
            let inference = infer(&trained, &dataset, options, quiet)?;
            let links = links(&inference, name, options)?;
            let ids = inference.ids();
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
            Ok(records.write(path)?)
        }
        None => print_data(&records.to_csv()),
    }
}

fn check_memory(trained: &Trained, dataset: &Dataset, memory: Option<Memory>) -> Result<()> {
    let Some(memory) = memory else { return Ok(()) };
    let config = &trained.config;
    let takes = |sample: &Sample| {
        let workload = Workload::of_graph(&sample.graph, config.signal_dim, config.hops);
        let (feature_bytes, id_bytes) = (sample.features.num_bytes(), sample.ids.num_bytes());
        Workload { feature_bytes, id_bytes, width: config.width, ..workload }.inference_bytes()
    };
    match dataset.samples.iter().map(takes).max().filter(|&bytes| bytes > memory.bytes()) {
        None => Ok(()),
        Some(bytes) => {
            let remedy = "`nigh embed --memory` computes vectors within less";
            Err(memory.too_little(Memory::new(bytes), remedy).into())
        }
    }
}

/// A model applied to a graph: to all of its nodes, or within a limit of memory to those that a question names.
enum Applied<'a> {
    Whole(Box<Inference<'a>>),
    Within(Box<StreamedEmbedding<'a>>, PathBuf),
}

impl Applied<'_> {
    fn ids(&self) -> &Arc<Ids> {
        match self {
            Applied::Whole(inference) => &inference.sample.ids,
            Applied::Within(streamed, _) => &streamed.ids,
        }
    }

    fn scores(&self, pairs: &[[u32; 2]]) -> nigh::Result<Vec<f32>> {
        match self {
            Applied::Whole(inference) => inference.scores(pairs),
            Applied::Within(streamed, folder) => streamed.scores(pairs, folder),
        }
    }

    fn links(&self, node: u32, top: usize, existing: bool) -> nigh::Result<Vec<Link>> {
        match self {
            Applied::Whole(inference) => inference.links(node, top, existing),
            Applied::Within(streamed, folder) => streamed.links(node, top, existing, folder),
        }
    }
}

fn infer<'a>(trained: &'a Trained, dataset: &Dataset, options: &Predict, quiet: bool) -> Result<Applied<'a>> {
    let names: Vec<String> = (0..dataset.samples.len()).map(|number| dataset.graph_name(number)).collect();
    let number = match (&options.in_graph, &names[..]) {
        (None, [_]) => 0,
        (None, several) => {
            let problem = format!("{} graphs; choose one with --in-graph NAME", several.len());
            return Err(WrongUsage(problem).into());
        }
        (Some(name), _) => {
            let unknown = || Error::UnknownName { kind: "graph", name: name.clone(), known: names.clone() };
            names.iter().position(|known| known == name).ok_or_else(unknown)?
        }
    };
    if let Some(memory) = options.memory.filter(|_| names.len() == 1 && trained.can_embed_within()) {
        let streamed = streamed(trained, dataset, memory, 0, quiet)?;
        return Ok(Applied::Within(streamed.into(), working_folder(options.out.as_deref())));
    }
    let inference = trained.apply_to_graph(dataset, number)?;
    print_notes(&inference.notes, quiet);
    Ok(Applied::Whole(inference.into()))
}

/// A model to be applied within a limit, of which so many bytes are used otherwise.
fn streamed<'a>(
    trained: &'a Trained,
    dataset: &Dataset,
    memory: Memory,
    reserved: usize,
    quiet: bool,
) -> Result<StreamedEmbedding<'a>> {
    let mut streamed = trained.embed_within(dataset, memory)?;
    streamed.reserve(reserved)?;
    streamed.progress = shown(format!("propagating over {}", dataset.name), quiet);
    print_notes(&streamed.notes, quiet);
    print_notes(&[streamed.estimate().to_string()], quiet);
    Ok(streamed)
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

fn pairs(
    inference: &Applied<'_>,
    path: &Path,
    probabilities: Option<LinkProbabilities>,
    quiet: bool,
) -> Result<Records> {
    let ids = inference.ids();
    let numbers = ids.lookup();
    let Pairs { pairs: read, has_header, notes } = read_pairs(path, |name| numbers.find(name).is_some())?;
    print_notes(&notes, quiet);
    let mut pairs = Vec::with_capacity(read.len());
    for (at, (line, names)) in read.iter().enumerate() {
        let find = |name: &String| {
            let is_header = at == 0 && !has_header && names.iter().all(|name| numbers.find(name).is_none());
            let more = if is_header { "; if it is a header, name its columns as source and target" } else { "" };
            let unknown = || Error::line(path, *line, format!("node `{name}` is not in the graph{more}"));
            numbers.find(name).ok_or_else(unknown)
        };
        pairs.push([find(&names[0])?, find(&names[1])?]);
    }
    let scores = inference.scores(&pairs)?;
    let end = |end: usize| id_column(read.iter().map(|(_, names)| &names[end]));
    Ok(with_scores(Records::default().with("source", end(0)).with("target", end(1)), scores, probabilities))
}

/// Ids as integers if all of them are.
fn id_column<T: AsRef<str>>(names: impl IntoIterator<Item = T>) -> RecordColumn {
    (&Ids::from_names(names)).into()
}

fn links(inference: &Applied<'_>, name: &str, options: &Predict) -> Result<Vec<Link>> {
    let ids = inference.ids();
    let node = ids.lookup().find(name).ok_or_else(|| {
        let known: Vec<String> = ids.iter().map(String::from).collect();
        let nearest = nigh::nearest(name, &known).map(|near| format!("; did you mean `{near}`?"));
        anyhow!("node `{name}` is not in the graph{}", nearest.unwrap_or_default())
    })?;
    Ok(inference.links(node, options.top, options.include_existing)?)
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

fn classes(trained: &Trained, dataset: &Dataset, quiet: bool) -> Result<Records> {
    let (records, answers) =
        answers(trained, dataset, quiet, |inference| inference.classes(), |answer: &Classified| answer.node)?;
    Ok(with_classes(records, trained, &answers))
}

fn with_classes(records: Records, trained: &Trained, answers: &[Classified]) -> Records {
    let labels = answers.iter().map(|answer| &trained.summary.class_names[answer.class as usize]);
    let probabilities = answers.iter().map(|answer| answer.probability).collect();
    records.with("label", RecordColumn::from_texts(labels)).with("probability", RecordColumn::Numbers(probabilities))
}

/// The labels of nodes that may have several, and the probability of each class.
fn label_sets(trained: &Trained, dataset: &Dataset, quiet: bool) -> Result<Records> {
    let (records, answers) =
        answers(trained, dataset, quiet, |inference| inference.label_sets(), |answer: &LabelledNode| answer.node)?;
    Ok(with_label_sets(records, trained, &answers))
}

fn with_label_sets(records: Records, trained: &Trained, answers: &[LabelledNode]) -> Records {
    let class_names = &trained.summary.class_names;
    let joined = |answer: &LabelledNode| {
        answer.classes.iter().map(|&class| class_names[class as usize].as_str()).collect::<Vec<_>>().join(";")
    };
    let labels: Vec<String> = answers.iter().map(joined).collect();
    let records = records.with("labels", RecordColumn::from_texts(labels));
    class_names.iter().enumerate().fold(records, |records, (class, name)| {
        let of_class = answers.iter().map(|answer| answer.probabilities[class]).collect();
        records.with(format!("probability of {name}"), RecordColumn::Numbers(of_class))
    })
}

/// Classes of the nodes of one graph, computed within a limit of memory and written some nodes at a time.
fn classes_within(
    trained: &Trained,
    dataset: &Dataset,
    options: &Predict,
    memory: Memory,
    formulas: Formulas,
    quiet: bool,
) -> Result<()> {
    if let Some(path) = &options.out {
        create_parents(path)?;
    }
    let file = options.out.as_deref().map(RecordWriter::create).transpose()?;
    let mut writer =
        AnswerWriter { piece: file.as_ref().map_or(1 << 16, RecordWriter::piece), file, first: 0, formulas };
    let several = trained.summary.multi_label;
    // An answer, its id and label as texts, and the line or column that is made of them.
    let of_node = 160 + if several { 24 * trained.summary.class_names.len() } else { 0 };
    let streamed = streamed(trained, dataset, memory, of_node * writer.piece.min(dataset.num_nodes()), quiet)?;
    let (ids, folder) = (&streamed.ids, working_folder(options.out.as_deref()));
    if several {
        let (mut waiting, records) = (Vec::new(), |records, some: &[_]| with_label_sets(records, trained, some));
        streamed.for_each_label_sets(&folder, |some| writer.take(ids, &mut waiting, some, records))?;
        writer.flush(ids, &mut waiting, 1, records)?;
    } else {
        let (mut waiting, records) = (Vec::new(), |records, some: &[_]| with_classes(records, trained, some));
        streamed.for_each_classes(&folder, |some| writer.take(ids, &mut waiting, some, records))?;
        writer.flush(ids, &mut waiting, 1, records)?;
    }
    writer.file.map(RecordWriter::finish).transpose()?;
    print_notes(&[peak()], quiet);
    Ok(())
}

/// Writes answers as they come, to a file or to stdout.
struct AnswerWriter {
    file: Option<RecordWriter>,
    /// Answers that are written at a time.
    piece: usize,
    /// The node that comes next.
    first: usize,
    formulas: Formulas,
}

impl AnswerWriter {
    fn take<A>(
        &mut self,
        ids: &Ids,
        waiting: &mut Vec<A>,
        some: Vec<A>,
        records: impl Fn(Records, &[A]) -> Records,
    ) -> nigh::Result<()> {
        waiting.extend(some);
        self.flush(ids, waiting, self.piece, records)
    }

    /// Writes while so many are waiting.
    fn flush<A>(
        &mut self,
        ids: &Ids,
        waiting: &mut Vec<A>,
        least: usize,
        records: impl Fn(Records, &[A]) -> Records,
    ) -> nigh::Result<()> {
        while waiting.len() >= least {
            let count = self.piece.min(waiting.len());
            let nodes = self.first..self.first + count;
            let id = match ids {
                Ids::Names(names) => RecordColumn::from_texts(nodes.map(|node| &names[node])),
                _ => RecordColumn::from_integers(nodes.map(|node| ids.integer(node).unwrap_or_default())),
            };
            let records = records(Records::default().with("id", id), &waiting[..count]).with_formulas(self.formulas);
            match &mut self.file {
                Some(file) => file.write(&records)?,
                None => {
                    let header = if self.first == 0 { records.csv_header() } else { String::new() };
                    let failed = |error: anyhow::Error| error.downcast().unwrap_or_else(std::io::Error::other);
                    print_data(&(header + &records.csv_rows()))
                        .map_err(|error| Error::io(Path::new("stdout"))(failed(error)))?;
                }
            }
            self.first += count;
            waiting.drain(..count);
        }
        Ok(())
    }
}

/// What is answered for the nodes of all graphs, and columns that name the nodes.
fn answers<A>(
    trained: &Trained,
    dataset: &Dataset,
    quiet: bool,
    of_graph: impl Fn(&Inference<'_>) -> nigh::Result<Vec<A>>,
    node: impl Fn(&A) -> u32,
) -> Result<(Records, Vec<A>)> {
    let (mut graphs, mut ids, mut answers) = (Vec::new(), Vec::new(), Vec::new());
    trained.apply_each(dataset, |number, inference| {
        print_notes(&inference.notes, quiet || number > 0);
        for answer in of_graph(&inference)? {
            graphs.push(dataset.graph_name(number));
            ids.push(inference.sample.ids.name(node(&answer) as usize).into_owned());
            answers.push(answer);
        }
        Ok(())
    })?;
    let records = match dataset.samples.len() {
        1 => Records::default(),
        _ => Records::default().with("graph", RecordColumn::from_texts(graphs)),
    };
    Ok((records.with("id", id_column(ids)), answers))
}
