//! Keys and secrets that the operator names and that are sent to nobody but whom they are for. Must
//! not know who that is, nor read variables or files.

use std::fmt;
use std::path::PathBuf;

use reqwest::header::HeaderValue;

use crate::redact::Redactor;

/// A text that only its receiver may see, such as a provider's key. It never shows itself.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret {
    value: String,
    source: SecretSource,
}

impl Secret {
    /// Wraps a text.
    #[must_use]
    pub fn new(value: impl Into<String>, source: SecretSource) -> Self {
        Self {
            value: value.into(),
            source,
        }
    }

    /// Where it comes from.
    #[must_use]
    pub const fn source(&self) -> &SecretSource {
        &self.source
    }

    /// The secret itself, for whoever sends it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.value
    }

    pub(crate) fn value(&self) -> &str {
        &self.value
    }

    /// Whether a header can carry it.
    pub(crate) fn fits_header(&self) -> bool {
        !self.value.is_empty() && HeaderValue::from_str(&self.value).is_ok()
    }
}

/// What takes these secrets out of texts.
pub(crate) fn redactor<'s>(secrets: impl IntoIterator<Item = &'s Secret>) -> Redactor {
    let named = secrets
        .into_iter()
        .map(|secret| (secret.source.to_string(), secret.value.clone()));
    Redactor::new(&named.collect::<Vec<_>>())
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secret(… from {})", self.source)
    }
}

/// Where a secret comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretSource {
    /// An environment variable of this name.
    Variable(String),
    /// A file.
    File(PathBuf),
}

impl fmt::Display for SecretSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable(name) => write!(f, "environment variable {name}"),
            Self::File(path) => write!(f, "file {}", path.display()),
        }
    }
}
