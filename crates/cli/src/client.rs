//! The API client: over HTTP to a running server, or inside this process to an engine over the data directory. Commands
//! see no difference.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, bail};
use axum::Router;
use axum::body::Body;
use axum::http::{Method, Request};
use charter_contract::ids::TenantId;
use charter_contract::json::{Profile, decode, decode_stored};
use charter_engine::Caller;
use charter_server::{Access, AppState, Limits, router};
use futures_util::StreamExt;
use http_body_util::BodyExt;
use serde_json::Value;
use tower::ServiceExt;

use crate::boot::{self, McpConsumer, RunningEngine};
use crate::config::Config;
use crate::failure::{ReportedFailure, UnansweredRequest};

/// Largest response that a command reads, in bytes.
const MAX_RESPONSE: usize = 256 << 20;

/// The timeout of a request to this process: indexing lenses may take long.
const LOCAL_TIMEOUT: Duration = Duration::from_secs(24 * 3_600);

/// A connection to the API.
pub(crate) enum Client {
    /// A running server.
    Remote {
        http: reqwest::Client,
        base: String,
        key: Option<String>,
    },
    /// An engine in this process.
    Local {
        router: Router,
        running: RunningEngine,
    },
}

impl Client {
    /// Connects to the configured server; else to the server that holds the data directory; else starts an engine here.
    pub(crate) async fn connect(config: &Config) -> anyhow::Result<Self> {
        Self::connect_as(config, None).await
    }

    /// Connects as [`Self::connect`] does. In this process, the local user acts as an admin of `tenant` if it is set.
    pub(crate) async fn connect_as(
        config: &Config,
        tenant: Option<&TenantId>,
    ) -> anyhow::Result<Self> {
        Self::connect_for(config, tenant, McpConsumer::Command).await
    }

    async fn connect_for(
        config: &Config,
        tenant: Option<&TenantId>,
        waiting: McpConsumer,
    ) -> anyhow::Result<Self> {
        let server = match &config.server {
            Some(server) => server.clone(),
            None => match boot::start_for(config, waiting).await {
                Ok(running) => return Self::local(running, config, tenant),
                Err(error) => holder_address(&error).ok_or(error)?,
            },
        };
        if let Some(tenant) = tenant {
            bail!(
                "the server at {server} works for the tenant of the key: send a key of `{tenant}` and omit --tenant, \
                 or stop the server to work on its data"
            );
        }
        Self::remote(&server, config)
    }

    /// Connects to the configured server; fails without one.
    pub(crate) fn to_server(config: &Config) -> anyhow::Result<Self> {
        let Some(server) = &config.server else {
            bail!("this command needs a running server: name it with --server URL");
        };
        Self::remote(server, config)
    }

    /// The address of the server that holds the data directory, if opening the directory failed for that reason.
    pub(crate) fn holder(error: &anyhow::Error) -> Option<String> {
        holder_address(error)
    }

    fn remote(base: &str, config: &Config) -> anyhow::Result<Self> {
        let http = reqwest::Client::builder()
            .build()
            .context("setting up the HTTP client")?;
        Ok(Self::Remote {
            http,
            base: base.trim_end_matches('/').to_owned(),
            key: config.api_key.clone(),
        })
    }

    fn local(
        running: RunningEngine,
        config: &Config,
        tenant: Option<&TenantId>,
    ) -> anyhow::Result<Self> {
        let mut caller = Caller::local()?;
        if let Some(tenant) = tenant {
            caller.tenant = tenant.clone();
        }
        let limits = Limits {
            body_bytes: MAX_RESPONSE,
            // No other caller waits, and the work would end with this process.
            timeout: LOCAL_TIMEOUT,
            ..Limits::default()
        };
        let state = AppState::new(
            std::sync::Arc::clone(&running.engine),
            Access::in_process(caller),
            limits,
            boot::identity(config, config.listen)?,
            None,
        );
        Ok(Self::Local {
            router: router(state),
            running,
        })
    }

    /// Whether this process does the requested work, which then ends with it.
    pub(crate) fn is_local(&self) -> bool {
        matches!(self, Self::Local { .. })
    }

    /// Releases the client's resources.
    pub(crate) async fn close(self) -> anyhow::Result<()> {
        match self {
            Self::Remote { .. } => Ok(()),
            Self::Local { router, running } => {
                drop(router);
                running.stop().await
            }
        }
    }

    pub(crate) async fn get(&self, path: &str) -> anyhow::Result<Value> {
        self.call(Method::GET, path, None).await
    }

    pub(crate) async fn post(&self, path: &str, body: Option<&Value>) -> anyhow::Result<Value> {
        self.call(Method::POST, path, body).await
    }

