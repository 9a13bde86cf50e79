//! The events of a run that a command leads to, or the reason for refusing it.

use charter_contract::ids::{StepId, UserId};
use charter_contract::run_status::RunStatus;
use charter_contract::time::Timestamp;
use serde_json::{Map, Value};

use super::Run;
use super::command::{Command, IllegalTransition, Report, RunOrder, StepStart};
use super::event::{
    ApprovalRequest, EffectStart, ErrorKind, ResultSource, RunEvent, SkipReason, StepFailure,
    StopCause, TokenUsage,
};
use super::readiness::{may_be_decided, may_begin};
use super::standing::StepState;
use crate::approval::Digest;
use crate::gate::{GateDecision, RuleKind, RuleResult};
use crate::graph::Step;

/// The failure code of a step that the gate denied, by the kind of the rule.
const REFUSED: [(RuleKind, &str); 4] = [
    (RuleKind::Permission, "permission_denied"),
    (RuleKind::Policy, "policy_denied"),
    (RuleKind::Guardrail, "guardrail_blocked"),
    (RuleKind::RateLimit, "rate_limited"),
];

impl Run {
    /// Returns the events that the command leads to.
    ///
    /// # Errors
    /// [`IllegalTransition`]. The run is unchanged in both cases until the events are applied.
    pub fn decide(&self, command: Command) -> Result<Vec<RunEvent>, IllegalTransition> {
        if self.outcome().is_some() {
            return Err(IllegalTransition::Ended);
        }
        let event = match command {
            Command::Order(order) => obey(self, order)?,
            Command::Begin(beginning) => begin(self, *beginning)?,
            Command::Grant {
                step,
                approval,
                digest,
                by,
            } => {
                self.steps.awaiting(&step, &approval, Some(&digest))?;
                RunEvent::ApprovalGranted { step, approval, by }
            }
            Command::Exclude { step, approval, by } => {
                self.steps.awaiting(&step, &approval, None)?;
                RunEvent::StepSkipped {
                    step,
                    reason: SkipReason::Excluded { approval, by },
                }
            }
            Command::Report(report) => accept_report(self, *report)?,
            Command::Refuse {
                step,
                approval,
                by,
                failure,
            } => {
                self.steps.awaiting(&step, &approval, None)?;
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
                self.steps.running(&step, "completed")?;
                self.steps.may_grow(&brings.growth)?;
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
            } => fail(self, step, failure, at, tokens)?,
            Command::SkipForDryRun { step } => skip_for_dry_run(self, step)?,
            Command::AwaitRun { run, calls } => {
                self.check_await(&run, &calls)?;
                RunEvent::WaitingForRun { run, calls }
            }
            Command::EndRunWait { status } => end_run_wait(self, status)?,
            Command::TimeUp => time_up(self)?,
        };
        Ok(vec![event])
    }
}

fn obey(run: &Run, order: RunOrder) -> Result<RunEvent, IllegalTransition> {
    match order {
        RunOrder::Give {
            by,
            makers,
            to,
            parameters,
            missing,
            sources,
        } => {
            may_be_given(run, &to)?;
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
            approves,
        } => {
            may_be_confirmed(run, &digest, typed.as_deref())?;
            Ok(RunEvent::Confirmed {
                by,
                makers,
                digest,
                approves,
            })
        }
        RunOrder::Pause { by } => pause(run, by),
        RunOrder::Resume { by } => resume(run, by),
        RunOrder::Abort {
            by,
            reason,
            roll_back,
        } => abort(run, by, reason, roll_back),
    }
}

/// Checks whether values may be supplied; `to` are the values that were known when they were chosen.
fn may_be_given(run: &Run, to: &Map<String, Value>) -> Result<(), IllegalTransition> {
    // Values that were confirmed, or that are not missing, cannot change.
    if run.opening().is_met() || run.stop.is_some() {
        return Err(IllegalTransition::Begun);
    }
    if run.parameters() != to {
        return Err(IllegalTransition::Crossed);
    }
    Ok(())
}

/// Checks whether a person may confirm the plan with this digest.
fn may_be_confirmed(
    run: &Run,
    digest: &Digest,
    typed: Option<&str>,
) -> Result<(), IllegalTransition> {
    let opening = run.opening();
    if !opening.confirm {
        return Err(IllegalTransition::Begun);
    }
    if !opening.missing.is_empty() {
        let names: Vec<&str> = opening.missing.iter().map(AsRef::as_ref).collect();
        let what = format!("values of {}", names.join(", "));
        return Err(IllegalTransition::NotOpen(what));
    }
    let expected = run.plan_digest();
    if *digest != expected {
        return Err(IllegalTransition::Changed {
            expected,
            given: digest.clone(),
        });
    }
    if let Some(name) = &opening.typed {
        let wanted = run.parameters().get(name.as_ref()).map(plain);
        if typed.is_none() || wanted.as_deref() != typed {
            return Err(IllegalTransition::Typed(name.clone()));
        }
    }
    Ok(())
}

