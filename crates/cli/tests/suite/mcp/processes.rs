//! Processes of `charter mcp`, used line by line: their start, and several of them on one data directory.

use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::TOOLS;
use crate::home::Home;
use crate::packages::{QUESTION, SKILL};
use crate::watched::Watched;

fn start(home: &Home) -> Watched {
    let (command, environment) = home.startable(&["mcp"]);
    let (program, arguments) = command.split_first().unwrap();
    let mut command = Command::new(program);
    command.args(arguments).env_clear().envs(environment);
    command.stdin(Stdio::piped()).stderr(Stdio::null());
    Watched::start(command)
}

/// The answer to a request; skips messages before it.
fn ask(process: &mut Watched, id: u32, method: &str, params: Value) -> Value {
    process.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
    loop {
        let message = process.next();
        if message["id"] == id {
            return message;
        }
    }
}

/// A process after the handshake.
fn open(home: &Home) -> Watched {
    let mut process = start(home);
    let client = json!({"name": "tests", "version": "1"});
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
    let opened = ask(&mut process, 1, "initialize", params);
    assert_eq!(
        opened["result"]["serverInfo"]["name"], "charter",
        "{opened:#}"
    );
    process.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    process
}

#[track_caller]
fn check_that_it_answers(process: &mut Watched, id: u32) {
    let params = json!({"name": "find", "arguments": {"query": QUESTION}});
    let found = ask(process, id, "tools/call", params);
    let first = &found["result"]["structuredContent"]["entries"][0];
    assert_eq!(first["id"], SKILL, "{found:#}");
}

/// Several clients each start a process, and all are answered. When the process that holds the data directory ends,
/// killed or closed by its client, another takes over and its client notices nothing.
pub(super) fn check_that_they_share_a_data_directory(home: &Home) {
    let (mut first, mut second) = (open(home), open(home));
    check_that_it_answers(&mut first, 2);
    check_that_it_answers(&mut second, 2);
    drop(first);
    check_that_it_answers(&mut second, 3);
    let mut third = open(home);
    check_that_it_answers(&mut third, 2);
    assert_eq!(second.finish(), Some(0));
    check_that_it_answers(&mut third, 3);
    assert_eq!(third.finish(), Some(0));
}

/// A client that starts a process gets its handshake and the list of tools while the engine loads, which waits for a
/// server that never answers. A waiting call reports progress.
pub(super) fn check_that_the_handshake_waits_for_nothing() {
    let silent =
        "[[mcp.servers]]\nname = \"silent\"\ncommand = \"/usr/bin/sleep\"\nargs = [\"600\"]\n";
    let home = Home::new().configured(silent);
    let mut process = open(&home);
    let listed = ask(&mut process, 2, "tools/list", json!({}));
    let listed = listed["result"]["tools"].as_array().unwrap().len();
    assert_eq!(listed, TOOLS.len());
    let meta = json!({"progressToken": "waits"});
    let params = json!({"name": "find", "arguments": {}, "_meta": meta});
    process.send(&json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": params}));
    let progress = process.next();
    assert_eq!(progress["method"], "notifications/progress", "{progress:#}");
    assert_eq!(progress["params"]["progressToken"], "waits");
}
