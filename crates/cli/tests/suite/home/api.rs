//! The API of a server, as a caller uses it.
//!
//! Checks every failure to be a valid AgentError without internals (B003-3), so every test of the suite checks it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};

use charter_contract::registry::validate;
use charter_contract::schema::SchemaName;
use serde_json::{Value, json};
use uuid::Uuid;

use super::DEADLINE;
use crate::described;

/// Headers of every request of the Model Context Protocol.
pub(crate) const MCP_HEADERS: [(&str, &str); 2] = [
    ("accept", "application/json, text/event-stream"),
    ("content-type", "application/json"),
];

/// An answer over HTTP.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Value,
}

impl Answer {
    /// The body of an answer with this status.
    #[track_caller]
    pub(crate) fn expect(self, status: u16) -> Value {
        assert_eq!(self.status, status, "{:#}", self.body);
        self.body
    }

    /// The message of a failure with this status and code.
    #[track_caller]
    pub(crate) fn fails(self, status: u16, code: &str) -> String {
        let found = (self.status, self.body["error_code"].as_str());
        assert_eq!(found, (status, Some(code)), "{:#}", self.body);
        self.body["user_message"].as_str().unwrap().to_owned()
    }
}

/// The API with one caller's credential.
#[derive(Clone)]
pub(crate) struct Api {
    pub(crate) base: String,
    pub(crate) key: Option<String>,
    /// A path that must not appear in a failure.
    private: PathBuf,
}

impl Api {
    /// The API of a server at an address, without a credential.
    pub(super) fn at(base: String, private: &Path) -> Self {
        Self {
            base,
            key: None,
            private: private.to_path_buf(),
        }
    }

    /// The API with another credential.
    pub(crate) fn with_key(&self, key: &str) -> Self {
        Self {
            key: Some(key.to_owned()),
            ..self.clone()
        }
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.call("GET", path, &[], Vec::new())
    }

    /// The raw body of an answer.
    #[track_caller]
    pub(crate) fn bytes(&self, path: &str) -> Vec<u8> {
        let (status, mut reader) = self.send("GET", path, &[], Vec::new());
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes).unwrap();
        assert_eq!(status, 200, "{path}");
        bytes
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Answer {
        self.post_bytes(path, body.to_string().into_bytes())
    }

    pub(crate) fn post_bytes(&self, path: &str, body: Vec<u8>) -> Answer {
        self.call("POST", path, &[], body)
    }

    pub(crate) fn call(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Vec<u8>,
    ) -> Answer {
        let (status, mut reader) = self.send(method, path, headers, body);
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        let body = match text.as_str() {
            "" => Value::Null,
            text => serde_json::from_str(text).unwrap_or_else(|_| json!(text)),
        };
        if status >= 400 {
            self.check_failure(&body);
            described::check_failure(method, path, status, &body);
        } else if let Some(text) = body.as_str() {
            // A stream of events, or a file.
            described::check_stream(method, path, text);
        } else {
            described::check(method, path, status, &body);
        }
        Answer { status, body }
    }

