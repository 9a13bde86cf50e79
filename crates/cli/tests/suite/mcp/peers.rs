//! The official clients, each in its own process.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use serde_json::{Value, json};

use crate::clients::{Client, Forks};
use crate::home::{project, target};

/// The folder in which `make test` installs the official SDKs, the conformance suite and Node.js.
pub(crate) fn installed() -> PathBuf {
    let peers = target().join("mcp-peers");
    assert!(
        peers.join(".ready").is_file(),
        "the tests need the official MCP clients in {}: `make ready` installs them",
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

/// A client; killed when it goes out of scope.
pub(crate) enum Peer {
    Python(Client),
    TypeScript(Node),
}

/// A process of Node.js; killed when it goes out of scope.
pub(crate) struct Node(Child);

/// The Python client.
pub(crate) fn python(given: &Value) -> Peer {
    static FORKS: OnceLock<Forks> = OnceLock::new();
    let forks =
        FORKS.get_or_init(|| Forks::of(&installed().join("venv/bin/python"), "mcp/client.py"));
    Peer::Python(forks.start(&json!([given])))
}

/// The TypeScript client. Node.js resolves modules from the working folder.
pub(crate) fn typescript(given: &Value) -> Peer {
    let mut node = node();
    let script = std::fs::read_to_string(scripts().join("client.mjs")).unwrap();
    node.args(["--input-type=module", "--eval", &script, "--"]);
    node.arg(given.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    Peer::TypeScript(Node(node.spawn().unwrap()))
}

pub(crate) fn scripts() -> PathBuf {
    project().join(Path::new("crates/cli/tests/mcp"))
}

impl Peer {
    /// Sends a line to it.
    pub(crate) fn say(&mut self, line: &str) {
        match self {
            Self::Python(client) => client.say(line),
            Self::TypeScript(Node(child)) => {
                writeln!(child.stdin.as_mut().unwrap(), "{line}").unwrap();
            }
        }
    }

    /// Returns its results, after it has ended without an error.
    #[track_caller]
    pub(crate) fn end(self) -> Value {
        let mut node = match self {
            Self::Python(client) => return client.end(),
            Self::TypeScript(node) => node,
        };
        let mut out = String::new();
        let mut stdout = node.0.stdout.take().unwrap();
        stdout.read_to_string(&mut out).unwrap();
        let status = node.0.wait().unwrap();
        assert!(status.success(), "{status}: {out}");
        serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}"))
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // A process that was waited for has already ended.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}
