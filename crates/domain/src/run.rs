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
//! person first (B000-18, B003-5 to B003-9).

mod advance;
mod event;
mod replay;
mod standing;
mod state;

use charter_contract::ids::{ApprovalId, Label, StepId, UserId};
use charter_contract::time::Timestamp;
use serde_json::{Map, Value};

use crate::approval::{Digest, ExactCall};
use crate::gate::{Decision, RuleKind};

pub use advance::Next;
pub use event::{
    ApprovalAsked, Begun, ErrorKind, Opening, Pin, ResultSource, RunEvent, SkipReason, Started,
    StepFailure, StopCause,
};
pub use replay::Divergence;
pub use standing::{Outcome, StepState};
pub use state::{FoldError, Run};

/// The code of a step that the gate refused, by the kind of the rule.
const REFUSED: [(RuleKind, &str); 4] = [
    (RuleKind::Permission, "permission_denied"),
    (RuleKind::Policy, "policy_denied"),
    (RuleKind::Guardrail, "guardrail_blocked"),
    (RuleKind::RateLimit, "rate_limited"),
];

/// What somebody wants to happen to a run.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// Values for declared parameters, bound: all that are known, and what is still missing.
    Give {
        /// All values.
        parameters: Map<String, Value>,
        /// Mandatory parameters without one.
        missing: Vec<Label>,
    },
    /// A person agrees to the plan.
    Confirm {
        /// Who.
        by: UserId,
        /// The digest of the plan that they saw.
        digest: Digest,
        /// What they typed, where something has to be typed.
        typed: Option<String>,
    },
    /// A step's effect is about to start, or a person is asked first.
    Begin(Box<Beginning>),
    /// A person agreed to a step's call.
    Grant {
        /// The step.
        step: StepId,
        /// The approval's record.
        approval: ApprovalId,
        /// What it was bound to.
        digest: Digest,
        /// Who.
        by: UserId,
    },
    /// A person refused a step's call, or nobody decided in time.
    Refuse {
        /// The step.
        step: StepId,
        /// The approval's record.
        approval: ApprovalId,
        /// Who; absent when nobody did.
        by: Option<UserId>,
        /// What the step fails with.
        failure: StepFailure,
    },
    /// The effect succeeded.
    Succeed {
        /// The step.
        step: StepId,
        /// What it produced.
        output: Value,
        /// Where the result came from.
        source: ResultSource,
        /// How long the effect took, in milliseconds.
        duration_ms: u64,
    },
    /// The effect failed, or could not be prepared.
    Fail {
        /// The step.
        step: StepId,
        /// Why.
        failure: StepFailure,
        /// When: retries count from here.
        at: Timestamp,
    },
    /// A step writes, and the run changes nothing.
    SkipForDryRun {
        /// The step.
        step: StepId,
    },
    /// Nothing new starts until it is resumed.
    Pause {
        /// Who.
        by: UserId,
    },
    /// It goes on.
    Resume {
        /// Who.
        by: UserId,
    },
    /// It ends early.
    Abort {
        /// Who.
        by: UserId,
        /// Why.
        reason: String,
        /// Whether completed writes are reversed.
        roll_back: bool,
    },
    /// Its time limit is over; completed writes are reversed where something reverses them.
    TimeUp,
}

/// A step that is about to begin.
#[derive(Debug, Clone, PartialEq)]
pub struct Beginning {
    /// The exact call.
    pub call: ExactCall,
    /// What the gate says.
    pub decision: Decision,
    /// The record to make if a person has to be asked.
    pub approval: ApprovalId,
    /// When that record lapses.
    pub expires_at: Timestamp,
}

