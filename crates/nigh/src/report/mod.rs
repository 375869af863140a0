//! 9. How results look: tables that align, and plots where a plot says more.

pub mod aligned_table;
pub mod estimate;
pub mod histogram;
pub mod json;
#[cfg(feature = "pictures")]
pub mod layout;
mod markup;
pub mod page;
pub mod paper;
#[cfg(feature = "pictures")]
pub mod plot;
