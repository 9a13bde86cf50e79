//! Who drives which run in this process: places, leases to be renewed, and room for more.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use charter_contract::error_code::ErrorCode;
use charter_contract::ids::RunId;
use charter_domain::run::Command;
use charter_store::lease::Fence;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::EngineError;

/// Orders that wait for a driver.
const QUEUE: usize = 16;

/// Something that a driver is told.
#[derive(Debug)]
pub(crate) enum DriverMessage {
    /// Something has happened to the run: people have decided, or somebody else came to drive it.
    Refresh,
    /// Somebody wants something to happen; the answer goes back when it is durable.
    Command(Box<Command>, oneshot::Sender<Result<(), EngineError>>),
}

/// How a driver stands to its run's lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LeaseState {
    /// It has none.
    Free,
    /// It is renewed, and the driver ends when it is somebody else's.
    Holds(Fence),
    /// It is renewed until it is given back; that it is nobody's then is no loss.
    GivesBack,
}

/// Who drives a run, or decides on it once.
#[derive(Debug)]
struct Driver {
    /// Told apart from those that drive the run before and after it.
    number: u64,
    orders: mpsc::Sender<DriverMessage>,
    grip: LeaseState,
    lost: CancellationToken,
    /// Whether this process looked for the run, rather than being given it.
    claimed: bool,
    /// For how many things its run waits that are not this process's own.
    rests: usize,
}

/// The drivers of this process, by run.
#[derive(Debug, Default, Clone)]
pub(crate) struct Drivers(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    seats: Mutex<DriverTable>,
    /// There is room for runs again that was not there when some were looked for.
    room: Notify,
}

#[derive(Debug, Default)]
struct DriverTable {
    by_run: HashMap<RunId, Driver>,
    /// How many drivers there ever were.
    numbered: u64,
    /// How many claimed runs may be busy before room is told of.
    told_at: Option<usize>,
}

impl DriverTable {
    /// The claimed runs that wait for something of this process's own: a connection, a place, their turn.
    fn busy(&self) -> usize {
        let busy = |driver: &&Driver| driver.claimed && driver.rests == 0;
        self.by_run.values().filter(busy).count()
    }
}

/// While it is there, a run waits for something that is not its process's own: an effect under way, a moment.
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

/// A driver's place; given up when dropped.
#[derive(Debug)]
pub(super) struct DriverSlot {
    drivers: Drivers,
    run: RunId,
}

/// A driver's place, and what its driver is told.
#[derive(Debug)]
pub(super) struct DriverHandle {
    pub(super) seat: DriverSlot,
    pub(super) orders: mpsc::Receiver<DriverMessage>,
    /// Cancelled when the run was taken over: whatever its driver waits for then is for nothing.
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

    /// Takes the driver's place of a run.
    ///
    /// # Errors
    /// The way to whoever has it.
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

    /// Takes the driver's place of a run once nobody has it.
    pub(super) async fn acquire_when_free(&self, run: &RunId) -> DriverHandle {
        loop {
            match self.acquire(run) {
                Ok(place) => return place,
                Err(driver) => driver.closed().await,
            }
        }
    }

    /// How many runs are driven.
    pub(crate) fn count(&self) -> usize {
        self.table().by_run.len()
    }

    /// How many runs may be claimed, where `driven` may be driven in all and `busy` of those that were claimed
    /// may wait for something of this process's own. Where there is room for none, [`Drivers::room_made`]
    /// tells when there is room for half of these.
    pub(crate) fn claimable_runs(&self, driven: usize, busy: usize) -> usize {
        let mut seats = self.table();
        let driven = driven.saturating_sub(seats.by_run.len());
        let room = busy.saturating_sub(seats.busy()).min(driven);
        seats.told_at = (room == 0).then_some(busy / 2);
        room
    }

    /// Returns when there is room for runs that was not there before.
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

    /// A run waits from now on for something that is not this process's own.
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

