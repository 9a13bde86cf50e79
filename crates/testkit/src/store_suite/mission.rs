//! Cases of missions: the example mission of the contracts, written as its run would write it.

mod import;
pub mod writer;

use charter_contract::ids::{ActorId, MissionId, TaskId, TenantId, UserId};
use charter_contract::mission::{ArtifactKind, MissionState};
use charter_store::journal::{Append, GENESIS, NewLeasedRun, NextPhase};
use charter_store::lease::Fence;
use charter_store::mission::{
    ArtifactFilter, ArtifactRecord, MissionFilter, MissionRecord, StoredArtifact,
};
use charter_store::page::PageRequest;
use charter_store::{Store, StoreError};
use futures_util::future::join_all;

use super::sample::{self, Made};
use super::{Outcome, assert_one_winner};
use crate::assert_refused;
use writer::{Writer, made};

pub use import::{
    an_exported_mission_is_imported_completely, an_import_is_checked,
    an_import_is_repeated_or_refused, an_import_with_a_large_journal_is_repeated_or_refused,
    an_imported_mission_is_read_only, b002_1_an_older_version_is_read_as_the_current_version,
};

const OLD_RESULT: &str = include_str!("../../../contract/tests/versions/worker_result.v0.json");

/// Indexes into the example.
const PLAN: usize = 1;
const PACKAGE: usize = 5;
const RESULT: usize = 9;
const REVIEW: usize = 11;

/// The record exists from the creation of its run; the envelope is its first artifact.
pub async fn a_mission_is_created_with_its_run(store: &dyn Store) -> Outcome {
    let mut writer = Writer::new("acme", 1)?;
    let mission = writer.mission().clone();
    assert_eq!(store.mission(writer.tenant(), &mission).await?, None);
    writer.begin(store).await?;
    let expected = MissionRecord {
        mission_id: mission.clone(),
        tenant_id: writer.tenant().clone(),
        run_id: sample::run(1),
        title: "skill security.detect_public_ingress".to_owned(),
        state: MissionState::Created,
        artifacts: 1,
        envelope: writer.texts[0].clone(),
        created_at: writer.root.created_at,
        updated_at: sample::at(0)?,
        imported_at: None,
    };
    let found = store.mission(writer.tenant(), &mission).await?;
    assert_eq!(found.as_ref(), Some(&expected));
    assert_eq!(
        found.map(|found| found.root()),
        Some(Ok(writer.root.clone()))
    );
    let envelope = StoredArtifact {
        place: 1,
        event: 1,
        record: writer.record(0)?,
    };
    assert_eq!(writer.stored(store).await?, [envelope]);
    // A run without a lease has its mission in the same way; most runs have none.
    let (record, events) = sample::new_run("acme", 2, 0)?;
    let second = Writer::new("acme", 2)?;
    let artifacts = vec![second.record(0)?];
    store.create_run(&record, events, artifacts, vec![]).await?;
    assert_eq!(second.stored(store).await?.len(), 1);
    let (record, events) = sample::new_run("acme", 3, 0)?;
    store.create_run(&record, events, vec![], vec![]).await?;
    let page = PageRequest::new(None, 9);
    let missions = store
        .missions(writer.tenant(), MissionFilter::default(), &page)
        .await?;
    assert_eq!(missions.entries.len(), 2);
    Ok(())
}

/// Nothing is created without an envelope, or with a run of another tenant.
pub async fn a_mission_begins_with_its_envelope(store: &dyn Store) -> Outcome {
    let writer = Writer::new("acme", 1)?;
    for artifacts in [
        vec![writer.record(PLAN)?],
        vec![writer.record(PLAN)?, writer.record(0)?],
        vec![Writer::new("other", 1)?.record(0)?],
    ] {
        let new = NewLeasedRun {
            artifacts,
            ..writer.first(0)?
        };
        assert_refused!(store.create_held_run(new).await, StoreError::Refused { .. });
    }
    let stateful = NewLeasedRun {
        artifacts: vec![],
        mission_state: Some(MissionState::Planned),
        ..writer.first(0)?
    };
    assert_refused!(
        store.create_held_run(stateful).await,
        StoreError::Refused { .. }
    );
    assert_eq!(writer.all(store).await?, (None, vec![], 0, 0));
    // A mission id is unique in a tenant, for all runs.
    store.create_held_run(writer.first(0)?).await?;
    let again = NewLeasedRun {
        artifacts: vec![writer.record(0)?],
        ..Writer::new("acme", 2)?.first(0)?
    };
    assert_refused!(
        store.create_held_run(again).await,
        StoreError::AlreadyExists { .. }
    );
    assert_eq!(store.run(writer.tenant(), &sample::run(2)).await?, None);
    // A run without a mission cannot get one later.
    let (record, events) = sample::new_run("acme", 3, 0)?;
    store.create_run(&record, events, vec![], vec![]).await?;
    let late = Append {
        artifacts: vec![Writer::new("acme", 3)?.record(0)?],
        ..sample::second_append(3, NextPhase::Runs, &["{}"])?
    };
    assert_refused!(store.append(late).await, StoreError::Refused { .. });
    Ok(())
}

