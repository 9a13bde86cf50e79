//! One decision for a change: the approval of its writes is also the confirmation of its plan, or the other way round.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use charter_contract::catalogue::evidence::EvidenceType;
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{PlaybookId, RunId};
use charter_contract::package::PackageBundle;
use charter_contract::run_status::RunStatus;
use charter_contract::text::HttpsUrl;
use charter_contract::time::Timestamp;
use charter_domain::approval::{Approval, ApprovalStatus};
use charter_domain::run::RunEvent;
use charter_effects::{NoModels, ToolCall, ToolOutcome, ToolRunner};
use charter_store::evidence::EvidenceFilter;
use charter_store::page::PageRequest;
use charter_testkit::clock::SimulatedClock;
use charter_testkit::watched_store::{Side, WatchedStore, Watcher, Write};
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::engine::tests::{engine_at, engine_with, open};
use crate::identity::caller::tests::person;
use crate::{
    ApprovalAnswer, ApprovalDecision, Confirmation, DryRun, Engine, EngineError, IdempotencyKey,
    Mode, RunView, Settings,
};

const FOUND: &str = "reliability.fence";
const GIVEN: &str = "reliability.close_gate";
const LOOKING: &str = "reliability.look_and_close";
const TIMEOUT: Duration = Duration::from_secs(60);

/// The length of an approval and of a confirmation where they lapse, and two parts of it that exceed it together.
const LAPSES: Duration = Duration::from_secs(3 * 3_600);
const PART: Duration = Duration::from_secs(2 * 3_600);

/// A tool that counts its calls. It looks for as long as the clock, if there is one, shows afterwards.
#[derive(Default)]
struct Counting {
    closed: AtomicUsize,
    clock: Option<SimulatedClock>,
}

#[async_trait]
impl ToolRunner for Counting {
    async fn run(&self, call: ToolCall, _: CancellationToken) -> ToolOutcome {
        if call.tool_id.as_str() == "fence.close" {
            self.closed.fetch_add(1, Ordering::SeqCst);
        } else if let Some(clock) = &self.clock {
            clock.advance(PART).unwrap();
        }
        ToolOutcome::Succeeded {
            output: json!({"gates": ["north", "south"]}),
            log: String::new(),
            duration_ms: 1,
        }
    }
}

/// Time that passes between the request of an approval and its use.
struct LateUse(SimulatedClock);

impl Watcher for LateUse {
    fn at(&self, side: Side, write: Write<'_>) {
        let Write::Events { events, .. } = write else {
            return;
        };
        let mut payloads = events.iter().map(|event| event.payload.as_str());
        if side == Side::After && payloads.any(|payload| payload.contains("approval_requested")) {
            self.0.advance(PART).unwrap();
        }
    }
}

/// Supervised playbooks: one closes the gate that it finds, one a given gate, and one that gate after it has looked.
fn package() -> PackageBundle {
    let tool = |name: &str, class: &str, parameters: &str| {
        format!(
            "tool_id: fence.{name}\nname: {name}\nprovider: aws\ntool_class: {class}\ndomain: reliability\n\
             description: A fence.\nlanguage: python\nexecution_target: server\nparameters: [{parameters}]\n\
             implementation: {{type: script, body: \"pass\"}}\n"
        )
    };
    let gate = "{name: gate, type: string, required: true, description: the gate}";
    let playbook = |id: &str, steps: &str, parameters: &str| {
        format!(
            "playbook_id: {id}\nname: Fence\ndomain: reliability\ntrigger_conditions: [the fence is open]\n\
             target_language: python\n{parameters}steps:\n{steps}safety: {{safety_class: supervised}}\n"
        )
    };
    let files = json!({"files": {
        "package.yaml": "name: fence\nversion: 1.0.0\ntitle: Fence\nscope: tenant\n",
        "tools/look.yaml": tool("look", "readonly", ""),
        "tools/close.yaml": tool("close", "write", gate),
        "playbooks/found.yaml": playbook(
            FOUND,
            "\x20 - {step_id: look, type: read, tool_id: fence.look, on_failure: stop}\n\
             \x20 - {step_id: close, type: write, tool_id: fence.close, on_failure: stop, \
             parameters: {gate: \"${look.gates.0}\"}}\n",
            "",
        ),
        "playbooks/given.yaml": playbook(
            GIVEN,
            "\x20 - {step_id: close, type: write, tool_id: fence.close, on_failure: stop, \
             parameters: {gate: \"${user.gate}\"}}\n",
            "mandatory_parameters: [{name: gate, type: string, description: the gate}]\n",
        ),
        "playbooks/looking.yaml": playbook(
            LOOKING,
            "\x20 - {step_id: look, type: read, tool_id: fence.look, on_failure: stop}\n\
             \x20 - {step_id: close, type: write, tool_id: fence.close, on_failure: stop, \
             parameters: {gate: \"${user.gate}\"}}\n",
            "mandatory_parameters: [{name: gate, type: string, description: the gate}]\n",
        ),
    }});
    serde_json::from_value(files).unwrap()
}

