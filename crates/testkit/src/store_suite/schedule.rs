//! Cases of schedules and their occurrences.

use charter_contract::bounds::PAGE_BYTES;
use charter_contract::catalogue::schedule::{OccurrenceState, ScheduleState};
use charter_contract::ids::{HookId, ScheduleId};
use charter_store::Store;
use charter_store::page::PageRequest;
use charter_store::schedule::{
    OccurrenceAdded, OccurrenceChange, OccurrenceRecord, ScheduleCause, ScheduleChange,
    ScheduleHook, ScheduleRecord, ScheduleStored, StoredReport,
};
use futures_util::future::join_all;
use uuid::Uuid;

use super::Outcome;
use super::sample::{Made, at, message, tenant, user};

/// A limit that no case reaches.
const ROOM: usize = 9;

fn id(name: &str) -> Made<ScheduleId> {
    Ok(ScheduleId::parse(name)?)
}

/// Returns a tenant's schedule, enabled at the first second, whose next occurrence is at the tenth.
///
/// # Errors
/// None in practice.
pub fn enabled(tenant_id: &str, name: &str) -> Made<ScheduleRecord> {
    Ok(ScheduleRecord {
        tenant_id: tenant(tenant_id)?,
        schedule_id: id(name)?,
        user_id: user()?,
        definition: "{\"a\":1}".to_owned(),
        identity: "{\"b\":2}".to_owned(),
        cause: ScheduleCause::Time,
        state: ScheduleState::Active,
        hook: None,
        id_secret: "a secret".to_owned(),
        enabled_at: at(1)?,
        next_at: Some(at(10)?),
        version: 1,
    })
}

/// Returns an occurrence of a schedule at a second.
///
/// # Errors
/// None in practice.
pub fn occurrence(tenant_id: &str, name: &str, second: u8) -> Made<OccurrenceRecord> {
    Ok(OccurrenceRecord {
        tenant_id: tenant(tenant_id)?,
        schedule_id: id(name)?,
        occurrence: at(second.into())?.to_string(),
        due_at: at(second.into())?,
        start_at: at(second.into())?,
        state: OccurrenceState::Waiting,
        event: None,
        work: None,
        note: None,
        report: None,
        failing_since: None,
        updated_at: at(second.into())?,
    })
}

fn ended(report: Option<&str>, second: u8) -> Made<OccurrenceChange> {
    Ok(OccurrenceChange {
        from: OccurrenceState::Waiting,
        to: OccurrenceState::Ended,
        of_version: None,
        work: Some("{\"run\":1}".to_owned()),
        note: Some("a note".to_owned()),
        report: report.map(|report| StoredReport {
            full: report.to_owned(),
            summary: "{\"new\":1}".to_owned(),
        }),
        failing_since: None,
        at: at(second.into())?,
    })
}

/// All fields are kept, and a schedule that is enabled again replaces the earlier one.
///
/// # Errors
/// Any error of the store.
pub async fn every_field_of_a_schedule_is_stored(store: &dyn Store) -> Outcome {
    let acme = tenant("acme")?;
    let plain = enabled("acme", "nightly")?;
    let hook = HookId::from_uuid(Uuid::from_u128(7));
    let hooked = ScheduleRecord {
        cause: ScheduleCause::Webhook,
        hook: Some(ScheduleHook {
            hook_id: hook.clone(),
            secret: "sealed".to_owned(),
        }),
        next_at: None,
        ..enabled("acme", "hooked")?
    };
    for schedule in [&plain, &hooked] {
        let stored = store.put_schedule(schedule, None, ROOM, vec![]).await?;
        assert_eq!(stored, ScheduleStored::Stored);
        let found = store.schedule(&acme, &schedule.schedule_id).await?;
        assert_eq!(found.as_ref(), Some(schedule));
    }
    assert_eq!(store.schedule_of_hook(&hook).await?, Some(hooked));
    let again = ScheduleRecord {
        definition: "{}".to_owned(),
        ..plain
    };
    let stored = store.put_schedule(&again, Some(1), ROOM, vec![]).await?;
    assert_eq!(stored, ScheduleStored::Stored);
    let found = store.schedule(&acme, &again.schedule_id).await?;
    let found = found.ok_or("the schedule")?;
    assert_eq!((found.definition.as_str(), found.version), ("{}", 2));
    Ok(())
}

