//! Python programs that use the official SDKs, as clients of the servers under test: each is a process forked from
//! one that has imported the SDK.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::home::project;

/// A process that clients are forked from. It ends with this process, and removes the folder then.
pub(crate) struct Forks {
    folder: TempDir,
}

/// A client. Its process is killed when this goes out of scope.
pub(crate) struct Client {
    process: String,
    input: UnixStream,
    output: Option<BufReader<UnixStream>>,
}

impl Forks {
    /// Starts the process with a Python interpreter. It imports a script below `crates/cli/tests`.
    pub(crate) fn of(python: &Path, script: &str) -> Self {
        let folder = TempDir::new().unwrap();
        let tests = project().join("crates/cli/tests");
        let mut command = Command::new(python);
        command
            .arg(tests.join("clients/forks.py"))
            .arg(tests.join(script));
        command.arg(socket(&folder));
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        output.read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n", "{script} is not imported");
        // Its input stays open until this process ends.
        std::mem::forget(child);
        Self { folder }
    }

    /// Starts a client with the arguments of the script's `main`.
    pub(crate) fn start(&self, arguments: &Value) -> Client {
        let mut input = UnixStream::connect(socket(&self.folder)).unwrap();
        let mut output = BufReader::new(input.try_clone().unwrap());
        let mut process = String::new();
        output.read_line(&mut process).unwrap();
        writeln!(input, "{arguments}").unwrap();
        Client {
            process: process.trim().to_owned(),
            input,
            output: Some(output),
        }
    }
}

fn socket(folder: &TempDir) -> PathBuf {
    folder.path().join("forks")
}

impl Client {
    /// Writes a line to its standard input.
    pub(crate) fn say(&mut self, line: &str) {
        writeln!(self.input, "{line}").unwrap();
    }

    /// Its standard output, which can be taken once.
    pub(crate) fn output(&mut self) -> BufReader<UnixStream> {
        self.output.take().unwrap()
    }

    /// Waits until it has ended, and returns the JSON that it printed.
    #[track_caller]
    pub(crate) fn end(mut self) -> Value {
        let lines: Vec<String> = self.output().lines().map(Result::unwrap).collect();
        let [printed, last] = &lines[..] else {
            panic!("the client failed: {lines:?}")
        };
        assert_eq!(last, "ended");
        serde_json::from_str(printed).unwrap_or_else(|error| panic!("{error}: {printed}"))
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // The input of a client that has ended is closed.
        if writeln!(self.input).is_ok() {
            let kill = Command::new("kill")
                .args(["-KILL", &self.process])
                .stderr(Stdio::null())
                .status();
            drop(kill);
        }
    }
}