/// Every kind is stored with its index, in the order of writing, including the task graph.
pub async fn b002_18_artifacts_read_back_byte_for_byte(store: &dyn Store) -> Outcome {
    let mut writer = Writer::new("acme", 1)?;
    writer.whole(store).await?;
    let stored = writer.stored(store).await?;
    for (at, (artifact, text)) in stored.iter().zip(&writer.texts).enumerate() {
        let expected = StoredArtifact {
            place: at as u64 + 1,
            event: at as u64 + 1,
            record: writer.record(at)?,
        };
        assert_eq!(artifact, &expected);
        assert_eq!(artifact.record.payload, *text);
    }
    assert_eq!(stored.len(), writer.texts.len());
    let mission = store.mission(writer.tenant(), writer.mission()).await?;
    assert_eq!(mission.map(|mission| mission.artifacts), Some(13));
    Ok(())
}

/// Artifacts that match a filter are found after an index, up to a limit.
pub async fn artifacts_are_found_by_kind_task_place_and_id(store: &dyn Store) -> Outcome {
    let mut writer = Writer::new("acme", 1)?;
    writer.whole(store).await?;
    let worker = TaskId::parse("task_worker_01")?;
    let filter = |kind, task_id| ArtifactFilter { kind, task_id };
    let decisions = filter(Some(ArtifactKind::PolicyDecision), None);
    let packages = filter(Some(ArtifactKind::PromptPackage), Some(&worker));
    for (filter, after, limit, expected) in [
        (decisions, 0, 100, vec![3, 4, 5]),
        (decisions, 3, 1, vec![4]),
        (filter(None, Some(&worker)), 0, 100, vec![6, 8, 10]),
        (packages, 0, 100, vec![6]),
        (
            filter(Some(ArtifactKind::ReviewPacket), Some(&worker)),
            0,
            100,
            vec![],
        ),
        (ArtifactFilter::default(), 11, 100, vec![12, 13]),
        (ArtifactFilter::default(), 0, 2, vec![1, 2]),
    ] {
        let found = store
            .artifacts(writer.tenant(), writer.mission(), filter, after, limit)
            .await?;
        let places: Vec<u64> = found.iter().map(|artifact| artifact.place).collect();
        assert_eq!(places, expected);
    }
    for artifact in writer.stored(store).await? {
        let (kind, id) = (artifact.record.kind, artifact.record.artifact_id.clone());
        let find = |tenant: TenantId, kind, id: String| async move {
            let mission = MissionId::parse("m1").map_err(|_| StoreError::Closed)?;
            store.artifact(&tenant, &mission, kind, &id).await
        };
        let tenant = writer.tenant().clone();
        let found = find(tenant.clone(), kind, id.clone()).await?;
        assert_eq!(found.as_ref(), Some(&artifact));
        assert_eq!(find(tenant, kind, format!("{id}x")).await?, None);
        assert_eq!(find(sample::tenant("other")?, kind, id).await?, None);
    }
    Ok(())
}

