//! Integration tests of the contracts: examples, invalid documents, versions, and behaviours beyond single documents.
//! They are one program, so that the crate is linked once.

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
