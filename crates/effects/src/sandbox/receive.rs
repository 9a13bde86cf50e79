//! Takes over the socket that a child opened in its own network namespace.
//!
//! Must not know what is served on it.

use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;

use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags};
use tokio::net::TcpListener;

/// Receives the listener; the child sent it before it executed anything.
pub(super) fn listener(channel: &OwnedFd) -> io::Result<TcpListener> {
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
    let listener = std::net::TcpListener::from(received.ok_or(io::ErrorKind::UnexpectedEof)?);
    listener.set_nonblocking(true)?;
    TcpListener::from_std(listener)
}