    /// Has a run's driver look at what happened to it, if there is one here.
    pub(crate) fn notify(&self, run: &RunId) {
        if let Some(driver) = self.driver(run) {
            // A full queue has something that makes it look.
            drop(driver.try_send(DriverMessage::Refresh));
        }
    }

    pub(crate) fn driver(&self, run: &RunId) -> Option<mpsc::Sender<DriverMessage>> {
        let seats = self.table();
        seats.by_run.get(run).map(|driver| driver.orders.clone())
    }

    /// From now on a run's driver has its lease, under this fence.
    pub(super) fn set_lease_held(&self, run: &RunId, fence: Fence) {
        self.set_lease_state(run, LeaseState::Holds(fence));
    }

    /// The same of a run that this process claimed.
    pub(super) fn set_claimed_lease_held(&self, run: &RunId, fence: Fence) {
        self.set_lease_held(run, fence);
        if let Some(driver) = self.table().by_run.get_mut(run) {
            driver.claimed = true;
        }
    }

    /// A run's driver is about to give its lease back.
    pub(super) fn set_lease_releasing(&self, run: &RunId) {
        self.set_lease_state(run, LeaseState::GivesBack);
    }

    fn set_lease_state(&self, run: &RunId, grip: LeaseState) {
        if let Some(driver) = self.table().by_run.get_mut(run) {
            driver.grip = grip;
        }
    }

    /// The runs whose leases drivers have, with the number of each driver.
    pub(crate) fn held(&self) -> HashMap<RunId, u64> {
        let seats = self.table();
        let drivers = seats.by_run.iter();
        let held = drivers.filter(|(_, driver)| driver.grip != LeaseState::Free);
        held.map(|(run, driver)| (run.clone(), driver.number))
            .collect()
    }

    /// Ends the driver of this number, whose run was taken over; whether it was still there and held it.
    pub(crate) fn revoke(&self, run: &RunId, number: u64) -> bool {
        self.revoke_if(run, |driver, _| driver.number == number)
    }

    /// Ends a driver whose run this process has claimed anew, under this fence: it lost the lease that it had. A
    /// driver that took the very lease that was claimed goes on.
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

/// Whether whoever has left a driver's place was told to look and did not. Whoever gave it a command
/// learns that it left, and gives the command to the run itself.
pub(super) fn has_unread_notice(orders: &mut mpsc::Receiver<DriverMessage>) -> bool {
    orders.close();
    let mut left = std::iter::from_fn(|| orders.try_recv().ok());
    left.any(|order| matches!(order, DriverMessage::Refresh))
}

/// What a driver does as long as its run is its own.
///
/// # Errors
/// `overloaded` when the run was taken over first.
pub(super) async fn run_unless_revoked<T>(
    lost: &CancellationToken,
    work: impl Future<Output = Result<T, EngineError>>,
) -> Result<T, EngineError> {
    lost.run_until_cancelled(work)
        .await
        .unwrap_or_else(|| Err(held_elsewhere()))
}

/// A run that somebody else holds now.
pub(super) fn held_elsewhere() -> EngineError {
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

    /// Only claimed runs that wait for this process take up room, and it is told of when half of it is there.
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
        // Nobody looked in vain.
        places.clear();
        assert_eq!(drivers.capacity_freed().now_or_never(), None);
    }

    /// A run that was taken over ends its driver, whatever that waits for, once; one that is being given back
    /// is renewed, and is not lost when it is nobody's.
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
        // What was lost is what the driver before it had.
        assert!(!drivers.revoke(&run(1), 1));
        // It took the lease that a claim of this process made at the same moment.
        assert!(!drivers.supersede(&run(1), Fence(2)));
        let waiting = run_unless_revoked(
            &place.lost,
            std::future::pending::<Result<(), EngineError>>(),
        );
        let lose = async { (drivers.revoke(&run(1), 2), drivers.revoke(&run(1), 2)) };
        let (ended, lost) = tokio::join!(waiting, lose);
        assert_eq!(ended.unwrap_err().code, ErrorCode::Overloaded);
        assert_eq!(lost, (true, false));
        assert!(drivers.held().is_empty());
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
