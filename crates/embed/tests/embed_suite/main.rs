//! The embedders through their public interface. The tests that need the model's files find them through `model`, and
//! fail without.

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

/// Installs a TLS provider as the binary's `main` does: reqwest has none of its own.
fn install_tls_provider() {
    // The second test in this process finds it installed.
    drop(rustls::crypto::ring::default_provider().install_default());
}
