//! Errors of the engines as [`StoreError`](charter_store::StoreError).

pub(crate) mod postgres;
pub(crate) mod sqlite;
