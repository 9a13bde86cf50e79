//! Runs one HTTP tool: fill the template, ask the egress wall, exchange, read.
//!
//! Must not know scripts or processes.

mod endpoint;
mod request;
mod response;
mod template;

use charter_contract::agentic::error::ErrorType;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::redirect;
use rustls_platform_verifier::BuilderVerifierExt;
use tokio_util::sync::CancellationToken;

use crate::call::{HttpTool, ToolCall};
use crate::egress::{EgressPolicy, EgressRefusal};
use crate::kept::SpooledBytes;
use crate::outcome::{Failure, Success};
use crate::redact::Redactor;
use crate::telemetry::TraceContext;
pub use endpoint::{PlainHttp, base};
use request::PreparedRequest;
pub(crate) use request::{Exchange, IDEMPOTENCY_KEY, MAX_BODY_BYTES};
pub(crate) use response::{End, HttpAnswer, kind_of, read_within};

/// How long connecting may take, within the call's own time.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Redirects followed, all to the same origin.
const MAX_REDIRECTS: usize = 5;

/// What became of a request.
enum SendOutcome {
    /// It was not sent: the call is a dry run.
    Previewed(Success),
    Answered(HttpAnswer),
}

/// What servers are told that asks.
pub(crate) const USER_AGENT: &str = concat!("charter/", env!("CARGO_PKG_VERSION"));

/// Which redirects are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Redirects {
    /// None.
    None,
    /// Those that stay with the origin that was checked.
    SameOrigin,
}

/// Exchanges with remote hosts; holds the TLS settings that calls share.
#[derive(Debug)]
pub(crate) struct HttpRunner {
    tls: rustls::ClientConfig,
    trace: TraceContext,
    /// Where large answers are kept; without it they stay in memory.
    directory: Option<PathBuf>,
}

impl HttpRunner {
    /// TLS by rustls with ring, trusting what the platform trusts.
    pub(crate) fn new() -> Result<Self, rustls::Error> {
        Ok(Self {
            tls: platform_tls()?,
            trace: TraceContext::default(),
            directory: None,
        })
    }

    /// The same, and the servers of HTTP tools are told which trace a call belongs to.
    pub(crate) fn telling(self, trace: TraceContext) -> Self {
        Self { trace, ..self }
    }

    /// The same, and large answers are kept in files of a directory until there is memory for them.
    pub(crate) fn keeping_in(self, directory: &Path) -> Self {
        Self {
            directory: Some(directory.to_owned()),
            ..self
        }
    }

    /// Runs an HTTP tool: fills its templates and exchanges.
    pub(crate) async fn run(
        &self,
        call: &ToolCall,
        tool: &HttpTool,
        redactor: &Redactor,
        cancel: &CancellationToken,
    ) -> Result<Success, Failure> {
        let mut exchange = request::fill(call, tool).map_err(|failure| Failure {
            message: redactor.apply(&failure.message),
            ..failure
        })?;
        exchange.add_trace_header(self.trace);
        self.send(call, &exchange, Redirects::SameOrigin, redactor, cancel)
            .await
    }

    /// Sends one request, within the call's egress list, time and size.
    pub(crate) async fn send(
        &self,
        call: &ToolCall,
        exchange: &Exchange,
        redirects: Redirects,
        redactor: &Redactor,
        cancel: &CancellationToken,
    ) -> Result<Success, Failure> {
        let exchange = async {
            let prepared = request::prepare(exchange, &call.idempotency_key)?;
            if let Some(preview) = prepared.preview_instead(call.dry_run, redactor) {
                return Ok(SendOutcome::Previewed(preview));
            }
            let answer = self.exchange(call, prepared, redirects).await?;
            Ok(SendOutcome::Answered(answer))
        };
        let result = tokio::select! {
            biased;
            () = cancel.cancelled() => {
                Err(Failure::cancelled())
            }
            result = tokio::time::timeout(call.limits.timeout, exchange) => result.unwrap_or_else(|_| {
                let message = format!("no answer within {} ms", call.limits.timeout.as_millis());
                Err(Failure::new(ErrorType::TimeoutError, message).retryable())
            }),
        };
        let result = match result {
            Ok(SendOutcome::Previewed(preview)) => Ok(preview),
            // The call's time is over when the answer is here; it may wait for memory.
            Ok(SendOutcome::Answered(answer)) => {
                response::read(answer, redactor, call.room.as_ref()).await
            }
            Err(failure) => Err(failure),
        };
        result.map_err(|failure| Failure {
            message: redactor.apply(&failure.message),
            ..failure
        })
    }

