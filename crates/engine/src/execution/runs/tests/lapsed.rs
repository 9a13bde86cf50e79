//! A lapsed approval calls nothing, however the time passed (ruling 28).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{Label, PlaybookId, RunId, UserId};
use charter_contract::package::PackageBundle;
use charter_contract::run_status::RunStatus;
use charter_domain::approval::{Approval, ApprovalStatus};
use charter_domain::graph::{GraphParts, Retry, StepGraph};
use charter_domain::run::{Command, ErrorKind, StepState};
use charter_effects::{ToolCall, ToolOutcome, ToolRunner};
use charter_store_sql::sqlite::SqliteStore;
use charter_testkit::clock::SimulatedClock;
use charter_testkit::store_suite::sample;
use futures_util::StreamExt;
use serde_json::{Map, json};
use tempfile::TempDir;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::engine::tests::{engine_at, open};
use crate::execution::runs::drivers::Decided;
use crate::identity::caller::tests::person;
use crate::{
    ApprovalAnswer, ApprovalDecision, ApproverGroup, DryRun, Engine, EngineError, Mode, RunView,
    Settings,
};

const TOOL: &str = "switch.off";
const PLAYBOOK: &str = "reliability.switch_off";

/// How long a test waits for a run.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Calls that are permitted at once, unless a test holds them.
const FREE: usize = 100;

/// A tool that counts its calls, of which the first ones fail.
struct Switch {
    calls: AtomicUsize,
    failures: usize,
    /// A permit for each call.
    free: Semaphore,
}

#[async_trait]
impl ToolRunner for Switch {
    async fn run(&self, call: ToolCall, _: CancellationToken) -> ToolOutcome {
        let is_switch = call.tool_id.as_str() == TOOL;
        self.free.acquire().await.unwrap().forget();
        let calls = &self.calls;
        if is_switch && calls.fetch_add(1, Ordering::SeqCst) >= self.failures {
            return ToolOutcome::Succeeded {
                output: json!({"off": true}),
                log: String::new(),
                duration_ms: 1,
            };
        }
        ToolOutcome::Failed {
            kind: ErrorKind::ExecutionError,
            message: "it is stuck".to_owned(),
            retryable: true,
            stale: false,
            answered: false,
            log: String::new(),
            duration_ms: 1,
        }
    }
}

fn package() -> PackageBundle {
    let files = json!({"files": {
        "package.yaml": "name: switch\nversion: 1.0.0\ntitle: Switch\nscope: tenant\n",
        "tools/off.yaml": format!(
            "tool_id: {TOOL}\nname: off\nprovider: aws\ntool_class: write\ndomain: reliability\n\
             description: Switches it off.\nlanguage: python\nexecution_target: server\nidempotent: true\n\
             parameters: [{{name: switch, type: string, required: true, description: the switch}}]\n\
             implementation: {{type: script, body: \"pass\"}}\n"
        ),
        "playbooks/off.yaml": format!(
            "playbook_id: {PLAYBOOK}\nname: Switch off\ndomain: reliability\n\
             trigger_conditions: [it has to be off]\ntarget_language: python\n\
             mandatory_parameters: [{{name: switch, type: string, description: the switch}}]\n\
             steps:\n\x20 - {{step_id: s1, type: write, tool_id: {TOOL}, on_failure: stop, \
             parameters: {{switch: \"${{user.switch}}\"}}}}\n\
             safety: {{safety_class: supervised}}\n"
        ),
    }});
    serde_json::from_value(files).unwrap()
}

struct Rig {
    engine: Arc<Engine>,
    store: Arc<SqliteStore>,
    switch: Arc<Switch>,
    clock: SimulatedClock,
    settings: Settings,
    dir: TempDir,
}

impl Rig {
    async fn new(approval_ttl: Duration, failures: usize) -> Self {
        Self::with_groups(approval_ttl, failures, Vec::new()).await
    }

