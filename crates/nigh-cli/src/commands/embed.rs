//! `nigh embed`: a vector per node.

use super::propagate::{folder_of, shown};
use super::{check_writable, create_parents, load, print_notes};
use crate::cli::Embed;
use anyhow::Result;
use nigh::Trained;
use nigh::answer::{Embedding, RowWriter, SessionOptions};

pub fn run(options: &Embed, quiet: bool) -> Result<()> {
    Embedding::check_name(&options.out)?;
    let formulas = options.formulas.of_csv(options.out.extension().is_some_and(|extension| extension == "csv"))?;
    if options.memory.is_some() {
        RowWriter::check_name(&options.out)?;
    }
    check_writable(&options.out)?;
    let trained = Trained::load(&options.model)?;
    let dataset = load(&options.data, quiet)?;
    let (files, rows, cols) = match options.memory {
        None => {
            let (embedding, notes) = trained.embed_with(&dataset, &SessionOptions::default())?;
            print_notes(&notes, quiet);
            create_parents(&options.out)?;
            let [rows, cols] = embedding.matrix.shape();
            (embedding.write(&options.out, formulas)?, rows, cols)
        }
        memory => {
            let folder = folder_of(&options.out).to_path_buf();
            let progress = shown(format!("propagating over {}", dataset.name), quiet);
            let session_options = SessionOptions { memory, folder, progress, ..SessionOptions::default() };
            let session = trained.session_with(&dataset, &session_options)?;
            print_notes(&session.notes, quiet);
            print_notes(&session.estimate().map(ToString::to_string).into_iter().collect::<Vec<_>>(), quiet);
            create_parents(&options.out)?;
            let (files, cols) = session.write_vectors(&options.out)?;
            (files, session.ids().len(), cols)
        }
    };
    let files: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    print_notes(&[format!("{rows} nodes, {cols} numbers each: {}", files.join(", "))], quiet);
    Ok(())
}
