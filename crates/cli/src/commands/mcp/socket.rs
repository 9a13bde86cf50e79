//! The socket by which processes over one data directory reach the one that holds it. It is in a folder that only the
//! owner may enter, and both ends check that the other is the same user. Sandboxed scripts cannot open such sockets.

use std::fs::{DirBuilder, File, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::Context;
pub(super) use tokio::net::{UnixListener as LocalListener, UnixStream as LocalStream};

/// The folder, in the data directory.
const FOLDER: &str = "mcp";

/// The socket, in the folder.
const NAME: &str = "socket";

/// Permissions for the owner only.
const PRIVATE: u32 = 0o700;

/// Listens. Only the process that holds the data directory may call it: it replaces the socket of a process that was
/// killed.
pub(super) fn listen(data_dir: &Path) -> anyhow::Result<LocalListener> {
    let folder = data_dir.join(FOLDER);
    let mut builder = DirBuilder::new();
    let created = builder.recursive(true).mode(PRIVATE).create(&folder);
    created
        .and_then(|()| std::fs::set_permissions(&folder, Permissions::from_mode(PRIVATE)))
        .with_context(|| format!("creating {}", folder.display()))?;
    remove(data_dir)?;
    let listening = || {
        let opened = File::open(&folder)?;
        LocalListener::bind(address(&opened))
    };
    listening().with_context(|| format!("listening in {}", folder.display()))
}

/// Removes the socket.
pub(super) fn remove(data_dir: &Path) -> anyhow::Result<()> {
    let socket = data_dir.join(FOLDER).join(NAME);
    match std::fs::remove_file(&socket) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("removing {}", socket.display()))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Connects to the process that listens.
pub(super) async fn connect(data_dir: &Path) -> io::Result<LocalStream> {
    let opened = File::open(data_dir.join(FOLDER))?;
    let stream = LocalStream::connect(address(&opened)).await?;
    if is_of_this_user(&stream) {
        Ok(stream)
    } else {
        let message = "a process of another user listens on the socket of the data directory";
        Err(io::Error::new(io::ErrorKind::PermissionDenied, message))
    }
}

/// Whether the other end is a process of the user of this one.
pub(super) fn is_of_this_user(stream: &LocalStream) -> bool {
    let own = rustix::process::geteuid().as_raw();
    stream.peer_cred().is_ok_and(|other| other.uid() == own)
}

/// The socket's path through its open folder: a socket's path has at most 107 bytes, and a data directory's may be
/// longer.
fn address(folder: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}/{NAME}", folder.as_raw_fd()))
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[tokio::test]
    async fn only_the_owner_reaches_the_socket_however_long_its_path_is() {
        let dir = TempDir::new().unwrap();
        let data = dir.path().join("d".repeat(200));
        std::fs::create_dir_all(data.join(FOLDER)).unwrap();
        std::fs::set_permissions(data.join(FOLDER), Permissions::from_mode(0o755)).unwrap();
        let listener = listen(&data).unwrap();
        assert_eq!(mode(&data.join(FOLDER)), PRIVATE);
        let (connected, accepted) = tokio::join!(connect(&data), listener.accept());
        assert!(is_of_this_user(&connected.unwrap()));
        assert!(is_of_this_user(&accepted.unwrap().0));
    }

    #[tokio::test]
    async fn the_socket_of_a_process_that_was_killed_is_replaced() {
        let dir = TempDir::new().unwrap();
        assert!(connect(dir.path()).await.is_err());
        drop(listen(dir.path()).unwrap());
        assert!(dir.path().join(FOLDER).join(NAME).exists());
        assert!(connect(dir.path()).await.is_err());
        let listener = listen(dir.path()).unwrap();
        let (connected, accepted) = tokio::join!(connect(dir.path()), listener.accept());
        assert!(connected.is_ok() && accepted.is_ok());
        remove(dir.path()).unwrap();
        remove(dir.path()).unwrap();
        assert!(connect(dir.path()).await.is_err());
    }
}
