//! Schedules over SQLite, with a simulated clock.

mod faults;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use charter_contract::catalogue::schedule::OccurrenceState;
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{PackageName, ScheduleId};
use charter_contract::package::{PackageBundle, PackageScope};
use charter_contract::time::Timestamp;
use charter_effects::{NoModels, ToolCall, ToolOutcome, ToolRunner};
use charter_store::SharedStore;
use charter_store::page::PageRequest;
use charter_testkit::clock::SimulatedClock;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::identity::ScheduleIdentity;
use super::{OccurrenceView, ScheduleOrder};
use crate::engine::tests::{engine_at, open};
use crate::identity::caller::tests::{caller, person};
use crate::{Engine, Mode, Role, Settings};

const TIMEOUT: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3_600);

/// Counts the calls.
#[derive(Default)]
struct Counting(AtomicUsize);

#[async_trait]
impl ToolRunner for Counting {
    async fn run(&self, _call: ToolCall, _cancel: CancellationToken) -> ToolOutcome {
        self.0.fetch_add(1, Ordering::SeqCst);
        ToolOutcome::Succeeded {
            output: json!({"doors": []}),
            log: String::new(),
            duration_ms: 1,
        }
    }
}

fn package() -> PackageBundle {
    let tool = "tool_id: doors.look\nname: look\nprovider: doors\ntool_class: readonly\ndomain: reliability\n\
                description: Lists the doors.\nlanguage: python\nexecution_target: server\nparameters: []\n\
                implementation: {type: script, body: \"pass\"}\n";
    let files = json!({"files": {
        "package.yaml": "name: doors\nversion: 1.0.0\ntitle: Doors\nscope: tenant\n",
        "tools/look.yaml": tool,
    }});
    serde_json::from_value(files).unwrap()
}

