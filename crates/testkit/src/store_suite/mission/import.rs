//! Cases of importing missions, and of data from older versions of Charter.

use charter_contract::bounds::PAGE_BYTES;
use charter_contract::mission::{ArtifactKind, MissionState};
use charter_contract::run_status::RunStatus;
use charter_domain::mission::bundle::verify;
use charter_store::journal::{Append, EventHash, GENESIS, RunPhase, RunRecord};
use charter_store::lease::Fence;
use charter_store::mission::{Imported, MissionImport, StoredArtifact, bundle};
use charter_store::{Store, StoreError};

use super::writer::{Writer, made};
use super::{RESULT, REVIEW, old_result};
use crate::assert_refused;
use crate::store_suite::Outcome;
use crate::store_suite::sample::{self, Made};

const OLD_RESULT_NOW: &str =
    include_str!("../../../../contract/tests/versions/worker_result.v0.as_v1.json");

/// A mission from an older version keeps its bytes and reads in the current form.
pub async fn b002_1_an_older_version_is_read_as_the_current_version(store: &dyn Store) -> Outcome {
    let writer = Writer::new("acme", 1)?;
    let mut import = ended_mission(&writer)?;
    import.artifacts[RESULT].record = old_result(&writer)?;
    store.import_mission(import.clone()).await?;
    let kind = ArtifactKind::WorkerResult;
    let found = store
        .artifact(writer.tenant(), writer.mission(), kind, "wrk_001")
        .await?
        .ok_or("it is not there")?;
    assert_eq!(found, import.artifacts[RESULT]);
    assert_eq!(found.record.schema_version, "v0");
    let read = made(found.record.read(&writer.root))?;
    let now = OLD_RESULT_NOW
        .replace("\"uuid\"", "\"m1\"")
        .replace("tenant_velocity", "acme");
    let now = charter_contract::canonical::text(serde_json::from_str(&now)?);
    assert_eq!(read.canonical()?, now);
    Ok(())
}

/// Returns the example as an ended mission for an import, with everything in the first event.
fn ended_mission(writer: &Writer) -> Made<MissionImport> {
    let (run, events) = sample::new_run(writer.tenant().as_str(), writer.run, 0)?;
    let artifacts = (1..).zip(0..writer.texts.len()).map(|(place, at)| {
        Ok(StoredArtifact {
            place,
            event: 1,
            record: writer.record(at)?,
        })
    });
    Ok(MissionImport {
        run: RunRecord {
            phase: RunPhase::Finished,
            status: RunStatus::Completed,
            updated_at: sample::at(900)?,
            ..run
        },
        events,
        state: MissionState::Completed,
        artifacts: artifacts.collect::<Made<_>>()?,
        at: sample::at(900)?,
    })
}

/// Export, removal, import and export return the same complete bundle.
pub async fn an_exported_mission_is_imported_completely(store: &dyn Store) -> Outcome {
    let mut writer = Writer::new("acme", 1)?;
    writer.whole(store).await?;
    let first = exported(store, &writer).await?;
    store.sweep_runs(sample::at(1_000)?, 10).await?;
    assert_eq!(writer.all(store).await?.0, None);
    let verified = verify(first.as_bytes()).map_err(|faults| format!("{faults:?}"))?;
    let import = MissionImport::from_bundle(verified, writer.tenant(), sample::at(2_000)?)?;
    assert_eq!(store.import_mission(import).await?, Imported::New);
    assert_eq!(exported(store, &writer).await?, first);
    let mission = store.mission(writer.tenant(), writer.mission()).await?;
    let mission = mission.ok_or("it is not there")?;
    assert_eq!(mission.imported_at, Some(sample::at(2_000)?));
    assert_eq!(mission.state, MissionState::Completed);
    // It is retained as if it had ended at the time of its import.
    assert_eq!(store.sweep_runs(sample::at(2_000)?, 10).await?, 0);
    assert_eq!(store.sweep_runs(sample::at(2_001)?, 10).await?, 1);
    Ok(())
}

