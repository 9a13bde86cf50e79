//! Operations on runs for users, with their access checks.

use std::collections::BTreeMap;
use std::sync::Arc;

use charter_contract::catalogue::Document;
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{RunId, TenantId};
use charter_contract::parameter::Parameter;
use charter_domain::approval::Digest;
use charter_domain::parameters::{self, ValueSource};
use charter_domain::person::CredentialUser;
use charter_domain::run::{Run, RunOrder, RunOutcome, RunPrerequisites, rolling_back};
use serde_json::{Map, Value};
use uuid::Uuid;

use super::{NewRun, RunView};
use crate::{Caller, Engine, EngineError, Role};

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

impl Engine {
    /// Sets values for parameters of a run that has not begun.
    ///
    /// # Errors
    /// `not_found`; `permission_denied`; `invalid_parameters`; `illegal_transition` once the plan is confirmed.
    pub async fn give_parameters(
        self: &Arc<Self>,
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
    /// As for [`Engine::give_parameters`].
    pub(crate) async fn give_from(
        self: &Arc<Self>,
        caller: &Caller,
        run_id: &RunId,
        given: &Map<String, Value>,
        from: &BTreeMap<String, ValueSource>,
    ) -> Result<RunView, EngineError> {
        let run = self.manageable(caller, run_id).await?;
        let declared = self.declared_by(&run).await?;
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
        self.order(&caller.tenant, run_id, command).await?;
        self.show_run(caller, run_id).await
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
        let mut declared = self.declared_by(&run).await?;
        declared.retain(|parameter| run.opening().missing.contains(&parameter.name));
        Ok(declared)
    }

    /// Returns the parameters that a run's playbook declares; none for any other run.
    pub(super) async fn declared_by(&self, run: &Run) -> Result<Vec<Parameter>, EngineError> {
        let mut declared = Vec::new();
        for pin in run.pins() {
            if let Document::Playbook(playbook) = self.pinned_document(pin).await? {
                declared = playbook.declared_parameters();
            }
        }
        Ok(declared)
    }

    /// Returns the declared parameters of a run, and their values so far.
    pub(crate) async fn parameters_of(
        &self,
        tenant: &TenantId,
        run: &RunId,
    ) -> Result<(Vec<Parameter>, Map<String, Value>), EngineError> {
        let run = self.fold(tenant, run).await?.run;
        Ok((self.declared_by(&run).await?, run.parameters().clone()))
    }

    /// Confirms the plan of a run, which then starts.
    ///
    /// # Errors
    /// `not_found`; `permission_denied`; `illegal_transition` if the plan differs from the one that was seen,
    /// parameters are missing, or the required text was not typed.
    pub async fn confirm_run(
        self: &Arc<Self>,
        caller: &Caller,
        run_id: &RunId,
        confirmation: Confirmation,
    ) -> Result<RunView, EngineError> {
        let command = |CredentialUser { user, makers }| RunOrder::Confirm {
            by: user,
            makers,
            digest: Digest::claimed(&confirmation.digest),
            typed: confirmation.typed,
        };
        // Read first: once the run has ended, its request is no longer found.
        let planned = self.planned_by(&caller.tenant, run_id).await;
        let shown = self.steer(caller, run_id, command).await?;
        if let Some((request, playbook)) = planned {
            self.suggest_started(&request, &playbook).await;
        }
        Ok(shown)
    }

    /// Pauses a run: nothing new starts, and running steps finish.
    ///
    /// # Errors
    /// `not_found`; `permission_denied`; `illegal_transition`.
    pub async fn pause_run(
        self: &Arc<Self>,
        caller: &Caller,
        run_id: &RunId,
    ) -> Result<RunView, EngineError> {
        let pause = |by: CredentialUser| RunOrder::Pause { by: by.user };
        self.steer(caller, run_id, pause).await
    }

    /// Resumes a paused run.
    ///
    /// # Errors
    /// As for [`Engine::pause_run`].
    pub async fn resume_run(
        self: &Arc<Self>,
        caller: &Caller,
        run_id: &RunId,
    ) -> Result<RunView, EngineError> {
        let resume = |by: CredentialUser| RunOrder::Resume { by: by.user };
        self.steer(caller, run_id, resume).await
    }

    /// Ends a run early: nothing new starts, and `roll_back` reverses the completed writes.
    ///
    /// # Errors
    /// As for [`Engine::pause_run`].
    pub async fn abort_run(
        self: &Arc<Self>,
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
    pub async fn roll_back_run(
        self: &Arc<Self>,
        caller: &Caller,
        run_id: &RunId,
    ) -> Result<RunView, EngineError> {
        let run = self.manageable(caller, run_id).await?;
        let not_now = |detail: String| EngineError::new(ErrorCode::IllegalTransition, detail);
        let graph = rolling_back(&run).map_err(|error| not_now(error.to_string()))?;
        let mut attempt = 1_u32;
        let id = loop {
            let name = format!("rollback/{attempt}");
            let id = RunId::from_uuid(Uuid::new_v5(&run_id.uuid(), name.as_bytes()));
            if self.store().run(&caller.tenant, &id).await?.is_none() {
                break id;
            }
            let earlier = self.fold(&caller.tenant, &id).await?.run;
            match earlier.outcome() {
                // A failed rollback may be retried, if nothing that it did would be done twice.
                Some(RunOutcome::Failed { .. }) if earlier.steps().wrote_nothing() => attempt += 1,
                _ => {
                    let status = earlier.status();
                    return Err(not_now(format!("its rollback `{id}` is {status}")));
                }
            }
        };
        self.start_run(NewRun {
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
            tags: self.tags_of_run(&run)?,
            artifacts: Vec::new(),
        })
        .await?;
        self.show_run(caller, &id).await
    }

    /// Sends a run a command in the caller's name, if the caller may manage it.
    async fn steer(
        self: &Arc<Self>,
        caller: &Caller,
        run_id: &RunId,
        order: impl FnOnce(CredentialUser) -> RunOrder,
    ) -> Result<RunView, EngineError> {
        self.manageable(caller, run_id).await?;
        let order = order(caller.person());
        self.order(&caller.tenant, run_id, order).await?;
        self.show_run(caller, run_id).await
    }

    /// Returns a run that the caller started, or may manage as an operator.
    async fn manageable(&self, caller: &Caller, run_id: &RunId) -> Result<Run, EngineError> {
        self.record_of(caller, run_id).await?;
        let run = self.fold(&caller.tenant, run_id).await?.run;
        if *run.by() != caller.user {
            let rule = "a run can be managed only by its creator and by operators";
            caller.must_be(Role::Operator, rule)?;
        }
        Ok(run)
    }
}
