//! The steps between fork and exec, and other requests to the kernel that need unsafe code. With the folder beside it,
//! the only unsafe code but for the allocator's settings; must not allocate in the child.
#![allow(unsafe_code)]

mod mounts;
mod notify;

use std::ffi::CStr;
use std::io;
use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::Arc;

use landlock::RulesetCreated;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
};
use rustix::process::{Pid, PidfdFlags, Resource, Rlimit, Signal};
use rustix::thread::{CapabilitySet, UnshareFlags};
use seccompiler::BpfProgram;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

pub(super) use mounts::MountPlan;
pub(super) use notify::{Notification, NotificationFilter, is_pending, next_notification, respond};

/// The egress proxy's port inside a call's own network namespace.
pub(super) const NAMESPACE_PROXY_PORT: u16 = 3128;
/// Connections that may wait for the proxy to accept them.
const PROXY_BACKLOG: i32 = 64;
/// Size of a group's number on the keeper's socket.
pub(super) const GROUP_BYTES: usize = size_of::<i32>();
/// One more than the highest capability number that can exist.
const CAPABILITIES: u32 = 64;

/// The restrictions that a child applies to itself before it becomes the interpreter.
pub(super) struct Confinement {
    pub(super) limits: Vec<(Resource, Rlimit)>,
    pub(super) namespaces: Option<Namespaces>,
    pub(super) landlock: Option<RulesetCreated>,
    pub(super) filters: Vec<BpfProgram>,
    /// The calls that the server handles.
    pub(super) notifications: Option<NotificationFilter>,
}

/// Its own user, network and IPC namespaces, and a mount namespace if there is a plan for one.
pub(super) struct Namespaces {
    /// The line of `uid_map` and of `gid_map`: the identity mapping of one id.
    uid_map: Vec<u8>,
    gid_map: Vec<u8>,
    /// Where to send a socket that listens inside the network namespace.
    listener_to: Option<OwnedFd>,
    mounts: Option<MountPlan>,
}

impl Namespaces {
    pub(super) fn new(listener_to: Option<OwnedFd>, mounts: Option<MountPlan>) -> Self {
        let uid = rustix::process::geteuid().as_raw();
        let gid = rustix::process::getegid().as_raw();
        Self {
            uid_map: format!("{uid} {uid} 1").into_bytes(),
            gid_map: format!("{gid} {gid} 1").into_bytes(),
            listener_to,
            mounts,
        }
    }
}

/// Whether later mounts and unmounts propagate between a mount and its copies.
#[derive(Debug, Clone, Copy)]
enum Propagation {
    Private,
    Unchanged,
}

/// Makes the child of `command` confine itself before it executes anything.
pub(super) fn confine(command: &mut tokio::process::Command, confinement: Confinement) {
    let mut confinement = confinement;
    let parent = rustix::process::getpid();
    let enter = move || {
        confinement.enter()?;
        end_with(parent)
    };
    // SAFETY: `enter` makes system calls on memory prepared by the parent; it
    // neither allocates nor frees nor takes a lock, so it may run after fork in
    // a process that had other threads.
    unsafe {
        command.pre_exec(enter);
    }
}

/// A group's number, as the keeper reads it.
pub(super) fn encode_group(group: Pid) -> [u8; GROUP_BYTES] {
    group.as_raw_nonzero().get().to_ne_bytes()
}

/// Makes the child of `command` send its group to the keeper, as the last step before it executes anything.
pub(super) fn announce_group(command: &mut tokio::process::Command, keeper: Arc<OwnedFd>) {
    let announce = move || {
        let group = encode_group(rustix::process::getpid());
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        let sent = rustix::net::send(&keeper, &group, flags);
        sent.map(drop).map_err(io::Error::from)
    };
    // SAFETY: as in `confine`.
    unsafe {
        command.pre_exec(announce);
    }
}