/// Events, artifacts, state and messages are written together: for every fault, none of them is written.
pub async fn a_refused_append_leaves_no_artifact(store: &dyn Store) -> Outcome {
    let mut writer = Writer::new("acme", 1)?;
    writer.begin(store).await?;
    writer.add(store, &[PLAN]).await?;
    let before = writer.all(store).await?;
    let good = Append {
        mission_state: Some(MissionState::Prompted),
        ..writer.append(vec![writer.record(PACKAGE)?, writer.record(RESULT)?])?
    };
    for bad in [
        Append {
            expected: 1,
            ..good.clone()
        },
        Append {
            fence: Fence(7),
            ..good.clone()
        },
        Append {
            events: sample::events(GENESIS, 2, &["{}"])?,
            ..good.clone()
        },
        Append {
            artifacts: vec![
                writer.record(PACKAGE)?,
                writer.changed(RESULT, "task_worker_01", "task_gone")?,
            ],
            ..good.clone()
        },
        Append {
            artifacts: vec![
                writer.record(PACKAGE)?,
                writer.changed(PACKAGE, "\"worker\"", "\"reviewer\"")?,
            ],
            ..good.clone()
        },
    ] {
        assert!(store.append(bad).await.is_err());
        assert_eq!(writer.all(store).await?, before);
    }
    store.append(good).await?;
    let (mission, artifacts, events, _) = writer.all(store).await?;
    assert_eq!(
        mission.map(|mission| (mission.state, mission.artifacts)),
        Some((MissionState::Prompted, 4))
    );
    assert_eq!((artifacts.len(), events), (4, 3));
    assert_eq!(artifacts[3].event, 3);
    Ok(())
}

/// An artifact of another mission or tenant is refused, and so is one for a run without a mission.
pub async fn b002_3_an_artifact_is_of_its_runs_mission(store: &dyn Store) -> Outcome {
    let (mut writer, mut second) = (Writer::new("acme", 1)?, Writer::new("acme", 2)?);
    writer.begin(store).await?;
    second.begin(store).await?;
    for foreign in [&second, &Writer::new("other", 1)?] {
        let append = writer.append(vec![foreign.record(PLAN)?])?;
        assert_refused!(store.append(append).await, StoreError::Refused { .. });
    }
    let (record, events) = sample::new_run("acme", 3, 0)?;
    store.create_run(&record, events, vec![], vec![]).await?;
    for (artifacts, mission_state) in [
        (vec![Writer::new("acme", 3)?.record(PLAN)?], None),
        (vec![], Some(MissionState::Planned)),
    ] {
        let append = Append {
            artifacts,
            mission_state,
            ..sample::second_append(3, NextPhase::Runs, &["{}"])?
        };
        assert_refused!(store.append(append).await, StoreError::Refused { .. });
    }
    Ok(())
}

/// Before the plan no task exists, and a task of another mission does not count.
pub async fn b002_5_an_artifact_names_a_task_of_its_mission(store: &dyn Store) -> Outcome {
    let (mut writer, mut second) = (Writer::new("acme", 1)?, Writer::new("acme", 2)?);
    second.begin(store).await?;
    second.add(store, &[PLAN]).await?;
    writer.begin(store).await?;
    for place in [PACKAGE, 7, 8, RESULT] {
        let append = writer.append(vec![writer.record(place)?])?;
        assert_refused!(store.append(append).await, StoreError::Refused { .. });
    }
    // Plan and package in one append, in this order.
    writer.add(store, &[PLAN, PACKAGE]).await?;
    let places: Vec<u64> = writer
        .stored(store)
        .await?
        .iter()
        .map(|a| a.place)
        .collect();
    assert_eq!(places, [1, 2, 3]);
    Ok(())
}

/// A second review is refused, also in the same append.
pub async fn b002_11_a_mission_has_at_most_one_review(store: &dyn Store) -> Outcome {
    let mut writer = Writer::new("acme", 1)?;
    writer.begin(store).await?;
    let second = writer.changed(REVIEW, "rev_001", "rev_002")?;
    let both = writer.append(vec![writer.record(REVIEW)?, second.clone()])?;
    assert_refused!(store.append(both).await, StoreError::Refused { .. });
    writer.add(store, &[REVIEW]).await?;
    let again = writer.append(vec![second])?;
    assert_refused!(store.append(again).await, StoreError::Refused { .. });
    assert_eq!(writer.stored(store).await?.len(), 2);
    Ok(())
}

/// For every kind, a byte-identical repeat writes nothing; any other content under the id is refused.
pub async fn b002_15_a_repeat_is_accepted_and_a_different_payload_is_refused(
    store: &dyn Store,
) -> Outcome {
    let mut writer = Writer::new("acme", 1)?;
    writer.begin(store).await?;
    for place in 1..writer.texts.len() {
        writer.add(store, &[place]).await?;
    }
    let before = writer.stored(store).await?;
    for place in 0..writer.texts.len() {
        let other = writer.changed(place, "\"producer\":\"", "\"producer\":\"another_")?;
        let append = writer.append(vec![other])?;
        assert_refused!(store.append(append).await, StoreError::AlreadyExists { .. });
    }
    let everything: Vec<usize> = (0..writer.texts.len()).collect();
    writer.add(store, &everything).await?;
    assert_eq!(writer.stored(store).await?, before);
    let mission = store.mission(writer.tenant(), writer.mission()).await?;
    assert_eq!(mission.map(|mission| mission.artifacts), Some(13));
    Ok(())
}

