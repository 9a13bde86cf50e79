//! A process that leads its group, and what kills the group.

use std::io;

use rustix::process::{Pid, Signal};
use tokio::process::Child;

/// A process that leads its group. Dropping it kills the group before the leader is reaped, so that its number cannot
/// be reused.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) guard: GroupGuard,
    pub(super) leader: Child,
}

/// Kills the process group of a call on drop, unless the call has ended.
#[derive(Debug)]
pub(super) struct GroupGuard(Option<Pid>);

impl GroupGuard {
    /// Creates the guard of the group that a child leads.
    pub(super) fn for_leader(leader: &Child) -> io::Result<Self> {
        Ok(Self(Some(pid_of(leader)?)))
    }

    pub(super) fn kill(&mut self) {
        let Some(group) = self.0.take() else { return };
        match rustix::process::kill_process_group(group, Signal::KILL) {
            Ok(()) | Err(rustix::io::Errno::SRCH) => {}
            Err(error) => tracing::warn!(%error, "a script's process group could not be killed"),
        }
    }
}

impl Drop for GroupGuard {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The number of a process that has not been reaped.
pub(super) fn pid_of(process: &Child) -> io::Result<Pid> {
    let pid = process.id().and_then(|id| Pid::from_raw(id.cast_signed()));
    pid.ok_or_else(|| io::Error::other("the child has no process id"))
}