/// A tenant's limit also holds for concurrent writes; a schedule that exists may be replaced.
///
/// # Errors
/// Any error of the store.
pub async fn schedules_are_bounded_in_number(store: &dyn Store) -> Outcome {
    let names = ["a", "b", "c", "d", "e"];
    let schedules: Result<Vec<_>, _> = names.iter().map(|name| enabled("acme", name)).collect();
    let schedules = schedules?;
    let calls = schedules
        .iter()
        .map(|schedule| store.put_schedule(schedule, None, 3, vec![]));
    let stored: Result<Vec<_>, _> = join_all(calls).await.into_iter().collect();
    let mut stored = stored?;
    stored.retain(|stored| *stored == ScheduleStored::Stored);
    assert_eq!(stored.len(), 3);
    let page = PageRequest::new(None, 10);
    let listed = store.schedules(&tenant("acme")?, None, &page).await?;
    let first = listed.entries.first().ok_or("a schedule")?;
    let replaced = store.put_schedule(first, Some(1), 3, vec![]).await?;
    assert_eq!(replaced, ScheduleStored::Stored);
    Ok(())
}

/// Of concurrent replicas, one records the due occurrences.
///
/// # Errors
/// Any error of the store.
pub async fn an_occurrence_is_recorded_by_one_replica(store: &dyn Store) -> Outcome {
    let acme = tenant("acme")?;
    let nightly = id("nightly")?;
    store
        .put_schedule(&enabled("acme", "nightly")?, None, ROOM, vec![])
        .await?;
    let due = [occurrence("acme", "nightly", 10)?];
    let next = Some(at(20)?);
    let calls = (0..4).map(|_| store.advance_schedule(&acme, &nightly, 1, next, &due, ROOM));
    let won: Result<Vec<bool>, _> = join_all(calls).await.into_iter().collect();
    assert_eq!(won?.into_iter().filter(|won| *won).count(), 1);
    let open = store.waiting_occurrences(&acme, &nightly, 10).await?;
    assert_eq!(open, due);
    let found = store.schedule(&acme, &nightly).await?;
    let found = found.ok_or("the schedule")?;
    assert_eq!((found.next_at, found.version), (next, 2));
    Ok(())
}

/// A paused schedule does not advance.
///
/// # Errors
/// Any error of the store.
pub async fn a_paused_schedule_does_not_advance(store: &dyn Store) -> Outcome {
    let acme = tenant("acme")?;
    let nightly = id("nightly")?;
    store
        .put_schedule(&enabled("acme", "nightly")?, None, ROOM, vec![])
        .await?;
    let pause = ScheduleChange {
        expected: 1,
        state: ScheduleState::Paused,
        identity: "{}".to_owned(),
        next_at: None,
    };
    let event = message("schedule.paused", 50)?;
    let paused = store.change_schedule(&acme, &nightly, &pause, vec![event]);
    assert!(paused.await?);
    let again = store.change_schedule(&acme, &nightly, &pause, vec![]);
    assert!(!again.await?, "the version has changed");
    let due = [occurrence("acme", "nightly", 10)?];
    let advanced = store.advance_schedule(&acme, &nightly, 2, None, &due, ROOM);
    assert!(!advanced.await?);
    assert_eq!(store.messages(0, 10).await?.len(), 1);
    Ok(())
}

async fn due_at(store: &dyn Store, second: i64) -> Made<Vec<String>> {
    let found = store
        .schedules_due(at(second)?, None, 10)
        .await?
        .into_iter();
    Ok(found.map(|(_, schedule)| schedule.to_string()).collect())
}

