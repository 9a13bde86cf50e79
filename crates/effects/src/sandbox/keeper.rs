//! The keeper: a process beside this one that kills the children of scripts if this one is killed.
//!
//! The kernel ends a script with the server (`child.rs`), but not the children of the script: the server kills these,
//! unless it is killed itself. So each process sends its group to the keeper before it executes anything, over a socket
//! that the server holds open. When the socket is closed, the keeper kills the remaining groups and exits. Must not know
//! the programs in a group.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType};
use rustix::process::{Pid, PidfdFlags, Signal};

use super::child::{self, GROUP_BYTES, encode_group};

/// How often the keeper checks a group whose leader ended. The server kills such a group at once, so its number is not
/// reused before the next check.
const RECHECK: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 50_000_000,
};
const AT_ONCE: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 0,
};

/// Starts the keeper with the first process, and again if it ends.
#[derive(Debug)]
pub(super) struct Keeper {
    program: PathBuf,
    arguments: Vec<String>,
    running: Option<KeeperProcess>,
}

#[derive(Debug)]
struct KeeperProcess {
    process: Child,
    channel: Arc<OwnedFd>,
}

impl Keeper {
    pub(super) fn new((program, arguments): (PathBuf, Vec<String>)) -> Self {
        Self {
            program,
            arguments,
            running: None,
        }
    }

    /// Returns the socket that takes groups to the keeper. A newly started keeper gets `groups` first. `None` if it
    /// cannot be started.
    pub(super) fn channel(&mut self, groups: &[Pid]) -> Option<Arc<OwnedFd>> {
        if let Some(running) = &mut self.running
            && matches!(running.process.try_wait(), Ok(None))
        {
            return Some(Arc::clone(&running.channel));
        }
        match self.start(groups) {
            Ok(running) => {
                let channel = Arc::clone(&running.channel);
                self.running = Some(running);
                Some(channel)
            }
            Err(error) => {
                tracing::error!(
                    %error,
                    "the keeper cannot be started: children of scripts survive a killed server"
                );
                None
            }
        }
    }

    /// Returns the id of the most recently started process.
    pub(super) fn pid(&self) -> Option<Pid> {
        let running = self.running.as_ref()?;
        Some(Pid::from_child(&running.process))
    }

    fn start(&self, groups: &[Pid]) -> io::Result<KeeperProcess> {
        let kind = SocketType::STREAM;
        let (ours, theirs) =
            rustix::net::socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None)?;
        let mut command = Command::new(&self.program);
        command
            .args(&self.arguments)
            .current_dir("/")
            .env_clear()
            .stdin(Stdio::from(theirs))
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        child::detach(&mut command);
        let process = command.spawn()?;
        for group in groups {
            rustix::net::send(&ours, &encode_group(*group), SendFlags::NOSIGNAL)?;
        }
        Ok(KeeperProcess {
            process,
            channel: Arc::new(ours),
        })
    }

    /// Closes the socket, and waits until the keeper has exited.
    pub(super) fn stop(self) {
        let Some(KeeperProcess {
            mut process,
            channel,
        }) = self.running
        else {
            return;
        };
        drop(channel);
        if let Err(error) = process.wait() {
            tracing::warn!(%error, "waiting for the keeper to exit");
        }
    }
}

/// A group that the keeper kills at the end.
struct TrackedGroup {
    group: Pid,
    /// `None` once the leader has ended.
    leader: Option<OwnedFd>,
}

/// Runs the keeper: reads groups from standard input, and kills the remaining ones when the input ends.
///
/// # Errors
/// When standard input cannot be read: the server starts another keeper, so no group is killed. When a group cannot be
/// killed.
pub fn keep() -> io::Result<()> {
    let input = io::stdin();
    let mut tracked = Vec::new();
    track(input.as_fd(), &mut tracked)?;
    let mut outcome = Ok(());
    for TrackedGroup { group, .. } in tracked {
        match rustix::process::kill_process_group(group, Signal::KILL) {
            Ok(()) | Err(Errno::SRCH) => {}
            Err(errno) => outcome = Err(errno.into()),
        }
    }
    outcome
}

