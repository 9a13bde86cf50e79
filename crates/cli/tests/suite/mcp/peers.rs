//! The official clients, each in a process of its own.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::home::{project, target};

/// Where `make test` puts the official SDKs, the conformance suite and Node.js.
pub(crate) fn installed() -> PathBuf {
    let peers = target().join("mcp-peers");
    assert!(
        peers.join(".ready").is_file(),
        "the tests need the official MCP clients in {}: `make test` installs them",
        peers.display()
    );
    peers
}

pub(crate) fn node() -> Command {
    let peers = installed();
    let mut node = Command::new(peers.join("node/bin/node"));
    node.current_dir(peers.join("npm"));
    node
}

/// A client under way; killed when it goes out of scope.
pub(crate) struct Peer(Child);

/// The Python client.
pub(crate) fn python(given: &Value) -> Peer {
    let mut python = Command::new(installed().join("venv/bin/python"));
    python.arg(scripts().join("client.py"));
    Peer::start(python, given)
}

/// The TypeScript client. Modules are looked up from the working folder.
pub(crate) fn typescript(given: &Value) -> Peer {
    let mut node = node();
    let script = std::fs::read_to_string(scripts().join("client.mjs")).unwrap();
    node.args(["--input-type=module", "--eval", &script, "--"]);
    Peer::start(node, given)
}

pub(crate) fn scripts() -> PathBuf {
    project().join(Path::new("crates/cli/tests/mcp"))
}

impl Peer {
    fn start(mut command: Command, given: &Value) -> Self {
        command.arg(given.to_string());
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        Self(command.spawn().unwrap())
    }

    /// Says a line to it.
    pub(crate) fn say(&mut self, line: &str) {
        let stdin = self.0.stdin.as_mut().unwrap();
        writeln!(stdin, "{line}").unwrap();
    }

    /// What it saw, once it has ended well.
    #[track_caller]
    pub(crate) fn end(mut self) -> Value {
        let mut out = String::new();
        self.0
            .stdout
            .take()
            .unwrap()
            .read_to_string(&mut out)
            .unwrap();
        let status = self.0.wait().unwrap();
        assert!(status.success(), "{status}: {out}");
        serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}"))
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // One that was waited for is gone already.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}
