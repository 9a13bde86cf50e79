//! Follows a run's journal, with a value that is computed from the run after each event: by page, or as it is written.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::Arc;

use charter_contract::bounds::{LARGE_OUTPUT, RUN_MEMORY};
use charter_contract::ids::{RunId, TenantId};
use charter_contract::json::decode_stored;
use charter_domain::graph::PlanSource;
use charter_domain::run::Run;
use charter_store::journal::JournalEvent;
use futures_util::Stream;

use super::HistoryEvent;
use super::journal::{JournalService, MEMORY_PER_BYTE};
use crate::EngineError;
use crate::ground::change_wait::{ChangeWait, POLL_INTERVAL, WaitEnd};

/// Events that are read at once.
const BATCH: usize = 500;

/// An event, and the value computed from the run before and after it.
pub(crate) struct FollowedEvent<S> {
    pub(crate) entry: HistoryEvent,
    pub(crate) before: Option<S>,
    pub(crate) after: S,
}

impl JournalService {
    /// Returns at most `limit` events after one, and the cursor if there are more. `stands` computes the value reported
    /// for the run.
    pub(crate) async fn page<S: Copy + Send>(
        &self,
        tenant: &TenantId,
        run: &RunId,
        stands: fn(&Run) -> S,
        after: u64,
        limit: usize,
    ) -> Result<(Vec<FollowedEvent<S>>, Option<u64>), EngineError> {
        let measured = self.measure(tenant, run).await?;
        let mut folding = Folding::new(stands);
        let (mut found, mut memory) = (Vec::new(), 0_usize);
        let mut is_full = false;
        let each = |entry: HistoryEvent| {
            let followed = folding.take(entry)?;
            if followed.entry.sequence > after {
                // A page of large events ends early.
                is_full = memory > LARGE_OUTPUT;
                memory = memory.saturating_add(followed.entry.event.memory());
                found.push(followed);
            }
            Ok(if is_full || found.len() > limit {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            })
        };
        self.read((tenant, run), &measured, each).await?;
        let limit = if is_full { found.len() - 1 } else { limit };
        let more = found.len() > limit;
        found.truncate(limit);
        let last = found.last().filter(|_| more);
        let next = last.map(|followed| followed.entry.sequence);
        Ok((found, next))
    }

    /// Streams events after one as they are written, until the run ends.
    pub(crate) fn follow<S: Copy + Send + 'static>(
        self: &Arc<Self>,
        tenant: TenantId,
        run: RunId,
        stands: fn(&Run) -> S,
        after: u64,
    ) -> impl Stream<Item = FollowedEvent<S>> + Send + use<S> {
        let follower = Follower {
            journals: Arc::clone(self),
            tenant,
            run,
            after,
            folding: Folding::new(stands),
            read: VecDeque::new(),
        };
        futures_util::stream::unfold(follower, |mut follower| async move {
            match follower.next().await {
                Ok(followed) => followed.map(|followed| (followed, follower)),
                Err(error) => {
                    let run = &follower.run;
                    tracing::warn!(run.id = %run, error = %error, "ending a run's stream early");
                    None
                }
            }
        })
    }
}

impl TryFrom<JournalEvent> for HistoryEvent {
    type Error = EngineError;

    fn try_from(stored: JournalEvent) -> Result<Self, EngineError> {
        let event = decode_stored(&stored.payload);
        Ok(Self {
            sequence: stored.sequence,
            at: stored.at,
            event: event
                .map_err(|error| EngineError::internal("reading a run's journal", error))?,
        })
    }
}

/// A journal folded so far.
struct Folding<S> {
    run: Option<Run>,
    sequence: u64,
    stands: fn(&Run) -> S,
}

impl<S> Folding<S> {
    fn new(stands: fn(&Run) -> S) -> Self {
        Self {
            run: None,
            sequence: 0,
            stands,
        }
    }

    fn take(&mut self, entry: HistoryEvent) -> Result<FollowedEvent<S>, EngineError> {
        let before = self.run.as_ref().map(self.stands);
        let event = match &self.run {
            // The outputs of a mission's stages hold its state.
            Some(run) if !matches!(run.graph().source(), Some(PlanSource::Mission(_))) => {
                entry.event.outline()
            }
            Some(_) | None => entry.event.clone(),
        };
        let at = entry.at;
        let damaged = |error| EngineError::internal("folding a run's journal", error);
        let run = match &mut self.run {
            Some(run) => {
                run.apply(event, at).map_err(damaged)?;
                run
            }
            none => none.insert(Run::start(event, at).map_err(damaged)?),
        };
        self.sequence = entry.sequence;
        Ok(FollowedEvent {
            before,
            after: (self.stands)(run),
            entry,
        })
    }

    fn is_over(&self) -> bool {
        self.run.as_ref().is_some_and(|run| run.outcome().is_some())
    }
}

/// The position of a stream.
struct Follower<S> {
    journals: Arc<JournalService>,
    tenant: TenantId,
    run: RunId,
    after: u64,
    folding: Folding<S>,
    /// As stored: converted one by one, as they are sent.
    read: VecDeque<JournalEvent>,
}

impl<S> Follower<S> {
    async fn next(&mut self) -> Result<Option<FollowedEvent<S>>, EngineError> {
        loop {
            while let Some(stored) = self.read.pop_front() {
                let memory = stored.payload.len().saturating_mul(MEMORY_PER_BYTE);
                let memory = memory.min(RUN_MEMORY);
                let _memory = self.journals.memory.reserve(&self.tenant, memory).await?;
                let followed = self.folding.take(HistoryEvent::try_from(stored)?)?;
                if followed.entry.sequence > self.after {
                    return Ok(Some(followed));
                }
            }
            if self.folding.is_over() {
                return Ok(None);
            }
            // Registered before looking, so that no notification in between is missed.
            let journals = Arc::clone(&self.journals);
            let change = ChangeWait::register(&journals.news);
            // All events that were read are folded.
            let after = self.folding.sequence;
            let read = journals
                .store
                .events(&self.tenant, &self.run, after, BATCH)
                .await?;
            if !read.is_empty() {
                self.read.extend(read);
                continue;
            }
            match change.wait(POLL_INTERVAL, &journals.shutdown).await {
                WaitEnd::LookAgain => {}
                WaitEnd::Stopped => return Ok(None),
            }
        }
    }
}
