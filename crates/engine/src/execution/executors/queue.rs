//! The calls that wait for executors or are leased. In memory: see `executors.rs` for the reason.
//!
//! Must not know the wire. Time is an argument of every decision; only [`ClientCalls::run`], which holds a call's entry
//! while its driver waits, reads the clock.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use charter_contract::agentic::error::ErrorType;
use charter_contract::ids::{Label, LeaseId, TenantId, ToolId};
use charter_effects::{
    ClientCall, ClientGrants, Repeat, ToolCall, ToolImplementation, ToolOutcome,
};
use tokio::sync::futures::Notified;
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Maximum calls of one tenant that wait or run at once.
const MAX_CALLS: usize = 1_000;

/// How long after a call's timeout its executor may still report, since the executor ends the call itself.
const REPORT_GRACE: Duration = Duration::from_secs(5);

/// All calls for executors.
#[derive(Debug)]
pub(crate) struct ClientCalls {
    lease: Duration,
    calls: Mutex<Calls>,
    /// Notified when there is a call to lease.
    offered: Notify,
}

/// The calls, oldest first.
#[derive(Debug, Default)]
struct Calls {
    last: u64,
    by_number: BTreeMap<u64, Entry>,
}

#[derive(Debug)]
struct Entry {
    call: Arc<ToolCall>,
    client: ClientCall,
    /// The latest time to begin: its deadline, or the end of its approval before that.
    begin_by: Instant,
    deadline: Instant,
    state: State,
    /// The executor that held it before and stopped renewing.
    lost: Option<Label>,
    answer: oneshot::Sender<ToolOutcome>,
    /// Notified when the time of the next deadline changes.
    moved: Arc<Notify>,
}

/// The state of a call.
#[derive(Debug)]
enum State {
    /// It is not leased.
    Waiting,
    /// Sent to an executor that has not begun it: the executor may not have received it.
    Offered(Lease),
    /// An executor reported that it begins.
    Running(Lease),
}

#[derive(Debug, Clone)]
struct Lease {
    id: LeaseId,
    executor: Label,
    until: Instant,
}

/// A call leased to an executor.
#[derive(Debug)]
pub(super) struct LeasedCall {
    pub(super) lease: LeaseId,
    pub(super) call: Arc<ToolCall>,
    pub(super) client: ClientCall,
    /// Its remaining time.
    pub(super) left: Duration,
}

/// The calls that an executor can run.
#[derive(Debug, Clone)]
pub(super) struct ExecutorCapabilities {
    /// Tools without an implementation for which it has handlers.
    pub(super) handlers: BTreeSet<ToolId>,
    /// Whether it runs scripts and HTTP exchanges.
    pub(super) programs: bool,
}

impl ExecutorCapabilities {
    fn takes(&self, call: &ToolCall, client: &ClientCall) -> bool {
        let has_handler = || self.handlers.contains(&call.tool_id);
        match (&call.implementation, &client.grants) {
            (ToolImplementation::Handler, _) => has_handler(),
            // The script replaces such a tool, and gets a handler's grants.
            (_, ClientGrants::Own) => self.programs && has_handler(),
            (_, ClientGrants::Asked { .. }) => self.programs,
        }
    }
}

/// The caller does not hold the lease (any more).
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LeaseNotHeld;

/// How long a call may wait before an executor begins it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ClaimDeadline {
    /// As long as the call's timeout.
    Timeout(Duration),
    /// Until its approval lapses, which is sooner.
    Approval(Duration),
}

impl ClaimDeadline {
    fn of(call: &ToolCall, client: &ClientCall) -> Self {
        let timeout = call.limits.timeout;
        match client.begin_within {
            Some(approved) if approved < timeout => Self::Approval(approved),
            Some(_) | None => Self::Timeout(timeout),
        }
    }

    fn span(self) -> Duration {
        match self {
            Self::Timeout(span) | Self::Approval(span) => span,
        }
    }
}

/// The effect of time on a call.
#[derive(Debug, PartialEq, Eq)]
enum TimerEvent {
    /// None; check again at this time, or when it changes.
    At(Instant),
    /// It is offered again.
    Again(Instant),
    /// No executor began it in time.
    Unclaimed { lost: Option<Label> },
    /// Its executor stopped renewing, and it must not begin twice.
    Lost(Label),
    /// Its executor did not report in time.
    Overdue(Label),
}

impl Entry {
    fn lease(&self) -> Option<&Lease> {
        match &self.state {
            State::Waiting => None,
            State::Offered(lease) | State::Running(lease) => Some(lease),
        }
    }

