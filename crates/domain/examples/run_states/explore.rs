//! Explores every state that a run reaches when every command is tried in each state, and records the transitions.
//! Knows which commands exist, but not what they lead to.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;

use charter_contract::ids::{ApprovalId, Label, RunId, StepId, ToolId, UserId};
use charter_contract::time::Timestamp;
use charter_domain::approval::{Digest, ExactCall};
use charter_domain::gate::{GateDecision, RuleKind, RuleResult};
use charter_domain::graph::Step;
use charter_domain::run::{
    Command, ErrorKind, ResultSource, Run, RunEvent, RunOrder, StepFailure, StepStart, StepState,
    TokenUsage,
};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::cases::{PARAMETER, TOOL};

/// The maximum number of states of one run. A larger number means that a value grows without bound.
const MOST_STATES: usize = 200_000;

/// The time of every event, in microseconds. Time is not part of a run's state here.
const NOW: i64 = 0;

/// The state before the first and after the last one.
pub(crate) const EDGE: &str = "[*]";

/// Events by the states that they lead from and to.
pub(crate) type Transitions = BTreeMap<(&'static str, &'static str), BTreeSet<String>>;

/// The observed transitions and events.
#[derive(Debug, Default)]
pub(crate) struct Observed {
    /// Transitions between statuses of a run.
    pub(crate) runs: Transitions,
    /// Transitions between states of a step.
    pub(crate) steps: Transitions,
    /// Every event that happened.
    pub(crate) events: BTreeSet<String>,
}

type Explored<T> = Result<T, Box<dyn Error>>;

/// Explores the run that an event starts.
pub(crate) fn explore(started: RunEvent, observed: &mut Observed) -> Explored<()> {
    observed.events.insert(word(&started));
    let mut run = Run::start(started, now()?)?;
    observe(&mut observed.runs, EDGE, run.status().as_str(), "started");
    observed.laid_out(&run, "started");
    settle(&mut run, observed)?;
    let mut known = BTreeSet::from([point(&run)]);
    let mut open = vec![run];
    while let Some(run) = open.pop() {
        for command in commands(&run)? {
            let Ok(events) = run.decide(command) else {
                continue;
            };
            let mut after = run.clone();
            for event in events {
                observed.follow(&mut after, event)?;
            }
            settle(&mut after, observed)?;
            if known.insert(point(&after)) {
                open.push(after);
            }
        }
        if known.len() > MOST_STATES {
            return Err(format!("a run has more than {MOST_STATES} states").into());
        }
    }
    Ok(())
}

/// Applies the transitions that need no command.
fn settle(run: &mut Run, observed: &mut Observed) -> Explored<()> {
    loop {
        let events = run.advance();
        if events.is_empty() {
            return Ok(());
        }
        for event in events {
            observed.follow(run, event)?;
        }
    }
}

/// Returns the run's state as a key. Leaves out how often a step began after an interruption, and the calls before a
/// fallback or a wait for another run: these numbers have no bound and do not lead to other states.
fn point(run: &Run) -> String {
    let mut whole = json!(run);
    // Each start after a wait adds the calls so far.
    whole["earlier_calls"] = Value::Null;
    for slot in whole["slots"].as_array_mut().into_iter().flatten() {
        slot["attempts"] = Value::Null;
        if slot["state"]["attempt"].is_number() {
            slot["state"]["attempt"] = Value::Null;
        }
    }
    whole.to_string()
}

impl Observed {
    /// Applies an event and records the transitions that it causes.
    fn follow(&mut self, run: &mut Run, event: RunEvent) -> Explored<()> {
        let name = word(&event);
        let about = json!(event)["step"].as_str().map(str::to_owned);
        let replaces = matches!(
            event,
            RunEvent::FallbackStarted { .. } | RunEvent::RunWaitEnded { restarts: true, .. }
        );
        let status = run.status().as_str();
        let states: BTreeMap<StepId, &'static str> = run
            .steps()
            .states()
            .map(|(step, state)| (step.clone(), state.word()))
            .collect();
        run.apply(event, now()?)?;
        self.events.insert(name.clone());
        if status != run.status().as_str() {
            observe(&mut self.runs, status, run.status().as_str(), &name);
        }
        if run.outcome().is_some() {
            self.runs.entry((run.status().as_str(), EDGE)).or_default();
        }
        if replaces {
            self.laid_out(run, &name);
            return Ok(());
        }
        for (step, state) in run.steps().states() {
            let own = about.as_deref() == Some(step.as_ref());
            let was = states.get(step).copied().unwrap_or(EDGE);
            if was != state.word() || own {
                let by = match &about {
                    Some(_) if !own => format!("{name} elsewhere"),
                    Some(_) | None => name.clone(),
                };
                observe(&mut self.steps, was, state.word(), &by);
            }
            if state.is_settled() {
                self.steps.entry((state.word(), EDGE)).or_default();
            }
        }
        Ok(())
    }

    /// Records the initial states of the steps.
    fn laid_out(&mut self, run: &Run, by: &str) {
        for (_, state) in run.steps().states() {
            observe(&mut self.steps, EDGE, state.word(), by);
        }
    }
}

fn observe(transitions: &mut Transitions, from: &'static str, to: &'static str, by: &str) {
    let events = transitions.entry((from, to)).or_default();
    events.insert(by.to_owned());
}

