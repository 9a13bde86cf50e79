//! SQL engines behind the storage traits of `charter-store`.
//!
//! [`sqlite`] is the embedded engine: one data directory, no setup. What any SQL engine needs to
//! turn records into column values and back lives in `column`, beside the engines.
//!
//! This crate knows no use cases: what a record means and when to write it is its caller's affair.

mod column;
mod record;
mod row;

pub mod sqlite;