    /// The status and text of an answer of another protocol.
    pub(crate) fn raw(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Vec<u8>,
    ) -> (u16, String) {
        let (status, mut reader) = self.send(method, path, headers, body);
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes).unwrap();
        (status, String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Calls an API whose failures have another form.
    pub(crate) fn call_plainly(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Vec<u8>,
    ) -> Answer {
        let (status, text) = self.raw(method, path, headers, body);
        let body = serde_json::from_str(&text).unwrap_or_else(|_| json!(text));
        Answer { status, body }
    }

    /// An answer, with the cookies that it sets.
    pub(crate) fn call_with_cookies(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Vec<u8>,
    ) -> (Answer, Vec<String>) {
        let response = self.respond(method, path, headers, body);
        let cookies = response.headers().get_all("set-cookie").iter();
        let cookies = cookies.map(|cookie| cookie.to_str().unwrap().to_owned());
        let cookies = cookies.collect();
        let status = response.status().as_u16();
        let mut text = String::new();
        let mut body = response.into_body().into_reader();
        body.read_to_string(&mut text).unwrap();
        let body = serde_json::from_str(&text).unwrap_or_default();
        (Answer { status, body }, cookies)
    }

    /// A header of the response to a GET.
    pub(crate) fn header_of(&self, path: &str, name: &str) -> Option<String> {
        let response = self.respond("GET", path, &[], Vec::new());
        let value = response.headers().get(name)?;
        Some(value.to_str().unwrap().to_owned())
    }

    /// The refusal of a request without a body: status, the methods of the header `Allow`, and body.
    pub(crate) fn refusal(&self, method: &str, path: &str) -> (u16, String, Value) {
        let response = self.respond(method, path, &[], Vec::new());
        let allowed = response.headers().get("allow");
        let allowed = allowed.map_or("", |value| value.to_str().unwrap());
        let (status, allowed) = (response.status().as_u16(), allowed.to_owned());
        let mut text = String::new();
        let mut body = response.into_body().into_reader();
        body.read_to_string(&mut text).unwrap();
        (
            status,
            allowed,
            serde_json::from_str(&text).unwrap_or_default(),
        )
    }

    /// The status of a response, without reading the body.
    pub(crate) fn status_of(&self, path: &str, headers: &[(&str, &str)], body: Vec<u8>) -> u16 {
        self.send("POST", path, headers, body).0
    }

    /// Opens a session of the Model Context Protocol; returns its id.
    pub(crate) fn open_mcp_session(&self) -> String {
        self.open_mcp_session_with(&json!({}))
    }

    /// Opens a session for a client with these capabilities; returns its id.
    pub(crate) fn open_mcp_session_with(&self, capabilities: &Value) -> String {
        let body = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": capabilities,
            "clientInfo": {"name": "tests", "version": "1"},
        }});
        let response = self.respond("POST", "/mcp", &MCP_HEADERS, body.to_string().into_bytes());
        let session = response.headers()["mcp-session-id"]
            .to_str()
            .unwrap()
            .to_owned();
        let mut headers = MCP_HEADERS.to_vec();
        headers.push(("mcp-session-id", &session));
        let ready = br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.to_vec();
        assert_eq!(self.status_of("/mcp", &headers, ready), 202);
        session
    }

    /// Sends a request of the Model Context Protocol in its revision without sessions; returns the whole answer.
    pub(crate) fn mcp(
        &self,
        capabilities: &Value,
        method: &str,
        name: Option<&str>,
        mut params: Value,
    ) -> Value {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": capabilities,
        });
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let mut headers = MCP_HEADERS.to_vec();
        headers.extend([
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", method),
        ]);
        headers.extend(name.map(|name| ("mcp-name", name)));
        let (_, answer) = self.send("POST", "/mcp", &headers, body.to_string().into_bytes());
        let answer: Value = serde_json::from_reader(answer).unwrap();
        let result = &answer["result"];
        // Clients validate structured content against a schema that does not allow errors.
        assert!(
            result["isError"] != true || result["structuredContent"].is_null(),
            "{answer:#}"
        );
        answer
    }

    /// Sends a request without reading its answer, as long as the connection is held.
    pub(crate) fn send_and_hold(&self, request: &Value) -> TcpStream {
        let body = request.to_string();
        let length = format!("content-length: {}\r\n", body.len());
        self.begin("POST /v1/requests", &length, &body)
    }

    /// Sends a request, or the beginning of one, on a new connection: method and path, lines of headers, body.
    pub(crate) fn begin(&self, line: &str, headers: &str, body: &str) -> TcpStream {
        let host = self.base.strip_prefix("http://").unwrap();
        let mut connection = TcpStream::connect(host).unwrap();
        connection.set_read_timeout(Some(DEADLINE)).unwrap();
        let key = self.key.iter();
        let key: String = key
            .map(|key| format!("authorization: Bearer {key}\r\n"))
            .collect();
        write!(
            connection,
            "{line} HTTP/1.1\r\nhost: {host}\r\n{key}{headers}\r\n{body}"
        )
        .unwrap();
        connection
    }

    /// Sends a request for a stream of events; returns the name and data of each.
    pub(crate) fn stream(&self, request: &Value) -> Vec<(String, Value)> {
        let headers = [("accept", "text/event-stream")];
        let body = request.to_string().into_bytes();
        let (status, mut reader) = self.send("POST", "/v1/requests", &headers, body);
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(status, 200, "{text}");
        let events = text.split("\n\n").filter_map(|event| {
            let field = |name| event.lines().find_map(|line| line.strip_prefix(name));
            let data = serde_json::from_str(field("data: ")?).unwrap();
            Some((field("event: ")?.to_owned(), data))
        });
        events.collect()
    }

    /// Opens a stream of events by GET; yields its lines as they arrive, until the server closes it.
    #[track_caller]
    pub(crate) fn follow(&self, path: &str) -> impl Iterator<Item = String> + use<> {
        let headers = [("accept", "text/event-stream")];
        let (status, reader) = self.send("GET", path, &headers, Vec::new());
        assert_eq!(status, 200, "{path}");
        BufReader::new(reader).lines().map(Result::unwrap)
    }

    fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Vec<u8>,
    ) -> (u16, impl Read + use<>) {
        let response = self.respond(method, path, headers, body);
        (
            response.status().as_u16(),
            response.into_body().into_reader(),
        )
    }

    fn respond(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Vec<u8>,
    ) -> ureq::http::Response<ureq::Body> {
        let agent: ureq::Agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(DEADLINE))
            .proxy(None)
            .build()
            .into();
        let mut request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.base));
        if let Some(key) = &self.key {
            request = request.header("authorization", format!("Bearer {key}"));
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        agent.run(request.body(body).unwrap()).unwrap()
    }

    /// B003-3: one of the six types, and neither a path nor a source file in the user's text.
    fn check_failure(&self, body: &Value) {
        assert_eq!(validate(SchemaName::AgentError, body), [], "{body:#}");
        let message = body["user_message"].as_str().unwrap();
        for internal in [self.private.to_str().unwrap(), ".rs", "/crates/", "sqlite"] {
            assert!(!message.contains(internal), "{message}");
        }
    }

    /// Puts a package in force.
    #[track_caller]
    pub(crate) fn register(&self, package: &crate::packages::Package) -> Value {
        self.post("/v1/packages", &package.bundle()).expect(201)
    }

    /// The ids of a kind from packages, without the built-in ones.
    #[track_caller]
    pub(crate) fn brought(&self, kind: &str) -> Vec<String> {
        let listed = self.get(&format!("/v1/list/{kind}")).expect(200);
        let entries = listed["entries"].as_array().unwrap().iter();
        let brought = entries.filter(|entry| entry["package"] != "charter");
        ids(&brought.cloned().collect(), "id")
    }

    /// Sends a request.
    pub(crate) fn ask(&self, request: &Value) -> Answer {
        self.post("/v1/requests", request)
    }

    /// The ids that a query is routed to, best first.
    #[track_caller]
    pub(crate) fn routed(&self, query: &str) -> Vec<String> {
        let path = format!("/v1/route?top_k=20&query={}", query.replace(' ', "+"));
        ids(&self.get(&path).expect(200)["candidates"], "id")
    }
}

/// The status of the response that arrives on a connection.
pub(crate) fn status_on(connection: &TcpStream) -> u16 {
    let mut line = String::new();
    BufReader::new(connection).read_line(&mut line).unwrap();
    line.split(' ').nth(1).unwrap().parse().unwrap()
}

/// One field of every item.
pub(crate) fn ids(items: &Value, field: &str) -> Vec<String> {
    let items = items.as_array().unwrap_or_else(|| panic!("{items:#}"));
    let text = |item: &Value| {
        let pointer = format!("/{}", field.replace('.', "/"));
        let found = item.pointer(&pointer).and_then(Value::as_str);
        found.unwrap_or_else(|| panic!("{item:#}")).to_owned()
    };
    items.iter().map(text).collect()
}

/// A new request.
pub(crate) fn request(input: &str) -> Value {
    json!({
        "id": format!("req-{}", Uuid::now_v7()), "timestamp": "2026-04-14T12:00:00Z", "input": input,
    })
}

/// A new request with a skill and parameters.
pub(crate) fn request_of(skill: &str, parameters: Value) -> Value {
    let mut request = request("do it");
    request["metadata"] = json!({"skill_id": skill, "parameters": parameters});
    request
}
