//! Lists of writes: which of them are requested together, and that only exactly approved calls happen.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use charter_contract::ids::{RunId, StepId};
use charter_contract::package::PackageBundle;
use charter_contract::run_status::RunStatus;
use charter_domain::approval::{Approval, ApprovalStatus};
use charter_domain::run::{ApprovalRequest, RunEvent};
use charter_effects::{ToolCall, ToolOutcome, ToolRunner};
use charter_store::journal::{Append, NewEvent, NextPhase};
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::engine::tests::engine_with;
use crate::identity::caller::tests::person;
use crate::{
    ApprovalAnswer, ApprovalDecision, Confirmation, DryRun, Engine, RunView, Settings,
    SubmittedPlan,
};

const TIMEOUT: Duration = Duration::from_secs(60);

/// Records the doors of its calls. The result of a call names the door after its own.
#[derive(Default)]
struct DoorRunner(Mutex<Vec<String>>);

#[async_trait]
impl ToolRunner for DoorRunner {
    async fn run(&self, call: ToolCall, _cancel: CancellationToken) -> ToolOutcome {
        let door = call.parameters["door"].as_str().unwrap().to_owned();
        let output = json!({"next": format!("{door}+")});
        self.0.lock().unwrap().push(door);
        ToolOutcome::Succeeded {
            output,
            log: String::new(),
            duration_ms: 1,
        }
    }
}