/// Returns an event's name, as the journal writes it.
fn word(event: &RunEvent) -> String {
    json!(event)["event"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

/// Returns every command that can be sent, including those that the run refuses. A timeout is sent only while a time
/// limit is counted, and only dry runs skip writes.
fn commands(run: &Run) -> Explored<Vec<Command>> {
    let by = UserId::parse("somebody")?;
    let give = |missing| RunOrder::Give {
        by: Some(by.clone()),
        makers: BTreeSet::new(),
        to: run.parameters().clone(),
        parameters: Map::new(),
        missing,
        sources: BTreeMap::new(),
    };
    let abort = |roll_back| RunOrder::Abort {
        by: by.clone(),
        reason: String::new(),
        roll_back,
    };
    let orders = [
        give(vec![Label::parse(PARAMETER)?]),
        give(Vec::new()),
        RunOrder::Confirm {
            by: by.clone(),
            makers: BTreeSet::new(),
            digest: run.plan_digest(),
            typed: None,
            approves: false,
        },
        RunOrder::Pause { by: by.clone() },
        RunOrder::Resume { by: by.clone() },
        abort(false),
        abort(true),
    ];
    let mut all = Vec::from(orders.map(Command::from));
    if run.deadline().is_some() {
        all.push(Command::TimeUp);
    }
    if run.graph().steps().iter().any(Step::writes) {
        all.push(Command::AwaitRun {
            run: RunId::from_uuid(Uuid::from_u128(2)),
            calls: BTreeSet::from([Digest::claimed("a call")]),
        });
        all.push(Command::EndRunWait { status: None });
    }
    for (step, state) in run.steps().states() {
        all.extend(beginnings(run, step, state)?);
        all.extend(decisions(step, state, &by));
        all.extend(ends(step)?);
        let writes = run.graph().step(step).is_some_and(|step| step.writes());
        // A dry run skips a write before it begins. A write that has begun has a tool that supports previews.
        if run.is_dry_run() && writes && *state == StepState::Pending {
            all.push(Command::SkipForDryRun { step: step.clone() });
        }
    }
    Ok(all)
}

/// The beginnings of a step, one for each decision of the gate.
fn beginnings(run: &Run, step: &StepId, state: &StepState) -> Explored<Vec<Command>> {
    let rule = |kind| vec![RuleResult::new(kind, "a rule", "")];
    // A step that began and did not end was interrupted, so approval is requested for a repeat.
    let asks = match state {
        StepState::Running { .. } => RuleKind::Interrupted,
        _ => RuleKind::Safety,
    };
    let answers = [
        GateDecision::Allow {
            permitted_by: Vec::new(),
            warnings: Vec::new(),
        },
        GateDecision::NeedsApproval {
            rules: rule(asks),
            permitted_by: Vec::new(),
            warnings: Vec::new(),
        },
        GateDecision::Deny {
            rules: rule(RuleKind::Guardrail),
        },
    ];
    let begin = |decision| {
        Ok(Command::Begin(Box::new(StepStart {
            call: ExactCall {
                run_id: run.id().clone(),
                step: step.clone(),
                tool: ToolId::parse(TOOL)?,
                tool_hash: String::new(),
                parameters: Map::new(),
            },
            decision,
            now: now()?,
            approval: ApprovalId::from_uuid(Uuid::from_u128(1)),
            expires_at: Timestamp::from_micros(NOW + 1)?,
        })))
    };
    answers.into_iter().map(begin).collect()
}

/// The decisions on a step that waits for approval.
fn decisions(step: &StepId, state: &StepState, by: &UserId) -> Vec<Command> {
    let StepState::AwaitingApproval {
        approval, digest, ..
    } = state
    else {
        return Vec::new();
    };
    vec![
        Command::Grant {
            step: step.clone(),
            approval: approval.clone(),
            digest: digest.clone(),
            by: by.clone(),
        },
        Command::Refuse {
            step: step.clone(),
            approval: approval.clone(),
            by: Some(by.clone()),
            failure: StepFailure {
                code: "approval_rejected".to_owned(),
                ..failure(ErrorKind::PermissionError)
            },
        },
        Command::Exclude {
            step: step.clone(),
            approval: approval.clone(),
            by: by.clone(),
        },
    ]
}

/// The results of an effect: a success, a failure that can be retried, a failure that cannot, and an unknown outcome.
fn ends(step: &StepId) -> Explored<Vec<Command>> {
    let mut ends = vec![Command::Succeed {
        step: step.clone(),
        output: json!({}),
        source: ResultSource::Fresh,
        duration_ms: 0,
        brings: Box::default(),
    }];
    for kind in [
        ErrorKind::ExecutionError,
        ErrorKind::InputError,
        ErrorKind::TimeoutError,
    ] {
        ends.push(Command::Fail {
            step: step.clone(),
            failure: failure(kind),
            at: now()?,
            tokens: TokenUsage::default(),
        });
    }
    Ok(ends)
}

fn failure(kind: ErrorKind) -> StepFailure {
    StepFailure {
        kind,
        code: String::new(),
        message: String::new(),
        retryable: false,
        account: None,
    }
}

fn now() -> Explored<Timestamp> {
    Ok(Timestamp::from_micros(NOW)?)
}
