//! Receives descriptors that a child opened: the socket in its own network namespace, the listener of its filter.
//!
//! Must not know how they are used.

use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;

use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags};
use tokio::net::TcpListener;

/// Receives the listener; the child sent it before it executed anything.
pub(super) fn listener(channel: &OwnedFd) -> io::Result<TcpListener> {
    let listener = std::net::TcpListener::from(descriptor(channel)?);
    listener.set_nonblocking(true)?;
    TcpListener::from_std(listener)
}

/// Receives a descriptor that the child sent before it executed anything.
pub(super) fn descriptor(channel: &OwnedFd) -> io::Result<OwnedFd> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
    rustix::net::recvmsg(
        channel,
        &mut [IoSliceMut::new(&mut byte)],
        &mut control,
        flags,
    )?;
    let received = control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    });
    Ok(received.ok_or(io::ErrorKind::UnexpectedEof)?)
}
