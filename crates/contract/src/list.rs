//! Lists whose number of items is bounded, and the bound on lists that must not be empty.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

/// Maximum number of items in a list that must not be empty: the steps of a plan, the tasks of a graph.
pub(crate) const MAX_LIST: usize = 1_000;

/// Reads a list of at least one and at most `MAX_LIST` items.
pub(crate) fn one_or_more<'de, D, T>(from: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    between::<1, MAX_LIST, D, T>(from)
}

/// Reads a list of at least `MIN` and at most `MAX` items.
pub(crate) fn between<'de, const MIN: usize, const MAX: usize, D, T>(
    from: D,
) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    let items = Vec::deserialize(from)?;
    if (MIN..=MAX).contains(&items.len()) {
        return Ok(items);
    }
    let found = items.len();
    Err(D::Error::custom(format!(
        "expected {MIN} to {MAX} items, found {found}"
    )))
}
