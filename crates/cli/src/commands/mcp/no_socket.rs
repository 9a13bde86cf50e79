//! The socket of `socket.rs` on systems without Unix sockets: none. The engine does not run there, so no process holds a
//! data directory. The types are those of Unix, so that their users have no cases for systems.

use std::convert::Infallible;
use std::io;
use std::path::Path;

use tokio::io::{Empty, Sink};

/// A socket that listens. No value of it exists.
pub(super) struct LocalListener(Infallible);

/// A connection. No value of it exists.
pub(super) struct LocalStream(Infallible);

impl LocalListener {
    pub(super) async fn accept(&self) -> io::Result<(LocalStream, ())> {
        match self.0 {}
    }
}

impl LocalStream {
    pub(super) fn pair() -> io::Result<(Self, Self)> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn into_split(self) -> (Empty, Sink) {
        match self.0 {}
    }
}

pub(super) fn listen(_data_dir: &Path) -> anyhow::Result<LocalListener> {
    Err(io::Error::from(io::ErrorKind::Unsupported).into())
}

pub(super) fn remove(_data_dir: &Path) -> anyhow::Result<()> {
    Ok(())
}

pub(super) async fn connect(_data_dir: &Path) -> io::Result<LocalStream> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(super) fn is_of_this_user(stream: &LocalStream) -> bool {
    match stream.0 {}
}
