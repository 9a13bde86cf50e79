//! The outside world: a server whose ledgers outlive the processes that are killed. Every play has a
//! ledger of its own, named by the first segment of the path.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

/// What is refused once before it is written.
pub(super) const FLAKY: &str = "flaky";
/// What is never written.
pub(super) const BROKEN: &str = "broken";

/// What came to one ledger, by `act step`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Ledger {
    pub(super) calls: Vec<String>,
    /// What was carried out.
    pub(super) done: Vec<String>,
}

/// The server.
pub(super) struct Outside {
    pub(super) address: String,
    ledgers: Arc<Mutex<HashMap<String, Ledger>>>,
}

/// One call: `POST /ledger/once/write` with the key of its effect.
struct Asked {
    ledger: String,
    /// `once` for a tool that honours the key, `each` for one that does not.
    repeats: String,
    act: String,
    key: String,
    body: Value,
}

impl Outside {
    pub(super) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let outside = Self {
            address: listener.local_addr().unwrap().to_string(),
            ledgers: Arc::default(),
        };
        let ledgers = Arc::clone(&outside.ledgers);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, ledgers) = (stream.unwrap(), Arc::clone(&ledgers));
                std::thread::spawn(move || {
                    // A process that was killed before it had asked or heard is no failure here.
                    if let Some(asked) = Asked::read(&stream) {
                        let mut ledgers = ledgers.lock().unwrap();
                        let ledger = ledgers.entry(asked.ledger.clone()).or_default();
                        let (status, body) = ledger.act(&asked);
                        drop(answer(&stream, status, &body));
                    }
                });
            }
        });
        outside
    }

    pub(super) fn ledger(&self, name: &str) -> Ledger {
        let ledgers = self.ledgers.lock().unwrap();
        ledgers.get(name).cloned().unwrap_or_default()
    }
}

impl Ledger {
    fn act(&mut self, asked: &Asked) -> (&'static str, Value) {
        const DONE: &str = "200 OK";
        let step = asked.key.rsplit('/').next().unwrap_or_default();
        let entry = format!("{} {step}", asked.act);
        if asked.act == "look" {
            let mut done = self.done.iter();
            let found = done.any(|done| done.ends_with(&format!(" {step}")));
            return (DONE, json!({ "done": found }));
        }
        let seen = self.calls.contains(&entry);
        self.calls.push(entry.clone());
        if asked.act == "read" {
            return (DONE, json!({"seen": 2}));
        }
        let item = &asked.body["item"];
        match item.as_str() {
            Some(BROKEN) => return ("500 Internal Server Error", json!("broken")),
            Some(FLAKY) if !seen && asked.act == "write" => {
                return ("503 Service Unavailable", json!("later"));
            }
            _ => {}
        }
        if asked.repeats == "each" || !self.done.contains(&entry) {
            self.done.push(entry.clone());
        }
        (DONE, json!({"item": item, "entry": entry}))
    }
}

impl Asked {
    fn read(stream: &TcpStream) -> Option<Self> {
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let path = line.split(' ').nth(1)?.to_owned();
        let mut path = path.trim_start_matches('/').splitn(3, '/');
        let (mut key, mut length) = (String::new(), 0);
        loop {
            line.clear();
            reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
            let Some((name, value)) = line.trim_end().split_once(": ") else {
                break;
            };
            match name.to_ascii_lowercase().as_str() {
                "idempotency-key" => key = value.to_owned(),
                "content-length" => length = value.parse().ok()?,
                _ => {}
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        Some(Self {
            ledger: path.next()?.to_owned(),
            repeats: path.next()?.to_owned(),
            act: path.next()?.to_owned(),
            key,
            body: serde_json::from_slice(&body).unwrap_or_default(),
        })
    }
}

fn answer(mut stream: &TcpStream, status: &str, body: &Value) -> std::io::Result<()> {
    let body = body.to_string();
    let length = body.len();
    let text = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\nconnection: close\r\n\
         content-length: {length}\r\n\r\n{body}"
    );
    stream.write_all(text.as_bytes())
}

/// Whether a ledger has what an effect of this key does: what a person looks up before deciding.
pub(super) fn happened(address: &str, ledger: &str, key: &str) -> bool {
    let mut stream = TcpStream::connect(address).unwrap();
    let text = format!(
        "POST /{ledger}/once/look HTTP/1.1\r\nidempotency-key: {key}\r\ncontent-length: 0\r\n\r\n"
    );
    stream.write_all(text.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.contains(r#""done":true"#)
}
