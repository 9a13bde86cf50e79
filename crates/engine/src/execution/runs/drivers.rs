//! The drivers of runs in this process: their slots, the leases to renew, and the capacity for more.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use charter_contract::error_code::ErrorCode;
use charter_contract::ids::RunId;
use charter_domain::run::Command;
use charter_store::StoreError;
use charter_store::lease::Fence;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::EngineError;

/// Messages that may queue for a driver.
const QUEUE: usize = 16;

/// A message to a driver.
#[derive(Debug)]
pub(crate) enum DriverMessage {
    /// Something happened to the run: people decided, or another task wants to drive it.
    Refresh,
    /// Apply this command; the reply follows once the command is durable.
    Command(Box<Command>, oneshot::Sender<Result<(), EngineError>>),
}

/// State of the run's lease with this driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LeaseState {
    /// The driver has no lease.
    Free,
    /// The lease is renewed, and its loss ends the driver.
    Holds(Fence),
    /// The lease is renewed until it is released; losing it now is harmless.
    GivesBack,
}

/// A task that drives a run, or decides on it once.
#[derive(Debug)]
struct Driver {
    /// Distinguishes this driver from earlier and later drivers of the run.
    number: u64,
    orders: mpsc::Sender<DriverMessage>,
    grip: LeaseState,
    lost: CancellationToken,
    /// Whether this process claimed the run itself, rather than receiving it from a caller.
    claimed: bool,
    /// Number of events outside this process that the run waits for.
    rests: usize,
}

/// The drivers of this process, by run.
#[derive(Debug, Default, Clone)]
pub(crate) struct Drivers(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    seats: Mutex<DriverTable>,
    /// Notified when capacity for runs is free that an earlier search did not find.
    room: Notify,
}

#[derive(Debug, Default)]
struct DriverTable {
    by_run: HashMap<RunId, Driver>,
    /// Number of drivers so far.
    numbered: u64,
    /// Number of busy claimed runs at or below which free capacity is announced.
    told_at: Option<usize>,
}

impl DriverTable {
    /// Counts claimed runs that wait for resources of this process: a connection, a slot, their turn.
    fn busy(&self) -> usize {
        let busy = |driver: &&Driver| driver.claimed && driver.rests == 0;
        self.by_run.values().filter(busy).count()
    }
}

/// While it exists, the run waits for something outside this process: a running effect, a point in time.
#[derive(Debug)]
pub(crate) struct IdleGuard {
    drivers: Drivers,
    run: RunId,
}

impl Drop for IdleGuard {
    fn drop(&mut self) {
        if let Some(driver) = self.drivers.table().by_run.get_mut(&self.run) {
            driver.rests = driver.rests.saturating_sub(1);
        }
    }
}

/// A driver's slot; released when dropped.
#[derive(Debug)]
pub(super) struct DriverSlot {
    drivers: Drivers,
    run: RunId,
}

/// A driver's slot, and the receiver of its messages.
#[derive(Debug)]
pub(super) struct DriverHandle {
    pub(super) seat: DriverSlot,
    pub(super) orders: mpsc::Receiver<DriverMessage>,
    /// Cancelled if another process takes the run over, so that the driver stops waiting.
    pub(super) lost: CancellationToken,
}

impl Drop for DriverSlot {
    fn drop(&mut self) {
        self.drivers.table().by_run.remove(&self.run);
        self.drivers.notify_capacity();
    }
}

impl Drivers {
    fn table(&self) -> MutexGuard<'_, DriverTable> {
        self.0.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Acquires the driver's slot of a run.
    ///
    /// # Errors
    /// The sender to the driver that has the slot.
    pub(super) fn acquire(&self, run: &RunId) -> Result<DriverHandle, mpsc::Sender<DriverMessage>> {
        let mut seats = self.table();
        if let Some(driver) = seats.by_run.get(run) {
            return Err(driver.orders.clone());
        }
        let (sender, orders) = mpsc::channel(QUEUE);
        let lost = CancellationToken::new();
        seats.numbered += 1;
        let driver = Driver {
            number: seats.numbered,
            orders: sender,
            grip: LeaseState::Free,
            lost: lost.clone(),
            claimed: false,
            rests: 0,
        };
        seats.by_run.insert(run.clone(), driver);
        let seat = DriverSlot {
            drivers: self.clone(),
            run: run.clone(),
        };
        Ok(DriverHandle { seat, orders, lost })
    }

    /// Acquires the driver's slot of a run once it is free.
    pub(super) async fn acquire_when_free(&self, run: &RunId) -> DriverHandle {
        loop {
            match self.acquire(run) {
                Ok(place) => return place,
                Err(driver) => driver.closed().await,
            }
        }
    }

    /// Returns how many runs are driven.
    pub(crate) fn count(&self) -> usize {
        self.table().by_run.len()
    }

