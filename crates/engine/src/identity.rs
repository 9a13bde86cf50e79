//! Callers and their keys, identity providers, and the limits of a caller: quotas, rate limits and shares.

pub(crate) mod caller;
pub(crate) mod caller_view;
pub(crate) mod keys;
pub(crate) mod providers;
pub(crate) mod quotas;
pub(crate) mod rate_limits;
pub(crate) mod shares;
