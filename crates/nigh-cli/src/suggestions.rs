//! Names that shells complete. Any other text is accepted too: the command that uses it answers a wrong name with the
//! nearest right one, and some options take the path of a file as well.

use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, Command};
use nigh::dataset::BUILT_IN;
use nigh::dataset::REGISTRY;
use nigh::models::catalog;
use nigh_paper::Experiment;
use std::ffi::OsStr;

/// The models of the catalog.
pub fn models() -> Vec<&'static str> {
    catalog::MODELS.iter().map(|model| model.name).collect()
}

/// Datasets that can be downloaded.
pub fn downloads() -> Vec<&'static str> {
    REGISTRY.iter().map(|known| known.name).collect()
}

/// Every dataset that has a name.
pub fn datasets() -> Vec<&'static str> {
    BUILT_IN.iter().map(|known| known.0).chain(downloads()).collect()
}

/// The tables of the paper.
pub fn tables() -> Vec<&'static str> {
    Experiment::names()
}

/// Tables beyond the paper, and the word for all of them.
pub fn tables_beyond() -> Vec<&'static str> {
    [&["beyond"], &Experiment::names_beyond()[..]].concat()
}

/// Every table.
pub fn all_tables() -> Vec<&'static str> {
    [tables(), tables_beyond()].concat()
}

/// Every table, and the word for all those of the paper.
pub fn all_tables_or_all() -> Vec<&'static str> {
    [&all_tables()[..], &["all"]].concat()
}

/// A parser that accepts any text and suggests names.
#[derive(Clone)]
pub struct Suggested(pub fn() -> Vec<&'static str>);

impl TypedValueParser for Suggested {
    type Value = String;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<String, clap::Error> {
        clap::builder::StringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new((self.0)().into_iter().map(PossibleValue::new)))
    }
}
