//! What is asked of which provider, and how far its answer has come.

use charter_contract::json::Profile;

use super::ModelRequest;
use super::options::ProviderOptions;
use super::target::ModelTarget;
use crate::secret::Secret;

/// Most bytes of a streamed answer, in which each few letters come with an envelope.
pub(super) const MAX_STREAM_BYTES: usize = 64 << 20;
/// What is read of an answer, or of an event of a stream.
pub(super) const ANSWER: Profile = Profile::MESSAGE.of_bytes(MAX_STREAM_BYTES);
/// Longest name of a schema or tool that providers take.
const MAX_NAME: usize = 64;

/// What is asked of whom.
#[derive(Debug, Clone, Copy)]
pub(super) struct ProviderRequest<'a> {
    pub(super) request: &'a ModelRequest,
    pub(super) provider: &'a ProviderOptions,
    pub(super) target: &'a ModelTarget,
    pub(super) key: Option<&'a Secret>,
}

impl ProviderRequest<'_> {
    /// The schema's name in the alphabet that providers take.
    pub(super) fn schema_name(&self) -> String {
        let letters = self.request.schema.name.as_str().chars().take(MAX_NAME);
        letters.map(|c| if c == '.' { '_' } else { c }).collect()
    }
}

/// Whether more of an answer is to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    /// It may.
    Open,
    /// The provider says that this was all.
    Ended,
}
