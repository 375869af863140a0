//! Graphs as XML: GraphML, which networkx, igraph and yEd write, and GEXF of Gephi.

use crate::Texts;
use crate::compressed;
use crate::error::{Error, Result};
use crate::memory::KeptRead;
use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

/// The nodes and edges of a document, by name.
#[derive(Debug, Default, PartialEq)]
pub struct XmlGraph {
    /// The ids of the nodes, in order.
    pub nodes: Texts,
    /// One end of each edge.
    pub sources: Texts,
    /// The other end of each edge.
    pub targets: Texts,
    /// The weight of each edge that has one.
    pub weights: Vec<Option<f64>>,
    /// Whether edges have a direction.
    pub directed: bool,
}

/// Opens and reads a file, plain or compressed.
pub fn open(path: &Path, weight: Option<&str>) -> Result<XmlGraph> {
    read(path, KeptRead::new(compressed::open(path)?, 2.0), weight)
}

/// Reads a graph; `weight` is the name of the attribute of edges that is one, if one is. All others are passed over. `name` stands in
/// messages.
pub fn read(name: &Path, source: impl Read, weight: Option<&str>) -> Result<XmlGraph> {
    let source = CountedLines { source: BufReader::with_capacity(1 << 18, source), line: 1 };
    let mut reader = Reader::from_reader(source);
    let mut document = Document { weight, ..Document::default() };
    let mut buffer = Vec::new();
    loop {
        buffer.clear();
        let event = reader.read_event_into(&mut buffer).map_err(|error| error.to_string());
        let line = reader.get_ref().line;
        let step = match event {
            Err(problem) => Err(problem),
            Ok(Event::Eof) => break,
            Ok(Event::Start(element)) => document.start(&element).map(|()| document.depth += 1),
            Ok(Event::Empty(element)) => {
                document.start(&element).and_then(|()| document.end(element.local_name().as_ref()))
            }
            Ok(Event::End(element)) => {
                document.depth = document.depth.saturating_sub(1);
                document.end(element.local_name().as_ref())
            }
            Ok(Event::Text(text)) => {
                document.text.push_str(&text);
                Ok(())
            }
            Ok(_) => Ok(()),
        };
        step.map_err(|problem| Error::line(name, line, problem))?;
    }
    let graph = document.graph;
    if document.depth > 0 {
        return Err(Error::file(name, "ends within an element; is the file cut off?"));
    }
    match document.kind {
        Some(_) if document.graphs > 0 => Ok(graph),
        Some(_) => Err(Error::file(name, "has no element `graph`")),
        None => Err(Error::file(name, "has no element; expected GraphML or GEXF")),
    }
}

/// The two formats.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    GraphMl,
    Gexf,
}

/// What was read so far.
#[derive(Default)]
struct Document<'a> {
    weight: Option<&'a str>,
    kind: Option<Kind>,
    graph: XmlGraph,
    graphs: usize,
    depth: usize,
    /// How edges refer to the attribute that is the weight, and its value where an edge has none.
    key: Option<String>,
    default: Option<f64>,
    /// Whether the text that comes is of this key.
    in_key: bool,
    in_data: bool,
    in_edge: bool,
    text: String,
}

