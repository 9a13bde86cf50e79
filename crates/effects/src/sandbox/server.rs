//! Starts a process that serves many calls, confined as scripts are.
//!
//! The process has no planned end, so the limits of a call on CPU time, address space and number of processes do not
//! apply. Must not know the protocol of the process.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::process::{ChildStderr, ChildStdin, ChildStdout};

use super::Sandbox;
use super::launch::{Launch, Started};
use super::script::check_variables;
use super::server_program::{ServerHome, ServerProgram};
use crate::call::Limits;
use crate::egress::LastRefusal;
use crate::outcome::Failure;
use crate::rubbish::TrashFolder;

/// Open files of such a process.
const OPEN_FILES: u64 = 1_024;

/// The folder of a process.
struct HomeFolder {
    path: PathBuf,
    /// Where it is discarded; absent for a folder that persists.
    bin: Option<Arc<TrashFolder>>,
}

impl Drop for HomeFolder {
    fn drop(&mut self) {
        if let Some(bin) = &self.bin {
            bin.discard(&self.path);
        }
    }
}

/// A running process. Dropping [`Alive`] kills its whole group.
pub(crate) struct ServerProcess {
    pub(crate) stdin: ChildStdin,
    pub(crate) stdout: ChildStdout,
    pub(crate) stderr: ChildStderr,
    pub(crate) alive: Alive,
    /// The newest connection that the egress wall refused to the process.
    pub(crate) last_refusal: LastRefusal,
}

/// Keeps a process alive, and then its home.
pub(crate) struct Alive {
    _started: Started,
    _home: HomeFolder,
}

impl Sandbox {
    /// Starts a program in its own folder, which is its home.
    pub(crate) async fn start_server(
        &self,
        program: &ServerProgram<'_>,
    ) -> Result<ServerProcess, Failure> {
        check_variables(program.environment)?;
        check_variables(program.settings)?;
        let home = self
            .home(program)
            .map_err(|error| Failure::system(format!("creating the server's folder: {error}")))?;
        let folder = home.path.clone();
        let variables = program.settings.iter().chain(program.environment);
        let mut writable: Vec<&Path> = program.writable.iter().map(PathBuf::as_path).collect();
        writable.push(&folder);
        // Programs that install others, such as npx and uvx, start them from there. A process of the sandbox can make a
        // system interpreter run every file that it reads, so this grants nothing more.
        let own = [program.command.to_path_buf(), folder.clone()];
        let given = program.runtime.iter().chain(program.readable);
        let given = given.chain(program.writable).cloned();
        let programs: Vec<PathBuf> = own.into_iter().chain(given).collect();
        let limits = Limits {
            cpu_seconds: Limits::UNBOUNDED,
            memory_bytes: Limits::UNBOUNDED,
            open_files: OPEN_FILES,
            ..Limits::default()
        };
        let launch = Launch {
            executable: program.command,
            arguments: program.arguments.iter().map(OsString::from).collect(),
            variables: variables
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
            directory: &folder,
            folder: &folder,
            programs: &programs,
            search_path: program.search_path,
            readable: program.readable.iter().map(PathBuf::as_path).collect(),
            writable,
            egress: program.egress,
            daemon: program.daemon,
            limits: &limits,
        };
        let mut started = self.start(&launch).await?;
        let leader = &mut started.group.leader;
        let streams = (
            leader.stdin.take(),
            leader.stdout.take(),
            leader.stderr.take(),
        );
        let (Some(stdin), Some(stdout), Some(stderr)) = streams else {
            let message = "starting the server: its streams are not piped";
            return Err(Failure::system(message.to_owned()));
        };
        Ok(ServerProcess {
            stdin,
            stdout,
            stderr,
            last_refusal: started.last_refusal.clone(),
            alive: Alive {
                _started: started,
                _home: home,
            },
        })
    }

    fn home(&self, program: &ServerProgram<'_>) -> io::Result<HomeFolder> {
        match program.home {
            ServerHome::Kept => {
                let path = self.options.directory.join("servers").join(program.name);
                fs::create_dir_all(&path)?;
                Ok(HomeFolder { path, bin: None })
            }
            ServerHome::OfProcess => {
                let created = tempfile::Builder::new()
                    .prefix("server-")
                    .tempdir_in(&self.calls)?;
                Ok(HomeFolder {
                    path: created.keep(),
                    bin: Some(Arc::clone(&self.rubbish)),
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SandboxOptions;

    fn program(home: ServerHome) -> ServerProgram<'static> {
        ServerProgram {
            name: "notes",
            home,
            command: Path::new("/bin/true"),
            arguments: &[],
            environment: &[],
            settings: &[],
            runtime: &[],
            search_path: &[],
            readable: &[],
            writable: &[],
            egress: &[],
            daemon: None,
        }
    }

    #[tokio::test]
    async fn a_home_of_a_process_is_its_own_and_is_discarded_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let sandbox = Sandbox::new(SandboxOptions::new(folder.path())).await;
        let sandbox = sandbox.unwrap();
        let home = |home| sandbox.home(&program(home)).unwrap();
        let (one, other) = (home(ServerHome::OfProcess), home(ServerHome::OfProcess));
        assert_ne!(one.path, other.path);
        let path = one.path.clone();
        drop(one);
        assert!(!path.exists() && other.path.exists());
        let kept = home(ServerHome::Kept).path.clone();
        assert_eq!(home(ServerHome::Kept).path, kept);
        assert!(kept.exists());
    }
}
