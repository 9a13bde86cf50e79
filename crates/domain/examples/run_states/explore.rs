//! Every state that a run comes to when every command is tried in each, and the transitions seen on
//! the way. Knows the commands that there are, not what they lead to.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;

use charter_contract::ids::{ApprovalId, Label, StepId, ToolId, UserId};
use charter_contract::time::Timestamp;
use charter_domain::approval::ExactCall;
use charter_domain::gate::{GateDecision, RuleKind, RuleResult};
use charter_domain::run::{
    Command, ErrorKind, ResultSource, Run, RunEvent, RunOrder, StepFailure, StepStart, StepState,
    TokenUsage,
};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::cases::{PARAMETER, TOOL};

/// Most states of one run. More means that something grows without end.
const MOST_STATES: usize = 200_000;

/// When everything happens, in microseconds: time is no part of where a run stands.
const NOW: i64 = 0;

/// Before the first state and after the last one.
pub(crate) const EDGE: &str = "[*]";

/// From where to where, and by which events.
pub(crate) type Transitions = BTreeMap<(&'static str, &'static str), BTreeSet<String>>;

/// What was seen.
#[derive(Debug, Default)]
pub(crate) struct Observed {
    /// Between statuses of a run.
    pub(crate) runs: Transitions,
    /// Between states of a step.
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

/// What follows by itself.
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

/// Where a run stands. How often a step was begun after an interruption is left out: it has no end
/// and leads nowhere else.
fn point(run: &Run) -> String {
    let mut whole = json!(run);
    for slot in whole["slots"].as_array_mut().into_iter().flatten() {
        slot["attempts"] = Value::Null;
        if slot["state"]["attempt"].is_number() {
            slot["state"]["attempt"] = Value::Null;
        }
    }
    whole.to_string()
}

impl Observed {
    /// Applies an event and notes what it changed.
    fn follow(&mut self, run: &mut Run, event: RunEvent) -> Explored<()> {
        let name = word(&event);
        let about = json!(event)["step"].as_str().map(str::to_owned);
        let replaces = matches!(event, RunEvent::FallbackStarted { .. });
        let status = run.status().as_str();
        let states: BTreeMap<StepId, &'static str> = run
            .steps()
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
        for (step, state) in run.steps() {
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

    /// Notes where steps begin.
    fn laid_out(&mut self, run: &Run, by: &str) {
        for (_, state) in run.steps() {
            observe(&mut self.steps, EDGE, state.word(), by);
        }
    }
}

fn observe(transitions: &mut Transitions, from: &'static str, to: &'static str, by: &str) {
    let events = transitions.entry((from, to)).or_default();
    events.insert(by.to_owned());
}

/// An event's name, as the journal has it.
fn word(event: &RunEvent) -> String {
    json!(event)["event"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

/// Every command that somebody may give, whether the run allows it or not. A time limit passes where
/// one counts, and only a dry run leaves writes out.
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
    for (step, state) in run.steps() {
        all.extend(beginnings(run, step, state)?);
        all.extend(decisions(step, state, &by));
        all.extend(ends(step)?);
        let writes = run.graph().step(step).is_some_and(|step| step.writes());
        // A write that was begun is one whose tool can say what it would do.
        if run.is_dry_run() && writes && *state == StepState::Pending {
            all.push(Command::SkipForDryRun { step: step.clone() });
        }
    }
    Ok(all)
}

/// A beginning under each answer of the gate.
fn beginnings(run: &Run, step: &StepId, state: &StepState) -> Explored<Vec<Command>> {
    let rule = |kind| vec![RuleResult::new(kind, "a rule", "")];
    // What was begun and did not end was interrupted, and is asked about as that.
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

/// What a person may say to a step that waits for one.
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
            failure: failure(ErrorKind::PermissionError),
        },
    ]
}

/// The ways in which an effect ends: with a result, or with a failure that a retry may mend, that
/// none mends, or that leaves open what happened.
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
    }
}

fn now() -> Explored<Timestamp> {
    Ok(Timestamp::from_micros(NOW)?)
}
