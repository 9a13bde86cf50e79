//! SQL engines behind the storage traits.