fn at(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

struct Rig {
    engine: Arc<Engine>,
    store: SharedStore,
    clock: SimulatedClock,
    tools: Arc<Counting>,
    _dir: TempDir,
}

impl Rig {
    async fn at(time: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store: SharedStore = open(dir.path());
        let clock = SimulatedClock::at(at(time));
        let tools = Arc::new(Counting::default());
        let engine = replica(&store, &clock, &tools).await;
        let ann = person("ann");
        let registered = engine.packages().register(&ann, package(), Mode::Apply);
        registered.await.unwrap();
        Self {
            engine,
            store,
            clock,
            tools,
            _dir: dir,
        }
    }

    /// Enables the schedule `nightly` as Ann.
    async fn enable(&self, when: &Value, more: &Value) {
        let (ann, order) = (person("ann"), order(when, more));
        let enabled = self.engine.schedules().enable(&ann, &order);
        enabled.await.unwrap();
    }

    async fn occurrences(&self) -> Vec<OccurrenceView> {
        let page = PageRequest::new(None, 100);
        let schedules = self.engine.schedules();
        let listed = schedules.occurrences(&person("ann"), &id(), &page).await;
        listed.unwrap().entries
    }

    /// Fires what is due, until nothing waits and all its work has ended.
    async fn fire(&self) {
        let fired = async {
            loop {
                self.engine.schedules().fire_due().await.unwrap();
                let is_open = |one: &OccurrenceView| {
                    matches!(
                        one.state,
                        OccurrenceState::Waiting | OccurrenceState::Started
                    )
                };
                if !self.occurrences().await.iter().any(is_open) {
                    return;
                }
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(TIMEOUT, fired).await.unwrap();
    }

    fn calls(&self) -> usize {
        self.tools.0.load(Ordering::SeqCst)
    }
}

async fn replica(
    store: &SharedStore,
    clock: &SimulatedClock,
    tools: &Arc<Counting>,
) -> Arc<Engine> {
    let tools = Arc::clone(tools) as Arc<dyn ToolRunner>;
    let (clock, store) = (Arc::new(clock.clone()), Arc::clone(store));
    engine_at(clock, store, tools, Arc::new(NoModels), Settings::default()).await
}

fn id() -> ScheduleId {
    ScheduleId::parse("nightly").unwrap()
}

/// An order for a schedule that looks at the doors.
fn order(when: &Value, more: &Value) -> ScheduleOrder {
    let mut schedule = json!({
        "schedule_id": "nightly", "title": "Nightly look", "when": when,
        "run": {"plan": {
            "id": "plan-01930000-0000-7000-8000-000000000007",
            "request_id": "req-01930000-0000-7000-8000-000000000001",
            "created_at": "2026-01-01T00:00:00Z",
            "steps": [{"id": "step-001", "tool": "tool-doors-look", "parameters": {}}],
        }},
    });
    for (field, value) in more.as_object().into_iter().flatten() {
        schedule[field] = value.clone();
    }
    serde_json::from_value(json!({"schedule": schedule})).unwrap()
}

fn at_half_past_two() -> Value {
    json!({"cron": {"expression": "30 2 * * *", "time_zone": "Europe/Paris"}})
}

/// On 2026-03-29 Paris has no 02:30, and on 2026-10-25 it has two: a nightly check runs once a night all the same.
#[tokio::test]
async fn a_nightly_schedule_fires_once_a_night_where_clocks_change() {
    for start in ["2026-03-27T12:00:00Z", "2026-10-23T12:00:00Z"] {
        let rig = Rig::at(start).await;
        rig.enable(&at_half_past_two(), &json!({})).await;
        for _ in 0..(3 * 24 * 2) {
            rig.clock.advance(HOUR / 2).unwrap();
            rig.fire().await;
        }
        assert_eq!(rig.calls(), 3, "{start}");
        let states: Vec<_> = rig
            .occurrences()
            .await
            .iter()
            .map(|one| one.state)
            .collect();
        assert_eq!(states, [OccurrenceState::Ended; 3], "{start}");
    }
}

/// Replicas that look at the same time, and one that starts later over the same store, start an occurrence once.
#[tokio::test]
async fn an_occurrence_starts_once_across_replicas_and_restarts() {
    let rig = Rig::at("2026-01-01T12:00:00Z").await;
    let other = replica(&rig.store, &rig.clock, &rig.tools).await;
    rig.enable(
        &json!({"every_s": 3600}),
        &json!({"missed": "run_all", "overlap": "queue"}),
    )
    .await;
    rig.clock.advance(HOUR).unwrap();
    let (one, two) = tokio::join!(
        rig.engine.schedules().fire_due(),
        other.schedules().fire_due()
    );
    one.unwrap();
    two.unwrap();
    rig.fire().await;
    assert_eq!(rig.calls(), 1);
    let later = replica(&rig.store, &rig.clock, &rig.tools).await;
    later.schedules().fire_due().await.unwrap();
    rig.fire().await;
    assert_eq!(rig.calls(), 1);
    rig.clock.advance(HOUR * 2).unwrap();
    later.schedules().fire_due().await.unwrap();
    rig.fire().await;
    assert_eq!(rig.calls(), 3);
}

/// After an absence the latest occurrence starts late, and those before it are recorded as missed.
#[tokio::test]
async fn missed_occurrences_are_recorded() {
    let rig = Rig::at("2026-01-01T12:00:00Z").await;
    rig.enable(&json!({"every_s": 3600}), &json!({})).await;
    rig.clock.advance(HOUR * 5 + HOUR / 2).unwrap();
    rig.fire().await;
    let found = rig.occurrences().await;
    let found: Vec<_> = found.iter().map(|one| (one.due_at, one.state)).collect();
    let expected = [
        (at("2026-01-01T17:00:00Z"), OccurrenceState::Ended),
        (at("2026-01-01T16:00:00Z"), OccurrenceState::Missed),
    ];
    assert_eq!(found, expected);
    assert_eq!(rig.calls(), 1);
}

/// A paused schedule does not fire; when it is resumed, the time in between is not caught up.
#[tokio::test]
async fn a_paused_schedule_fires_again_after_it_is_resumed() {
    let rig = Rig::at("2026-01-01T12:00:00Z").await;
    let (schedules, ann) = (rig.engine.schedules(), person("ann"));
    rig.enable(&json!({"every_s": 3600}), &json!({})).await;
    schedules.pause(&ann, &id()).await.unwrap();
    rig.clock.advance(HOUR * 3).unwrap();
    rig.fire().await;
    assert_eq!(rig.calls(), 0);
    let again = schedules.pause(&ann, &id()).await.unwrap_err();
    assert_eq!(again.code, ErrorCode::IllegalTransition);
    let resumed = schedules.resume(&ann, &id()).await.unwrap();
    assert_eq!(resumed.next_at, Some(at("2026-01-01T16:00:00Z")));
    rig.clock.advance(HOUR).unwrap();
    rig.fire().await;
    assert_eq!(rig.calls(), 1);
}

/// A one-off fires once, and cannot be in the past.
#[tokio::test]
async fn a_one_off_fires_once() {
    let rig = Rig::at("2026-01-01T12:00:00Z").await;
    let past = order(&json!({"at": "2026-01-01T11:00:00Z"}), &json!({}));
    let refused = rig.engine.schedules().enable(&person("ann"), &past).await;
    assert_eq!(refused.unwrap_err().code, ErrorCode::InvalidRequest);
    rig.enable(&json!({"at": "2026-01-01T13:00:00Z"}), &json!({}))
        .await;
    for _ in 0..3 {
        rig.clock.advance(HOUR).unwrap();
        rig.fire().await;
    }
    assert_eq!(rig.calls(), 1);
}

/// A caller with less access than the schedule can neither start nor resume it, and another user does not see it.
#[tokio::test]
async fn a_schedule_lends_its_access_to_nobody() {
    let rig = Rig::at("2026-01-01T12:00:00Z").await;
    let schedules = rig.engine.schedules();
    rig.enable(&json!({"every_s": 3600}), &json!({})).await;
    let bob = caller("bob", Role::User);
    let unseen = schedules.start_now(&bob, &id()).await.unwrap_err();
    assert_eq!(unseen.code, ErrorCode::NotFound);
    let ann = caller("ann", Role::User);
    let refused = schedules.start_now(&ann, &id()).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::PermissionDenied);
    schedules.start_now(&person("ann"), &id()).await.unwrap();
    rig.fire().await;
    assert_eq!(rig.calls(), 1);
}

/// The user who enabled a schedule, the makers of that user's key, and who starts it have asked for its work.
#[tokio::test]
async fn its_registrant_has_asked_for_its_work() {
    let rig = Rig::at("2026-01-01T12:00:00Z").await;
    rig.enable(&json!({"every_s": 3600}), &json!({})).await;
    let schedules = rig.engine.schedules();
    schedules.start_now(&person("olga"), &id()).await.unwrap();
    let record = rig.store.schedule(&person("ann").tenant, &id()).await;
    let identity = ScheduleIdentity::read(&record.unwrap().unwrap()).unwrap();
    let caller = identity.caller(&person("ann").tenant);
    let asked: Vec<String> = caller.person().names().map(ToString::to_string).collect();
    assert_eq!(asked, ["ann", "olga"]);
}

/// A work that cannot start is recorded with its reason.
#[tokio::test]
async fn a_start_that_fails_is_recorded() {
    let rig = Rig::at("2026-01-01T12:00:00Z").await;
    rig.enable(
        &json!({"every_s": 3600}),
        &json!({"parameters": {"door": 1}}),
    )
    .await;
    let doors = PackageName::parse("doors").unwrap();
    let (ann, packages) = (person("ann"), rig.engine.packages());
    let removed = packages.unregister(&ann, PackageScope::Tenant, &doors);
    removed.await.unwrap();
    rig.clock.advance(HOUR).unwrap();
    rig.fire().await;
    let found = rig.occurrences().await;
    assert_eq!(found[0].state, OccurrenceState::Failed);
    assert!(found[0].note.is_some());
    assert_eq!(rig.calls(), 0);
}
