//! Identifiers: newtypes that contain only text of their shape. Parsing is hand-written, because ids are on every hot
//! path. It knows no contract that uses an id, and it draws no randomness: the caller supplies fresh uuids.

mod catalogue;
mod mapping;
mod prefixed;

pub use crate::shape::{IdError, MAX_ID_LENGTH, Shape, UnknownValue};
pub use catalogue::*;
pub use prefixed::*;

#[cfg(test)]
mod tests;
