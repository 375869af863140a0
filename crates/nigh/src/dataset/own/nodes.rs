//! The nodes of a user's graphs: which row of a file belongs to which node, by id or by order.

use crate::dataset::{Features, Ids};
use crate::display::pluralize;
use crate::error::{Error, Result};
use crate::label_sets::LabelSets;
use nigh_formats::Texts;
use nigh_formats::edges::ascending;
use nigh_formats::ids::whole_float;
use nigh_formats::interner::Interner;
use nigh_formats::node_rows::{NodeRows, RowLabels};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// The row of every node of every graph, where it has one.
type RowsOfNodes = Vec<Vec<Option<u32>>>;

/// The nodes of the user's graphs; features may add some that have no edge.
#[derive(Debug)]
pub(crate) struct Nodes {
    pub ids: Vec<Ids>,
    /// The names of the graphs, where there are several.
    pub graphs: Option<Texts>,
    /// How many of each graph are known from the edges, or from a list of nodes.
    listed: Vec<usize>,
    /// The graph and the node of every row that has no id, if a list of nodes says so.
    order: Option<Vec<(usize, u32)>>,
    /// Remarks on ids that were written in another way.
    pub notes: Vec<String>,
}

impl Nodes {
    pub fn new(ids: Vec<Ids>, graphs: Option<Texts>) -> Nodes {
        let listed = ids.iter().map(Ids::len).collect();
        Nodes { ids, graphs, listed, order: None, notes: Vec::new() }
    }

    /// How many nodes were added.
    pub fn num_added(&self) -> usize {
        self.ids.iter().zip(&self.listed).map(|(ids, listed)| ids.len() - listed).sum()
    }

    /// Puts nodes in the order of a list, which names them all. Returns the new place of every node.
    pub fn arrange(&mut self, list: &NodeRows<()>) -> Result<Vec<Vec<u32>>> {
        let rows = self.rows_of(list, true)?;
        let mut order = vec![(0, 0); list.len];
        let mut places = Vec::new();
        for (graph, rows) in rows.iter().enumerate() {
            let mut nodes: Vec<(u32, u32)> = Vec::with_capacity(rows.len());
            for (node, row) in rows.iter().enumerate() {
                let missing = || format!("node `{}` has edges and is not in the list", self.ids[graph].name(node));
                nodes.push((row.ok_or_else(|| Error::file(list.path(), missing()))?, node as u32));
            }
            nodes.sort_unstable();
            let mut place_of = vec![0; nodes.len()];
            for (place, &(row, node)) in (0..).zip(&nodes) {
                place_of[node as usize] = place;
                order[row as usize] = (graph, place);
            }
            let nodes: Vec<u32> = nodes.into_iter().map(|entry| entry.1).collect();
            self.ids[graph] = self.ids[graph].select(&nodes);
            self.listed[graph] = nodes.len();
            places.push(place_of);
        }
        self.order = Some(order);
        Ok(places)
    }

    /// For every node of every graph, its row. With `add`, rows of unknown nodes make new nodes.
    pub fn rows_of<T>(&mut self, rows: &NodeRows<T>, add: bool) -> Result<RowsOfNodes> {
        match &rows.ids {
            Some(ids) => self.rows_by_id(rows, ids, add, None),
            None => self.rows_by_order(rows, add),
        }
    }

    /// For every node of every graph, its first row; and all further rows, each with the first of its node.
    pub fn rows_and_repeats<T>(&mut self, rows: &NodeRows<T>) -> Result<(RowsOfNodes, Vec<[u32; 2]>)> {
        let mut repeats = Vec::new();
        let found = match &rows.ids {
            Some(ids) => self.rows_by_id(rows, ids, false, Some(&mut repeats))?,
            None => self.rows_by_order(rows, false)?,
        };
        Ok((found, repeats))
    }

    fn rows_by_order<T>(&mut self, rows: &NodeRows<T>, add: bool) -> Result<RowsOfNodes> {
        let wrong = |problem: String| Err(Error::file(rows.source.path(), problem));
        if let Some(order) = &self.order {
            if rows.len != order.len() {
                return wrong(format!("{} rows, but the list of nodes has {}", rows.len, order.len()));
            }
            let mut found: RowsOfNodes = self.ids.iter().map(|ids| vec![None; ids.len()]).collect();
            for (row, &(graph, node)) in (0..).zip(order) {
                found[graph][node as usize] = Some(row);
            }
            return Ok(found);
        }
        let [ids] = &mut self.ids[..] else {
            return wrong(format!("rows without ids can't be told apart in {} graphs; add ids", self.ids.len()));
        };
        if let (Ids::Numbers(n), true) = (&mut *ids, add) {
            *n = rows.len.max(*n);
        }
        if rows.len != ids.len() {
            return wrong(format!("{} rows, but the graph has {} nodes", rows.len, ids.len()));
        }
        Ok(vec![(0..rows.len as u32).map(Some).collect()])
    }

