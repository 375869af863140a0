//! 9. How results look: tables that align, and plots where a plot says more.

pub mod histogram;
pub mod layout;
pub mod page;
pub mod paper;
pub mod plot;
pub mod table;
