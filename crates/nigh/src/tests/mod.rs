//! Tests of several modules together, of what users of the library do not see.

mod changed_files;
mod dense_reference;
mod equivariance;
mod judging;
mod leakage;
mod parity;
mod parity_parts;
mod requested;
mod sampled;
mod shards;
mod splits;
mod theory;
