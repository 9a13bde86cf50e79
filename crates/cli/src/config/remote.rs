//! What the sections about servers elsewhere share: where their secrets are, and where they may be
//! spoken to without TLS. Secrets are named here and never written.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::paths::FilePath;

/// Where a secret is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SecretConfig {
    /// In the environment variable of this name.
    Variable(String),
    /// In this file; a line end at its end is not part of it.
    File(#[schemars(with = "FilePath")] PathBuf),
}

/// Where a server may be spoken to without TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PlainHttpConfig {
    /// On this machine.
    #[default]
    Loopback,
    /// Anywhere.
    Anywhere,
}
