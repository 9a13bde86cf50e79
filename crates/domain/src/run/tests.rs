//! The run machine, driven by commands; `properties` tests what holds for every run.

mod account;
mod approvals;
mod asked;
mod choices;
mod confirmation;
mod content;
mod growth;
mod listed;
mod made_up;
mod memory;
mod opening;
mod order;
mod properties;
mod repeated;
mod reported;
mod rollback;
mod same_call;
mod shown;
mod stopping;
mod waits;
mod written;

use std::collections::{BTreeMap, BTreeSet};

use charter_contract::catalogue::vocabulary::Role;
use charter_contract::ids::{ApprovalId, Label, RunId, StepId, ToolId, UserId};
use charter_contract::time::Timestamp;
use serde_json::{Map, Value, json};

use super::replay::check_event;
use super::*;
use crate::approval::{Digest, ExactCall};
use crate::gate::{GateDecision, RuleKind, RuleResult};
use crate::graph::{
    AfterFailure, Arguments, Edge, EdgeCondition, Entry, GraphParts, Retry, Step, StepAction,
    StepGraph,
};

fn id(text: &str) -> StepId {
    StepId::parse(text).unwrap()
}

fn user(text: &str) -> UserId {
    UserId::parse(text).unwrap()
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_micros((1_776_168_000 + seconds) * 1_000_000).unwrap()
}

fn approval(n: u128) -> ApprovalId {
    ApprovalId::from_uuid(uuid(n))
}

fn uuid(n: u128) -> uuid::Uuid {
    uuid::Uuid::from_u128(n)
}

/// A reading step that waits for the success of `sources`.
fn read(name: &str, sources: &[&str], after_failure: AfterFailure) -> Step {
    let edge = |from: &&str| Edge {
        from: id(from),
        on: EdgeCondition::Success,
    };
    Step {
        id: id(name),
        action: StepAction::Call {
            tool: ToolId::parse("t.x").unwrap(),
            arguments: Arguments::exact(Map::new()),
            script: None,
            writes: false,
        },
        entry: Entry {
            edges: sources.iter().map(edge).collect(),
            ..Entry::default()
        },
        after_failure,
        reviewed: false,
        retry: Retry::default(),
        timeout_ms: 0,
        cache_ttl_seconds: 0,
        spends: false,
        mandate: None,
        unless_changed: None,
        reverses: None,
        item: None,
    }
}

fn write(name: &str, sources: &[&str]) -> Step {
    let mut step = read(name, sources, AfterFailure::RollBack);
    let StepAction::Call { writes, .. } = &mut step.action else {
        unreachable!("a reading step calls");
    };
    *writes = true;
    step
}

fn reversal(name: &str, reverses: &str) -> Step {
    Step {
        reverses: Some(id(reverses)),
        ..write(name, &[])
    }
}

fn handler(name: &str, of: &str) -> Step {
    let mut step = read(name, &[], AfterFailure::Abort);
    step.entry.edges = vec![Edge {
        from: id(of),
        on: EdgeCondition::Failure,
    }];
    step
}

fn failure(kind: ErrorKind) -> StepFailure {
    StepFailure {
        kind,
        code: "tool_failed".into(),
        message: "it broke".into(),
        retryable: false,
        account: None,
    }
}

fn allow() -> GateDecision {
    GateDecision::Allow {
        permitted_by: vec![],
        warnings: vec![],
    }
}

/// The gate requires an approval for repeating an interrupted call.
fn ask_to_repeat() -> GateDecision {
    let rule = RuleResult::new(RuleKind::Interrupted, "t.x", "it may have happened");
    GateDecision::NeedsApproval {
        rules: vec![rule],
        permitted_by: vec![],
        warnings: vec![],
    }
}

fn ask() -> GateDecision {
    GateDecision::NeedsApproval {
        rules: vec![RuleResult::new(RuleKind::Safety, "p", "supervised")],
        permitted_by: vec![],
        warnings: vec![],
    }
}

fn deny(kind: RuleKind) -> GateDecision {
    GateDecision::Deny {
        rules: vec![RuleResult::new(kind, "r", "no")],
    }
}

/// More events than any command here causes.
const MOST_FOLLOWING: usize = 1_000;

/// A run with its journal.
struct Driven {
    run: Run,
    journal: Vec<(RunEvent, Timestamp)>,
    clock: i64,
}

impl Driven {
    fn new(steps: Vec<Step>) -> Self {
        Self::of(GraphParts {
            steps,
            ..GraphParts::default()
        })
    }

    fn of(parts: GraphParts) -> Self {
        Self::opening(parts, RunPrerequisites::default(), false)
    }