    /// Further rows of a node are an error, unless there is a list for them.
    fn rows_by_id<T>(
        &mut self,
        rows: &NodeRows<T>,
        ids: &Texts,
        add: bool,
        mut repeats: Option<&mut Vec<[u32; 2]>>,
    ) -> Result<RowsOfNodes> {
        let mut found: RowsOfNodes = self.ids.iter().map(|ids| vec![None; ids.len()]).collect();
        let mut added: Vec<Interner> = self.ids.iter().map(|_| Interner::default()).collect();
        let lookups: Vec<_> = self.ids.iter().map(Ids::lookup).collect();
        let graphs: HashMap<&str, usize> = self.graphs.iter().flat_map(|graphs| graphs.iter().zip(0..)).collect();
        let mut respelled = None;
        for (row, id) in ids.iter().enumerate() {
            let wrong = |problem: String| Error::from(rows.source.error(row, problem));
            let graph = match (&rows.graphs, &lookups[..]) {
                (_, [_]) => Some(0),
                (Some(names), _) => {
                    let known = graphs.get(&names[row]).copied();
                    Some(known.ok_or_else(|| wrong(format!("graph `{}` has no edges", &names[row])))?)
                }
                (None, lookups) => {
                    let mut holders = (0..lookups.len()).filter(|&graph| lookups[graph].find(id).is_some());
                    let graph = holders.next();
                    if let (Some(_), Some(_)) = (graph, holders.next()) {
                        return Err(wrong(format!("node `{id}` is in several graphs; add a column `graph`")));
                    }
                    graph
                }
            };
            let unknown = || wrong(format!("node `{id}` is not in the graph"));
            let graph = graph.ok_or_else(unknown)?;
            // `7.0` among integers is `7`, also where it is new.
            let integer = whole_float(id).filter(|_| !matches!(self.ids[graph], Ids::Names(_)));
            let integer = integer.map(|number| number.to_string());
            let node = match lookups[graph].find(id) {
                Some(node) => node,
                None if add => {
                    let node = self.ids[graph].len() as u32 + added[graph].number(integer.as_deref().unwrap_or(id));
                    found[graph].resize(self.ids[graph].len() + added[graph].len(), None);
                    node
                }
                None => return Err(unknown()),
            };
            let known = self.ids[graph].len() > node as usize;
            if integer.is_some()
                || (known && matches!(&self.ids[graph], Ids::Names(names) if &names[node as usize] != id))
            {
                respelled.get_or_insert_with(|| {
                    let name = match known {
                        true => self.ids[graph].name(node as usize).into_owned(),
                        false => integer.unwrap_or_default(),
                    };
                    format!(
                        "`{id}` in {} is node `{name}`, and so are other ids with or without `.0`",
                        rows.source.path().display()
                    )
                });
            }
            let place = &mut found[graph][node as usize];
            match (*place, &mut repeats) {
                (None, _) => *place = Some(row as u32),
                (Some(first), Some(repeats)) => repeats.push([first, row as u32]),
                (Some(first), None) => {
                    let place = rows.source.place(first as usize);
                    return Err(wrong(format!("node `{id}` has a row already, {place}")));
                }
            }
        }
        drop(lookups);
        self.notes.extend(respelled);
        for ((ids, found), added) in self.ids.iter_mut().zip(&mut found).zip(added) {
            if !added.is_empty() {
                // In ascending order as well, so that the order of rows is of no consequence.
                let (added, order) = ascending(added.into_names());
                if let Some(order) = order {
                    let rows = found.split_off(ids.len());
                    found.resize(ids.len() + rows.len(), None);
                    order.iter().zip(rows).for_each(|(&place, row)| found[ids.len() + place as usize] = row);
                }
                *ids = Ids::from_names(ids.iter().chain(added.iter()));
            }
        }
        Ok(found)
    }

    /// `F` of every graph; every node needs a row, unless none means zeros.
    pub fn features(&self, rows: NodeRows<Features>, of_nodes: RowsOfNodes) -> Result<Vec<Features>> {
        let mut missing = of_nodes.iter().zip(&self.ids).flat_map(|(rows, ids)| {
            rows.iter().enumerate().filter(|(_, row)| row.is_none()).map(|(node, _)| ids.name(node))
        });
        if !rows.gaps
            && let Some(first) = missing.next()
        {
            let (count, path) = (1 + missing.count(), rows.source.path());
            return Err(Error::file(path, format!("{count} nodes of the graph have no row, `{first}` for one")));
        }
        let rows = if rows.gaps { rows.rows.with_empty_row() } else { rows.rows };
        let last = rows.rows() as u32 - 1;
        let select = |of_nodes: Vec<Option<u32>>| {
            rows.permute_rows(&of_nodes.into_iter().map(|row| row.unwrap_or(last)).collect::<Vec<_>>())
        };
        Ok(of_nodes.into_iter().map(select).collect())
    }
}

