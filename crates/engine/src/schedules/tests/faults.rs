//! Schedules that change while they fire, work that cannot be read, and triggers of other users.

use charter_contract::bounds::{SCHEDULE_BYTES, TRIGGER_BACKLOG};
use charter_contract::ids::{RequestId, UserId};
use charter_store::request::{RequestLease, RequestRecord};
use charter_store::schedule::{OccurrenceRecord, ScheduleRecord};
use uuid::Uuid;

use super::*;
use crate::Caller;
use crate::schedules::StartedWork;
use crate::schedules::occurrences::occurrence;

impl Rig {
    /// Enables a schedule of this id as a caller.
    async fn enable_as(&self, caller: &Caller, id: &str, when: &Value) {
        let order = order(when, &json!({"schedule_id": id}));
        let enabled = self.engine.schedules().enable(caller, &order);
        enabled.await.unwrap();
    }

    async fn record(&self, id: &str) -> ScheduleRecord {
        let tenant = person("ann").tenant;
        let found = self.store.schedule(&tenant, &schedule(id)).await;
        found.unwrap().unwrap()
    }

    /// Returns the occurrences of a schedule, latest first.
    async fn occurrences_of(&self, id: &str) -> Vec<OccurrenceRecord> {
        let (tenant, page) = (person("ann").tenant, PageRequest::new(None, 200));
        let listed = self.store.occurrences(&tenant, &schedule(id), &page).await;
        listed.unwrap().entries
    }

    /// Records a started occurrence of a schedule with this work.
    async fn start_with(&self, id: &str, key: &str, work: &str) {
        let record = self.record(id).await;
        let now = self.engine.schedules().clock.now();
        let started = OccurrenceRecord {
            state: OccurrenceState::Started,
            work: Some(work.to_owned()),
            ..occurrence(&record, key.to_owned(), now, None)
        };
        let added = self.store.add_occurrence(&started, TRIGGER_BACKLOG, vec![]);
        added.await.unwrap();
    }

    /// Records a started occurrence of Ann's schedule whose request found an open door.
    async fn find_a_door(&self, id: &str) {
        let ann = person("ann");
        let now = self.engine.schedules().clock.now();
        let request_id = RequestId::from_uuid(Uuid::from_u128(7));
        let request = RequestRecord {
            request_id: request_id.clone(),
            tenant_id: ann.tenant.clone(),
            user_id: ann.user.clone(),
            asked: "{}".to_owned(),
            verdict: None,
            answer: None,
            run_id: None,
            result: None,
            created_at: now,
            updated_at: now,
        };
        let lease = RequestLease {
            holder: "a".to_owned(),
            until: now,
        };
        self.store.open_request(&request, &lease).await.unwrap();
        let answer = json!({"metadata": {"findings": [{
            "finding_id": "fnd_1", "rule_id": "open_door", "skill_id": "doors.check", "severity": "high",
            "resource_type": "door", "resource_id": "front",
        }]}});
        let answer = answer.to_string();
        let closed = self
            .store
            .close_request(&ann.tenant, &request_id, &answer, None, now);
        closed.await.unwrap();
        let work = json!(StartedWork::Request(request_id)).to_string();
        self.start_with(id, "found", &work).await;
    }

    async fn fire_once(&self) {
        self.engine.schedules().fire_due().await.unwrap();
    }

    async fn topics(&self) -> Vec<(String, Option<UserId>)> {
        let messages = self.store.messages(0, 500).await.unwrap().into_iter();
        messages
            .map(|one| (one.message.topic, one.message.user_id))
            .collect()
    }
}

fn schedule(id: &str) -> ScheduleId {
    ScheduleId::parse(id).unwrap()
}

fn hourly() -> Value {
    json!({"every_s": 3600})
}

fn by_findings() -> Value {
    json!({"finding": {"min_severity": "high"}})
}

#[tokio::test]
async fn findings_start_only_triggers_whose_owner_sees_them() {
    let rig = Rig::at("2026-01-01T12:00:00Z").await;
    rig.enable(&hourly(), &json!({})).await;
    let (ann, bob) = (person("ann"), caller("bob", Role::User));
    for (owner, id) in [(&ann, "mine"), (&bob, "theirs")] {
        rig.enable_as(owner, id, &by_findings()).await;
    }
    rig.find_a_door("nightly").await;
    rig.fire_once().await;
    assert_eq!(rig.occurrences_of("mine").await.len(), 1);
    assert!(rig.occurrences_of("theirs").await.is_empty());
}

#[tokio::test]
async fn new_findings_beyond_the_backlog_are_recorded_as_skipped() {
    let rig = Rig::at("2026-01-01T12:00:00Z").await;
    rig.enable(&hourly(), &json!({})).await;
    let ann = person("ann");
    rig.enable_as(&ann, "full", &by_findings()).await;
    let record = rig.record("full").await;
    for n in 0..TRIGGER_BACKLOG {
        let one = OccurrenceRecord {
            start_at: at("2026-01-02T12:00:00Z"),
            ..occurrence(
                &record,
                format!("event/{n}"),
                at("2026-01-01T12:00:00Z"),
                None,
            )
        };
        let added = rig.store.add_occurrence(&one, TRIGGER_BACKLOG, vec![]);
        added.await.unwrap();
    }
    rig.find_a_door("nightly").await;
    rig.fire_once().await;
    let mut found = rig.occurrences_of("full").await;
    found.retain(|one| one.state == OccurrenceState::Skipped);
    assert_eq!(found.len(), 1);
    assert!(found[0].note.is_some(), "{found:?}");
    let event = ("schedule.skipped".to_owned(), Some(ann.user));
    assert!(rig.topics().await.contains(&event));
}

