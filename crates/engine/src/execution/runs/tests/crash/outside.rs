//! The outside world: a server whose ledgers outlive the processes that are killed. Every play has a ledger of its own,
//! named by the first segment of the path.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};

use charter_testkit::http_stub::{HttpStub, Reply, Request};
use serde_json::{Value, json};

/// An item that is refused once before it is written.
pub(super) const FLAKY: &str = "flaky";
/// An item that is never written.
pub(super) const BROKEN: &str = "broken";

/// The calls of one ledger, as `act step`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Ledger {
    pub(super) calls: Vec<String>,
    /// The acts that were performed.
    pub(super) done: Vec<String>,
}

/// The server.
pub(super) struct Outside {
    pub(super) address: String,
    _stub: HttpStub,
    ledgers: Arc<Mutex<HashMap<String, Ledger>>>,
}

/// One call: `POST /ledger/once/write` with the key of its effect.
struct LedgerCall {
    ledger: String,
    /// `once` for a tool that honours the key, `each` for one that does not.
    repeats: String,
    act: String,
    key: String,
    body: Value,
}

impl Outside {
    pub(super) fn start() -> Self {
        let ledgers: Arc<Mutex<HashMap<String, Ledger>>> = Arc::default();
        let written = Arc::clone(&ledgers);
        let stub = HttpStub::start(move |request, _| {
            let Some(asked) = LedgerCall::of(request) else {
                return Reply::empty(404);
            };
            let mut ledgers = written.lock().unwrap();
            let ledger = ledgers.entry(asked.ledger.clone()).or_default();
            let (status, body) = ledger.act(&asked);
            Reply::json(status, body.to_string())
        });
        let stub = stub.unwrap();
        Self {
            address: stub.address().to_string(),
            _stub: stub,
            ledgers,
        }
    }

    pub(super) fn ledger(&self, name: &str) -> Ledger {
        let ledgers = self.ledgers.lock().unwrap();
        ledgers.get(name).cloned().unwrap_or_default()
    }
}

impl Ledger {
    /// Returns the status and body that answer a call.
    fn act(&mut self, asked: &LedgerCall) -> (u16, Value) {
        let step = asked.key.rsplit('/').next().unwrap_or_default();
        let entry = format!("{} {step}", asked.act);
        if asked.act == "look" {
            let mut done = self.done.iter();
            let found = done.any(|done| done.ends_with(&format!(" {step}")));
            return (200, json!({ "done": found }));
        }
        let seen = self.calls.contains(&entry);
        self.calls.push(entry.clone());
        if asked.act == "read" {
            return (200, json!({"seen": 2}));
        }
        let item = &asked.body["item"];
        match item.as_str() {
            Some(BROKEN) => return (500, json!("broken")),
            Some(FLAKY) if !seen && asked.act == "write" => return (503, json!("later")),
            _ => {}
        }
        if asked.repeats == "each" || !self.done.contains(&entry) {
            self.done.push(entry.clone());
        }
        (200, json!({"item": item, "entry": entry}))
    }
}

impl LedgerCall {
    fn of(request: &Request) -> Option<Self> {
        let mut path = request.path.trim_start_matches('/').splitn(3, '/');
        let key = request.headers.get("idempotency-key");
        Some(Self {
            ledger: path.next()?.to_owned(),
            repeats: path.next()?.to_owned(),
            act: path.next()?.to_owned(),
            key: key.cloned().unwrap_or_default(),
            body: request.body.clone(),
        })
    }
}

/// Returns whether a ledger has the effect of this key. A person looks this up before deciding.
pub(super) fn happened(address: &str, ledger: &str, key: &str) -> bool {
    let mut stream = TcpStream::connect(address).unwrap();
    let text = format!(
        "POST /{ledger}/once/look HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\
         idempotency-key: {key}\r\ncontent-length: 0\r\n\r\n"
    );
    stream.write_all(text.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.contains(r#""done":true"#)
}
