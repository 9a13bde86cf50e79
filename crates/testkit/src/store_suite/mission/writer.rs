//! The example mission of the contracts, written as its run would write it.

use charter_contract::ids::{MissionId, TenantId};
use charter_contract::mission::envelope::MissionEnvelope;
use charter_contract::mission::{MissionRoot, MissionState};
use charter_contract::run_status::RunStatus;
use charter_contract::validate::parse;
use charter_contract::violation::Violation;
use charter_store::journal::{Append, EventHash, GENESIS, NewLeasedRun, NextPhase};
use charter_store::lease::Fence;
use charter_store::mission::{ArtifactFilter, ArtifactRecord, MissionRecord, StoredArtifact};
use charter_store::{Store, StoreError};

use crate::store_suite::Outcome;
use crate::store_suite::sample::{self, Made};

const EXAMPLE: &str = include_str!("../../../../contract/tests/missions/waterfront.jsonl");

/// Converts violations of a sample to an error.
pub(super) fn made<T>(result: Result<T, Vec<Violation>>) -> Made<T> {
    result.map_err(|violations| format!("{violations:?}").into())
}

/// Writes a mission as its run would.
pub struct Writer {
    /// Number of the run.
    pub run: u128,
    /// Root metadata of all artifacts.
    pub root: MissionRoot,
    /// Artifacts in order; the first is the envelope.
    pub texts: Vec<String>,
    /// Number of events so far.
    pub version: u64,
    /// Hash of the last event.
    pub head: EventHash,
}

impl Writer {
    /// Creates the example as mission `m<n>` of a tenant, with the `n`th run.
    ///
    /// # Errors
    /// If the example is invalid.
    pub fn new(tenant: &str, n: u128) -> Made<Self> {
        let texts: Vec<String> = EXAMPLE
            .lines()
            .map(|text| text.replace("tenant_velocity", tenant))
            .map(|text| {
                text.replace(
                    "\"mission_id\":\"uuid\"",
                    &format!("\"mission_id\":\"m{n}\""),
                )
            })
            .collect();
        let envelope: MissionEnvelope = made(parse(texts[0].as_bytes()))?;
        Ok(Self {
            run: n,
            root: envelope.mission_root(),
            texts,
            version: 0,
            head: GENESIS,
        })
    }

    /// Returns the tenant.
    #[must_use]
    pub fn tenant(&self) -> &TenantId {
        &self.root.tenant_id
    }

    /// Returns the mission id.
    #[must_use]
    pub fn mission(&self) -> &MissionId {
        &self.root.mission_id
    }

    /// Returns the artifact at an index, from 0.
    ///
    /// # Errors
    /// If the example is invalid.
    pub fn record(&self, place: usize) -> Made<ArtifactRecord> {
        made(ArtifactRecord::of_payload(
            self.texts[place].clone(),
            &self.root,
        ))
    }

    /// Returns the artifact at an index with one text replaced.
    ///
    /// # Errors
    /// If the example is invalid.
    ///
    /// # Panics
    /// If it does not contain the text.
    pub fn changed(&self, place: usize, from: &str, to: &str) -> Made<ArtifactRecord> {
        assert!(self.texts[place].contains(from), "{}", self.texts[place]);
        let text = self.texts[place].replace(from, to);
        made(ArtifactRecord::of_payload(text, &self.root))
    }

    /// Returns the run with its first event, created `seconds` after the start.
    ///
    /// # Errors
    /// If the example is invalid.
    pub fn first(&self, seconds: i64) -> Made<NewLeasedRun> {
        let (run, events) = sample::new_run(self.tenant().as_str(), self.run, seconds)?;
        Ok(NewLeasedRun {
            run,
            events,
            approvals: vec![],
            artifacts: vec![self.record(0)?],
            mission_state: None,
            holder: "a".to_owned(),
            expires_at: sample::at(100)?,
            release: true,
            messages: vec![],
        })
    }

    /// Creates the run with the envelope.
    ///
    /// # Errors
    /// Any error of the store.
    pub async fn begin(&mut self, store: &dyn Store) -> Outcome {
        let new = self.first(0)?;
        self.head = new.events[0].hash;
        store.create_held_run(new).await?;
        self.version = 1;
        Ok(())
    }

    /// Returns the next append, with one event and these artifacts.
    ///
    /// # Errors
    /// If the example is invalid.
    pub fn append(&self, artifacts: Vec<ArtifactRecord>) -> Made<Append> {
        let payload = format!(r#"{{"n":{}}}"#, self.version + 1);
        let mut message = sample::message("run.step_succeeded", 2)?;
        message.tenant = Some(self.tenant().to_string());
        Ok(Append {
            tenant_id: self.tenant().clone(),
            run_id: sample::run(self.run),
            expected: self.version,
            fence: Fence(1),
            events: sample::events(self.head, self.version, &[&payload])?,
            then: NextPhase::Runs,
            status: RunStatus::Working,
            approvals: vec![],
            artifacts,
            mission_state: None,
            release: false,
            messages: vec![message],
        })
    }

    /// Sends an append and records the new version and head.
    ///
    /// # Errors
    /// Any error of the store.
    pub async fn send(&mut self, store: &dyn Store, append: Append) -> Outcome {
        let head = append.events.last().map(|event| event.hash);
        self.version = store.append(append).await?;
        self.head = head.unwrap_or(self.head);
        Ok(())
    }

    /// Adds the artifacts at these indexes with one event.
    ///
    /// # Errors
    /// Any error of the store.
    pub async fn add(&mut self, store: &dyn Store, places: &[usize]) -> Outcome {
        let records = places.iter().map(|place| self.record(*place));
        let append = self.append(records.collect::<Made<_>>()?)?;
        self.send(store, append).await
    }

    /// Writes the whole example to its end, with one append for each artifact.
    ///
    /// # Errors
    /// Any error of the store.
    pub async fn whole(&mut self, store: &dyn Store) -> Outcome {
        self.begin(store).await?;
        for place in 1..self.texts.len() {
            self.add(store, &[place]).await?;
        }
        self.end(store).await
    }

    /// Ends the run and the mission.
    ///
    /// # Errors
    /// Any error of the store.
    pub async fn end(&mut self, store: &dyn Store) -> Outcome {
        let append = Append {
            then: NextPhase::Ends,
            status: RunStatus::Completed,
            mission_state: Some(MissionState::Completed),
            ..self.append(vec![])?
        };
        self.send(store, append).await
    }

    /// Returns the stored artifacts.
    ///
    /// # Errors
    /// Any error of the store.
    pub async fn stored(&self, store: &dyn Store) -> Result<Vec<StoredArtifact>, StoreError> {
        let filter = ArtifactFilter::default();
        store
            .artifacts(self.tenant(), self.mission(), filter, 0, 100)
            .await
    }

    /// Returns the mission, its artifacts, and the numbers of events and messages.
    ///
    /// # Errors
    /// Any error of the store.
    pub async fn all(
        &self,
        store: &dyn Store,
    ) -> Made<(Option<MissionRecord>, Vec<StoredArtifact>, usize, usize)> {
        Ok((
            store.mission(self.tenant(), self.mission()).await?,
            self.stored(store).await?,
            store
                .events(self.tenant(), &sample::run(self.run), 0, 100)
                .await?
                .len(),
            store.messages(0, 100).await?.len(),
        ))
    }
}
