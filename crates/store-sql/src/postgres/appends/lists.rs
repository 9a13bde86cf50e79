//! Lists whose entries name their run by its position, from 1: values of `charter_append` and `charter_create_runs`
//! (`migrations/V1__initial.sql`).

use charter_contract::ids::{ApprovalId, RunId, UserId};
use charter_store::StoreError;
use charter_store::approval::{ApprovalRecord, ApprovalTransition};
use charter_store::journal::NewEvent;
use charter_store::outbox::NewMessage;
use tokio_postgres::types::ToSql;

use crate::column;
use crate::tx::SqlValue;

/// A value of a statement.
pub(super) type Value<'v> = &'v (dyn ToSql + Sync);

/// The value in place of an empty list.
static NO_LIST: SqlValue<'static> = SqlValue::Null;

/// Returns the values of lists of this length, or NULL for each if they are empty: a function in the database unpacks
/// every array, also an empty one.
fn unless_empty<const N: usize>(length: usize, lists: [Value<'_>; N]) -> [Value<'_>; N] {
    let null: Value<'_> = &NO_LIST;
    if length == 0 { [null; N] } else { lists }
}

/// Events, by the position of their run.
#[derive(Default)]
pub(super) struct EventLists<'a> {
    of: Vec<i64>,
    runs: Vec<&'a str>,
    sequences: Vec<i64>,
    times: Vec<i64>,
    hashes: Vec<&'a [u8]>,
    payloads: Vec<&'a str>,
}

impl<'a> EventLists<'a> {
    /// Returns the number of events.
    pub(super) fn count(&self) -> usize {
        self.of.len()
    }

    pub(super) fn push(
        &mut self,
        (nth, run): (i64, &'a RunId),
        version: u64,
        events: &'a [NewEvent],
    ) -> Result<(), StoreError> {
        for (sequence, event) in (version + 1..).zip(events) {
            self.of.push(nth);
            self.runs.push(run.as_str());
            self.sequences
                .push(column::integer("event sequence", sequence)?);
            self.times.push(column::micros(event.at));
            self.hashes.push(event.hash.0.as_slice());
            self.payloads.push(&event.payload);
        }
        Ok(())
    }

    pub(super) fn values(&self) -> [Value<'_>; 6] {
        unless_empty(
            self.of.len(),
            [
                &self.of,
                &self.runs,
                &self.sequences,
                &self.times,
                &self.hashes,
                &self.payloads,
            ],
        )
    }
}

/// Requested approvals, by the position of their run.
#[derive(Default)]
pub(super) struct RequestedApprovals<'a> {
    of: Vec<i64>,
    runs: Vec<&'a str>,
    ids: Vec<&'a str>,
    states: Vec<&'a str>,
    times: Vec<i64>,
    ends: Vec<i64>,
    bodies: Vec<&'a str>,
}

impl<'a> RequestedApprovals<'a> {
    pub(super) fn push(&mut self, (nth, run): (i64, &'a RunId), record: &'a ApprovalRecord) {
        self.of.push(nth);
        self.runs.push(run.as_str());
        self.ids.push(record.approval_id.as_str());
        self.states.push(record.state.as_str());
        self.times.push(column::micros(record.requested_at));
        self.ends.push(column::micros(record.expires_at));
        self.bodies.push(&record.body);
    }

    pub(super) fn values(&self) -> [Value<'_>; 7] {
        unless_empty(
            self.of.len(),
            [
                &self.of,
                &self.runs,
                &self.ids,
                &self.states,
                &self.times,
                &self.ends,
                &self.bodies,
            ],
        )
    }
}

/// Approvals that enter their next state, by the position of their run.
#[derive(Default)]
pub(super) struct ApprovalMoves<'a> {
    of: Vec<i64>,
    runs: Vec<&'a str>,
    ids: Vec<&'a str>,
    from: Vec<&'a str>,
    expected: Vec<Option<&'a str>>,
    to: Vec<&'a str>,
    bodies: Vec<&'a str>,
}

impl<'a> ApprovalMoves<'a> {
    pub(super) fn push(&mut self, (nth, run): (i64, &'a RunId), step: &'a ApprovalTransition) {
        self.of.push(nth);
        self.runs.push(run.as_str());
        self.ids.push(step.approval_id.as_str());
        self.from.push(step.from.as_str());
        self.expected.push(step.expected_body.as_deref());
        self.to.push(step.to.as_str());
        self.bodies.push(&step.body);
    }

    pub(super) fn values(&self) -> [Value<'_>; 7] {
        unless_empty(
            self.of.len(),
            [
                &self.of,
                &self.runs,
                &self.ids,
                &self.from,
                &self.expected,
                &self.to,
                &self.bodies,
            ],
        )
    }
}

/// Approvals that runs wait for, by the position of their run.
#[derive(Default)]
pub(super) struct AwaitedApprovals<'a> {
    of: Vec<i64>,
    runs: Vec<&'a str>,
    ids: Vec<&'a str>,
}

impl<'a> AwaitedApprovals<'a> {
    pub(super) fn push(&mut self, (nth, run): (i64, &'a RunId), approval: &'a ApprovalId) {
        self.of.push(nth);
        self.runs.push(run.as_str());
        self.ids.push(approval.as_str());
    }

    pub(super) fn values(&self) -> [Value<'_>; 3] {
        unless_empty(self.of.len(), [&self.of, &self.runs, &self.ids])
    }
}

/// Messages, by the position of their run.
#[derive(Default)]
pub(super) struct MessageLists<'a> {
    of: Vec<i64>,
    tenants: Vec<&'a str>,
    topics: Vec<&'a str>,
    times: Vec<i64>,
    payloads: Vec<&'a str>,
    users: Vec<Option<&'a str>>,
}

impl<'a> MessageLists<'a> {
    pub(super) fn push(&mut self, nth: i64, messages: &'a [NewMessage]) {
        for message in messages {
            self.of.push(nth);
            self.tenants
                .push(message.tenant.as_deref().unwrap_or_default());
            self.topics.push(&message.topic);
            self.times.push(column::micros(message.at));
            self.payloads.push(&message.payload);
            self.users
                .push(message.user_id.as_ref().map(UserId::as_str));
        }
    }

    pub(super) fn values(&self) -> [Value<'_>; 6] {
        unless_empty(
            self.of.len(),
            [
                &self.of,
                &self.tenants,
                &self.topics,
                &self.times,
                &self.payloads,
                &self.users,
            ],
        )
    }
}
