//! Steps whose tool answers with an unusable output, wherever the tool ran; and runs of older versions, which accepted
//! such outputs.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use charter_contract::ids::RunId;
use charter_contract::package::PackageBundle;
use charter_contract::run_status::RunStatus;
use charter_domain::approval::{Approval, ApprovalStatus, ReportedResult};
use charter_domain::evidence_log::{Coverage, Verifier};
use charter_domain::gate::{GateDecision, RuleKind};
use charter_domain::run::{EffectStart, ResultSource, RunEvent};
use charter_effects::{ToolCall, ToolOutcome, ToolRunner};
use charter_store::evidence::EvidenceFilter;
use charter_store::journal::{Append, NewEvent, NextPhase, RunWait};
use charter_store::page::PageRequest;
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::engine::tests::engine_with;
use crate::identity::caller::tests::person;
use crate::{
    ApprovalAnswer, ApprovalDecision, DryRun, Engine, EngineError, EvidenceQuery, RollBack,
    RunView, Settings, SubmittedPlan,
};

const TIMEOUT: Duration = Duration::from_secs(60);

const PLAN: &str = "plan-01930000-0000-7000-8000-000000000001";
const REQUEST: &str = "req-01930000-0000-7000-8000-000000000001";

/// Lists nested to this many levels.
fn nested(levels: usize) -> Value {
    (1..levels).fold(json!([]), |inside, _| json!([inside]))
}

/// Returns these outputs, one for each call.
struct Answering {
    outputs: Mutex<VecDeque<Value>>,
    calls: AtomicUsize,
}

#[async_trait]
impl ToolRunner for Answering {
    async fn run(&self, _call: ToolCall, _cancel: CancellationToken) -> ToolOutcome {
        self.calls.fetch_add(1, Ordering::SeqCst);
        let output = self.outputs.lock().unwrap().pop_front();
        ToolOutcome::Succeeded {
            output: output.unwrap_or_default(),
            log: String::new(),
            duration_ms: 1,
        }
    }
}

fn package() -> PackageBundle {
    let tool = |name: &str, class: &str, idempotent: bool| {
        format!(
            "tool_id: deep.{name}\nname: {name}\nprovider: aws\ntool_class: {class}\ndomain: reliability\n\
             description: Answers deeply.\nlanguage: python\nexecution_target: server\n\
             idempotent: {idempotent}\nparameters: []\nevidence: {{type: api_call, system: aws.ec2}}\n\
             implementation: {{type: script, path: scripts/answer.py}}\n"
        )
    };
    let files = json!({"files": {
        "package.yaml": "name: deep\nversion: 1.0.0\ntitle: Deep\nscope: tenant\n",
        "scripts/answer.py": "print(1)\n",
        "tools/read.yaml": tool("read", "readonly", false),
        "tools/write.yaml": tool("write", "write", false),
        "tools/again.yaml": tool("again", "write", true),
    }});
    serde_json::from_value(files).unwrap()
}

/// An engine whose tools give the prepared answers.
struct Rig {
    engine: Arc<Engine>,
    tools: Arc<Answering>,
    _dir: TempDir,
}

impl Rig {
    async fn new(outputs: impl IntoIterator<Item = Value>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let tools = Arc::new(Answering {
            outputs: Mutex::new(outputs.into_iter().collect()),
            calls: AtomicUsize::new(0),
        });
        let settings = Settings {
            four_eyes: Some(false),
            ..Settings::default()
        };
        let runner = Arc::<Answering>::clone(&tools);
        let engine = engine_with(package(), dir.path(), runner, settings).await;
        Self {
            engine,
            tools,
            _dir: dir,
        }
    }

    /// Starts a plan of these tools in sequence.
    async fn start(&self, tools: &[&str]) -> RunView {
        let steps = tools.iter().enumerate().map(|(at, tool)| {
            let mut step =
                json!({"id": format!("step-{:03}", at + 1), "tool": tool, "parameters": {}});
            if at > 0 {
                step["dependencies"] = json!([format!("step-{at:03}")]);
            }
            step
        });
        let plan = json!({
            "id": PLAN, "request_id": REQUEST, "steps": steps.collect::<Vec<_>>(),
            "error_handling": {"on_step_failure": "abort_plan"},
        });
        let sent = SubmittedPlan::ExecutionPlan {
            plan: Box::new(serde_json::from_value(plan).unwrap()),
            fallbacks: Vec::new(),
        };
        let ann = person("ann");
        let started = self
            .engine
            .run_starts()
            .start_plan(&ann, &sent, Map::new(), DryRun::No, None)
            .await;
        started.unwrap().run()
    }

