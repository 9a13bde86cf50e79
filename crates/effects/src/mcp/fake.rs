//! A server for the tests beside it: a task of the test, on the test's own clock, with configurable answers. Must not
//! assert anything itself.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use charter_contract::ids::Label;
use rmcp::service::{ClientLifecycleMode, serve_client_with_lifecycle};
use rmcp::transport::async_rw::AsyncRwTransport;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::sync::mpsc;

use super::connect::{Connection, Listener, Traces};
use super::interactions::Tap;
use super::keep::{Link, LiveConnection};
use super::{McpServerOptions, McpTransport, SecretHeader, Server, ToolSelection};
use crate::{Sandbox, SandboxOptions, TraceContext};

/// Value of its secret header.
pub(super) const SECRET: &str = "Bearer s3cr3t-value";

/// The far end of a connection.
pub(super) struct Fake {
    pub(super) server: Arc<Server>,
    heard: Arc<Mutex<Vec<Value>>>,
    say: mpsc::UnboundedSender<Value>,
}

/// Returns the options of a server at this URL.
pub(super) fn options(url: &str) -> McpServerOptions {
    McpServerOptions {
        name: Label::parse("files").unwrap(),
        transport: McpTransport::Http {
            url: url.to_owned(),
            headers: vec![SecretHeader {
                name: "authorization".to_owned(),
                variable: "FILES_TOKEN".to_owned(),
                value: SECRET.to_owned(),
            }],
            egress: Vec::new(),
        },
        selection: ToolSelection::default(),
        readonly: ["read".to_owned()].into(),
        start_timeout: Duration::from_secs(60),
        timeout: Duration::from_secs(60),
        refresh: Duration::from_secs(300),
        trace: TraceContext::default(),
        credential: None,
        listing: None,
        asks: false,
        offers: false,
    }
}

/// Creates a sandbox in a temporary folder.
pub(super) async fn sandbox() -> (Arc<Sandbox>, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let sandbox = Sandbox::new(SandboxOptions::new(folder.path())).await;
    (Arc::new(sandbox.unwrap()), folder)
}

/// Builds a page of a list of tools.
pub(super) fn page(names: impl IntoIterator<Item = String>, next: Option<&str>) -> Value {
    let tools: Vec<Value> = names
        .into_iter()
        .map(|name| json!({"name": name, "inputSchema": {"type": "object"}}))
        .collect();
    json!({"tools": tools, "nextCursor": next})
}

impl Fake {
    /// Starts a server that answers `tools/list` and `tools/call` with `answer`; `None` sends no answer.
    pub(super) async fn new<A>(answer: A) -> (Self, Connection)
    where
        A: FnMut(&Value) -> Option<Value> + Send + 'static,
    {
        Self::with_trace(TraceContext::default(), answer).await
    }

    /// Does the same with a trace context.
    pub(super) async fn with_trace<A>(trace: TraceContext, answer: A) -> (Self, Connection)
    where
        A: FnMut(&Value) -> Option<Value> + Send + 'static,
    {
        let (near, far) = tokio::io::duplex(1 << 16);
        let heard = Arc::new(Mutex::new(Vec::new()));
        let (say, said) = mpsc::unbounded_channel();
        tokio::spawn(speak(far, Arc::clone(&heard), said, answer));
        let (sandbox, _folder) = sandbox().await;
        let options = McpServerOptions {
            trace,
            ..options("https://mcp.example.com/")
        };
        let server = Arc::new(Server::new(options, &sandbox));
        let interactions = server.interactions();
        let listener = Listener {
            changed: Arc::clone(&server.look_again),
            interactions: interactions.clone(),
            asks: false,
        };
        let (read, write) = tokio::io::split(near);
        let transport = AsyncRwTransport::new_client(read, write);
        let transport = Tap::new(transport, interactions.clone());
        let service =
            serve_client_with_lifecycle(listener, transport, ClientLifecycleMode::Initialize)
                .await
                .unwrap();
        let peer = service.peer().clone();
        let traces = Traces::default();
        server.link.send_replace(Link::Up(LiveConnection {
            peer: peer.clone(),
            traces: traces.clone(),
            interactions: interactions.clone(),
        }));
        let connection = Connection {
            peer,
            service,
            traces,
            process: None,
            interactions,
        };
        (Self { server, heard, say }, connection)
    }

    /// Returns the received messages of this method.
    pub(super) fn heard(&self, method: &str) -> Vec<Value> {
        let heard = self.heard.lock().unwrap();
        let of = heard.iter().filter(|message| message["method"] == method);
        of.cloned().collect()
    }

    /// Sends an unsolicited message.
    pub(super) fn send(&self, message: Value) {
        self.say.send(message).unwrap();
    }

    /// Waits for the answer to a request of the server.
    pub(super) async fn answered(&self, id: u64) -> Value {
        loop {
            let answer = {
                let heard = self.heard.lock().unwrap();
                let mut answers = heard.iter().filter(|message| message["method"].is_null());
                answers.find(|message| message["id"] == id).cloned()
            };
            match answer {
                Some(answer) => return answer,
                None => tokio::task::yield_now().await,
            }
        }
    }
}

async fn speak(
    stream: tokio::io::DuplexStream,
    heard: Arc<Mutex<Vec<Value>>>,
    mut said: mpsc::UnboundedReceiver<Value>,
    mut answer: impl FnMut(&Value) -> Option<Value>,
) {
    let (read, mut write) = tokio::io::split(stream);
    let mut lines = BufReader::new(read).lines();
    loop {
        let message = tokio::select! {
            line = lines.next_line() => {
                let Ok(Some(line)) = line else { return };
                let asked: Value = serde_json::from_str(&line).unwrap();
                heard.lock().unwrap().push(asked.clone());
                match result(&asked, &mut answer) {
                    Some(Ok(result)) => json!({"jsonrpc": "2.0", "id": asked["id"], "result": result}),
                    Some(Err(error)) => json!({"jsonrpc": "2.0", "id": asked["id"], "error": error}),
                    None => continue,
                }
            }
            Some(message) = said.recv() => message,
        };
        let line = format!("{message}\n");
        if write.write_all(line.as_bytes()).await.is_err() {
            return;
        }
    }
}

/// Builds a result, or the error in the field `error` of the configured answer.
fn result(
    asked: &Value,
    answer: &mut impl FnMut(&Value) -> Option<Value>,
) -> Option<Result<Value, Value>> {
    let told = match asked["method"].as_str()? {
        "initialize" => json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {"listChanged": true}},
            "serverInfo": {"name": "fake", "version": "1"},
        }),
        "tools/list" | "tools/call" => answer(asked)?,
        _ => return None,
    };
    Some(match told.get("error") {
        Some(error) => Err(error.clone()),
        None => Ok(told),
    })
}
