//! Memory for the scores of classes, which is refused before hours of reading and set-up if the machine has not got it: scores
//! are `N × C`, and a column of ids or numbers that was taken for labels has tens of thousands of classes.

use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::models::Architecture;
use crate::models::catalog::{CatalogModel, Hyperparameters};
use crate::task::Task;

/// Refuses a dataset for which the scores of this many classes take more memory than is left.
pub(crate) fn check(dataset: &Dataset, classes: usize, task: Task, architecture: &Architecture) -> Result<()> {
    match nigh_formats::memory::left().filter(|_| task == Task::NodeClassification) {
        Some(available) => check_against(available, dataset, classes, architecture),
        None => Ok(()),
    }
}

fn check_against(available: u64, dataset: &Dataset, classes: usize, architecture: &Architecture) -> Result<()> {
    let nodes = dataset.samples.iter().map(|sample| sample.graph.num_nodes()).max().unwrap_or(0);
    let bytes = |matrices: u64| (4 * matrices).saturating_mul(nodes as u64).saturating_mul(classes as u64);
    let needed = bytes(architecture.class_matrices());
    if needed <= available {
        return Ok(());
    }
    let main = CatalogModel::main();
    let least = bytes(main.architecture(&Hyperparameters::default()).class_matrices());
    let plain = (least < needed && least <= available).then_some((main.name, least));
    Err(Error::TooManyClasses { dataset: dataset.name.clone(), nodes, classes, needed, available, plain })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::catalog;

    #[test]
    fn more_classes_than_memory_allows_are_refused_with_the_figures() {
        let dataset = Dataset::built_in("leaders").unwrap();
        let architecture = |name: &str| catalog::architecture(name, &Hyperparameters::default()).unwrap();
        let nodes = dataset.num_nodes() as u64;
        let exact = 2 * 4 * nodes * 25_000;
        let check = |available, name| check_against(available, &dataset, 25_000, &architecture(name));
        assert!(check(exact, "sgc").is_ok());
        let error = check(exact - 1, "sgc").unwrap_err().to_string();
        assert!(error.contains("25000 classes") && error.contains("is the label a number"), "{error}");
        assert!(!error.contains("smp-linear"), "that takes as much: {error}");
        let error = check(exact, "smp-gated").unwrap_err().to_string();
        assert!(error.contains("smp-linear, which takes 80.0 MB"), "{error}");
    }
}
