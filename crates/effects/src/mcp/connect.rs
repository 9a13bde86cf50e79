//! Opens a connection to a server: its process in the sandbox, or its URL behind the egress wall. Must not know how the
//! connection is used, or when it is reopened.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use charter_contract::bounds::JSON_BYTES;
use charter_contract::cause::chain;
use charter_contract::visible::clean;
use reqwest::Url;
use reqwest::header::{HeaderName, HeaderValue};
use rmcp::ErrorData;
use rmcp::handler::client::ClientHandler;
use rmcp::model::{
    ClientConfig, ElicitRequestParams, ElicitResult, ElicitationCreateRequestMethod,
    Implementation, ProtocolVersion,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, NotificationContext, Peer, RequestContext,
    RoleClient, RunningService, serve_client_with_lifecycle,
};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use serde_json::json;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use super::handshake::{DiscoverSupport, LateAnswerFilter};
use super::http::{self, MeasuredHttp};
use super::interactions::{Interactions, Tap};
use super::lines::Bounded;
use super::{McpServerOptions, McpTransport, SecretHeader};
use crate::Sandbox;
use crate::egress::{EgressPolicy, LastRefusal};
use crate::http::Redirects;
use crate::sandbox::{Alive, ServerProgram};

/// How long a killed server's standard error may stay open.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// Bytes of the end of a server's standard error that are kept.
const KEPT_STDERR_BYTES: usize = 4 << 10;
/// Number of its last lines that are shown, and of characters of each.
const SHOWN_LINES: usize = 6;
const SHOWN_OF_LINE: usize = 200;

/// A connection whose handshake is complete. Dropping it ends the server's process.
pub(super) struct Connection {
    pub(super) peer: Peer<RoleClient>,
    pub(super) service: RunningService<RoleClient, Listener>,
    pub(super) traces: Traces,
    pub(super) process: Option<Process>,
    pub(super) interactions: Interactions,
}

/// A server's process, and the reader of its standard error.
pub(super) struct Process {
    alive: Alive,
    tail: JoinHandle<()>,
}

impl Process {
    /// Kills it, and waits for the output that it wrote before.
    pub(super) async fn end(self) {
        drop(self.alive);
        if tokio::time::timeout(LAST_WORDS, self.tail).await.is_err() {
            tracing::debug!("a killed server's standard error stayed open");
        }
    }
}

/// Evidence of why a connection ended.
#[derive(Debug, Clone, Default)]
pub(super) struct Traces {
    fault: Arc<OnceLock<String>>,
    stderr: Arc<Mutex<Vec<u8>>>,
    last_refusal: Arc<OnceLock<LastRefusal>>,
}

impl Traces {
    /// Whether the connection ended because a message of the server was refused.
    pub(super) fn is_at_fault(&self) -> bool {
        self.fault.get().is_some()
    }

    /// Returns why the connection ended, if known.
    pub(super) fn reason(&self) -> Option<String> {
        if let Some(fault) = self.fault.get() {
            return Some(fault.clone());
        }
        let kept = self.stderr.lock().unwrap_or_else(PoisonError::into_inner);
        let words = last_words(&String::from_utf8_lossy(&kept));
        let words = (!words.is_empty()).then(|| format!("its last output was: {words}"));
        let refusal = self.last_refusal.get().and_then(LastRefusal::get);
        let refusal = refusal.map(|refusal| format!("egress refused: {refusal}"));
        match (refusal, words) {
            (Some(refusal), Some(words)) => Some(format!("{refusal}; {words}")),
            (refusal, words) => refusal.or(words),
        }
    }
}

/// Returns the last lines without stack frames. The very last line alone often names only a log file, or the version of
/// the failed program.
fn last_words(text: &str) -> String {
    let lines = text.lines().rev().map(|line| clean(line, SHOWN_OF_LINE));
    let telling = lines.filter(|line| !line.is_empty() && !line.starts_with("at "));
    let mut shown: Vec<String> = telling.take(SHOWN_LINES).collect();
    shown.reverse();
    shown.join(" | ")
}

/// The first step of the handshake. Some older servers exit when they receive `server/discover`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Handshake {
    /// `server/discover`, and `initialize` if the server does not know it or does not answer in time.
    Newest,
    /// `server/discover`, with no time limit of its own.
    NewestAlone,
    /// `initialize`.
    Older,
}

impl Handshake {
    /// Returns the handshake to try after this one has failed.
    fn after(self, error: &NotOpened, knows_newest: bool) -> Option<Self> {
        match (self, error) {
            _ if knows_newest => Some(Self::NewestAlone),
            (Self::Newest, NotOpened::Refused(_)) => Some(Self::Older),
            (Self::Newest, NotOpened::TimedOut(..)) | (Self::NewestAlone | Self::Older, _) => None,
        }
    }
}

