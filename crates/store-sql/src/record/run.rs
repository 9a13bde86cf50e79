//! Runs and their journals: rows, and checks before writing.

use charter_contract::ids::{RunId, TenantId};
use charter_contract::run_status::RunStatus;
use charter_store::StoreError;
use charter_store::journal::{
    Append, Claim, ClaimedRun, EventHash, JournalEvent, NewEvent, RunFilter, RunPhase, RunRecord,
    RunStatusFilter,
};
use charter_store::lease::{Fence, Lease};
use charter_store::page::{Page, PageRequest};

use super::asked::{StatementBuilder, Value};
use crate::column::{self, Cursor};
use crate::row::{Columns, field};

/// Reads [`RECORD`].
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
        status: parse_status(&run, field(row, 7)?)?,
        wake_at: field::<Option<i64>>(row, 8)?
            .map(column::parse_micros)
            .transpose()?,
        user_id: column::parse_user(field(row, 9)?)?,
    })
}

/// The status of a run. The error names the run and the word.
fn parse_status(run: &str, word: &str) -> Result<RunStatus, StoreError> {
    word.parse::<RunStatus>()
        .map_err(|unknown| StoreError::Corrupt {
            what: "run",
            id: run.to_owned(),
            detail: format!("its status: {unknown}"),
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

/// The columns of [`record`].
pub(crate) const RECORD: &str =
    "run_id, tenant_id, title, phase, version, created_at, updated_at, status, wake_at, user_id";

/// The state of a run that an append is checked against.
pub(crate) struct RunHead {
    pub(crate) version: u64,
    pub(crate) phase: RunPhase,
    pub(crate) last_hash: EventHash,
}

/// Reads `version, phase, last_hash`.
pub(crate) fn head(row: &dyn Columns) -> Result<RunHead, StoreError> {
    let phase: &str = field(row, 1)?;
    Ok(RunHead {
        version: column::parse_integer("run version", field(row, 0)?)?,
        phase: column::parse_phase(phase)?,
        last_hash: EventHash(column::parse_hash("event hash", field(row, 2)?)?),
    })
}

/// Checks that a run's version equals the number of its first events.
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

/// Checks an append against the run; returns the new last hash. The fence is checked before.
pub(crate) fn check_append<'a>(
    head: &RunHead,
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

/// Runs that one statement reads when titles are filtered, and the most that a page reads in total.
const PORTION: usize = 250;
const MAX_SCANNED: usize = 5_000;

/// A page of runs that is being filled. The caller executes one statement after another until the page is complete.
pub(crate) struct Listing<'a> {
    tenant: &'a TenantId,
    filter: &'a RunFilter,
    page: &'a PageRequest,
    after: Cursor,
    looked_at: usize,
    entries: Vec<RunRecord>,
}

impl<'a> Listing<'a> {
    /// # Errors
    /// [`StoreError::Refused`] for an invalid cursor.
    pub(crate) fn new(
        tenant: &'a TenantId,
        filter: &'a RunFilter,
        page: &'a PageRequest,
    ) -> Result<Self, StoreError> {
        let (at, id) = column::after(page)?;
        Ok(Self {
            tenant,
            filter,
            page,
            after: Cursor { at, id },
            looked_at: 0,
            entries: Vec::new(),
        })
    }

    /// Returns how many runs the next statement reads.
    fn portion(&self) -> usize {
        let room = self.page.limit() + 1;
        match self.filter.reads_titles() {
            true => room.max(PORTION),
            false => room,
        }
    }

    /// Returns the next statement, with `mark` as prefix of placeholders. The conditions on the phase use the wording
    /// of the partial indexes on finished and unfinished runs.
    pub(crate) fn statement(&self, mark: char) -> (String, Vec<Value>) {
        let mut asked = StatementBuilder::new(format!("SELECT {RECORD} FROM run WHERE true"), mark);
        asked.and("tenant_id = ?", [Value::Text(self.tenant.to_string())]);
        if let Some(user) = &self.filter.user_id {
            asked.and("user_id = ?", [Value::Text(user.to_string())]);
        }
        match self.filter.standing {
            None => {}
            Some(RunStatusFilter::Open) => asked.and("phase <> 'finished'", []),
            Some(RunStatusFilter::Ended) => asked.and("phase = 'finished'", []),
            Some(RunStatusFilter::At(status)) => {
                let phase = match status.is_final() {
                    true => "phase = 'finished' AND status = ?",
                    false => "phase <> 'finished' AND status = ?",
                };
                asked.and(phase, [Value::Text(status.to_string())]);
            }
        }
        let time = |at| Value::Integer(column::micros(at));
        if let Some(from) = self.filter.created_from {
            asked.and("created_at >= ?", [time(from)]);
        }
        if let Some(until) = self.filter.created_until {
            asked.and("created_at < ?", [time(until)]);
        }
        let Cursor { at, id } = self.after.clone();
        let after = [Value::Integer(at), Value::Text(id)];
        asked.and("(created_at, run_id) < (?, ?)", after);
        let limit = Value::Integer(column::limit(self.portion()));
        asked.push(" ORDER BY created_at DESC, run_id DESC LIMIT ?", [limit]);
        asked.whole()
    }

    /// Adds the rows of a statement; returns the page once it is complete.
    pub(crate) fn take(&mut self, found: Vec<RunRecord>) -> Option<Page<RunRecord>> {
        let is_last = found.len() < self.portion();
        for run in found {
            self.looked_at += 1;
            let fits = self.filter.fits_title(&run.title);
            if fits && self.entries.len() == self.page.limit() {
                return Some(self.ended(true));
            }
            self.after = Cursor {
                at: column::micros(run.created_at),
                id: run.run_id.to_string(),
            };
            if fits {
                self.entries.push(run);
            }
        }
        let is_enough = self.looked_at >= MAX_SCANNED;
        (is_last || is_enough).then(|| self.ended(!is_last))
    }

    fn ended(&mut self, more: bool) -> Page<RunRecord> {
        Page {
            entries: std::mem::take(&mut self.entries),
            next: more.then(|| self.after.encode()),
        }
    }
}

/// Columns with a claimed run's turn, and with the fence of its new lease.
const TURN: usize = 10;
const FENCE: usize = 11;

/// A claimable run, with its turn among its tenant's runs.
pub(crate) type ClaimCandidate<T> = (i64, T);

/// Reads [`RECORD`] and the run's turn.
pub(crate) fn claimable(row: &dyn Columns) -> Result<ClaimCandidate<RunRecord>, StoreError> {
    Ok((field(row, TURN)?, record(row)?))
}

/// Reads [`RECORD`], the turn, and the fence of the claim.
pub(crate) fn claimed(
    row: &dyn Columns,
    claim: &Claim,
) -> Result<ClaimCandidate<ClaimedRun>, StoreError> {
    let (turn, run) = claimable(row)?;
    let lease = Lease {
        resource: run.run_id.to_string(),
        holder: claim.holder.clone(),
        fence: Fence(column::parse_integer("fence", field(row, FENCE)?)?),
        expires_at: claim.until,
    };
    Ok((turn, ClaimedRun { run, lease }))
}

/// Sorts runs into the order of selection.
pub(crate) fn in_turn<T>(
    mut found: Vec<ClaimCandidate<T>>,
    run: impl Fn(&T) -> &RunRecord,
) -> Vec<T> {
    found.sort_by(|(turn, a), (other, b)| {
        let (a, b) = (run(a), run(b));
        (turn, a.created_at, &a.run_id).cmp(&(other, b.created_at, &b.run_id))
    });
    found.into_iter().map(|(_, one)| one).collect()
}

#[cfg(test)]
mod tests {
    use charter_contract::ids::RunId;
    use charter_contract::time::Timestamp;
    use uuid::Uuid;

    use super::*;

    /// Returns the newest of many runs, starting at `first`.
    fn runs(first: usize, count: usize) -> Vec<RunRecord> {
        let run = |n: usize| RunRecord {
            run_id: RunId::from_uuid(Uuid::from_u128(n as u128)),
            tenant_id: TenantId::parse("acme").unwrap(),
            user_id: None,
            title: format!("skill {n}"),
            phase: RunPhase::Finished,
            status: RunStatus::Completed,
            wake_at: None,
            version: 1,
            created_at: Timestamp::from_micros(1_000_000 - n as i64).unwrap(),
            updated_at: Timestamp::from_micros(1_000_000).unwrap(),
        };
        (first..first + count).map(run).collect()
    }

    /// A row with a status that this version does not know is an error that names the run and the word.
    #[test]
    fn an_unknown_status_is_refused_with_the_word_and_the_run() {
        for status in RunStatus::ALL {
            assert_eq!(parse_status("run-1", status.as_str()).unwrap(), *status);
        }
        for word in ["", "Working", "hibernating"] {
            let refused = parse_status("run-1", word).unwrap_err();
            let message = refused.to_string();
            let expected =
                format!("run `run-1` is damaged: its status: `{word}` is not a RunStatus: ");
            assert!(message.starts_with(&expected), "{message}");
        }
    }

    /// A filter for an unused title ends a page after a bounded number of runs, and the next page continues there; a
    /// matching run further on is found by a later page.
    #[test]
    fn a_page_looks_at_a_bounded_number_of_titles() {
        let tenant = TenantId::parse("acme").unwrap();
        let filter = RunFilter {
            title: Some(format!("skill {}", MAX_SCANNED + 7)),
            ..RunFilter::default()
        };
        let page = PageRequest::new(None, 10);
        let mut listing = Listing::new(&tenant, &filter, &page).unwrap();
        let mut looked_at = 0;
        let ended = loop {
            let found = runs(looked_at, PORTION);
            looked_at += found.len();
            if let Some(page) = listing.take(found) {
                break page;
            }
        };
        assert_eq!((looked_at, ended.entries.len()), (MAX_SCANNED, 0));
        let page = PageRequest::new(ended.next, 10);
        let mut listing = Listing::new(&tenant, &filter, &page).unwrap();
        let last = listing.take(runs(looked_at, 20)).unwrap();
        let titles: Vec<_> = last.entries.iter().map(|run| &*run.title).collect();
        assert_eq!(titles, [format!("skill {}", MAX_SCANNED + 7)]);
        assert_eq!(last.next, None);
    }
}
