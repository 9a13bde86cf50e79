//! User notifications of seccomp: the child installs a filter, the kernel suspends each of its calls and notifies the
//! server, and the server responds with the result. Must not know the calls or the results.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use rustix::io::Errno;
use seccompiler::{BpfProgram, BpfProgramRef};

use super::{last_errno, send};

/// A filter whose calls the server handles, and the channel that takes its listener to the server.
pub(in crate::sandbox) struct NotificationFilter {
    program: BpfProgram,
    send_to: OwnedFd,
}

/// A call in which a thread is suspended.
#[derive(Debug, Clone, Copy)]
pub(in crate::sandbox) struct Notification {
    id: u64,
    pub(in crate::sandbox) thread: u32,
    pub(in crate::sandbox) number: i64,
    pub(in crate::sandbox) arguments: [u64; 6],
}

impl NotificationFilter {
    pub(in crate::sandbox) fn new(program: BpfProgram, send_to: OwnedFd) -> Self {
        Self { program, send_to }
    }

    /// Installs the filter. The child makes none of its calls from now until it executes the program.
    pub(super) fn enter(&self) -> io::Result<()> {
        let listener = listen(&self.program)?;
        send(&self.send_to, listener.as_fd())
    }
}

/// Installs a filter on this thread and returns its listener.
pub(super) fn listen(program: BpfProgramRef<'_>) -> io::Result<OwnedFd> {
    let flag = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
    // With this flag, signals do not interrupt a call that the server has received (Linux 5.19).
    let uninterrupted = flag | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
    match install(program, uninterrupted) {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => install(program, flag),
        installed => installed,
    }
}

fn install(program: BpfProgramRef<'_>, flags: libc::c_ulong) -> io::Result<OwnedFd> {
    let Ok(len) = libc::c_ushort::try_from(program.len()) else {
        return Err(io::Error::from_raw_os_error(libc::E2BIG));
    };
    let whole = libc::sock_fprog {
        len,
        // The same layout; the kernel only reads it.
        filter: program.as_ptr().cast_mut().cast(),
    };
    // SAFETY: the kernel reads `whole` and the `len` instructions that it points to, which outlive the call.
    let descriptor = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            flags,
            &raw const whole,
        )
    };
    match i32::try_from(descriptor) {
        // SAFETY: the kernel has just created this descriptor, and this process owns it.
        Ok(descriptor) if descriptor >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(descriptor) }),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Receives the next notification; blocks until there is one.
///
/// # Errors
/// `NOENT` when the thread was killed in the meantime.
pub(in crate::sandbox) fn next_notification(
    listener: BorrowedFd<'_>,
) -> Result<Notification, Errno> {
    // SAFETY: `seccomp_notif` is plain data for which all zeroes is a value. The kernel requires zeroes.
    let mut received: libc::seccomp_notif = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes one `seccomp_notif`, which outlives the call.
    let done = unsafe {
        libc::ioctl(
            listener.as_raw_fd(),
            libc::SECCOMP_IOCTL_NOTIF_RECV,
            &raw mut received,
        )
    };
    if done != 0 {
        return Err(last_errno());
    }
    Ok(Notification {
        id: received.id,
        thread: received.pid,
        number: received.data.nr.into(),
        arguments: received.data.args,
    })
}

/// Whether the thread is still suspended in the call, so that its number has not been reused.
pub(in crate::sandbox) fn is_pending(
    listener: BorrowedFd<'_>,
    notification: &Notification,
) -> bool {
    // SAFETY: the kernel reads one number, which outlives the call.
    let valid = unsafe {
        libc::ioctl(
            listener.as_raw_fd(),
            libc::SECCOMP_IOCTL_NOTIF_ID_VALID,
            &raw const notification.id,
        )
    };
    valid == 0
}

/// Makes the call return: 0, or an error.
///
/// # Errors
/// `NOENT` when the thread was killed in the meantime.
pub(in crate::sandbox) fn respond(
    listener: BorrowedFd<'_>,
    notification: &Notification,
    outcome: Result<(), Errno>,
) -> Result<(), Errno> {
    let response = libc::seccomp_notif_resp {
        id: notification.id,
        val: 0,
        error: outcome.map_or_else(|errno| -errno.raw_os_error(), |()| 0),
        flags: 0,
    };
    // SAFETY: the kernel reads one `seccomp_notif_resp`, which outlives the call.
    let done = unsafe {
        libc::ioctl(
            listener.as_raw_fd(),
            libc::SECCOMP_IOCTL_NOTIF_SEND,
            &raw const response,
        )
    };
    if done == 0 { Ok(()) } else { Err(last_errno()) }
}

#[cfg(test)]
impl Notification {
    /// Creates the notification of a call by this thread.
    pub(in crate::sandbox) fn of_this_thread(number: i64, arguments: &[u64]) -> Self {
        let mut all = [0; 6];
        for (at, argument) in arguments.iter().enumerate() {
            all[at] = *argument;
        }
        let thread = rustix::thread::gettid().as_raw_nonzero().get();
        Self {
            id: 0,
            thread: thread.unsigned_abs(),
            number,
            arguments: all,
        }
    }
}
