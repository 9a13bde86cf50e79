//! Fields that may be absent but, by seed 003, never null.

use serde::{Deserialize, Deserializer};

/// Reads a present field as a `T`, for `#[serde(default, deserialize_with)]` on an `Option`; null is an error.
pub(crate) fn present<'de, D, T>(from: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(from).map(Some)
}
