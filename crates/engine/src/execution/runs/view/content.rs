//! Content that the outputs of a run refer to. A reader of the run may read it.

use charter_contract::content::{ContentDigest, ContentReference, ToolContent};
use charter_contract::ids::RunId;
use charter_domain::run::content_references;

use super::RunViewService;
use crate::{Caller, EngineError};

impl RunViewService {
    /// Returns the references of a run's outputs to content that was stored for them, in the order of the outputs.
    ///
    /// # Errors
    /// `not_found` for a run that is not visible to the caller.
    pub async fn contents(
        &self,
        caller: &Caller,
        run: &RunId,
    ) -> Result<Vec<ContentReference>, EngineError> {
        self.record(caller, run).await?;
        let (_, history) = self.journals.history_with_run(&caller.tenant, run).await?;
        let (events, _memory) = history.into_parts();
        Ok(content_references(events.iter().map(|entry| &entry.event)))
    }

    /// Returns the content with a digest that an output of a run refers to.
    ///
    /// # Errors
    /// `not_found` for a run that is not visible to the caller, for a digest that no output of the run refers to, and for
    /// content past its retention.
    pub async fn content(
        &self,
        caller: &Caller,
        run: &RunId,
        digest: &str,
    ) -> Result<ToolContent, EngineError> {
        let contents = self.contents(caller, run).await?;
        let absent = || EngineError::not_found("content", digest);
        let digest = ContentDigest::parse(digest).map_err(|_| absent())?;
        if !contents.iter().any(|reference| reference.digest == digest) {
            return Err(absent());
        }
        let found = self.store.tool_content(&caller.tenant, &digest).await?;
        found.ok_or_else(absent)
    }
}
