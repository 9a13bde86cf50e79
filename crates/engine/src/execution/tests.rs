//! The services of execution without missions and conversations.

mod same_call;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use charter_contract::catalogue::skill::Skill;
use charter_contract::finding::Finding;
use charter_contract::ids::{RunId, ToolId};
use charter_contract::package::PackageBundle;
use charter_contract::run_status::RunStatus;
use charter_domain::run::RunEvent;
use charter_effects::{ToolCall, ToolOutcome, ToolRunner};
use charter_store::SharedStore;
use charter_store::page::PageRequest;
use charter_testkit::store_suite::sample;
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::engine::tests::{ExecutionRig, execution, open, ports};
use crate::identity::caller::tests::person;
use crate::{
    ApprovalAnswer, ApprovalDecision, CallOrigin, DryRun, EvidenceQuery, HypotheticalCall, Mode,
    Ports, RunQuery, RunStarted, RunView, Settings, SubmittedPlan,
};

const TIMEOUT: Duration = Duration::from_secs(60);

/// Answers every call.
struct Answering;

#[async_trait]
impl ToolRunner for Answering {
    async fn run(&self, _call: ToolCall, _cancel: CancellationToken) -> ToolOutcome {
        ToolOutcome::Succeeded {
            output: json!({"open": true}),
            log: String::new(),
            duration_ms: 1,
        }
    }
}

fn package() -> PackageBundle {
    let tool = |name: &str, class: &str| {
        format!(
            "tool_id: doors.{name}\nname: {name}\nprovider: aws\ntool_class: {class}\ndomain: reliability\n\
             description: Looks after doors.\nlanguage: python\nexecution_target: server\nparameters: []\n\
             evidence: {{type: api_call, system: aws.ec2}}\n\
             implementation: {{type: script, body: \"pass\"}}\n"
        )
    };
    let files = json!({"files": {
        "package.yaml": "name: doors\nversion: 1.0.0\ntitle: Doors\nscope: tenant\n",
        "tools/look.yaml": tool("look", "readonly"),
        "tools/shut.yaml": tool("shut", "write"),
    }});
    serde_json::from_value(files).unwrap()
}

async fn rig() -> (ExecutionRig, SharedStore, TempDir) {
    rig_with(|_, _| ()).await
}

/// The services with other ports or settings.
pub(super) async fn rig_with(
    set: impl FnOnce(&mut Ports, &mut Settings),
) -> (ExecutionRig, SharedStore, TempDir) {
    let dir = tempfile::tempdir().unwrap();
    let store: SharedStore = open(dir.path());
    let mut ports = ports(Arc::clone(&store), Arc::new(Answering));
    let mut settings = Settings {
        four_eyes: Some(false),
        ..Settings::default()
    };
    set(&mut ports, &mut settings);
    let rig = execution(&ports, &settings).await;
    let ann = person("ann");
    let registered = rig.below.packages.register(&ann, package(), Mode::Apply);
    registered.await.unwrap();
    (rig, store, dir)
}

/// Starts a plan with one call of a tool.
pub(super) async fn start(rig: &ExecutionRig, tool: &str) -> RunStarted {
    let steps = json!([{"id": "step-001", "tool": tool, "parameters": {}}]);
    start_steps(rig, &steps).await
}

/// Starts a plan with these steps.
pub(super) async fn start_steps(rig: &ExecutionRig, steps: &Value) -> RunStarted {
    let plan = json!({
        "id": "plan-01930000-0000-7000-8000-000000000001",
        "request_id": "req-01930000-0000-7000-8000-000000000001",
        "steps": steps,
        "error_handling": {"on_step_failure": "abort_plan"},
    });
    let sent = SubmittedPlan::ExecutionPlan {
        plan: Box::new(serde_json::from_value(plan).unwrap()),
        fallbacks: Vec::new(),
    };
    let (ann, starts) = (person("ann"), &rig.services.starts);
    let started = starts.start_plan(&ann, &sent, Map::new(), DryRun::No, None);
    started.await.unwrap()
}

/// Returns the run once it has ended or waits for a person.
pub(super) async fn rested(rig: &ExecutionRig, run: &RunId) -> RunView {
    let (ann, views) = (person("ann"), &rig.services.views);
    views.wait(&ann, run, TIMEOUT).await.unwrap()
}

/// A plan that only reads runs to its end. The same request finds its run.
#[tokio::test]
async fn a_plan_is_started_once_and_runs_to_its_end() {
    let (rig, _store, _dir) = rig().await;
    let started = start(&rig, "doors.look").await;
    assert!(matches!(started, RunStarted::New(_)));
    let run = started.run().summary.run_id;
    let ended = rested(&rig, &run).await;
    assert_eq!(ended.summary.status, RunStatus::Completed);
    let repeated = start(&rig, "doors.look").await;
    assert!(matches!(repeated, RunStarted::Repeat(_)));
}

