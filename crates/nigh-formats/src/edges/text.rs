//! Edge lists in lines of text.

use super::layout::{EdgeColumns, EdgeLayout, TablePlace, WeightColumn, is_header};
use super::names::read_names;
use super::order::ascending;
use super::row::{EdgeRow, plain_line};
use super::{EdgeFile, EdgeList, EdgeSink, Sinks, adjacency_list, is_sparse, shape, span};
use crate::error::{Error, Result};
use crate::ids::{Ids, whole_number};
use crate::memory::{self, Growth};
use crate::table::header_note;
use crate::text_table::{BadLine, LineBlock, ParsedLine, TextTable, attributes_start, comments_note, line_text};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// So many first lines show what a file is.
const SAMPLE: usize = 1000;

/// Reads an edge list.
pub(super) fn read<S: EdgeSink>(
    path: &Path,
    columns: &EdgeColumns,
    sinks: Sinks<impl Fn(bool) -> S + Sync>,
) -> Result<EdgeFile<S>> {
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
        return Ok(adjacency_list::read(&text)?.into());
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
    let read_file = || {
        let numbered = match end(layout.source) && end(layout.target) && layout.graph.is_none() {
            true => read_integers(&text, &layout, skip, sinks)?,
            false => None,
        };
        numbered.map_or_else(|| Ok(read_names(&text, &layout, skip)?.into()), Ok)
    };
    let mut file = read_file().map_err(|error| shape::of_weight(error, &text, &layout, skip))?;
    let list = &mut file.list;
    if file.numbered.as_ref().map_or(list.edges.iter().all(Vec::is_empty), |edges| span(edges) == 0) {
        return Err(nothing());
    }
    match header {
        Some([first, second]) if is_edge_after_all(list, first, second) => sort_names(list),
        Some(_) => list.notes.push(header_note(&text)),
        None if first_is_apart(list) => list.notes.push(format!(
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
    Ok(file)
}

/// Puts names that were added in their places.
fn sort_names(list: &mut EdgeList) {
    let Ids::Names(names) = std::mem::take(&mut list.ids) else { unreachable!("names were added") };
    let (ids, order) = ascending(names);
    list.ids = ids;
    if let Some(order) = order {
        list.edges.iter_mut().flatten().flatten().for_each(|end| *end = order[*end as usize]);
    }
}

/// Whether the names of the first line occur nowhere else, as those of a header do.
fn first_is_apart(list: &EdgeList) -> bool {
    let Ids::Names(_) = &list.ids else { return false };
    let mut edges = list.edges.iter().flatten().peekable();
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
    list.edges.push(vec![ends.map(|end| end.expect("found or added") as u32)]);
    true
}

/// Reads ids that are small integers, which are their own numbers. `None` if some are not.
fn read_integers<S: EdgeSink>(
    text: &TextTable,
    layout: &EdgeLayout,
    skip: usize,
    sinks: Sinks<impl Fn(bool) -> S + Sync>,
) -> Result<Option<EdgeFile<S>>> {
    let other = AtomicBool::new(false);
    let weighted = layout.is_weighted();
    let [here, afterwards] = S::bytes_per_edge(weighted);
    let growth = Growth::new(format!("the edges of {}", text.path.display()), afterwards as f64 / here as f64);
    let read = text.blocks(
        skip,
        || (sinks.make)(weighted),
        |edges, block| {
            let all = integers(edges, block, layout, text)?;
            if !sinks.are_limited {
                memory::or_stop(growth.add(here * all.unwrap_or(0) as u64));
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
    if is_sparse(&edges, num_edges) {
        return Ok(None);
    }
    let list = EdgeList { notes, ..EdgeList::default() };
    Ok(Some(EdgeFile { list, numbered: Some(edges), features: None, labels: None }))
}

/// Adds the edges of a block whose ids are integers and counts them; `None` if an id is not an integer.
fn integers<S: EdgeSink>(
    edges: &mut S,
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
            let id = |id: &str| whole_number(id.as_bytes()).filter(|id| (0..S::LIMIT as i64).contains(id));
            let (Some(source), Some(target)) = (id(&row.source), id(&row.target)) else { return Ok(None) };
            add([source as u32, target as u32], row.weight);
            count += 1;
        }
    }
    Ok(Some(count))
}

#[cfg(test)]
mod tests {
    use super::super::tests::read_file;
    use super::*;
    use proptest::prelude::*;
    use std::collections::{BTreeSet, HashMap};

    fn read_text(content: &[u8], columns: &EdgeColumns) -> Result<EdgeList> {
        read_file("edges.txt", content, columns)
    }

    fn list(content: &str) -> EdgeList {
        read_text(content.as_bytes(), &EdgeColumns::default()).unwrap()
    }

    /// Every edge once, the smaller end first.
    fn edges(list: &EdgeList) -> Vec<[u32; 2]> {
        let mut edges: Vec<[u32; 2]> = list.edges.concat().iter().map(|&[a, b]| [a.min(b), a.max(b)]).collect();
        edges.retain(|[a, b]| a != b);
        edges.sort_unstable();
        edges.dedup();
        edges
    }

    fn weights(list: &EdgeList) -> Vec<f32> {
        list.weights.concat()
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
