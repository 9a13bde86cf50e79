//! Operations on runs for users, with their access checks.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{RunId, TenantId};
use charter_contract::parameter::Parameter;
use charter_domain::approval::Digest;
use charter_domain::parameters::{self, ValueSource};
use charter_domain::person::CredentialUser;
use charter_domain::run::{Run, RunOrder, RunOutcome, RunPrerequisites, rolling_back};
use charter_store::SharedStore;
use serde_json::{Map, Value};
use uuid::Uuid;

use super::journal::JournalService;
use super::pinned::PinnedDocumentService;
use super::view::{RunView, RunViewService};
use super::{NewRun, RunClients, RunService, held};
use crate::{Caller, EngineError, Role};

/// A person's confirmation of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confirmation {
    /// The digest of the plan that the person saw.
    pub digest: String,
    /// The typed text, if the plan requires one.
    pub typed: Option<String>,
}

/// Whether the completed writes of a run that ends early are reversed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RollBack {
    /// They stay.
    No,
    /// They are reversed.
    Yes,
}

impl From<bool> for RollBack {
    fn from(is_wanted: bool) -> Self {
        if is_wanted { Self::Yes } else { Self::No }
    }
}

/// The operations of users on runs.
pub struct RunManagementService {
    store: SharedStore,
    journals: Arc<JournalService>,
    pinned: Arc<PinnedDocumentService>,
    runs: Arc<RunService>,
    views: Arc<RunViewService>,
    clients: Weak<dyn RunClients>,
}

impl std::fmt::Debug for RunManagementService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunManagementService")
            .finish_non_exhaustive()
    }
}

impl RunManagementService {
    pub(crate) fn new(
        store: SharedStore,
        journals: Arc<JournalService>,
        pinned: Arc<PinnedDocumentService>,
        runs: Arc<RunService>,
        views: Arc<RunViewService>,
        clients: Weak<dyn RunClients>,
    ) -> Self {
        Self {
            store,
            journals,
            pinned,
            runs,
            views,
            clients,
        }
    }

    /// Sets values for parameters of a run that has not begun.
    ///
    /// # Errors
    /// `not_found`; `permission_denied`; `invalid_parameters`; `illegal_transition` once the plan is confirmed.
    pub async fn give_parameters(
        &self,
        caller: &Caller,
        run_id: &RunId,
        given: &Map<String, Value>,
    ) -> Result<RunView, EngineError> {
        self.give_from(caller, run_id, given, &BTreeMap::new())
            .await
    }

    /// Sets values with their sources; a value without a source comes from the caller.
    ///
    /// # Errors
    /// As for [`RunManagementService::give_parameters`].
    pub(crate) async fn give_from(
        &self,
        caller: &Caller,
        run_id: &RunId,
        given: &Map<String, Value>,
        from: &BTreeMap<String, ValueSource>,
    ) -> Result<RunView, EngineError> {
        let run = self.manageable(caller, run_id).await?;
        let declared = self.pinned.declared_parameters(&run).await?;
        let person = caller.person();
        let present = parameters::present(&declared, given);
        let mut values = run.parameters().clone();
        values.extend(present.clone());
        let mut bound = parameters::bind_so_far(&declared, &values)
            .map_err(|faults| EngineError::parameters("the run's parameters", &faults))?;
        let opening = run.opening();
        let mut sources = opening.sources.clone();
        for parameter in &declared {
            let name = parameter.name.as_str();
            if parameter.given_in(&present).is_some() {
                let source = from.get(name).cloned().unwrap_or(ValueSource::Given);
                sources.insert(name.to_owned(), source);
            } else if opening.missing.contains(&parameter.name) {
                // `null` declines to give a value; until then, a parameter that was asked for gets no default.
                let is_needed = parameter.required && parameter.default.is_none();
                let is_declined = parameter.given_in(given).is_some() && !is_needed;
                if is_declined && bound.values.contains_key(name) {
                    sources.insert(name.to_owned(), ValueSource::Default);
                } else if !is_declined && !bound.missing.contains(&parameter.name) {
                    bound.values.remove(name);
                    bound.missing.push(parameter.name.clone());
                }
            }
        }
        let command = RunOrder::Give {
            by: Some(person.user),
            makers: person.makers,
            to: run.parameters().clone(),
            parameters: bound.values,
            missing: bound.missing,
            sources,
        };
        self.runs.order(&caller.tenant, run_id, command).await?;
        self.views.show(caller, run_id).await
    }

    /// Returns the declarations of the parameters that a run waits for.
    ///
    /// # Errors
    /// `not_found`; `permission_denied`.
    pub async fn missing_parameters(
        &self,
        caller: &Caller,
        run_id: &RunId,
    ) -> Result<Vec<Parameter>, EngineError> {
        let run = self.manageable(caller, run_id).await?;
        let mut declared = self.pinned.declared_parameters(&run).await?;
        declared.retain(|parameter| run.opening().missing.contains(&parameter.name));
        Ok(declared)
    }

    /// Returns the declared parameters of a run, and their values so far.
    pub(crate) async fn parameters_of(
        &self,
        tenant: &TenantId,
        run: &RunId,
    ) -> Result<(Vec<Parameter>, Map<String, Value>), EngineError> {
        let run = self.journals.fold(tenant, run).await?.run;
        Ok((
            self.pinned.declared_parameters(&run).await?,
            run.parameters().clone(),
        ))
    }

    /// Confirms the plan of a run, which then starts. Where four eyes are off, a caller who decides on approvals also
    /// approves the calls that the plan determines.
    ///
    /// # Errors
    /// `not_found`; `permission_denied`; `illegal_transition` if the plan differs from the one that was seen,
    /// parameters are missing, or the required text was not typed.
    pub async fn confirm(
        &self,
        caller: &Caller,
        run_id: &RunId,
        confirmation: Confirmation,
    ) -> Result<RunView, EngineError> {
        let approves = caller.rights().decides();
        self.confirm_plan(caller, run_id, confirmation, approves)
            .await
    }

