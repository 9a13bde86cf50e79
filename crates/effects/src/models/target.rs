//! A model of a provider, by its name.

use std::fmt;
use std::str::FromStr;

use charter_contract::ids::{IdError, Label};

/// A provider and a model, written `provider/model`. The model's name may hold further slashes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelTarget {
    /// The provider's name in the configuration.
    pub provider: Label,
    /// The model's name at the provider.
    pub model: String,
}

/// Text that is not a valid target.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// A part is missing.
    #[error("{text:?} is not of the form provider/model")]
    Form {
        /// The text.
        text: String,
    },
    /// The provider's name is invalid.
    #[error("reading the provider of {text:?}")]
    Provider {
        /// The text.
        text: String,
        /// The cause.
        source: IdError,
    },
}

impl FromStr for ModelTarget {
    type Err = TargetError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let form = || TargetError::Form {
            text: text.to_owned(),
        };
        let (provider, model) = text.split_once('/').ok_or_else(form)?;
        if model.trim().is_empty() {
            return Err(form());
        }
        let provider = Label::parse(provider).map_err(|source| TargetError::Provider {
            text: text.to_owned(),
            source,
        })?;
        Ok(Self {
            provider,
            model: model.to_owned(),
        })
    }
}

impl fmt::Display for ModelTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.provider, self.model)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_a_provider_and_a_model() {
        for text in ["", "one", "one/", "/m", "o ne/m"] {
            assert!(text.parse::<ModelTarget>().is_err(), "{text:?}");
        }
    }
}
