//! A dataset as plain files: csv for what has names, NumPy's arrays for features.

use crate::dataset::{Dataset, Features, FixedSplit, NamedDataset, Sample};
use crate::display::visible_name;
use crate::error::{Error, Result};
use nigh_formats::scipy::CsrRows;
use nigh_formats::text_table::Formulas;
use nigh_formats::{atomic, npy, scipy};
use std::fs::File;
use std::io::{self, BufWriter, Seek, Write};
use std::path::Path;

impl Dataset {
    /// Writes the dataset as a new folder, atomically. Returns the names of the files in it. `known` says where a public
    /// dataset comes from, `formulas` what becomes of ids and labels that a spreadsheet would execute.
    ///
    /// - `nodes.csv`: every node, also those without an edge
    /// - `edges.csv`: every undirected edge once, with its weight if it has one
    /// - `features.npz` (`scipy.sparse.load_npz`) or `features.npy`: a row per line of `nodes.csv`
    /// - `labels.csv`: the nodes that have a label, a row for each where they may have several
    /// - `split.csv` or `split_pairs.csv`: the split that comes with the data
    /// - `README.txt`: what is what
    ///
    /// With several graphs the csv files start with a column `graph`.
    pub fn export(&self, known: Option<&NamedDataset>, folder: &Path, formulas: Formulas) -> Result<Vec<&'static str>> {
        if folder.exists() {
            return Err(Error::file(folder, "exists already; an export is written to a folder of its own"));
        }
        let partial = atomic::beside(folder, "partial");
        atomic::create_folder_afresh(&partial).map_err(Error::io(&partial))?;
        let result = Export { dataset: self, folder: &partial, formulas, written: Vec::new() }.all(known);
        let result = result.and_then(|files| {
            std::fs::rename(&partial, folder).map_err(Error::io(folder))?;
            Ok(files)
        });
        if result.is_err() {
            let _ = std::fs::remove_dir_all(&partial);
        }
        result
    }
}

struct Export<'a> {
    dataset: &'a Dataset,
    folder: &'a Path,
    formulas: Formulas,
    /// Names, and a line about each.
    written: Vec<(&'static str, String)>,
}

