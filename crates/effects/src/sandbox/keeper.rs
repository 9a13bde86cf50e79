//! The keeper: a process beside this one that kills what scripts started, should this one be killed.
//!
//! The kernel ends a script with the server (`child.rs`), but not what the script started: those are the server's to
//! kill, and a server that is killed kills nobody. So each process tells the keeper its group before it executes
//! anything, over a socket whose other end the server holds. When that end is gone, the keeper kills the groups that
//! are still there, and ends. Must not know what runs in a group.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType};
use rustix::process::{Pid, PidfdFlags, Signal};

use super::child;

/// How often a group whose leader ended is looked for. The server kills it at once, so its number is not another
/// group's by then.
const RECHECK: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 50_000_000,
};
const AT_ONCE: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 0,
};
/// The number of a group, as it is told.
const RECORD_BYTES: usize = size_of::<i32>();

/// The keeper as the server sees it: started with the first process, and again should it end.
#[derive(Debug)]
pub(super) struct Keeper {
    program: PathBuf,
    arguments: Vec<String>,
    running: Option<Running>,
}

#[derive(Debug)]
struct Running {
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

    /// Where a process tells its group. A keeper that has to be started learns of `groups` first; none where it
    /// cannot be.
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
                    "starting the process that ends what scripts start: a server that is killed leaves it running"
                );
                None
            }
        }
    }

    fn start(&self, groups: &[Pid]) -> io::Result<Running> {
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
            rustix::net::send(&ours, &record(*group), SendFlags::NOSIGNAL)?;
        }
        Ok(Running {
            process,
            channel: Arc::new(ours),
        })
    }

    /// Lets the keeper end, once no process is told of it any more.
    pub(super) fn end(self) {
        let Some(Running {
            mut process,
            channel,
        }) = self.running
        else {
            return;
        };
        drop(channel);
        if let Err(error) = process.wait() {
            tracing::warn!(%error, "waiting for the end of the process that ends what scripts start");
        }
    }
}

pub(super) fn record(group: Pid) -> [u8; RECORD_BYTES] {
    group.as_raw_nonzero().get().to_ne_bytes()
}

/// A group that the keeper was told of.
struct Kept {
    group: Pid,
    /// While it lives, the group's number is taken.
    leader: Option<OwnedFd>,
}

/// What the keeper's process does: reads groups from standard input, and kills those that are left when it ends.
///
/// # Errors
/// When standard input cannot be waited for or read; the groups are killed then, too.
pub fn keep() -> io::Result<()> {
    let input = io::stdin();
    let mut kept = Vec::new();
    let mut outcome = listen(input.as_fd(), &mut kept);
    for Kept { group, .. } in kept {
        match rustix::process::kill_process_group(group, Signal::KILL) {
            Ok(()) | Err(Errno::SRCH) => {}
            Err(errno) => outcome = Err(errno.into()),
        }
    }
    outcome
}

/// Keeps track of groups until the input ends.
fn listen(input: BorrowedFd<'_>, kept: &mut Vec<Kept>) -> io::Result<()> {
    let mut unread = Vec::new();
    loop {
        wait(input, kept)?;
        if is_ready(input, &AT_ONCE)? {
            let mut chunk = [0_u8; 4096];
            let count = rustix::io::read(input, &mut chunk)?;
            if count == 0 {
                return Ok(());
            }
            unread.extend_from_slice(&chunk[..count]);
            kept.extend(groups(&mut unread).into_iter().map(Kept::new));
        }
        for group in kept.iter_mut() {
            group.look()?;
        }
        kept.retain(Kept::is_there);
    }
}

/// Waits for input or the end of a leader; not for long while a leader ended and its group may have not.
fn wait(input: BorrowedFd<'_>, kept: &[Kept]) -> io::Result<()> {
    let leaders = kept.iter().filter_map(|kept| kept.leader.as_ref());
    let leaders = leaders.map(|leader| PollFd::new(leader, PollFlags::IN));
    let mut polled: Vec<_> = leaders.collect();
    let all_led = polled.len() == kept.len();
    polled.push(PollFd::from_borrowed_fd(input, PollFlags::IN));
    let most = if all_led { None } else { Some(&RECHECK) };
    match rustix::event::poll(&mut polled, most) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

fn is_ready(descriptor: BorrowedFd<'_>, most: &Timespec) -> io::Result<bool> {
    let mut polled = [PollFd::from_borrowed_fd(descriptor, PollFlags::IN)];
    match rustix::event::poll(&mut polled, Some(most)) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::INTR) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

/// Takes the groups that were told in whole out of what was read.
fn groups(unread: &mut Vec<u8>) -> Vec<Pid> {
    let (records, rest) = unread.as_chunks::<RECORD_BYTES>();
    let numbers = records.iter().map(|record| i32::from_ne_bytes(*record));
    // To signal the groups 0 and 1 is to signal others.
    let groups = numbers.filter(|number| *number > 1);
    let groups = groups.filter_map(Pid::from_raw).collect();
    *unread = rest.to_vec();
    groups
}

impl Kept {
    fn new(group: Pid) -> Self {
        let leader = rustix::process::pidfd_open(group, PidfdFlags::empty());
        Self {
            group,
            leader: leader.ok(),
        }
    }

    /// Takes note of a leader's end.
    fn look(&mut self) -> io::Result<()> {
        if let Some(leader) = &self.leader
            && is_ready(leader.as_fd(), &AT_ONCE)?
        {
            self.leader = None;
        }
        Ok(())
    }

    fn is_there(&self) -> bool {
        self.leader.is_some() || rustix::process::test_kill_process_group(self.group).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_taken_whole_and_none_that_stands_for_others() {
        let told: Vec<u8> = [7, 0, 1, -1, 300]
            .into_iter()
            .flat_map(i32::to_ne_bytes)
            .collect();
        let mut unread = told[..told.len() - 1].to_vec();
        let numbers = |groups: Vec<Pid>| -> Vec<i32> {
            groups
                .iter()
                .map(|group| group.as_raw_nonzero().get())
                .collect()
        };
        assert_eq!(numbers(groups(&mut unread)), [7]);
        unread.extend(told.last());
        assert_eq!(numbers(groups(&mut unread)), [300]);
        assert!(unread.is_empty());
    }

    /// A group whose leader ended is kept as long as it has members, and killed with the input's end.
    #[test]
    fn what_a_group_leaves_is_killed_when_the_input_ends() {
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
        rustix::net::send(&ours, &record(group), SendFlags::NOSIGNAL).unwrap();
        drop(leader.stdin.take());
        leader.wait().unwrap();
        let mut kept = Vec::new();
        drop(ours);
        listen(theirs.as_fd(), &mut kept).unwrap();
        assert_eq!(kept.len(), 1);
        assert!(kept[0].is_there());
        rustix::process::kill_process_group(kept[0].group, Signal::KILL).unwrap();
        // The pipe ends with the last of the group.
        output.read_to_string(&mut String::new()).unwrap();
    }
}
