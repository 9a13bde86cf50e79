//! Conditions of plans, and policies, are asked in a place for long questions, wherever a run asks them: apart from the
//! threads that serve requests. `crates/engine/src/ground/questions.rs` tests the places themselves. The runtime of these
//! tests has one thread, on which another task continues while a question waits for its place.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use charter_contract::ids::{RunId, ToolId};
use charter_contract::package::PackageBundle;
use charter_contract::run_status::RunStatus;
use charter_domain::approval::{Approval, ApprovalStatus};
use charter_domain::run::RunOrder;
use charter_effects::{ToolCall, ToolOutcome, ToolRunner};
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use tokio::sync::{Notify, Semaphore};
use tokio_util::sync::CancellationToken;

use crate::engine::tests::{engine_with, in_a_place};
use crate::execution::runs::drivers::Decided;
use crate::identity::caller::tests::person;
use crate::{
    ApprovalAnswer, ApprovalDecision, CallOrigin, DryRun, Engine, HypotheticalCall, RunView,
    Settings, SubmittedPlan,
};

const PATIENCE: Duration = Duration::from_secs(60);

/// A tool that answers each call once permitted.
struct Answering {
    output: Value,
    begun: Notify,
    free: Semaphore,
}

#[async_trait]
impl ToolRunner for Answering {
    async fn run(&self, _call: ToolCall, _cancel: CancellationToken) -> ToolOutcome {
        self.begun.notify_one();
        self.free.acquire().await.unwrap().forget();
        ToolOutcome::Succeeded {
            output: self.output.clone(),
            log: String::new(),
            duration_ms: 1,
        }
    }
}

/// A tool that reads, and one that writes, which a policy governs.
fn package() -> PackageBundle {
    let tool = |name: &str, class: &str| {
        format!(
            "tool_id: asked.{name}\nname: {name}\nprovider: aws\ntool_class: {class}\ndomain: reliability\n\
             description: Answers.\nlanguage: python\nexecution_target: server\nparameters: []\n\
             implementation: {{type: script, body: \"pass\"}}\n"
        )
    };
    let files = json!({"files": {
        "package.yaml": "name: asked\nversion: 1.0.0\ntitle: Asked\nscope: tenant\n",
        "tools/read.yaml": tool("read", "readonly"),
        "tools/write.yaml": tool("write", "write"),
        "policies/all.yaml": "policy_id: asked.all\ntitle: Everybody\ngoverns: [asked.write]\ncedar: |\n  \
                              @id(\"all\") permit (principal, action, resource);\n",
    }});
    serde_json::from_value(files).unwrap()
}

struct Rig {
    engine: Arc<Engine>,
    tool: Arc<Answering>,
    _dir: TempDir,
}