/// Schedules with something to do are those with a due occurrence, or with unfinished work.
///
/// # Errors
/// Any error of the store.
pub async fn due_schedules_are_found(store: &dyn Store) -> Outcome {
    let acme = tenant("acme")?;
    for (tenant_id, name) in [("acme", "nightly"), ("other", "weekly")] {
        store
            .put_schedule(&enabled(tenant_id, name)?, None, ROOM, vec![])
            .await?;
    }
    assert_eq!(due_at(store, 9).await?, Vec::<String>::new());
    assert_eq!(due_at(store, 10).await?, ["nightly", "weekly"]);
    let first = id("nightly")?;
    let rest = store
        .schedules_due(at(10)?, Some((&acme, &first)), 10)
        .await?;
    assert_eq!(rest.len(), 1);
    let (nightly, due) = (id("nightly")?, [occurrence("acme", "nightly", 10)?]);
    store
        .advance_schedule(&acme, &nightly, 1, None, &due, ROOM)
        .await?;
    assert_eq!(due_at(store, 10).await?, ["nightly", "weekly"]);
    let change = ended(None, 11)?;
    let key = &due[0].occurrence;
    assert!(
        store
            .change_occurrence(&acme, &nightly, key, &change, vec![])
            .await?
    );
    assert_eq!(due_at(store, 12).await?, ["weekly"]);
    Ok(())
}

/// An event is recorded once, and refused while its trigger has too many unfinished occurrences.
///
/// # Errors
/// Any error of the store.
pub async fn an_event_is_recorded_once(store: &dyn Store) -> Outcome {
    store
        .put_schedule(&enabled("acme", "nightly")?, None, ROOM, vec![])
        .await?;
    for (second, expected) in [
        (1, OccurrenceAdded::Added),
        (1, OccurrenceAdded::Known),
        (2, OccurrenceAdded::Added),
        (3, OccurrenceAdded::Full),
    ] {
        let one = occurrence("acme", "nightly", second)?;
        let added = store.add_occurrence(&one, 2, vec![]).await?;
        assert_eq!(added, expected, "{second}");
    }
    let unknown = occurrence("acme", "unknown", 1)?;
    let refused = store.add_occurrence(&unknown, 2, vec![]).await;
    assert!(refused.is_err());
    let skipped = OccurrenceRecord {
        state: OccurrenceState::Skipped,
        ..occurrence("acme", "nightly", 3)?
    };
    let event = message("schedule.skipped", 3)?;
    for expected in [OccurrenceAdded::Added, OccurrenceAdded::Known] {
        let added = store
            .add_occurrence(&skipped, 2, vec![event.clone()])
            .await?;
        assert_eq!(added, expected, "a finished occurrence needs no room");
    }
    assert_eq!(store.messages(0, 10).await?.len(), 1);
    Ok(())
}

/// An occurrence changes once from each state, and keeps what a change does not name.
///
/// # Errors
/// Any error of the store.
pub async fn an_occurrence_changes_from_its_state(store: &dyn Store) -> Outcome {
    let acme = tenant("acme")?;
    let nightly = id("nightly")?;
    store
        .put_schedule(&enabled("acme", "nightly")?, None, ROOM, vec![])
        .await?;
    for second in [1, 2] {
        let one = occurrence("acme", "nightly", second)?;
        store.add_occurrence(&one, ROOM, vec![]).await?;
    }
    let key = occurrence("acme", "nightly", 1)?.occurrence;
    let change = ended(Some("[1]"), 5)?;
    let event = message("schedule.ended", 5)?;
    let changed = store.change_occurrence(&acme, &nightly, &key, &change, vec![event]);
    assert!(changed.await?);
    let again = store.change_occurrence(&acme, &nightly, &key, &change, vec![]);
    assert!(!again.await?);
    let found = store.occurrence(&acme, &nightly, &key).await?;
    let expected = OccurrenceRecord {
        state: OccurrenceState::Ended,
        work: change.work.clone(),
        note: change.note.clone(),
        report: Some("[1]".to_owned()),
        updated_at: change.at,
        ..occurrence("acme", "nightly", 1)?
    };
    assert_eq!(found, Some(expected.clone()));
    let last = store.last_reported(&acme, &nightly).await?;
    assert_eq!(last, Some(expected));
    let page = PageRequest::new(None, 1);
    let listed = store.occurrences(&acme, &nightly, &page).await?;
    assert_eq!(listed.entries, [occurrence("acme", "nightly", 2)?]);
    assert!(listed.next.is_some());
    Ok(())
}

