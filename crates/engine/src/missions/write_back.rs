//! Carries out proposals without a catalogue tool: by a playbook, or by a signed request to the system of record. The
//! step was approved, or a policy allows it; it begins once under its key.

use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{PlaybookId, RunId};
use charter_contract::mission::writeback_proposal::WritebackProposal;
use charter_domain::mission::{StageOutput, TARGET_CHANGED};
use charter_domain::run::{ErrorKind, RunOutcome, StepFailure};
use charter_effects::webhook::{Delivery, DeliveryFailed, DeliveryFault, MessageId};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::WriteBackService;
use super::failures::{stopped, unfit};
use super::stage::StageExecution;
use crate::execution::runs::{StageFailure, StageResult, failure};
use crate::ground::change_wait::{ChangeWait, POLL_INTERVAL, WaitEnd};
use crate::{DryRun, EngineError};

impl WriteBackService {
    /// Runs a playbook to its end. The run's id follows from the step, so an interrupted step finds its run. The
    /// proposal's approver saw playbook and parameters, which confirms the plan; further approvals of the playbook are
    /// requested as usual.
    pub(super) async fn run_playbook(
        &self,
        work: &StageExecution,
        parameters: &Map<String, Value>,
        cancel: &CancellationToken,
    ) -> Result<StageResult, StageFailure> {
        let playbook = parameters.get("playbook").and_then(Value::as_str);
        let playbook = playbook.and_then(|id| PlaybookId::parse(id).ok());
        let playbook = playbook.ok_or_else(|| unfit("the proposal names no playbook"))?;
        let given = parameters.get("parameters").and_then(Value::as_object);
        let given = given.cloned().unwrap_or_default();
        let run_id = playbook_run(&work.key);
        let ended = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(stopped()),
            ended = self.run_out(work, &playbook, &given, &run_id) => ended?,
        };
        let word = ended.status();
        match ended {
            RunOutcome::Completed { .. } => Ok(done(json!({"run_id": run_id, "outcome": word}))),
            RunOutcome::Failed { .. }
            | RunOutcome::RolledBack { .. }
            | RunOutcome::RollbackFailed { .. } => {
                let message = format!("the playbook `{playbook}` ended {word}: {run_id}");
                Err(failure(ErrorKind::ExecutionError, ErrorCode::ToolFailed, message).into())
            }
        }
    }

    async fn run_out(
        &self,
        work: &StageExecution,
        playbook: &PlaybookId,
        given: &Map<String, Value>,
        run_id: &RunId,
    ) -> Result<RunOutcome, EngineError> {
        let caller = &work.caller;
        let known = self.store.run(&caller.tenant, run_id).await?;
        if known.is_none() {
            self.starts.check_definitions(caller, playbook).await?;
            let mut new =
                self.starts
                    .playbook_run(caller, playbook, given, DryRun::No, run_id.clone())?;
            if let Some(first) = new.opening.missing.first() {
                let message = format!("the proposal gives no value for `{first}`");
                return Err(EngineError::new(ErrorCode::MissingParameters, message));
            }
            new.opening.confirm = false;
            new.opening.typed = None;
            self.runs.start(new).await?;
        } else {
            self.runs.resume(caller.tenant.clone(), run_id.clone());
        }
        loop {
            // Registered before looking, so that no notification in between is missed.
            let change = ChangeWait::register(&self.news);
            if let Some(outcome) = self
                .journals
                .fold(&caller.tenant, run_id)
                .await?
                .run
                .outcome()
            {
                return Ok(outcome.clone());
            }
            match change.wait(POLL_INTERVAL, &self.shutdown).await {
                WaitEnd::LookAgain => {}
                WaitEnd::Stopped => return Err(EngineError::interrupted()),
            }
        }
    }

    /// Sends a signed proposal to the system of record. The message's id follows from the step, and its body from the
    /// proposal, so an interrupted step sends the same message again.
    pub(super) async fn send_to_webhook(
        &self,
        work: &StageExecution,
        proposal: &WritebackProposal,
        parameters: &Map<String, Value>,
        cancel: &CancellationToken,
    ) -> Result<StageResult, StageFailure> {
        let url = parameters.get("url").and_then(Value::as_str);
        let url = url.ok_or_else(|| unfit("the proposal names no address"))?;
        let delivery = Delivery {
            tenant: work.caller.tenant.clone(),
            url: url.to_owned(),
            id: MessageId::from_uuid(Uuid::new_v5(&Uuid::NAMESPACE_OID, work.key.as_bytes())),
            now: self.clock.now(),
            body: message(work, proposal, parameters.get("body")),
            timeout: work.timeout,
        };
        match self.webhooks.deliver(&delivery, cancel).await {
            Ok(answered) => Ok(done(
                json!({"status": answered.status, "message_id": delivery.id.as_str()}),
            )),
            Err(failed) => Err(undelivered(&failed).into()),
        }
    }
}

/// The type of messages that carry a proposal.
const WRITE_BACK: &str = "mission.writeback";

/// Builds the message, in the structure that the specification recommends.
fn message(work: &StageExecution, proposal: &WritebackProposal, body: Option<&Value>) -> Value {
    let envelope = &work.desk.envelope;
    json!({
        "type": WRITE_BACK,
        "timestamp": proposal.created_at,
        "data": {
            "mission_id": envelope.mission_id,
            "tenant_id": envelope.tenant_id,
            "proposal_id": proposal.proposal_id,
            "action_type": proposal.action_type,
            "target_entity_type": proposal.target_entity_type,
            "target_entity_id": proposal.target_entity_id,
            "body": body,
        },
    })
}

/// Converts a failed delivery into the step's failure. A changed target is reported like one that a tool detects
/// (B002-13).
fn undelivered(failed: &DeliveryFailed) -> StepFailure {
    let of = |kind, code: &str, retryable| StepFailure {
        kind,
        code: code.to_owned(),
        message: failed.message.clone(),
        retryable,
        account: None,
    };
    let tool_failed = ErrorCode::ToolFailed.as_str();
    match failed.fault {
        DeliveryFault::Conflict => of(ErrorKind::ExecutionError, TARGET_CHANGED, false),
        DeliveryFault::Forbidden | DeliveryFault::Refused => {
            of(ErrorKind::ExecutionError, tool_failed, false)
        }
        DeliveryFault::Unavailable => of(ErrorKind::ResourceError, tool_failed, true),
        DeliveryFault::Unknown => of(
            ErrorKind::TimeoutError,
            ErrorCode::ToolTimeout.as_str(),
            false,
        ),
    }
}

/// Derives the run of the playbook that carries a proposal out, from the proposal's step.
pub(super) fn playbook_run(key: &str) -> RunId {
    RunId::from_uuid(Uuid::new_v5(&Uuid::NAMESPACE_OID, key.as_bytes()))
}

fn done(result: Value) -> StageResult {
    StageResult {
        output: StageOutput {
            result: Some(result),
            ..StageOutput::default()
        },
        ..StageResult::default()
    }
}
