//! A dataset in the order of a model that was trained on another one.

use super::{Dataset, Ids, Sample};
use crate::error::{Error, Result};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

impl Dataset {
    /// The same data with nodes in the order of the training, followed by new nodes; also the number of nodes that the
    /// model knows. Each known node keeps its signal, whatever the order of the lines in a file.
    pub fn aligned(&self, known: &Ids) -> Result<(Dataset, usize)> {
        let [sample] = &self.samples[..] else {
            // Nodes of several graphs are known by their places, to a model of several graphs.
            return Ok((self.clone(), if known.is_empty() { self.num_nodes() } else { 0 }));
        };
        if *sample.ids == *known {
            return Ok((self.clone(), known.len()));
        }
        let numbers = known.lookup();
        let mut order: Vec<(u32, u32)> = Vec::with_capacity(sample.ids.len());
        let mut next_new = known.len() as u32;
        let mut num_known = 0;
        for node in 0..sample.ids.len() {
            let row = numbers.find(&sample.ids.name(node)).inspect(|_| num_known += 1);
            order.push((
                row.unwrap_or_else(|| {
                    next_new += 1;
                    next_new - 1
                }),
                node as u32,
            ));
        }
        if order.iter().enumerate().all(|(at, &(row, _))| row as usize == at) {
            return Ok((self.clone(), num_known));
        }
        order.sort_unstable();
        let nodes: Vec<u32> = order.iter().map(|entry| entry.1).collect();
        let aligned = Sample {
            graph: sample.graph.permute(&nodes)?.into(),
            features: sample.features.permute_rows(&nodes),
            labels: sample.labels.as_ref().map(|labels| nodes.iter().map(|&node| labels[node as usize]).collect()),
            label_sets: sample.label_sets.as_ref().map(|sets| sets.select(&nodes).into()),
            ids: sample.ids.select(&nodes).into(),
            addresses: Some(order.iter().map(|entry| entry.0).collect()),
        };
        let mut place = vec![0u32; nodes.len()];
        nodes.iter().enumerate().for_each(|(new, &old)| place[old as usize] = new as u32);
        let fixed_split = self.fixed_split.as_ref().map(|split| split.renumbered(&place));
        Ok((Dataset { samples: vec![aligned], fixed_split, ..self.clone() }, num_known))
    }

    /// The same data with a set of labels for each node where it has one label.
    pub fn with_sets_of_labels(mut self) -> Dataset {
        for sample in &mut self.samples {
            if let Some(labels) = sample.labels.take() {
                sample.label_sets = Some(Arc::new(labels.iter().copied().collect()));
            }
        }
        self
    }

    /// The same data with classes numbered as a model numbers them.
    pub fn with_classes(mut self, class_names: &[String]) -> Result<Dataset> {
        let known: HashMap<&String, u32> = class_names.iter().zip(0..).collect();
        let mut numbers = Vec::new();
        for name in &self.class_names {
            let unknown = || Error::UnknownName { kind: "class", name: name.clone(), known: class_names.to_vec() };
            numbers.push(*known.get(name).ok_or_else(unknown)?);
        }
        for sample in &mut self.samples {
            let renumbered = |labels: &Arc<[Option<u32>]>| -> Arc<[Option<u32>]> {
                labels.iter().map(|label| label.map(|class| numbers[class as usize])).collect()
            };
            sample.labels = sample.labels.as_ref().map(renumbered);
            sample.label_sets = sample.label_sets.as_ref().map(|sets| sets.renumbered(&numbers).into());
        }
        self.class_names = class_names.to_vec();
        Ok(self)
    }

    /// The same data with features in the order in which a model knows them. Without names on either side their order
    /// is assumed to be the same.
    pub fn with_features(mut self, known: &[String]) -> Result<Dataset> {
        if self.feature_names.is_empty() || known.is_empty() || self.feature_names == known {
            return Ok(self);
        }
        let dataset = || self.name.clone();
        let expected: HashSet<&String> = known.iter().collect();
        let mut places: HashMap<&String, u32> = HashMap::new();
        for (name, place) in self.feature_names.iter().zip(0..) {
            if !expected.contains(name) {
                return Err(Error::UnknownFeature { dataset: dataset(), feature: name.clone(), known: known.to_vec() });
            }
            if places.insert(name, place).is_some() {
                let problem = format!("two features are called `{name}`");
                return Err(Error::Inconsistent { dataset: dataset(), problem });
            }
        }
        let missing = |name: &String| Error::MissingFeature { dataset: dataset(), feature: name.clone() };
        let place = |name: &String| places.get(name).copied().ok_or_else(|| missing(name));
        let order = known.iter().map(place).collect::<Result<Vec<u32>>>()?;
        self.samples.iter_mut().for_each(|sample| sample.features = sample.features.permute_cols(&order));
        self.feature_names = known.to_vec();
        Ok(self)
    }
}