/// A run is listed, explained, replayed and read from its journal.
#[tokio::test]
async fn a_run_is_shown_from_its_journal() {
    let (rig, _store, _dir) = rig().await;
    let run = start(&rig, "doors.look").await.run().summary.run_id;
    rested(&rig, &run).await;
    let (ann, views) = (person("ann"), &rig.services.views);
    let page = PageRequest::new(None, 10);
    let listed = views.list(&ann, RunQuery::default(), &page).await.unwrap();
    assert_eq!(listed.entries.len(), 1);
    let replayed = views.replay(&ann, &run).await.unwrap();
    assert_eq!(replayed.divergence, None);
    let explained = views.explain(&ann, &run, None).await.unwrap();
    assert_eq!(explained.steps.len(), 1);
    let journals = &rig.services.journals;
    let history = journals.history(&ann.tenant, &run).await.unwrap();
    assert_eq!(history.len() as u64, replayed.events);
    let first = journals.first_event(&ann.tenant, &run).await.unwrap();
    assert!(matches!(first, Some(RunEvent::Started(_))));
    let folded = journals.fold(&ann.tenant, &run).await.unwrap();
    let loaded = rig.services.pinned.load(&ann.tenant, &folded.run).await;
    assert_eq!(loaded.unwrap().workspace.tools.len(), 1);
}

/// A plan of one write waits for an approval, its only decision, and leaves evidence.
#[tokio::test]
async fn a_write_is_approved() {
    let (rig, _store, _dir) = rig().await;
    let started = start(&rig, "doors.shut").await.run();
    let run = started.summary.run_id;
    assert!(!started.state.confirm);
    let (ann, page) = (person("ann"), PageRequest::new(None, 10));
    rested(&rig, &run).await;
    let approvals = &rig.services.approvals;
    let pending = approvals.list(&ann, Some("pending"), Some(&run), &page);
    let pending = pending.await.unwrap().entries.remove(0).approval;
    let say = ApprovalDecision {
        answer: ApprovalAnswer::Approve,
        digest: pending.digest.to_string(),
        reason: None,
    };
    let bob = person("bob");
    let decided = approvals.decide(&bob, &pending.approval_id, say);
    decided.await.unwrap();
    let ended = async {
        loop {
            let shown = rested(&rig, &run).await;
            if shown.summary.status == RunStatus::Completed {
                return;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(TIMEOUT, ended).await.unwrap();
    let listed = rig
        .services
        .evidence
        .list(&ann, EvidenceQuery::default(), &page);
    assert_eq!(listed.await.unwrap().entries.len(), 1);
}

/// The gate explains a call that does not happen.
#[tokio::test]
async fn the_gate_explains_a_call() {
    let (rig, _store, _dir) = rig().await;
    let mut thought = HypotheticalCall {
        tool: ToolId::parse("doors.look").unwrap(),
        parameters: Map::new(),
        within: CallOrigin::Plan,
        step: None,
        dry_run: false,
        persona: None,
    };
    let ann = person("ann");
    let reads = rig.services.gate.explain(&ann, &thought).await.unwrap();
    assert_eq!(reads.verdict, "allow");
    thought.tool = ToolId::parse("doors.shut").unwrap();
    let writes = rig.services.gate.explain(&ann, &thought).await.unwrap();
    assert_eq!(writes.verdict, "needs_approval");
}

/// Runs without a driver are claimed and released when the process drains.
#[tokio::test]
async fn runs_are_claimed_and_left_to_others() {
    let (rig, store, _dir) = rig().await;
    let (run, events) = sample::new_run("acme", 1, 0).unwrap();
    let made = store.create_run(&run, events, vec![], vec![]);
    made.await.unwrap();
    let recovery = &rig.services.recovery;
    recovery.claim().await.unwrap();
    assert_eq!(rig.services.runs.drivers().held().len(), 1);
    recovery.drain(TIMEOUT).await;
    assert_eq!(rig.services.runs.drivers().count(), 0);
}

/// Findings without a template are not rendered, with a warning.
#[tokio::test]
async fn findings_need_a_template() {
    let (rig, _store, _dir) = rig().await;
    let skill = include_str!("../../../contract/tests/examples/skill.json");
    let skill: Skill = serde_json::from_str(skill).unwrap();
    let finding = include_str!("../../../contract/tests/examples/finding.json");
    let finding: Finding = serde_json::from_str(finding).unwrap();
    let (ann, findings) = (person("ann"), &rig.services.findings);
    let tags = rig.services.tags.of_request(&ann, None, None).unwrap();
    let mut found = [finding];
    let rendered = findings.render(&ann.tenant, &tags, &skill, &mut found, None, None);
    let warnings = rendered.await.unwrap();
    assert!(
        warnings[0].starts_with("there is no template for"),
        "{warnings:?}"
    );
}
