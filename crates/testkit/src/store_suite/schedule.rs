//! Cases of schedules and their occurrences.

use charter_contract::catalogue::schedule::{OccurrenceState, ScheduleState};
use charter_contract::ids::{HookId, ScheduleId};
use charter_store::Store;
use charter_store::page::PageRequest;
use charter_store::schedule::{
    OccurrenceAdded, OccurrenceChange, OccurrenceRecord, ScheduleCause, ScheduleChange,
    ScheduleHook, ScheduleRecord,
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
        updated_at: at(second.into())?,
    })
}

fn ended(report: Option<&str>, second: u8) -> Made<OccurrenceChange> {
    Ok(OccurrenceChange {
        from: OccurrenceState::Waiting,
        to: OccurrenceState::Ended,
        work: Some("{\"run\":1}".to_owned()),
        note: Some("a note".to_owned()),
        report: report.map(str::to_owned),
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
        assert!(store.put_schedule(schedule, ROOM, vec![]).await?);
        let found = store.schedule(&acme, &schedule.schedule_id).await?;
        assert_eq!(found.as_ref(), Some(schedule));
    }
    assert_eq!(store.schedule_of_hook(&hook).await?, Some(hooked));
    let again = ScheduleRecord {
        definition: "{}".to_owned(),
        ..plain
    };
    assert!(store.put_schedule(&again, ROOM, vec![]).await?);
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
        .map(|schedule| store.put_schedule(schedule, 3, vec![]));
    let kept: Result<Vec<bool>, _> = join_all(calls).await.into_iter().collect();
    assert_eq!(kept?.into_iter().filter(|kept| *kept).count(), 3);
    let page = PageRequest::new(None, 10);
    let listed = store.schedules(&tenant("acme")?, None, &page).await?;
    let first = listed.entries.first().ok_or("a schedule")?;
    assert!(store.put_schedule(first, 3, vec![]).await?);
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
        .put_schedule(&enabled("acme", "nightly")?, ROOM, vec![])
        .await?;
    let due = [occurrence("acme", "nightly", 10)?];
    let next = Some(at(20)?);
    let calls = (0..4).map(|_| store.advance_schedule(&acme, &nightly, 1, next, &due));
    let won: Result<Vec<bool>, _> = join_all(calls).await.into_iter().collect();
    assert_eq!(won?.into_iter().filter(|won| *won).count(), 1);
    let open = store.open_occurrences(&acme, &nightly, 10).await?;
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
        .put_schedule(&enabled("acme", "nightly")?, ROOM, vec![])
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
    let advanced = store.advance_schedule(&acme, &nightly, 2, None, &due);
    assert!(!advanced.await?);
    assert_eq!(store.messages(0, 10).await?.len(), 1);
    Ok(())
}

async fn due_at(store: &dyn Store, second: i64) -> Made<Vec<String>> {
    let found = store
        .schedules_due(at(second)?, None, 10)
        .await?
        .into_iter();
    Ok(found.map(|one| one.schedule_id.to_string()).collect())
}

/// Schedules with something to do are those with a due occurrence, or with unfinished work.
///
/// # Errors
/// Any error of the store.
pub async fn due_schedules_are_found(store: &dyn Store) -> Outcome {
    let acme = tenant("acme")?;
    for (tenant_id, name) in [("acme", "nightly"), ("other", "weekly")] {
        store
            .put_schedule(&enabled(tenant_id, name)?, ROOM, vec![])
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
        .advance_schedule(&acme, &nightly, 1, None, &due)
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
        .put_schedule(&enabled("acme", "nightly")?, ROOM, vec![])
        .await?;
    for (second, expected) in [
        (1, OccurrenceAdded::Added),
        (1, OccurrenceAdded::Known),
        (2, OccurrenceAdded::Added),
        (3, OccurrenceAdded::Full),
    ] {
        let one = occurrence("acme", "nightly", second)?;
        assert_eq!(store.add_occurrence(&one, 2).await?, expected, "{second}");
    }
    let unknown = occurrence("acme", "unknown", 1)?;
    assert!(store.add_occurrence(&unknown, 2).await.is_err());
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
        .put_schedule(&enabled("acme", "nightly")?, ROOM, vec![])
        .await?;
    for second in [1, 2] {
        let one = occurrence("acme", "nightly", second)?;
        store.add_occurrence(&one, ROOM).await?;
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
        report: change.report.clone(),
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

/// Another tenant's schedule is not found, changed or deleted.
///
/// # Errors
/// Any error of the store.
pub async fn tenants_are_isolated(store: &dyn Store) -> Outcome {
    let (acme, other) = (tenant("acme")?, tenant("other")?);
    let nightly = id("nightly")?;
    store
        .put_schedule(&enabled("acme", "nightly")?, ROOM, vec![])
        .await?;
    let one = occurrence("acme", "nightly", 1)?;
    store.add_occurrence(&one, ROOM).await?;
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
        .put_schedule(&enabled("acme", "nightly")?, ROOM, vec![])
        .await?;
    for (second, report) in [(1, Some("[1]")), (2, Some("[2]")), (3, None)] {
        let one = occurrence("acme", "nightly", second)?;
        store.add_occurrence(&one, ROOM).await?;
        let change = ended(report, second)?;
        store
            .change_occurrence(&acme, &nightly, &one.occurrence, &change, vec![])
            .await?;
    }
    let open = occurrence("acme", "nightly", 4)?;
    store.add_occurrence(&open, ROOM).await?;
    assert_eq!(store.sweep_occurrences(at(50)?).await?, 2);
    let page = PageRequest::new(None, 10);
    let left = store.occurrences(&acme, &nightly, &page).await?.entries;
    let left: Vec<_> = left.into_iter().map(|one| one.due_at).collect();
    assert_eq!(left, [at(4)?, at(2)?]);
    Ok(())
}