/// A remark on labels that look like numbers to predict: nearly every node has another. An error, unless the user chose them:
/// a training would take its time and then report the accuracy of a guess.
pub(crate) fn question_labels(rows: &NodeRows<RowLabels>, classes: &[String], chosen: bool) -> Result<Option<String>> {
    let labelled = rows.rows.num_labelled();
    let are_numbers = classes.iter().all(|class| class.parse::<f64>().is_ok());
    // Fewer than four nodes of a class can't be divided into training, validation and test.
    if !are_numbers || classes.len() < MANY_CLASSES || 4 * classes.len() <= labelled {
        return Ok(None);
    }
    let question = format!("{} classes for {labelled} nodes: is this a number to predict?", classes.len());
    if chosen {
        return Ok(Some(format!("{}: {question}", rows.path().display())));
    }
    let problem = format!("{question} Labels are classes; if these are, name their column");
    let problem = nigh_formats::Error::file(rows.path(), problem);
    Err(Error::UnclearColumns { problem: Box::new(problem), columns: &["label"] })
}

/// Small graphs may have as many classes as they like.
const MANY_CLASSES: usize = 20;

/// Classes in order, by value if they are numbers, and the class of each label.
fn classes(labels: &Texts) -> (Vec<String>, Vec<Option<u32>>) {
    let mut numbers = Interner::default();
    let of_rows: Vec<Option<u32>> =
        labels.iter().map(|label| (!label.is_empty()).then(|| numbers.number(label))).collect();
    let names = numbers.into_names();
    let mut order: Vec<u32> = (0..names.len() as u32).collect();
    let values: Option<Vec<i64>> = names.iter().map(|name| name.parse().ok()).collect();
    order.sort_unstable_by_key(|&at| (values.as_ref().map(|values| values[at as usize]), &names[at as usize]));
    let mut places = vec![0; names.len()];
    order.iter().zip(0..).for_each(|(&at, place)| places[at as usize] = place);
    let class_names = order.iter().map(|&at| names[at as usize].to_string()).collect();
    (class_names, of_rows.into_iter().map(|class| class.map(|class| places[class as usize])).collect())
}

/// The labels of all nodes: names of classes, and what each node of each graph has of them.
pub(super) struct NodeLabels {
    pub class_names: Vec<String>,
    pub graphs: GraphLabels,
    pub notes: Vec<String>,
}

/// By graph.
pub(super) enum GraphLabels {
    /// A class per node.
    One(Vec<Arc<[Option<u32>]>>),
    /// Several classes per node.
    Several(Vec<Arc<LabelSets>>),
}

/// The labels of nodes, given the row of each and further rows, each with the first of the same node.
pub(super) fn labels_of_nodes(rows: &NodeRows<RowLabels>, of_nodes: RowsOfNodes, repeats: &[[u32; 2]]) -> NodeLabels {
    let labels = &rows.rows;
    let (class_names, of_names) = classes(&labels.names);
    let mut sets: Vec<BTreeSet<u32>> =
        (0..labels.len()).map(|row| labels.places(row).filter_map(|at| of_names[at]).collect()).collect();
    for &[first, row] in repeats {
        let more = std::mem::take(&mut sets[row as usize]);
        sets[first as usize].extend(more);
    }
    let path = rows.path().display();
    let set = |row: Option<u32>| row.into_iter().flat_map(|row| sets[row as usize].iter().copied());
    let counts = || of_nodes.iter().flatten().map(|&row| set(row).count()).filter(|&count| count > 0);
    let several = counts().filter(|&count| count > 1).count();
    if several == 0 {
        let class = |row: Option<u32>| set(row).next();
        let graphs = of_nodes.iter().map(|rows| rows.iter().map(|&row| class(row)).collect()).collect();
        let notes = match repeats.len() {
            0 => Vec::new(),
            count => vec![format!("{} of {path} repeat what another says of the same node", pluralize(count, "row"))],
        };
        return NodeLabels { class_names, graphs: GraphLabels::One(graphs), notes };
    }
    let (labelled, total) = (counts().count(), counts().sum::<usize>());
    let ways: Vec<&str> = [labels.written(), if repeats.is_empty() { "" } else { "repeated rows" }].into();
    let ways: Vec<&str> = ways.into_iter().filter(|way| !way.is_empty()).collect();
    let note = format!(
        "nodes have several labels: {several} of {labelled} labelled ones, {:.1} each on average, read from {} in {path}",
        total as f64 / labelled as f64,
        ways.join(" and "),
    );
    let graphs = of_nodes.iter().map(|rows| Arc::new(rows.iter().map(|&row| set(row)).collect())).collect();
    NodeLabels { class_names, graphs: GraphLabels::Several(graphs), notes: vec![note] }
}