pub(super) fn lifecycle(handshake: Handshake) -> ClientLifecycleMode {
    let newest = vec![ProtocolVersion::LATEST];
    match handshake {
        Handshake::Newest => ClientLifecycleMode::Auto {
            preferred_versions: newest,
            legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
        },
        Handshake::NewestAlone => ClientLifecycleMode::Discover {
            preferred_versions: newest,
        },
        Handshake::Older => ClientLifecycleMode::Initialize,
    }
}

/// Receives a server's notifications and its questions to the users of clients. Its other requests are refused:
/// sampling and roots.
pub(super) struct Listener {
    pub(super) changed: Arc<Notify>,
    pub(super) interactions: Interactions,
    /// Whether the handshake declares that users can be asked.
    pub(super) asks: bool,
}

impl ClientHandler for Listener {
    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let link = self.interactions.link_of(&context.extensions);
        match link.filter(|link| link.client().capabilities.contains_key("elicitation")) {
            Some(link) => self.interactions.elicit(&link, request).await,
            None => Err(ErrorData::method_not_found::<ElicitationCreateRequestMethod>()),
        }
    }

    async fn on_prompt_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.changed.notify_one();
    }

    async fn on_resource_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.changed.notify_one();
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.changed.notify_one();
    }

    fn get_info(&self) -> ClientConfig {
        let own = Implementation::new("charter", env!("CARGO_PKG_VERSION"));
        let asks = json!({"elicitation": {}});
        let can = self.asks.then(|| serde_json::from_value(asks));
        ClientConfig::new(can.and_then(Result::ok).unwrap_or_default(), own)
    }
}

/// Result of a handshake.
type HandshakeResult = Result<RunningService<RoleClient, Listener>, ClientInitializeError>;

/// Why a connection failed to open.
#[derive(Debug)]
enum NotOpened {
    /// The server did not answer within its start timeout; with what its program reported until then.
    TimedOut(Duration, Option<String>),
    /// It exited, refused, or cannot be started or reached.
    Refused(String),
}

impl NotOpened {
    fn reason(self) -> String {
        match self {
            Self::TimedOut(limit, reported) => {
                let message = format!(
                    "no handshake within {} ms: a server that takes longer to start needs a higher `start_timeout_ms`",
                    limit.as_millis()
                );
                with_reported(message, reported)
            }
            Self::Refused(reason) => reason,
        }
    }
}

/// Connects and completes the handshake, within the server's start timeout; tries again if the first attempt shows
/// which handshake the server needs.
pub(super) async fn open(
    options: &McpServerOptions,
    sandbox: &Sandbox,
    handshake: Handshake,
    changed: &Arc<Notify>,
    interactions: &Interactions,
) -> Result<Connection, String> {
    let newest = DiscoverSupport::default();
    let opened = open_in_time(
        options,
        sandbox,
        handshake,
        (changed, interactions),
        &newest,
    )
    .await;
    let next = match &opened {
        Ok(_) => None,
        Err(error) => handshake.after(error, newest.get()),
    };
    let opened = match next {
        None => opened,
        Some(next) => open_in_time(options, sandbox, next, (changed, interactions), &newest).await,
    };
    opened.map_err(NotOpened::reason)
}

async fn open_in_time(
    options: &McpServerOptions,
    sandbox: &Sandbox,
    handshake: Handshake,
    listeners: (&Arc<Notify>, &Interactions),
    newest: &DiscoverSupport,
) -> Result<Connection, NotOpened> {
    let limit = options.start_timeout;
    let traces = Traces::default();
    let opening = open_once(
        options,
        sandbox,
        handshake,
        listeners,
        newest,
        traces.clone(),
    );
    match tokio::time::timeout(limit, opening).await {
        Ok(opened) => opened.map_err(NotOpened::Refused),
        Err(_) => Err(NotOpened::TimedOut(limit, traces.reason())),
    }
}

/// Adds what the server's program reported to a message.
fn with_reported(message: String, reported: Option<String>) -> String {
    match reported {
        Some(reported) => format!("{message}; {reported}"),
        None => message,
    }
}

