//! Storage traits and records. No SQL.
