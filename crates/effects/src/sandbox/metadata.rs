//! Changes of modes and times where no mount namespace confines them to a call's folders. The kernel notifies this
//! process of each change, and this process makes it if the file is in one of these folders.
//!
//! The arguments of a script are read once and its file is opened once, so the file that is checked is the file that is
//! changed. Landlock prevents hard links from other folders into these. Must not know tools or calls.

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

use super::child::{self, Notification};
use super::filter::SYS_FCHMODAT2;

/// Longest path, with its terminating zero.
const PATH_BYTES: usize = 4096;
/// How often the thread checks whether its call has ended; kernels before 5.9 do not notify it.
const RECHECK: Timespec = Timespec {
    tv_sec: 1,
    tv_nsec: 0,
};
/// Folders of the descriptors of the process that uses the path.
const OWN_DESCRIPTORS: [&str; 3] = ["/proc/self/fd/", "/proc/thread-self/fd/", "/dev/fd/"];

/// How a call names its file.
#[derive(Debug)]
enum FileReference {
    Descriptor(i32),
    Path {
        at: i32,
        path: CString,
        links: LinkHandling,
    },
}

/// How a symbolic link at the end of a path is treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LinkHandling {
    Follow,
    Keep,
}

#[derive(Debug)]
enum MetadataChange {
    Mode(Mode),
    Times(Timestamps),
}

/// Handles the notifications of `listener` until the guard is dropped or no process is left.
///
/// # Errors
/// When no thread can be started.
pub(super) fn handle_notifications(
    listener: OwnedFd,
    folders: Vec<PathBuf>,
) -> io::Result<DropGuard> {
    let over = CancellationToken::new();
    let ended = over.clone();
    let thread = thread::Builder::new().name("metadata".to_owned());
    // A thread, because file systems may block it.
    thread.spawn(move || {
        if let Err(errno) = handle(&listener, &folders, &ended) {
            tracing::warn!(error = %errno, "handling a script's changes of modes and times failed; denying them");
        }
    })?;
    Ok(over.drop_guard())
}