    fn opening(parts: GraphParts, opening: RunPrerequisites, dry_run: bool) -> Self {
        let event = RunEvent::Started(Box::new(RunStart {
            run_id: RunId::from_uuid(uuid(1)),
            by: user("asker"),
            owner: None,
            askers: BTreeSet::new(),
            role: Role::User,
            graph: StepGraph::new(parts).unwrap(),
            parameters: json!({"bucket": "b-1"}).as_object().unwrap().clone(),
            pins: Vec::new(),
            dry_run,
            opening,
            tags: None,
        }));
        Self {
            run: Run::start(event.clone(), at(0)).unwrap(),
            journal: vec![(event, at(0))],
            clock: 0,
        }
    }

    fn apply(&mut self, events: &[RunEvent]) {
        for event in events {
            check_event(&self.run, event, at(self.clock)).unwrap();
            self.run.apply(event.clone(), at(self.clock)).unwrap();
            self.journal.push((event.clone(), at(self.clock)));
        }
    }

    /// Decides, and applies all events that follow without a command.
    fn command(&mut self, command: impl Into<Command>) -> Result<Vec<RunEvent>, IllegalTransition> {
        let mut all = self.run.decide(command.into())?;
        self.apply(&all.clone());
        for _ in 0..MOST_FOLLOWING {
            let more = self.run.advance();
            if more.is_empty() {
                return Ok(all);
            }
            self.apply(&more);
            all.extend(more);
        }
        panic!("events follow without end: {:?}", all.last());
    }

    fn call(&self, step: &str) -> ExactCall {
        ExactCall {
            run_id: self.run.id().clone(),
            step: id(step),
            tool: ToolId::parse("t.x").unwrap(),
            tool_hash: "sha256:0".into(),
            parameters: Map::new(),
        }
    }

    fn begin_with(
        &mut self,
        step: &str,
        decision: GateDecision,
    ) -> Result<Vec<RunEvent>, IllegalTransition> {
        let beginning = StepStart {
            call: self.call(step),
            decision,
            now: at(self.clock),
            approval: approval(self.journal.len() as u128),
            expires_at: at(self.clock + 3_600),
        };
        self.command(Command::Begin(Box::new(beginning)))
    }

    fn begin(&mut self, step: &str) -> Result<Vec<RunEvent>, IllegalTransition> {
        self.begin_with(step, allow())
    }

    fn succeed(&mut self, step: &str) -> Result<Vec<RunEvent>, IllegalTransition> {
        self.command(Command::Succeed {
            step: id(step),
            output: json!({"of": step}),
            source: ResultSource::Fresh,
            duration_ms: 1,
            brings: Box::default(),
        })
    }

    fn fail_as(&mut self, step: &str, kind: ErrorKind) -> Result<Vec<RunEvent>, IllegalTransition> {
        self.command(Command::Fail {
            step: id(step),
            failure: failure(kind),
            at: at(self.clock),
            tokens: TokenUsage::default(),
        })
    }

    fn fail(&mut self, step: &str) -> Result<Vec<RunEvent>, IllegalTransition> {
        self.fail_as(step, ErrorKind::ExecutionError)
    }

    fn done(&mut self, step: &str) {
        self.begin(step).unwrap();
        self.succeed(step).unwrap();
    }

    fn grant(&mut self, step: &str) -> Result<Vec<RunEvent>, IllegalTransition> {
        let Some(StepState::AwaitingApproval {
            approval, digest, ..
        }) = self.run.steps().state_of(&id(step)).cloned()
        else {
            panic!("`{step}` waits for nobody");
        };
        self.command(Command::Grant {
            step: id(step),
            approval,
            digest,
            by: user("approver"),
        })
    }

    fn report(&mut self, step: &str) -> Result<Vec<RunEvent>, IllegalTransition> {
        let Some(StepState::AwaitingApproval {
            approval, digest, ..
        }) = self.run.steps().state_of(&id(step)).cloned()
        else {
            panic!("`{step}` waits for nobody");
        };
        self.command(Command::Report(Box::new(Report {
            step: id(step),
            approval,
            digest,
            by: user("approver"),
            makers: BTreeSet::new(),
            reason: Some("I saw it".into()),
            output: json!({"of": step}),
        })))
    }

    fn next(&self) -> Next {
        self.run
            .next(&BTreeSet::new(), |moment| moment <= at(self.clock))
    }

    fn state(&self, step: &str) -> &'static str {
        self.run.steps().state_of(&id(step)).unwrap().word()
    }

    fn outcome(&self) -> &'static str {
        self.run
            .outcome()
            .map_or("none", |outcome| outcome.status().as_str())
    }
}

fn start(steps: &[&str]) -> Next {
    Next::Start(steps.iter().map(|step| id(step)).collect())
}

fn wait() -> Next {
    Next::Wait { until: None }
}
