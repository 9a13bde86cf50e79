//! Adapters to the outside world: sandboxed scripts and HTTP tools.
