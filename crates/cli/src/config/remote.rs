//! Settings that all sections about remote services share: the locations of secrets, and plain HTTP. The configuration
//! names where secrets are and never holds them.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::paths::FilePath;

/// The location of a secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SecretConfig {
    /// An environment variable of this name.
    Variable(String),
    /// This file, without a line end at its end.
    File(#[schemars(with = "FilePath")] PathBuf),
}

/// The hosts to which plain HTTP is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PlainHttpConfig {
    /// This machine only.
    #[default]
    Loopback,
    /// Any host.
    Anywhere,
}
