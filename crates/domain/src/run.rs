//! The run machine: what may happen to a run, and what has happened.
//!
//! [`Run::decide`] turns a command into events or refuses it and changes nothing; [`Run::advance`]
//! gives what follows from the state alone; [`Run::apply`] folds one event into the state;
//! [`Run::next`] says what a worker does now. The journal of events is the plan of record: folding
//! it again gives the same state, byte for byte, and no effect happens while folding.
//!
//! An effect is journaled before it starts, with the key that makes a repeat harmless, and after it
//! ended. A worker that finds a step begun and not ended was interrupted; what only reads, or
//! promises that a repeat is harmless, is begun again under the same key, and anything else asks a
//! person first, who may also know that it happened (B000-18, B003-5 to B003-9).

mod account;
mod advance;
mod asked;
mod command;
mod event;
mod granted;
mod replay;
mod report;
mod rollback;
mod standing;
mod state;
mod waits;

pub mod chain;

use charter_contract::ids::{StepId, UserId};
use charter_contract::time::Timestamp;
use serde_json::{Map, Value};

use crate::approval::Digest;
use crate::gate::{GateDecision, RuleKind};
use crate::graph::GraphAdditions;

pub use account::{ChangeState, RunAccount, RunChange, UndoneReason, UndoneStep};
pub use advance::Next;
pub use command::{Command, IllegalTransition, Report, RunOrder, StepStart};
pub use event::{
    ApprovalRequest, DocumentPin, EffectStart, ErrorKind, ResultSource, RunEvent, RunPrerequisites,
    RunStart, SkipReason, StepFailure, StepYield, StopCause, TokenUsage,
};
pub use replay::{Divergence, StrictReplay};
pub use rollback::{Unreversible, rolling_back};
pub use standing::{RunOutcome, StepState};
pub use state::{FoldError, Run};
pub use waits::StepWait;

/// The code of a step that the gate refused, by the kind of the rule.
const REFUSED: [(RuleKind, &str); 4] = [
    (RuleKind::Permission, "permission_denied"),
    (RuleKind::Policy, "policy_denied"),
    (RuleKind::Guardrail, "guardrail_blocked"),
    (RuleKind::RateLimit, "rate_limited"),
];

impl Run {
    /// What the command leads to.
    ///
    /// # Errors
    /// [`IllegalTransition`]; the run is unchanged either way until the events are applied.
    pub fn decide(&self, command: Command) -> Result<Vec<RunEvent>, IllegalTransition> {
        if self.outcome().is_some() {
            return Err(IllegalTransition::Ended);
        }
        let event = match command {
            Command::Order(order) => self.obey(order)?,
            Command::Begin(beginning) => self.begin(*beginning)?,
            Command::Grant {
                step,
                approval,
                digest,
                by,
            } => {
                self.awaits(&step, &approval, Some(&digest))?;
                RunEvent::ApprovalGranted { step, approval, by }
            }
            Command::Report(report) => self.report(*report)?,
            Command::Refuse {
                step,
                approval,
                by,
                failure,
            } => {
                self.awaits(&step, &approval, None)?;
                RunEvent::ApprovalDenied {
                    step,
                    approval,
                    by,
                    failure,
                }
            }
            Command::Succeed {
                step,
                output,
                source,
                duration_ms,
                brings,
            } => {
                self.is_running(&step, "completed")?;
                self.may_grow(&brings.growth)?;
                RunEvent::StepSucceeded {
                    step,
                    output,
                    source,
                    duration_ms,
                    brings,
                }
            }
            Command::Fail {
                step,
                failure,
                at,
                tokens,
            } => self.fail(step, failure, at, tokens)?,
            Command::SkipForDryRun { step } => self.skip_for_dry_run(step)?,
            Command::TimeUp => self.time_up()?,
        };
        Ok(vec![event])
    }

    fn obey(&self, order: RunOrder) -> Result<RunEvent, IllegalTransition> {
        match order {
            RunOrder::Give {
                by,
                makers,
                to,
                parameters,
                missing,
                sources,
            } => {
                self.may_be_given(&to)?;
                Ok(RunEvent::ParametersGiven {
                    by,
                    makers,
                    parameters,
                    missing,
                    sources,
                })
            }
            RunOrder::Confirm {
                by,
                makers,
                digest,
                typed,
            } => {
                self.may_be_confirmed(&digest, typed.as_deref())?;
                Ok(RunEvent::Confirmed { by, makers, digest })
            }
            RunOrder::Pause { by } => self.pause(by),
            RunOrder::Resume { by } => self.resume(by),
            RunOrder::Abort {
                by,
                reason,
                roll_back,
            } => self.abort(by, reason, roll_back),
        }
    }