impl Document<'_> {
    fn start(&mut self, element: &BytesStart<'_>) -> std::result::Result<(), String> {
        let name = element.local_name();
        let name: &str = name.as_ref();
        let attribute = |wanted: &str| -> std::result::Result<Option<String>, String> {
            for attribute in element.attributes() {
                let attribute = attribute.map_err(|error| format!("`{name}`: {error}"))?;
                if attribute.key.as_ref() == wanted {
                    let value = attribute.normalized_value(XmlVersion::Implicit1_0);
                    return Ok(Some(value.map_err(|error| format!("`{wanted}` of `{name}`: {error}"))?.into_owned()));
                }
            }
            Ok(None)
        };
        let required =
            |wanted: &str| attribute(wanted)?.ok_or_else(|| format!("an element `{name}` without `{wanted}`"));
        let Some(kind) = self.kind else {
            self.kind = Some(match name {
                "graphml" => Kind::GraphMl,
                "gexf" => Kind::Gexf,
                _ => return Err(format!("is XML whose first element is `{name}`; expected `graphml` or `gexf`")),
            });
            return Ok(());
        };
        self.text.clear();
        match (kind, name) {
            (_, "graph") => {
                self.graphs += 1;
                let (wanted, default) = match kind {
                    Kind::GraphMl => ("edgedefault", "directed"),
                    Kind::Gexf => ("defaultedgetype", "undirected"),
                };
                let direction = attribute(wanted)?.unwrap_or_else(|| default.into());
                // A graph within a node of yEd is a group of the same graph.
                if self.graphs == 1 {
                    self.graph.directed = direction == "directed";
                } else if self.depth <= 1 {
                    return Err("a second graph; expected one per file".into());
                }
            }
            (_, "node") => self.graph.nodes.push(&required("id")?),
            (_, "edge") => {
                self.in_edge = true;
                self.graph.sources.push(&required("source")?);
                self.graph.targets.push(&required("target")?);
                let weight = match kind {
                    Kind::Gexf if self.weight == Some("weight") => attribute("weight")?,
                    _ => None,
                };
                self.graph.weights.push(weight.map(|text| self.number(&text)).transpose()?.or(self.default));
            }
            (Kind::GraphMl, "hyperedge") => return Err("a `hyperedge`; expected edges between two nodes".into()),
            (Kind::GraphMl, "key") if matches!(attribute("for")?.as_deref(), None | Some("edge" | "all")) => {
                let id = required("id")?;
                if Some(attribute("attr.name")?.as_ref().unwrap_or(&id).as_str()) == self.weight {
                    (self.key, self.in_key) = (Some(id), true);
                }
            }
            (Kind::GraphMl, "data") => {
                self.in_data = self.in_edge && attribute("key")?.is_some_and(|key| self.is_key(&key))
            }
            (Kind::Gexf, "attribute") if self.weight.is_some() && attribute("title")?.as_deref() == self.weight => {
                self.key = Some(required("id")?);
            }
            (Kind::Gexf, "attvalue") if self.in_edge => {
                let key = attribute("for")?.or(attribute("id")?);
                if key.is_some_and(|key| self.is_key(&key)) {
                    let weight = self.number(&required("value")?)?;
                    self.set_weight(weight);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self, name: &str) -> std::result::Result<(), String> {
        match name {
            "edge" => self.in_edge = false,
            "key" => self.in_key = false,
            "default" if self.in_key => self.default = Some(self.number(&self.text)?),
            "data" if std::mem::take(&mut self.in_data) => {
                let weight = self.number(&self.text)?;
                self.set_weight(weight);
            }
            _ => {}
        }
        self.text.clear();
        Ok(())
    }

    fn is_key(&self, key: &str) -> bool {
        self.key.as_deref() == Some(key)
    }

    fn number(&self, text: &str) -> std::result::Result<f64, String> {
        let name = self.weight.unwrap_or_default();
        text.trim().parse().map_err(|_| format!("`{name}` of an edge is `{}`; expected a number", text.trim()))
    }

    fn set_weight(&mut self, weight: f64) {
        if let Some(last) = self.graph.weights.last_mut() {
            *last = Some(weight);
        }
    }
}

/// Counts the ends of lines that were read.
struct CountedLines<R> {
    source: R,
    line: usize,
}

impl<R: BufRead> Read for CountedLines<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(buffer)?;
        self.consume(count);
        Ok(count)
    }
}

