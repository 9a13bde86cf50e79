//! Third-party servers for tests: found in the installation of a `make` target, and run as a permitted user.

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

/// Returns the directory below the workspace's `target` where `make TARGET` installed a server.
///
/// # Panics
/// If the directory does not exist.
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

/// The programs of a server, and the user to run them as.
#[derive(Debug)]
pub(crate) struct Programs {
    place: PathBuf,
    user: Option<(u32, u32)>,
}

impl Programs {
    /// Prepares the programs for a server in `folder`. They refuse to run as root: for root, another user
    /// gets the folder, with a copy of the programs unless it has one.
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

    /// Prepares programs that every user of this machine may execute in place.
    pub(crate) fn of_all(place: PathBuf, folder: &Path) -> Self {
        let user = other_user();
        if let Some(user) = user {
            give(user, folder);
        }
        Self { place, user }
    }

    /// Returns the directory of the programs.
    pub(crate) fn place(&self) -> &Path {
        &self.place
    }

    /// Returns a command that runs a program as the server's user.
    pub(crate) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir("/");
        if let Some((user, group)) = self.user {
            command.uid(user).gid(group);
        }
        command
    }

    /// Runs a shell script that starts the server, and ends it when the script's input is closed. It has its own
    /// process group: an interrupt from the terminal must not end the shell before the server.
    pub(crate) fn spawn_held(&self, script: &str, arguments: &[&OsStr]) -> Child {
        let mut command = self.command("sh");
        command.args(["-c", script, "sh"]).args(arguments);
        command.process_group(0);
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        piped.spawn().expect("a shell that starts the server")
    }

    /// Runs a shell script that starts a server and outlives this process. It has its own process group, which an
    /// interrupt from the terminal does not reach. Its input is a file on which it shares this process's lock.
    pub(crate) fn detached(&self, script: &str, arguments: &[&OsStr], lock: File) -> Child {
        let mut command = self.command("sh");
        command.args(["-c", script, "sh"]).args(arguments);
        command.process_group(0).stdin(lock);
        let started = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        started.expect("a shell that starts the server")
    }
}

/// Gives the folder to a user, with a copy of the installation, which that user may not be able to access.
fn given_to(user: (u32, u32), installed: &Path, folder: &Path) -> PathBuf {
    let copy = folder.join("site");
    if !copy.exists() {
        done("cp", &["-RL".as_ref(), installed.as_ref(), copy.as_ref()]);
        give(user, folder);
    }
    copy
}

/// Gives a folder to a user, unless that user owns it. Files vanish from the folder of a running server.
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

/// Returns the user to run a server as if it may not run as the user of this process.
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