    /// Decides by time alone.
    fn look(&mut self, now: Instant) -> TimerEvent {
        let unclaimed = now >= self.begin_by;
        match &self.state {
            State::Waiting | State::Offered(_) if unclaimed => TimerEvent::Unclaimed {
                lost: self.lost.take(),
            },
            State::Waiting => TimerEvent::At(self.begin_by),
            State::Offered(lease) if now < lease.until => {
                TimerEvent::At(self.begin_by.min(lease.until))
            }
            State::Offered(_) => {
                self.state = State::Waiting;
                TimerEvent::Again(self.begin_by)
            }
            State::Running(lease) if now < lease.until => {
                let end = self.deadline + REPORT_GRACE;
                if now >= end {
                    return TimerEvent::Overdue(lease.executor.clone());
                }
                TimerEvent::At(end.min(lease.until))
            }
            State::Running(lease) => match self.client.repeat {
                Repeat::Unsafe => TimerEvent::Lost(lease.executor.clone()),
                Repeat::Safe => {
                    self.lost = Some(lease.executor.clone());
                    self.state = State::Waiting;
                    if unclaimed {
                        return TimerEvent::Unclaimed {
                            lost: self.lost.take(),
                        };
                    }
                    TimerEvent::Again(self.begin_by)
                }
            },
        }
    }
}

impl Calls {
    /// Returns the call that a tenant's lease holds at this time.
    fn held(&mut self, tenant: &TenantId, id: &LeaseId, now: Instant) -> Result<u64, LeaseNotHeld> {
        let holds = |entry: &Entry| {
            let lease = entry.lease();
            entry.client.tenant == *tenant
                && lease.is_some_and(|lease| lease.id == *id && now < lease.until)
        };
        let mut entries = self.by_number.iter();
        let found = entries.find(|(_, entry)| holds(entry));
        found.map(|(number, _)| *number).ok_or(LeaseNotHeld)
    }
}

impl ClientCalls {
    pub(crate) fn new(lease: Duration) -> Self {
        Self {
            lease,
            calls: Mutex::default(),
            offered: Notify::new(),
        }
    }

    /// Returns the term of a lease.
    pub(super) fn lease(&self) -> Duration {
        self.lease
    }

    /// Resolves when there may be a call to lease.
    pub(super) fn offered(&self) -> Notified<'_> {
        self.offered.notified()
    }

    fn lock(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until an executor has run the call, or the wait has expired. Dropping the future withdraws it.
    pub(super) async fn run(
        &self,
        call: ToolCall,
        client: ClientCall,
        cancel: CancellationToken,
    ) -> ToolOutcome {
        let started = Instant::now();
        let timeout = call.limits.timeout;
        let patience = ClaimDeadline::of(&call, &client);
        let wanted = wanted(&call, &client);
        let Some((place, mut answered)) = self.offer_call(call, client, started) else {
            let message = format!("{MAX_CALLS} calls already wait for executors of this tenant");
            return failed(started, ErrorType::ResourceError, message, true);
        };
        loop {
            let mut moved = std::pin::pin!(place.moved.notified());
            moved.as_mut().enable();
            let due = self.look(place.number, Instant::now());
            let until = match due {
                // The task that removed the entry has answered.
                None => Instant::now() + REPORT_GRACE,
                Some(TimerEvent::At(at)) => at,
                Some(TimerEvent::Again(at)) => {
                    self.offered.notify_waiters();
                    at
                }
                Some(TimerEvent::Unclaimed { lost }) => {
                    return unclaimed(started, patience, lost, &wanted);
                }
                Some(TimerEvent::Lost(executor)) => return lost(started, &executor),
                Some(TimerEvent::Overdue(executor)) => return overdue(started, timeout, &executor),
            };
            tokio::select! {
                biased;
                Ok(outcome) = &mut answered => return outcome,
                () = cancel.cancelled() => {
                    let message = "the call was cancelled".to_owned();
                    return failed(started, ErrorType::ExecutionError, message, true);
                }
                () = &mut moved => {}
                () = tokio::time::sleep_until(until) => {}
            }
        }
    }

    /// Offers a call; `None` if the tenant has too many.
    fn offer_call(
        &self,
        call: ToolCall,
        client: ClientCall,
        now: Instant,
    ) -> Option<(QueueEntryGuard<'_>, oneshot::Receiver<ToolOutcome>)> {
        let (answer, answered) = oneshot::channel();
        let moved = Arc::new(Notify::new());
        let mut calls = self.lock();
        let of_tenant = |entry: &&Entry| entry.client.tenant == client.tenant;
        if calls.by_number.values().filter(of_tenant).count() >= MAX_CALLS {
            return None;
        }
        calls.last += 1;
        let number = calls.last;
        let entry = Entry {
            begin_by: now + ClaimDeadline::of(&call, &client).span(),
            deadline: now + call.limits.timeout,
            call: Arc::new(call),
            client,
            state: State::Waiting,
            lost: None,
            answer,
            moved: Arc::clone(&moved),
        };
        calls.by_number.insert(number, entry);
        drop(calls);
        self.offered.notify_waiters();
        let place = QueueEntryGuard {
            calls: self,
            number,
            moved,
        };
        Some((place, answered))
    }

    fn look(&self, number: u64, now: Instant) -> Option<TimerEvent> {
        Some(self.lock().by_number.get_mut(&number)?.look(now))
    }

    /// Leases the tenant's oldest waiting call that the executor can run.
    pub(super) fn take(
        &self,
        tenant: &TenantId,
        executor: &Label,
        carries: &ExecutorCapabilities,
        id: LeaseId,
        now: Instant,
    ) -> Option<LeasedCall> {
        let mut calls = self.lock();
        let mut entries = calls.by_number.values_mut();
        let entry = entries.find(|entry| {
            let waits = matches!(entry.state, State::Waiting);
            let is_its = entry.client.tenant == *tenant && now < entry.begin_by;
            waits && is_its && carries.takes(&entry.call, &entry.client)
        })?;
        entry.state = State::Offered(Lease {
            id: id.clone(),
            executor: executor.clone(),
            until: now + self.lease,
        });
        entry.moved.notify_one();
        Some(LeasedCall {
            lease: id,
            call: Arc::clone(&entry.call),
            client: entry.client.clone(),
            left: entry.deadline - now,
        })
    }

    /// Renews a call's lease for another term, as begun.
    pub(super) fn renew(
        &self,
        tenant: &TenantId,
        id: &LeaseId,
        now: Instant,
    ) -> Result<(), LeaseNotHeld> {
        let mut calls = self.lock();
        let number = calls.held(tenant, id, now)?;
        let entry = calls.by_number.get_mut(&number).ok_or(LeaseNotHeld)?;
        let lease = match &entry.state {
            // The call would begin with this renewal, after its deadline.
            State::Offered(_) if now >= entry.begin_by => return Err(LeaseNotHeld),
            State::Waiting => return Err(LeaseNotHeld),
            State::Offered(lease) | State::Running(lease) => lease.clone(),
        };
        entry.state = State::Running(Lease {
            until: now + self.lease,
            ..lease
        });
        entry.moved.notify_one();
        Ok(())
    }

    /// Returns the call that a lease holds.
    pub(super) fn held(
        &self,
        tenant: &TenantId,
        id: &LeaseId,
        now: Instant,
    ) -> Result<Arc<ToolCall>, LeaseNotHeld> {
        let mut calls = self.lock();
        let number = calls.held(tenant, id, now)?;
        let entry = calls.by_number.get(&number).ok_or(LeaseNotHeld)?;
        Ok(Arc::clone(&entry.call))
    }

    /// Ends a call with its outcome, once.
    pub(super) fn report(
        &self,
        tenant: &TenantId,
        id: &LeaseId,
        outcome: ToolOutcome,
        now: Instant,
    ) -> Result<(), LeaseNotHeld> {
        let mut calls = self.lock();
        let number = calls.held(tenant, id, now)?;
        let entry = calls.by_number.remove(&number).ok_or(LeaseNotHeld)?;
        // If the run was cut off at the same moment, no receiver is left.
        entry.answer.send(outcome).map_err(|_| LeaseNotHeld)
    }
}

