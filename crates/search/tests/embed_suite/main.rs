//! The embedders as their callers see them. The tests that need the model's
//! files find them as `model` says, and fail without.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "clippy.toml allows them in test functions only, not in what those call"
)]

mod fetch;
mod languages;
mod minilm;
mod model;
mod reference;
mod remote;

/// What the binary does in `main`: reqwest comes without a provider of its own.
fn install_tls_provider() {
    // The second test in this process finds it installed.
    drop(rustls::crypto::ring::default_provider().install_default());
}