    async fn with_groups(
        approval_ttl: Duration,
        failures: usize,
        approver_groups: Vec<ApproverGroup>,
    ) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let settings = Settings {
            approval_ttl,
            tool_calls: 1,
            approver_groups,
            ..Settings::default()
        };
        let rig = Self::over(
            open(dir.path()),
            Arc::new(Switch {
                calls: AtomicUsize::new(0),
                failures,
                free: Semaphore::new(FREE),
            }),
            SimulatedClock::at(sample::at(0).unwrap()),
            settings,
            dir,
        );
        let rig = rig.await;
        let ann = person("ann");
        let registered = rig.engine.packages().register(&ann, package(), Mode::Apply);
        registered.await.unwrap();
        rig
    }

    async fn over(
        store: Arc<SqliteStore>,
        switch: Arc<Switch>,
        clock: SimulatedClock,
        settings: Settings,
        dir: TempDir,
    ) -> Self {
        let engine = engine_at(
            Arc::new(clock.clone()),
            Arc::<SqliteStore>::clone(&store),
            Arc::<Switch>::clone(&switch),
            Arc::new(charter_effects::NoModels),
            settings.clone(),
        );
        Self {
            engine: engine.await,
            store,
            switch,
            clock,
            settings,
            dir,
        }
    }

    /// Restarts as another process, at a later time.
    async fn restarted(self, after: Duration) -> Self {
        self.engine.stop().await;
        self.clock.advance(after).unwrap();
        let Self {
            store,
            switch,
            clock,
            settings,
            dir,
            ..
        } = self;
        Self::over(store, switch, clock, settings, dir).await
    }

    fn calls(&self) -> usize {
        self.switch.calls.load(Ordering::SeqCst)
    }

    /// Starts a run as ann, which requests an approval: the one decision on its write. Each run has a switch of its
    /// own, because runs of the same call wait for one another.
    async fn start(&self, retry: Retry) -> RunId {
        let ann = person("ann");
        let playbook = PlaybookId::parse(PLAYBOOK).unwrap();
        let run = RunId::from_uuid(Uuid::now_v7());
        let given = Map::from_iter([("switch".to_owned(), json!(run.as_str()))]);
        let new =
            self.engine
                .run_starts()
                .playbook_run(&ann, &playbook, &given, DryRun::No, run.clone());
        let mut new = new.unwrap();
        let mut parts = GraphParts::from(new.graph);
        parts.steps[0].retry = retry;
        new.graph = StepGraph::new(parts).unwrap();
        self.engine.runs().start(new).await.unwrap();
        self.met(&run, "approval_requested", 1).await;
        run
    }

    async fn shown(&self, run: &RunId) -> RunView {
        self.engine
            .run_views()
            .show(&person("ann"), run)
            .await
            .unwrap()
    }

    /// Waits until the run has this many events of this name.
    async fn met(&self, run: &RunId, wanted: &str, times: usize) {
        let met = async {
            let events = self.engine.run_views().follow(&person("ann"), run, 0).await;
            let mut events = std::pin::pin!(events.unwrap());
            let mut left = times;
            while let Some(shown) = events.next().await {
                left -= usize::from(json!(shown.entry)["event"] == wanted);
                if left == 0 {
                    return;
                }
            }
            panic!("the run ends without {times} × {wanted}");
        };
        tokio::time::timeout(TIMEOUT, met).await.unwrap();
    }

    /// Returns the run after its last event.
    async fn ended(&self, run: &RunId) -> RunView {
        let ended = async {
            let events = self.engine.run_views().follow(&person("ann"), run, 0).await;
            events.unwrap().count().await
        };
        tokio::time::timeout(TIMEOUT, ended).await.unwrap();
        self.shown(run).await
    }

    /// Returns the approval that the run requests now.
    async fn asked(&self, run: &RunId) -> Approval {
        let open = self.shown(run).await.approvals.into_iter();
        let pending = open.filter(|approval| approval.state == ApprovalStatus::Pending);
        pending.max_by_key(|approval| approval.expires_at).unwrap()
    }

    async fn approve(&self, run: &RunId) -> Approval {
        self.approve_as("bob", run).await.unwrap()
    }

    async fn approve_as(&self, name: &str, run: &RunId) -> Result<Approval, EngineError> {
        let asked = self.asked(run).await;
        let say = ApprovalDecision {
            answer: ApprovalAnswer::Approve,
            digest: asked.digest.to_string(),
            reason: None,
        };
        let by = person(name);
        let decided = self.engine.approvals().decide(&by, &asked.approval_id, say);
        decided.await
    }

    /// Waits for the announcement that an approval went to the next group.
    async fn escalated(&self) {
        let topic = "approval.escalated".to_owned();
        let events = self
            .engine
            .events()
            .follow(person("ann"), Some(0), Some(topic));
        let mut events = std::pin::pin!(events);
        let next = tokio::time::timeout(TIMEOUT, events.next()).await;
        assert!(next.unwrap().is_some());
    }
}

