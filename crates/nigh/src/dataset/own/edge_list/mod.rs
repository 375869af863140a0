//! Edge lists: two columns of ids, and perhaps of weights and of graphs.

mod adjacency_list;
mod columnar;
mod layout;
mod order;
mod row;
mod shape;

pub(crate) use self::columnar::{numbered_integers, read_columnar};
pub use self::layout::{EdgeColumns, WeightColumn};
use self::layout::{EdgeLayout, TablePlace, is_header};
use self::order::sorted_graphs;
pub(crate) use self::order::{ascending, numbered};
use self::row::{EdgeRow, plain_line, plain_pair};
use crate::dataset::ids::{Ids, whole_number};
use crate::dataset::interner::Interner;
use crate::error::{Error, Result};
use crate::graph::{Cleaning, Edges, Graph, Spill, build, build_mentioned, span};
use crate::threads;
use nigh_formats::Texts;
use nigh_formats::memory::{self, Growth};
use nigh_formats::table::{TableReader, header_note};
use nigh_formats::text_table::{
    BadLine, BlockResult, LineBlock, ParsedLine, TextTable, attributes_start, comments_note, line_text,
};
use rayon::prelude::*;
use std::borrow::Cow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// The content of an edge list.
#[derive(Debug, Default)]
pub(crate) struct EdgeList {
    /// Of every node: integers and names ascend, so that the order of lines is of no consequence.
    pub ids: Ids,
    pub edges: ListedEdges,
    /// What was cleaned so far.
    pub cleaned: Cleaning,
    /// Names of graphs, and the number of one per edge, if there are several.
    pub graphs: Option<(Texts, Vec<Vec<u32>>)>,
    /// Whether the file lists its nodes, which gives them an order.
    pub ordered: bool,
    /// Whether edges have a direction, if the file says so.
    pub directed: Option<bool>,
    /// Whether ids such as `7.0` were read as whole numbers.
    pub respelled: bool,
    pub notes: Vec<String>,
}

/// Edges that were read.
#[derive(Debug)]
pub(crate) enum ListedEdges {
    /// In pieces, as they were read; with a weight per edge, or without any.
    Pieces(Vec<Vec<[u32; 2]>>, Vec<Vec<f32>>),
    /// As a graph.
    Built(Graph, Cleaning),
    /// Between numbers as they were read, in buckets, to be built piece by piece.
    Bucketed(Vec<Edges>),
}

impl Default for ListedEdges {
    fn default() -> ListedEdges {
        ListedEdges::Pieces(Vec::new(), Vec::new())
    }
}

impl EdgeList {
    /// Puts names that were added in their places.
    fn sort_names(&mut self) {
        let Ids::Names(names) = std::mem::take(&mut self.ids) else { unreachable!("names were added") };
        let (ids, order) = ascending(names);
        self.ids = ids;
        if let Some(order) = order {
            self.edges.renumber(&order);
        }
    }
}

impl ListedEdges {
    pub fn is_empty(&self) -> bool {
        match self {
            ListedEdges::Pieces(pieces, _) => pieces.iter().all(Vec::is_empty),
            ListedEdges::Built(graph, cleaning) => graph.num_edges() == 0 && cleaning.self_loops == 0,
            ListedEdges::Bucketed(edges) => span(edges) == 0,
        }
    }

    /// Renumbers the nodes. Returns what was cleaned so far.
    pub fn renumber(&mut self, places: &[u32]) -> Cleaning {
        let mut cleaned = Cleaning::default();
        if let ListedEdges::Built(graph, cleaning) = self {
            let weights = if graph.is_weighted() { vec![graph.edge_weights()] } else { Vec::new() };
            cleaned = *cleaning;
            *self = ListedEdges::Pieces(vec![graph.edges().collect()], weights);
        }
        if let ListedEdges::Pieces(pieces, _) = self {
            pieces.par_iter_mut().flatten().flatten().for_each(|end| *end = places[*end as usize]);
        }
        cleaned
    }

    /// The graph on this many nodes, of which the last may have no edge.
    pub fn into_graph(self, num_nodes: usize) -> Result<(Graph, Cleaning)> {
        let (pieces, weights) = match self {
            ListedEdges::Built(graph, cleaning) => return Ok((graph.with_nodes(num_nodes), cleaning)),
            ListedEdges::Bucketed(edges) => return build(num_nodes, edges),
            ListedEdges::Pieces(pieces, weights) => (pieces, weights),
        };
        let weighted = !weights.is_empty();
        let num_edges: usize = pieces.iter().map(Vec::len).sum();
        // Both ends of an edge, sorted into rows and in the rows; with a weight in each.
        let bytes = num_edges as u64 * if weighted { 36 } else { 20 };
        memory::check(bytes, || format!("a graph of {num_edges} edges, beside their list,"))
            .map_err(|problem| Error::too_large(problem, LESS))?;
        let share = pieces.len().div_ceil(rayon::current_num_threads()).max(1);
        let shared = |number: usize| {
            let mut edges = Edges::new(weighted);
            for (at, piece) in pieces.iter().enumerate().skip(number * share).take(share) {
                threads::check();
                match weights.get(at) {
                    None => piece.iter().for_each(|&edge| edges.push(edge)),
                    Some(weights) => piece.iter().zip(weights).for_each(|(&edge, &w)| edges.push_weighted(edge, w)),
                }
            }
            edges
        };
        let edges = (0..pieces.len().div_ceil(share)).into_par_iter().map(shared).collect();
        drop((pieces, weights));
        build(num_nodes, edges)
    }
}

