//! METIS's `.graph`: the number of nodes and edges, then a line per node that lists its neighbours, counted from one.

use crate::compressed;
use crate::error::{Error, Result};
use crate::lines::Lines;
use crate::matrix_market::SparseEntries;
use crate::memory::KeptRead;
use std::io::{BufRead, Read};
use std::path::Path;

/// A node with seven million neighbours.
const LONGEST_LINE: u64 = 64 << 20;

/// Opens and reads a file, plain or compressed.
pub fn open(path: &Path) -> Result<SparseEntries> {
    read(path, KeptRead::new(compressed::open(path)?, 3.0))
}

/// Whether the first line of content, which is not a comment, could be of such a file: two to four whole numbers.
pub fn is_start(start: &[u8]) -> bool {
    let Some(line) = start.split(|&byte| byte == b'\n').find(|line| !is_comment(line) && !line.trim_ascii().is_empty())
    else {
        return false;
    };
    let words = || line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    (2..=4).contains(&words().count()) && words().flatten().all(u8::is_ascii_digit)
}

fn is_comment(line: &[u8]) -> bool {
    line.first() == Some(&b'%')
}

/// Reads the adjacency matrix; weights of nodes are passed over. `name` stands in messages.
pub fn read(name: &Path, source: impl Read) -> Result<SparseEntries> {
    let mut lines = Lines::new(name, source, LONGEST_LINE);
    // Blank lines above the header are none of a node.
    while next_line(&mut lines)? && lines.line.trim_ascii().is_empty() {}
    let header = numbers(&lines)?;
    let (nodes, edges, flags, mut skip) = match header[..] {
        [nodes, edges] => (nodes, edges, 0, 0),
        [nodes, edges, flags] => (nodes, edges, flags, 1),
        [nodes, edges, flags, weights] => (nodes, edges, flags, weights),
        _ => return Err(lines.error("expected the number of nodes, of edges, and at most two numbers on weights")),
    };
    let [has_sizes, has_node_weights, has_weights] = match flags {
        0 | 1 | 10 | 11 | 100 | 101 | 110 | 111 => [flags / 100 == 1, flags / 10 % 10 == 1, flags % 10 == 1],
        _ => return Err(lines.error(format!("weights are described by {flags}; expected three digits of 0 and 1"))),
    };
    skip = if has_node_weights { skip } else { 0 } + u64::from(has_sizes);
    if nodes >= 1 << 31 {
        return Err(lines.error(format!("{nodes} nodes; there must be fewer than 2^31")));
    }
    let mut entries = Vec::new();
    let mut values = has_weights.then(Vec::new);
    let mut node = 0;
    while next_line(&mut lines)? {
        if u64::from(node) == nodes {
            if lines.line.trim_ascii().is_empty() {
                continue;
            }
            let problem =
                format!("more lines than the {nodes} nodes announced; is this a list of edges? rename it to .txt");
            return Err(lines.error(problem));
        }
        let numbers = numbers(&lines)?;
        let rest = usize::try_from(skip).ok().and_then(|skip| numbers.get(skip..));
        let rest = rest.ok_or_else(|| lines.error(format!("expected {skip} numbers before the neighbours")))?;
        let step = 1 + usize::from(has_weights);
        if rest.len() % step != 0 {
            return Err(lines.error("the last neighbour has no weight"));
        }
        for neighbour in rest.chunks(step) {
            if !(1..=nodes).contains(&neighbour[0]) {
                return Err(lines.error(format!("neighbour {}; expected 1 to {nodes}", neighbour[0])));
            }
            entries.push([node, (neighbour[0] - 1) as u32]);
            values.iter_mut().for_each(|values| values.push(neighbour[1] as f32));
        }
        node += 1;
    }
    if u64::from(node) != nodes {
        let problem =
            format!("announces {nodes} nodes and has {node} lines below; is this a list of edges? rename it to .txt");
        return Err(Error::file(name, problem));
    }
    let count = entries.len() as u64;
    // Every edge is listed at both ends; some programs list it at one.
    if count != edges && Some(count) != edges.checked_mul(2) {
        return Err(Error::file(
            name,
            format!("announces {edges} edges and lists {count} neighbours; expected twice as many"),
        ));
    }
    let side = nodes as usize;
    SparseEntries { rows: side, cols: side, entries, values, symmetric: false }.bounded(name)
}