/// An older or unknown version is refused in appends and creations.
pub async fn b002_1_an_older_version_is_not_written(store: &dyn Store) -> Outcome {
    let mut writer = Writer::new("acme", 1)?;
    for version in ["v0", "v2"] {
        let mut new = writer.first(0)?;
        let envelope = &mut new.artifacts[0];
        envelope.payload = envelope
            .payload
            .replace("\"v1\"", &format!("\"{version}\""));
        envelope.schema_version = version.to_owned();
        assert_refused!(store.create_held_run(new).await, StoreError::Refused { .. });
    }
    writer.begin(store).await?;
    writer.add(store, &[PLAN]).await?;
    let old = old_result(&writer)?;
    assert_eq!(old.schema_version, "v0");
    let append = writer.append(vec![old])?;
    assert_refused!(store.append(append).await, StoreError::Refused { .. });
    assert_eq!(writer.stored(store).await?.len(), 2);
    Ok(())
}

/// Returns the example's worker result in its older form.
fn old_result(writer: &Writer) -> Made<ArtifactRecord> {
    let old = OLD_RESULT.replace("\"uuid\"", &format!("\"{}\"", writer.mission()));
    let old = charter_contract::canonical::text(serde_json::from_str(&old)?);
    made(ArtifactRecord::of_payload(old, &writer.root))
}

/// The state changes with the append of the events; an append without a state leaves it unchanged.
pub async fn b002_12_the_state_comes_with_the_events(store: &dyn Store) -> Outcome {
    let mut writer = Writer::new("acme", 1)?;
    writer.begin(store).await?;
    let state = |mission: Option<MissionRecord>| mission.map(|mission| mission.state);
    let mut last = MissionState::Created;
    for next in [
        None,
        Some(MissionState::Planned),
        None,
        Some(MissionState::Completed),
    ] {
        let append = Append {
            mission_state: next,
            ..writer.append(vec![])?
        };
        writer.send(store, append).await?;
        last = next.unwrap_or(last);
        let found = store.mission(writer.tenant(), writer.mission()).await?;
        assert_eq!(state(found), Some(last));
    }
    // A run may be created in a later state.
    let further = NewLeasedRun {
        mission_state: Some(MissionState::Planned),
        ..Writer::new("acme", 2)?.first(0)?
    };
    store.create_held_run(further).await?;
    let found = store
        .mission(writer.tenant(), &MissionId::parse("m2")?)
        .await?;
    assert_eq!(state(found), Some(MissionState::Planned));
    Ok(())
}

/// Equal ids in two tenants are two missions, and neither tenant sees the other's.
pub async fn tenants_are_isolated(store: &dyn Store) -> Outcome {
    let mut acme = Writer::new("acme", 1)?;
    acme.whole(store).await?;
    let mut other = Writer::new("other", 2)?;
    other.texts = other
        .texts
        .iter()
        .map(|text| text.replace("\"mission_id\":\"m2\"", "\"mission_id\":\"m1\""))
        .collect();
    other.root.mission_id = acme.mission().clone();
    other.begin(store).await?;
    assert_eq!(
        (
            acme.stored(store).await?.len(),
            other.stored(store).await?.len()
        ),
        (13, 1)
    );
    for (writer, expected) in [(&acme, sample::run(1)), (&other, sample::run(2))] {
        let page = PageRequest::new(None, 9);
        let all = MissionFilter::default();
        let listed = store.missions(writer.tenant(), all, &page).await?.entries;
        let runs: Vec<_> = listed
            .iter()
            .map(|mission| mission.run_id.clone())
            .collect();
        assert_eq!(runs, [expected]);
    }
    let nobody = sample::tenant("nobody")?;
    assert_eq!(store.mission(&nobody, acme.mission()).await?, None);
    let filter = ArtifactFilter::default();
    let found = store
        .artifacts(&nobody, acme.mission(), filter, 0, 9)
        .await?;
    assert_eq!(found, []);
    Ok(())
}