/// A schedule is replaced in the version that was read, and created if there is none: of concurrent writes, one
/// succeeds. Waiting occurrences of the earlier version are skipped.
///
/// # Errors
/// Any error of the store.
pub async fn a_schedule_is_replaced_in_the_expected_version(store: &dyn Store) -> Outcome {
    let acme = tenant("acme")?;
    let nightly = enabled("acme", "nightly")?;
    for (expected, outcome) in [
        (Some(1), ScheduleStored::Changed),
        (None, ScheduleStored::Stored),
        (None, ScheduleStored::Changed),
    ] {
        let stored = store.put_schedule(&nightly, expected, ROOM, vec![]).await?;
        assert_eq!(stored, outcome, "{expected:?}");
    }
    for (second, state) in [(1, OccurrenceState::Waiting), (2, OccurrenceState::Started)] {
        let one = OccurrenceRecord {
            state,
            ..occurrence("acme", "nightly", second)?
        };
        store.add_occurrence(&one, ROOM, vec![]).await?;
    }
    let calls = (0..2).map(|_| store.put_schedule(&nightly, Some(1), ROOM, vec![]));
    let stored: Result<Vec<_>, _> = join_all(calls).await.into_iter().collect();
    let stored = stored?;
    assert!(stored.contains(&ScheduleStored::Stored), "{stored:?}");
    assert!(stored.contains(&ScheduleStored::Changed), "{stored:?}");
    let page = PageRequest::new(None, 10);
    let listed = store.occurrences(&acme, &nightly.schedule_id, &page);
    let listed = listed.await?.entries;
    let states: Vec<_> = listed.iter().map(|one| one.state).collect();
    assert_eq!(states, [OccurrenceState::Started, OccurrenceState::Skipped]);
    assert!(listed[1].note.is_some(), "{listed:?}");
    Ok(())
}

/// Beyond the limit of unfinished occurrences, those by time are recorded as skipped.
///
/// # Errors
/// Any error of the store.
pub async fn occurrences_by_time_are_bounded_in_number(store: &dyn Store) -> Outcome {
    let acme = tenant("acme")?;
    let nightly = id("nightly")?;
    store
        .put_schedule(&enabled("acme", "nightly")?, None, ROOM, vec![])
        .await?;
    let due = (1..=3).map(|second| occurrence("acme", "nightly", second));
    let due: Made<Vec<_>> = due.collect();
    let due = due?;
    let advanced = store.advance_schedule(&acme, &nightly, 1, None, &due, 2);
    assert!(advanced.await?);
    let waiting = store.waiting_occurrences(&acme, &nightly, 10).await?;
    assert_eq!(waiting, due[..2]);
    let last = store
        .occurrence(&acme, &nightly, &due[2].occurrence)
        .await?;
    let last = last.ok_or("the last occurrence")?;
    assert_eq!(last.state, OccurrenceState::Skipped);
    assert!(last.note.is_some());
    Ok(())
}

/// An occurrence starts only while its schedule is active in the version that the start was decided on.
///
/// # Errors
/// Any error of the store.
pub async fn an_occurrence_changes_under_its_schedule(store: &dyn Store) -> Outcome {
    let acme = tenant("acme")?;
    let nightly = id("nightly")?;
    store
        .put_schedule(&enabled("acme", "nightly")?, None, ROOM, vec![])
        .await?;
    let one = occurrence("acme", "nightly", 1)?;
    store.add_occurrence(&one, ROOM, vec![]).await?;
    let change = ended(None, 2)?;
    let start = |version| OccurrenceChange {
        to: OccurrenceState::Started,
        of_version: Some(version),
        ..change.clone()
    };
    let other = start(2);
    let key = one.occurrence.as_str();
    let changed = store.change_occurrence(&acme, &nightly, key, &other, vec![]);
    assert!(!changed.await?, "another version");
    let pause = ScheduleChange {
        expected: 1,
        state: ScheduleState::Paused,
        identity: "{}".to_owned(),
        next_at: None,
    };
    let paused = store.change_schedule(&acme, &nightly, &pause, vec![]);
    assert!(paused.await?);
    let changed = store.change_occurrence(&acme, &nightly, key, &other, vec![]);
    assert!(!changed.await?, "the schedule is paused");
    let resume = ScheduleChange {
        expected: 2,
        state: ScheduleState::Active,
        ..pause
    };
    let resumed = store.change_schedule(&acme, &nightly, &resume, vec![]);
    assert!(resumed.await?);
    let current = start(3);
    let changed = store.change_occurrence(&acme, &nightly, key, &current, vec![]);
    assert!(changed.await?);
    let started = store.started_occurrences(&acme, &nightly, 10).await?;
    assert_eq!(started.len(), 1);
    Ok(())
}

