//! Node-link JSON, the form in which networkx writes a graph: a list of nodes and a list of links between them.

use super::WeightColumn;
use super::links::Links;
use crate::compressed;
use crate::error::{Error, Result};
use crate::memory::KeptRead;
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::fmt;
use std::io::BufReader;
use std::path::Path;

/// Reads a graph; `weight` names the attribute of links that is one, `weight` by default. Everything else is
/// skipped.
pub(super) fn read(path: &Path, weight: &WeightColumn) -> Result<Links> {
    let source = BufReader::with_capacity(1 << 18, KeptRead::new(compressed::open(path)?, 3.0));
    let mut json = serde_json::Deserializer::from_reader(source);
    let document = Document { weight: weight.attribute() };
    let read = document.deserialize(&mut json).and_then(|read| json.end().map(|()| read));
    let (nodes, links, directed) = read.map_err(|error| Error::line(path, error.line().max(1), error.to_string()))?;
    let ends = links.ends.iter().map(|ends| ends.each_ref().map(String::as_str));
    let links = Links::new(path, nodes.iter().map(String::as_str), ends, links.weights, weight)?;
    Ok(Links { directed, ..links })
}

/// The list of links.
#[derive(Default)]
struct NamedLinks {
    ends: Vec<[String; 2]>,
    weights: Vec<Option<f64>>,
}

/// The document.
struct Document<'a> {
    weight: Option<&'a str>,
}

impl<'de> DeserializeSeed<'de> for Document<'_> {
    type Value = (Vec<String>, NamedLinks, bool);

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> std::result::Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Document<'_> {
    type Value = (Vec<String>, NamedLinks, bool);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with `nodes` and `links`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Self::Value, A::Error> {
        let (mut nodes, mut links, mut directed) = (None, None, false);
        while let Some(key) = map.next_key::<String>()? {
            let twice = match key.as_str() {
                "nodes" => nodes.replace(map.next_value_seed(ListOf(NodeObject))?).is_some(),
                "links" | "edges" => {
                    links.replace(map.next_value_seed(ListOf(LinkObject { weight: self.weight }))?).is_some()
                }
                "directed" => {
                    directed = map.next_value()?;
                    false
                }
                _ => map.next_value::<IgnoredAny>().map(|_| false)?,
            };
            if twice {
                return Err(A::Error::custom(format!("`{key}` comes a second time")));
            }
        }
        let nodes = nodes.ok_or_else(|| A::Error::missing_field("nodes"))?;
        let mut all = NamedLinks::default();
        for (ends, weight) in links.ok_or_else(|| A::Error::missing_field("links"))? {
            all.ends.push(ends);
            all.weights.push(weight);
        }
        Ok((nodes, all, directed))
    }
}

/// A list of objects.
struct ListOf<S>(S);

impl<'de, S: DeserializeSeed<'de> + Copy> DeserializeSeed<'de> for ListOf<S> {
    type Value = Vec<S::Value>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> std::result::Result<Self::Value, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de, S: DeserializeSeed<'de> + Copy> Visitor<'de> for ListOf<S> {
    type Value = Vec<S::Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of objects")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> std::result::Result<Self::Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element_seed(self.0)? {
            values.push(value);
        }
        Ok(values)
    }
}

/// An object of which only the id matters.
#[derive(Clone, Copy)]
struct NodeObject;

impl<'de> DeserializeSeed<'de> for NodeObject {
    type Value = String;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> std::result::Result<String, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for NodeObject {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a node with an `id`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<String, A::Error> {
        let mut id = None;
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "id" => id = Some(map.next_value_seed(IdValue)?),
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        id.ok_or_else(|| A::Error::missing_field("id"))
    }
}

/// An object with two ends and perhaps a weight of this name.
#[derive(Clone, Copy)]
struct LinkObject<'a> {
    weight: Option<&'a str>,
}

impl<'de> DeserializeSeed<'de> for LinkObject<'_> {
    type Value = ([String; 2], Option<f64>);

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> std::result::Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for LinkObject<'_> {
    type Value = ([String; 2], Option<f64>);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a link with `source` and `target`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Self::Value, A::Error> {
        let (mut source, mut target, mut weight) = (None, None, None);
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "source" => source = Some(map.next_value_seed(IdValue)?),
                "target" => target = Some(map.next_value_seed(IdValue)?),
                key if Some(key) == self.weight => weight = Some(map.next_value()?),
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        let source = source.ok_or_else(|| A::Error::missing_field("source"))?;
        Ok(([source, target.ok_or_else(|| A::Error::missing_field("target"))?], weight))
    }
}

