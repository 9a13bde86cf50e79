//! Keys and secrets that the configuration names, and where they may be sent without TLS. What is
//! named must be there, or the start stops.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::Context;
use charter_effects::{PlainHttp, Secret, SecretSource};

use crate::config::{PlainHttpConfig, SecretConfig};

/// Largest file with a secret, in bytes.
const MAX_FILE_BYTES: u64 = 16 << 10;

pub(crate) fn plain_http(config: PlainHttpConfig) -> PlainHttp {
    match config {
        PlainHttpConfig::Loopback => PlainHttp::Loopback,
        PlainHttpConfig::Anywhere => PlainHttp::Anywhere,
    }
}

pub(crate) fn secret(named: &SecretConfig) -> anyhow::Result<Secret> {
    match named {
        SecretConfig::Variable(name) => {
            let value = std::env::var(name)
                .with_context(|| format!("reading the environment variable {name}"))?;
            Ok(Secret::new(value, SecretSource::Variable(name.clone())))
        }
        SecretConfig::File(path) => {
            let value =
                read(path).with_context(|| format!("reading the file {}", path.display()))?;
            Ok(Secret::new(value, SecretSource::File(path.clone())))
        }
    }
}

fn read(path: &Path) -> anyhow::Result<String> {
    let mut text = String::new();
    File::open(path)?
        .take(MAX_FILE_BYTES)
        .read_to_string(&mut text)?;
    Ok(text.trim_end_matches(['\r', '\n']).to_owned())
}
