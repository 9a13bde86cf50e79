//! Reaps the orphans that the first process of a container inherits from processes that it did not start, such as those
//! of `docker exec`: no other process can reap them.
//!
//! A child of this process is a foreign orphan if it is in another session: processes that this process starts stay in
//! its session, except the keeper. Must not know scripts.

use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::Pid;

use super::{OwnedProcesses, lock, reap_ended};

/// How often the processes of the container are read.
pub(super) const INTERVAL: Duration = Duration::from_secs(2);
/// The state of a process that has ended and is not reaped.
const ENDED: &str = "Z";

/// The foreign orphans of the first process of a container.
#[derive(Debug)]
pub(super) struct AdoptedOrphans {
    session: i32,
    due: Instant,
}

/// The fields of a process in `/proc`.
#[derive(Debug, PartialEq, Eq)]
struct Stat {
    process: i32,
    has_ended: bool,
    parent: i32,
    session: i32,
}

impl AdoptedOrphans {
    /// Returns `None` if this process is not the first one, or `/proc` is absent or shows another namespace.
    pub(super) fn of_this_process() -> Option<Self> {
        if !rustix::process::getpid().is_init() {
            return None;
        }
        let own = Stat::read(Path::new("/proc/self")).filter(|own| own.process == 1)?;
        Some(Self {
            session: own.session,
            due: Instant::now() + INTERVAL,
        })
    }

    /// Reaps the foreign orphans that have ended, if the interval has passed.
    pub(super) fn reap_when_due(&mut self, owned: &Mutex<OwnedProcesses>) {
        if Instant::now() < self.due {
            return;
        }
        self.due = Instant::now() + INTERVAL;
        let entries = match fs::read_dir("/proc") {
            Ok(entries) => entries,
            Err(error) => {
                tracing::warn!(%error, "the processes of this container cannot be read: orphans are not reaped");
                return;
            }
        };
        let stats = entries.filter_map(|entry| Stat::read(&entry.ok()?.path()));
        for orphan in stats.filter_map(|stat| stat.orphan_of_another(self.session)) {
            let is_owned = {
                let owned = lock(owned);
                owned.keeper == Some(orphan) || owned.groups.contains(&orphan)
            };
            if is_owned {
                continue;
            }
            match reap_ended(orphan) {
                Ok(()) | Err(Errno::CHILD) => {}
                Err(errno) => {
                    tracing::warn!(error = %errno, "an orphan cannot be reaped; retrying with the next sweep");
                }
            }
        }
    }
}

impl Stat {
    /// Returns `None` for entries that are not processes, and for processes that have ended.
    fn read(entry: &Path) -> Option<Self> {
        Self::parse(&fs::read_to_string(entry.join("stat")).ok()?)
    }

    /// Parses number, name in brackets, state, parent, group, session; the name may contain any character.
    fn parse(text: &str) -> Option<Self> {
        let (process, named) = text.split_once(' ')?;
        let (_, after_name) = named.rsplit_once(')')?;
        let mut fields = after_name.split_ascii_whitespace();
        let state = fields.next()?;
        let parent = fields.next()?.parse().ok()?;
        let session = fields.nth(1)?.parse().ok()?;
        Some(Self {
            process: process.parse().ok()?,
            has_ended: state == ENDED,
            parent,
            session,
        })
    }

    fn orphan_of_another(&self, own_session: i32) -> Option<Pid> {
        let is_orphan = self.has_ended && self.parent == 1 && self.session != own_session;
        Pid::from_raw(self.process).filter(|_| is_orphan)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ended_child_in_another_session_is_an_orphan_of_another_process() {
        let orphan = |text: &str| {
            let stat = Stat::parse(text).unwrap();
            stat.orphan_of_another(1).map(Pid::as_raw_pid)
        };
        assert_eq!(orphan("42 (a) b) Z 1 40 40 0 -1 4194304"), Some(42));
        for other in [
            "42 (sleep) S 1 40 40 0 -1 4194304",
            "42 (sleep) Z 7 40 40 0 -1 4194304",
            "42 (sleep) Z 1 40 1 0 -1 4194304",
        ] {
            assert_eq!(orphan(other), None, "{other}");
        }
        assert_eq!(Stat::parse("42 (sleep"), None);
        assert_eq!(Stat::read(Path::new("/proc/sys")), None);
    }

    #[test]
    fn only_the_first_process_reaps_orphans_of_other_processes() {
        if std::process::id() != 1 {
            assert!(AdoptedOrphans::of_this_process().is_none());
        }
    }
}