/// A listing has neither events nor items of reports, and its pages are bounded in bytes.
///
/// # Errors
/// Any error of the store.
pub async fn a_listing_of_occurrences_is_bounded(store: &dyn Store) -> Outcome {
    let acme = tenant("acme")?;
    let nightly = id("nightly")?;
    let large = "x".repeat(PAGE_BYTES);
    let names = ["nightly", "weekly", "yearly"];
    for name in names {
        let schedule = ScheduleRecord {
            definition: large.clone(),
            ..enabled("acme", name)?
        };
        store.put_schedule(&schedule, None, ROOM, vec![]).await?;
    }
    let page = PageRequest::new(None, 10);
    let listed = store.schedules(&acme, None, &page).await?;
    assert!(listed.entries.len() < names.len());
    assert!(listed.next.is_some());
    for second in 1..=3 {
        let one = OccurrenceRecord {
            event: Some(large.clone()),
            ..occurrence("acme", "nightly", second)?
        };
        store.add_occurrence(&one, ROOM, vec![]).await?;
        let change = ended(Some(&large), second)?;
        let key = &one.occurrence;
        let changed = store.change_occurrence(&acme, &nightly, key, &change, vec![]);
        assert!(changed.await?);
    }
    let listed = store.occurrences(&acme, &nightly, &page).await?;
    assert_eq!(listed.entries.len(), 3);
    for one in listed.entries {
        assert_eq!(one.event, None);
        assert_eq!(one.report.as_deref(), Some("{\"new\":1}"));
    }
    Ok(())
}

/// Another tenant's schedule is not found, changed or deleted.
///
/// # Errors
/// Any error of the store.
pub async fn tenants_are_isolated(store: &dyn Store) -> Outcome {
    let (acme, other) = (tenant("acme")?, tenant("other")?);
    let nightly = id("nightly")?;
    store
        .put_schedule(&enabled("acme", "nightly")?, None, ROOM, vec![])
        .await?;
    let one = occurrence("acme", "nightly", 1)?;
    store.add_occurrence(&one, ROOM, vec![]).await?;
    assert_eq!(store.schedule(&other, &nightly).await?, None);
    let found = store.occurrence(&other, &nightly, &one.occurrence).await?;
    assert_eq!(found, None);
    let page = PageRequest::new(None, 10);
    let listed = store.schedules(&other, None, &page).await?;
    assert_eq!(listed.entries, Vec::new());
    assert!(!store.delete_schedule(&other, &nightly, vec![]).await?);
    assert!(store.delete_schedule(&acme, &nightly, vec![]).await?);
    let found = store.occurrence(&acme, &nightly, &one.occurrence).await?;
    assert_eq!(found, None, "occurrences go with their schedule");
    Ok(())
}

/// A sweep keeps unfinished occurrences, and the latest with a report, with which the next is compared.
///
/// # Errors
/// Any error of the store.
pub async fn sweep_keeps_the_latest_report(store: &dyn Store) -> Outcome {
    let acme = tenant("acme")?;
    let nightly = id("nightly")?;
    store
        .put_schedule(&enabled("acme", "nightly")?, None, ROOM, vec![])
        .await?;
    for (second, report) in [(1, Some("[1]")), (2, Some("[2]")), (3, None)] {
        let one = occurrence("acme", "nightly", second)?;
        store.add_occurrence(&one, ROOM, vec![]).await?;
        let change = ended(report, second)?;
        store
            .change_occurrence(&acme, &nightly, &one.occurrence, &change, vec![])
            .await?;
    }
    let open = occurrence("acme", "nightly", 4)?;
    store.add_occurrence(&open, ROOM, vec![]).await?;
    assert_eq!(store.sweep_occurrences(at(50)?).await?, 2);
    let page = PageRequest::new(None, 10);
    let left = store.occurrences(&acme, &nightly, &page).await?.entries;
    let left: Vec<_> = left.into_iter().map(|one| one.due_at).collect();
    assert_eq!(left, [at(4)?, at(2)?]);
    Ok(())
}