struct Rig {
    engine: Arc<Engine>,
    tool: Arc<Counting>,
    _dir: TempDir,
}

impl Rig {
    async fn new(four_eyes: bool) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let tool = Arc::new(Counting::default());
        let settings = Settings {
            four_eyes: Some(four_eyes),
            public_url: Some(HttpsUrl::parse("https://charter.example").unwrap()),
            ..Settings::default()
        };
        let runner = Arc::<Counting>::clone(&tool);
        let engine = engine_with(package(), dir.path(), runner, settings).await;
        Self {
            engine,
            tool,
            _dir: dir,
        }
    }

    /// Without four eyes: approvals and confirmations lapse, and time passes while the playbook looks and after an
    /// approval was requested.
    async fn lapsing() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let start = Timestamp::parse("2026-01-01T12:00:00Z").unwrap();
        let clock = SimulatedClock::at(start);
        let tool = Arc::new(Counting {
            clock: Some(clock.clone()),
            ..Counting::default()
        });
        let settings = Settings {
            four_eyes: Some(false),
            approval_ttl: LAPSES,
            lease: 10 * LAPSES,
            ..Settings::default()
        };
        let store = WatchedStore::new(open(dir.path()), Arc::new(LateUse(clock.clone())));
        let runner = Arc::<Counting>::clone(&tool);
        let (clock, store) = (Arc::new(clock), Arc::new(store));
        let engine = engine_at(clock, store, runner, Arc::new(NoModels), settings).await;
        let ann = person("ann");
        let registered = engine.packages().register(&ann, package(), Mode::Apply);
        registered.await.unwrap();
        Self {
            engine,
            tool,
            _dir: dir,
        }
    }

    /// Ann starts a playbook with these values.
    async fn start(&self, playbook: &str, given: Value) -> RunView {
        let (ann, playbook) = (person("ann"), PlaybookId::parse(playbook).unwrap());
        let given: Map<String, Value> = serde_json::from_value(given).unwrap();
        let starts = self.engine.run_starts();
        let started = starts.start_playbook(&ann, &playbook, &given, DryRun::No, None);
        started.await.unwrap().run()
    }

    /// A playbook is proposed to Ann, with a value that the plan uses.
    async fn proposed(&self, playbook: &str) -> RunView {
        let (ann, playbook) = (person("ann"), PlaybookId::parse(playbook).unwrap());
        let given = Map::from_iter([("gate".to_owned(), json!("north"))]);
        let key = IdempotencyKey::parse("proposal").unwrap();
        let starts = self.engine.run_starts();
        let started = starts.propose_playbook(&ann, &playbook, &given, &key);
        let run = started.await.unwrap().run();
        assert_eq!(run.summary.status, RunStatus::AwaitingConfirmation);
        run
    }

    fn confirmation(run: &RunView) -> Confirmation {
        Confirmation {
            digest: run.state.plan_digest.to_string(),
            typed: None,
        }
    }

    async fn confirm(&self, run: &RunView) {
        let (ann, management) = (person("ann"), self.engine.run_management());
        let confirmation = Self::confirmation(run);
        let confirmed = management.confirm(&ann, &run.summary.run_id, confirmation);
        confirmed.await.unwrap();
    }

    /// Returns the run once it has this status.
    async fn met(&self, run: &RunId, status: RunStatus) -> RunView {
        let ann = person("ann");
        let met = async {
            loop {
                let rested = self.engine.run_views().wait(&ann, run, TIMEOUT);
                let shown = rested.await.unwrap();
                if shown.summary.status == status {
                    return shown;
                }
                tokio::task::yield_now().await;
            }
        };
        match tokio::time::timeout(TIMEOUT, met).await {
            Ok(shown) => shown,
            Err(_) => {
                let shown = self
                    .engine
                    .run_views()
                    .wait(&ann, run, Duration::ZERO)
                    .await;
                panic!("the run is not {status:?}: {shown:#?}")
            }
        }
    }

    async fn approve(&self, name: &str, approval: &Approval) -> Result<Approval, EngineError> {
        let by = person(name);
        let say = ApprovalDecision {
            answer: ApprovalAnswer::Approve,
            digest: approval.digest.to_string(),
            reason: None,
        };
        let approvals = self.engine.approvals();
        approvals.decide(&by, &approval.approval_id, say).await
    }

    /// Returns the approvals of a run, in any state.
    async fn approvals(&self, run: &RunId) -> Vec<Approval> {
        let (ann, page) = (person("ann"), PageRequest::new(None, 10));
        let approvals = self.engine.approvals();
        let found = approvals.list(&ann, None, Some(run), &page).await;
        let found = found.unwrap().entries.into_iter();
        found.map(|entry| entry.approval).collect()
    }

    /// Returns the statuses of a run that events announced.
    async fn announced(&self, run: &RunId) -> Vec<String> {
        let events = self.engine.events();
        let found = events.list(&person("ann"), 0, Some("run.status")).await;
        let found = found.unwrap().entries.into_iter();
        let of_run = found.filter(|event| event.data["run_id"] == run.as_str());
        of_run
            .map(|event| event.data["status"].as_str().unwrap().to_owned())
            .collect()
    }

    fn calls(&self) -> usize {
        self.tool.closed.load(Ordering::SeqCst)
    }
}

