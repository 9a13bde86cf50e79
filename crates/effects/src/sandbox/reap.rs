//! Reaps what scripts leave: processes whose parents ended before them become this process's children, whoever
//! else would have been theirs.
//!
//! Works by process group, so that nobody is kept from the exit of a child that is its own: leaders of groups, and
//! children outside, are left to who started them. Must not know calls.

use std::io;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender, TrySendError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, WaitId, WaitIdOptions};

use super::child;

/// How often ended processes are looked for while there are groups. As often as `watch` counts them: one that only
/// waits to be reaped is soon none of its call's.
const INTERVAL: Duration = Duration::from_millis(25);
/// How often once the sandbox is gone, whose last groups were killed.
const LAST_ROUNDS: usize = 40;

/// The thread that reaps, until dropped.
#[derive(Debug)]
pub(super) struct Reaper {
    groups: Arc<Mutex<Vec<Pid>>>,
    wake: SyncSender<()>,
}

impl Reaper {
    /// Makes this process the one that orphans below it fall to.
    ///
    /// # Errors
    /// When the kernel refuses, or no thread can be started.
    pub(super) fn new() -> io::Result<Self> {
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
        let groups = Arc::new(Mutex::new(Vec::new()));
        let (wake, woken) = mpsc::sync_channel(1);
        let thread = thread::Builder::new().name("reaper".to_owned());
        let reaped = Arc::clone(&groups);
        thread.spawn(move || reap(&woken, &reaped))?;
        Ok(Self { groups, wake })
    }

    /// Reaps the members of a group that are nobody else's, from now until it has none.
    pub(super) fn add(&self, group: Pid) {
        lock(&self.groups).push(group);
        match self.wake.try_send(()) {
            Ok(()) | Err(TrySendError::Full(())) => {}
            Err(TrySendError::Disconnected(())) => {
                tracing::warn!("the thread that reaps ended processes ended");
            }
        }
    }

    /// The groups that have members.
    pub(super) fn groups(&self) -> Vec<Pid> {
        lock(&self.groups).clone()
    }
}

fn reap(woken: &Receiver<()>, groups: &Mutex<Vec<Pid>>) {
    loop {
        let idle = lock(groups).is_empty();
        let wait = match idle {
            true => woken.recv().map_err(RecvTimeoutError::from),
            false => woken.recv_timeout(INTERVAL),
        };
        match wait {
            Ok(()) | Err(RecvTimeoutError::Timeout) => sweep(groups),
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    for _ in 0..LAST_ROUNDS {
        sweep(groups);
        if lock(groups).is_empty() {
            return;
        }
        thread::sleep(INTERVAL);
    }
}

fn sweep(groups: &Mutex<Vec<Pid>>) {
    lock(groups).retain(|group| has_members(*group));
}

/// Reaps what ended in a group, and says whether there is more to come.
///
/// A member of a group is this process's child, or below one that is in the group too: a script cannot leave its
/// group, and its orphans fall to this process. So a group without children of this process is empty, and until
/// then its number is no other group's.
fn has_members(group: Pid) -> bool {
    loop {
        let reaped = match child::ended_in(group) {
            Ok(Some(member)) if member != group => {
                let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
                rustix::process::waitid(WaitId::Pid(member), options).map(drop)
            }
            // All live, or the leader waits for who started it.
            Ok(_) => return true,
            Err(Errno::CHILD) => return false,
            Err(errno) => Err(errno),
        };
        if let Err(errno) = reaped {
            tracing::warn!(error = %errno, "an ended process cannot be reaped; it is tried again");
            return true;
        }
    }
}

fn lock(groups: &Mutex<Vec<Pid>>) -> MutexGuard<'_, Vec<Pid>> {
    groups.lock().unwrap_or_else(PoisonError::into_inner)
}