/// What takes less memory than the edges of a table.
const LESS: &str = "leave out repeated edges, or write a graph file, whose edges stay on disk (`nigh data convert`)";

/// So many first lines show what a file is.
const SAMPLE: usize = 1000;

/// Reads an edge list.
pub(crate) fn read(path: &Path, columns: &EdgeColumns, spill: Option<&Spill>) -> Result<EdgeList> {
    let text = TextTable::open(path)?;
    let nothing = || Error::file(path, "no edges; expected lines of two ids");
    let first = text.head.first().ok_or_else(nothing)?;
    let first_fields = text.fields(first)?;
    let second = text.head.get(1).map(|line| text.fields(line)).transpose()?;
    let header = is_header(&first_fields, second.as_deref(), columns).then_some(&first_fields[..]);
    let skip = usize::from(header.is_some());
    let sample: Vec<Vec<String>> = text.sample(SAMPLE)?.into_iter().skip(skip).collect();
    let dictionary = attributes_start(&first.text).map(|start| first.text[start..].trim());
    let is_free = *columns == EdgeColumns { weight: WeightColumn::None, ..EdgeColumns::default() }
        || *columns == EdgeColumns::default();
    if is_free && header.is_none() && dictionary.is_none() && adjacency_list::is_adjacency_list(path, &sample) {
        return adjacency_list::read(&text);
    }
    let width = first_fields.len();
    if width < 2 {
        let problem = format!("`{}` is one column; an edge needs two ids", first.text.trim());
        return Err(Error::line(path, first.number, problem));
    }
    let place = TablePlace { path, line: Some(first.number) };
    let (layout, remarks) = match dictionary.filter(|_| header.is_none()) {
        Some(dictionary) => EdgeLayout::with_attributes(path, columns, dictionary)
            .map_err(|problem| Error::line(path, first.number, problem))?,
        None => EdgeLayout::new(place, columns, header, width).map_err(|error| shape::explained(error, &sample))?,
    };
    let first_ids = match &layout.attributes {
        Some(_) => None,
        None => sample.first(),
    };
    let end = |column: usize| {
        first_ids.and_then(|ids| ids.get(column)).is_some_and(|id| whole_number(id.as_bytes()).is_some())
    };
    let read_list = || {
        let list = match end(layout.source) && end(layout.target) && layout.graph.is_none() {
            true => read_integers(&text, &layout, skip, spill)?,
            false => None,
        };
        list.map_or_else(|| read_names(&text, &layout, skip), Ok)
    };
    let mut list = read_list().map_err(|error| shape::of_weight(error, &text, &layout, skip))?;
    if list.edges.is_empty() {
        return Err(nothing());
    }
    match header {
        Some([first, second]) if is_edge_after_all(&mut list, first, second) => list.sort_names(),
        Some(_) => list.notes.push(header_note(&text)),
        None if first_is_apart(&list) => list.notes.push(format!(
            "line {} of {}, `{}`, was read as an edge, and nothing else has its nodes; if it is a header, name its \
             columns as source and target",
            first.number,
            path.display(),
            first.text.trim()
        )),
        None => {}
    }
    list.notes.extend(remarks);
    list.notes.extend(text.notes());
    list.notes.extend(shape::labels_note(path, &layout, &sample));
    Ok(list)
}

/// Whether the names of the first line occur nowhere else, as those of a header do.
fn first_is_apart(list: &EdgeList) -> bool {
    let (Ids::Names(_), ListedEdges::Pieces(pieces, _)) = (&list.ids, &list.edges) else { return false };
    let mut edges = pieces.iter().flatten().peekable();
    let Some(&first) = edges.next() else { return false };
    edges.peek().is_some() && !edges.any(|edge| edge.iter().any(|end| first.contains(end)))
}