/// Tracks groups until the input ends.
fn track(input: BorrowedFd<'_>, tracked: &mut Vec<TrackedGroup>) -> io::Result<()> {
    let mut unread = Vec::new();
    loop {
        wait(input, tracked)?;
        if is_ready(input)? {
            let mut chunk = [0_u8; 4096];
            let count = rustix::io::retry_on_intr(|| rustix::io::read(input, &mut chunk))?;
            if count == 0 {
                return Ok(());
            }
            unread.extend_from_slice(&chunk[..count]);
            tracked.extend(
                decode_groups(&mut unread)
                    .into_iter()
                    .map(TrackedGroup::new),
            );
        }
        for group in tracked.iter_mut() {
            group.check_leader()?;
        }
        tracked.retain(TrackedGroup::has_members);
    }
}

/// Waits for input, for the end of a leader, and at most `RECHECK` while there is a group without a leader.
fn wait(input: BorrowedFd<'_>, tracked: &[TrackedGroup]) -> io::Result<()> {
    let leaders = tracked.iter().filter_map(|group| group.leader.as_ref());
    let leaders = leaders.map(|leader| PollFd::new(leader, PollFlags::IN));
    let mut polled: Vec<_> = leaders.collect();
    let all_led = polled.len() == tracked.len();
    polled.push(PollFd::from_borrowed_fd(input, PollFlags::IN));
    let most = if all_led { None } else { Some(&RECHECK) };
    match rustix::event::poll(&mut polled, most) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

fn is_ready(descriptor: BorrowedFd<'_>) -> io::Result<bool> {
    let mut polled = [PollFd::from_borrowed_fd(descriptor, PollFlags::IN)];
    match rustix::event::poll(&mut polled, Some(&AT_ONCE)) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::INTR) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

/// Removes the complete groups from the bytes.
fn decode_groups(unread: &mut Vec<u8>) -> Vec<Pid> {
    let (records, rest) = unread.as_chunks::<GROUP_BYTES>();
    let numbers = records.iter().map(|record| i32::from_ne_bytes(*record));
    // Signals to groups 0 and 1 would reach other processes.
    let groups = numbers.filter(|number| *number > 1);
    let groups = groups.filter_map(Pid::from_raw).collect();
    *unread = rest.to_vec();
    groups
}

impl TrackedGroup {
    fn new(group: Pid) -> Self {
        let leader = rustix::process::pidfd_open(group, PidfdFlags::empty());
        Self {
            group,
            leader: leader.ok(),
        }
    }

    fn check_leader(&mut self) -> io::Result<()> {
        if let Some(leader) = &self.leader
            && is_ready(leader.as_fd())?
        {
            self.leader = None;
        }
        Ok(())
    }

    fn has_members(&self) -> bool {
        self.leader.is_some() || rustix::process::test_kill_process_group(self.group).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_complete_groups_of_scripts_are_decoded() {
        let sent: Vec<u8> = [7, 0, 1, -1, 300]
            .into_iter()
            .flat_map(i32::to_ne_bytes)
            .collect();
        let mut unread = sent[..sent.len() - 1].to_vec();
        let numbers = |groups: Vec<Pid>| -> Vec<i32> {
            groups
                .iter()
                .map(|group| group.as_raw_nonzero().get())
                .collect()
        };
        assert_eq!(numbers(decode_groups(&mut unread)), [7]);
        unread.extend(sent.last());
        assert_eq!(numbers(decode_groups(&mut unread)), [300]);
        assert!(unread.is_empty());
    }

    #[test]
    fn a_group_is_tracked_until_its_last_member_ends() {
        use std::io::{BufRead, BufReader, Read};
        use std::os::unix::process::CommandExt;
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "sleep 1000 & echo; read go"]);
        let mut leader = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()
            .unwrap();
        let mut output = BufReader::new(leader.stdout.take().unwrap());
        output.read_line(&mut String::new()).unwrap();
        let kind = SocketType::STREAM;
        let (ours, theirs) =
            rustix::net::socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None).unwrap();
        let group = Pid::from_child(&leader);
        rustix::net::send(&ours, &encode_group(group), SendFlags::NOSIGNAL).unwrap();
        drop(leader.stdin.take());
        leader.wait().unwrap();
        let mut tracked = Vec::new();
        drop(ours);
        track(theirs.as_fd(), &mut tracked).unwrap();
        assert_eq!(tracked.len(), 1);
        assert!(tracked[0].has_members());
        rustix::process::kill_process_group(tracked[0].group, Signal::KILL).unwrap();
        // The pipe closes with the last member of the group.
        output.read_to_string(&mut String::new()).unwrap();
    }
}