impl Rig {
    /// An engine whose tools return this output, at first for this many calls.
    async fn new(output: Value, free: usize) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let tool = Arc::new(Answering {
            output,
            begun: Notify::new(),
            free: Semaphore::new(free),
        });
        let settings = Settings {
            four_eyes: Some(false),
            ..Settings::default()
        };
        let runner = Arc::<Answering>::clone(&tool);
        let engine = engine_with(package(), dir.path(), runner, settings).await;
        Self {
            engine,
            tool,
            _dir: dir,
        }
    }

    /// Starts a plan of one step; one that writes waits for a person.
    async fn start(&self, tool: &str, condition: Option<&str>) -> RunView {
        let mut step = json!({"id": "step-001", "tool": tool, "parameters": {}});
        if let Some(expression) = condition {
            step["condition"] = json!({"type": "expression", "expression": expression});
        }
        self.start_plan(&[step]).await
    }

    async fn start_plan(&self, steps: &[Value]) -> RunView {
        let plan = json!({
            "id": "plan-01930000-0000-7000-8000-000000000001",
            "request_id": "req-01930000-0000-7000-8000-000000000001", "steps": steps,
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
        let rested = self.engine.run_views().wait(&ann, run, PATIENCE);
        rested.await.unwrap()
    }
}

#[tokio::test]
async fn conditions_of_a_run_are_asked_in_a_place() {
    let rig = Rig::new(json!({}), 1).await;
    let run = async {
        let started = rig.start("asked.read", Some("true")).await;
        rig.rested(&started.summary.run_id).await
    };
    let ended = in_a_place(&rig.engine, run).await;
    assert_eq!(ended.summary.status, RunStatus::Completed);
}

#[tokio::test]
async fn policies_of_an_explanation_are_asked_in_a_place() {
    let rig = Rig::new(json!({}), 0).await;
    let thought = HypotheticalCall {
        tool: ToolId::parse("asked.write").unwrap(),
        parameters: Map::new(),
        within: CallOrigin::Plan,
        step: None,
        dry_run: false,
        persona: None,
    };
    let ann = person("ann");
    let explained = in_a_place(&rig.engine, rig.engine.gate().explain(&ann, &thought)).await;
    assert_eq!(explained.unwrap().verdict, "needs_approval");
}

#[tokio::test]
async fn conditions_of_a_replay_are_asked_in_a_place() {
    let rig = Rig::new(json!({}), 1).await;
    let run = rig.start("asked.read", Some("true")).await.summary.run_id;
    assert_eq!(rig.rested(&run).await.summary.status, RunStatus::Completed);
    let ann = person("ann");
    let replayed = in_a_place(&rig.engine, rig.engine.run_views().replay(&ann, &run)).await;
    assert_eq!(replayed.unwrap().divergence, None);
}

#[tokio::test]
async fn conditions_that_follow_from_an_order_to_a_waiting_run_are_asked_in_a_place() {
    let rig = Rig::new(json!({}), 1).await;
    let condition = json!({"type": "expression", "expression": "true"});
    // Whether the second write happens is decided after the first, so the plan is confirmed.
    let mut second = json!({"id": "step-002", "tool": "asked.write", "parameters": {}});
    let mut first = second.clone();
    first["id"] = json!("step-001");
    first["condition"] = condition.clone();
    second["condition"] = condition;
    second["dependencies"] = json!(["step-001"]);
    let started = rig.start_plan(&[first, second]).await;
    assert!(started.state.confirm);
    let run = started.summary.run_id;
    let no_driver = async {
        while rig.engine.runs().drivers().driver(&run).is_some() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, no_driver).await.unwrap();
    let ann = person("ann");
    let order = RunOrder::Confirm {
        by: ann.user.clone(),
        makers: BTreeSet::new(),
        digest: started.state.plan_digest,
        typed: None,
        approves: false,
    };
    // No driver resumes the run after this and asks the same question.
    let decided = rig
        .engine
        .runs()
        .decide_without_driver(&ann.tenant, &run, order.into());
    let decided = in_a_place(&rig.engine, decided).await.unwrap();
    assert_eq!(decided, Decided::Here);
    let shown = rig.engine.run_views().show(&ann, &run).await.unwrap();
    assert_ne!(shown.summary.status, RunStatus::AwaitingConfirmation);
}

/// A write whose answer is refused may have happened, so the gate is asked about a repeat.
#[tokio::test]
async fn policies_of_a_repeat_are_asked_in_a_place() {
    let deep = (0..65).fold(json!(1), |inside, _| json!([inside]));
    let rig = Rig::new(deep, 0).await;
    let started = rig.start("asked.write", None).await;
    let run = started.summary.run_id;
    let asked = rig.rested(&run).await;
    let [approval] = &asked.approvals[..] else {
        panic!("{asked:#?}");
    };
    let say = ApprovalDecision {
        answer: ApprovalAnswer::Approve,
        digest: approval.digest.to_string(),
        reason: None,
    };
    let bob = person("bob");
    let decided = rig
        .engine
        .approvals()
        .decide(&bob, &approval.approval_id, say)
        .await;
    decided.unwrap();
    let begun = tokio::time::timeout(PATIENCE, rig.tool.begun.notified());
    begun.await.unwrap();
    let is_about_repeat =
        |asked: &Approval| asked.state == ApprovalStatus::Pending && asked.is_about_a_repeat();
    let repeat = async {
        rig.tool.free.add_permits(1);
        while !rig.rested(&run).await.approvals.iter().any(is_about_repeat) {
            tokio::task::yield_now().await;
        }
    };
    in_a_place(&rig.engine, repeat).await;
}
