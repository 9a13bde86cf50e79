//! Converts between domain events and stored ones: JSON, hash chain, folding.

use std::ops::{ControlFlow, Deref};
use std::sync::Arc;

use charter_contract::bounds::{LARGE_JOURNAL, RUN_MEMORY};
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{RunId, TenantId};
use charter_contract::json::{JsonFault, decode_stored, to_stored};
use charter_contract::time::Timestamp;
use charter_domain::run::{Run, RunEvent};
use charter_store::SharedStore;
use charter_store::journal::{Append, EventHash, GENESIS, JournalEvent, NewEvent};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::EngineError;
use crate::execution::outputs::ValueMemory;
use crate::ground::apart;
use crate::identity::shares::Share;

/// Events read from storage at once.
const PAGE: usize = 500;

/// Upper bound on the memory of a byte of JSON when it is parsed.
pub(super) const MEMORY_PER_BYTE: usize = 64;

/// A run with the end of its journal.
#[derive(Debug)]
pub(crate) struct FoldedRun {
    pub(crate) run: Run,
    pub(crate) version: u64,
    pub(crate) head: EventHash,
    /// Times of its first and last event; `None` before the first is written.
    pub(crate) first: Option<Timestamp>,
    pub(crate) last: Option<Timestamp>,
    /// Whether the run ever requested an approval, or waited to.
    pub(crate) asked: bool,
}

impl FoldedRun {
    /// Wraps a run before its first event is written.
    pub(crate) fn unwritten(run: Run) -> Self {
        Self {
            run,
            version: 0,
            head: GENESIS,
            first: None,
            last: None,
            asked: false,
        }
    }
}

/// One event of a run's history.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "JournalEvent")]
pub struct HistoryEvent {
    /// Position, from 1.
    pub sequence: u64,
    /// When it happened.
    pub at: Timestamp,
    /// The event itself.
    #[serde(flatten)]
    pub event: RunEvent,
}

/// A decided event, in the form in which it will be written.
#[derive(Debug)]
pub(crate) struct PendingEvent {
    payload: String,
    at: Timestamp,
}

impl PendingEvent {
    /// # Errors
    /// `internal` for an event that could not be read again.
    pub(crate) fn new(event: &RunEvent, at: Timestamp) -> Result<Self, EngineError> {
        let payload = apart::on_value(event.memory(), || to_stored(event))
            .map_err(|error| EngineError::internal("writing an event", error))?;
        Ok(Self { payload, at })
    }
}

/// Chains events from `head`.
pub(crate) fn chain(head: EventHash, version: u64, events: Vec<PendingEvent>) -> Vec<NewEvent> {
    let mut head = head;
    let chained = (version + 1..).zip(events).map(|(sequence, event)| {
        let PendingEvent { payload, at } = event;
        head = head.chain(sequence, &payload);
        NewEvent {
            payload,
            hash: head,
            at,
        }
    });
    chained.collect()
}

/// Events of a run's journal, with their memory if they are large.
#[derive(Debug)]
pub(crate) struct History {
    events: Vec<HistoryEvent>,
    memory: Option<Share>,
}

impl History {
    /// Adds the next event.
    pub(super) fn push(&mut self, at: Timestamp, event: RunEvent) {
        self.events.push(HistoryEvent {
            sequence: self.events.len() as u64 + 1,
            at,
            event,
        });
    }

    /// Returns the events and their memory.
    pub(crate) fn into_parts(self) -> (Vec<HistoryEvent>, Option<Share>) {
        (self.events, self.memory)
    }
}

impl Deref for History {
    type Target = [HistoryEvent];

    fn deref(&self) -> &[HistoryEvent] {
        &self.events
    }
}

/// The size of a journal, and the memory reserved for reading it.
#[derive(Debug)]
pub(crate) struct JournalSize {
    bytes: u64,
    pub(super) memory: Option<Share>,
}

/// The journals of runs.
pub(crate) struct JournalService {
    pub(super) store: SharedStore,
    pub(super) memory: ValueMemory,
    pub(super) news: Arc<Notify>,
    pub(super) shutdown: CancellationToken,
}

impl JournalService {
    /// Creates the service; `news` wakes the readers of events.
    pub(crate) fn new(
        store: SharedStore,
        memory: ValueMemory,
        news: Arc<Notify>,
        shutdown: CancellationToken,
    ) -> Self {
        Self {
            store,
            memory,
            news,
            shutdown,
        }
    }

