//! A command whose output a test reads line by line while it runs.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;

use serde_json::Value;

use crate::home::{DEADLINE, eventually};

/// A running command. It is killed when this goes out of scope.
pub(crate) struct Watched {
    child: Child,
    lines: mpsc::Receiver<String>,
}

impl Watched {
    /// Starts a command.
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let (sender, lines) = mpsc::channel();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                // The receiver ends with the test.
                drop(sender.send(line));
            }
        });
        Self { child, lines }
    }

    /// The next line, as JSON.
    pub(crate) fn next(&self) -> Value {
        let line = self.lines.recv_timeout(DEADLINE).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    /// Writes a line to its input, as JSON.
    pub(crate) fn send(&mut self, line: &Value) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    /// Closes its input and waits for its exit code.
    pub(crate) fn finish(mut self) -> Option<i32> {
        drop(self.child.stdin.take());
        let ended = || self.child.try_wait().unwrap();
        eventually("the command's end", ended).code()
    }

    /// Whether it ended on its own.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