    /// Returns the run once it has ended or waits for a person.
    async fn rested(&self, run: &RunId) -> RunView {
        let ann = person("ann");
        let rested = self.engine.run_views().wait(&ann, run, TIMEOUT);
        rested.await.unwrap()
    }

    /// Starts a plan of these tools, of which the last writes, and approves that call.
    async fn written(&self, tools: &[&str]) -> RunView {
        let started = self.start(tools).await;
        let run = started.summary.run_id;
        // The approval of the only write is the only decision on its plan.
        assert!(!started.state.confirm);
        let asked = self.rested(&run).await;
        let [approval] = &asked.approvals[..] else {
            panic!("{asked:#?}");
        };
        self.decide(approval, ApprovalAnswer::Approve)
            .await
            .unwrap();
        self.asked_about_repeat(&run).await
    }

    /// Returns the run once it requests approval for a repeat.
    async fn asked_about_repeat(&self, run: &RunId) -> RunView {
        let asked = async {
            loop {
                let shown = self.rested(run).await;
                let repeat = |asked: &Approval| {
                    asked.state == ApprovalStatus::Pending && asked.is_about_a_repeat()
                };
                if shown.approvals.iter().any(repeat) {
                    return shown;
                }
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(TIMEOUT, asked).await.unwrap()
    }

    async fn decide(
        &self,
        approval: &Approval,
        answer: ApprovalAnswer,
    ) -> Result<Approval, EngineError> {
        let say = ApprovalDecision {
            answer,
            digest: approval.digest.to_string(),
            reason: None,
        };
        let id = &approval.approval_id;
        self.engine
            .approvals()
            .decide(&person("bob"), id, say)
            .await
    }

    /// Exports the evidence of everything, and checks it as any auditor can.
    async fn verified(&self) {
        let ann = person("ann");
        let export = self
            .engine
            .evidence_log()
            .export(&ann, EvidenceQuery::default());
        let mut export = export.await.unwrap();
        let mut text = String::new();
        while let Some(lines) = self
            .engine
            .evidence_log()
            .next_lines(&mut export)
            .await
            .unwrap()
        {
            text.push_str(&lines);
        }
        let mut lines = text.split_inclusive('\n');
        let header = lines.next().unwrap();
        let mut verifier = Verifier::open(header, None, None, Coverage::Complete).unwrap();
        for (number, line) in (2..).zip(lines) {
            verifier.line(number, line);
        }
        assert_eq!(verifier.finish().faults, []);
    }
}

fn events(shown: &RunView) -> Vec<String> {
    let named = shown.events.iter().map(|event| {
        let event = json!(event.event);
        event["event"].as_str().unwrap().to_owned()
    });
    named.collect()
}

#[tokio::test]
async fn an_output_of_64_levels_is_kept_and_a_deeper_one_fails_its_step() {
    for (levels, fits) in [
        (63, true),
        (64, true),
        (65, false),
        (120, false),
        (127, false),
        (300, false),
    ] {
        let rig = Rig::new([nested(levels)]).await;
        let run = rig.start(&["deep.read"]).await.summary.run_id;
        let shown = rig.rested(&run).await;
        let outcome = json!(shown.state.outcome);
        if fits {
            assert_eq!(
                shown.summary.status,
                RunStatus::Completed,
                "{levels}: {outcome:#}"
            );
            let output = shown.events.iter().find_map(|event| match &event.event {
                RunEvent::StepSucceeded { output, .. } => Some(output),
                _ => None,
            });
            assert_eq!(output, Some(&nested(levels)));
            rig.verified().await;
        } else {
            let failure = &outcome["cause"]["failure"];
            assert_eq!(
                shown.summary.status,
                RunStatus::Failed,
                "{levels}: {outcome:#}"
            );
            assert_eq!(failure["code"], "tool_result_invalid");
            assert_eq!(
                failure["message"],
                "the tool `deep.read` returned an unusable result: its output nests more than 64 levels deep; \
                 flatten it"
            );
        }
        let replayed = rig
            .engine
            .run_views()
            .replay(&person("ann"), &run)
            .await
            .unwrap();
        assert_eq!(replayed.divergence, None, "{levels}");
    }
}

#[tokio::test]
async fn an_output_of_very_many_values_fails_its_step() {
    let rig = Rig::new([json!(vec![json!({"": 0}); 200_000])]).await;
    let run = rig.start(&["deep.read"]).await.summary.run_id;
    let outcome = json!(rig.rested(&run).await.state.outcome);
    assert_eq!(
        outcome["cause"]["failure"]["message"],
        "the tool `deep.read` returned an unusable result: its output has so many values that it takes more than \
         50331648 bytes of memory; send fewer"
    );
}

/// More than half of the limit for all outputs of one run.
fn large() -> Value {
    json!("x".repeat(33 << 20))
}

#[tokio::test]
async fn an_output_that_is_too_much_beside_the_earlier_ones_fails_its_step() {
    let rig = Rig::new([large(), large()]).await;
    let run = rig.start(&["deep.read", "deep.read"]).await.summary.run_id;
    let shown = rig.rested(&run).await;
    let outcome = json!(shown.state.outcome);
    let failure = &outcome["cause"]["failure"];
    assert_eq!(
        (&failure["kind"], &failure["code"], &failure["retryable"]),
        (&json!("resource_error"), &json!("too_large"), &json!(false)),
        "{outcome:#}"
    );
    let message = failure["message"].as_str().unwrap();
    assert!(
        message.contains("RUN_MEMORY = 67108864: let tools return less"),
        "{message}"
    );
    assert_eq!(
        events(&shown),
        [
            "started",
            "step_begun",
            "step_succeeded",
            "step_begun",
            "step_failed",
            "failed"
        ]
    );
    let replayed = rig
        .engine
        .run_views()
        .replay(&person("ann"), &run)
        .await
        .unwrap();
    assert_eq!(replayed.divergence, None);
    rig.verified().await;
}

/// For a write the output is refused as well, but the write happened.
#[tokio::test]
async fn a_write_whose_output_is_too_much_beside_the_earlier_ones_waits_for_a_person() {
    let rig = Rig::new([large(), large()]).await;
    let asked = rig.written(&["deep.read", "deep.write"]).await;
    assert_eq!(json!(asked.state.in_doubt), json!(["step-002"]));
    let [approval] = &asked.approvals[..] else {
        panic!("{:#?}", asked.state);
    };
    let mut rules = approval.rules.iter();
    let doubt = rules.find(|rule| rule.kind == RuleKind::Interrupted);
    let message = &doubt.unwrap().message;
    assert!(message.contains("RUN_MEMORY = 67108864"), "{message}");
    assert_eq!(rig.tools.calls.load(Ordering::SeqCst), 2);
}

/// A write that was answered did happen: it is not repeated unasked, even if its tool is declared idempotent.
#[tokio::test]
async fn a_write_whose_answer_is_refused_waits_for_a_person_and_is_not_repeated() {
    for tool in ["deep.write", "deep.again"] {
        let rig = Rig::new([nested(65), nested(127)]).await;
        let asked = rig.written(&[tool]).await;
        let run = &asked.summary.run_id;
        assert_eq!(rig.tools.calls.load(Ordering::SeqCst), 1);
        assert_eq!(json!(asked.state.in_doubt), json!(["step-001"]));
        let [approval] = &asked.approvals[..] else {
            panic!("{asked:#?}");
        };
        let doubt = approval
            .rules
            .iter()
            .find(|rule| rule.kind == RuleKind::Interrupted);
        assert_eq!(
            doubt.unwrap().message,
            format!(
                "This was started and may have happened: the tool `{tool}` returned an unusable result: its output \
                 nests more than 64 levels deep; flatten it. A repeat may do it twice."
            )
        );
        // Repeated after approval, and refused once more.
        rig.decide(approval, ApprovalAnswer::Approve).await.unwrap();
        let again = rig.asked_about_repeat(run).await;
        assert_eq!(rig.tools.calls.load(Ordering::SeqCst), 2);
        let [approval] = &again.approvals[..] else {
            panic!("{again:#?}");
        };
        // A result that a person reports is an output as well.
        let told = |output: Value| ApprovalAnswer::Happened(ReportedResult { output });
        let refused = rig.decide(approval, told(nested(65))).await.unwrap_err();
        assert_eq!(
            refused.to_string(),
            format!("the output of `{tool}` nests more than 64 levels deep; flatten it")
        );
        rig.decide(approval, told(nested(64))).await.unwrap();
        let done = async {
            loop {
                let shown = rig.rested(run).await;
                if shown.state.outcome.is_some() {
                    return shown;
                }
                tokio::task::yield_now().await;
            }
        };
        let done = tokio::time::timeout(TIMEOUT, done).await.unwrap();
        assert_eq!(done.summary.status, RunStatus::Completed);
        assert_eq!(rig.tools.calls.load(Ordering::SeqCst), 2);
        assert_eq!(
            events(&done),
            [
                "started",
                "approval_requested",
                "approval_granted",
                "step_begun",
                "approval_requested",
                "approval_granted",
                "step_begun",
                "approval_requested",
                "step_succeeded",
                "completed",
            ]
        );
        let replayed = rig
            .engine
            .run_views()
            .replay(&person("ann"), run)
            .await
            .unwrap();
        assert_eq!(replayed.divergence, None);
        rig.verified().await;
    }
}

/// Older versions wrote outputs of up to 127 levels into journals, which no version could read. Such a run is shown,
/// replayed and ended, and its evidence holds the digest of the part that is too deep.
#[tokio::test]
async fn a_run_that_an_older_version_left_with_a_deep_output_is_read_and_ended() {
    for levels in [65, 120, 127] {
        let rig = Rig::new([]).await;
        let ann = person("ann");
        let started = rig.start(&["deep.write", "deep.write"]).await;
        let run = started.summary.run_id.clone();
        leave_as_older_versions(&rig.engine, &started, levels).await;

        let shown = rig.engine.run_views().show(&ann, &run).await.unwrap();
        let output = match &shown.events.last().unwrap().event {
            RunEvent::StepSucceeded { output, .. } => output,
            other => panic!("{other:?}"),
        };
        assert_eq!(*output, nested(levels));
        let replayed = rig.engine.run_views().replay(&ann, &run).await.unwrap();
        assert_eq!(replayed.divergence, None);
        let reason = "it is of an older version".to_owned();
        rig.engine
            .run_management()
            .abort(&ann, &run, reason, RollBack::No)
            .await
            .unwrap();
        let ended = rig.rested(&run).await;
        assert_eq!(ended.summary.status, RunStatus::Aborted);

        let page = PageRequest::new(None, 10);
        let all = EvidenceFilter::default();
        let store = rig.engine.store();
        let found = store.find_evidence(&ann.tenant, &all, &page).await;
        let records = found.unwrap().entries;
        assert_eq!(records.len(), 1);
        assert_eq!(records[0].payload.get("output"), None);
        assert!(records[0].payload["output_sha256"].is_string());
        rig.verified().await;
    }
}

/// Adds the journal entry of an older version: a first step with an output of this many levels. The run waits.
async fn leave_as_older_versions(engine: &Arc<Engine>, started: &RunView, levels: usize) {
    let ann = person("ann");
    let run = started.summary.run_id.clone();
    let step = started.state.steps[0].step.clone();
    let RunEvent::ApprovalRequested(asked) = &started.events[1].event else {
        panic!("{:?}", started.events);
    };
    let happened = [
        RunEvent::ApprovalGranted {
            step: step.clone(),
            approval: asked.approval.clone(),
            by: person("bob").user,
        },
        RunEvent::StepBegun(EffectStart {
            step: step.clone(),
            attempt: 1,
            idempotency_key: format!("{run}/{step}"),
            parameters: Map::new(),
            policy_decision: GateDecision::Allow {
                permitted_by: Vec::new(),
                warnings: Vec::new(),
            },
            approval_expires_at: Some(asked.expires_at),
        }),
        RunEvent::StepSucceeded {
            step,
            output: nested(levels),
            source: ResultSource::Fresh,
            duration_ms: 1,
            brings: Box::default(),
        },
    ];
    let store = engine.store();
    let journal = store.events(&ann.tenant, &run, 0, 10).await.unwrap();
    let mut head = journal.last().unwrap().hash;
    let version = journal.len() as u64;
    let events = (version + 1..).zip(&happened).map(|(sequence, event)| {
        let payload = serde_json::to_string(event).unwrap();
        head = head.chain(sequence, &payload);
        NewEvent {
            payload,
            hash: head,
            at: engine.now(),
        }
    });
    let events = events.collect();
    let lease = engine.runs().acquire_lease(&run).await.unwrap().unwrap();
    let append = Append {
        tenant_id: ann.tenant.clone(),
        run_id: run,
        expected: version,
        fence: lease.fence,
        events,
        then: NextPhase::Waits(RunWait {
            until: None,
            approvals: Vec::new(),
        }),
        status: RunStatus::Paused,
        approvals: Vec::new(),
        artifacts: Vec::new(),
        mission_state: None,
        release: true,
        messages: Vec::new(),
    };
    store.append(append).await.unwrap();
}
