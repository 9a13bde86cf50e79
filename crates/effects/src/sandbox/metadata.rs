//! Changes of modes and times where no mount namespace keeps them to a call's folders. The kernel asks this process
//! instead of doing what a script asks for, and this process does it to files in these folders, and to no others.
//!
//! What a script asks for is read once, and resolved once: the file that was looked at is the one that is changed.
//! No other file gets into these folders: Landlock keeps links from leading there. Must not know calls.

use std::ffi::{CStr, CString, OsStr};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::thread;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, Timestamps};
use rustix::io::Errno;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::child::{self, Request};
use super::filter::SYS_FCHMODAT2;

/// Longest path, with the zero at its end.
const PATH_BYTES: usize = 4096;
/// How often the end of a call is looked for where the kernel does not tell (before Linux 5.9).
const RECHECK: Timespec = Timespec {
    tv_sec: 1,
    tv_nsec: 0,
};
/// What names a descriptor of the process that asks.
const OWN_DESCRIPTORS: [&str; 3] = ["/proc/self/fd/", "/proc/thread-self/fd/", "/dev/fd/"];

/// The file that a call is about.
#[derive(Debug)]
enum Target {
    Descriptor(i32),
    Path {
        at: i32,
        path: CString,
        links: Links,
    },
}

/// What becomes of a link at the end of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Links {
    Follow,
    Keep,
}

#[derive(Debug)]
enum Change {
    Mode(Mode),
    Times(Timestamps),
}

/// Answers the calls that come over `listener`, until the guard is dropped or no process is left.
///
/// # Errors
/// When no thread can be started.
pub(super) fn serve(listener: OwnedFd, folders: Vec<PathBuf>) -> io::Result<DropGuard> {
    let over = CancellationToken::new();
    let ended = over.clone();
    let thread = thread::Builder::new().name("metadata".to_owned());
    // A thread, not a task: a file system may keep it waiting.
    thread.spawn(move || {
        if let Err(errno) = answer(&listener, &folders, &ended) {
            tracing::warn!(error = %errno, "a script's changes of modes and times fail from now on");
        }
    })?;
    Ok(over.drop_guard())
}

