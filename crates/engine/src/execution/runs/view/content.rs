//! Content that the outputs of a run refer to. A reader of the run may read it.

use charter_contract::content::{ContentDigest, ToolContent, references};
use charter_contract::ids::RunId;
use charter_domain::run::RunEvent;

use super::RunViewService;
use crate::{Caller, EngineError};

impl RunViewService {
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
        self.record(caller, run).await?;
        let absent = || EngineError::not_found("content", digest);
        let digest = ContentDigest::parse(digest).map_err(|_| absent())?;
        let (_, history) = self.journals.history_with_run(&caller.tenant, run).await?;
        let (events, _memory) = history.into_parts();
        let is_referred_to = events.iter().any(|entry| match &entry.event {
            RunEvent::StepSucceeded { output, .. } => {
                references(output).any(|reference| reference.digest == digest)
            }
            _ => false,
        });
        if !is_referred_to {
            return Err(absent());
        }
        let found = self.store.tool_content(&caller.tenant, &digest).await?;
        found.ok_or_else(absent)
    }
}
