//! Converts between stored missions and bundles for export and import (`charter_domain::mission::bundle`).

use charter_contract::ids::{TenantId, UserId};
use charter_contract::mission::envelope::MissionEnvelope;
use charter_contract::mission::{MissionRoot, MissionState};
use charter_contract::time::Timestamp;
use charter_contract::validate::parse_stored;
use charter_contract::violation::Violation;
use charter_domain::mission::bundle::{Bundle, BundledArtifact, BundledEvent, FORMAT, Header};

use super::{ArtifactRecord, MissionRecord, StoredArtifact};
use crate::StoreError;
use crate::journal::{JournalEvent, NewEvent, RunPhase, RunRecord};

/// A mission to import, built from a verified bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissionImport {
    /// The run, finished; its version is the number of events.
    pub run: RunRecord,
    /// The whole journal.
    pub events: Vec<NewEvent>,
    /// The mission's state.
    pub state: MissionState,
    /// All artifacts in the order of writing, the envelope first, with positions from 1 on.
    pub artifacts: Vec<StoredArtifact>,
    /// Time of the import.
    pub at: Timestamp,
}

impl MissionImport {
    /// Builds the import of a bundle for a tenant. The bundle is a result of `charter_domain::mission::bundle::verify`.
    ///
    /// # Errors
    /// [`StoreError::Refused`] when the mission is another tenant's, or has not ended;
    /// [`StoreError::Corrupt`] when the bundle was not verified.
    pub fn from_bundle(
        bundle: Bundle,
        importer: &TenantId,
        at: Timestamp,
    ) -> Result<Self, StoreError> {
        let header = bundle.header;
        let mission = header.mission_id.as_str();
        if header.tenant_id != *importer {
            let detail = format!(
                "it belongs to tenant `{}`, not to `{importer}`",
                header.tenant_id
            );
            return Err(refused(mission, detail));
        }
        if !header.state.is_final() {
            let detail = format!("it has not ended: it is {}", header.state);
            return Err(refused(mission, detail));
        }
        let root = root(&bundle.artifacts).map_err(|found| corrupt(mission, &found))?;
        let artifacts = (1..).zip(bundle.artifacts).map(|(place, artifact)| {
            let record = ArtifactRecord::of_payload(artifact.payload, &root);
            let record = record.map_err(|found| corrupt(mission, &found));
            Ok(StoredArtifact {
                place,
                event: artifact.event,
                record: record?,
            })
        });
        Ok(Self {
            run: RunRecord {
                run_id: header.run_id,
                tenant_id: header.tenant_id,
                user_id: UserId::parse(root.actor_id.as_str()).ok(),
                title: header.title,
                phase: RunPhase::Finished,
                status: header.status,
                wake_at: None,
                version: bundle.events.len() as u64,
                created_at: bundle.events.first().map_or(at, |event| event.at),
                updated_at: at,
            },
            state: header.state,
            artifacts: artifacts.collect::<Result<_, StoreError>>()?,
            events: bundle.events.into_iter().map(event).collect(),
            at,
        })
    }
}

/// Builds the bundle of a stored mission: `artifacts` and `events` are complete and in order.
#[must_use]
pub fn bundle(
    mission: &MissionRecord,
    run: &RunRecord,
    artifacts: Vec<StoredArtifact>,
    events: Vec<JournalEvent>,
) -> Bundle {
    Bundle {
        header: Header {
            artifacts: artifacts.len() as u64,
            events: events.len() as u64,
            format: FORMAT.to_owned(),
            mission_id: mission.mission_id.clone(),
            run_id: mission.run_id.clone(),
            state: mission.state,
            status: run.status,
            tenant_id: mission.tenant_id.clone(),
            title: mission.title.clone(),
        },
        artifacts: artifacts
            .into_iter()
            .map(|artifact| BundledArtifact {
                payload: artifact.record.payload,
                event: artifact.event,
            })
            .collect(),
        events: events
            .into_iter()
            .map(|event| BundledEvent {
                at: event.at,
                hash: event.hash,
                payload: event.payload,
            })
            .collect(),
    }
}

fn event(event: BundledEvent) -> NewEvent {
    NewEvent {
        payload: event.payload,
        hash: event.hash,
        at: event.at,
    }
}

fn root(artifacts: &[BundledArtifact]) -> Result<MissionRoot, Vec<Violation>> {
    let envelope = artifacts.first().map_or("", |first| &first.payload);
    parse_stored::<MissionEnvelope>(envelope).map(|envelope| envelope.mission_root())
}

fn refused(mission: &str, detail: String) -> StoreError {
    StoreError::Refused {
        what: "mission",
        id: mission.to_owned(),
        detail,
    }
}

fn corrupt(mission: &str, violations: &[Violation]) -> StoreError {
    let first = violations.first().map(ToString::to_string);
    StoreError::Corrupt {
        what: "mission",
        id: mission.to_owned(),
        detail: first.unwrap_or_else(|| "it contains an invalid artifact".to_owned()),
    }
}