    /// Confirms the plan of a run by a message that may be an agent's, and so approves no calls.
    ///
    /// # Errors
    /// As for [`RunManagementService::confirm`].
    pub(crate) async fn confirm_alone(
        &self,
        caller: &Caller,
        run_id: &RunId,
        confirmation: Confirmation,
    ) -> Result<RunView, EngineError> {
        self.confirm_plan(caller, run_id, confirmation, false).await
    }

    async fn confirm_plan(
        &self,
        caller: &Caller,
        run_id: &RunId,
        confirmation: Confirmation,
        approves: bool,
    ) -> Result<RunView, EngineError> {
        let command = |CredentialUser { user, makers }| RunOrder::Confirm {
            by: user,
            makers,
            digest: Digest::claimed(&confirmation.digest),
            typed: confirmation.typed,
            approves,
        };
        // Read first: once the run has ended, its request is no longer found.
        let clients = held(&self.clients)?;
        let planned = clients.planned_by(&caller.tenant, run_id).await;
        let shown = self.steer(caller, run_id, command).await?;
        if let Some((request, playbook)) = planned {
            clients.suggest_started(&request, &playbook).await;
        }
        Ok(shown)
    }

    /// Pauses a run: nothing new starts, and running steps finish.
    ///
    /// # Errors
    /// `not_found`; `permission_denied`; `illegal_transition`.
    pub async fn pause(&self, caller: &Caller, run_id: &RunId) -> Result<RunView, EngineError> {
        let pause = |by: CredentialUser| RunOrder::Pause { by: by.user };
        self.steer(caller, run_id, pause).await
    }

    /// Resumes a paused run.
    ///
    /// # Errors
    /// As for [`RunManagementService::pause`].
    pub async fn resume(&self, caller: &Caller, run_id: &RunId) -> Result<RunView, EngineError> {
        let resume = |by: CredentialUser| RunOrder::Resume { by: by.user };
        self.steer(caller, run_id, resume).await
    }

    /// Ends a run early: nothing new starts, and `roll_back` reverses the completed writes.
    ///
    /// # Errors
    /// As for [`RunManagementService::pause`].
    pub async fn abort(
        &self,
        caller: &Caller,
        run_id: &RunId,
        reason: String,
        roll_back: RollBack,
    ) -> Result<RunView, EngineError> {
        let abort = |by: CredentialUser| RunOrder::Abort {
            by: by.user,
            reason,
            roll_back: roll_back == RollBack::Yes,
        };
        self.steer(caller, run_id, abort).await
    }

    /// Reverses the writes of a run that has ended, in a separate run that the gate checks like any other.
    ///
    /// # Errors
    /// `not_found`; `permission_denied`; `illegal_transition` if the run has not ended, left no writes, made one that
    /// cannot be reversed, or is being rolled back already.
    pub async fn roll_back(&self, caller: &Caller, run_id: &RunId) -> Result<RunView, EngineError> {
        let run = self.manageable(caller, run_id).await?;
        let not_now = |detail: String| EngineError::new(ErrorCode::IllegalTransition, detail);
        let graph = rolling_back(&run).map_err(|error| not_now(error.to_string()))?;
        let mut attempt = 1_u32;
        let id = loop {
            let name = format!("rollback/{attempt}");
            let id = RunId::from_uuid(Uuid::new_v5(&run_id.uuid(), name.as_bytes()));
            if self.store.run(&caller.tenant, &id).await?.is_none() {
                break id;
            }
            let earlier = self.journals.fold(&caller.tenant, &id).await?.run;
            match earlier.outcome() {
                // A failed rollback may be retried, if nothing that it did would be done twice.
                Some(RunOutcome::Failed { .. }) if earlier.steps().wrote_nothing() => attempt += 1,
                _ => {
                    let status = earlier.status();
                    return Err(not_now(format!("its rollback `{id}` is {status}")));
                }
            }
        };
        let new = NewRun {
            run_id: id.clone(),
            tenant: caller.tenant.clone(),
            by: caller.user.clone(),
            // Its arguments are those of the run that it rolls back.
            askers: &run.requesters().all() | &caller.makers,
            owner: run.owner().clone(),
            role: caller.role,
            title: format!("rollback of {run_id}"),
            graph,
            parameters: Map::new(),
            pins: run.pins().to_vec(),
            dry_run: false,
            opening: RunPrerequisites::default(),
            tags: self.pinned.tags_of(&run)?,
            artifacts: Vec::new(),
        };
        self.runs.start(new).await?;
        self.views.show(caller, &id).await
    }

    /// Sends a run a command in the caller's name, if the caller may manage it.
    async fn steer(
        &self,
        caller: &Caller,
        run_id: &RunId,
        order: impl FnOnce(CredentialUser) -> RunOrder,
    ) -> Result<RunView, EngineError> {
        self.manageable(caller, run_id).await?;
        let order = order(caller.person());
        self.runs.order(&caller.tenant, run_id, order).await?;
        self.views.show(caller, run_id).await
    }

    /// Returns a run that the caller started, or may manage as an operator.
    async fn manageable(&self, caller: &Caller, run_id: &RunId) -> Result<Run, EngineError> {
        self.views.record(caller, run_id).await?;
        let run = self.journals.fold(&caller.tenant, run_id).await?.run;
        if *run.by() != caller.user {
            let rule = "a run can be managed only by its creator and by operators";
            caller.must_be(Role::Operator, rule)?;
        }
        Ok(run)
    }
}