    pub(crate) async fn delete(&self, path: &str) -> anyhow::Result<Value> {
        self.call(Method::DELETE, path, None).await
    }

    /// Posts raw bytes as the body.
    pub(crate) async fn upload(&self, path: &str, body: Vec<u8>) -> anyhow::Result<Value> {
        self.send(Method::POST, path, Some(body)).await
    }

    async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> anyhow::Result<Value> {
        let body = body.map(|body| body.to_string().into_bytes());
        self.send(method, path, body).await
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<Vec<u8>>,
    ) -> anyhow::Result<Value> {
        let (ok, bytes) = match self {
            Self::Remote { http, base, key } => {
                let mut request = http.request(method, format!("{base}{path}"));
                if let Some(key) = key {
                    request = request.bearer_auth(key);
                }
                if let Some(body) = body {
                    request = request
                        .header("content-type", "application/json")
                        .body(body);
                }
                let response = request.send().await.with_context(|| no_answer(base))?;
                let ok = response.status().is_success();
                (ok, response.bytes().await.context("reading the answer")?)
            }
            Self::Local { router, .. } => {
                let request = Request::builder()
                    .method(method)
                    .uri(path)
                    .header("content-type", "application/json")
                    .body(Body::from(body.unwrap_or_default()))
                    .context("building a request")?;
                let response = router.clone().oneshot(request).await?;
                let ok = response.status().is_success();
                let bytes = response
                    .into_body()
                    .collect()
                    .await
                    .context("reading the answer")?;
                (ok, bytes.to_bytes())
            }
        };
        answer(ok, &bytes)
    }

    /// Downloads a response of any length, and passes on each piece as it arrives.
    pub(crate) async fn download(
        &self,
        path: &str,
        mut piece: impl FnMut(&[u8]) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let mut pieces = self.stream(Method::GET, path, None, "*/*").await?;
        while let Some(bytes) = pieces.next().await {
            piece(&bytes?)?;
        }
        Ok(())
    }

    /// Downloads a response of any length into a file. Writes a temporary file beside it first, so that the name never
    /// refers to a partial response.
    pub(crate) async fn save(&self, path: &str, file: &Path) -> anyhow::Result<()> {
        let writing = || format!("writing {}", file.display());
        let mut name = file.file_name().unwrap_or_default().to_owned();
        name.push(".part");
        let part = file.with_file_name(name);
        let mut out = File::create(&part).with_context(writing)?;
        let received = self
            .download(path, |piece| out.write_all(piece).with_context(writing))
            .await
            .and_then(|()| out.sync_all().with_context(writing));
        if let Err(error) = received {
            std::fs::remove_file(&part).with_context(|| format!("removing {}", part.display()))?;
            return Err(error);
        }
        std::fs::rename(&part, file).with_context(writing)
    }