/// A text or an integer.
struct IdValue;

impl<'de> DeserializeSeed<'de> for IdValue {
    type Value = String;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> std::result::Result<String, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Visitor<'_> for IdValue {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an id: a text or a whole number")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> std::result::Result<String, E> {
        Ok(text.to_string())
    }

    fn visit_i64<E: serde::de::Error>(self, number: i64) -> std::result::Result<String, E> {
        Ok(number.to_string())
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> std::result::Result<String, E> {
        Ok(number.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::damaged;
    use proptest::prelude::*;

    const GRAPH: &str = r#"{"directed": true, "multigraph": false, "graph": {"name": ["deep", {"er": 1}]},
        "nodes": [{"id": "b", "size": 3}, {"colour": null, "id": 7}, {"id": "alone"}],
        "links": [{"source": "b", "target": 7, "weight": 2, "cost": 0.5}, {"target": "b", "source": 7, "weight": 1.5, "cost": 1}]}"#;

    fn read_text(text: &[u8], weight: &str) -> Result<Links> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.json");
        std::fs::write(&path, text).unwrap();
        read(&path, &if weight.is_empty() { WeightColumn::Auto } else { weight.into() })
    }

    fn message(text: &str) -> String {
        read_text(text.as_bytes(), "").unwrap_err().to_string().split_once("x.json").unwrap().1.to_string()
    }

    #[test]
    fn nodes_keep_their_order_and_links_their_weights() {
        let read = read_text(GRAPH.as_bytes(), "").unwrap();
        assert_eq!((read.ids.iter().collect::<Vec<_>>(), read.directed), (vec!["b", "7", "alone"], true));
        assert_eq!((read.edges, read.weights), (vec![[0, 1], [1, 0]], Some(vec![2.0, 1.5])));
        assert_eq!(read_text(GRAPH.as_bytes(), "cost").unwrap().weights, Some(vec![0.5, 1.0]));
        assert_eq!(read_text(GRAPH.as_bytes(), "none").unwrap().weights, None);
        let newer = GRAPH.replace("links", "edges").replace("\"weight\"", "\"w\"");
        assert_eq!(read_text(newer.as_bytes(), "").unwrap().weights, None);
    }

    #[test]
    fn errors_name_what_is_wrong() {
        assert_eq!(
            message(&GRAPH.replace("\"target\": 7", "\"target\": 8")),
            ": link 0 names node `8`, which is not listed"
        );
        assert_eq!(message(&GRAPH.replace("alone", "b")), ": node `b` is listed twice");
        assert_eq!(
            message(&GRAPH.replace("1.5", "-1.5")),
            ": link 1 has weight -1.5; a weight must be a positive number"
        );
        let half = GRAPH.replace("\"weight\": 1.5, ", "");
        assert_eq!(message(&half), ": link 1 has no `weight`, which others have or should have");
        let number = message(&GRAPH.replace("\"id\": 7", "\"id\": 7.5"));
        assert!(number.starts_with(":2: invalid type: floating point `7.5`, expected an id"), "{number}");
        assert!(message("{\"nodes\": []}").starts_with(":1: missing field `links`"));
        assert!(
            message(&"[".repeat(10_000)).starts_with(":1: invalid type: sequence, expected an object with `nodes`")
        );
        let deep = format!("{{\"x\": {}", "[".repeat(1_000_000));
        assert!(message(&deep).starts_with(":1: EOF while parsing a list"), "however deep: {}", message(&deep));
        assert_eq!(
            message("{\"nodes\": [{\"id\": 1}], \"links\": []}"),
            ": no links; expected `links` or `edges` between nodes"
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn no_damage_makes_it_panic(changes in prop::collection::vec((any::<usize>(), any::<u8>()), 0..4), cut in 0usize..300) {
            let _ = read_text(&damaged(GRAPH.as_bytes().to_vec(), &changes, cut), "");
        }
    }
}
