//! The program `nigh`, from the same wheel.

use pyo3::prelude::*;

/// Runs the program with these arguments, of which the first is its name; returns its exit code.
#[pyfunction]
pub fn program(py: Python<'_>, arguments: Vec<std::ffi::OsString>) -> u8 {
    py.detach(|| nigh_cli::run(arguments))
}