fn pause(run: &Run, by: UserId) -> Result<RunEvent, IllegalTransition> {
    if run.paused {
        return Err(IllegalTransition::Already("paused"));
    }
    if run.stop.is_some() {
        return Err(IllegalTransition::Already("stopping"));
    }
    Ok(RunEvent::Paused { by })
}

fn resume(run: &Run, by: UserId) -> Result<RunEvent, IllegalTransition> {
    if run.paused {
        return Ok(RunEvent::Resumed { by });
    }
    Err(match run.awaited_run() {
        Some(awaited) => IllegalTransition::AwaitsRun(awaited.run.clone()),
        None => IllegalTransition::Already("running"),
    })
}

fn end_run_wait(run: &Run, status: Option<RunStatus>) -> Result<RunEvent, IllegalTransition> {
    let awaited = run.awaited_run().ok_or(IllegalTransition::NoAwaitedRun)?;
    Ok(RunEvent::RunWaitEnded {
        run: awaited.run.clone(),
        run_status: status,
        restarts: run.starts_again(),
    })
}

fn abort(
    run: &Run,
    by: UserId,
    reason: String,
    roll_back: bool,
) -> Result<RunEvent, IllegalTransition> {
    if run.stop.is_some() {
        return Err(IllegalTransition::Already("stopping"));
    }
    Ok(RunEvent::Stopping {
        cause: StopCause::Aborted { by, reason },
        roll_back,
    })
}

fn time_up(run: &Run) -> Result<RunEvent, IllegalTransition> {
    if run.stop.is_some() {
        return Err(IllegalTransition::Already("stopping"));
    }
    let mut steps = run.graph().steps().iter();
    Ok(RunEvent::Stopping {
        cause: StopCause::TimedOut,
        roll_back: steps.any(|step| step.reverses.is_some()),
    })
}

fn begin(run: &Run, beginning: StepStart) -> Result<RunEvent, IllegalTransition> {
    let StepStart {
        call,
        decision,
        now,
        approval,
        expires_at,
    } = beginning;
    let at = may_be_decided(run, &call.step)?;
    let step = call.step.clone();
    let approval_expires_at = run.steps.approval_end(&call, &decision, now);
    Ok(match run.steps.lifted(&call, decision, now) {
        GateDecision::Allow { .. } if run.steps.slots[at].waits_for > 0 => {
            return Err(run.steps.refused(at, "begun"));
        }
        decision @ GateDecision::Allow { .. } => RunEvent::StepBegun(EffectStart {
            attempt: run.steps.slots[at].attempts + 1,
            idempotency_key: run.idempotency_key(&step),
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

/// Lets an interrupted call succeed by a person's report. A call that never began cannot be reported.
fn accept_report(run: &Run, report: Report) -> Result<RunEvent, IllegalTransition> {
    let Report {
        step,
        approval,
        digest,
        by,
        makers,
        reason,
        output,
    } = report;
    let at = run.steps.awaiting(&step, &approval, Some(&digest))?;
    if !run.steps.slots[at].unheard {
        return Err(run.steps.refused(at, "reported as done"));
    }
    Ok(RunEvent::StepSucceeded {
        step,
        output,
        source: ResultSource::Reported {
            by,
            makers,
            approval,
            reason,
        },
        duration_ms: 0,
        brings: Box::default(),
    })
}

fn fail(
    run: &Run,
    step: StepId,
    failure: StepFailure,
    at: Timestamp,
    tokens: TokenUsage,
) -> Result<RunEvent, IllegalTransition> {
    let place = run.steps.known(&step)?;
    let slot = &run.steps.slots[place];
    let attempted = matches!(slot.state, StepState::Running { .. });
    if !attempted {
        may_begin(run, &step)?;
    }
    let Step {
        retry, reverses, ..
    } = &run.graph().steps()[place];
    let again = match failure.kind {
        ErrorKind::PermissionError | ErrorKind::InputError => false,
        ErrorKind::ExecutionError
        | ErrorKind::ResourceError
        | ErrorKind::TimeoutError
        | ErrorKind::SystemError => attempted && slot.failures < retry.retries,
    };
    let stopped = run.stop.as_ref().is_some_and(|stop| !stop.is_failure());
    if !again || (stopped && reverses.is_none()) {
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

fn skip_for_dry_run(run: &Run, step: StepId) -> Result<RunEvent, IllegalTransition> {
    let at = may_begin(run, &step)?;
    if !run.is_dry_run() {
        return Err(run
            .steps
            .refused(at, "left out of a run that is not a dry run"));
    }
    Ok(RunEvent::StepSkipped {
        step,
        reason: SkipReason::DryRun,
    })
}

/// Returns a value in the form in which a person would type it.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn refusal(rules: &[RuleResult]) -> StepFailure {
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
        account: None,
    }
}
