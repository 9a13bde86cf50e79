//! Who calls, and how much of this installation a caller may use: callers and their keys, identity providers, quotas,
//! rate limits and shares. Also sign-in to the console, and the credentials that tools act with on behalf of a caller.

pub(crate) mod authorization_code;
pub(crate) mod caller;
pub(crate) mod caller_view;
pub(crate) mod credentials;
pub(crate) mod keys;
pub(crate) mod providers;
pub(crate) mod quotas;
pub(crate) mod rate_limits;
mod renewals;
pub(crate) mod shares;
pub(crate) mod sign_in;