/// A call's entry in the queue; removed with the task that waits for the call.
struct QueueEntryGuard<'c> {
    calls: &'c ClientCalls,
    number: u64,
    moved: Arc<Notify>,
}

impl Drop for QueueEntryGuard<'_> {
    fn drop(&mut self) {
        self.calls.lock().by_number.remove(&self.number);
    }
}

fn failed(started: Instant, kind: ErrorType, message: String, retryable: bool) -> ToolOutcome {
    ToolOutcome::Failed {
        kind,
        message,
        retryable,
        stale: false,
        answered: false,
        log: String::new(),
        duration_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
    }
}

/// Returns the command for an executor that could run a call.
fn wanted(call: &ToolCall, client: &ClientCall) -> String {
    match client.grants {
        ClientGrants::Own => format!(
            "`charter executor --handlers DIR`, with a handler for `{}` in DIR and a key of this tenant",
            call.tool_id
        ),
        ClientGrants::Asked { .. } => "`charter executor` with a key of this tenant".to_owned(),
    }
}

fn unclaimed(
    started: Instant,
    patience: ClaimDeadline,
    lost: Option<Label>,
    wanted: &str,
) -> ToolOutcome {
    let waited = patience.span().as_millis();
    let message = match lost {
        None if matches!(patience, ClaimDeadline::Approval(_)) => {
            let message = format!(
                "no executor took the call within {waited} ms, when its approval expired; run {wanted}, and have the \
                 call approved again"
            );
            return failed(started, ErrorType::PermissionError, message, false);
        }
        None => format!("no executor took the call within {waited} ms; run {wanted}"),
        Some(executor) => format!(
            "the executor `{executor}` was lost while it ran the call, and no other took it within \
             {waited} ms"
        ),
    };
    failed(started, ErrorType::TimeoutError, message, true)
}

fn lost(started: Instant, executor: &Label) -> ToolOutcome {
    let message = format!(
        "the executor `{executor}` was lost while it ran the call; its outcome is unknown, and it is not restarted"
    );
    failed(started, ErrorType::TimeoutError, message, false)
}

fn overdue(started: Instant, timeout: Duration, executor: &Label) -> ToolOutcome {
    let message = format!(
        "the executor `{executor}` did not report within {} ms; the outcome of the call is unknown",
        timeout.as_millis()
    );
    failed(started, ErrorType::TimeoutError, message, false)
}