fn is_confirmed(run: &RunView) -> bool {
    let mut events = run.events.iter();
    events.any(|event| matches!(event.event, RunEvent::Confirmed { .. }))
}

/// The reads are done, and the approval shows the exact call: no one confirms the plan apart from it.
#[tokio::test]
async fn a_change_whose_writes_are_listed_first_is_decided_once() {
    for four_eyes in [true, false] {
        let rig = Rig::new(four_eyes).await;
        for (playbook, given) in [(FOUND, json!({})), (GIVEN, json!({"gate": "north"}))] {
            let before = rig.calls();
            let started = rig.start(playbook, given).await;
            assert!(!started.state.confirm);
            let run = started.summary.run_id;
            let asked = rig.met(&run, RunStatus::AwaitingApproval).await;
            let [approval] = &asked.approvals[..] else {
                panic!("{asked:#?}");
            };
            assert_eq!(approval.call.parameters["gate"], "north");
            assert_eq!(
                approval.plan_digest.as_ref(),
                Some(&asked.state.plan_digest)
            );
            assert_eq!(rig.calls(), before);
            rig.approve("bob", approval).await.unwrap();
            let done = rig.met(&run, RunStatus::Completed).await;
            assert!(!is_confirmed(&done));
            assert_eq!(rig.calls(), before + 1);
        }
        rig.engine.stop().await;
    }
}

/// A value that the caller gives later belongs to a plan that the caller has not seen, so the plan is confirmed.
#[tokio::test]
async fn a_change_that_lacks_values_is_confirmed() {
    let rig = Rig::new(true).await;
    let started = rig.start(GIVEN, json!({})).await;
    assert!(started.state.confirm);
    assert_eq!(started.summary.status, RunStatus::AwaitingParameters);
    rig.engine.stop().await;
}