async fn open_once(
    options: &McpServerOptions,
    sandbox: &Sandbox,
    handshake: Handshake,
    listeners: (&Arc<Notify>, &Interactions),
    newest: &DiscoverSupport,
    traces: Traces,
) -> Result<Connection, String> {
    let (changed, interactions) = listeners;
    let listener = Listener {
        changed: Arc::clone(changed),
        interactions: interactions.clone(),
        asks: options.asks,
    };
    let lifecycle = lifecycle(handshake);
    let (opened, process) = match &options.transport {
        McpTransport::Stdio { .. } => {
            let (stdin, stdout, process) = start(options, sandbox, &traces).await?;
            let transport =
                AsyncRwTransport::new_client(stdout, stdin).with_max_line_length(JSON_BYTES);
            let transport = LateAnswerFilter::new(transport, newest.clone());
            let transport = Tap::new(transport, interactions.clone());
            let opened: HandshakeResult =
                serve_client_with_lifecycle(listener, transport, lifecycle).await;
            (opened, Some(process))
        }
        McpTransport::Http { url, headers, .. } => {
            let client = http_client(options, sandbox).await?;
            let mut config = StreamableHttpClientTransportConfig::with_uri(url.as_str())
                .custom_headers(custom(headers)?);
            config.max_sse_event_size = JSON_BYTES;
            let client = MeasuredHttp::new(client);
            let transport = StreamableHttpClientTransport::with_client(client, config);
            let transport = LateAnswerFilter::new(transport, newest.clone());
            let transport = Tap::new(transport, interactions.clone());
            let opened: HandshakeResult =
                serve_client_with_lifecycle(listener, transport, lifecycle).await;
            (opened, None)
        }
    };
    match opened {
        Ok(service) => Ok(Connection {
            peer: service.peer().clone(),
            service,
            traces,
            process,
            interactions: interactions.clone(),
        }),
        Err(error) => {
            if let Some(process) = process {
                process.end().await;
            }
            Err(with_reported(reason_of(&error), traces.reason()))
        }
    }
}

/// Why a handshake failed. The SDK's own text of a transport's failure names Rust types of the transport.
fn reason_of(error: &ClientInitializeError) -> String {
    match error {
        ClientInitializeError::TransportError { error, .. } => {
            let error = error.error.as_ref();
            http::reason_of(error).unwrap_or_else(|| chain(error))
        }
        ClientInitializeError::LegacyFallbackFailed { discover, fallback } => {
            let (discover, fallback) = (reason_of(discover), reason_of(fallback));
            if discover == fallback {
                return discover;
            }
            format!("`server/discover` failed: {discover}; `initialize` failed: {fallback}")
        }
        other => chain(other),
    }
}

/// Starts a server's process, and records evidence of its end.
async fn start(
    options: &McpServerOptions,
    sandbox: &Sandbox,
    traces: &Traces,
) -> Result<(ChildStdin, Bounded<ChildStdout>, Process), String> {
    let McpTransport::Stdio {
        home,
        command,
        arguments,
        environment,
        settings,
        runtime,
        search_path,
        readable,
        writable,
        egress,
        daemon,
    } = &options.transport
    else {
        return Err("the server has no program".to_owned());
    };
    let program = ServerProgram {
        name: options.name.as_ref(),
        home: *home,
        command,
        arguments,
        environment,
        settings,
        runtime,
        search_path,
        readable,
        writable,
        egress,
        daemon: daemon.as_deref(),
    };
    let started = sandbox.start_server(&program).await;
    let started = started.map_err(|failure| failure.message)?;
    let tail = tokio::spawn(keep_tail(started.stderr, Arc::clone(&traces.stderr)));
    let stdout = Bounded::new(started.stdout, Arc::clone(&traces.fault));
    traces.last_refusal.get_or_init(|| started.last_refusal);
    let alive = started.alive;
    Ok((started.stdin, stdout, Process { alive, tail }))
}

/// Creates a client that connects only to the checked addresses.
async fn http_client(
    options: &McpServerOptions,
    sandbox: &Sandbox,
) -> Result<reqwest::Client, String> {
    let McpTransport::Http { url, egress, .. } = &options.transport else {
        return Err("the server has no URL".to_owned());
    };
    let url = Url::parse(url).map_err(|error| format!("{url:?} is not a URL: {error}"))?;
    let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else {
        return Err(format!("{url} names no host"));
    };
    let host = host.trim_matches(['[', ']']);
    let addresses = EgressPolicy::public_and(egress.clone())
        .addresses(host, port)
        .await
        .map_err(|refusal| chain(&refusal))?;
    sandbox
        .http()
        .client_to(host, &addresses, Redirects::None)
        .map_err(|error| chain(&error))
}

fn custom(headers: &[SecretHeader]) -> Result<HashMap<HeaderName, HeaderValue>, String> {
    headers
        .iter()
        .map(|header| {
            let wrong = || format!("{header:?} is not a valid header");
            let name = HeaderName::from_bytes(header.name.as_bytes()).map_err(|_| wrong())?;
            let mut value = HeaderValue::from_str(&header.value).map_err(|_| wrong())?;
            value.set_sensitive(true);
            Ok((name, value))
        })
        .collect()
}

/// Keeps the end of a server's standard error.
async fn keep_tail(mut stderr: impl AsyncRead + Unpin, kept: Arc<Mutex<Vec<u8>>>) {
    let mut chunk = vec![0; KEPT_STDERR_BYTES];
    while let Ok(count @ 1..) = stderr.read(&mut chunk).await {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend_from_slice(&chunk[..count]);
        let excess = kept.len().saturating_sub(KEPT_STDERR_BYTES);
        kept.drain(..excess);
    }
}