    async fn exchange(
        &self,
        call: &ToolCall,
        prepared: PreparedRequest,
        redirects: Redirects,
    ) -> Result<HttpAnswer, Failure> {
        let client = self.client(call, &prepared, redirects).await?;
        let request = prepared.into_request();
        let body = SpooledBytes::new(self.directory.clone());
        HttpAnswer::to(&client, request, call.limits.output_bytes, body).await
    }

    /// A client for this call alone: it connects to the addresses that were
    /// checked, keeps no connection, and knows no proxy.
    async fn client(
        &self,
        call: &ToolCall,
        prepared: &PreparedRequest,
        redirects: Redirects,
    ) -> Result<reqwest::Client, Failure> {
        let policy = EgressPolicy::new(call.egress.clone());
        let (host, port) = prepared.target();
        let addresses = policy
            .addresses(host, port)
            .await
            .map_err(|refusal| refused(&refusal))?;
        self.client_to(host, &addresses, redirects)
            .map_err(|error| {
                Failure::new(
                    ErrorType::SystemError,
                    format!("preparing the HTTP client: {error}"),
                )
            })
    }

    /// A client that connects to these addresses of a host and to nothing else.
    pub(crate) fn client_to(
        &self,
        host: &str,
        addresses: &[SocketAddr],
        redirects: Redirects,
    ) -> Result<reqwest::Client, reqwest::Error> {
        self.builder(redirects)
            .resolve_to_addrs(host, addresses)
            .pool_max_idle_per_host(0)
            .build()
    }

    /// A client that keeps its connections, for hosts that the operator names.
    pub(crate) fn pooled_client(
        &self,
        redirects: Redirects,
    ) -> Result<reqwest::Client, reqwest::Error> {
        self.builder(redirects).build()
    }

    fn builder(&self, redirects: Redirects) -> reqwest::ClientBuilder {
        reqwest::Client::builder()
            .tls_backend_preconfigured(self.tls.clone())
            .no_proxy()
            .redirect(redirects.policy())
            .connect_timeout(CONNECT_TIMEOUT)
    }
}

/// The TLS settings of this process. The platform's certificates, some hundred files, are read once.
fn platform_tls() -> Result<rustls::ClientConfig, rustls::Error> {
    static SETTINGS: OnceLock<rustls::ClientConfig> = OnceLock::new();
    if let Some(settings) = SETTINGS.get() {
        return Ok(settings.clone());
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let settings = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_platform_verifier()?
        .with_no_client_auth();
    Ok(SETTINGS.get_or_init(|| settings).clone())
}

impl Redirects {
    fn policy(self) -> redirect::Policy {
        match self {
            Self::None => redirect::Policy::none(),
            Self::SameOrigin => redirect::Policy::custom(same_origin),
        }
    }
}

fn same_origin(attempt: redirect::Attempt<'_>) -> redirect::Action {
    let same = attempt
        .previous()
        .last()
        .is_some_and(|from| from.origin() == attempt.url().origin());
    if same && attempt.previous().len() <= MAX_REDIRECTS {
        attempt.follow()
    } else {
        attempt.stop()
    }
}

fn refused(refusal: &EgressRefusal) -> Failure {
    let message = match std::error::Error::source(refusal) {
        Some(source) => format!("{refusal}: {source}"),
        None => refusal.to_string(),
    };
    match refusal {
        EgressRefusal::NotListed { .. } | EgressRefusal::PrivateAddress { .. } => {
            Failure::new(ErrorType::PermissionError, message)
        }
        EgressRefusal::Unresolved { .. } => {
            Failure::new(ErrorType::ExecutionError, message).retryable()
        }
    }
}