    fn skip_for_dry_run(&self, step: StepId) -> Result<RunEvent, IllegalTransition> {
        let at = self.may_begin(&step)?;
        if !self.is_dry_run() {
            return Err(self.refused(at, "left out of a run that is no dry run"));
        }
        Ok(RunEvent::StepSkipped {
            step,
            reason: SkipReason::DryRun,
        })
    }

    /// Whether values may be given, to those that were known when they were chosen.
    fn may_be_given(&self, to: &Map<String, Value>) -> Result<(), IllegalTransition> {
        // What was confirmed, or never asked for, cannot change any more.
        if self.is_open() || self.stop.is_some() {
            return Err(IllegalTransition::Begun);
        }
        if self.parameters() != to {
            return Err(IllegalTransition::Crossed);
        }
        Ok(())
    }

    /// Whether a person may agree to the plan of this digest.
    fn may_be_confirmed(
        &self,
        digest: &Digest,
        typed: Option<&str>,
    ) -> Result<(), IllegalTransition> {
        let opening = self.opening();
        if !opening.confirm {
            return Err(IllegalTransition::Begun);
        }
        if !opening.missing.is_empty() {
            let names: Vec<&str> = opening.missing.iter().map(AsRef::as_ref).collect();
            let what = format!("values of {}", names.join(", "));
            return Err(IllegalTransition::NotOpen(what));
        }
        let expected = self.plan_digest();
        if *digest != expected {
            return Err(IllegalTransition::Changed {
                expected,
                given: digest.clone(),
            });
        }
        if let Some(name) = &opening.typed {
            let wanted = self.parameters().get(name.as_ref()).map(plain);
            if typed.is_none() || wanted.as_deref() != typed {
                return Err(IllegalTransition::Typed(name.clone()));
            }
        }
        Ok(())
    }

    fn begin(&self, beginning: StepStart) -> Result<RunEvent, IllegalTransition> {
        let StepStart {
            call,
            decision,
            now,
            approval,
            expires_at,
        } = beginning;
        let at = self.may_begin(&call.step)?;
        let step = call.step.clone();
        let approval_expires_at = self.approval_end(&call, &decision, now);
        Ok(match self.lifted(&call, decision, now) {
            decision @ GateDecision::Allow { .. } => RunEvent::StepBegun(EffectStart {
                attempt: self.slots[at].attempts + 1,
                idempotency_key: self.idempotency_key(&step),
                step,
                parameters: call.parameters,
                policy_decision: decision,
                approval_expires_at,
            }),
            decision @ GateDecision::NeedsApproval { .. } => {
                RunEvent::ApprovalRequested(Box::new(ApprovalRequest {
                    step,
                    approval,
                    digest: call.digest(),
                    call,
                    policy_decision: decision,
                    expires_at,
                }))
            }
            GateDecision::Deny { rules } => RunEvent::StepRefused {
                failure: refusal(&rules),
                step,
                parameters: call.parameters,
                policy_decision: GateDecision::Deny { rules },
            },
        })
    }

    /// Whether a step's effect was begun and nobody knows how it ended.
    #[must_use]
    pub fn is_interrupted(&self, step: &StepId) -> bool {
        matches!(self.state_of(step), Some(StepState::Running { .. }))
    }

