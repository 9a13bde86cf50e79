//! Names of parameters for names in a JSON Schema, and the further names that a call may use. Must not know the values
//! that a schema allows.

use std::collections::BTreeSet;

use sha2::{Digest, Sha256};

use crate::hex;
use crate::ids::Label;
use crate::visible::clean;

/// Longest name of a parameter, in characters.
const MAX_NAME: usize = 200;
/// Characters of an invalid name that remain in its replacement.
const KEPT_OF_NAME: usize = 100;

/// Names that a schema allows without a description of their own.
#[derive(Debug, Clone, Default)]
pub(super) struct FurtherNames {
    /// Whether every name is allowed.
    pub(super) any: bool,
    /// Regular expressions, one of which a name must match.
    pub(super) patterns: Vec<String>,
}

/// Returns the name of a parameter: its own if valid, else a unique one derived from it.
pub(super) fn parameter_name(name: &str, taken: &BTreeSet<String>) -> Result<Label, String> {
    if let Ok(own) = Label::parse(name) {
        return Ok(own);
    }
    if name.is_empty() || clean(name, MAX_NAME) != name {
        return Err(format!(
            "its name must have 1 to {MAX_NAME} visible characters"
        ));
    }
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let bare = name.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    let kept = bare.chars().take(KEPT_OF_NAME);
    let mut made: String = kept.map(|c| if fits(c) { c } else { '_' }).collect();
    if made.is_empty() {
        made.push('p');
    }
    if taken.contains(&made) {
        let digest = hex::encode(&Sha256::digest(name));
        let digits: String = digest.chars().take(8).collect();
        made = format!("{made}-{digits}");
    }
    Label::parse(&made).map_err(|error| error.to_string())
}

/// Returns a name for a message.
pub(super) fn shown(name: &str) -> String {
    clean(name, MAX_NAME)
}