/// Missions are listed newest first, each once, and filtered by state on request.
pub async fn missions_are_listed_newest_first(store: &dyn Store) -> Outcome {
    for n in 1..=5 {
        let mut writer = Writer::new("acme", n)?;
        let created = format!("2026-04-14T12:00:0{n}Z");
        writer.texts[0] = writer.texts[0].replace("2026-04-14T12:00:00Z", &created);
        writer.begin(store).await?;
        if n % 2 == 0 {
            writer.end(store).await?;
        }
    }
    let acme = sample::tenant("acme")?;
    for (state, expected) in [
        (None, vec!["m5", "m4", "m3", "m2", "m1"]),
        (Some(MissionState::Created), vec!["m5", "m3", "m1"]),
        (Some(MissionState::Completed), vec!["m4", "m2"]),
        (Some(MissionState::Failed), vec![]),
    ] {
        let mut seen = Vec::new();
        let mut page = PageRequest::new(None, 2);
        loop {
            let filter = MissionFilter {
                state,
                ..MissionFilter::default()
            };
            let found = store.missions(&acme, filter, &page).await?;
            assert!(found.entries.len() <= 2);
            seen.extend(
                found
                    .entries
                    .iter()
                    .map(|mission| mission.mission_id.to_string()),
            );
            match found.next {
                Some(next) => page = PageRequest::new(Some(next), 2),
                None => break,
            }
        }
        assert_eq!(seen, expected);
    }
    Ok(())
}

/// Missions are listed by their user, alone and with a state.
pub async fn missions_are_listed_of_a_user(store: &dyn Store) -> Outcome {
    for n in 1..=3 {
        let mut writer = Writer::new("acme", n)?;
        if n == 2 {
            let actor = format!("\"actor_id\":\"{}\"", writer.root.actor_id);
            assert!(writer.texts[0].contains(&actor), "{}", writer.texts[0]);
            writer.texts[0] = writer.texts[0].replace(&actor, "\"actor_id\":\"ann\"");
            writer.root.actor_id = ActorId::parse("ann")?;
        }
        writer.begin(store).await?;
    }
    let acme = sample::tenant("acme")?;
    let (ann, eve) = (UserId::parse("ann")?, UserId::parse("eve")?);
    for (user_id, state, expected) in [
        (Some(&ann), None, vec!["m2"]),
        (Some(&ann), Some(MissionState::Created), vec!["m2"]),
        (Some(&ann), Some(MissionState::Failed), vec![]),
        (Some(&eve), None, vec![]),
    ] {
        let filter = MissionFilter { state, user_id };
        let page = PageRequest::new(None, 9);
        let found = store.missions(&acme, filter, &page).await?.entries;
        let ids: Vec<String> = found.iter().map(|m| m.mission_id.to_string()).collect();
        assert_eq!(ids, expected, "{filter:?}");
    }
    Ok(())
}

/// A cursor must come from a page.
pub async fn an_invalid_cursor_is_refused(store: &dyn Store) -> Outcome {
    let page = PageRequest::new(Some("made up".to_owned()), 2);
    let all = MissionFilter::default();
    let refused = store.missions(&sample::tenant("acme")?, all, &page).await;
    assert_refused!(refused, StoreError::Refused { .. });
    Ok(())
}

/// Of several workers that append concurrently, one has its artifact stored, the others nothing.
pub async fn appends_at_the_same_time_have_one_winner(store: &dyn Store) -> Outcome {
    let mut writer = Writer::new("acme", 1)?;
    writer.begin(store).await?;
    let appends: Made<Vec<Append>> = (2..10)
        .map(|n| writer.append(vec![writer.changed(2, "pol_001", &format!("pol_00{n}"))?]))
        .collect();
    let results = join_all(appends?.into_iter().map(|append| store.append(append))).await;
    assert_one_winner(&results);
    assert_eq!(writer.stored(store).await?.len(), 2);
    Ok(())
}

/// A sweep deletes an ended mission with artifacts and tasks; a running mission stays.
pub async fn sweep_deletes_a_mission_with_its_run(store: &dyn Store) -> Outcome {
    let (mut ended, mut going) = (Writer::new("acme", 1)?, Writer::new("acme", 2)?);
    ended.whole(store).await?;
    going.begin(store).await?;
    going.add(store, &[PLAN, PACKAGE]).await?;
    assert_eq!(store.sweep_runs(sample::at(1_000)?, 10).await?, 1);
    assert_eq!(ended.all(store).await?.0, None);
    assert_eq!(ended.stored(store).await?, []);
    assert_eq!(going.stored(store).await?.len(), 3);
    // Its remains do not prevent the same mission from being created again.
    let mut again = Writer::new("acme", 1)?;
    again.run = 3;
    again.whole(store).await?;
    Ok(())
}