/// Waiting occurrences were recorded for the earlier definition, with its rights and those who asked for it.
#[tokio::test]
async fn waiting_occurrences_are_skipped_when_a_schedule_is_enabled_again() {
    let rig = Rig::at("2026-01-01T12:00:00Z").await;
    rig.enable(&hourly(), &json!({})).await;
    let (schedules, ann) = (rig.engine.schedules(), person("ann"));
    schedules.start_now(&ann, &id()).await.unwrap();
    rig.enable(&hourly(), &json!({"title": "Another look"}))
        .await;
    rig.fire().await;
    let found = rig.occurrences().await;
    assert_eq!(found[0].state, OccurrenceState::Skipped);
    assert!(found[0].note.is_some(), "{found:?}");
    assert_eq!(rig.calls(), 0);
}

#[tokio::test]
async fn a_start_is_checked_again_before_its_work() {
    let rig = Rig::at("2026-01-01T12:00:00Z").await;
    rig.enable(&hourly(), &json!({})).await;
    let (schedules, ann) = (rig.engine.schedules(), person("ann"));
    schedules.start_now(&ann, &id()).await.unwrap();
    let record = rig.record("nightly").await;
    let waiting = rig.occurrences_of("nightly").await.remove(0);
    let before = schedules.startable(&record, &waiting).await;
    assert!(before.unwrap().is_some());
    schedules.pause(&ann, &id()).await.unwrap();
    let after = schedules.startable(&record, &waiting).await;
    assert_eq!(after.unwrap(), None);
}

#[tokio::test]
async fn a_definition_is_bounded() {
    let rig = Rig::at("2026-01-01T12:00:00Z").await;
    let large = json!({"description": "x".repeat(SCHEDULE_BYTES)});
    let (ann, order) = (person("ann"), order(&hourly(), &large));
    let refused = rig.engine.schedules().enable(&ann, &order).await;
    let refused = refused.unwrap_err();
    assert_eq!(refused.code, ErrorCode::InvalidDocument);
}

/// The same occurrence of the same schedule has other work ids after each enabling.
#[tokio::test]
async fn ids_of_scheduled_work_cannot_be_predicted() {
    let mut works = Vec::new();
    for _ in 0..2 {
        let rig = Rig::at("2026-01-01T12:00:00Z").await;
        rig.enable(&hourly(), &json!({})).await;
        rig.clock.advance(HOUR).unwrap();
        rig.fire().await;
        works.extend(rig.occurrences().await.remove(0).work);
    }
    assert_eq!(works.len(), 2);
    assert_ne!(works[0], works[1]);
}

/// Occurrences start before earlier ones are settled: work that has ended, and is not settled yet, skips none.
#[tokio::test]
async fn ended_work_that_is_not_settled_does_not_skip_the_next_occurrence() {
    let rig = Rig::at("2026-01-01T12:00:00Z").await;
    rig.enable(&hourly(), &json!({})).await;
    rig.clock.advance(HOUR).unwrap();
    rig.fire_once().await;
    let tenant = person("ann").tenant;
    let work = rig.occurrences().await.remove(0).work;
    let Some(StartedWork::Run(run)) = work else {
        panic!("the occurrence has no run");
    };
    let ended = async {
        while !rig
            .store
            .run(&tenant, &run)
            .await
            .unwrap()
            .unwrap()
            .status
            .is_final()
        {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(TIMEOUT, ended).await.unwrap();
    rig.clock.advance(HOUR).unwrap();
    rig.fire().await;
    let states: Vec<_> = rig
        .occurrences()
        .await
        .iter()
        .map(|one| one.state)
        .collect();
    assert_eq!(states, [OccurrenceState::Ended; 2]);
}

/// An occurrence whose work cannot be read affects no other, and fails after an hour.
#[tokio::test]
async fn unreadable_work_fails_in_the_end_and_stops_no_other() {
    let rig = Rig::at("2026-01-01T12:00:00Z").await;
    rig.enable(&hourly(), &json!({"overlap": "allow"})).await;
    rig.start_with("nightly", "broken", "no work").await;
    rig.fire_once().await;
    let found = rig.occurrences_of("nightly").await;
    let since = found[0].failing_since;
    assert_eq!(since, Some(at("2026-01-01T12:00:00Z")));
    rig.find_a_door("nightly").await;
    rig.fire_once().await;
    let state_of = |found: &[OccurrenceRecord], key: &str| {
        let one = found.iter().find(|one| one.occurrence == key);
        one.unwrap().state
    };
    let found = rig.occurrences_of("nightly").await;
    assert_eq!(state_of(&found, "broken"), OccurrenceState::Started);
    assert_eq!(state_of(&found, "found"), OccurrenceState::Ended);
    rig.clock.advance(HOUR).unwrap();
    rig.fire_once().await;
    let found = rig.occurrences_of("nightly").await;
    assert_eq!(state_of(&found, "broken"), OccurrenceState::Failed);
    let event = ("schedule.failed".to_owned(), Some(person("ann").user));
    assert!(rig.topics().await.contains(&event));
}