async fn exported(store: &dyn Store, writer: &Writer) -> Made<String> {
    let run = sample::run(writer.run);
    let mission = store.mission(writer.tenant(), writer.mission()).await?;
    let mission = mission.ok_or("no mission")?;
    let record = store.run(writer.tenant(), &run).await?.ok_or("no run")?;
    let events = store.events(writer.tenant(), &run, 0, 100).await?;
    let artifacts = writer.stored(store).await?;
    Ok(bundle(&mission, &record, artifacts, events).to_text())
}

/// Repeating an import changes nothing, even for a mission that ended here; other content under its id or its run's id
/// is refused.
pub async fn an_import_is_repeated_or_refused(store: &dyn Store) -> Outcome {
    let writer = Writer::new("acme", 1)?;
    let import = ended_mission(&writer)?;
    assert_eq!(store.import_mission(import.clone()).await?, Imported::New);
    let before = writer.all(store).await?;
    let mut later = import.clone();
    later.at = sample::at(950)?;
    assert_eq!(store.import_mission(later).await?, Imported::Unchanged);
    let mut others: Vec<MissionImport> = Vec::new();
    let mut other = |change: &dyn Fn(&mut MissionImport)| {
        let mut changed = import.clone();
        change(&mut changed);
        others.push(changed);
    };
    let edited = writer.changed(RESULT, "0.79", "0.97")?;
    other(&|import| import.state = MissionState::Rejected);
    other(&|import| import.run.title = "another".to_owned());
    other(&|import| import.run.status = RunStatus::Aborted);
    other(&|import| import.run.run_id = sample::run(9));
    other(&|import| drop(import.artifacts.pop()));
    other(&|import| import.artifacts[RESULT].record = edited.clone());
    other(&|import| import.artifacts[RESULT].event = 2);
    let another = sample::events(GENESIS, 0, &[r#"{"started":false}"#])?;
    other(&|import| import.events.clone_from(&another));
    let mut moved = import.events.clone();
    moved[0].at = sample::at(77)?;
    other(&|import| import.events.clone_from(&moved));
    for other in others {
        let refused = store.import_mission(other).await;
        assert_refused!(refused, StoreError::AlreadyExists { .. });
    }
    // Another mission with the same run.
    let mut second = ended_mission(&Writer::new("acme", 2)?)?;
    second.run.run_id = sample::run(1);
    assert_refused!(
        store.import_mission(second).await,
        StoreError::AlreadyExists { .. }
    );
    assert_eq!(writer.all(store).await?, before);
    // A mission that ended here, exported and imported again.
    let mut native = Writer::new("acme", 3)?;
    native.whole(store).await?;
    let text = exported(store, &native).await?;
    let verified = verify(text.as_bytes()).map_err(|faults| format!("{faults:?}"))?;
    let back = MissionImport::from_bundle(verified, native.tenant(), sample::at(2_000)?)?;
    assert_eq!(store.import_mission(back).await?, Imported::Unchanged);
    let mission = store.mission(native.tenant(), native.mission()).await?;
    assert_eq!(mission.map(|mission| mission.imported_at), Some(None));
    Ok(())
}

/// An import is compared with a journal of several pages to its end.
pub async fn an_import_with_a_large_journal_is_repeated_or_refused(store: &dyn Store) -> Outcome {
    let writer = Writer::new("acme", 1)?;
    let mut import = ended_mission(&writer)?;
    let large = format!("\"{}\"", "é".repeat(PAGE_BYTES));
    let payloads = ["{}", large.as_str(), large.as_str(), "1", "2"];
    import.events = sample::events(GENESIS, 0, &payloads)?;
    import.run.version = 5;
    assert_eq!(store.import_mission(import.clone()).await?, Imported::New);
    let first = store
        .events(writer.tenant(), &sample::run(1), 0, 100)
        .await?;
    assert!(first.len() < import.events.len(), "one page has all events");
    let repeated = store.import_mission(import.clone()).await?;
    assert_eq!(repeated, Imported::Unchanged);
    let others = [
        vec!["{}", large.as_str(), large.as_str(), "1", "3"],
        vec!["{}", large.as_str(), large.as_str(), "1"],
        vec!["{}", large.as_str(), large.as_str(), "1", "2", "3"],
        payloads[..first.len()].to_vec(),
    ];
    for other in others {
        let mut changed = import.clone();
        changed.events = sample::events(GENESIS, 0, &other)?;
        changed.run.version = other.len() as u64;
        let refused = store.import_mission(changed).await;
        assert_refused!(refused, StoreError::AlreadyExists { .. });
    }
    Ok(())
}

/// An import is refused if it is unfinished, mixed, of another tenant or does not chain; nothing is stored.
pub async fn an_import_is_checked(store: &dyn Store) -> Outcome {
    let writer = Writer::new("acme", 1)?;
    let import = ended_mission(&writer)?;
    // An existing mission that lacks the artifact to be slipped in.
    let mut second = Writer::new("acme", 2)?;
    second.begin(store).await?;
    second.add(store, &[1]).await?;
    let before = (store.messages(0, 9).await?, second.stored(store).await?);
    let foreign = second.record(RESULT)?;
    let elsewhere = writer.changed(RESULT, "task_worker_01", "task_gone")?;
    let review = writer.changed(REVIEW, "rev_001", "rev_002")?;
    let changes: [&dyn Fn(&mut MissionImport); 10] = [
        &|import| import.run.phase = RunPhase::Runnable,
        &|import| import.state = MissionState::AwaitingApproval,
        &|import| import.artifacts.clear(),
        &|import| drop(import.artifacts.remove(0)),
        &|import| import.artifacts[RESULT].record = foreign.clone(),
        &|import| import.artifacts[RESULT].record = elsewhere.clone(),
        &|import| import.artifacts[12].record = review.clone(),
        &|import| import.artifacts[3].place = 9,
        &|import| import.artifacts[4].record = import.artifacts[3].record.clone(),
        &|import| import.artifacts[5].record.schema_version = "v0".to_owned(),
    ];
    for change in changes {
        let mut changed = import.clone();
        change(&mut changed);
        assert_refused!(
            store.import_mission(changed).await,
            StoreError::Refused { .. }
        );
    }
    let mut other = import.clone();
    other.run.tenant_id = sample::tenant("other")?;
    assert_refused!(
        store.import_mission(other).await,
        StoreError::Refused { .. }
    );
    let mut unchained = import.clone();
    unchained.events = sample::events(EventHash([1; 32]), 0, &["{}"])?;
    assert_refused!(
        store.import_mission(unchained).await,
        StoreError::Corrupt { .. }
    );
    assert_eq!(
        store.mission(writer.tenant(), writer.mission()).await?,
        None
    );
    assert_eq!(store.run(writer.tenant(), &sample::run(1)).await?, None);
    let after = (store.messages(0, 9).await?, second.stored(store).await?);
    assert_eq!(after, before);
    // The tenant is checked before storage is accessed.
    let mut going = Writer::new("acme", 3)?;
    going.begin(store).await?;
    let read = |text: String| verify(text.as_bytes()).map_err(|faults| format!("{faults:?}"));
    let open = read(exported(store, &going).await?)?;
    let refused =
        MissionImport::from_bundle(open, going.tenant(), sample::at(0)?).map_err(|e| e.to_string());
    let said = "mission `m3` is rejected: it has not ended: it is created";
    assert_eq!(refused, Err(said.to_owned()));
    going.end(store).await?;
    let done = read(exported(store, &going).await?)?;
    let other = sample::tenant("other")?;
    let refused =
        MissionImport::from_bundle(done, &other, sample::at(0)?).map_err(|e| e.to_string());
    let said = "mission `m3` is rejected: it belongs to tenant `acme`, not to `other`";
    assert_eq!(refused, Err(said.to_owned()));
    Ok(())
}

/// An imported mission cannot be claimed or extended.
pub async fn an_imported_mission_is_read_only(store: &dyn Store) -> Outcome {
    let mut writer = Writer::new("acme", 1)?;
    let import = ended_mission(&writer)?;
    (writer.version, writer.head) = (1, import.events[0].hash);
    store.import_mission(import).await?;
    assert_eq!(
        super::super::journal::claim(store, "w", 5_000, 9).await?,
        []
    );
    let decision = writer.changed(2, "pol_001", "pol_009")?;
    for fence in [Fence(0), Fence(1)] {
        let append = Append {
            fence,
            ..writer.append(vec![decision.clone()])?
        };
        assert!(store.append(append).await.is_err());
    }
    assert_eq!(writer.stored(store).await?.len(), 13);
    Ok(())
}