#[cfg(test)]
mod tests {
    use rmcp::transport::streamable_http_client::StreamableHttpError;

    use super::*;

    #[tokio::test]
    async fn the_end_of_a_servers_standard_error_is_kept() {
        let traces = Traces::default();
        let message = format!("{}\nbefore\n  the end\n\n", "x".repeat(100_000));
        keep_tail(message.as_bytes(), Arc::clone(&traces.stderr)).await;
        assert_eq!(traces.stderr.lock().unwrap().len(), KEPT_STDERR_BYTES);
        let reason = traces.reason();
        let cut = "x".repeat(SHOWN_OF_LINE);
        let expected = format!("its last output was: {cut}… | before | the end");
        assert_eq!(reason, Some(expected));
        // A known fault takes precedence over standard error.
        traces.fault.set("it sent too much".to_owned()).unwrap();
        assert_eq!(traces.reason().as_deref(), Some("it sent too much"));
    }

    /// A late answer with the newest revision counts more than the failure of the first attempt.
    #[test]
    fn a_failed_handshake_determines_the_next_one() {
        let refused = NotOpened::Refused("it ended".to_owned());
        let timed_out = NotOpened::TimedOut(Duration::from_secs(60), None);
        for (error, knows_newest, next) in [
            (&refused, false, Some(Handshake::Older)),
            (&timed_out, false, None),
            (&refused, true, Some(Handshake::NewestAlone)),
            (&timed_out, true, Some(Handshake::NewestAlone)),
        ] {
            assert_eq!(Handshake::Newest.after(error, knows_newest), next);
        }
        for handshake in [Handshake::Older, Handshake::NewestAlone] {
            assert_eq!(handshake.after(&refused, false), None);
        }
    }

    #[test]
    fn a_start_that_takes_too_long_shows_the_last_words_of_the_program() {
        let traces = Traces::default();
        let words = b"npm error network request to the registry failed\n";
        traces.stderr.lock().unwrap().extend_from_slice(words);
        let reason = NotOpened::TimedOut(Duration::from_secs(1), traces.reason()).reason();
        assert_eq!(
            reason,
            "no handshake within 1000 ms: a server that takes longer to start needs a higher `start_timeout_ms`; its \
             last output was: npm error network request to the registry failed"
        );
    }

    /// The reason holds neither Rust types nor the SDK's own words, and one reason of two handshakes is shown once.
    #[tokio::test]
    async fn an_unreachable_server_is_refused_with_only_the_cause() {
        let http = crate::http::HttpRunner::new().unwrap();
        let closed = "127.0.0.1:1".parse().unwrap();
        let client = http
            .client_to("127.0.0.1", &[closed], Redirects::None)
            .unwrap();
        let refused = async || {
            let sent = client.get("http://127.0.0.1:1/mcp").send().await;
            let error: StreamableHttpError<reqwest::Error> = sent.unwrap_err().into();
            ClientInitializeError::transport::<Unreached>(error, "send initialized request")
        };
        let reason = reason_of(&refused().await);
        assert!(
            reason.ends_with("Connection refused (os error 111)"),
            "{reason}"
        );
        assert!(
            !reason.contains("rmcp") && !reason.contains("Transport"),
            "{reason}"
        );
        let both = ClientInitializeError::LegacyFallbackFailed {
            discover: Box::new(refused().await),
            fallback: Box::new(refused().await),
        };
        assert_eq!(reason_of(&both), reason);
    }

    type Unreached = StreamableHttpClientTransport<MeasuredHttp>;

    /// As npm and Node.js fail: the cause is above the last line.
    #[test]
    fn the_reported_end_has_the_cause_and_no_stack_trace() {
        let installer = "error code E403\nerror 403 Forbidden - GET https://packages.example/x\nerror A complete log \
                         of this run is in /home/x.log\n";
        assert_eq!(
            last_words(installer),
            "error code E403 | error 403 Forbidden - GET https://packages.example/x | error A complete log of this run \
             is in /home/x.log"
        );
        let runtime = "1\n2\n3\n  throw err;\n  ^\n\nError: Cannot find module '/x.js'\n    at load (loader:1:2)\n    \
                       at main (loader:3:4) {\n  code: 'MODULE_NOT_FOUND'\n}\n\nNode.js v24.19.0\n";
        assert_eq!(
            last_words(runtime),
            "throw err; | ^ | Error: Cannot find module '/x.js' | code: 'MODULE_NOT_FOUND' | } | Node.js v24.19.0"
        );
        assert_eq!(last_words(" \n\n"), "");
    }
}