const HALF_AN_HOUR: Duration = Duration::from_secs(1_800);
const HOUR: Duration = Duration::from_secs(3_600);
const DAY: Duration = Duration::from_secs(86_400);

/// A call that was approved during a pause begins after it, unless the approval has lapsed. This is independent of
/// which users paused and resumed: the starter of the run, the approver or another operator.
#[tokio::test]
async fn ruling_28_an_approval_that_lapsed_in_a_pause_calls_nothing() {
    let pauses = [
        (HALF_AN_HOUR, RunStatus::Completed, 1),
        (HOUR, RunStatus::Failed, 0),
    ];
    let people = [
        ("ann", "ann"),
        ("bob", "ann"),
        ("bob", "bob"),
        ("cid", "ann"),
    ];
    let cases = people
        .into_iter()
        .flat_map(|by| pauses.map(|pause| (by, pause)));
    for ((pauses, resumes), (paused, status, calls)) in cases {
        let rig = Rig::new(HOUR, 0).await;
        let run = rig.start(Retry::default()).await;
        let ann = person("ann");
        let pauses = person(pauses);
        rig.engine
            .run_management()
            .pause(&pauses, &run)
            .await
            .unwrap();
        let approved = rig.approve(&run).await;
        rig.clock.advance(paused).unwrap();
        let kept = rig
            .engine
            .approvals()
            .get(&ann, &approved.approval_id)
            .await;
        assert_eq!(kept.unwrap().approval, approved, "a pause uses nothing");
        // Once the approval has lapsed, the run may have ended in the pause already.
        let resumed = rig
            .engine
            .run_management()
            .resume(&person(resumes), &run)
            .await;
        let shown = rig.ended(&run).await;
        assert_eq!((shown.summary.status, rig.calls()), (status, calls));
        assert!(resumed.is_ok() || calls == 0, "{resumed:?}");
        let after = rig
            .engine
            .approvals()
            .get(&ann, &approved.approval_id)
            .await;
        let used = matches!(after.unwrap().approval.state, ApprovalStatus::Consumed(_));
        assert_eq!(used, calls == 1);
        if calls == 0 {
            let StepState::Failed { failure } = &shown.state.steps[0].state else {
                panic!("{shown:#?}");
            };
            let end = approved.expires_at;
            let told =
                format!("`bob` approved it, but the run did not use the approval before {end}");
            assert_eq!(
                (failure.code.as_str(), &failure.message),
                ("approval_expired", &told)
            );
        }
        rig.engine.stop().await;
    }
}

