//! The contracts of the seeds: examples, documents that break them, versions, and promises beyond single
//! documents. One program, so that the crate is linked once for all.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that fails"
)]

mod behaviours;
mod contracts;
mod invalid_documents;
mod limits;
mod mission_versions;
