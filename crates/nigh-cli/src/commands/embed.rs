//! `nigh embed`: a vector per node.

use super::propagate::{folder_of, shown};
use super::{check_writable, create_parents, load, print_notes};
use crate::cli::Embed;
use anyhow::Result;
use nigh::trained::{Embedding, RowWriter};
use nigh::{Dataset, Memory, Trained};

pub fn run(options: &Embed, quiet: bool) -> Result<()> {
    Embedding::check_name(&options.out)?;
    let formulas = options.formulas.of_csv(options.out.extension().is_some_and(|extension| extension == "csv"))?;
    if options.memory.is_some() {
        RowWriter::check_name(&options.out)?;
    }
    check_writable(&options.out)?;
    let trained = Trained::load(&options.model)?;
    let dataset = load(&options.data, quiet)?;
    if let Some(memory) = options.memory {
        return within(&trained, &dataset, options, memory, quiet);
    }
    let (embedding, notes) = trained.embed_with_notes(&dataset)?;
    print_notes(&notes, quiet);
    let [rows, cols] = embedding.matrix.shape();
    create_parents(&options.out)?;
    let files = embedding.write(&options.out, formulas)?;
    let files: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    print_notes(&[format!("{rows} nodes, {cols} numbers each: {}", files.join(", "))], quiet);
    Ok(())
}

/// Computes and writes the rows piece by piece.
fn within(trained: &Trained, dataset: &Dataset, options: &Embed, memory: Memory, quiet: bool) -> Result<()> {
    let mut embedding = trained.embed_within(dataset, memory)?;
    print_notes(&embedding.notes, quiet);
    print_notes(&[embedding.estimate().to_string()], quiet);
    create_parents(&options.out)?;
    embedding.progress = shown(format!("propagating over {}", dataset.name), quiet);
    let (rows, cols) = (embedding.ids.len(), embedding.cols());
    let mut writer = RowWriter::create(&options.out, embedding.ids.clone(), cols)?;
    embedding.for_each_rows(folder_of(&options.out), |rows| writer.rows(rows))?;
    let files: Vec<String> = writer.finish()?.iter().map(|file| file.display().to_string()).collect();
    print_notes(&[format!("{rows} nodes, {cols} numbers each: {}", files.join(", "))], quiet);
    Ok(())
}
