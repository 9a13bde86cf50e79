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

/// What is wrong with a sample, as an error.
pub(super) fn made<T>(result: Result<T, Vec<Violation>>) -> Made<T> {
    result.map_err(|violations| format!("{violations:?}").into())
}

/// A mission as its run writes it.
pub struct Writer {
    /// The number of its run.
    pub run: u128,
    /// What all its artifacts say.
    pub root: MissionRoot,
    /// Its artifacts in their order; the first is the envelope.
    pub texts: Vec<String>,
    /// The number of events so far.
    pub version: u64,
    /// The hash of the last one.
    pub head: EventHash,
}

impl Writer {
    /// The example, as mission `m<n>` of a tenant and the `n`th run.
    ///
    /// # Errors
    /// When the example is not one.
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

    /// Whose it is.
    #[must_use]
    pub fn tenant(&self) -> &TenantId {
        &self.root.tenant_id
    }

    /// Its id.
    #[must_use]
    pub fn mission(&self) -> &MissionId {
        &self.root.mission_id
    }

    /// The artifact at a place, from 0.
    ///
    /// # Errors
    /// When the example is not one.
    pub fn record(&self, place: usize) -> Made<ArtifactRecord> {
        made(ArtifactRecord::of_payload(
            self.texts[place].clone(),
            &self.root,
        ))
    }

    /// The artifact at `place` with one text replaced by another.
    ///
    /// # Errors
    /// When the example is not one.
    ///
    /// # Panics
    /// When it has no such text.
    pub fn changed(&self, place: usize, from: &str, to: &str) -> Made<ArtifactRecord> {
        assert!(self.texts[place].contains(from), "{}", self.texts[place]);
        let text = self.texts[place].replace(from, to);
        made(ArtifactRecord::of_payload(text, &self.root))
    }

    /// The run with its first event, created `seconds` after the start.
    ///
    /// # Errors
    /// When the example is not one.
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
    /// As the store's.
    pub async fn begin(&mut self, store: &dyn Store) -> Outcome {
        let new = self.first(0)?;
        self.head = new.events[0].hash;
        store.create_held_run(new).await?;
        self.version = 1;
        Ok(())
    }

    /// The next append, of one event with these artifacts.
    ///
    /// # Errors
    /// When the example is not one.
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

    /// Sends an append and goes on from it.
    ///
    /// # Errors
    /// As the store's.
    pub async fn send(&mut self, store: &dyn Store, append: Append) -> Outcome {
        let head = append.events.last().map(|event| event.hash);
        self.version = store.append(append).await?;
        self.head = head.unwrap_or(self.head);
        Ok(())
    }

    /// Adds the artifacts at these places with one event.
    ///
    /// # Errors
    /// As the store's.
    pub async fn add(&mut self, store: &dyn Store, places: &[usize]) -> Outcome {
        let records = places.iter().map(|place| self.record(*place));
        let append = self.append(records.collect::<Made<_>>()?)?;
        self.send(store, append).await
    }

    /// The whole example, an append for each artifact, to its end.
    ///
    /// # Errors
    /// As the store's.
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
    /// As the store's.
    pub async fn end(&mut self, store: &dyn Store) -> Outcome {
        let append = Append {
            then: NextPhase::Ends,
            status: RunStatus::Completed,
            mission_state: Some(MissionState::Completed),
            ..self.append(vec![])?
        };
        self.send(store, append).await
    }

    /// Its artifacts as they are stored.
    ///
    /// # Errors
    /// As the store's.
    pub async fn stored(&self, store: &dyn Store) -> Result<Vec<StoredArtifact>, StoreError> {
        let filter = ArtifactFilter::default();
        store
            .artifacts(self.tenant(), self.mission(), filter, 0, 100)
            .await
    }

    /// The mission, its artifacts, and the number of events and messages.
    ///
    /// # Errors
    /// As the store's.
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