impl<R: BufRead> BufRead for CountedLines<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.source.fill_buf()
    }

    fn consume(&mut self, count: usize) {
        let ahead = self.source.fill_buf().unwrap_or_default();
        self.line += ahead[..count.min(ahead.len())].iter().filter(|&&byte| byte == b'\n').count();
        self.source.consume(count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::damaged;
    use proptest::prelude::*;

    const GRAPHML: &str = r#"<?xml version='1.0' encoding='utf-8'?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="d2" for="edge" attr.name="weight" attr.type="double"><default>1</default></key>
  <key id="d1" for="edge" attr.name="cost" attr.type="double" />
  <key id="d0" for="node" attr.name="weight" attr.type="string" />
  <graph edgedefault="undirected"><!-- three -->
    <node id="a &amp; b"><data key="d0">heavy</data></node>
    <node id="7" /><node id="alone" />
    <edge source="a &amp; b" target="7"><data key="d1">0.5</data><data key="d2">2.5</data></edge>
    <edge source="7" target="7" id="e1" />
  </graph>
</graphml>"#;

    const GEXF: &str = r#"<gexf version="1.3" xmlns="http://gexf.net/1.3" xmlns:viz="http://gexf.net/1.3/viz">
  <graph defaultedgetype="directed" mode="static" name="">
    <attributes class="edge" mode="static"><attribute id="0" title="cost" type="double" /></attributes>
    <nodes><node id="0" label="zero"><viz:size value="1"/></node><node id="1" label="one" /></nodes>
    <edges><edge source="0" target="1" id="0" weight="2"><attvalues><attvalue for="0" value="0.5" /></attvalues></edge></edges>
  </graph>
</gexf>"#;

    fn read_text(text: &str, weight: &str) -> Result<XmlGraph> {
        read(Path::new("x.xml"), text.as_bytes(), Some(weight).filter(|weight| *weight != "none"))
    }

    fn message(text: &str) -> String {
        read_text(text, "weight").unwrap_err().to_string().split_once("x.xml").unwrap().1.to_string()
    }

    #[test]
    fn nodes_edges_and_weights_are_read() {
        let graph = read_text(GRAPHML, "weight").unwrap();
        assert_eq!(graph.nodes.iter().collect::<Vec<_>>(), ["a & b", "7", "alone"]);
        assert_eq!(graph.sources.iter().zip(graph.targets.iter()).collect::<Vec<_>>(), [("a & b", "7"), ("7", "7")]);
        assert_eq!((graph.weights, graph.directed), (vec![Some(2.5), Some(1.0)], false));
        assert_eq!(read_text(GRAPHML, "cost").unwrap().weights, [Some(0.5), None]);
        assert_eq!(read_text(GRAPHML, "none").unwrap().weights, [None, None]);
        let graph = read_text(GEXF, "weight").unwrap();
        assert_eq!(graph.nodes.iter().collect::<Vec<_>>(), ["0", "1"]);
        assert_eq!((graph.weights, graph.directed), (vec![Some(2.0)], true));
        assert_eq!(read_text(GEXF, "cost").unwrap().weights, [Some(0.5)]);
    }

    #[test]
    fn errors_name_line_and_value() {
        assert_eq!(message(&GRAPHML.replace("2.5", "much")), ":9: `weight` of an edge is `much`; expected a number");
        assert_eq!(message(&GRAPHML.replace("<node id=\"7\"", "<node")), ":8: an element `node` without `id`");
        assert_eq!(
            message(&GRAPHML.replace("<edge source=\"7\" target", "<hyperedge a")),
            ":10: a `hyperedge`; expected edges between two nodes"
        );
        assert_eq!(message("<svg/>"), ":1: is XML whose first element is `svg`; expected `graphml` or `gexf`");
        assert_eq!(message("<graphml></graphml>"), ": has no element `graph`");
        assert_eq!(message("<?xml version='1.0'?>"), ": has no element; expected GraphML or GEXF");
        assert_eq!(message(GRAPHML.split_once("<edge").unwrap().0), ": ends within an element; is the file cut off?");
        let twice = GRAPHML.replace("</graph>", "</graph><graph><node id='x'/></graph>");
        assert_eq!(message(&twice), ":11: a second graph; expected one per file");
        let entity = "<!DOCTYPE graphml [<!ENTITY a \"b\">]>\n<graphml><graph>\n<node id=\"&a;\"/></graph></graphml>";
        assert!(message(entity).starts_with(":3: `id` of `node`:"), "{}", message(entity));
    }

    #[test]
    fn depth_costs_memory_and_no_stack() {
        let deep = format!("<graphml><graph>{}", "<a>".repeat(1_000_000));
        assert_eq!(message(&deep), ": ends within an element; is the file cut off?");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn no_damage_makes_it_panic(
            gexf: bool, changes in prop::collection::vec((any::<usize>(), any::<u8>()), 0..6), cut in 0usize..600,
        ) {
            let text = if gexf { GEXF } else { GRAPHML };
            let _ = read(Path::new("x"), &damaged(text.into(), &changes, cut)[..], Some("weight"));
        }
    }
}