fn package() -> PackageBundle {
    let tool = |name: &str, class: &str| {
        format!(
            "tool_id: doors.{name}\nname: {name}\nprovider: aws\ntool_class: {class}\ndomain: reliability\n\
             description: Looks after doors.\nlanguage: python\nexecution_target: server\n\
             parameters: [{{name: door, type: string, required: true, description: the door}}]\n\
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

struct Rig {
    engine: Arc<Engine>,
    doors: Arc<DoorRunner>,
    _dir: TempDir,
}

impl Rig {
    async fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let doors = Arc::new(DoorRunner::default());
        let settings = Settings {
            four_eyes: Some(false),
            ..Settings::default()
        };
        let runner = Arc::<DoorRunner>::clone(&doors);
        let engine = engine_with(package(), dir.path(), runner, settings).await;
        Self {
            engine,
            doors,
            _dir: dir,
        }
    }

    /// Starts a plan of these steps, and confirms it if it waits for that.
    async fn start(&self, steps: &Value) -> RunView {
        let plan = json!({
            "id": "plan-01930000-0000-7000-8000-000000000001",
            "request_id": "req-01930000-0000-7000-8000-000000000001",
            "steps": steps, "error_handling": {"on_step_failure": "abort_plan"},
        });
        let sent = SubmittedPlan::ExecutionPlan {
            plan: Box::new(serde_json::from_value(plan).unwrap()),
            fallbacks: Vec::new(),
        };
        let (ann, starts) = (person("ann"), self.engine.run_starts());
        let started = starts.start_plan(&ann, &sent, Map::new(), DryRun::No, None);
        let started = started.await.unwrap().run();
        if !started.state.confirm {
            return started;
        }
        let confirmation = Confirmation {
            digest: started.state.plan_digest.to_string(),
            typed: None,
        };
        let (run, management) = (&started.summary.run_id, self.engine.run_management());
        let confirmed = management.confirm(&ann, run, confirmation);
        confirmed.await.unwrap()
    }

    /// Returns the pending approval whose first call is of this step, once the run has requested it.
    async fn pending(&self, run: &RunId, step: &str) -> Approval {
        let (ann, views) = (person("ann"), self.engine.run_views());
        let asked = async {
            loop {
                let shown = views.wait(&ann, run, TIMEOUT).await.unwrap();
                let mut approvals = shown.approvals.into_iter();
                let found = approvals.find(|asked| {
                    asked.state == ApprovalStatus::Pending && asked.call.step.as_str() == step
                });
                if let Some(found) = found {
                    return found;
                }
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(TIMEOUT, asked).await.unwrap()
    }

    async fn approve(&self, approval: &Approval) {
        let say = ApprovalDecision {
            answer: ApprovalAnswer::Approve,
            digest: approval.digest.to_string(),
            reason: None,
        };
        let (bob, approvals) = (person("bob"), self.engine.approvals());
        let decided = approvals.decide(&bob, &approval.approval_id, say);
        decided.await.unwrap();
    }

    async fn completed(&self, run: &RunId) {
        let (ann, views) = (person("ann"), self.engine.run_views());
        let done = async {
            loop {
                let shown = views.wait(&ann, run, TIMEOUT).await.unwrap();
                if shown.state.outcome.is_some() {
                    return shown;
                }
                tokio::task::yield_now().await;
            }
        };
        let done = tokio::time::timeout(TIMEOUT, done).await.unwrap();
        assert_eq!(done.summary.status, RunStatus::Completed);
    }

    fn doors(&self) -> Vec<String> {
        self.doors.0.lock().unwrap().clone()
    }

    /// Continues the journal of a waiting run as another process would, which leaves the run runnable.
    async fn append(&self, run: &RunId, events: &[RunEvent]) {
        let (store, tenant) = (self.engine.store(), person("ann").tenant);
        let journal = store.events(&tenant, run, 0, 100).await.unwrap();
        let mut head = journal.last().unwrap().hash;
        let version = journal.len() as u64;
        let events = (version + 1..).zip(events).map(|(sequence, event)| {
            let payload = serde_json::to_string(event).unwrap();
            head = head.chain(sequence, &payload);
            NewEvent {
                payload,
                hash: head,
                at: self.engine.now(),
            }
        });
        let events = events.collect();
        let lease = self.engine.runs().acquire_lease(run).await.unwrap();
        let append = Append {
            tenant_id: tenant,
            run_id: run.clone(),
            expected: version,
            fence: lease.unwrap().fence,
            events,
            then: NextPhase::Runs,
            status: RunStatus::Working,
            approvals: Vec::new(),
            artifacts: Vec::new(),
            mission_state: None,
            release: true,
            messages: Vec::new(),
        };
        store.append(append).await.unwrap();
    }
}

/// The steps and doors of an approval's calls.
fn calls(approval: &Approval) -> Value {
    let calls = approval.calls().iter();
    let calls = calls.map(|call| json!([call.step, call.parameters["door"]]));
    calls.collect()
}

/// The list is complete before the first write, except for writes whose arguments depend on earlier writes: these are
/// requested as the next list, when the earlier writes have ended.
#[tokio::test]
async fn writes_that_depend_on_earlier_writes_are_the_next_list() {
    let rig = Rig::new().await;
    let step = |number: u8, tool: &str, door: &str, sources: &[&str]| {
        json!({
            "id": format!("step-{number:03}"), "tool": tool, "parameters": {"door": door},
            "dependencies": sources,
        })
    };
    let steps = json!([
        step(1, "doors.look", "a", &[]),
        step(2, "doors.shut", "${step-001.next}", &["step-001"]),
        step(3, "doors.shut", "b", &["step-002"]),
        step(4, "doors.shut", "${step-002.next}", &["step-002"]),
        step(5, "doors.shut", "${step-003.next}", &["step-003"]),
    ]);
    let run = rig.start(&steps).await.summary.run_id;

    let first = rig.pending(&run, "step-002").await;
    assert_eq!(
        calls(&first),
        json!([["step-002", "a+"], ["step-003", "b"]])
    );
    assert_eq!(rig.doors(), ["a"]);
    rig.approve(&first).await;

    let next = rig.pending(&run, "step-004").await;
    assert_eq!(
        calls(&next),
        json!([["step-004", "a++"], ["step-005", "b+"]])
    );
    assert_ne!(next.digest, first.digest);
    assert_eq!(rig.doors(), ["a", "a+", "b"]);
    rig.approve(&next).await;

    rig.completed(&run).await;
    let (ann, views) = (person("ann"), rig.engine.run_views());
    let replayed = views.replay(&ann, &run).await.unwrap();
    assert_eq!(replayed.divergence, None);
    let mut doors = rig.doors();
    doors.sort_unstable();
    assert_eq!(doors, ["a", "a+", "a++", "b", "b+"]);
}

/// The journal has an approval of another call than the one that the step makes when it begins: the step requests an
/// approval of its own call, and the approved one does not happen.
#[tokio::test]
async fn a_call_that_differs_when_it_begins_is_requested_again() {
    let rig = Rig::new().await;
    let steps = json!([
        {"id": "step-001", "tool": "doors.shut", "parameters": {"door": "a"}},
        {"id": "step-002", "tool": "doors.shut", "parameters": {"door": "b"}, "dependencies": ["step-001"]},
    ]);
    let run = rig.start(&steps).await.summary.run_id;
    let list = rig.pending(&run, "step-001").await;
    assert_eq!(calls(&list), json!([["step-001", "a"], ["step-002", "b"]]));

    let (ann, views) = (person("ann"), rig.engine.run_views());
    let shown = views.show(&ann, &run).await.unwrap();
    let requested = shown.events.iter().find_map(|entry| match &entry.event {
        RunEvent::ApprovalRequested(asked) if asked.step.as_str() == "step-002" => Some(asked),
        _ => None,
    });
    let mut other = ApprovalRequest::clone(requested.unwrap());
    other.call.parameters.insert("door".into(), json!("c"));
    other.digest = other.call.digest();
    let granted = |step: &StepId| RunEvent::ApprovalGranted {
        step: step.clone(),
        approval: list.approval_id.clone(),
        by: person("bob").user,
    };
    let events = [
        RunEvent::ApprovalRequested(Box::new(other)),
        granted(&list.list[0].step),
        granted(&list.list[1].step),
    ];
    rig.append(&run, &events).await;
    rig.engine.run_recovery().claim().await.unwrap();

    let again = rig.pending(&run, "step-002").await;
    assert_eq!(calls(&again), json!([["step-002", "b"]]));
    assert_ne!(again.approval_id, list.approval_id);
    assert_eq!(rig.doors(), ["a"]);
    rig.approve(&again).await;
    rig.completed(&run).await;
    assert_eq!(rig.doors(), ["a", "b"]);
}