/// Makes the child of `command` ignore the signals that stop this process or close its terminal.
pub(super) fn detach(command: &mut Command) {
    let enter = || {
        rustix::process::setsid()?;
        for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGTERM] {
            // SAFETY: ignoring a signal installs no handler.
            if unsafe { libc::signal(signal, libc::SIG_IGN) } == libc::SIG_ERR {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(())
    };
    // SAFETY: as in `confine`.
    unsafe {
        command.pre_exec(enter);
    }
}

/// Returns a child of this process in a group that has ended, without reaping it.
///
/// # Errors
/// `CHILD` when no member of the group is a child of this process.
pub(super) fn ended_member(group: Pid) -> Result<Option<Pid>, Errno> {
    // SAFETY: `siginfo_t` is plain data for which all zeroes is a value.
    let mut ended: libc::siginfo_t = unsafe { std::mem::zeroed() };
    let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    let id = group.as_raw_nonzero().get().unsigned_abs();
    // SAFETY: the kernel writes one `siginfo_t`, which outlives the call.
    let done = unsafe { libc::waitid(libc::P_PGID, id, &raw mut ended, options) };
    if done != 0 {
        return Err(last_errno());
    }
    // SAFETY: the kernel filled in the fields of a child's end, or left the zeroes.
    Ok(Pid::from_raw(unsafe { ended.si_pid() }))
}

fn last_errno() -> Errno {
    Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::INVAL)
}

/// Tests whether this process may create namespaces.
pub(super) fn probe(namespaces: Namespaces) -> io::Result<()> {
    let mut namespaces = namespaces;
    attempt_in_child(move || namespaces.enter())
}

/// Tests whether the kernel passes calls of a filter on to this process.
pub(super) fn probe_notifications(program: BpfProgram) -> io::Result<()> {
    attempt_in_child(move || {
        rustix::thread::set_no_new_privs(true)?;
        notify::listen(&program).map(drop)
    })
}

/// Runs `action` in a child that does not execute anything. It must be safe to run after fork, as in `confine`.
fn attempt_in_child(
    mut action: impl FnMut() -> io::Result<()> + Send + Sync + 'static,
) -> io::Result<()> {
    let mut command = Command::new("/");
    let enter = move || {
        action()?;
        // Stops before exec: the result is known.
        Err(io::Error::from_raw_os_error(libc::ECANCELED))
    };
    // SAFETY: as in `confine`.
    unsafe {
        command.pre_exec(enter);
    }
    match command.spawn() {
        Err(error) if error.raw_os_error() == Some(libc::ECANCELED) => Ok(()),
        Err(error) => Err(error),
        Ok(_) => Err(io::Error::from_raw_os_error(libc::EISDIR)),
    }
}

/// Returns the Landlock ABI of the running kernel; 0 without Landlock.
pub(super) fn landlock_abi() -> u32 {
    const VERSION: libc::c_uint = 1;
    // SAFETY: with the version flag the kernel reads no memory.
    let abi = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::null::<libc::c_void>(),
            0_usize,
            VERSION,
        )
    };
    u32::try_from(abi).unwrap_or(0)
}

/// Returns the process group of a process; 0 for the kernel's own, `None` once the process has ended.
pub(super) fn group_of(pid: i32) -> Option<i32> {
    // SAFETY: reads no memory. (rustix treats a group of 0 as impossible.)
    let group = unsafe { libc::getpgid(pid) };
    (group >= 0).then_some(group)
}

/// Returns a descriptor that is readable once the process has ended; does not reap it.
pub(super) fn exit_of(pid: Pid) -> io::Result<AsyncFd<OwnedFd>> {
    let descriptor = rustix::process::pidfd_open(pid, PidfdFlags::empty())?;
    // SAFETY: an owned descriptor stays open and unchanged until it is dropped, which `AsyncFd` does last.
    let registered = unsafe { AsyncFd::register_with_interest(descriptor, Interest::READABLE)? };
    Ok(registered)
}

/// Makes the kernel kill this process when the thread that started it ends. That is the sandbox's own thread
/// (`starter.rs`), so the process ends with the server in every case. Comes last, because a change of credentials
/// resets it. The script's own children are not bound by it.
fn end_with(parent: Pid) -> io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    if rustix::process::getppid() == Some(parent) {
        Ok(())
    } else {
        // It ended before the setting took effect.
        Err(io::Error::from_raw_os_error(libc::ESRCH))
    }
}

impl Confinement {
    fn enter(&mut self) -> io::Result<()> {
        rustix::process::setsid()?;
        if let Some(namespaces) = &mut self.namespaces {
            namespaces.enter()?;
        }
        for (resource, limit) in &self.limits {
            rustix::process::setrlimit(*resource, *limit)?;
        }
        drop_capabilities();
        rustix::thread::set_no_new_privs(true)?;
        if let Some(landlock) = self.landlock.take() {
            landlock
                .restrict_self()
                .map_err(|_| io::Error::from_raw_os_error(libc::ENOSYS))?;
        }
        for filter in &self.filters {
            seccompiler::apply_filter(filter)
                .map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))?;
        }
        match &self.notifications {
            Some(notifications) => notifications.enter(),
            None => Ok(()),
        }
    }
}

