//! Identifiers: newtypes that cannot hold text of another shape. Parsing is
//! hand-written, because ids sit on every hot path. It knows no contract that
//! uses an id, and it draws no randomness: fresh uuids come from the caller.

mod catalogue;
mod mapping;
mod prefixed;

pub use crate::shape::{IdError, MAX_ID_LENGTH, Shape, UnknownValue};
pub use catalogue::*;
pub use prefixed::*;

#[cfg(test)]
mod tests;
