//! Keys and secrets that the configuration names, and the addresses to which they may be sent without TLS. The start
//! fails if a named secret does not exist.

use anyhow::Context;
use charter_effects::{PlainHttp, Secret, SecretSource};

use crate::config::{PlainHttpConfig, SecretConfig};
use crate::text_file;

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
            let text = text_file::read(path, MAX_FILE_BYTES)
                .with_context(|| format!("reading the file {}", path.display()))?;
            let value = text.trim_end_matches(['\r', '\n']).to_owned();
            Ok(Secret::new(value, SecretSource::File(path.clone())))
        }
    }
}
