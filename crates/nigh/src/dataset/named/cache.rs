//! A dataset in one compact file: the second load of any of them takes milliseconds.

use crate::dataset::{Dataset, Features, FixedPairs, FixedSplit, Ids, PaperDefaults, Sample};
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::label_sets::LabelSets;
use crate::linalg::{Matrix, SparseMatrix};
use crate::source::SignalScale;
use nigh_formats::atomic;
use nigh_formats::safetensors::{TensorFile, TensorNumber, read_notes};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;

/// What is stored beside the arrays.
#[derive(Debug, Serialize, Deserialize)]
struct CacheHeader {
    /// Of the files that were converted.
    fingerprint: String,
    /// Of the arrays below.
    checksum: String,
    name: String,
    class_names: Vec<String>,
    per_class: Option<[usize; 3]>,
    graphs: Option<[usize; 3]>,
    unit_signal: bool,
    notes: Vec<String>,
    samples: Vec<SampleHeader>,
    given: Option<FixedKind>,
}

#[derive(Debug, Serialize, Deserialize)]
struct SampleHeader {
    nodes: usize,
    features: FeatureKind,
    /// `null` when nodes are named by their numbers.
    ids: Option<Vec<String>>,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
enum FeatureKind {
    Constant,
    Dense(usize),
    Sparse(usize),
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
enum FixedKind {
    Nodes,
    Pairs,
}

/// No label.
const NONE: u32 = u32::MAX;

/// Writes a dataset that was read from files of this fingerprint.
pub(super) fn write(path: &Path, fingerprint: &str, dataset: &Dataset) -> Result<()> {
    let mut arrays = TensorFile::default();
    let mut samples = Vec::new();
    for (number, sample) in dataset.samples.iter().enumerate() {
        let (offsets, neighbours, weights) = sample.graph.parts();
        arrays.put_vector(format!("{number}/offsets"), offsets.iter().map(|&offset| offset as u64));
        arrays.put_vector(format!("{number}/neighbours"), neighbours.iter().copied());
        if let Some(weights) = weights {
            arrays.put_vector(format!("{number}/weights"), weights.iter().copied());
        }
        let features = match &sample.features {
            Features::Constant(_) => FeatureKind::Constant,
            Features::Dense(matrix) => {
                arrays.put_vector(format!("{number}/features"), matrix.data().iter().copied());
                FeatureKind::Dense(matrix.cols())
            }
            Features::Sparse(matrix) => {
                let (offsets, columns, values) = matrix.parts();
                arrays.put_vector(format!("{number}/feature-offsets"), offsets.iter().map(|&offset| offset as u64));
                arrays.put_vector(format!("{number}/feature-columns"), columns.iter().copied());
                arrays.put_vector(format!("{number}/feature-values"), values.iter().copied());
                FeatureKind::Sparse(matrix.cols())
            }
        };
        if let Some(labels) = &sample.labels {
            arrays.put_vector(format!("{number}/labels"), labels.iter().map(|label| label.unwrap_or(NONE)));
        }
        if let Some(sets) = &sample.label_sets {
            let (starts, classes) = sets.parts();
            arrays.put_vector(format!("{number}/label-starts"), starts.iter().copied());
            arrays.put_vector(format!("{number}/label-classes"), classes.iter().copied());
        }
        let ids = match sample.ids.as_ref() {
            Ids::Numbers(_) => None,
            ids => Some(ids.iter().map(String::from).collect()),
        };
        samples.push(SampleHeader { nodes: sample.graph.num_nodes(), features, ids });
    }
    let given = dataset.fixed_split.as_ref().map(|given| match given {
        FixedSplit::Nodes(parts) => {
            for (part, nodes) in parts.iter().enumerate() {
                arrays.put_vector(format!("given/{part}"), nodes.iter().copied());
            }
            FixedKind::Nodes
        }
        FixedSplit::Pairs(parts) => {
            for (part, pairs) in parts.iter().enumerate() {
                arrays.put_vector(format!("given/{part}/positive"), pairs.positive.iter().flatten().copied());
                arrays.put_vector(format!("given/{part}/negative"), pairs.negative.iter().flatten().copied());
            }
            FixedKind::Pairs
        }
        FixedSplit::Edges { .. } => unreachable!("no public dataset has training edges apart from its graph"),
    });
    let header = CacheHeader {
        fingerprint: fingerprint.to_string(),
        checksum: arrays.checksum(),
        name: dataset.name.clone(),
        class_names: dataset.class_names.clone(),
        per_class: dataset.paper_defaults.per_class,
        graphs: dataset.paper_defaults.graphs,
        unit_signal: dataset.paper_defaults.signal_scale == Some(SignalScale::Unit),
        notes: dataset.notes.clone(),
        samples,
        given,
    };
    let header = serde_json::to_string(&header).expect("plain data can be written");
    atomic::write(path, &arrays.with_note("nigh", &header).to_bytes()).map_err(Error::io(path))
}

/// Reads what `write` wrote; `None` if it does not exist, is of other files, or is damaged: then it is written again.
pub(super) fn read(path: &Path, fingerprint: &str) -> Option<Dataset> {
    let bytes = nigh_formats::read_regular(path, u64::MAX).ok()?;
    let header: CacheHeader = serde_json::from_str(read_notes(&bytes).ok()?.get("nigh")?).ok()?;
    if header.fingerprint != fingerprint {
        return None;
    }
    let mut arrays = TensorFile::from_bytes(&bytes).ok()?;
    if arrays.checksum() != header.checksum {
        return None;
    }
    let mut samples = Vec::new();
    for (number, sample) in header.samples.iter().enumerate() {
        let offsets = take_offsets(&mut arrays, &format!("{number}/offsets"))?;
        let neighbours = take::<u32>(&mut arrays, &format!("{number}/neighbours"))?;
        let weights = take::<f32>(&mut arrays, &format!("{number}/weights"));
        let graph = Graph::from_parts(offsets, neighbours, weights).ok()?;
        let features = match sample.features {
            FeatureKind::Constant => Features::Constant(sample.nodes),
            FeatureKind::Dense(cols) => {
                let data = take::<f32>(&mut arrays, &format!("{number}/features"))?;
                if data.len() != sample.nodes.checked_mul(cols)? {
                    return None;
                }
                Features::Dense(Matrix::from_data(sample.nodes, cols, data).into())
            }
            FeatureKind::Sparse(cols) => {
                let offsets = take_offsets(&mut arrays, &format!("{number}/feature-offsets"))?;
                let columns = take::<u32>(&mut arrays, &format!("{number}/feature-columns"))?;
                let values = take::<f32>(&mut arrays, &format!("{number}/feature-values"))?;
                Features::Sparse(SparseMatrix::from_parts(offsets, columns, values, cols).ok()?.into())
            }
        };
        let label = |label: u32| (label != NONE).then_some(label);
        let labels = take::<u32>(&mut arrays, &format!("{number}/labels"));
        let labels = labels.map(|labels| labels.into_iter().map(label).collect::<Arc<[_]>>());
        let label_sets = match take::<u32>(&mut arrays, &format!("{number}/label-starts")) {
            Some(starts) => {
                let classes = take::<u32>(&mut arrays, &format!("{number}/label-classes"))?;
                Some(LabelSets::from_parts(&starts, &classes)?.into())
            }
            None => None,
        };
        let ids = sample.ids.as_ref().map_or(Ids::Numbers(sample.nodes), Ids::from_names).into();
        samples.push(Sample { graph: graph.into(), features, labels, label_sets, ids, addresses: None });
    }
    let given = match header.given {
        None => None,
        Some(FixedKind::Nodes) => {
            let mut part = |part: usize| take::<u32>(&mut arrays, &format!("given/{part}"));
            Some(FixedSplit::Nodes([part(0)?, part(1)?, part(2)?]))
        }
        Some(FixedKind::Pairs) => {
            let mut pairs = |name: String| Some(take::<u32>(&mut arrays, &name)?.as_chunks::<2>().0.to_vec());
            let mut part = |part: usize| {
                Some(FixedPairs {
                    positive: pairs(format!("given/{part}/positive"))?,
                    negative: pairs(format!("given/{part}/negative"))?,
                })
            };
            Some(FixedSplit::Pairs([part(0)?, part(1)?]))
        }
    };
    let paper_defaults = PaperDefaults {
        signal_scale: header.unit_signal.then_some(SignalScale::Unit),
        per_class: header.per_class,
        graphs: header.graphs,
    };
    let CacheHeader { name, class_names, notes, .. } = header;
    let (graph_names, cleaning) = (Vec::new(), None);
    let feature_names = Vec::new();
    let dataset = Dataset {
        name,
        samples,
        graph_names,
        class_names,
        feature_names,
        paper_defaults,
        fixed_split: given,
        notes,
        cleaning,
    };
    dataset.check().ok()?;
    Some(dataset)
}

fn take<N: TensorNumber>(arrays: &mut TensorFile, name: &str) -> Option<Vec<N>> {
    arrays.take(name).map(|(_, numbers)| numbers)
}

/// Positions, as wide as this machine counts.
fn take_offsets(arrays: &mut TensorFile, name: &str) -> Option<Vec<usize>> {
    take::<u64>(arrays, name)?.into_iter().map(|offset| offset.try_into().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn datasets() -> Vec<Dataset> {
        let communities = Dataset::built_in("communities").unwrap();
        let leaders = Dataset::built_in("leaders").unwrap();
        let mut rich = communities.clone();
        let weights: Vec<f32> = (0..3800).map(|at| 1.0 + at as f32).collect();
        let edges: Vec<[u32; 2]> = rich.samples[0].graph.edges().collect();
        rich.samples[0].graph = Graph::from_weighted_edges(400, &edges, &weights).unwrap().0.into();
        let sparse = Matrix::from_fn(400, 50, |i, c| f32::from(i % 50 == c));
        rich.samples[0].features = Features::from_matrix(sparse);
        rich.samples[0].ids = Ids::from_names((0..400).map(|i| format!("node {i}"))).into();
        rich.fixed_split = Some(FixedSplit::Nodes([vec![1, 2], vec![3], vec![4, 5, 6]]));
        let mut pairs = leaders.clone();
        pairs.samples[0].features = Features::Dense(Matrix::from_fn(400, 3, |i, c| (i + c) as f32).into());
        let free: Vec<[u32; 2]> =
            (1..400).map(|b| [0, b]).filter(|[a, b]| !pairs.samples[0].graph.has_edge(*a, *b)).collect();
        let part = |at: usize| FixedPairs { positive: vec![free[at]], negative: vec![free[at + 2], free[at + 4]] };
        pairs.fixed_split = Some(FixedSplit::Pairs([part(0), part(1)]));
        vec![communities, leaders, rich, pairs]
    }

    #[test]
    fn a_dataset_comes_back_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data.nigh");
        for dataset in datasets() {
            write(&path, "files", &dataset).unwrap();
            let back = read(&path, "files").unwrap();
            assert_eq!(format!("{back:?}"), format!("{dataset:?}"));
            assert!(read(&path, "other files").is_none());
        }
    }

    #[test]
    fn a_damaged_file_is_no_dataset() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data.nigh");
        assert!(read(&path, "files").is_none());
        write(&path, "files", &datasets()[2]).unwrap();
        let whole = std::fs::read(&path).unwrap();
        for at in (0..whole.len()).step_by(whole.len() / 97) {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x10;
            std::fs::write(&path, &damaged).unwrap();
            // A flipped bit in a name or a note is the only one that can go unnoticed.
            if let Some(dataset) = read(&path, "files") {
                assert_eq!(dataset.samples[0].graph, datasets()[2].samples[0].graph, "byte {at}");
            }
            std::fs::write(&path, &whole[..at]).unwrap();
            assert!(read(&path, "files").is_none(), "cut at {at}");
        }
    }
}
