//! Experiments with trainings of [`nigh`]: the tables of the paper, comparisons of models, diagnoses and searches for settings.
//!
//! A table is a file with the settings to run and the values that the paper printed; every finished repeat is a record.
//!
//! ```
//! use nigh_paper::Experiment;
//!
//! let table = Experiment::named("link-prediction")?;
//! assert_eq!((table.rows.len(), table.columns.len()), (6, 6));
//! assert_eq!(table.cell(0, 0).unwrap().dataset, "grid");
//! # Ok::<(), nigh::Error>(())
//! ```
//!
//! A module uses only those before it (`tests/layers.rs` of `nigh` checks that):
//!
//! Layers: peak < significance < journal < cell < experiment < record < measure < verdict < reproduction < comparison < diagnosis < tune < report

pub mod report;
pub mod tune;

mod cell;
mod comparison;
mod diagnosis;
mod experiment;
mod journal;
mod measure;
mod peak;
mod record;
mod reproduction;
mod significance;
mod verdict;

pub use cell::Cell;
pub use comparison::{ComparedModel, ComparedRepeat, Comparison, ComparisonObserver, PValues};
pub use diagnosis::{DiagnosedModel, Diagnosis, Difference, Finding, Ingredients, Need};
pub use experiment::{Experiment, FigureKind, Published, TableColumn, TableRow};
pub use journal::{Entry, Journal};
pub use measure::measure;
pub use peak::Peak;
pub use record::{Curve, Record, RecordSet, RunLock, Store};
pub use reproduction::{PlannedRepeat, Reproduced, Reproduction, ReproductionObserver, ReproductionPlan};
pub use significance::{holm, p_value, points};
pub use verdict::{ComparedTable, ComparisonCounts, Figure, Measured, Verdict, VerdictCounts};
