//! Between domain events and stored ones: JSON, hash chain, folding.

use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{RunId, TenantId};
use charter_contract::json::{JsonFault, decode_stored, to_stored};
use charter_contract::time::Timestamp;
use charter_domain::run::{Run, RunEvent};
use charter_store::journal::{EventHash, GENESIS, JournalEvent, NewEvent};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::{Engine, EngineError};

/// Events read from storage at once.
const PAGE: usize = 500;

/// A run with the end of its journal.
#[derive(Debug)]
pub(crate) struct Folded {
    pub(crate) run: Run,
    pub(crate) version: u64,
    pub(crate) head: EventHash,
    /// When its last event happened; `None` before its first is written.
    pub(crate) last: Option<Timestamp>,
    /// Whether people were ever asked for an approval.
    pub(crate) asked: bool,
}

impl Folded {
    /// A run before its first event is written.
    pub(crate) fn unwritten(run: Run) -> Self {
        Self {
            run,
            version: 0,
            head: GENESIS,
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
    /// When.
    pub at: Timestamp,
    /// What.
    #[serde(flatten)]
    pub event: RunEvent,
}

/// Writes events as JSON and chains them from `head`.
pub(crate) fn chain(
    head: EventHash,
    version: u64,
    events: &[(RunEvent, Timestamp)],
) -> Result<Vec<NewEvent>, EngineError> {
    let mut head = head;
    let mut chained = Vec::with_capacity(events.len());
    for (sequence, (event, at)) in (version + 1..).zip(events) {
        let payload =
            to_stored(event).map_err(|error| EngineError::internal("writing an event", error))?;
        head = head.chain(sequence, &payload);
        chained.push(NewEvent {
            payload,
            hash: head,
            at: *at,
        });
    }
    Ok(chained)
}

impl Engine {
    /// Folds a run's whole journal, checking the chain.
    pub(crate) async fn fold(&self, tenant: &TenantId, run: &RunId) -> Result<Folded, EngineError> {
        folded(run, read(run, self.journal(tenant, run).await?)?)
    }

    /// Folds a run's journal up to an event, checking the whole chain; `None` for an event that has not
    /// happened.
    pub(crate) async fn fold_until(
        &self,
        tenant: &TenantId,
        run: &RunId,
        sequence: u64,
    ) -> Result<Option<Folded>, EngineError> {
        let mut read = read(run, self.journal(tenant, run).await?)?;
        let known = 1..=read.events.len() as u64;
        if !known.contains(&sequence) {
            return Ok(None);
        }
        read.events.retain(|event| event.sequence <= sequence);
        folded(run, read).map(Some)
    }

    /// The first event of a run's journal.
    pub(crate) async fn beginning(
        &self,
        tenant: &TenantId,
        run: &RunId,
    ) -> Result<Option<RunEvent>, EngineError> {
        let first = self.store().events(tenant, run, 0, 1).await?;
        let first = read(run, first)?.events.pop();
        Ok(first.map(|first| first.event))
    }

    /// A run's history, checking the chain.
    pub(crate) async fn history(
        &self,
        tenant: &TenantId,
        run: &RunId,
    ) -> Result<Vec<HistoryEvent>, EngineError> {
        Ok(read(run, self.journal(tenant, run).await?)?.events)
    }

    /// A run's history and what it comes to.
    pub(crate) async fn told(
        &self,
        tenant: &TenantId,
        run: &RunId,
    ) -> Result<(Folded, Vec<HistoryEvent>), EngineError> {
        let read = read(run, self.journal(tenant, run).await?)?;
        let events = read.events.clone();
        Ok((folded(run, read)?, events))
    }

    pub(crate) async fn journal(
        &self,
        tenant: &TenantId,
        run: &RunId,
    ) -> Result<Vec<JournalEvent>, EngineError> {
        let mut events: Vec<JournalEvent> = Vec::new();
        loop {
            let after = events.last().map_or(0, |event| event.sequence);
            let page = self.store().events(tenant, run, after, PAGE).await?;
            let last = page.len() < PAGE;
            events.extend(page);
            if last {
                return Ok(events);
            }
        }
    }
}

/// A journal that chains, with its last hash.
struct Read {
    events: Vec<HistoryEvent>,
    head: EventHash,
}

fn read(run: &RunId, journal: Vec<JournalEvent>) -> Result<Read, EngineError> {
    let mut head = GENESIS;
    let mut events = Vec::with_capacity(journal.len());
    for (expected, stored) in (1..).zip(journal) {
        if stored.hash != head.chain(expected, &stored.payload) || stored.sequence != expected {
            let detail = "it does not chain from the event before it";
            return Err(damaged(run, expected, detail));
        }
        let event = decode_stored(&stored.payload)
            .map_err(|error| unread(run, stored.sequence, &stored.payload, &error))?;
        head = stored.hash;
        events.push(HistoryEvent {
            sequence: stored.sequence,
            at: stored.at,
            event,
        });
    }
    Ok(Read { events, head })
}

fn folded(run: &RunId, Read { events, head }: Read) -> Result<Folded, EngineError> {
    let version = events.len() as u64;
    let last = events.last().map(|event| event.at);
    let mut asked = false;
    let mut folded: Option<Run> = None;
    for HistoryEvent {
        sequence,
        at,
        event,
    } in events
    {
        asked |= matches!(event, RunEvent::ApprovalRequested(_));
        let result = match &mut folded {
            None => Run::start(event, at).map(|run| folded = Some(run)),
            Some(run) => run.apply(event, at),
        };
        result.map_err(|error| damaged(run, sequence, &error.to_string()))?;
    }
    let run = folded.ok_or_else(|| damaged(run, 1, "the journal is empty"))?;
    Ok(Folded {
        run,
        version,
        head,
        last,
        asked,
    })
}

/// An event that chains, and that this version does not know: a newer one wrote it.
#[derive(Debug, thiserror::Error)]
#[error("event {sequence} of {run}, `{event}`: {detail}")]
struct OfNewer {
    run: RunId,
    sequence: u64,
    event: String,
    detail: String,
}

/// Why an event that chains cannot be read.
fn unread(run: &RunId, sequence: u64, payload: &str, error: &JsonFault) -> EngineError {
    let payload: Value = decode_stored(payload).unwrap_or_default();
    let Some(event) = payload["event"].as_str() else {
        return damaged(run, sequence, &error.to_string());
    };
    let message = format!(
        "the run was carried on by a newer version of Charter, which wrote an event `{event}` that this one \
         does not know; ask a server of the newer version"
    );
    EngineError::new(ErrorCode::Unavailable, message).caused_by(OfNewer {
        run: run.clone(),
        sequence,
        event: event.to_owned(),
        detail: error.to_string(),
    })
}

/// Whether a run could not be read because a newer version carries it on.
pub(super) fn is_of_newer(error: &EngineError) -> bool {
    std::error::Error::source(error).is_some_and(|cause| cause.is::<OfNewer>())
}

fn damaged(run: &RunId, sequence: u64, detail: &str) -> EngineError {
    let cause = format!("event {sequence} of {run}: {detail}");
    EngineError::internal("reading a run's journal", cause)
}