/// Whether a supposed header names nodes of other lines; then it is added as an edge.
fn is_edge_after_all(list: &mut EdgeList, first: &str, second: &str) -> bool {
    let Ids::Names(names) = &mut list.ids else { return false };
    let mut ends = [first, second].map(|word| names.iter().position(|name| name == word));
    if ends == [None, None] {
        return false;
    }
    for (end, word) in ends.iter_mut().zip([first, second]) {
        *end = end.or_else(|| {
            names.push(word);
            Some(names.len() - 1)
        });
    }
    if let ListedEdges::Pieces(pieces, _) = &mut list.edges {
        pieces.push(vec![ends.map(|end| end.expect("found or added") as u32)]);
    }
    true
}

/// The edges of one block.
#[derive(Debug, Default)]
struct EdgePiece {
    edges: Vec<[u32; 2]>,
    weights: Vec<f32>,
    graphs: Vec<u32>,
}

/// What a thread keeps from block to block.
#[derive(Debug, Default)]
struct EdgeWorker {
    nodes: SeenNames,
    graphs: SeenNames,
    piece: EdgePiece,
    numbers: Vec<u32>,
}

/// Names that a thread has seen, with the place of the first mention of each.
#[derive(Debug, Default)]
struct SeenNames {
    interner: Interner,
    firsts: Vec<u64>,
}

impl SeenNames {
    /// `first` is the place of the first of these names in the file.
    fn numbers(&mut self, names: &[&str], block: usize, numbers: &mut Vec<u32>) {
        numbers.clear();
        self.interner.numbers(names, numbers);
        let mut next = self.firsts.len() as u32;
        if self.interner.len() as u32 == next {
            return;
        }
        for (at, &number) in numbers.iter().enumerate() {
            if number == next {
                self.firsts.push((block as u64) << 32 | at as u64);
                next += 1;
            }
        }
    }
}

/// Names of all threads in the order of their first mention, and for each thread the numbers of its names.
fn merged(names: Vec<SeenNames>) -> (Texts, Vec<Vec<u32>>) {
    let mut places: Vec<Vec<u32>> = names.iter().map(|names| vec![0; names.firsts.len()]).collect();
    let mut order: Vec<(u64, u32, u32)> = Vec::new();
    for (worker, names) in names.iter().enumerate() {
        order.extend(names.firsts.iter().enumerate().map(|(at, &first)| (first, worker as u32, at as u32)));
    }
    order.par_sort_unstable();
    let mut all = Interner::default();
    for (_, worker, at) in order {
        let name = &names[worker as usize].interner.names()[at as usize];
        places[worker as usize][at as usize] = all.number(name);
    }
    (all.into_names(), places)
}

/// Reads ids that are small integers, which are their own numbers. `None` if some are not.
fn read_integers(
    text: &TextTable,
    layout: &EdgeLayout,
    skip: usize,
    spill: Option<&Spill>,
) -> Result<Option<EdgeList>> {
    let other = AtomicBool::new(false);
    let weighted = layout.is_weighted();
    // Both ends of an edge in a bucket, then in the rows of a graph; with a weight in each.
    let (bucketed, built) = if weighted { (20, 16) } else { (12, 8) };
    let growth = Growth::new(format!("the edges of {}", text.path.display()), built as f64 / bucketed as f64);
    let read = text.blocks(
        skip,
        || Edges::spilling(weighted, spill),
        |edges, block| {
            let all = integers(edges, block, layout, text)?;
            if spill.is_none() {
                memory::or_stop(growth.add(bucketed * all.unwrap_or(0) as u64));
            }
            all.ok_or_else(|| {
                other.store(true, Ordering::Relaxed);
                BadLine::new(0, "not whole numbers")
            })
        },
    );
    if other.into_inner() {
        return Ok(None);
    }
    let (edges, blocks) = read?;
    let notes = comments_note(&text.path, &blocks).into_iter().collect();
    let num_edges: usize = blocks.into_iter().map(|block| block.result).sum();
    if span(&edges) > 4 * num_edges + (1 << 20) {
        // A table of all numbers up to the largest would be mostly holes.
        return Ok(None);
    }
    if spill.is_some() {
        return Ok(Some(EdgeList { edges: ListedEdges::Bucketed(edges), notes, ..EdgeList::default() }));
    }
    let (graph, cleaning, mentioned) = build_mentioned(edges)?;
    let ids = Ids::from_integers(mentioned.into_iter().map(i64::from).collect());
    Ok(Some(EdgeList { ids, edges: ListedEdges::Built(graph, cleaning), notes, ..EdgeList::default() }))
}

