//! Storage on its two engines: the contract and the schema of both, the state after a crash, a full disk and a damaged
//! file, and the behaviour of a real PostgreSQL server. One program, so that the crate is linked once.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failing preparation is a failing test"
)]

mod crash;
mod faults;
mod lookups;
mod missions;
mod postgres;
mod schemas;
mod sqlite;
