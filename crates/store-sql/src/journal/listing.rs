//! Lists runs.

use charter_contract::ids::TenantId;
use charter_store::StoreError;
use charter_store::journal::{RunFilter, RunRecord, RunStatusFilter};
use charter_store::page::{Page, PageRequest};

use super::{LISTING, RECORD, record};
use crate::column::{self, Cursor};
use crate::tx::{SqlValue, StatementBuilder, Tx, rows};

/// Runs that one statement reads when titles are filtered, and the most that a page reads in total.
const PORTION: usize = 250;
const MAX_SCANNED: usize = 5_000;

/// Returns a page of a tenant's runs.
pub(super) async fn list(
    tx: &mut Tx<'_>,
    tenant: &TenantId,
    filter: &RunFilter,
    page: &PageRequest,
) -> Result<Page<RunRecord>, StoreError> {
    let mut listing = Listing::new(tenant, filter, page)?;
    loop {
        let (sql, values) = listing.statement();
        let found = rows(LISTING, tx, &sql, &values, record).await?;
        if let Some(page) = listing.take(found) {
            return Ok(page);
        }
    }
}

/// A page of runs that is being filled. The caller executes one statement after another until the page is complete.
struct Listing<'a> {
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
    fn new(
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

    /// Returns the next statement. The conditions on the phase use the wording of the partial indexes on finished and
    /// unfinished runs.
    fn statement(&self) -> (String, Vec<SqlValue<'a>>) {
        let sql = format!("SELECT {RECORD} FROM run WHERE true");
        let mut asked = StatementBuilder::new(sql);
        asked.and("tenant_id = ?", [self.tenant.as_str().into()]);
        if let Some(user) = &self.filter.user_id {
            asked.and("user_id = ?", [user.as_str().into()]);
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
                asked.and(phase, [status.as_str().into()]);
            }
        }
        if let Some(from) = self.filter.created_from {
            asked.and("created_at >= ?", [column::micros(from).into()]);
        }
        if let Some(until) = self.filter.created_until {
            asked.and("created_at < ?", [column::micros(until).into()]);
        }
        let Cursor { at, id } = self.after.clone();
        asked.and("(created_at, run_id) < (?, ?)", [at.into(), id.into()]);
        let limit = column::limit(self.portion());
        asked.push(
            " ORDER BY created_at DESC, run_id DESC LIMIT ?",
            [limit.into()],
        );
        asked.whole()
    }

    /// Adds the rows of a statement; returns the page once it is complete.
    fn take(&mut self, found: Vec<RunRecord>) -> Option<Page<RunRecord>> {
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

#[cfg(test)]
mod tests {
    use charter_contract::ids::RunId;
    use charter_contract::run_status::RunStatus;
    use charter_contract::time::Timestamp;
    use charter_store::journal::RunPhase;
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
