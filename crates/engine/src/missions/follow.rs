//! A mission as it goes on: its journal, with where the mission stands after each event, by page or as
//! it happens; and waiting for it to end or to need a person.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use charter_contract::ids::{MissionId, RunId};
use charter_contract::mission::MissionState;
use charter_domain::run::Run;
use charter_store::journal::JournalEvent;
use futures_util::Stream;
use serde::Serialize;

use super::MissionShown;
use crate::runs::HistoryEvent;
use crate::{Caller, Engine, EngineError};

/// Time after which a mission is looked at even if nobody in this process said that there is news.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// Events that are read at once.
const BATCH: usize = 500;

/// An event of a mission's journal.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MissionEvent {
    /// The event.
    #[serde(flatten)]
    pub entry: HistoryEvent,
    /// Where the mission stands after it.
    pub mission_state: MissionState,
    /// Where its run stands after it: `working`, `awaiting_approval` and so on.
    pub status: &'static str,
    /// Whether the mission stood elsewhere before.
    #[serde(skip)]
    pub moved: bool,
}

/// One page of a mission's journal.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MissionEventListing {
    /// Oldest first.
    pub entries: Vec<MissionEvent>,
    /// The event to go on after; absent when there are no more now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}

impl Engine {
    /// A page of a mission's journal, from the event after `after` on.
    ///
    /// # Errors
    /// `not_found`; `internal` for a journal that cannot be read.
    pub async fn mission_events(
        &self,
        caller: &Caller,
        mission: &MissionId,
        after: u64,
        limit: usize,
    ) -> Result<MissionEventListing, EngineError> {
        let record = self.mission_record(caller, mission).await?;
        let mut folded = Folding::default();
        let mut entries = Vec::new();
        for entry in self.history(&record.run_id).await? {
            let event = folded.take(entry)?;
            if event.entry.sequence > after {
                entries.push(event);
            }
            if entries.len() > limit {
                break;
            }
        }
        let more = entries.len() > limit;
        entries.truncate(limit);
        let last = entries.last().filter(|_| more);
        Ok(MissionEventListing {
            next: last.map(|event| event.entry.sequence),
            entries,
        })
    }

    /// A mission's journal from the event after `after` on, as it is written. Ends with the mission, or
    /// when the engine stops or storage fails; the reader takes up after the last event that it saw.
    ///
    /// # Errors
    /// `not_found`.
    pub async fn follow_mission(
        self: &Arc<Self>,
        caller: &Caller,
        mission: &MissionId,
        after: u64,
    ) -> Result<impl Stream<Item = MissionEvent> + Send + use<>, EngineError> {
        let record = self.mission_record(caller, mission).await?;
        let follower = Follower {
            engine: Arc::clone(self),
            run: record.run_id,
            after,
            folded: Folding::default(),
            read: VecDeque::new(),
        };
        Ok(futures_util::stream::unfold(
            follower,
            |mut follower| async move {
                match follower.next().await {
                    Ok(event) => event.map(|event| (event, follower)),
                    Err(error) => {
                        let run = &follower.run;
                        tracing::warn!(run.id = %run, error = %error, "a stream of a mission ends early");
                        None
                    }
                }
            },
        ))
    }

    /// A mission as it stands when it ends or waits for a person, or after `patience`, whichever comes
    /// first.
    ///
    /// # Errors
    /// As for [`Engine::show_mission`].
    pub async fn await_mission(
        &self,
        caller: &Caller,
        mission: &MissionId,
        patience: Duration,
    ) -> Result<MissionShown, EngineError> {
        let record = self.mission_record(caller, mission).await?;
        self.await_run(caller, &record.run_id, patience).await?;
        self.show_mission(caller, mission).await
    }
}

impl TryFrom<JournalEvent> for HistoryEvent {
    type Error = EngineError;

    fn try_from(stored: JournalEvent) -> Result<Self, EngineError> {
        let event = serde_json::from_str(&stored.payload);
        Ok(Self {
            sequence: stored.sequence,
            at: stored.at,
            event: event
                .map_err(|error| EngineError::internal("reading a mission's journal", error))?,
        })
    }
}

/// A journal folded so far.
#[derive(Debug, Default)]
struct Folding {
    run: Option<Run>,
    sequence: u64,
}

impl Folding {
    fn take(&mut self, entry: HistoryEvent) -> Result<MissionEvent, EngineError> {
        let before = self.run.as_ref().map(charter_domain::mission::state);
        let (event, at) = (entry.event.clone(), entry.at);
        let damaged = |error| EngineError::internal("folding a mission's journal", error);
        let run = match &mut self.run {
            Some(run) => {
                run.apply(event, at).map_err(damaged)?;
                run
            }
            none => none.insert(Run::start(event, at).map_err(damaged)?),
        };
        self.sequence = entry.sequence;
        let mission_state = charter_domain::mission::state(run);
        Ok(MissionEvent {
            mission_state,
            status: run.status(),
            moved: before != Some(mission_state),
            entry,
        })
    }

    fn is_over(&self) -> bool {
        self.run.as_ref().is_some_and(|run| run.outcome().is_some())
    }
}

/// A stream's place.
struct Follower {
    engine: Arc<Engine>,
    run: RunId,
    after: u64,
    folded: Folding,
    read: VecDeque<HistoryEvent>,
}

impl Follower {
    async fn next(&mut self) -> Result<Option<MissionEvent>, EngineError> {
        loop {
            while let Some(entry) = self.read.pop_front() {
                let event = self.folded.take(entry)?;
                if event.entry.sequence > self.after {
                    return Ok(Some(event));
                }
            }
            if self.folded.is_over() {
                return Ok(None);
            }
            // Registered before looking, so that what comes meanwhile is not missed.
            let engine = Arc::clone(&self.engine);
            let news = engine.news().notified();
            let mut news = std::pin::pin!(news);
            news.as_mut().enable();
            let after = self.folded.sequence;
            let read = engine.store().events(&self.run, after, BATCH).await?;
            if !read.is_empty() {
                let read = read.into_iter().map(HistoryEvent::try_from);
                self.read.extend(read.collect::<Result<Vec<_>, _>>()?);
                continue;
            }
            tokio::select! {
                () = engine.shutdown().cancelled() => return Ok(None),
                () = news => {}
                () = tokio::time::sleep(LOOK_EVERY) => {}
            }
        }
    }
}
