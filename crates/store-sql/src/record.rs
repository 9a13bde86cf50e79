//! Code that all engines share besides statements: converts rows to records, and checks a record before it is written.
//!
//! This module knows no engine; the author of a statement ensures that its columns are in the order documented here.

pub(crate) mod asked;
