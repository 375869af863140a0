//! `nigh embed`: a vector per node.

use super::{check_writable, create_parents, load, print_notes};
use crate::cli::Embed;
use anyhow::Result;
use nigh::Trained;
use nigh::trained::Embedding;

pub fn run(options: &Embed, quiet: bool) -> Result<()> {
    Embedding::check_name(&options.out)?;
    let formulas = options.formulas.of_csv(options.out.extension().is_some_and(|extension| extension == "csv"))?;
    check_writable(&options.out)?;
    let trained = Trained::load(&options.model)?;
    let dataset = load(&options.data, quiet)?;
    let (embedding, notes) = trained.embed_with_notes(&dataset)?;
    print_notes(&notes, quiet);
    let [rows, cols] = embedding.matrix.shape();
    create_parents(&options.out)?;
    let files = embedding.write(&options.out, formulas)?;
    let files: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    print_notes(&[format!("{rows} nodes, {cols} numbers each: {}", files.join(", "))], quiet);
    Ok(())
}