/// A process that ends between the approval and the step leaves an approval that lapses.
#[tokio::test]
async fn ruling_28_an_approval_that_lapsed_over_a_restart_calls_nothing() {
    let rig = Rig::new(HOUR, 0).await;
    let run = rig.start(Retry::default()).await;
    let asked = rig.asked(&run).await;
    let grant = Command::Grant {
        step: asked.call.step.clone(),
        approval: asked.approval_id.clone(),
        digest: asked.digest.clone(),
        by: person("bob").user,
    };
    let tenant = person("ann").tenant;
    // The driver that requested it may still be stopping.
    loop {
        let granted = rig
            .engine
            .runs()
            .decide_without_driver(&tenant, &run, grant.clone());
        match granted.await.unwrap() {
            Decided::Here => break,
            Decided::Elsewhere => tokio::task::yield_now().await,
        }
    }
    let rig = rig.restarted(HOUR).await;
    rig.engine.maintenance().recover().await.unwrap();
    rig.met(&run, "approval_requested", 2).await;
    assert_eq!(rig.calls(), 0);
    rig.approve(&run).await;
    let shown = rig.ended(&run).await;
    assert_eq!(
        (shown.summary.status, rig.calls()),
        (RunStatus::Completed, 1)
    );
    let replayed = rig.engine.run_views().replay(&person("ann"), &run).await;
    assert_eq!(replayed.unwrap().divergence, None);
    rig.engine.stop().await;
}

/// Another attempt begins under the approval of the first one only until that lapses.
#[tokio::test]
async fn ruling_28_an_approval_that_lapsed_before_a_retry_calls_nothing() {
    for (ttl, approvals) in [(DAY, 1), (HALF_AN_HOUR, 2)] {
        let rig = Rig::new(ttl, 1).await;
        let retry = Retry {
            retries: 1,
            delay_ms: 3_600_000,
        };
        let run = rig.start(retry).await;
        rig.approve(&run).await;
        rig.met(&run, "retry_scheduled", 1).await;
        rig.clock.advance(HOUR).unwrap();
        rig.engine.runs().resume(person("ann").tenant, run.clone());
        rig.met(&run, "approval_requested", approvals).await;
        if approvals == 2 {
            assert_eq!(rig.calls(), 1);
            rig.approve(&run).await;
        }
        let shown = rig.ended(&run).await;
        assert_eq!(
            (shown.summary.status, rig.calls()),
            (RunStatus::Completed, 2)
        );
        rig.engine.stop().await;
    }
}

/// A call that waits for a slot in the process begins only if it is still approved when it gets one.
#[tokio::test]
async fn ruling_28_an_approval_that_lapsed_in_a_queue_calls_nothing() {
    let rig = Rig::new(HOUR, 0).await;
    let held = rig.switch.free.forget_permits(FREE);
    let (first, second) = (
        rig.start(Retry::default()).await,
        rig.start(Retry::default()).await,
    );
    for run in [&first, &second] {
        rig.approve(run).await;
        rig.met(run, "step_begun", 1).await;
    }
    rig.clock.advance(HOUR).unwrap();
    rig.switch.free.add_permits(held);
    let (first, second) = (rig.ended(&first).await, rig.ended(&second).await);
    assert_eq!(first.summary.status, RunStatus::Completed);
    let StepState::Failed { failure } = &second.state.steps[0].state else {
        panic!("{second:#?}");
    };
    assert_eq!(
        (failure.code.as_str(), rig.calls()),
        ("approval_expired", 1)
    );
    rig.engine.stop().await;
}

/// Bob's group, and Cid's after half an hour.
fn groups() -> Vec<ApproverGroup> {
    let group = |name: &str, user: &str| ApproverGroup {
        name: Label::parse(name).unwrap(),
        tenant: None,
        users: [UserId::parse(user).unwrap()].into(),
        answers_within: HALF_AN_HOUR,
    };
    vec![group("on-call", "bob"), group("leads", "cid")]
}

/// An approval that nobody of a group answers goes to the next group, also if the process was away at that time.
#[tokio::test]
async fn an_unanswered_approval_goes_to_the_next_group() {
    let rig = Rig::with_groups(DAY, 0, groups()).await;
    let run = rig.start(Retry::default()).await;
    let early = rig.approve_as("cid", &run).await.unwrap_err();
    assert_eq!(early.code, ErrorCode::PermissionDenied);
    assert!(early.to_string().contains("`on-call`"), "{early}");
    let rig = rig.restarted(HALF_AN_HOUR).await;
    rig.engine.maintenance().recover().await.unwrap();
    rig.escalated().await;
    let asked = rig.asked(&run).await;
    let shown = rig
        .engine
        .approvals()
        .get(&person("cid"), &asked.approval_id)
        .await
        .unwrap();
    assert_eq!(shown.group, Some(Label::parse("leads").unwrap()));
    assert!(shown.can_approve);
    rig.approve_as("cid", &run).await.unwrap();
    assert_eq!(rig.ended(&run).await.summary.status, RunStatus::Completed);
    rig.engine.stop().await;
}

