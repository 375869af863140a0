//! JSON objects with a value per node: `{id: [feature, ...]}` as the musae graphs have it, and `{id: label}` or `{id: [label, ...]}`.

use super::{FeatureMatrix, NodeRows, RowLabels, RowSource, column_places, sparse};
use crate::error::{Error, Result};
use crate::memory::KeptRead;
use crate::{Texts, compressed};
use serde::de::{DeserializeOwned, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use std::fmt;
use std::io::BufReader;
use std::marker::PhantomData;
use std::path::Path;

/// Reads the features of nodes. Lists of different whole numbers or names are the features that a node has; other lists are
/// as long as each other and have a value per feature.
pub(super) fn read_features(path: &Path) -> Result<NodeRows<FeatureMatrix>> {
    let rows: Vec<(String, Vec<Value>)> = read(path, "an object of a list of features for each id")?;
    let len = rows.len();
    let is_set = |row: &[Value]| {
        let mut names: Vec<String> = row.iter().map(name).collect::<Option<_>>().unwrap_or_default();
        names.sort_unstable();
        names.dedup();
        names.len() == row.len()
    };
    let ids: Texts = rows.iter().map(|row| &row.0).collect();
    let wrong = |at: usize, problem: &str| Error::file(path, format!("the features of `{}` {problem}", &ids[at]));
    let (features, columns, note, gaps) = if rows.iter().all(|row| is_set(&row.1)) {
        let lists = rows.iter().map(|row| row.1.iter().filter_map(name).collect::<Vec<_>>()).collect::<Vec<_>>();
        let (places, width, columns) = column_places(path, lists.iter().flatten().map(String::as_str))?;
        let mut places = places.into_iter();
        let by_row = lists.iter().map(|row| places.by_ref().take(row.len()).map(|place| (place as u32, 1.0)).collect());
        let features = sparse(path, by_row.collect(), width)?;
        (features, columns, format!("lists name the features that a node has, of {width}"), true)
    } else {
        let width = rows.first().map_or(0, |row| row.1.len());
        let mut values = Vec::with_capacity(len * width);
        for (at, (_, row)) in rows.iter().enumerate() {
            if row.len() != width {
                let problem =
                    format!("are {} values; expected {width} as in the first row, or each feature once", row.len());
                return Err(wrong(at, &problem));
            }
            for value in row {
                let number = value.as_f64().map(|value| value as f32).filter(|value| value.is_finite());
                values.push(number.ok_or_else(|| wrong(at, &format!("hold {value}; expected numbers")))?);
            }
        }
        let features = FeatureMatrix::Full { rows: len, cols: width, values };
        (features, Vec::new(), format!("lists have the values of {width} features"), false)
    };
    Ok(NodeRows { columns, gaps, notes: vec![format!("{}: {note}", path.display())], ..rows_of(path, ids, features) })
}

/// Reads the label of each node, or a list of them; `null` is none. Lists of zeros and ones that are as long as each other have an
/// entry per class, as PPI's `class_map` has.
pub(super) fn read_labels(path: &Path) -> Result<NodeRows<RowLabels>> {
    let rows: Vec<(String, Value)> = read(path, "an object of a label, or of a list of labels, for each id")?;
    let names = |id: &str, value: &Value| match value {
        Value::Null => Ok(Vec::new()),
        Value::Array(labels) => labels.iter().map(|label| label_name(path, id, label)).collect(),
        label => label_name(path, id, label).map(|name| vec![name]),
    };
    let ids: Texts = rows.iter().map(|row| &row.0).collect();
    let labels = match indicators(&rows) {
        Some(lists) => RowLabels::several(lists, "lists of 0 and 1, an entry per class,"),
        None => {
            let lists = rows.iter().map(|(id, value)| names(id, value)).collect::<Result<Vec<_>>>()?;
            RowLabels::several(lists, "lists")
        }
    };
    Ok(NodeRows { gaps: true, ..rows_of(path, ids, labels) })
}

fn label_name(path: &Path, id: &str, value: &Value) -> Result<String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Number(_) | Value::Bool(_) => Ok(value.to_string()),
        _ => Err(Error::file(path, format!("a label of `{id}` is {value}; expected a text or a number"))),
    }
}

/// The numbers of the classes that each node has, if its list has a zero or a one for each class: then a value repeats, which no label does.
fn indicators(rows: &[(String, Value)]) -> Option<Vec<Vec<String>>> {
    let lists: Vec<&Vec<Value>> = rows.iter().map(|row| row.1.as_array()).collect::<Option<_>>()?;
    let width = lists.first()?.len();
    let is_bit = |value: &Value| value.as_f64().is_some_and(|number| number == 0.0 || number == 1.0);
    let repeats = |list: &Vec<Value>| (1..list.len()).any(|at| list[..at].contains(&list[at]));
    let are_bits = lists.iter().all(|list| list.len() == width && list.iter().all(is_bit));
    if !are_bits || !lists.iter().any(|list| repeats(list)) {
        return None;
    }
    let classes = |list: &&Vec<Value>| {
        let ones = list.iter().enumerate().filter(|(_, value)| value.as_f64() == Some(1.0));
        ones.map(|(class, _)| class.to_string()).collect()
    };
    Some(lists.iter().map(classes).collect())
}

fn rows_of<T>(path: &Path, ids: Texts, rows: T) -> NodeRows<T> {
    let (len, source) = (ids.len(), RowSource::Array(path.to_path_buf()));
    NodeRows { source, ids: Some(ids), graphs: None, len, rows, columns: Vec::new(), gaps: false, notes: Vec::new() }
}

/// A feature by name or number; fractions and anything else name none.
fn name(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => number.as_u64().map(|number| number.to_string()),
        _ => None,
    }
}

/// The entries of an object, in the order of the file.
fn read<T: DeserializeOwned>(path: &Path, expected: &'static str) -> Result<Vec<(String, T)>> {
    let source = BufReader::with_capacity(1 << 18, KeptRead::new(compressed::open(path)?, 4.0));
    let mut json = serde_json::Deserializer::from_reader(source);
    let entries = Entries { expected, of: PhantomData };
    let read = json.deserialize_map(entries).and_then(|read| json.end().map(|()| read));
    let rows = read.map_err(|error| Error::line(path, error.line().max(1), error.to_string()))?;
    if rows.is_empty() { Err(Error::file(path, format!("no rows; expected {expected}"))) } else { Ok(rows) }
}

struct Entries<T> {
    expected: &'static str,
    of: PhantomData<T>,
}

impl<'de, T: DeserializeOwned> Visitor<'de> for Entries<T> {
    type Value = Vec<(String, T)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Self::Value, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(entries)
    }
}
