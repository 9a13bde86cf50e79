//! A remote service that tools call, whose answers the test delays and counts.

use std::time::Duration;

use charter_testkit::http_stub::{HeldCall, HeldCalls, Reply};

use crate::home::{DEADLINE, Home, Server};
use crate::packages::{Package, TOOL_FILE, backups};
use crate::shared::Tenants;

/// A service whose calls wait until the test answers them.
pub(crate) struct Service {
    address: String,
    calls: HeldCalls,
}

/// A separate server with the package whose tool calls the service.
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

/// One call, not yet answered. Dropping it closes its connection without an answer.
pub(crate) struct Call {
    pub(crate) idempotency_key: Option<String>,
    held: HeldCall,
}

impl Service {
    pub(crate) fn start() -> Self {
        let calls = HeldCalls::start().unwrap();
        Self {
            address: calls.address().to_string(),
            calls,
        }
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Waits for the next call.
    pub(crate) fn next(&self) -> Call {
        let held = self.calls.next_within(DEADLINE).unwrap();
        Call {
            idempotency_key: held.request.headers.get("idempotency-key").cloned(),
            held,
        }
    }

    /// Whether a call arrived that [`Service::next`] has not returned. That call is dropped.
    pub(crate) fn was_called(&self) -> bool {
        self.calls.next_within(Duration::ZERO).is_some()
    }

    /// The backups package with its tool calling this service.
    pub(crate) fn package(&self) -> Package {
        package_calling(&self.address)
    }
}

/// The backups package with its tool calling the service at an address.
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
    /// Answers with one stale backup.
    pub(crate) fn answer(self) {
        self.answer_with(r#"{"backups": [{"id": "b-1", "age_days": 40}]}"#);
    }

    pub(crate) fn answer_with(self, body: &str) {
        self.held.answer(Reply::json(200, body));
    }
}
