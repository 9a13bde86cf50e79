//! Reaps the orphans of scripts: this process becomes the parent of processes whose own parents have ended.
//!
//! Only members of scripts' groups are reaped, and never the leaders: the code that started a process waits for it
//! itself. The first process of a container also becomes the parent of orphans that it did not start (`adopted.rs`).
//! Must not know calls.

mod adopted;

use std::io;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender, TrySendError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, WaitId, WaitIdOptions};

use super::child;
use adopted::AdoptedOrphans;

/// Interval between sweeps while there are groups: as often as `watch` counts processes, so that zombies hardly count.
const INTERVAL: Duration = Duration::from_millis(25);
/// Sweeps after the sandbox is dropped, for the groups that were killed last.
const LAST_SWEEPS: usize = 40;

/// The reaping thread; it stops when this is dropped.
#[derive(Debug)]
pub(super) struct Reaper {
    owned: Arc<Mutex<OwnedProcesses>>,
    wake: SyncSender<()>,
}

/// The processes that their owners wait for.
#[derive(Debug, Default)]
struct OwnedProcesses {
    /// The groups that have members, by their leaders.
    groups: Vec<Pid>,
    keeper: Option<Pid>,
}

impl Reaper {
    /// Makes this process the parent of all orphans below it.
    ///
    /// # Errors
    /// When the kernel refuses, or no thread can be started.
    pub(super) fn new() -> io::Result<Self> {
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
        let owned = Arc::new(Mutex::new(OwnedProcesses::default()));
        let (wake, woken) = mpsc::sync_channel(1);
        let thread = thread::Builder::new().name("reaper".to_owned());
        let shared = Arc::clone(&owned);
        let adopted = AdoptedOrphans::of_this_process();
        thread.spawn(move || reap(&woken, &shared, adopted))?;
        Ok(Self { owned, wake })
    }

    /// Reaps orphans of a group until it has no member.
    pub(super) fn add(&self, group: Pid) {
        lock(&self.owned).groups.push(group);
        match self.wake.try_send(()) {
            Ok(()) | Err(TrySendError::Full(())) => {}
            Err(TrySendError::Disconnected(())) => {
                tracing::warn!("the thread that reaps processes has ended");
            }
        }
    }

    /// Returns the groups that have members.
    pub(super) fn groups(&self) -> Vec<Pid> {
        lock(&self.owned).groups.clone()
    }

    /// Excludes the keeper: the code that started it waits for it.
    pub(super) fn leave_keeper(&self, keeper: Option<Pid>) {
        lock(&self.owned).keeper = keeper;
    }
}

fn reap(woken: &Receiver<()>, owned: &Mutex<OwnedProcesses>, mut adopted: Option<AdoptedOrphans>) {
    loop {
        let idle = lock(owned).groups.is_empty();
        let wait = match (idle, &adopted) {
            (false, _) => woken.recv_timeout(INTERVAL),
            (true, Some(_)) => woken.recv_timeout(adopted::INTERVAL),
            (true, None) => woken.recv().map_err(RecvTimeoutError::from),
        };
        match wait {
            Ok(()) | Err(RecvTimeoutError::Timeout) => {
                sweep(owned);
                if let Some(adopted) = &mut adopted {
                    adopted.reap_when_due(owned);
                }
            }
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    for _ in 0..LAST_SWEEPS {
        sweep(owned);
        if lock(owned).groups.is_empty() {
            return;
        }
        thread::sleep(INTERVAL);
    }
}

fn sweep(owned: &Mutex<OwnedProcesses>) {
    lock(owned).groups.retain(|group| has_members(*group));
}

/// Reaps the ended orphans of a group. Returns whether the group has members.
///
/// Each member of a group is a child of this process, or a descendant of one in the same group: a script cannot leave
/// its group, and its orphans become children of this process. So a group without children of this process is empty,
/// and its number is not reused before.
fn has_members(group: Pid) -> bool {
    loop {
        let reaped = match child::ended_member(group) {
            Ok(Some(member)) if member != group => reap_ended(member),
            // All members are alive, or only the leader has ended and its owner waits for it.
            Ok(_) => return true,
            Err(Errno::CHILD) => return false,
            Err(errno) => Err(errno),
        };
        if let Err(errno) = reaped {
            tracing::warn!(error = %errno, "an ended process cannot be reaped; retrying with the next sweep");
            return true;
        }
    }
}

/// Reaps a child that has ended.
fn reap_ended(child: Pid) -> Result<(), Errno> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
    rustix::process::waitid(WaitId::Pid(child), options).map(drop)
}

fn lock(owned: &Mutex<OwnedProcesses>) -> MutexGuard<'_, OwnedProcesses> {
    owned.lock().unwrap_or_else(PoisonError::into_inner)
}