/// A command that the run's state does not allow. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IllegalTransition {
    /// The run is over.
    #[error("the run has ended")]
    Ended,
    /// The run has begun.
    #[error("the run has begun; its parameters and plan stand")]
    Begun,
    /// The run needs something before its first step.
    #[error("the run waits for {0}")]
    NotOpen(String),
    /// What was agreed to is not what would run.
    #[error("the plan is {expected}, not {given}: look at it again")]
    Changed {
        /// The plan's digest.
        expected: Digest,
        /// The digest that was given.
        given: Digest,
    },
    /// The value to be typed was not.
    #[error("type the value of `{0}` to confirm")]
    Typed(Label),
    /// It is paused already, or not.
    #[error("the run is {0} already")]
    Already(&'static str),
    /// There is no such step.
    #[error("the run has no step `{0}`")]
    UnknownStep(StepId),
    /// The step is not in a state for this.
    #[error("the step `{step}` is {state}, so it cannot be {wanted}")]
    Step {
        /// The step.
        step: StepId,
        /// Its state.
        state: &'static str,
        /// What was asked.
        wanted: &'static str,
    },
}

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
            Command::Give {
                parameters,
                missing,
            } => self.give(parameters, missing)?,
            Command::Confirm { by, digest, typed } => self.confirm(by, digest, typed.as_deref())?,
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
            } => {
                self.is_running(&step, "completed")?;
                RunEvent::StepSucceeded {
                    step,
                    output,
                    source,
                    duration_ms,
                }
            }
            Command::Fail { step, failure, at } => self.fail(step, failure, at)?,
            Command::SkipForDryRun { step } => {
                self.may_begin(&step)?;
                RunEvent::StepSkipped {
                    step,
                    reason: SkipReason::DryRun,
                }
            }
            Command::Pause { by } => self.pause(by)?,
            Command::Resume { by } => self.resume(by)?,
            Command::Abort {
                by,
                reason,
                roll_back,
            } => self.abort(by, reason, roll_back)?,
            Command::TimeUp => self.time_up()?,
        };
        Ok(vec![event])
    }

    fn give(
        &self,
        parameters: Map<String, Value>,
        missing: Vec<Label>,
    ) -> Result<RunEvent, IllegalTransition> {
        // What was confirmed, or never asked for, cannot change any more.
        if self.is_open() || self.stop.is_some() {
            return Err(IllegalTransition::Begun);
        }
        Ok(RunEvent::ParametersGiven {
            parameters,
            missing,
        })
    }

    fn confirm(
        &self,
        by: UserId,
        digest: Digest,
        typed: Option<&str>,
    ) -> Result<RunEvent, IllegalTransition> {
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
        if digest != expected {
            return Err(IllegalTransition::Changed {
                expected,
                given: digest,
            });
        }
        if let Some(name) = &opening.typed {
            let wanted = self.parameters().get(name.as_ref()).map(plain);
            if typed.is_none() || wanted.as_deref() != typed {
                return Err(IllegalTransition::Typed(name.clone()));
            }
        }
        Ok(RunEvent::Confirmed { by, digest })
    }

    fn begin(&self, beginning: Beginning) -> Result<RunEvent, IllegalTransition> {
        let Beginning {
            call,
            decision,
            approval,
            expires_at,
        } = beginning;
        let at = self.may_begin(&call.step)?;
        let step = call.step.clone();
        let digest = call.digest();
        let covered = self.covering(at, &digest, &decision);
        let decision = match (covered, &self.graph.steps()[at].reverses) {
            (Some(approval), _) => decision.approved(&approval),
            // What permitted a write permits its reversal: a rollback waits for nobody.
            (None, Some(reversed)) => decision.approved(&format!("reversal of {reversed}")),
            (None, None) => decision,
        };
        Ok(match decision {
            Decision::Allow { .. } => RunEvent::StepBegun(Begun {
                attempt: self.slots[at].attempts + 1,
                idempotency_key: self.idempotency_key(&step),
                step,
                parameters: call.parameters,
                policy_decision: decision,
            }),
            Decision::NeedsApproval { .. } => {
                RunEvent::ApprovalRequested(Box::new(ApprovalAsked {
                    step,
                    approval,
                    digest,
                    call,
                    policy_decision: decision,
                    expires_at,
                }))
            }
            Decision::Deny { ref rules } => RunEvent::StepRefused {
                failure: refusal(rules),
                step,
                parameters: call.parameters,
                policy_decision: decision,
            },
        })
    }

    /// The approval that covers a call: one given for exactly it. Where repeating an interrupted
    /// call is what is asked about, one that an attempt began under does not count.
    fn covering(&self, at: usize, digest: &Digest, decision: &Decision) -> Option<ApprovalId> {
        let grant = self.slots[at].grant.as_ref()?;
        let repeats = decision
            .rules()
            .iter()
            .any(|rule| rule.kind == RuleKind::Interrupted);
        let covers = grant.digest == *digest && !(grant.used && repeats);
        covers.then(|| grant.approval.clone())
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
        let stopped = self
            .stop
            .as_ref()
            .is_some_and(|stop| !matches!(stop.cause, StopCause::Failure { .. }));
        if !again || (stopped && !self.reverses(place)) {
            return Ok(RunEvent::StepFailed { step, failure });
        }
        let delay = i64::try_from(retry.delay_ms.saturating_mul(1_000)).unwrap_or(i64::MAX);
        let due = Timestamp::from_micros(at.as_micros().saturating_add(delay)).unwrap_or(at);
        Ok(RunEvent::RetryScheduled { step, failure, due })
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

    fn awaits(
        &self,
        step: &StepId,
        wanted: &ApprovalId,
        seen: Option<&Digest>,
    ) -> Result<(), IllegalTransition> {
        let at = self.known(step)?;
        match &self.slots[at].state {
            StepState::AwaitingApproval {
                approval, digest, ..
            } if approval == wanted && seen.is_none_or(|seen| seen == digest) => Ok(()),
            _ => Err(self.refused(at, "decided on")),
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

fn refusal(rules: &[crate::gate::Rule]) -> StepFailure {
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