    fn fail(
        &self,
        step: StepId,
        failure: StepFailure,
        at: Timestamp,
        tokens: TokenUsage,
    ) -> Result<RunEvent, IllegalTransition> {
        let place = self.known(&step)?;
        let slot = &self.slots[place];
        let attempted = matches!(slot.state, StepState::Running { .. });
        if !attempted {
            self.may_begin(&step)?;
        }
        let retry = self.graph.steps()[place].retry;
        let again = match failure.kind {
            ErrorKind::PermissionError | ErrorKind::InputError => false,
            ErrorKind::ExecutionError
            | ErrorKind::ResourceError
            | ErrorKind::TimeoutError
            | ErrorKind::SystemError => attempted && slot.failures < retry.retries,
        };
        let stopped = self.stop.as_ref().is_some_and(|stop| !stop.is_failure());
        if !again || (stopped && !self.reverses(place)) {
            return Ok(RunEvent::StepFailed {
                step,
                failure,
                tokens,
            });
        }
        let delay = i64::try_from(retry.delay_ms.saturating_mul(1_000)).unwrap_or(i64::MAX);
        let due = Timestamp::from_micros(at.as_micros().saturating_add(delay)).unwrap_or(at);
        Ok(RunEvent::RetryScheduled {
            step,
            failure,
            due,
            tokens,
        })
    }

    /// Whether a result may add these steps: they fit the graph, and nothing that has started, or that
    /// waits for nothing any more, is made to wait.
    pub(super) fn may_grow(&self, growth: &GraphAdditions) -> Result<(), IllegalTransition> {
        if growth.is_empty() {
            return Ok(());
        }
        for claim in &growth.claims {
            let at = self.known(&claim.step)?;
            let waits = self.slots[at].state == StepState::Pending && !self.ready.contains(&at);
            // In a run that stops nothing follows, whatever it would have waited for.
            let is_cancelled = self.slots[at].state == StepState::Cancelled;
            if !waits && !is_cancelled {
                return Err(IllegalTransition::TooLate(claim.step.clone()));
            }
        }
        self.graph
            .admits(growth)
            .map_err(IllegalTransition::GraphAdditions)
    }

    fn pause(&self, by: UserId) -> Result<RunEvent, IllegalTransition> {
        if self.paused {
            return Err(IllegalTransition::Already("paused"));
        }
        if self.stop.is_some() {
            return Err(IllegalTransition::Already("stopping"));
        }
        Ok(RunEvent::Paused { by })
    }

    fn resume(&self, by: UserId) -> Result<RunEvent, IllegalTransition> {
        if !self.paused {
            return Err(IllegalTransition::Already("running"));
        }
        Ok(RunEvent::Resumed { by })
    }

    fn time_up(&self) -> Result<RunEvent, IllegalTransition> {
        if self.stop.is_some() {
            return Err(IllegalTransition::Already("stopping"));
        }
        Ok(RunEvent::Stopping {
            cause: StopCause::TimedOut,
            roll_back: self.can_roll_back(),
        })
    }

    fn abort(
        &self,
        by: UserId,
        reason: String,
        roll_back: bool,
    ) -> Result<RunEvent, IllegalTransition> {
        if self.stop.is_some() {
            return Err(IllegalTransition::Already("stopping"));
        }
        Ok(RunEvent::Stopping {
            cause: StopCause::Aborted { by, reason },
            roll_back,
        })
    }

    fn known(&self, step: &StepId) -> Result<usize, IllegalTransition> {
        let place = self.graph.place(step);
        place.ok_or_else(|| IllegalTransition::UnknownStep(step.clone()))
    }

    fn refused(&self, at: usize, wanted: &'static str) -> IllegalTransition {
        IllegalTransition::Step {
            step: self.graph.steps()[at].id.clone(),
            state: self.slots[at].state.word(),
            wanted,
        }
    }

    fn is_running(&self, step: &StepId, wanted: &'static str) -> Result<usize, IllegalTransition> {
        let at = self.known(step)?;
        match self.slots[at].state {
            StepState::Running { .. } => Ok(at),
            _ => Err(self.refused(at, wanted)),
        }
    }
}

/// A value as a person would type it.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn refusal(rules: &[crate::gate::RuleResult]) -> StepFailure {
    let first = rules.first().map(|rule| rule.kind);
    let code = REFUSED.iter().find(|(kind, _)| Some(*kind) == first);
    let messages: Vec<String> = rules
        .iter()
        .map(|rule| format!("{}: {}", rule.id, rule.message))
        .collect();
    StepFailure {
        kind: if first == Some(RuleKind::RateLimit) {
            ErrorKind::ResourceError
        } else {
            ErrorKind::PermissionError
        },
        code: code
            .map_or("permission_denied", |(_, code)| code)
            .to_owned(),
        message: messages.join("; "),
        retryable: first == Some(RuleKind::RateLimit),
    }
}

#[cfg(test)]
mod tests;
