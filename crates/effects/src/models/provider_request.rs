//! A request to a provider, and the progress of its answer.

use charter_contract::json::Profile;

use super::ModelRequest;
use super::options::ProviderOptions;
use super::target::ModelTarget;
use crate::secret::Secret;

/// Most bytes of a streamed answer, which has an envelope around every few letters.
pub(super) const MAX_STREAM_BYTES: usize = 64 << 20;
/// JSON limits of an answer, or of an event of a stream.
pub(super) const ANSWER: Profile = Profile::MESSAGE.of_bytes(MAX_STREAM_BYTES);
/// Longest name of a schema or tool that providers accept.
const MAX_NAME: usize = 64;

/// A request with its target.
#[derive(Debug, Clone, Copy)]
pub(super) struct ProviderRequest<'a> {
    pub(super) request: &'a ModelRequest,
    pub(super) provider: &'a ProviderOptions,
    pub(super) target: &'a ModelTarget,
    pub(super) key: Option<&'a Secret>,
}

impl ProviderRequest<'_> {
    /// Returns the schema's name in the alphabet that providers accept.
    pub(super) fn schema_name(&self) -> String {
        let letters = self.request.schema.name.as_str().chars().take(MAX_NAME);
        letters.map(|c| if c == '.' { '_' } else { c }).collect()
    }
}

/// Whether an answer continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    /// It may continue.
    Open,
    /// The provider marked its end.
    Ended,
}