    /// Returns how many runs may be claimed. At most `driven` runs may be driven in all, and at most `busy` claimed
    /// runs may wait for resources of this process. If none may be claimed, [`Drivers::capacity_freed`] returns once
    /// half of `busy` is free.
    pub(crate) fn claimable_runs(&self, driven: usize, busy: usize) -> usize {
        let mut seats = self.table();
        let driven = driven.saturating_sub(seats.by_run.len());
        let room = busy.saturating_sub(seats.busy()).min(driven);
        seats.told_at = (room == 0).then_some(busy / 2);
        room
    }

    /// Returns when there is new capacity for runs.
    pub(crate) async fn capacity_freed(&self) {
        self.0.room.notified().await;
    }

    fn notify_capacity(&self) {
        let mut seats = self.table();
        if seats.told_at.is_some_and(|most| seats.busy() <= most) {
            seats.told_at = None;
            self.0.room.notify_one();
        }
    }

    /// Marks a run as waiting for something outside this process.
    pub(super) fn mark_idle(&self, run: &RunId) -> IdleGuard {
        if let Some(driver) = self.table().by_run.get_mut(run) {
            driver.rests += 1;
        }
        self.notify_capacity();
        IdleGuard {
            drivers: self.clone(),
            run: run.clone(),
        }
    }

    /// Has a run's driver check the run again, if this process has one.
    pub(crate) fn notify(&self, run: &RunId) {
        if let Some(driver) = self.driver(run) {
            // A full queue already makes the driver check.
            drop(driver.try_send(DriverMessage::Refresh));
        }
    }

    pub(crate) fn driver(&self, run: &RunId) -> Option<mpsc::Sender<DriverMessage>> {
        let seats = self.table();
        seats.by_run.get(run).map(|driver| driver.orders.clone())
    }

    /// Marks a run's driver as holding its lease, under this fence.
    pub(super) fn set_lease_held(&self, run: &RunId, fence: Fence) {
        self.set_lease_state(run, LeaseState::Holds(fence));
    }

    /// Marks a driver as holding the lease of a run that this process claimed.
    pub(super) fn set_claimed_lease_held(&self, run: &RunId, fence: Fence) {
        self.set_lease_held(run, fence);
        if let Some(driver) = self.table().by_run.get_mut(run) {
            driver.claimed = true;
        }
    }

    /// Marks a driver as about to release its lease.
    pub(super) fn set_lease_releasing(&self, run: &RunId) {
        self.set_lease_state(run, LeaseState::GivesBack);
    }

    fn set_lease_state(&self, run: &RunId, grip: LeaseState) {
        if let Some(driver) = self.table().by_run.get_mut(run) {
            driver.grip = grip;
        }
    }

    /// Returns the runs whose leases drivers have, with the number of each driver.
    pub(crate) fn held(&self) -> HashMap<RunId, u64> {
        let seats = self.table();
        let drivers = seats.by_run.iter();
        let held = drivers.filter(|(_, driver)| driver.grip != LeaseState::Free);
        held.map(|(run, driver)| (run.clone(), driver.number))
            .collect()
    }

    /// Ends the driver with this number, whose run was taken over. Returns whether it was still there and held the
    /// lease.
    pub(crate) fn revoke(&self, run: &RunId, number: u64) -> bool {
        self.revoke_if(run, |driver, _| driver.number == number)
    }

    /// Ends a driver with an older lease than the one that this process just claimed. A driver that has the claimed
    /// lease itself continues.
    pub(super) fn supersede(&self, run: &RunId, fence: Fence) -> bool {
        self.revoke_if(run, |_, held| held < fence)
    }

    fn revoke_if(&self, run: &RunId, is_meant: impl FnOnce(&Driver, Fence) -> bool) -> bool {
        let mut seats = self.table();
        let Some(driver) = seats.by_run.get_mut(run) else {
            return false;
        };
        let ends = match driver.grip {
            LeaseState::Holds(fence) => is_meant(driver, fence),
            LeaseState::Free | LeaseState::GivesBack => false,
        };
        if ends {
            driver.grip = LeaseState::Free;
            driver.lost.cancel();
        }
        ends
    }
}

/// Returns whether a driver that left its slot has an unread `Refresh`. A sender of a command learns that the driver
/// left, and applies the command itself.
pub(super) fn has_unread_notice(orders: &mut mpsc::Receiver<DriverMessage>) -> bool {
    orders.close();
    let mut left = std::iter::from_fn(|| orders.try_recv().ok());
    left.any(|order| matches!(order, DriverMessage::Refresh))
}

/// Where a command for a run can be decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decided {
    /// Here: the command is durable.
    Here,
    /// Only where the run is driven: nothing was written.
    Elsewhere,
}

/// Runs a driver's work until another process takes the run over; `None` if that happens first.
///
/// # Errors
/// Those of the work.
pub(super) async fn run_unless_revoked<T>(
    lost: &CancellationToken,
    work: impl Future<Output = Result<T, EngineError>>,
) -> Result<Option<T>, EngineError> {
    lost.run_until_cancelled(work).await.transpose()
}