/// Where four eyes are off, the confirmation is the approval: recorded as any decision, and used once. Neither readers
/// nor watchers see that the run waits for a person again.
#[tokio::test]
async fn a_confirmation_without_four_eyes_is_also_the_approval() {
    let rig = Rig::new(false).await;
    let plan = rig.proposed(GIVEN).await;
    let run = &plan.summary.run_id;
    rig.confirm(&plan).await;
    // The run waits for no person meanwhile.
    let ann = person("ann");
    let rested = rig.engine.run_views().wait(&ann, run, TIMEOUT);
    assert_eq!(rested.await.unwrap().summary.status, RunStatus::Completed);
    assert_eq!(rig.calls(), 1);
    let announced = rig.announced(run).await;
    assert_eq!(announced, ["awaiting_confirmation", "working", "completed"]);
    let approvals = rig.approvals(run).await;
    let [approval] = &approvals[..] else {
        panic!("{approvals:#?}");
    };
    let ApprovalStatus::Consumed(agreed) = &approval.state else {
        panic!("{approval:#?}");
    };
    assert_eq!(agreed.decided.by, ann.user);
    assert_eq!(approval.plan_digest, None);
    let reason = agreed.decided.reason.as_deref().unwrap();
    assert!(reason.contains(plan.state.plan_digest.as_str()), "{reason}");
    let refused = rig.approve("bob", approval).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::IllegalTransition);
    let (filter, page) = (EvidenceFilter::default(), PageRequest::new(None, 10));
    let store = rig.engine.store();
    let found = store.find_evidence(&ann.tenant, &filter, &page).await;
    let records = found.unwrap().entries.into_iter();
    let records = records.filter(|record| record.evidence_type == EvidenceType::ApprovalRecord);
    let decided: Vec<Value> = records.map(|record| json!(record.payload["by"])).collect();
    assert_eq!(decided, [json!("ann")]);
    let replayed = rig.engine.run_views().replay(&ann, run).await;
    assert_eq!(replayed.unwrap().divergence, None);
    rig.engine.stop().await;
}

/// With four eyes, and for a message that may be an agent's, a confirmation approves nothing.
#[tokio::test]
async fn a_confirmation_that_is_no_approval_leaves_the_call_to_another_decision() {
    for four_eyes in [true, false] {
        let rig = Rig::new(four_eyes).await;
        let plan = rig.proposed(GIVEN).await;
        let run = &plan.summary.run_id;
        if four_eyes {
            rig.confirm(&plan).await;
        } else {
            let (ann, management) = (person("ann"), rig.engine.run_management());
            let confirmation = Rig::confirmation(&plan);
            let confirmed = management.confirm_alone(&ann, run, confirmation);
            confirmed.await.unwrap();
        }
        let asked = rig.met(run, RunStatus::AwaitingApproval).await;
        let [approval] = &asked.approvals[..] else {
            panic!("{asked:#?}");
        };
        let own = rig.approve("ann", approval).await;
        assert_eq!(own.is_err(), four_eyes);
        assert_eq!(rig.calls(), 0);
        rig.engine.stop().await;
    }
}

/// The run waits for a person after all, and readers and watchers see that.
#[tokio::test]
async fn a_confirmation_that_lapses_before_its_use_leaves_the_call_to_a_person() {
    let rig = Rig::lapsing().await;
    let plan = rig.proposed(LOOKING).await;
    let run = &plan.summary.run_id;
    rig.confirm(&plan).await;
    let asked = rig.met(run, RunStatus::AwaitingApproval).await;
    let [approval] = &asked.approvals[..] else {
        panic!("{asked:#?}");
    };
    assert_eq!(approval.state, ApprovalStatus::Pending);
    assert_eq!(rig.calls(), 0);
    let announced = rig.announced(run).await;
    let expected = ["awaiting_confirmation", "working", "awaiting_approval"];
    assert_eq!(announced, expected);
    rig.approve("bob", approval).await.unwrap();
    rig.met(run, RunStatus::Completed).await;
    assert_eq!(rig.calls(), 1);
    rig.engine.stop().await;
}
