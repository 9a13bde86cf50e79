//! Sessions and streams of MCP: they belong to a key, and end with it.

use std::io::Read;

use serde_json::{Value, json};

use crate::home::{Api, MCP_HEADERS, status_on};
use crate::packages::QUESTION;
use crate::playbooks::KEYS;
use crate::service::served_tenant;
use crate::shared::Tenants;

/// A session belongs to the key that opened it, and pages of other sites are refused.
#[test]
fn a_session_is_its_owners_and_no_other_sites() {
    let server = Tenants::with_keys(&KEYS);
    let uma = server.key("uma");
    let session = uma.open_mcp_session();
    let send = |api: &Api, more: (&'static str, &'static str)| {
        let mut headers = MCP_HEADERS.to_vec();
        headers.extend([("mcp-session-id", session.as_str()), more]);
        let ping = br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#.to_vec();
        api.call("POST", "/mcp", &headers, ping)
    };
    assert_eq!(send(&uma, ("x-nothing", "")).status, 200);
    send(&server.key("eve"), ("x-nothing", "")).fails(404, "session_not_found");
    send(&server.key("ann"), ("x-nothing", "")).fails(404, "session_not_found");
    send(&uma, ("origin", "https://evil.example")).fails(403, "permission_denied");
}

/// Another key of the same user, and a rotated key, are other callers, because their rights may be lower.
#[test]
fn a_session_is_its_keys() {
    let server = Tenants::one();
    let make = |order: &Value| server.api.post("/v1/keys", order).expect(201);
    let of = |made: &Value| server.api.with_key(made["secret"].as_str().unwrap());
    let made = make(&json!({"name": "first", "role": "admin"}));
    let session = of(&made).open_mcp_session();
    let ping = |api: &Api| {
        let mut headers = MCP_HEADERS.to_vec();
        headers.push(("mcp-session-id", &session));
        let ping = br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#.to_vec();
        api.call("POST", "/mcp", &headers, ping)
    };
    assert_eq!(ping(&of(&made)).status, 200);
    let lesser = make(&json!({"name": "lesser", "role": "user", "scopes": ["catalogue:read"]}));
    assert_eq!(lesser["user"], made["user"]);
    ping(&of(&lesser)).fails(404, "session_not_found");
    let rotate = format!("/v1/keys/{}/rotate", made["key_id"].as_str().unwrap());
    let rotated = server
        .api
        .post(&rotate, &json!({"overlap_s": 600}))
        .expect(201);
    ping(&of(&rotated)).fails(404, "session_not_found");
    assert_eq!(ping(&of(&made)).status, 200);
}

/// No stream sends anything after its key has ended, regardless of how it was opened.
#[test]
fn a_stream_of_mcp_ends_with_its_key() {
    const STREAM: &str = "accept: application/json, text/event-stream\r\n\
                          content-type: application/json\r\nconnection: close\r\n";
    let (server, _service) = served_tenant();
    for life in [None, Some(15)] {
        let order = json!({"name": "watcher", "role": "admin", "expires_in_s": life});
        let made = server.api.post("/v1/keys", &order).expect(201);
        let key = server.api.with_key(made["secret"].as_str().unwrap());
        let session = format!("mcp-session-id: {}\r\n", key.open_mcp_session());
        let call = |meta: Value| {
            let params = json!({"name": "run", "arguments": {"question": QUESTION}, "_meta": meta});
            json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string()
        };
        let post = |headers: &str, body: &str| {
            let length = format!("content-length: {}\r\n", body.len());
            key.begin("POST /mcp", &format!("{STREAM}{length}{headers}"), body)
        };
        // The call is never answered, so only the end of the key ends the streams.
        let told = json!({
            "progressToken": "told", "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let modern =
            "mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: run\r\n";
        let streams = [
            key.begin("GET /mcp", &format!("{STREAM}{session}"), ""),
            post(&session, &call(json!({}))),
            post(modern, &call(told)),
        ];
        for stream in &streams {
            assert_eq!(status_on(stream), 200);
        }
        if life.is_none() {
            let path = format!("/v1/keys/{}/revoke", made["key_id"].as_str().unwrap());
            server.api.post(&path, &json!({})).expect(200);
        }
        for mut stream in streams {
            let mut rest = String::new();
            stream.read_to_string(&mut rest).unwrap();
            assert!(!rest.contains("\"result\""), "{rest}");
        }
        key.get("/v1/caller").fails(401, "unauthenticated");
    }
}

/// The official clients accept 200 and 204 for the end of a session, and report any other status.
#[test]
fn a_session_that_its_client_ends_is_gone() {
    let server = Tenants::one();
    let session = server.api.open_mcp_session();
    let headers = [("mcp-session-id", session.as_str())];
    let end = || {
        server
            .api
            .call_plainly("DELETE", "/mcp", &headers, Vec::new())
    };
    assert_eq!(end().status, 204);
    end().fails(404, "session_not_found");
}
