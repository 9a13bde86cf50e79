//! System calls that the kernel asks the server about: the filter that the child installs, and what the kernel
//! and the server tell each other (seccomp's user notifications). Must not know which calls, or what is answered.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use rustix::io::Errno;
use seccompiler::{BpfProgram, BpfProgramRef};

use super::{last_errno, send};

/// The filter whose calls the server answers, and where the descriptor goes over which it does.
pub(in crate::sandbox) struct Notifications {
    program: BpfProgram,
    send_to: OwnedFd,
}

/// A call that a thread waits in.
#[derive(Debug, Clone, Copy)]
pub(in crate::sandbox) struct Request {
    id: u64,
    pub(in crate::sandbox) thread: u32,
    pub(in crate::sandbox) number: i64,
    pub(in crate::sandbox) arguments: [u64; 6],
}

impl Notifications {
    pub(in crate::sandbox) fn new(program: BpfProgram, send_to: OwnedFd) -> Self {
        Self { program, send_to }
    }

    /// Installs the filter, after all others: the child makes none of its calls before it executes anything.
    pub(super) fn enter(&self) -> io::Result<()> {
        let listener = listen(&self.program)?;
        send(&self.send_to, listener.as_fd())
    }
}

/// Installs a filter on this thread, for good, and returns the descriptor over which its calls are answered.
pub(super) fn listen(program: BpfProgramRef<'_>) -> io::Result<OwnedFd> {
    let flag = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
    // Signals do not interrupt a call that the server has seen (Linux 5.19).
    let calm = flag | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
    match install(program, calm) {
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
        // The same structure by another name; the kernel only reads it.
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
        // SAFETY: the kernel made this descriptor just now, for this process alone.
        Ok(descriptor) if descriptor >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(descriptor) }),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The next call that waits for an answer; blocks until there is one.
///
/// # Errors
/// `NOENT` when its thread was killed meanwhile.
pub(in crate::sandbox) fn next_request(listener: BorrowedFd<'_>) -> Result<Request, Errno> {
    // SAFETY: `seccomp_notif` is plain data for which all zeroes is a value, and which the kernel wants so.
    let mut asked: libc::seccomp_notif = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes one `seccomp_notif`, which outlives the call.
    let done = unsafe {
        libc::ioctl(
            listener.as_raw_fd(),
            libc::SECCOMP_IOCTL_NOTIF_RECV,
            &raw mut asked,
        )
    };
    if done != 0 {
        return Err(last_errno());
    }
    Ok(Request {
        id: asked.id,
        thread: asked.pid,
        number: asked.data.nr.into(),
        arguments: asked.data.args,
    })
}

/// Whether the thread of a call still waits in it, so that its number was not another's meanwhile.
pub(in crate::sandbox) fn still_waits(listener: BorrowedFd<'_>, request: &Request) -> bool {
    // SAFETY: the kernel reads one number, which outlives the call.
    let valid = unsafe {
        libc::ioctl(
            listener.as_raw_fd(),
            libc::SECCOMP_IOCTL_NOTIF_ID_VALID,
            &raw const request.id,
        )
    };
    valid == 0
}

/// Ends a call: it returns 0, or fails.
///
/// # Errors
/// `NOENT` when its thread was killed meanwhile.
pub(in crate::sandbox) fn answer(
    listener: BorrowedFd<'_>,
    request: &Request,
    outcome: Result<(), Errno>,
) -> Result<(), Errno> {
    let answer = libc::seccomp_notif_resp {
        id: request.id,
        val: 0,
        error: outcome.map_or_else(|errno| -errno.raw_os_error(), |()| 0),
        flags: 0,
    };
    // SAFETY: the kernel reads one `seccomp_notif_resp`, which outlives the call.
    let done = unsafe {
        libc::ioctl(
            listener.as_raw_fd(),
            libc::SECCOMP_IOCTL_NOTIF_SEND,
            &raw const answer,
        )
    };
    if done == 0 { Ok(()) } else { Err(last_errno()) }
}

#[cfg(test)]
impl Request {
    /// As if this thread asked.
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
