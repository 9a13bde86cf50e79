//! Runs and their journals: rows, and what is checked before they are written.

use charter_contract::ids::RunId;
use charter_store::StoreError;
use charter_store::journal::{Append, EventHash, JournalEvent, NewEvent, RunPhase, RunRecord};

use crate::column;
use crate::row::{Columns, field};

/// Reads `run_id, tenant_id, title, phase, version, created_at, updated_at, status, wake_at`.
pub(crate) fn record(row: &dyn Columns) -> Result<RunRecord, StoreError> {
    let run: String = field(row, 0)?;
    let tenant: String = field(row, 1)?;
    let phase: String = field(row, 3)?;
    Ok(RunRecord {
        run_id: column::parse("run id", &run)?,
        tenant_id: column::parse("tenant id", &tenant)?,
        title: field(row, 2)?,
        phase: column::parse_phase(&phase)?,
        version: column::parse_integer("run version", field(row, 4)?)?,
        created_at: column::parse_micros(field(row, 5)?)?,
        updated_at: column::parse_micros(field(row, 6)?)?,
        status: field(row, 7)?,
        wake_at: field::<Option<i64>>(row, 8)?
            .map(column::parse_micros)
            .transpose()?,
    })
}

pub(crate) fn event(row: &dyn Columns) -> Result<JournalEvent, StoreError> {
    let hash: Vec<u8> = field(row, 1)?;
    Ok(JournalEvent {
        sequence: column::parse_integer("event sequence", field(row, 0)?)?,
        hash: EventHash(column::parse_hash("event hash", &hash)?),
        at: column::parse_micros(field(row, 2)?)?,
        payload: field(row, 3)?,
    })
}

/// Checks that events chain from `previous`; returns the last hash.
pub(crate) fn check_chain(
    run: &RunId,
    version: u64,
    previous: EventHash,
    events: &[NewEvent],
) -> Result<EventHash, StoreError> {
    let mut last = previous;
    for (sequence, event) in (version + 1..).zip(events) {
        if event.hash != last.chain(sequence, &event.payload) {
            return Err(StoreError::Corrupt {
                what: "journal of run",
                id: run.to_string(),
                detail: format!("event {sequence} does not chain from the one before it"),
            });
        }
        last = event.hash;
    }
    Ok(last)
}

pub(crate) fn refused(run: &RunId, detail: String) -> StoreError {
    StoreError::Refused {
        what: "run",
        id: run.to_string(),
        detail,
    }
}

/// What [`record`] reads.
pub(crate) const RECORD: &str =
    "run_id, tenant_id, title, phase, version, created_at, updated_at, status, wake_at";

/// What an append has to fit to.
pub(crate) struct Head {
    pub(crate) version: u64,
    pub(crate) phase: RunPhase,
    pub(crate) last_hash: EventHash,
}

/// Reads `version, phase, last_hash`.
pub(crate) fn head(row: &dyn Columns) -> Result<Head, StoreError> {
    let phase: &str = field(row, 1)?;
    Ok(Head {
        version: column::parse_integer("run version", field(row, 0)?)?,
        phase: column::parse_phase(phase)?,
        last_hash: EventHash(column::parse_hash("event hash", field(row, 2)?)?),
    })
}

/// That a run's version is the number of its first events.
pub(crate) fn check_version(run: &RunRecord, events: &[NewEvent]) -> Result<(), StoreError> {
    if run.version == events.len() as u64 {
        return Ok(());
    }
    let detail = format!("version {} with {} events", run.version, events.len());
    Err(refused(&run.run_id, detail))
}

pub(crate) fn exists(run: &RunId) -> StoreError {
    StoreError::AlreadyExists {
        what: "run",
        id: run.to_string(),
    }
}

pub(crate) fn missing(run: &RunId) -> StoreError {
    StoreError::NotFound {
        what: "run",
        id: run.to_string(),
    }
}

/// What an append leads to: the last hash, once everything fits. The fence is checked before.
pub(crate) fn check_append<'a>(
    head: &Head,
    append: &'a Append,
) -> Result<(EventHash, &'a NewEvent), StoreError> {
    let run = &append.run_id;
    if head.version != append.expected {
        return Err(StoreError::VersionConflict {
            what: "run",
            id: run.to_string(),
            expected: append.expected,
            found: head.version,
        });
    }
    if head.phase == RunPhase::Finished {
        return Err(refused(run, "it is finished".to_owned()));
    }
    let Some(newest) = append.events.last() else {
        return Err(refused(run, "an append without events".to_owned()));
    };
    let last_hash = check_chain(run, head.version, head.last_hash, &append.events)?;
    Ok((last_hash, newest))
}

/// Where a claimed run's turn is read.
const TURN: usize = 9;

/// Reads [`RECORD`] with a claimed run's turn among its tenant's after it.
pub(crate) fn claimed(row: &dyn Columns) -> Result<(i64, RunRecord), StoreError> {
    Ok((field(row, TURN)?, record(row)?))
}

/// Claimed runs in the order in which they were to be chosen.
pub(crate) fn in_turn(mut claimed: Vec<(i64, RunRecord)>) -> Vec<RunRecord> {
    claimed.sort_by(|(turn, a), (other, b)| {
        (turn, a.created_at, &a.run_id).cmp(&(other, b.created_at, &b.run_id))
    });
    claimed.into_iter().map(|(_, run)| run).collect()
}
