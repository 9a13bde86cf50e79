//! A run of a compiled graph, driven to its end and replayed.

use std::collections::BTreeSet;

use charter_contract::catalogue::vocabulary::Role;
use charter_contract::ids::{ApprovalId, RunId, UserId};
use charter_contract::time::Timestamp;

use super::*;
use crate::approval::ExactCall;
use crate::gate::GateDecision;
use crate::run::{
    Command, Next, ResultSource, Run, RunEvent, RunPrerequisites, RunStart, StepFailure, StepStart,
    StrictReplay, TokenUsage,
};

/// A run that has ended.
pub(super) struct Ended {
    pub(super) run: Run,
    /// The steps that started together, by turn.
    pub(super) turns: Vec<Vec<String>>,
}

impl Ended {
    pub(super) fn states(&self) -> BTreeMap<String, &'static str> {
        let states = self.run.steps().states();
        states
            .map(|(id, state)| (id.to_string(), state.word()))
            .collect()
    }

    pub(super) fn outcome(&self) -> &'static str {
        self.run.outcome().unwrap().status().as_str()
    }
}

/// Drives a graph to its end; `answer` returns the output of each call, or its failure.
pub(super) fn drive(
    graph: StepGraph,
    parameters: Value,
    mut answer: impl FnMut(&str) -> Result<Value, ErrorKind>,
) -> Ended {
    let mut driver = Driver::new(graph, &parameters);
    let mut turns = Vec::new();
    while let Some(steps) = driver.next() {
        turns.push(steps.iter().map(ToString::to_string).collect());
        for step in &steps {
            driver.begin(step);
        }
        for step in steps {
            let answered = answer(step.as_ref());
            driver.end(step, answered);
        }
    }
    driver.replays();
    Ended {
        run: driver.run,
        turns,
    }
}

/// More turns than any run here needs.
const MOST_TURNS: u32 = 10_000;

struct Driver {
    run: Run,
    journal: Vec<(RunEvent, Timestamp)>,
    clock: i64,
    turns: u32,
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_micros((1_776_168_000 + seconds) * 1_000_000).unwrap()
}

impl Driver {
    fn new(graph: StepGraph, parameters: &Value) -> Self {
        let started = RunEvent::Started(Box::new(RunStart {
            run_id: RunId::from_uuid(uuid::Uuid::from_u128(1)),
            by: UserId::parse("asker").unwrap(),
            owner: None,
            askers: BTreeSet::new(),
            role: Role::User,
            graph,
            parameters: parameters.as_object().unwrap().clone(),
            pins: Vec::new(),
            dry_run: false,
            opening: RunPrerequisites::default(),
            tags: None,
        }));
        Self {
            run: Run::start(started.clone(), at(0)).unwrap(),
            journal: vec![(started, at(0))],
            clock: 0,
            turns: 0,
        }
    }

    /// Returns the steps that start now; none when the run has ended.
    fn next(&mut self) -> Option<Vec<StepId>> {
        loop {
            self.turns += 1;
            assert!(self.turns < MOST_TURNS, "the run does not end");
            let events = self.run.advance();
            if !events.is_empty() {
                self.take(events);
                continue;
            }
            match self
                .run
                .next(&BTreeSet::new(), |moment| moment <= at(self.clock))
            {
                Next::Ended => return None,
                Next::Start(steps) => return Some(steps),
                Next::Wait { until } => {
                    let until = until.expect("a run that nobody waits for ends");
                    self.clock += (until.as_micros() - at(self.clock).as_micros()) / 1_000_000 + 1;
                }
            }
        }
    }

    fn command(&mut self, command: Command) {
        let events = self.run.decide(command).unwrap();
        self.take(events);
    }

    fn take(&mut self, events: Vec<RunEvent>) {
        for event in events {
            self.run.apply(event.clone(), at(self.clock)).unwrap();
            self.journal.push((event, at(self.clock)));
        }
    }

    fn begin(&mut self, step: &StepId) {
        let step = self.run.graph().step(step).unwrap();
        let beginning = StepStart {
            call: ExactCall {
                run_id: self.run.id().clone(),
                step: step.id.clone(),
                tool: step.tool().unwrap().clone(),
                tool_hash: "sha256:0".into(),
                parameters: Map::new(),
            },
            decision: GateDecision::Allow {
                permitted_by: vec![],
                warnings: vec![],
            },
            now: at(self.clock),
            approval: ApprovalId::from_uuid(uuid::Uuid::from_u128(2)),
            expires_at: at(3_600),
        };
        self.command(Command::Begin(Box::new(beginning)));
    }

    fn end(&mut self, step: StepId, answered: Result<Value, ErrorKind>) {
        let at = at(self.clock);
        self.command(match answered {
            Ok(output) => Command::Succeed {
                step,
                output,
                source: ResultSource::Fresh,
                duration_ms: 1,
                brings: Box::default(),
            },
            Err(kind) => Command::Fail {
                step,
                failure: StepFailure {
                    kind,
                    code: "tool_failed".into(),
                    message: "it broke".into(),
                    retryable: false,
                    account: None,
                },
                at,
                tokens: TokenUsage::default(),
            },
        });
    }

    /// Checks that the journal, after serialization, is one that the machine could have written.
    fn replays(&self) {
        let written = self.journal.iter().map(|(event, at)| {
            let text = serde_json::to_string(event).unwrap();
            (serde_json::from_str(&text).unwrap(), *at)
        });
        let (again, divergence) = StrictReplay::replay(written).unwrap();
        assert_eq!(
            (divergence, again.state_digest()),
            (None, self.run.state_digest())
        );
    }
}
