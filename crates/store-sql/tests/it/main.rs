//! Storage on its two engines: the contract that both keep, what a crash, a full disk and a damaged file
//! leave, and what a real PostgreSQL server does. One program, so that the crate is linked once for all.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failing preparation is a failing test"
)]

mod crash;
mod evidence_backlog;
mod faults;
mod missions;
mod owners;
mod postgres;
mod sqlite;