impl Export<'_> {
    fn all(mut self, known: Option<&NamedDataset>) -> Result<Vec<&'static str>> {
        self.nodes()?;
        self.edges()?;
        self.features()?;
        self.labels()?;
        self.split()?;
        let readme = self.readme(known);
        self.file("README.txt", "this text".into(), |out| out.write_all(readme.as_bytes()))?;
        Ok(self.written.into_iter().map(|file| file.0).collect())
    }

    fn file(
        &mut self,
        name: &'static str,
        about: String,
        content: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
    ) -> Result<()> {
        let path = self.folder.join(name);
        let write = || {
            let mut out = BufWriter::new(File::create(&path)?);
            content(&mut out)?;
            out.into_inner()?.sync_all()
        };
        write().map_err(Error::io(&path))?;
        self.written.push((name, about));
        Ok(())
    }

    /// A table over all graphs, with a column for the graph if there are several. `rows` writes those of one graph,
    /// each after the start that it is given.
    fn table(
        &mut self,
        name: &'static str,
        about: String,
        heading: &str,
        rows: impl Fn(&mut BufWriter<File>, &str, &Sample) -> io::Result<()>,
    ) -> Result<()> {
        let (dataset, formulas) = (self.dataset, self.formulas);
        let several = dataset.samples.len() > 1;
        self.file(name, about, |out| {
            writeln!(out, "{}{heading}", if several { "graph," } else { "" })?;
            for (number, sample) in dataset.samples.iter().enumerate() {
                let name = dataset.graph_name(number);
                let start = if several { format!("{},", formulas.field(&name)) } else { String::new() };
                rows(out, &start, sample)?;
            }
            Ok(())
        })
    }

    fn nodes(&mut self) -> Result<()> {
        let formulas = self.formulas;
        let about = format!("the {} nodes, one per line", self.dataset.num_nodes());
        self.table("nodes.csv", about, "id", |out, start, sample| {
            (0..sample.ids.len()).try_for_each(|node| writeln!(out, "{start}{}", id(sample, node as u32, formulas)))
        })
    }

    fn edges(&mut self) -> Result<()> {
        let formulas = self.formulas;
        let weighted = self.dataset.samples.iter().any(|sample| sample.graph.is_weighted());
        let heading = if weighted { "source,target,weight" } else { "source,target" };
        let about = format!("the {} undirected edges, each once", self.dataset.num_edges());
        self.table("edges.csv", about, heading, |out, start, sample| {
            for source in 0..sample.graph.num_nodes() {
                let targets = sample.graph.neighbours(source);
                let after = targets.partition_point(|&target| target as usize <= source);
                for (at, &target) in targets.iter().enumerate().skip(after) {
                    write!(out, "{start}{},{}", id(sample, source as u32, formulas), id(sample, target, formulas))?;
                    if weighted {
                        // The shortest text that is read back to the same bits.
                        write!(out, ",{}", sample.graph.weights(source).map_or(1.0, |weights| weights[at]))?;
                    }
                    writeln!(out)?;
                }
            }
            Ok(())
        })
    }

    fn features(&mut self) -> Result<()> {
        let samples = &self.dataset.samples;
        let (rows, cols) = (self.dataset.num_nodes(), samples[0].features.cols());
        let about = |how: &str| format!("{rows} × {cols}, rows in the order of nodes.csv; {how}");
        if samples.iter().all(|sample| matches!(sample.features, Features::Constant(_))) {
            return Ok(());
        }
        if samples.iter().all(|sample| matches!(sample.features, Features::Sparse(_))) {
            return self.file("features.npz", about("scipy.sparse.load_npz"), |out| sparse(out, samples));
        }
        self.file("features.npy", about("numpy.load"), |out| {
            npy::write(out, &[rows, cols], samples.iter().flat_map(|sample| dense(&sample.features)))
        })
    }

    fn labels(&mut self) -> Result<()> {
        let formulas = self.formulas;
        let classes = &self.dataset.class_names;
        let count: usize = self.dataset.samples.iter().map(Sample::num_labelled).sum();
        if count == 0 {
            return Ok(());
        }
        let several = if self.dataset.is_multi_label() { ", a row for each label of a node" } else { "" };
        let about = format!("{count} nodes with a label, of {} classes{several}", classes.len());
        self.table("labels.csv", about, "id,label", |out, start, sample| {
            let label = |node: usize, class: u32, out: &mut BufWriter<File>| {
                let class = formulas.field(&classes[class as usize]);
                writeln!(out, "{start}{},{class}", id(sample, node as u32, formulas))
            };
            for (node, class) in sample.labels.iter().flat_map(|labels| labels.iter().enumerate()) {
                class.iter().try_for_each(|&class| label(node, class, out))?;
            }
            for (node, set) in sample.label_sets.iter().flat_map(|sets| sets.iter().enumerate()) {
                set.iter().try_for_each(|&class| label(node, class, out))?;
            }
            Ok(())
        })
    }

    /// A published split is of a single graph.
    fn split(&mut self) -> Result<()> {
        let formulas = self.formulas;
        let (Some(given), sample) = (&self.dataset.fixed_split, &self.dataset.samples[0]) else { return Ok(()) };
        match given {
            FixedSplit::Nodes(parts) => {
                let about = "the split of the nodes that everyone uses: train, valid, test".to_string();
                self.file("split.csv", about, |out| {
                    writeln!(out, "id,part")?;
                    for (part, nodes) in ["train", "valid", "test"].iter().zip(parts) {
                        nodes.iter().try_for_each(|&node| writeln!(out, "{},{part}", id(sample, node, formulas)))?;
                    }
                    Ok(())
                })
            }
            FixedSplit::Pairs(parts) | FixedSplit::Edges { held_out: parts, .. } => {
                let about = "pairs to validate and test with; exists = 1 is an edge that edges.csv lacks".to_string();
                self.file("split_pairs.csv", about, |out| {
                    writeln!(out, "source,target,exists,part")?;
                    for (part, pairs) in ["valid", "test"].iter().zip(parts) {
                        for (exists, pairs) in [(1, &pairs.positive), (0, &pairs.negative)] {
                            for &[source, target] in pairs {
                                writeln!(
                                    out,
                                    "{},{},{exists},{part}",
                                    id(sample, source, formulas),
                                    id(sample, target, formulas)
                                )?;
                            }
                        }
                    }
                    Ok(())
                })
            }
        }
    }

    fn readme(&self, known: Option<&NamedDataset>) -> String {
        let name = visible_name(&self.dataset.name);
        let mut text = format!("{name}, written by nigh {}\n\n", env!("CARGO_PKG_VERSION"));
        self.written.iter().for_each(|(file, about)| text += &format!("{file:<16} {about}\n"));
        if self.dataset.samples.len() > 1 {
            let graphs = self.dataset.samples.len();
            text += &format!("\nThere are {graphs} graphs; an id names a node within its graph (column `graph`).\n");
        }
        if let Some(known) = known {
            let address = known.origin.address();
            text += &format!(
                "\n{}\ncleaned: {}\nfrom {address}, under the terms found there\n",
                known.about, known.cleaning
            );
        }
        text
    }
}

fn id(sample: &Sample, node: u32, formulas: Formulas) -> String {
    formulas.field(&sample.ids.name(node as usize))
}

/// Every entry, zeros as well.
fn dense(features: &Features) -> Box<dyn Iterator<Item = f32> + '_> {
    match features {
        Features::Constant(rows) => Box::new(std::iter::repeat_n(1.0, *rows)),
        Features::Dense(matrix) => Box::new(matrix.data().iter().copied()),
        Features::Sparse(matrix) => Box::new((0..matrix.rows()).flat_map(|row| {
            let mut values = vec![0.0; matrix.cols()];
            matrix.row(row).for_each(|(column, value)| values[column as usize] = value);
            values
        })),
    }
}

/// The layout of `scipy.sparse.save_npz`, all graphs one below the other.
fn sparse(out: &mut (impl Write + Seek), samples: &[Sample]) -> io::Result<()> {
    let matrices = || {
        samples.iter().filter_map(|sample| match &sample.features {
            Features::Sparse(matrix) => Some(matrix),
            _ => None,
        })
    };
    let rows: usize = matrices().map(|matrix| matrix.rows()).sum();
    let cols = matrices().next().map_or(0, |matrix| matrix.cols());
    let matrix = CsrRows {
        shape: [rows, cols],
        num_entries: matrices().map(|matrix| matrix.num_entries()).sum(),
        lengths: matrices().flat_map(|matrix| matrix.parts().0.windows(2)).map(|row| row[1] - row[0]),
        columns: matrices().flat_map(|matrix| matrix.parts().1).copied(),
        values: matrices().flat_map(|matrix| matrix.parts().2).copied(),
    };
    scipy::write(out, matrix)
}
