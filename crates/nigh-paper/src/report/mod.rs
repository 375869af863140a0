//! How results look: tables for the terminal and for papers, an HTML page, and plots.

pub mod histogram;
pub mod json;
#[cfg(feature = "pictures")]
pub mod layout;
mod markup;
pub mod page;
pub mod paper;
#[cfg(feature = "pictures")]
pub mod plot;
