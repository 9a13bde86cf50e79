//! A remote service that tools call, whose answers the test holds back and counts.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{self, Receiver};

use crate::home::{DEADLINE, Home, Server};
use crate::packages::{Package, TOOL_FILE, backups};
use crate::shared::Tenants;

/// A listener whose calls wait until the test answers them.
pub(crate) struct Service {
    address: String,
    calls: Receiver<Call>,
}

/// A server of the test's own with the package whose tool calls the service.
pub(crate) fn served() -> (Home, Server, Service) {
    let home = Home::new();
    let server = home.serve();
    let service = Service::start();
    server.api.register(&service.package());
    (home, server, service)
}

/// A tenant of the shared server with the package whose tool calls the service.
pub(crate) fn served_tenant() -> (Tenants, Service) {
    let server = Tenants::one();
    let service = Service::start();
    server.api.register(&service.package());
    (server, service)
}

/// One call, not yet answered.
pub(crate) struct Call {
    pub(crate) idempotency_key: Option<String>,
    stream: TcpStream,
}

impl Service {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (arrived, calls) = mpsc::channel();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if arrived.send(Call::read(stream.unwrap())).is_err() {
                    return;
                }
            }
        });
        Self { address, calls }
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// The next call.
    pub(crate) fn next(&self) -> Call {
        self.calls.recv_timeout(DEADLINE).unwrap()
    }

    /// Whether a call came that nobody took.
    pub(crate) fn was_called(&self) -> bool {
        self.calls.try_recv().is_ok()
    }

    /// The backups package with its tool calling this service.
    pub(crate) fn package(&self) -> Package {
        package_calling(&self.address)
    }
}

/// The backups package with its tool calling whatever listens at an address.
pub(crate) fn package_calling(address: &str) -> Package {
    backups()
        .edit(TOOL_FILE, "language: python", "language: http")
        .edit(
            TOOL_FILE,
            "implementation: {type: script, path: scripts/list_backups.py}",
            &format!(
                "implementation: {{type: http, method: POST, url: \"http://{address}/backups\"}}\negress: [\"{address}\"]"
            ),
        )
}

impl Call {
    fn read(stream: TcpStream) -> Self {
        let mut idempotency_key = None;
        for line in BufReader::new(&stream).lines() {
            let line = line.unwrap();
            if line.is_empty() {
                break;
            }
            let (name, value) = line.split_once(": ").unwrap_or((&line, ""));
            if name.eq_ignore_ascii_case("idempotency-key") {
                idempotency_key = Some(value.to_owned());
            }
        }
        Self {
            idempotency_key,
            stream,
        }
    }

    /// Answers with one stale backup.
    pub(crate) fn answer(self) {
        self.answer_with(r#"{"backups": [{"id": "b-1", "age_days": 40}]}"#);
    }

    pub(crate) fn answer_with(mut self, body: &str) {
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        self.stream.write_all(head.as_bytes()).unwrap();
        self.stream.write_all(body.as_bytes()).unwrap();
    }
}
