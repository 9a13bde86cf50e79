//! The inputs of reading one parameter from a sentence.

use charter_contract::time::Timestamp;

use super::names::{Mention, Names};
use super::scope::Scope;
use super::text::Sentence;

/// The inputs of reading one parameter from a sentence.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reader<'a, 't> {
    pub(super) sentence: &'a Sentence<'t>,
    pub(super) names: &'a Names,
    /// Where the sentence calls the parameter by name.
    pub(super) mentions: &'a [Mention],
    pub(super) scope: &'a Scope,
    pub(super) now: Timestamp,
}