    /// Appends to a journal and notifies the watchers.
    pub(crate) async fn append(&self, append: Append) -> Result<u64, EngineError> {
        let announces = !append.messages.is_empty();
        let version = self.store.append(append).await?;
        if announces {
            self.news.notify_waiters();
        }
        Ok(version)
    }

    /// Measures a run's journal, and waits for the memory to read it.
    ///
    /// # Errors
    /// `overloaded` if memory does not become available in time.
    pub(super) async fn measure(
        &self,
        tenant: &TenantId,
        run: &RunId,
    ) -> Result<JournalSize, EngineError> {
        let bytes = self.store.journal_bytes(tenant, run).await?;
        let text = usize::try_from(bytes).unwrap_or(usize::MAX);
        let memory = match text {
            0..=LARGE_JOURNAL => None,
            text => {
                let values = text.saturating_mul(MEMORY_PER_BYTE).min(RUN_MEMORY);
                self.memory
                    .reserve(tenant, text.saturating_add(values))
                    .await?
            }
        };
        Ok(JournalSize { bytes, memory })
    }

    /// Passes the events of a run's journal to `each`, oldest first, until `each` breaks. Checks that each event chains
    /// from the one before it. Returns the hash of the last.
    pub(super) async fn read(
        &self,
        (tenant, run): (&TenantId, &RunId),
        measured: &JournalSize,
        mut each: impl FnMut(HistoryEvent) -> Result<ControlFlow<()>, EngineError> + Send,
    ) -> Result<EventHash, EngineError> {
        let (mut head, mut sequence, mut bytes) = (GENESIS, 0, 0);
        while bytes < measured.bytes {
            let page = self.store.events(tenant, run, sequence, PAGE).await?;
            if page.is_empty() {
                break;
            }
            for stored in page {
                sequence += 1;
                let length = stored.payload.len();
                let chained = apart::on_value(length, || head.chain(sequence, &stored.payload));
                if stored.hash != chained || stored.sequence != sequence {
                    let detail = "it does not chain to the previous event";
                    return Err(damaged(run, sequence, detail));
                }
                bytes += length as u64;
                head = stored.hash;
                let event = apart::on_value(length, || decode_stored(&stored.payload))
                    .map_err(|error| unread(run, sequence, &stored.payload, &error))?;
                let entry = HistoryEvent {
                    sequence,
                    at: stored.at,
                    event,
                };
                if each(entry)?.is_break() {
                    return Ok(head);
                }
            }
        }
        Ok(head)
    }

    /// Folds a run's whole journal, checking the chain.
    pub(crate) async fn fold(
        &self,
        tenant: &TenantId,
        run: &RunId,
    ) -> Result<FoldedRun, EngineError> {
        let measured = self.measure(tenant, run).await?;
        let mut folding = Folding::new(run);
        let each = |entry: HistoryEvent| folding.take(entry);
        let head = self.read((tenant, run), &measured, each).await?;
        folding.folded(head)
    }

    /// Folds a run's journal up to an event, checking the whole chain; `None` for an event that has not happened.
    pub(crate) async fn fold_until(
        &self,
        tenant: &TenantId,
        run: &RunId,
        sequence: u64,
    ) -> Result<Option<FoldedRun>, EngineError> {
        let measured = self.measure(tenant, run).await?;
        let mut folding = Folding::new(run);
        let mut last = 0;
        let each = |entry: HistoryEvent| {
            last = entry.sequence;
            if entry.sequence <= sequence {
                return folding.take(entry);
            }
            Ok(ControlFlow::Continue(()))
        };
        let head = self.read((tenant, run), &measured, each).await?;
        if !(1..=last).contains(&sequence) {
            return Ok(None);
        }
        folding.folded(head).map(Some)
    }

    /// Returns the first event of a run's journal.
    pub(crate) async fn first_event(
        &self,
        tenant: &TenantId,
        run: &RunId,
    ) -> Result<Option<RunEvent>, EngineError> {
        let mut first = None;
        let each = |entry: HistoryEvent| {
            first = Some(entry.event);
            Ok(ControlFlow::Break(()))
        };
        let measured = self.measure(tenant, run).await?;
        self.read((tenant, run), &measured, each).await?;
        Ok(first)
    }

    /// Returns a run's history, checking the chain.
    pub(crate) async fn history(
        &self,
        tenant: &TenantId,
        run: &RunId,
    ) -> Result<History, EngineError> {
        let measured = self.measure(tenant, run).await?;
        let mut events = Vec::new();
        let each = |entry: HistoryEvent| {
            events.push(entry);
            Ok(ControlFlow::Continue(()))
        };
        self.read((tenant, run), &measured, each).await?;
        Ok(History {
            events,
            memory: measured.memory,
        })
    }

