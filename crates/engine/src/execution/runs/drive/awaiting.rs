//! How a driver handles the approvals that its run waits for.

use std::collections::BTreeSet;

use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{ApprovalId, StepId, UserId};
use charter_contract::time::Timestamp;
use charter_domain::approval::{Approval, ApprovalAgreement, ApprovalStatus, ExactCall};
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
        self.is_deciding = false;
        self.escalates_at = None;
        let awaited: BTreeSet<ApprovalId> = self.awaited().map(|(_, approval)| approval).collect();
        if awaited.is_empty() {
            return Ok(());
        }
        for id in awaited {
            let approval = self
                .runs
                .approvals
                .get(&self.pinned.workspace.tenant, &id)
                .await?;
            let now = self.runs.deadlines.now_or_deadline(approval.expires_at);
            let approval = self.decide_as_confirmed(approval, now).await?;
            let owner = self.folded.run.owner();
            let turn = self.runs.approvals.announce_turns(owner, &approval, now);
            self.escalates_at = turn.await?.into_iter().chain(self.escalates_at).min();
            self.use_approval(&approval, now)?;
        }
        self.write(NextPhase::Runs).await
    }

    /// Decides on an approval by the confirmation of the plan, if that counts for its calls. The decision is recorded
    /// like any other; one that a person made meanwhile comes first.
    async fn decide_as_confirmed(
        &self,
        approval: Approval,
        now: Timestamp,
    ) -> Result<Approval, EngineError> {
        let run = &self.folded.run;
        let verdict = run.confirming_verdict(&approval, now);
        let decided = verdict.and_then(|verdict| approval.decide(verdict, now).ok());
        let Some(state) = decided else {
            return Ok(approval);
        };
        let record = self.runs.evidence.records.of_decision(&approval, &state)?;
        let approvals = &self.runs.approvals;
        let deciding = approvals.decide_as_confirmed(run.owner(), &approval, state, record);
        deciding.await?;
        self.runs.news.notify_waiters();
        let tenant = &self.pinned.workspace.tenant;
        approvals.get(tenant, &approval.approval_id).await
    }

    /// Applies the decisions that the confirmation of the plan makes on approvals that were just requested.
    pub(super) async fn use_confirmation(&mut self) -> Result<(), EngineError> {
        match self.is_deciding {
            true => self.apply_approval_decisions().await,
            false => Ok(()),
        }
    }

    /// Applies a decision to each step that waits for it.
    fn use_approval(&mut self, approval: &Approval, now: Timestamp) -> Result<(), EngineError> {
        // The refusal of another approval may have stopped the run.
        let is_awaited = self.awaited().any(|(_, id)| id == approval.approval_id);
        if !is_awaited {
            return Ok(());
        }
        let Some(decision) = self.effect_of(approval, now)? else {
            return Ok(());
        };
        for call in approval.calls() {
            // The refusal of one call may have stopped the run.
            let step = &call.step;
            let awaits = self
                .awaited()
                .any(|(awaited, id)| awaited == *step && id == approval.approval_id);
            if awaits {
                let command = command_for(call, approval, &decision);
                self.apply_command(command)?;
            }
        }
        Ok(())
    }

    /// Returns the effect of an approval's state on the steps that wait for it; `None` if they still wait.
    fn effect_of(
        &mut self,
        approval: &Approval,
        now: Timestamp,
    ) -> Result<Option<ApprovalEffect>, EngineError> {
        let in_time = now < approval.expires_at;
        Ok(Some(match &approval.state {
            // Nothing begins during a pause or a wait for another run: an approval of a call stays open, and lapses at
            // its end.
            ApprovalStatus::Approved(ApprovalAgreement {
                reported_result: None,
                ..
            }) if in_time && self.folded.run.is_on_hold() => {
                self.set_aside.insert(approval.approval_id.clone());
                return Ok(None);
            }
            ApprovalStatus::Approved(agreed) => match approval.consume(&approval.digest, now) {
                Ok(consumed) => {
                    let change = approvals::moved(approval, consumed)?;
                    self.approvals.push(ApprovalChange::Move(change));
                    ApprovalEffect::Agreed(agreed.clone())
                }
                Err(_) => self.lapse(approval)?,
            },
            ApprovalStatus::Rejected(decided) => {
                let reason = decided.reason.as_deref().unwrap_or("no reason was given");
                let message = format!("`{}` rejected it: {reason}", decided.by);
                ApprovalEffect::Refused(
                    Some(decided.by.clone()),
                    denied(ErrorCode::ApprovalRejected, message),
                )
            }
            ApprovalStatus::Pending if in_time => return Ok(None),
            ApprovalStatus::Pending => self.lapse(approval)?,
            // An earlier turn used or lapsed it and its append failed: storage decides.
            ApprovalStatus::Consumed(_) | ApprovalStatus::Lapsed => lapsed(approval),
        }))
    }

    fn lapse(&mut self, approval: &Approval) -> Result<ApprovalEffect, EngineError> {
        let change = approvals::moved(approval, ApprovalStatus::Lapsed)?;
        self.approvals.push(ApprovalChange::Move(change));
        Ok(lapsed(approval))
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

/// The effect of an approval's state on the steps that wait for it.
enum ApprovalEffect {
    /// A person approved their calls, or reported that the call happened.
    Agreed(ApprovalAgreement),
    /// A person rejected their calls, or there was no decision in time.
    Refused(Option<UserId>, StepFailure),
}

/// Returns the refusal of calls whose approval was not decided, or not used, in time.
fn lapsed(approval: &Approval) -> ApprovalEffect {
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
    ApprovalEffect::Refused(None, denied(ErrorCode::ApprovalExpired, message))
}

/// Returns the command for the step of a call: start it, leave it out, fail it, or record the result that a person
/// reported.
fn command_for(call: &ExactCall, approval: &Approval, effect: &ApprovalEffect) -> Command {
    let (step, id) = (call.step.clone(), approval.approval_id.clone());
    let agreed = match effect {
        ApprovalEffect::Agreed(agreed) => agreed.clone(),
        ApprovalEffect::Refused(by, failure) => {
            return Command::Refuse {
                step,
                approval: id,
                by: by.clone(),
                failure: failure.clone(),
            };
        }
    };
    let ApprovalAgreement {
        decided,
        reported_result,
        remainder,
    } = agreed;
    if remainder.is_some_and(|remainder| remainder.excluded.contains(&step)) {
        return Command::Exclude {
            step,
            approval: id,
            by: decided.by,
        };
    }
    let digest = call.digest();
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
