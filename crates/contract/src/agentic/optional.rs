//! Fields that may be absent and, as seed 003 has it, never null.

use serde::{Deserialize, Deserializer};

/// For `#[serde(default, deserialize_with)]` on an `Option`: what is there must be a `T`.
pub(super) fn present<'de, D, T>(from: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(from).map(Some)
}