    /// Returns a run's history and the folded run. The folded run keeps only its parameters; all other values are in
    /// the history.
    pub(crate) async fn history_with_run(
        &self,
        tenant: &TenantId,
        run: &RunId,
    ) -> Result<(FoldedRun, History), EngineError> {
        let measured = self.measure(tenant, run).await?;
        let mut folding = Folding::new(run);
        let mut events = Vec::new();
        let each = |entry: HistoryEvent| {
            let told = folding.take(HistoryEvent {
                event: entry.event.outline(),
                ..entry
            });
            events.push(entry);
            told
        };
        let head = self.read((tenant, run), &measured, each).await?;
        let history = History {
            events,
            memory: measured.memory,
        };
        Ok((folding.folded(head)?, history))
    }

    /// Returns the events of a run's journal as stored, and their memory.
    pub(crate) async fn stored(
        &self,
        tenant: &TenantId,
        run: &RunId,
    ) -> Result<(Vec<JournalEvent>, JournalSize), EngineError> {
        let measured = self.measure(tenant, run).await?;
        let mut events: Vec<JournalEvent> = Vec::new();
        loop {
            let after = events.last().map_or(0, |event| event.sequence);
            let page = self.store.events(tenant, run, after, PAGE).await?;
            if page.is_empty() {
                return Ok((events, measured));
            }
            events.extend(page);
        }
    }
}

/// A journal that is being folded.
struct Folding<'r> {
    id: &'r RunId,
    run: Option<Run>,
    version: u64,
    first: Option<Timestamp>,
    last: Option<Timestamp>,
    asked: bool,
}

impl<'r> Folding<'r> {
    fn new(id: &'r RunId) -> Self {
        Self {
            id,
            run: None,
            version: 0,
            first: None,
            last: None,
            asked: false,
        }
    }

    fn take(&mut self, entry: HistoryEvent) -> Result<ControlFlow<()>, EngineError> {
        let HistoryEvent {
            sequence,
            at,
            event,
        } = entry;
        self.asked |= matches!(
            event,
            RunEvent::ApprovalRequested(_) | RunEvent::WaitingForRun { .. }
        );
        let result = match &mut self.run {
            None => Run::start(event, at).map(|run| self.run = Some(run)),
            Some(run) => run.apply(event, at),
        };
        result.map_err(|error| damaged(self.id, sequence, &error.to_string()))?;
        self.version += 1;
        self.first = self.first.or(Some(at));
        self.last = Some(at);
        Ok(ControlFlow::Continue(()))
    }

    fn folded(self, head: EventHash) -> Result<FoldedRun, EngineError> {
        let empty = || damaged(self.id, 1, "the journal is empty");
        Ok(FoldedRun {
            run: self.run.ok_or_else(empty)?,
            version: self.version,
            head,
            first: self.first,
            last: self.last,
            asked: self.asked,
        })
    }
}

/// A correctly chained event that this version does not know: a newer version wrote it.
#[derive(Debug, thiserror::Error)]
#[error("event {sequence} of {run}, `{event}`: {detail}")]
struct NewerVersionEvent {
    run: RunId,
    sequence: u64,
    event: String,
    detail: String,
}

/// Returns the error for a chained event that cannot be read.
fn unread(run: &RunId, sequence: u64, payload: &str, error: &JsonFault) -> EngineError {
    let payload: Value = decode_stored(payload).unwrap_or_default();
    let Some(event) = payload["event"].as_str() else {
        return damaged(run, sequence, &error.to_string());
    };
    let message = format!(
        "a newer version of Charter continued the run and wrote an event `{event}` that this version does not know; \
         use a server of the newer version"
    );
    EngineError::new(ErrorCode::Unavailable, message).caused_by(NewerVersionEvent {
        run: run.clone(),
        sequence,
        event: event.to_owned(),
        detail: error.to_string(),
    })
}

/// Returns whether a run could not be read because a newer version carries it on.
pub(super) fn is_of_newer(error: &EngineError) -> bool {
    std::error::Error::source(error).is_some_and(|cause| cause.is::<NewerVersionEvent>())
}

fn damaged(run: &RunId, sequence: u64, detail: &str) -> EngineError {
    let cause = format!("event {sequence} of {run}: {detail}");
    EngineError::internal("reading a run's journal", cause)
}