impl Namespaces {
    fn enter(&mut self) -> io::Result<()> {
        let mut flags = UnshareFlags::NEWUSER | UnshareFlags::NEWNET | UnshareFlags::NEWIPC;
        if self.mounts.is_some() {
            flags |= UnshareFlags::NEWNS;
        }
        // SAFETY: none of these flags touches the file descriptor table.
        unsafe { rustix::thread::unshare_unsafe(flags)? };
        write(c"/proc/self/setgroups", b"deny")?;
        write(c"/proc/self/uid_map", &self.uid_map)?;
        write(c"/proc/self/gid_map", &self.gid_map)?;
        if let Some(mounts) = &mut self.mounts {
            mounts.enter()?;
        }
        raise_loopback()?;
        match &self.listener_to {
            Some(channel) => send_listener(channel),
            None => Ok(()),
        }
    }
}

fn write(path: &CStr, content: &[u8]) -> io::Result<()> {
    use rustix::fs::{Mode, OFlags};
    let file = rustix::fs::open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::io::write(&file, content)?;
    Ok(())
}

/// Sets attributes of a mount, with `AT_RECURSIVE` also of the mounts below it.
fn set_mount(
    at: BorrowedFd<'_>,
    path: &CStr,
    flags: libc::c_int,
    attributes: u64,
    propagation: Propagation,
) -> io::Result<()> {
    let change = libc::mount_attr {
        attr_set: attributes,
        attr_clr: 0,
        propagation: match propagation {
            Propagation::Private => libc::MS_PRIVATE,
            Propagation::Unchanged => 0,
        },
        userns_fd: 0,
    };
    // SAFETY: the kernel reads the path, which ends with a zero, and one `mount_attr`. Both outlive the call.
    let done = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            at.as_raw_fd(),
            path.as_ptr(),
            flags,
            &raw const change,
            size_of::<libc::mount_attr>(),
        )
    };
    if done == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

fn raise_loopback() -> io::Result<()> {
    let socket = inet_socket(SocketType::DGRAM)?;
    // SAFETY: `ifreq` is plain data for which all zeroes is a value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    request.ifr_name[0] = b'l'.cast_signed();
    request.ifr_name[1] = b'o'.cast_signed();
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    // SAFETY: SIOCSIFFLAGS reads one `ifreq`, which outlives the call.
    let done = unsafe {
        libc::ioctl(
            socket.as_raw_fd(),
            libc::SIOCSIFFLAGS as _,
            &raw const request,
        )
    };
    if done == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

fn send_listener(channel: &OwnedFd) -> io::Result<()> {
    let listener = inet_socket(SocketType::STREAM)?;
    let address = SocketAddrV4::new(Ipv4Addr::LOCALHOST, NAMESPACE_PROXY_PORT);
    rustix::net::bind(&listener, &address)?;
    rustix::net::listen(&listener, PROXY_BACKLOG)?;
    send(channel, listener.as_fd())
}

/// Sends a descriptor to the server.
fn send(channel: &OwnedFd, descriptor: BorrowedFd<'_>) -> io::Result<()> {
    let descriptors = [descriptor];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !control.push(SendAncillaryMessage::ScmRights(&descriptors)) {
        return Err(io::Error::from_raw_os_error(libc::ENOBUFS));
    }
    rustix::net::sendmsg(
        channel,
        &[IoSlice::new(b"d")],
        &mut control,
        SendFlags::empty(),
    )?;
    Ok(())
}

fn inet_socket(kind: SocketType) -> io::Result<OwnedFd> {
    Ok(rustix::net::socket_with(
        AddressFamily::INET,
        kind,
        SocketFlags::CLOEXEC,
        None,
    )?)
}

/// Drops every capability that exec could grant. An ordinary user has no capability to drop and may not drop any:
/// `no_new_privs` protects there.
fn drop_capabilities() {
    for number in 0..CAPABILITIES {
        let capability = CapabilitySet::from_bits_retain(1 << number);
        if rustix::thread::remove_capability_from_bounding_set(capability).is_err() {
            break;
        }
    }
}
