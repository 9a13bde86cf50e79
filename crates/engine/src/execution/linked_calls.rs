//! Calls of tools whose clients take part in them: each is a plan of one step like any other call, and has a link by
//! which the tool's server reaches the client. Links are of this process: a call that another process carries out has
//! none, and its outcome is the same.

use std::sync::Arc;

use charter_contract::ids::{PlanId, RunId, ToolId};
use charter_effects::{CallClient, CallLink, DryRun};
use serde_json::{Map, Value};

use crate::execution::call_links::CallLinks;
use crate::execution::starts::{IdempotencyKey, RunStartService, SubmittedPlan};
use crate::ground::ids::IdSource;
use crate::{Caller, EngineError};

/// Starts calls with links, and finds the links again.
pub struct LinkedCallService {
    ids: Arc<dyn IdSource>,
    linked: Arc<CallLinks>,
    starts: Arc<RunStartService>,
}

impl std::fmt::Debug for LinkedCallService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LinkedCallService").finish_non_exhaustive()
    }
}

impl LinkedCallService {
    pub(crate) fn new(
        ids: Arc<dyn IdSource>,
        linked: Arc<CallLinks>,
        starts: Arc<RunStartService>,
    ) -> Self {
        Self {
            ids,
            linked,
            starts,
        }
    }

    /// Starts a call of a tool with exact arguments, as a plan of one step. Returns its run.
    ///
    /// # Errors
    /// Those of [`RunStartService::start_plan`].
    pub async fn start(
        &self,
        caller: &Caller,
        tool: ToolId,
        values: Map<String, Value>,
        client: CallClient,
    ) -> Result<(RunId, CallLink), EngineError> {
        // The run's id has to be known before the run starts, because its effect begins at once.
        let key = IdempotencyKey::parse(&self.ids.uuid().to_string())?;
        let run = RunId::from_uuid(key.id(caller, "start_run"));
        let link = self.linked.link(&run, caller, client);
        let plan = SubmittedPlan::Call {
            plan: PlanId::from_uuid(self.ids.uuid()),
            tool,
            values,
            timeout_ms: None,
        };
        let starting = self
            .starts
            .start_plan(caller, &plan, Map::new(), DryRun::No, Some(&key));
        match starting.await {
            Ok(started) => Ok((started.run().summary.run_id, link)),
            Err(error) => {
                self.linked.forget(&run);
                Err(error)
            }
        }
    }

    /// Returns the link of the caller's own call; `None` for any other run, and for a call of another process.
    #[must_use]
    pub fn link(&self, caller: &Caller, run: &RunId) -> Option<CallLink> {
        self.linked.link_of(run, caller)
    }

    /// Cancels the caller's own call on the server of its tool. Its run has to be aborted before, so that it does not
    /// try again.
    pub fn cancel(&self, caller: &Caller, run: &RunId) {
        if let Some(link) = self.linked.link_of(run, caller) {
            link.cancel();
        }
    }

    /// Forgets the link of a call whose result the client has.
    pub fn forget(&self, caller: &Caller, run: &RunId) {
        if self.linked.link_of(run, caller).is_some() {
            self.linked.forget(run);
        }
    }
}