/// Reads ids of any kind.
fn read_names(text: &TextTable, layout: &EdgeLayout, skip: usize) -> Result<EdgeList> {
    // Names are joined, sorted and looked up again; edges are moved to the rows of their ends.
    let growth = Growth::new(format!("the edges of {}", text.path.display()), 3.0);
    let (workers, pieces) = text.blocks(skip, EdgeWorker::default, |worker, block| {
        let before = worker.nodes.interner.names().num_bytes();
        let piece = named_piece(worker, block, layout, text)?;
        let names = worker.nodes.interner.names().num_bytes() - before;
        memory::or_stop(growth.add((names + 12 * piece.edges.len()) as u64));
        Ok(piece)
    })?;
    let (nodes, graphs): (Vec<SeenNames>, Vec<SeenNames>) =
        workers.into_iter().map(|worker| (worker.nodes, worker.graphs)).unzip();
    let (names, places) = merged(nodes);
    let numbered = numbered(&text.path, names)?;
    let of_piece: Vec<usize> = pieces.iter().map(|piece| piece.worker).collect();
    let note = comments_note(&text.path, &pieces);
    let mut list = gathered(layout, pieces, graphs);
    list.respelled = numbered.note.is_some();
    list.notes.extend(note.into_iter().chain(numbered.note));
    let place = |name: u32| numbered.order.as_ref().map_or(name, |order| order[name as usize]);
    let places: Vec<Vec<u32>> = places.into_iter().map(|places| places.into_iter().map(place).collect()).collect();
    if let ListedEdges::Pieces(pieces, _) = &mut list.edges {
        pieces.par_iter_mut().zip(of_piece).for_each(|(edges, worker)| {
            threads::check();
            edges.iter_mut().flatten().for_each(|end| *end = places[worker][*end as usize]);
        });
    }
    list.ids = numbered.ids;
    Ok(list)
}

fn gathered(layout: &EdgeLayout, pieces: Vec<BlockResult<EdgePiece>>, graphs: Vec<SeenNames>) -> EdgeList {
    let (names, places) = merged(graphs);
    let (mut edges, mut weights, mut of_edges) = (Vec::new(), Vec::new(), Vec::new());
    for BlockResult { worker, result: piece, .. } in pieces {
        edges.push(piece.edges);
        weights.extend(layout.is_weighted().then_some(piece.weights));
        of_edges.push(piece.graphs.iter().map(|&graph| places[worker][graph as usize]).collect());
    }
    let graphs = layout.graph.map(|_| sorted_graphs(names, of_edges));
    EdgeList { edges: ListedEdges::Pieces(edges, weights), graphs, ..EdgeList::default() }
}

/// Adds the edges of a block whose ids are integers and counts them; `None` if an id is not an integer.
fn integers(
    edges: &mut Edges,
    block: &LineBlock<'_>,
    layout: &EdgeLayout,
    table: &TextTable,
) -> ParsedLine<Option<usize>> {
    let (content, skipped) = block.content();
    let plain = layout.is_plain();
    let mut add = |edge: [u32; 2], weight: Option<f32>| match weight {
        None => edges.push(edge),
        Some(weight) => edges.push_weighted(edge, weight),
    };
    let mut fields = Vec::new();
    let (mut at, mut line, mut count) = (0, skipped, 0);
    while at < content.len() {
        if plain && let Some((edge, weight, next)) = plain_line(content, at, table.separator, layout.weight.is_some()) {
            add(edge, weight);
            (at, line, count) = (next, line + 1, count + 1);
            continue;
        }
        let end = content[at..].iter().position(|&byte| byte == b'\n').map_or(content.len(), |end| at + end);
        let (text, number) = (line_text(&content[at..end], line), line);
        (at, line) = (end + 1, line + 1);
        if let Some(text) = text.transpose()? {
            let row = EdgeRow::parse(text, number, layout, table, &mut fields)?;
            let id = |id: &str| whole_number(id.as_bytes()).filter(|id| (0..Edges::LIMIT as i64).contains(id));
            let (Some(source), Some(target)) = (id(&row.source), id(&row.target)) else { return Ok(None) };
            add([source as u32, target as u32], row.weight);
            count += 1;
        }
    }
    Ok(Some(count))
}