/// The next line that is no comment. An empty one is of a node without neighbours.
fn next_line(lines: &mut Lines<'_, impl BufRead>) -> Result<bool> {
    while lines.next()? {
        if !is_comment(&lines.line) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The numbers of a line.
fn numbers(lines: &Lines<'_, impl BufRead>) -> Result<Vec<u64>> {
    let number = |word: &str| {
        word.parse().map_err(|_| lines.error(format!("`{word}` is not a whole number; expected those of METIS")))
    };
    lines.text()?.split_ascii_whitespace().map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read_text(text: &str) -> Result<SparseEntries> {
        read(Path::new("x.graph"), text.as_bytes())
    }

    fn message(text: &str) -> String {
        read_text(text).unwrap_err().to_string().split_once("x.graph").unwrap().1.to_string()
    }

    #[test]
    fn a_line_lists_the_neighbours_of_a_node() {
        let plain = read_text("% by hand\n4 2\n2 3\n% more\n1\n1\n\n").unwrap();
        assert_eq!((plain.rows, plain.cols, &plain.values), (4, 4, &None));
        assert_eq!(plain.entries, [[0, 1], [0, 2], [1, 0], [2, 0]]);
        let weighted = read_text("2 1 001\n2 7\n1 7\n").unwrap();
        assert_eq!((weighted.entries, weighted.values), (vec![[0, 1], [1, 0]], Some(vec![7.0, 7.0])));
        // A size and two weights of the node come first.
        let all = read_text("2 1 111 2\n9 8 8 2 7\n9 8 8 1 7\n").unwrap();
        assert_eq!((all.entries, all.values), (vec![[0, 1], [1, 0]], Some(vec![7.0, 7.0])));
        let sizes = read_text("2 1 110\n9 8 2\n9 8 1\n").unwrap();
        assert_eq!(sizes.entries, [[0, 1], [1, 0]]);
    }

    #[test]
    fn a_start_is_recognised_by_its_numbers() {
        assert!(is_start(b"% x\n\n34 78 001\n") && is_start(b"3 2"));
        assert!(!is_start(b"a b\n") && !is_start(b"1 2 3 4 5\n") && !is_start(b"3\n") && !is_start(b"% x\n"));
    }

    #[test]
    fn errors_name_line_and_value() {
        assert_eq!(message("2 1\n2\n3\n"), ":3: neighbour 3; expected 1 to 2");
        assert_eq!(message("2 1\n2\nx\n"), ":3: `x` is not a whole number; expected those of METIS");
        assert_eq!(message("2 1 1\n2 5\n1\n"), ":3: the last neighbour has no weight");
        assert_eq!(message("2 1 10\n\n1\n"), ":2: expected 1 numbers before the neighbours");
        assert_eq!(message("2 1 7\n"), ":1: weights are described by 7; expected three digits of 0 and 1");
        assert_eq!(message("2 3\n2\n1\n"), ": announces 3 edges and lists 2 neighbours; expected twice as many");
        assert!(message("2 1\n2\n1\n2\n").starts_with(":4: more lines than the 2 nodes announced"));
        assert!(
            message("9 1\n2\n1\n").starts_with(": announces 9 nodes and has 2 lines below; is this a list of edges?")
        );
        assert_eq!(message(""), ":1: expected the number of nodes, of edges, and at most two numbers on weights");
        assert_eq!(message("9999999999999 1\n"), ":1: 9999999999999 nodes; there must be fewer than 2^31");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn no_text_makes_it_panic(header in "[0-9]{1,2} [0-9]{1,2} [01]{0,3} [0-9]{0,20}", rest in "[0-9 \n%x-]{0,60}") {
            let _ = read_text(&format!("{header}\n{rest}"));
        }
    }
}
