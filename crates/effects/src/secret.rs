//! Keys and secrets that the operator configures and that reach only their receiver. Must not know the receiver, nor
//! read variables or files.

use std::fmt;
use std::path::PathBuf;

use reqwest::header::HeaderValue;

use crate::redact::Redactor;

/// A text that only its receiver may see, such as a provider's key. Its `Debug` output hides the value.
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

    /// Returns its source.
    #[must_use]
    pub const fn source(&self) -> &SecretSource {
        &self.source
    }

    /// Returns the secret itself, for the code that sends it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.value
    }

    pub(crate) fn value(&self) -> &str {
        &self.value
    }

    /// Whether the secret is a valid header value.
    pub(crate) fn fits_header(&self) -> bool {
        !self.value.is_empty() && HeaderValue::from_str(&self.value).is_ok()
    }
}

/// Creates a redactor of these secrets.
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

/// The source of a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretSource {
    /// An environment variable of this name.
    Variable(String),
    /// A file.
    File(PathBuf),
    /// The answer to a registration of this program.
    Registration,
}

impl fmt::Display for SecretSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable(name) => write!(f, "environment variable {name}"),
            Self::File(path) => write!(f, "file {}", path.display()),
            Self::Registration => f.write_str("registration of a client"),
        }
    }
}