/// The edges of a block whose ids are any names, numbered in the order in which this thread saw them.
fn named_piece(
    worker: &mut EdgeWorker,
    block: &LineBlock<'_>,
    layout: &EdgeLayout,
    table: &TextTable,
) -> ParsedLine<EdgePiece> {
    let plain = layout.is_plain() && layout.weight.is_none();
    let mut fields = Vec::new();
    let (mut ends, mut graphs) = (Vec::new(), Vec::new());
    let piece = &mut worker.piece;
    piece.weights.clear();
    for line in block.lines() {
        let (number, text) = line?;
        if plain && let Some(pair) = plain_pair(text, table.separator) {
            ends.extend(pair.map(Cow::Borrowed));
            continue;
        }
        let row = EdgeRow::parse(text, number, layout, table, &mut fields)?;
        ends.extend([row.source, row.target]);
        piece.weights.extend(row.weight);
        graphs.extend(row.graph);
    }
    let graphs: Vec<&str> = graphs.iter().map(|graph: &Cow<'_, str>| graph.as_ref()).collect();
    let ends: Vec<&str> = ends.iter().map(|end| end.as_ref()).collect();
    worker.nodes.numbers(&ends, block.index, &mut worker.numbers);
    piece.edges.clear();
    piece.edges.extend(worker.numbers.as_chunks::<2>().0);
    worker.graphs.numbers(&graphs, block.index, &mut worker.numbers);
    Ok(piece.taken(&worker.numbers))
}

impl EdgePiece {
    /// A copy of exact size; the buffers are reused for the next block.
    fn taken(&self, graphs: &[u32]) -> EdgePiece {
        EdgePiece { edges: self.edges.clone(), weights: self.weights.clone(), graphs: graphs.to_vec() }
    }
}

/// Pairs of ids to be scored.
#[derive(Debug, Clone, PartialEq)]
pub struct Pairs {
    /// The line, or row, of each pair, and its ids.
    pub pairs: Vec<(usize, [String; 2])>,
    /// Whether there was a header above them.
    pub has_header: bool,
    /// Remarks on what was read.
    pub notes: Vec<String>,
}

/// Reads pairs of ids to be scored from a table. `is_node` distinguishes an id from a header.
pub fn read_pairs(path: &Path, is_node: impl Fn(&str) -> bool) -> Result<Pairs> {
    let nothing = "no pairs; expected lines of two ids";
    let columns = EdgeColumns::default();
    let table = TableReader::open(path, nothing, |first, second| {
        is_header(first, second, &columns) && !first.iter().any(|field| is_node(field))
    })?;
    if table.width < 2 {
        let only = table.read(&[0], &[])?.names[0].iter().next().unwrap_or_default().to_string();
        return Err(table.first_error(format!("`{only}` is one column; a pair needs two ids")).into());
    }
    let ends = match table.header.as_deref().map(layout::named_ends) {
        Some([Some(source), Some(target)]) if source != target => [source, target],
        _ => [0, 1],
    };
    let mut read = table.read(&ends, &[])?;
    if read.places.is_empty() {
        return Err(Error::file(path, nothing));
    }
    let notes = table.header_note().into_iter().chain(std::mem::take(&mut read.notes)).collect();
    let pair = |(at, &line): (usize, &usize)| (line, [0, 1].map(|end| read.names[end][at].to_string()));
    let has_header = table.header.is_some();
    Ok(Pairs { pairs: read.places.iter().enumerate().map(pair).collect(), has_header, notes })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::{BTreeSet, HashMap};

    fn read_text(content: &[u8], columns: &EdgeColumns) -> Result<EdgeList> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("edges.txt");
        std::fs::write(&path, content).unwrap();
        read(&path, columns, None)
    }

    fn list(content: &str) -> EdgeList {
        read_text(content.as_bytes(), &EdgeColumns::default()).unwrap()
    }

    /// Every edge once, the smaller end first.
    fn edges(list: &EdgeList) -> Vec<[u32; 2]> {
        let mut edges: Vec<[u32; 2]> = match &list.edges {
            ListedEdges::Pieces(pieces, _) => pieces.concat().iter().map(|&[a, b]| [a.min(b), a.max(b)]).collect(),
            ListedEdges::Built(graph, _) => graph.edges().collect(),
            ListedEdges::Bucketed(_) => unreachable!("nothing is spilled"),
        };
        edges.retain(|[a, b]| a != b);
        edges.sort_unstable();
        edges.dedup();
        edges
    }

    fn weights(list: &EdgeList) -> Vec<f32> {
        match &list.edges {
            ListedEdges::Pieces(_, weights) => weights.concat(),
            ListedEdges::Built(graph, _) => {
                if graph.is_weighted() {
                    graph.edge_weights()
                } else {
                    Vec::new()
                }
            }
            ListedEdges::Bucketed(_) => unreachable!("nothing is spilled"),
        }
    }

    fn names(list: &EdgeList) -> Vec<String> {
        list.ids.iter().map(String::from).collect()
    }

    fn message(content: &[u8]) -> String {
        let error = read_text(content, &EdgeColumns::default()).unwrap_err().to_string();
        error.rsplit_once("edges.txt").unwrap().1.to_string()
    }

    #[test]
    fn commas_tabs_and_blanks_mean_the_same() {
        for content in [
            "a,b\nb,c\n",
            "a\tb\nb\tc",
            "a;b\nb;c",
            "# two edges\n\na  b\nb c\r\n",
            "source,target\na, b\n\"b\",\"c\"",
            "\u{feff}a b\nb c\n",
            "% 2 3\n% of konect\na b\nb c",
        ] {
            let list = list(content);
            assert_eq!(names(&list), ["a", "b", "c"], "{content}");
            assert_eq!(edges(&list), [[0, 1], [1, 2]]);
            assert!(weights(&list).is_empty());
        }
    }

    #[test]
    fn ids_may_hold_blanks_and_commas_where_the_separator_allows() {
        let list = list("New York,\"Paris, France\"\n");
        assert_eq!(names(&list), ["New York", "Paris, France"]);
    }

    fn weighed(content: &str, weight: &str) -> Result<EdgeList> {
        read_text(content.as_bytes(), &EdgeColumns { weight: weight.into(), ..EdgeColumns::default() })
    }

    #[test]
    fn a_third_column_is_a_weight_only_if_it_is_said() {
        let unused = list("a b 1600000000\nb c 1600000001\n");
        assert!(weights(&unused).is_empty());
        let note = unused.notes.iter().find(|note| note.contains("column 3 of")).unwrap();
        assert!(note.ends_with("edges.txt has no name and is not used; it can be named as the weight"), "{note}");
        for content in ["1 2 0.5\n2 3 2\n", "a,b,0.5\nb,c,2\n"] {
            assert_eq!(weights(&weighed(content, "3").unwrap()), [0.5, 2.0]);
            let none = weighed(content, "none").unwrap();
            assert!(weights(&none).is_empty() && !none.notes.iter().any(|note| note.contains("weight")));
        }
        let named = "source,target,w\na,b,0.5\nb,c,2\n";
        let used = list(named);
        assert_eq!(weights(&used), [0.5, 2.0]);
        assert_eq!(used.notes[1], "weights are in column `w`; they can be left out");
        assert!(weights(&weighed(named, "none").unwrap()).is_empty());
    }

    #[test]
    fn a_number_with_a_fraction_of_zero_is_the_same_node() {
        for content in ["7 8\n7.0 9.0\n", "7.0 8\n9.00 7\n"] {
            let found = list(content);
            assert_eq!((&found.ids, &edges(&found)[..]), (&Ids::Integers(vec![7, 8, 9]), &[[0, 1], [0, 2]][..]));
            assert!(found.notes[0].contains("` in ") && found.notes[0].ends_with("were read as whole numbers"));
        }
        // Beside names it is a name.
        assert_eq!(names(&list("1.0 v2\nv2 1.5\n")), ["1.0", "1.5", "v2"]);
        assert_eq!(
            message(b"7 v2\nv2 7.0\n"),
            ": `7` and `7.0` are ids beside names; if they are one node, write it in one way"
        );
    }

    #[test]
    fn dictionaries_of_networkx_have_weights_or_not() {
        let bare = list("1 2 {}\n2 3 {}\n");
        assert_eq!((edges(&bare), weights(&bare).len()), (vec![[0, 1], [1, 2]], 0));
        assert!(!bare.notes.iter().any(|note| note.contains("weight")));
        for content in
            ["a b {'weight': 2, 'kind': 'x, y'}\nb c {'weight': 0.5}\n", "a,b,{'weight': 2}\nb,c,{'weight': 0.5}\n"]
        {
            let found = list(content);
            assert_eq!((names(&found), weights(&found)), (vec!["a".into(), "b".into(), "c".into()], vec![2.0, 0.5]));
            assert!(found.notes.iter().any(|note| note == "weights are `weight` of the edges; they can be left out"));
            assert!(weights(&weighed(content, "none").unwrap()).is_empty());
        }
        let cost = "1 2 {'cost': 3}\n2 3 {'cost': 4}\n";
        assert_eq!(weights(&weighed(cost, "cost").unwrap()), [3.0, 4.0]);
        assert!(list(cost).notes[0].ends_with("are not used; one can be named as the weight"));
        let wrong = |content: &str| message(content.as_bytes());
        assert_eq!(wrong("1 2 {'weight': 1}\n2 3 {}\n"), ":2: `{}` has no `weight`, as the lines above");
        assert_eq!(wrong("1 2 {}\n2 3\n"), ":2: `2 3` has no {...} at its end, as the lines above");
        assert_eq!(wrong("1 2 {'weight': 'x'}\n"), ":1: weight `'x'` is not a positive number");
        assert_eq!(wrong("1 2 {weight}\n"), ":1: `{weight}` is not a dictionary such as {'weight': 2}");
    }

    #[test]
    fn separators_at_the_end_and_mixed_ones_are_read() {
        for (content, what) in [
            ("1,2,\n2,3,\n", "end with a separator"),
            ("1,2\n2,3,\n", "end with a separator"),
            ("a;b;\nb;c;\n", "end with a separator"),
            ("1\t2\n2 3\n", "tabs and by blanks"),
            ("1 2\n2\t3\n", "tabs and by blanks"),
            ("a\tb\nb c\n", "tabs and by blanks"),
        ] {
            let found = list(content);
            assert_eq!((edges(&found), found.ids.len()), (vec![[0, 1], [1, 2]], 3), "{content}");
            assert!(found.notes.iter().any(|note| note.contains(what)), "{content}: {:?}", found.notes);
        }
    }

    #[test]
    fn labels_and_features_given_as_edges_are_recognised() {
        assert_eq!(
            message(b"id,label\n1,x\n2,y\n"),
            ":1: columns `id` and `label` look like labels, not like edges; give them as labels, and a file of edges as the \
             graph"
        );
        // Memberships are edges if it is said.
        let columns = EdgeColumns { source: Some("id".into()), target: Some("group".into()), ..EdgeColumns::default() };
        assert_eq!(edges(&read_text(b"id,group\n1,x\n2,y\n", &columns).unwrap()).len(), 2);
        let labels: String = (0..50).map(|node| format!("{node} {}\n", node % 7)).collect();
        let note = list(&labels).notes.pop().unwrap();
        assert!(note.contains("the first 50 lines of") && note.contains("the second column has 7 values"), "{note}");
        let ring: String = (0..50).map(|node| format!("{node} {}\n", (node + 1) % 50)).collect();
        assert!(list(&ring).notes.is_empty());
        let swapped = message(b"1 0.5 0.25 3\n2 0.5 0 1\n");
        assert!(swapped.ends_with("look like features: are the graph and its features swapped?"), "{swapped}");
    }

    #[test]
    fn pairs_have_the_headers_of_edges() {
        let folder = tempfile::tempdir().unwrap();
        let pairs = |content: &str| {
            let path = folder.path().join("pairs.csv");
            std::fs::write(&path, content).unwrap();
            let read = read_pairs(&path, |name| ["a", "b", "1", "2"].contains(&name));
            read.map(|read| read.pairs)
                .map_err(|error| error.to_string().rsplit_once("pairs.csv").unwrap().1.to_string())
        };
        let pair = |line: usize, a: &str, b: &str| (line, [a.to_string(), b.to_string()]);
        assert_eq!(pairs("a,b\nb,a\n").unwrap(), [pair(1, "a", "b"), pair(2, "b", "a")]);
        assert_eq!(pairs("who,whom\n1,2\n").unwrap(), [pair(2, "1", "2")], "words above numbers");
        assert_eq!(pairs("score,dst,src\n0.5,a,b\n").unwrap(), [pair(2, "b", "a")]);
        assert_eq!(pairs("a,b,\nb,a,\n").unwrap(), [pair(1, "a", "b"), pair(2, "b", "a")]);
        assert_eq!(pairs("x,y\na,b\n").unwrap()[0], pair(1, "x", "y"), "a wrong pair is not a header");
        assert_eq!(pairs("a\nb\n").unwrap_err(), ":1: `a` is one column; a pair needs two ids");
        assert_eq!(pairs("").unwrap_err(), ": no pairs; expected lines of two ids");
    }

    #[test]
    fn whole_numbers_and_names_are_put_in_order() {
        let all = list("2 0\n0 1\n");
        assert_eq!((&all.ids, &edges(&all)[..]), (&Ids::Numbers(3), &[[0, 1], [0, 2]][..]));
        let gaps = list("9 5\n5 7\n");
        assert_eq!((&gaps.ids, &edges(&gaps)[..]), (&Ids::Integers(vec![5, 7, 9]), &[[0, 1], [0, 2]][..]));
        let large = list("9000000000 -5\n-5 7\n");
        let expected = Ids::Integers(vec![-5, 7, 9_000_000_000]);
        assert_eq!((&large.ids, &edges(&large)[..]), (&expected, &[[0, 1], [0, 2]][..]));
        let mixed = list("9 5\n5 x\n");
        assert_eq!(
            (names(&mixed), &edges(&mixed)[..]),
            (vec!["5".into(), "9".into(), "x".into()], &[[0, 1], [0, 2]][..])
        );
        assert_eq!(names(&list("07 7\n")), ["07", "7"], "two nodes");
    }

    #[test]
    fn a_header_is_none_if_its_words_are_nodes() {
        let found = list("u v\nv w\nw u\n");
        assert_eq!((edges(&found).len(), found.notes.len()), (3, 0));
        for (content, notes) in
            [("node_1,node_2\n1,2\n2,3\n", 1), ("who,whom\n1,2\n2,3", 1), ("from,to,weight\na,b,1\nb,c,2", 2)]
        {
            let found = list(content);
            assert_eq!((edges(&found).len(), found.notes.len(), found.ids.len()), (2, notes, 3), "{content}");
        }
    }

    #[test]
    fn columns_are_found_by_name_or_number() {
        let content = "when,to,who,how much,set\n9,b,a,0.5,x\n8,c,b,2,y\n";
        let named = |source: &str, weight: Option<&str>, graph: Option<&str>| {
            let owned = |name: &str| Some(name.to_string());
            let columns = EdgeColumns {
                source: owned(source),
                target: owned("to"),
                weight: weight.map(WeightColumn::from).unwrap_or_default(),
                graph: graph.and_then(owned),
            };
            read_text(content.as_bytes(), &columns)
        };
        let list = named("who", Some("how much"), Some("SET")).unwrap();
        assert_eq!((names(&list), edges(&list)), (vec!["a".into(), "b".into(), "c".into()], vec![[0, 1], [1, 2]]));
        assert_eq!(weights(&list), [0.5, 2.0]);
        let (graphs, of_edges) = list.graphs.unwrap();
        assert_eq!((graphs.iter().collect::<Vec<_>>(), of_edges.concat()), (vec!["x", "y"], vec![0, 1]));
        assert_eq!(list.notes[1], "not used: column `when`");
        assert!(
            named("whoever", None, None)
                .unwrap_err()
                .to_string()
                .ends_with("edges.txt:1: has no column `whoever`; expected when, to, who, how much, set")
        );
        assert!(named("to", None, None).unwrap_err().to_string().ends_with("column 2 can't be two things at once"));
        let counted = EdgeColumns { source: Some("3".into()), target: Some("1".into()), ..EdgeColumns::default() };
        let list = read_text(b"x y z q\nz y x q\n", &counted).unwrap();
        assert_eq!((names(&list), edges(&list)), (vec!["x".into(), "z".into()], vec![[0, 1]]));
    }

    #[test]
    fn errors_name_line_and_value() {
        assert_eq!(message(b"a b\nc\n"), ":2: `c` is one column; an edge needs two ids");
        assert_eq!(message(b"x\n1\n"), ":1: `x` is one column; an edge needs two ids");
        assert_eq!(message(b"1 2\n3\n"), ":2: `3` is one column; an edge needs two ids");
        assert_eq!(message(b"u v weight\na b 1\na c x\n"), ":3: weight `x` is not a positive number");
        assert_eq!(message(b"u v weight\n1 2 1\n1 3 -2\n"), ":3: weight `-2` is not a positive number");
        assert_eq!(message(b"a b\na c 1\n"), ":2: 3 columns, but the lines above have 2");
        assert_eq!(message(b"a,b\na,\n"), ":2: column 2 is empty");
        assert_eq!(message(b"a,b\nb,\"c\n"), ":2: `b,\"c` opens a quote and does not close it");
        assert_eq!(message(b"a b\n\xff\xfe c\n"), ":2: byte 1 (0xff) is not UTF-8 text");
        assert_eq!(message(b"1 2\n\n# x\n1 \xff\n"), ":4: byte 3 (0xff) is not UTF-8 text");
        assert_eq!(message(b"# nothing\n"), ": no edges; expected lines of two ids");
        assert_eq!(message(b"source,target\n"), ": no edges; expected lines of two ids");
        let many = ":1: 4 columns; expected source, target and at most a weight, or the names of these columns";
        assert_eq!(message(b"a b 1 2\n"), many);
    }

    /// The meaning of a list, by a simple reference.
    fn meaning(edges: &[(String, String)]) -> BTreeSet<[String; 2]> {
        let sorted = |(a, b): &(String, String)| if a < b { [a.clone(), b.clone()] } else { [b.clone(), a.clone()] };
        edges.iter().filter(|(a, b)| a != b).map(sorted).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn every_edge_comes_back_with_its_names(
            listed in prop::collection::vec(("[a-c0-9]{1,3}", "[0-9]{1,2}"), 1..50), comma: bool, end: bool, integers: bool,
        ) {
            let given: Vec<(String, String)> =
                listed.into_iter().map(|(a, b)| if integers { (b.clone(), b) } else { (a, b) }).collect();
            let separator = if comma { "," } else { " " };
            let lines: Vec<String> = given.iter().map(|(a, b)| format!("{a}{separator}{b}")).collect();
            let read = list(&(lines.join("\n") + if end { "\n" } else { "" }));
            let back: Vec<(String, String)> = edges(&read).iter()
                .map(|[a, b]| (read.ids.name(*a as usize).into(), read.ids.name(*b as usize).into())).collect();
            prop_assert_eq!(meaning(&back), meaning(&given));
            let distinct: HashMap<_, _> = given.iter().flat_map(|(a, b)| [(a, ()), (b, ())]).collect();
            prop_assert_eq!(read.ids.len(), distinct.len());
        }

        #[test]
        fn no_text_makes_it_panic(noise in prop::collection::vec(any::<u8>(), 0..200), lines in "[ab1-3 ,;\t\"#%.\n-]{0,80}") {
            let _ = read_text(&noise, &EdgeColumns::default());
            let _ = read_text(lines.as_bytes(), &EdgeColumns::default());
        }
    }
}
