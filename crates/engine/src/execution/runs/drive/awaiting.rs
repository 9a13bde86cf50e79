//! How a driver handles the approvals that its run waits for.

use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{ApprovalId, StepId};
use charter_contract::time::Timestamp;
use charter_domain::approval::{Approval, ApprovalAgreement, ApprovalStatus};
use charter_domain::graph::Step;
use charter_domain::run::{Command, ErrorKind, Report, StepFailure, StepState, TokenUsage};
use charter_store::approval::ApprovalChange;
use charter_store::journal::NextPhase;

use super::RunDriver;
use crate::EngineError;
use crate::execution::runs::approvals;
use crate::execution::runs::effect::{Preparation, failure};
use crate::ground::questions::{Effort, EvaluationSlot};

impl RunDriver<'_> {
    /// Returns the steps that wait for a person, each with its approval.
    pub(super) fn awaited(&self) -> impl Iterator<Item = (StepId, ApprovalId)> {
        let steps = self.folded.run.steps().states();
        steps.filter_map(|(step, state)| match state {
            StepState::AwaitingApproval { approval, .. } => Some((step.clone(), approval.clone())),
            _ => None,
        })
    }

    /// Applies decisions that people have made since, and lapses approvals that were not decided or used in time.
    pub(super) async fn apply_approval_decisions(&mut self) -> Result<(), EngineError> {
        self.set_aside.clear();
        self.escalates_at = None;
        let awaited: Vec<(StepId, ApprovalId)> = self.awaited().collect();
        if awaited.is_empty() {
            return Ok(());
        }
        for (step, id) in awaited {
            let approval = self
                .runs
                .approvals
                .get(&self.pinned.workspace.tenant, &id)
                .await?;
            let now = self.runs.deadlines.now_or_deadline(approval.expires_at);
            let owner = self.folded.run.owner();
            let turn = self.runs.approvals.announce_turns(owner, &approval, now);
            self.escalates_at = turn.await?.into_iter().chain(self.escalates_at).min();
            self.use_approval(step, &approval, now)?;
        }
        self.write(NextPhase::Runs).await
    }

    fn use_approval(
        &mut self,
        step: StepId,
        approval: &Approval,
        now: Timestamp,
    ) -> Result<(), EngineError> {
        let id = approval.approval_id.clone();
        let in_time = now < approval.expires_at;
        let command = match &approval.state {
            // Nothing begins during a pause: an approval of a call stays open, and lapses at its end.
            ApprovalStatus::Approved(ApprovalAgreement {
                reported_result: None,
                ..
            }) if in_time && self.folded.run.is_paused() => {
                self.set_aside.insert(id);
                return Ok(());
            }
            ApprovalStatus::Approved(agreed) => match approval.consume(&approval.digest, now) {
                Ok(consumed) => {
                    let change = approvals::moved(approval, consumed)?;
                    self.approvals.push(ApprovalChange::Move(change));
                    command_for_agreement(step, approval, agreed)
                }
                Err(_) => self.lapse(step, approval)?,
            },
            ApprovalStatus::Rejected(decided) => {
                let reason = decided.reason.as_deref().unwrap_or("no reason was given");
                let message = format!("`{}` rejected it: {reason}", decided.by);
                Command::Refuse {
                    step,
                    approval: id,
                    by: Some(decided.by.clone()),
                    failure: denied(ErrorCode::ApprovalRejected, message),
                }
            }
            ApprovalStatus::Pending if in_time => return Ok(()),
            ApprovalStatus::Pending => self.lapse(step, approval)?,
            // An earlier turn used or lapsed it and its append failed: storage decides.
            ApprovalStatus::Consumed(_) | ApprovalStatus::Lapsed => {
                self.refuse_lapsed(step, approval)
            }
        };
        self.apply_command(command)
    }

    fn lapse(&mut self, step: StepId, approval: &Approval) -> Result<Command, EngineError> {
        let change = approvals::moved(approval, ApprovalStatus::Lapsed)?;
        self.approvals.push(ApprovalChange::Move(change));
        Ok(self.refuse_lapsed(step, approval))
    }

    fn refuse_lapsed(&self, step: StepId, approval: &Approval) -> Command {
        let end = approval.expires_at;
        let message = match &approval.state {
            ApprovalStatus::Approved(agreed) => {
                let by = &agreed.decided.by;
                format!("`{by}` approved it, but the run did not use the approval before {end}")
            }
            ApprovalStatus::Pending
            | ApprovalStatus::Rejected(_)
            | ApprovalStatus::Consumed(_)
            | ApprovalStatus::Lapsed => {
                format!("it was not decided before {end}")
            }
        };
        Command::Refuse {
            step,
            approval: approval.approval_id.clone(),
            by: None,
            failure: denied(ErrorCode::ApprovalExpired, message),
        }
    }

    /// Waits for a slot to ask the gate about a step.
    pub(super) async fn evaluation_slot(&self, step: &StepId) -> EvaluationSlot {
        let tool = self.folded.run.graph().step(step).and_then(Step::tool);
        let effort = tool.map_or(Effort::Moment, |tool| self.pinned.workspace.effort(tool));
        let tenant = &self.pinned.workspace.tenant;
        self.runs.questions.slot_for(tenant, effort).await
    }

    /// Handles a write whose answer is refused: the write may have happened. As after an interruption, a person decides
    /// about its step; it is never repeated automatically.
    pub(super) async fn request_approval_to_repeat(
        &mut self,
        step: &StepId,
        refusal: StepFailure,
    ) -> Result<(), EngineError> {
        let place = self.evaluation_slot(step).await;
        let at = self.runs.clock.now();
        match place.ask(|| self.pinned.workspace.prepare(&self.folded.run, step, at)) {
            Ok(Preparation::Effect(prepared)) => {
                let (call, decision) = (prepared.call(), prepared.decision().clone());
                let decision = decision.in_doubt(&call.tool, &refusal.message);
                self.decide_step_start(&prepared, decision, at)
            }
            // The step was prepared before. If it can no longer be prepared, it is not repeated either.
            Ok(Preparation::NotInDryRun) | Err(_) => self.apply_command(Command::Fail {
                step: step.clone(),
                failure: StepFailure {
                    kind: ErrorKind::InputError,
                    ..refusal
                },
                at,
                tokens: TokenUsage::default(),
            }),
        }
    }

    /// Lapses the open approvals of a run that ends.
    pub(super) async fn expire_pending_approvals(&mut self) -> Result<(), EngineError> {
        if !self.folded.asked {
            return Ok(());
        }
        let (tenant, run) = (&self.pinned.workspace.tenant, self.folded.run.id());
        for change in self.runs.approvals.lapsing(tenant, run).await? {
            let id = |change: &ApprovalChange| match change {
                ApprovalChange::Move(change) => Some(change.approval_id.clone()),
                ApprovalChange::Ask(_) => None,
            };
            // Approvals that this turn uses or lapses are still open in storage.
            if self.approvals.iter().all(|known| id(known) != id(&change)) {
                self.approvals.push(change);
            }
        }
        Ok(())
    }
}

/// Converts a granted approval into a command: start the call, or record the result that a person reported.
fn command_for_agreement(step: StepId, approval: &Approval, agreed: &ApprovalAgreement) -> Command {
    let (id, digest) = (approval.approval_id.clone(), approval.digest.clone());
    let ApprovalAgreement {
        decided,
        reported_result,
    } = agreed.clone();
    match reported_result {
        None => Command::Grant {
            step,
            approval: id,
            digest,
            by: decided.by,
        },
        Some(happened) => Command::Report(Box::new(Report {
            step,
            approval: id,
            digest,
            by: decided.by,
            makers: decided.makers,
            reason: decided.reason,
            output: happened.output,
        })),
    }
}

fn denied(code: ErrorCode, message: String) -> StepFailure {
    failure(ErrorKind::PermissionError, code, message)
}
