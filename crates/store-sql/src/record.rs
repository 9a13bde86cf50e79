//! Code that all engines share besides statements: converts rows to records, and checks a record before it is written.
//!
//! This module knows no engine; the author of a statement ensures that its columns are in the order documented here.

pub(crate) mod asked;
pub(crate) mod catalogue;
pub(crate) mod evidence;
pub(crate) mod evidence_log;
pub(crate) mod key;
pub(crate) mod lens;
pub(crate) mod memory;
pub(crate) mod mission;
pub(crate) mod request;
pub(crate) mod route_example;
pub(crate) mod skill;
