//! The values of `charter_append` and `charter_create_runs` (`migrations/V1__initial.sql`).

use charter_contract::ids::TenantId;
use charter_store::StoreError;
use charter_store::approval::ApprovalChange;
use charter_store::journal::{Append, GENESIS, NewLeasedRun, NextPhase};

use super::lists::{
    ApprovalMoves, AwaitedApprovals, EventLists, MessageLists, RequestedApprovals, Value,
};
use crate::column;
use crate::journal::is_chained;

/// The hash of a run without events.
const NO_HASH: &[u8] = &GENESIS.0;

/// Returns a statement that calls a function with this number of values.
pub(super) fn call(function: &str, values: usize) -> String {
    let placeholders: Vec<String> = (1..=values).map(|n| format!("${n}")).collect();
    format!("SELECT * FROM {function}({})", placeholders.join(", "))
}

/// The values of `charter_append`.
pub(super) struct AppendLists<'a> {
    tenant: &'a str,
    runs: Vec<&'a str>,
    expected: Vec<i64>,
    fences: Vec<i64>,
    versions: Vec<i64>,
    hashes: Vec<&'a [u8]>,
    times: Vec<i64>,
    statuses: Vec<&'a str>,
    phases: Vec<&'a str>,
    wakes: Vec<Option<i64>>,
    released: Vec<bool>,
    chained: Vec<bool>,
    first_events: Vec<Option<i64>>,
    events: EventLists<'a>,
    requested: RequestedApprovals<'a>,
    moves: ApprovalMoves<'a>,
    awaited: AwaitedApprovals<'a>,
    messages: MessageLists<'a>,
}

impl<'a> AppendLists<'a> {
    /// Number of values.
    pub(super) const VALUES: usize = 42;

    /// Returns the values for appends to different runs of a tenant.
    ///
    /// # Errors
    /// [`StoreError::Refused`] for a number that no column can hold.
    pub(super) fn new(
        tenant: &'a TenantId,
        appends: impl Iterator<Item = &'a Append>,
    ) -> Result<Self, StoreError> {
        let mut lists = Self {
            tenant: tenant.as_str(),
            runs: Vec::new(),
            expected: Vec::new(),
            fences: Vec::new(),
            versions: Vec::new(),
            hashes: Vec::new(),
            times: Vec::new(),
            statuses: Vec::new(),
            phases: Vec::new(),
            wakes: Vec::new(),
            released: Vec::new(),
            chained: Vec::new(),
            first_events: Vec::new(),
            events: EventLists::default(),
            requested: RequestedApprovals::default(),
            moves: ApprovalMoves::default(),
            awaited: AwaitedApprovals::default(),
            messages: MessageLists::default(),
        };
        for append in appends {
            lists.push(append)?;
        }
        Ok(lists)
    }

    fn push(&mut self, append: &'a Append) -> Result<(), StoreError> {
        self.push_state(append)?;
        let place = (column::limit(self.runs.len()), &append.run_id);
        let first = column::limit(self.events.count() + 1);
        self.first_events
            .push((!append.events.is_empty()).then_some(first));
        self.events.push(place, append.expected, &append.events)?;
        for change in &append.approvals {
            match change {
                ApprovalChange::Ask(record) => self.requested.push(place, record),
                ApprovalChange::Move(step) => self.moves.push(place, step),
            }
        }
        if let NextPhase::Waits(wait) = &append.then {
            for approval in &wait.approvals {
                self.awaited.push(place, approval);
            }
        }
        self.messages.push(place.0, &append.messages);
        Ok(())
    }

    /// Adds the append's run, the state that it expects, and the state after it.
    fn push_state(&mut self, append: &'a Append) -> Result<(), StoreError> {
        let version = append.expected + append.events.len() as u64;
        let expected = column::integer("run version", append.expected)?;
        let fence = column::integer("fence", append.fence.0)?;
        let version = column::integer("run version", version)?;
        let newest = append.events.last();
        let wake = match &append.then {
            NextPhase::Waits(wait) => wait.until.map(column::micros),
            NextPhase::Runs | NextPhase::Ends => None,
        };
        self.runs.push(append.run_id.as_str());
        self.expected.push(expected);
        self.fences.push(fence);
        self.versions.push(version);
        self.hashes
            .push(newest.map_or(NO_HASH, |event| event.hash.0.as_slice()));
        self.times
            .push(newest.map_or(0, |event| column::micros(event.at)));
        self.statuses.push(append.status.as_str());
        self.phases.push(column::phase(append.then.phase()));
        self.wakes.push(wake);
        self.released.push(append.release);
        self.chained.push(is_chained(append));
        Ok(())
    }