fn answer(listener: &OwnedFd, folders: &[PathBuf], ended: &CancellationToken) -> Result<(), Errno> {
    while !ended.is_cancelled() {
        let mut polled = [PollFd::new(listener, PollFlags::IN)];
        match rustix::event::poll(&mut polled, Some(&RECHECK)) {
            Ok(0) | Err(Errno::INTR) => continue,
            Ok(_) => {}
            Err(errno) => return Err(errno),
        }
        if !polled[0].revents().contains(PollFlags::IN) {
            // No process is left that could ask.
            return Ok(());
        }
        let answered = child::next_request(listener.as_fd()).and_then(|request| {
            let waits = || child::still_waits(listener.as_fd(), &request);
            let outcome = perform(&request, folders, waits);
            child::answer(listener.as_fd(), &request, outcome)
        });
        match answered {
            // Killed meanwhile.
            Ok(()) | Err(Errno::NOENT | Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

fn perform(
    request: &Request,
    folders: &[PathBuf],
    waits: impl FnOnce() -> bool,
) -> Result<(), Errno> {
    let (target, change) = asked(request)?;
    let file = open(request.thread, &target)?;
    // Whose memory, folder and descriptors these are is sure only as long as the thread waits.
    if !waits() {
        return Err(Errno::SRCH);
    }
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    let place = rustix::fs::readlink(&path, Vec::<u8>::new())?;
    let place = Path::new(OsStr::from_bytes(place.as_bytes()));
    // This process may be more than the script's user.
    let owned = rustix::fs::fstat(&file)?.st_uid == rustix::process::geteuid().as_raw();
    if !owned || !folders.iter().any(|folder| place.starts_with(folder)) {
        return Err(Errno::PERM);
    }
    match change {
        Change::Mode(mode) => rustix::fs::chmod(&path, mode),
        Change::Times(times) => rustix::fs::utimensat(CWD, &path, &times, AtFlags::empty()),
    }
}

/// Reads what a thread asks for.
fn asked(request: &Request) -> Result<(Target, Change), Errno> {
    let memory = Memory::of(request.thread)?;
    let [first, second, third, fourth, ..] = request.arguments;
    #[cfg(target_arch = "x86_64")]
    let here = i64::from(libc::AT_FDCWD).cast_unsigned();
    Ok(match request.number {
        libc::SYS_fchmod => (Target::Descriptor(int(first)), mode(second)),
        libc::SYS_fchmodat => (memory.target(first, second, 0)?, mode(third)),
        SYS_FCHMODAT2 => (memory.target(first, second, fourth)?, mode(third)),
        libc::SYS_utimensat => {
            let target = memory.target_or_descriptor(first, second, fourth)?;
            (target, memory.timespecs(third)?)
        }
        #[cfg(target_arch = "x86_64")]
        libc::SYS_chmod => (memory.target(here, first, 0)?, mode(second)),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_utime => (memory.target(here, first, 0)?, memory.seconds(second)?),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_utimes => (memory.target(here, first, 0)?, memory.timevals(second)?),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_futimesat => {
            let target = memory.target_or_descriptor(first, second, 0)?;
            (target, memory.timevals(third)?)
        }
        _ => return Err(Errno::PERM),
    })
}

/// The part of an argument that a call takes for an `int`.
fn int(argument: u64) -> i32 {
    let [first, second, third, fourth, ..] = argument.to_le_bytes();
    i32::from_le_bytes([first, second, third, fourth])
}

fn mode(argument: u64) -> Change {
    let bits = int(argument).cast_unsigned() & 0o7777;
    Change::Mode(Mode::from_raw_mode(bits))
}

fn times(last_access: Timespec, last_modification: Timespec) -> Change {
    Change::Times(Timestamps {
        last_access,
        last_modification,
    })
}

/// The memory of the process that a thread is of.
struct Memory(std::fs::File);

impl Memory {
    fn of(thread: u32) -> Result<Self, Errno> {
        let opened = std::fs::File::open(format!("/proc/{thread}/mem"));
        opened.map(Self).map_err(|_| Errno::PERM)
    }

    fn read(&self, address: u64, bytes: &mut [u8]) -> Result<usize, Errno> {
        self.0.read_at(bytes, address).map_err(|_| Errno::FAULT)
    }

    fn words<const COUNT: usize>(&self, address: u64) -> Result<[i64; COUNT], Errno> {
        let mut bytes = vec![0_u8; COUNT * size_of::<i64>()];
        if self.read(address, &mut bytes)? < bytes.len() {
            return Err(Errno::FAULT);
        }
        let (words, _) = bytes.as_chunks::<{ size_of::<i64>() }>();
        Ok(std::array::from_fn(|at| i64::from_ne_bytes(words[at])))
    }

    fn path(&self, address: u64) -> Result<CString, Errno> {
        let mut bytes = vec![0_u8; PATH_BYTES];
        let count = self.read(address, &mut bytes)?;
        bytes.truncate(count);
        match CStr::from_bytes_until_nul(&bytes) {
            Ok(path) => Ok(path.to_owned()),
            Err(_) if count == PATH_BYTES => Err(Errno::NAMETOOLONG),
            Err(_) => Err(Errno::FAULT),
        }
    }

    fn target(&self, at: u64, path: u64, flags: u64) -> Result<Target, Errno> {
        let (at, flags) = (int(at), int(flags));
        if flags & !(libc::AT_SYMLINK_NOFOLLOW | libc::AT_EMPTY_PATH) != 0 {
            return Err(Errno::INVAL);
        }
        let path = self.path(path)?;
        if path.is_empty() {
            return match flags & libc::AT_EMPTY_PATH {
                0 => Err(Errno::NOENT),
                _ if at == libc::AT_FDCWD => Ok(Target::Path {
                    at,
                    path: c".".to_owned(),
                    links: Links::Keep,
                }),
                _ => Ok(Target::Descriptor(at)),
            };
        }
        let links = match flags & libc::AT_SYMLINK_NOFOLLOW {
            0 => Links::Follow,
            _ => Links::Keep,
        };
        Ok(Target::Path { at, path, links })
    }

    /// Without a path these calls are about the descriptor.
    fn target_or_descriptor(&self, at: u64, path: u64, flags: u64) -> Result<Target, Errno> {
        match path {
            0 => Ok(Target::Descriptor(int(at))),
            path => self.target(at, path, flags),
        }
    }

    fn timespecs(&self, address: u64) -> Result<Change, Errno> {
        if address == 0 {
            return Ok(now());
        }
        let [access, access_nanos, modification, modification_nanos] = self.words(address)?;
        Ok(times(
            timespec(access, access_nanos),
            timespec(modification, modification_nanos),
        ))
    }

    #[cfg(target_arch = "x86_64")]
    fn timevals(&self, address: u64) -> Result<Change, Errno> {
        if address == 0 {
            return Ok(now());
        }
        let [access, access_micros, modification, modification_micros] = self.words(address)?;
        for micros in [access_micros, modification_micros] {
            if !(0..1_000_000).contains(&micros) {
                return Err(Errno::INVAL);
            }
        }
        Ok(times(
            timespec(access, access_micros * 1_000),
            timespec(modification, modification_micros * 1_000),
        ))
    }

    #[cfg(target_arch = "x86_64")]
    fn seconds(&self, address: u64) -> Result<Change, Errno> {
        if address == 0 {
            return Ok(now());
        }
        let [access, modification] = self.words(address)?;
        Ok(times(timespec(access, 0), timespec(modification, 0)))
    }
}

fn timespec(tv_sec: i64, tv_nsec: i64) -> Timespec {
    Timespec { tv_sec, tv_nsec }
}

fn now() -> Change {
    let now = timespec(0, rustix::fs::UTIME_NOW);
    times(now, now)
}

/// Opens what a thread means by a target, so that it can be looked at and changed.
fn open(thread: u32, target: &Target) -> Result<OwnedFd, Errno> {
    let (at, path, links) = match target {
        Target::Descriptor(number) => return descriptor(thread, *number),
        Target::Path { at, path, links } => (*at, path, *links),
    };
    if links == Links::Follow
        && let Some(number) = own_descriptor(path)
    {
        // By this path this process would find its own.
        return descriptor(thread, number);
    }
    let mut flags = OFlags::PATH | OFlags::CLOEXEC;
    if links == Links::Keep {
        flags |= OFlags::NOFOLLOW;
    }
    if path.as_bytes().starts_with(b"/") {
        return rustix::fs::open(path.as_c_str(), flags, Mode::empty());
    }
    let base = match at {
        libc::AT_FDCWD => named(&format!("/proc/{thread}/cwd"))?,
        number => descriptor(thread, number)?,
    };
    rustix::fs::openat(&base, path.as_c_str(), flags, Mode::empty())
}

fn descriptor(thread: u32, number: i32) -> Result<OwnedFd, Errno> {
    named(&format!("/proc/{thread}/fd/{number}")).map_err(|errno| match errno {
        Errno::NOENT => Errno::BADF,
        errno => errno,
    })
}

fn named(link: &str) -> Result<OwnedFd, Errno> {
    rustix::fs::open(link, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
}

fn own_descriptor(path: &CStr) -> Option<i32> {
    let path = path.to_str().ok()?;
    let number = OWN_DESCRIPTORS
        .iter()
        .find_map(|own| path.strip_prefix(own))?;
    number.parse().ok().filter(|number| *number >= 0)
}

#[cfg(test)]
mod tests;