fn handle(listener: &OwnedFd, folders: &[PathBuf], ended: &CancellationToken) -> Result<(), Errno> {
    while !ended.is_cancelled() {
        let mut polled = [PollFd::new(listener, PollFlags::IN)];
        match rustix::event::poll(&mut polled, Some(&RECHECK)) {
            Ok(0) | Err(Errno::INTR) => continue,
            Ok(_) => {}
            Err(errno) => return Err(errno),
        }
        if !polled[0].revents().contains(PollFlags::IN) {
            // All processes have ended.
            return Ok(());
        }
        let handled = child::next_notification(listener.as_fd()).and_then(|notification| {
            let is_pending = || child::is_pending(listener.as_fd(), &notification);
            let outcome = change(&notification, folders, is_pending);
            child::respond(listener.as_fd(), &notification, outcome)
        });
        match handled {
            // The thread was killed in the meantime.
            Ok(()) | Err(Errno::NOENT | Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

/// Makes the change of a notification, if the file is in one of `folders`.
fn change(
    notification: &Notification,
    folders: &[PathBuf],
    is_pending: impl FnOnce() -> bool,
) -> Result<(), Errno> {
    let (reference, change) = read_call(notification)?;
    let file = open(notification.thread, &reference)?;
    // The memory, folder and descriptors belong to the right process only if its thread is still suspended.
    if !is_pending() {
        return Err(Errno::SRCH);
    }
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    let place = rustix::fs::readlink(&path, Vec::<u8>::new())?;
    let place = Path::new(OsStr::from_bytes(place.as_bytes()));
    // This process may have privileges that the script lacks.
    let owned = rustix::fs::fstat(&file)?.st_uid == rustix::process::geteuid().as_raw();
    if !owned || !folders.iter().any(|folder| place.starts_with(folder)) {
        return Err(Errno::PERM);
    }
    match change {
        MetadataChange::Mode(mode) => rustix::fs::chmod(&path, mode),
        MetadataChange::Times(times) => rustix::fs::utimensat(CWD, &path, &times, AtFlags::empty()),
    }
}

/// Reads the arguments of a call.
fn read_call(notification: &Notification) -> Result<(FileReference, MetadataChange), Errno> {
    let memory = ProcessMemory::open(notification.thread)?;
    let [first, second, third, fourth, ..] = notification.arguments;
    #[cfg(target_arch = "x86_64")]
    let here = i64::from(libc::AT_FDCWD).cast_unsigned();
    Ok(match notification.number {
        libc::SYS_fchmod => (FileReference::Descriptor(int(first)), mode(second)),
        libc::SYS_fchmodat => (memory.path_reference(first, second, 0)?, mode(third)),
        SYS_FCHMODAT2 => (memory.path_reference(first, second, fourth)?, mode(third)),
        libc::SYS_utimensat => {
            let reference = memory.path_or_descriptor(first, second, fourth)?;
            (reference, memory.timespecs(third)?)
        }
        #[cfg(target_arch = "x86_64")]
        libc::SYS_chmod => (memory.path_reference(here, first, 0)?, mode(second)),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_utime => (
            memory.path_reference(here, first, 0)?,
            memory.seconds(second)?,
        ),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_utimes => (
            memory.path_reference(here, first, 0)?,
            memory.timevals(second)?,
        ),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_futimesat => {
            let reference = memory.path_or_descriptor(first, second, 0)?;
            (reference, memory.timevals(third)?)
        }
        _ => return Err(Errno::PERM),
    })
}

/// Converts an argument to `int`.
fn int(argument: u64) -> i32 {
    let [first, second, third, fourth, ..] = argument.to_le_bytes();
    i32::from_le_bytes([first, second, third, fourth])
}

fn mode(argument: u64) -> MetadataChange {
    let bits = int(argument).cast_unsigned() & 0o7777;
    MetadataChange::Mode(Mode::from_raw_mode(bits))
}

fn times(last_access: Timespec, last_modification: Timespec) -> MetadataChange {
    MetadataChange::Times(Timestamps {
        last_access,
        last_modification,
    })
}

/// The memory of a thread's process.
struct ProcessMemory(std::fs::File);

impl ProcessMemory {
    fn open(thread: u32) -> Result<Self, Errno> {
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

    fn path_reference(&self, at: u64, path: u64, flags: u64) -> Result<FileReference, Errno> {
        let (at, flags) = (int(at), int(flags));
        if flags & !(libc::AT_SYMLINK_NOFOLLOW | libc::AT_EMPTY_PATH) != 0 {
            return Err(Errno::INVAL);
        }
        let path = self.path(path)?;
        if path.is_empty() {
            return match flags & libc::AT_EMPTY_PATH {
                0 => Err(Errno::NOENT),
                _ if at == libc::AT_FDCWD => Ok(FileReference::Path {
                    at,
                    path: c".".to_owned(),
                    links: LinkHandling::Keep,
                }),
                _ => Ok(FileReference::Descriptor(at)),
            };
        }
        let links = match flags & libc::AT_SYMLINK_NOFOLLOW {
            0 => LinkHandling::Follow,
            _ => LinkHandling::Keep,
        };
        Ok(FileReference::Path { at, path, links })
    }

    /// Without a path, the descriptor itself is the target.
    fn path_or_descriptor(&self, at: u64, path: u64, flags: u64) -> Result<FileReference, Errno> {
        match path {
            0 => Ok(FileReference::Descriptor(int(at))),
            path => self.path_reference(at, path, flags),
        }
    }

    fn timespecs(&self, address: u64) -> Result<MetadataChange, Errno> {
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
    fn timevals(&self, address: u64) -> Result<MetadataChange, Errno> {
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
    fn seconds(&self, address: u64) -> Result<MetadataChange, Errno> {
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

fn now() -> MetadataChange {
    let now = timespec(0, rustix::fs::UTIME_NOW);
    times(now, now)
}

/// Opens the file of a call, without access to its content.
fn open(thread: u32, reference: &FileReference) -> Result<OwnedFd, Errno> {
    let (at, path, links) = match reference {
        FileReference::Descriptor(number) => return descriptor(thread, *number),
        FileReference::Path { at, path, links } => (*at, path, *links),
    };
    if links == LinkHandling::Follow
        && let Some(number) = own_descriptor(path)
    {
        // In this process the path would lead to its own descriptor.
        return descriptor(thread, number);
    }
    let mut flags = OFlags::PATH | OFlags::CLOEXEC;
    if links == LinkHandling::Keep {
        flags |= OFlags::NOFOLLOW;
    }
    if path.as_bytes().starts_with(b"/") {
        return rustix::fs::open(path.as_c_str(), flags, Mode::empty());
    }
    let base = match at {
        libc::AT_FDCWD => open_link(&format!("/proc/{thread}/cwd"))?,
        number => descriptor(thread, number)?,
    };
    rustix::fs::openat(&base, path.as_c_str(), flags, Mode::empty())
}

fn descriptor(thread: u32, number: i32) -> Result<OwnedFd, Errno> {
    open_link(&format!("/proc/{thread}/fd/{number}")).map_err(|errno| match errno {
        Errno::NOENT => Errno::BADF,
        errno => errno,
    })
}

fn open_link(link: &str) -> Result<OwnedFd, Errno> {
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