    /// Returns the values in the order of the function's parameters.
    pub(super) fn values(&self) -> Vec<Value<'_>> {
        let mut values: Vec<Value<'_>> = vec![
            &self.tenant,
            &self.runs,
            &self.expected,
            &self.fences,
            &self.versions,
            &self.hashes,
            &self.times,
            &self.statuses,
            &self.phases,
            &self.wakes,
            &self.released,
            &self.chained,
            &self.first_events,
        ];
        values.extend(self.events.values());
        values.extend(self.requested.values());
        values.extend(self.moves.values());
        values.extend(self.awaited.values());
        values.extend(self.messages.values());
        values
    }
}

/// The values of `charter_create_runs`.
pub(super) struct CreationLists<'a> {
    tenant: &'a str,
    runs: Vec<&'a str>,
    users: Vec<&'a str>,
    titles: Vec<&'a str>,
    phases: Vec<&'a str>,
    statuses: Vec<&'a str>,
    wakes: Vec<Option<i64>>,
    versions: Vec<i64>,
    hashes: Vec<&'a [u8]>,
    created: Vec<i64>,
    updated: Vec<i64>,
    holders: Vec<&'a str>,
    lease_ends: Vec<i64>,
    released: Vec<bool>,
    events: EventLists<'a>,
    requested: RequestedApprovals<'a>,
    messages: MessageLists<'a>,
}

impl<'a> CreationLists<'a> {
    /// Number of values.
    pub(super) const VALUES: usize = 33;

    /// Returns the values for new runs of a tenant.
    ///
    /// # Errors
    /// [`StoreError::Refused`] for a number that no column can hold.
    pub(super) fn new(
        tenant: &'a TenantId,
        creations: impl Iterator<Item = &'a NewLeasedRun>,
    ) -> Result<Self, StoreError> {
        let mut lists = Self {
            tenant: tenant.as_str(),
            runs: Vec::new(),
            users: Vec::new(),
            titles: Vec::new(),
            phases: Vec::new(),
            statuses: Vec::new(),
            wakes: Vec::new(),
            versions: Vec::new(),
            hashes: Vec::new(),
            created: Vec::new(),
            updated: Vec::new(),
            holders: Vec::new(),
            lease_ends: Vec::new(),
            released: Vec::new(),
            events: EventLists::default(),
            requested: RequestedApprovals::default(),
            messages: MessageLists::default(),
        };
        for new in creations {
            lists.push(new)?;
        }
        Ok(lists)
    }

    fn push(&mut self, new: &'a NewLeasedRun) -> Result<(), StoreError> {
        let run = &new.run;
        let last = new.events.last();
        self.runs.push(run.run_id.as_str());
        self.users.push(column::user(run.user_id.as_ref()));
        self.titles.push(&run.title);
        self.phases.push(column::phase(run.phase));
        self.statuses.push(run.status.as_str());
        self.wakes.push(run.wake_at.map(column::micros));
        self.versions
            .push(column::integer("run version", run.version)?);
        self.hashes
            .push(last.map_or(NO_HASH, |event| event.hash.0.as_slice()));
        self.created.push(column::micros(run.created_at));
        self.updated.push(column::micros(run.updated_at));
        self.holders.push(&new.holder);
        self.lease_ends.push(column::micros(new.expires_at));
        self.released.push(new.release);
        let place = (column::limit(self.runs.len()), &run.run_id);
        self.events.push(place, 0, &new.events)?;
        for change in &new.approvals {
            // A new run has no earlier approval that could move (`is_collected_run`).
            if let ApprovalChange::Ask(record) = change {
                self.requested.push(place, record);
            }
        }
        self.messages.push(place.0, &new.messages);
        Ok(())
    }

    /// Returns the values in the order of the function's parameters.
    pub(super) fn values(&self) -> Vec<Value<'_>> {
        let mut values: Vec<Value<'_>> = vec![
            &self.tenant,
            &self.runs,
            &self.users,
            &self.titles,
            &self.phases,
            &self.statuses,
            &self.wakes,
            &self.versions,
            &self.hashes,
            &self.created,
            &self.updated,
            &self.holders,
            &self.lease_ends,
            &self.released,
        ];
        values.extend(self.events.values());
        values.extend(self.requested.values());
        values.extend(self.messages.values());
        values
    }
}