/// Returns whether a write to a run failed because another worker took over its lease.
pub(super) fn is_lease_lost(error: &EngineError, run: &RunId) -> bool {
    let cause = std::error::Error::source(error);
    let stored = cause.and_then(|cause| cause.downcast_ref::<StoreError>());
    matches!(stored, Some(StoreError::FencedOff { resource, .. }) if resource == run.as_str())
}

/// The error for a run that another worker holds.
pub(crate) fn held_elsewhere() -> EngineError {
    EngineError::new(ErrorCode::Overloaded, "another worker holds the run")
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use uuid::Uuid;

    use super::*;

    fn run(number: u128) -> RunId {
        RunId::from_uuid(Uuid::from_u128(number))
    }

    fn claimed(drivers: &Drivers, number: u128) -> DriverHandle {
        let place = drivers.acquire(&run(number)).unwrap();
        drivers.set_claimed_lease_held(&run(number), Fence(1));
        place
    }

    /// Only claimed runs that wait for this process use capacity. Free capacity is announced at half.
    #[test]
    fn capacity_is_announced_when_half_of_the_claimed_runs_are_done_or_idle() {
        let drivers = Drivers::default();
        let _given = drivers.acquire(&run(9)).unwrap();
        assert_eq!(drivers.claimable_runs(10, 4), 4);
        assert_eq!(drivers.claimable_runs(3, 4), 2);
        let mut places: Vec<DriverHandle> =
            (1..=4).map(|number| claimed(&drivers, number)).collect();
        assert_eq!(drivers.claimable_runs(10, 4), 0);
        places.pop();
        assert_eq!(drivers.capacity_freed().now_or_never(), None);
        let resting = drivers.mark_idle(&run(1));
        assert_eq!(drivers.capacity_freed().now_or_never(), Some(()));
        assert_eq!(drivers.claimable_runs(10, 4), 2);
        drop(resting);
        assert_eq!(drivers.claimable_runs(10, 4), 1);
        // No search was refused, so nothing is announced.
        places.clear();
        assert_eq!(drivers.capacity_freed().now_or_never(), None);
    }

    /// A takeover ends the run's driver once, even while it waits. A lease that is being released is renewed, and its
    /// loss has no effect.
    #[tokio::test]
    async fn a_driver_ends_when_its_run_was_taken_over() {
        let drivers = Drivers::default();
        drop(drivers.acquire(&run(1)).unwrap());
        let place = drivers.acquire(&run(1)).unwrap();
        assert!(!drivers.revoke(&run(1), 2));
        drivers.set_lease_releasing(&run(1));
        assert!(!drivers.revoke(&run(1), 2));
        assert_eq!(drivers.held(), [(run(1), 2)].into());
        drivers.set_lease_held(&run(1), Fence(2));
        // The lost lease was that of the driver before it.
        assert!(!drivers.revoke(&run(1), 1));
        // The driver acquired the lease that a claim of this process made at the same moment.
        assert!(!drivers.supersede(&run(1), Fence(2)));
        let waiting = run_unless_revoked(
            &place.lost,
            std::future::pending::<Result<(), EngineError>>(),
        );
        let lose = async { (drivers.revoke(&run(1), 2), drivers.revoke(&run(1), 2)) };
        let (ended, lost) = tokio::join!(waiting, lose);
        assert_eq!(ended.unwrap(), None);
        assert_eq!(lost, (true, false));
        assert!(drivers.held().is_empty());
    }

    /// Only the loss of the run's own lease means that another worker drives it, not the public code of that loss: work
    /// that finds no capacity has the same code.
    #[tokio::test]
    async fn an_overloaded_callee_does_not_mean_that_the_run_is_driven_elsewhere() {
        let fenced = |run: &RunId| {
            EngineError::from(StoreError::FencedOff {
                resource: run.to_string(),
                held: 1,
                current: 2,
            })
        };
        assert!(is_lease_lost(&fenced(&run(1)), &run(1)));
        assert!(!is_lease_lost(&fenced(&run(2)), &run(1)));
        let full = || EngineError::new(ErrorCode::Overloaded, "256 requests are in progress");
        assert_eq!(fenced(&run(1)).code, full().code);
        assert!(!is_lease_lost(&full(), &run(1)));
        let lost = CancellationToken::new();
        let work = run_unless_revoked(&lost, async { Err::<(), _>(full()) });
        assert_eq!(work.await.unwrap_err().message, full().message);
    }

    /// A driver that is still here when its run is claimed anew has lost it.
    #[test]
    fn a_driver_with_an_older_lease_ends_when_its_run_is_claimed() {
        let drivers = Drivers::default();
        let place = drivers.acquire(&run(1)).unwrap();
        assert!(!drivers.supersede(&run(1), Fence(1)));
        drivers.set_lease_held(&run(1), Fence(2));
        assert!(drivers.supersede(&run(1), Fence(3)));
        assert!(place.lost.is_cancelled());
    }
}