    /// Sends a request and reports each progress event as it arrives; returns the response.
    pub(crate) async fn ask(
        &self,
        request: &Value,
        mut progress: impl FnMut(&Value),
    ) -> anyhow::Result<Value> {
        let body = Some(request.to_string());
        let each = |event: StreamEvent<'_>| match event.name {
            "progress" => {
                progress(&event.data);
                Ok(None)
            }
            "response" => Ok(Some(event.data)),
            "error" => Err(failure(&event.data)),
            _ => Ok(None),
        };
        let answer = self
            .events(Method::POST, "/v1/requests", body, each)
            .await?;
        answer.context("the server ended the stream without an answer")
    }

    /// Reports every event of a stream, until the server ends it.
    pub(crate) async fn watch(
        &self,
        path: &str,
        mut each: impl FnMut(&StreamEvent<'_>) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let each = |event: StreamEvent<'_>| each(&event).map(|()| None::<()>);
        self.events(Method::GET, path, None, each).await.map(|_| ())
    }

    /// Reports the events of a stream until `each` returns `false` or the server ends the stream.
    pub(crate) async fn watch_while(
        &self,
        path: &str,
        mut each: impl FnMut(&StreamEvent<'_>) -> anyhow::Result<bool>,
    ) -> anyhow::Result<()> {
        let each = |event: StreamEvent<'_>| Ok((!each(&event)?).then_some(()));
        self.events(Method::GET, path, None, each).await.map(|_| ())
    }

    /// Reads a stream of events until one is final; `None` if the stream ends before.
    async fn events<T>(
        &self,
        method: Method,
        path: &str,
        body: Option<String>,
        mut each: impl FnMut(StreamEvent<'_>) -> anyhow::Result<Option<T>>,
    ) -> anyhow::Result<Option<T>> {
        let mut pieces = self.stream(method, path, body, "text/event-stream").await?;
        let mut buffer: Vec<u8> = Vec::new();
        while let Some(chunk) = pieces.next().await {
            buffer.extend(chunk?);
            while let Some(end) = buffer.windows(2).position(|pair| pair == b"\n\n") {
                let event: Vec<u8> = buffer.drain(..end + 2).collect();
                let event = String::from_utf8(event).context("the stream is not UTF-8")?;
                if let Some(event) = StreamEvent::parse(&event)
                    && let Some(end) = each(event)?
                {
                    return Ok(Some(end));
                }
            }
        }
        Ok(None)
    }

    /// Sends a request and returns its response as a stream of pieces.
    async fn stream(
        &self,
        method: Method,
        path: &str,
        body: Option<String>,
        accept: &str,
    ) -> anyhow::Result<futures_util::stream::BoxStream<'static, anyhow::Result<Vec<u8>>>> {
        let headers = [("content-type", "application/json"), ("accept", accept)];
        match self {
            Self::Remote { http, base, key } => {
                let mut request = http.request(method, format!("{base}{path}"));
                for (name, value) in headers {
                    request = request.header(name, value);
                }
                if let Some(key) = key {
                    request = request.bearer_auth(key);
                }
                let response = request
                    .body(body.unwrap_or_default())
                    .send()
                    .await
                    .with_context(|| no_answer(base))?;
                if !response.status().is_success() {
                    let bytes = response.bytes().await.context("reading the answer")?;
                    return Err(refusal(&bytes));
                }
                let pieces = response.bytes_stream();
                Ok(pieces
                    .map(|piece| Ok(piece.context("reading the stream")?.to_vec()))
                    .boxed())
            }
            Self::Local { router, .. } => {
                let mut request = Request::builder().method(method).uri(path);
                for (name, value) in headers {
                    request = request.header(name, value);
                }
                let request = request
                    .body(Body::from(body.unwrap_or_default()))
                    .context("building a request")?;
                let response = router.clone().oneshot(request).await?;
                if !response.status().is_success() {
                    let body = response.into_body().collect().await;
                    return Err(refusal(&body.context("reading the answer")?.to_bytes()));
                }
                let pieces = response.into_body().into_data_stream();
                Ok(pieces
                    .map(|piece| Ok(piece.context("reading the stream")?.to_vec()))
                    .boxed())
            }
        }
    }
}

fn no_answer(base: &str) -> UnansweredRequest {
    UnansweredRequest {
        server: base.to_owned(),
    }
}

/// The error of a response by which the server refused the request.
fn refusal(bytes: &[u8]) -> anyhow::Error {
    let refused = answer(false, bytes).err();
    refused.unwrap_or_else(|| anyhow::anyhow!("the server rejected the request"))
}

/// One event of a stream.
pub(crate) struct StreamEvent<'a> {
    /// Its name.
    pub(crate) name: &'a str,
    /// Its id, where it has one.
    pub(crate) id: Option<&'a str>,
    /// The payload.
    pub(crate) data: Value,
}

impl<'a> StreamEvent<'a> {
    fn parse(event: &'a str) -> Option<Self> {
        let field = |name: &str| {
            let mut lines = event.lines();
            lines.find_map(|line| {
                line.strip_prefix(name)?
                    .strip_prefix(':')
                    .map(str::trim_start)
            })
        };
        Some(Self {
            name: field("event")?,
            id: field("id"),
            data: decode_stored(field("data")?).ok()?,
        })
    }
}

fn answer(ok: bool, bytes: &[u8]) -> anyhow::Result<Value> {
    if bytes.len() > MAX_RESPONSE {
        bail!("the answer is larger than {MAX_RESPONSE} bytes");
    }
    if bytes.is_empty() && ok {
        return Ok(Value::Null);
    }
    // A server also returns runs of older versions, whose outputs nest deeper.
    let body: Value = decode(bytes, Profile::OPERATOR)
        .context("the answer is not JSON; is this a Charter server?")?;
    if ok { Ok(body) } else { Err(failure(&body)) }
}

fn failure(body: &Value) -> anyhow::Error {
    match ReportedFailure::from_body(body) {
        Some(reported) => reported.into(),
        None => anyhow::anyhow!("the server rejected the request: {body}"),
    }
}

/// The address that the holder of the data directory recorded, if the holder is a server.
fn holder_address(error: &anyhow::Error) -> Option<String> {
    let reported = error.downcast_ref::<ReportedFailure>()?;
    if reported.code != "data_directory_locked" {
        return None;
    }
    let start = reported.message.find("http://")?;
    let address = reported.message[start..].trim_end_matches(')');
    Some(address.to_owned())
}
