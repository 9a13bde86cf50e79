//! Servers of another make for tests: found where a `make` target installed them, run as a user whom they let.

#![allow(
    clippy::panic,
    clippy::expect_used,
    reason = "a test without its server has failed"
)]

use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// What `make TARGET` installed below the workspace's `target`.
///
/// # Panics
/// When it is not there.
pub(crate) fn installed(server: &str, target: &str, place: &str) -> PathBuf {
    let place = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../target")
        .join(place);
    place.canonicalize().unwrap_or_else(|error| {
        panic!(
            "there is no {server} in {}: {error}; run `make {target}`",
            place.display()
        )
    })
}

/// A server's programs, and whom they run as.
#[derive(Debug)]
pub(crate) struct Programs {
    place: PathBuf,
    user: Option<(u32, u32)>,
}

impl Programs {
    /// The programs for a server over `folder`. They refuse to run as root: for root, the folder is given to
    /// another user, with a copy of the programs unless it has one.
    pub(crate) fn over(installed: PathBuf, folder: &Path) -> Self {
        match other_user() {
            None => Self {
                place: installed,
                user: None,
            },
            Some(user) => Self {
                place: given_to(user, &installed, folder),
                user: Some(user),
            },
        }
    }

    /// The same for programs that everybody on this machine may run where they are.
    pub(crate) fn of_all(place: PathBuf, folder: &Path) -> Self {
        let user = other_user();
        if let Some(user) = user {
            give(user, folder);
        }
        Self { place, user }
    }

    /// Where they are.
    pub(crate) fn place(&self) -> &Path {
        &self.place
    }

    /// A program that runs as their user.
    pub(crate) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir("/");
        if let Some((user, group)) = self.user {
            command.uid(user).gid(group);
        }
        command
    }

    /// A shell script that starts the server, and ends it when its input is closed. It has a process group of its
    /// own: an interrupt from the terminal must not end the shell before the server.
    pub(crate) fn held(&self, script: &str, arguments: &[&OsStr]) -> Child {
        let mut command = self.command("sh");
        command.args(["-c", script, "sh"]).args(arguments);
        command.process_group(0);
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        piped.spawn().expect("a shell that starts the server")
    }

    /// A shell script that starts a server and outlives this process: it has a process group of its own, which an
    /// interrupt from the terminal does not reach. Its input is a file on which it shares this process's lock.
    pub(crate) fn detached(&self, script: &str, arguments: &[&OsStr], lock: File) -> Child {
        let mut command = self.command("sh");
        command.args(["-c", script, "sh"]).args(arguments);
        command.process_group(0).stdin(lock);
        let started = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        started.expect("a shell that starts the server")
    }
}

/// Gives the folder to a user, with a copy of what is installed, which that user may not be let to.
fn given_to(user: (u32, u32), installed: &Path, folder: &Path) -> PathBuf {
    let copy = folder.join("site");
    if !copy.exists() {
        done("cp", &["-RL".as_ref(), installed.as_ref(), copy.as_ref()]);
        give(user, folder);
    }
    copy
}

/// Gives a folder to a user who does not have it yet. Files vanish from the folder of a running server.
fn give((user, group): (u32, u32), folder: &Path) {
    let metadata = std::fs::metadata(folder).expect("the server's directory");
    if metadata.uid() == user {
        return;
    }
    let owner = format!("{user}:{group}");
    done("chown", &["-R".as_ref(), owner.as_ref(), folder.as_ref()]);
}

fn done(program: &str, arguments: &[&OsStr]) {
    let ended = Command::new(program).args(arguments).status();
    assert!(ended.expect(program).success(), "{program} failed");
}

/// Whom a server runs as when it may not be this process's user.
fn other_user() -> Option<(u32, u32)> {
    let me = std::fs::metadata("/proc/self").expect("this process").uid();
    (me == 0).then(|| {
        let users = std::fs::read_to_string("/etc/passwd").expect("the users of this machine");
        let nobody = users.lines().find_map(|line| {
            let fields: Vec<&str> = line.split(':').collect();
            let [name, _, user, group, ..] = fields[..] else {
                return None;
            };
            (name == "nobody").then_some((user.parse().ok()?, group.parse().ok()?))
        });
        nobody.expect("a user `nobody`")
    })
}