/// A member hands an approval on; nobody else does, and nobody follows the last group.
#[tokio::test]
async fn a_member_of_the_group_hands_an_approval_on() {
    let rig = Rig::with_groups(DAY, 0, groups()).await;
    let run = rig.start(Retry::default()).await;
    let approval = rig.asked(&run).await.approval_id;
    let approvals = rig.engine.approvals();
    let refused = approvals.hand_on(&person("cid"), &approval).await;
    assert_eq!(refused.unwrap_err().code, ErrorCode::PermissionDenied);
    approvals.hand_on(&person("bob"), &approval).await.unwrap();
    rig.escalated().await;
    let last = approvals.hand_on(&person("bob"), &approval).await;
    assert_eq!(last.unwrap_err().code, ErrorCode::IllegalTransition);
    rig.approve_as("cid", &run).await.unwrap();
    assert_eq!(rig.ended(&run).await.summary.status, RunStatus::Completed);
    rig.engine.stop().await;
}

/// Two requests to hand an approval on at the same time both count: neither undoes the turn of the other.
#[tokio::test]
async fn hand_ons_at_the_same_time_lose_no_turn() {
    let board = ApproverGroup {
        name: Label::parse("board").unwrap(),
        users: [UserId::parse("dan").unwrap()].into(),
        ..groups().remove(0)
    };
    let mut all = groups();
    all.push(board);
    let rig = Rig::with_groups(DAY, 0, all).await;
    let run = rig.start(Retry::default()).await;
    let approval = rig.asked(&run).await.approval_id;
    let (approvals, bob, dan) = (rig.engine.approvals(), person("bob"), person("dan"));
    let hand_on = || approvals.hand_on(&bob, &approval);
    let (first, second) = futures_util::future::join(hand_on(), hand_on()).await;
    first.unwrap();
    second.unwrap();
    let shown = approvals.get(&dan, &approval).await.unwrap();
    assert_eq!(shown.group, Some(Label::parse("board").unwrap()));
    assert!(shown.can_approve);
    rig.engine.stop().await;
}

/// A turn that began is not undone by a decision at the same time, which is made on the approval as it is stored.
#[tokio::test]
async fn a_decision_keeps_the_turn_of_a_hand_on_at_the_same_time() {
    let rig = Rig::with_groups(DAY, 0, groups()).await;
    let run = rig.start(Retry::default()).await;
    let approval = rig.asked(&run).await.approval_id;
    let (approvals, bob) = (rig.engine.approvals(), person("bob"));
    let both = (
        approvals.hand_on(&bob, &approval),
        rig.approve_as("bob", &run),
    );
    let (handed_on, approved) = futures_util::future::join(both.0, both.1).await;
    approved.unwrap();
    if handed_on.is_ok() {
        let shown = approvals.get(&bob, &approval).await.unwrap();
        assert_eq!(shown.group, Some(Label::parse("leads").unwrap()));
    }
    rig.engine.stop().await;
}

/// An approval whose time is over is not handed on.
#[tokio::test]
async fn an_expired_approval_is_not_handed_on() {
    let rig = Rig::with_groups(HOUR, 0, groups()).await;
    let run = rig.start(Retry::default()).await;
    let approval = rig.asked(&run).await.approval_id;
    rig.clock.advance(HOUR).unwrap();
    let approvals = rig.engine.approvals();
    let late = approvals.hand_on(&person("bob"), &approval).await;
    let late = late.unwrap_err();
    // Its run may have lapsed it before.
    let is_refused = late.code == ErrorCode::ApprovalExpired || late.message.contains("lapsed");
    assert!(is_refused, "{late}");
    rig.engine.stop().await;
}
