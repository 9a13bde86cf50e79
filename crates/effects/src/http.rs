//! Exchanges with remote hosts: clients, their TLS settings and redirects, and answers within bounds.
//!
//! Must not know tools, calls or the egress wall.

mod endpoint;
mod response;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::header::HeaderName;
use reqwest::redirect;
use rustls_platform_verifier::BuilderVerifierExt;

use crate::kept::SpooledBytes;
use crate::telemetry::TraceContext;
pub(crate) use endpoint::{OPENID_CONFIGURATION, openid_configuration};
pub use endpoint::{PlainHttp, base};
pub(crate) use response::{End, HttpAnswer, kind_of, read, read_within};

/// How long connecting may take, within the call's own time.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Redirects followed, all to the same origin.
const MAX_REDIRECTS: usize = 5;

/// The header of draft-ietf-httpapi-idempotency-key-header.
pub(crate) const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// The largest request body: 16 MiB.
pub(crate) const MAX_BODY_BYTES: usize = 16 << 20;
/// The `User-Agent` of all requests.
pub(crate) const USER_AGENT: &str = concat!("charter/", env!("CARGO_PKG_VERSION"));

/// Which redirects are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Redirects {
    /// None.
    None,
    /// Those to the origin that was checked.
    SameOrigin,
}

/// Exchanges with remote hosts; holds the TLS settings that calls share.
#[derive(Debug)]
pub(crate) struct HttpRunner {
    tls: rustls::ClientConfig,
    trace: TraceContext,
    /// Directory for large answers. Without one they stay in memory.
    directory: Option<PathBuf>,
}

impl HttpRunner {
    /// Uses TLS by rustls with ring, and trusts the platform's certificates.
    pub(crate) fn new() -> Result<Self, rustls::Error> {
        Ok(Self {
            tls: platform_tls()?,
            trace: TraceContext::default(),
            directory: None,
        })
    }

    /// Also sends the trace context of a call to the servers of HTTP tools.
    pub(crate) fn telling(self, trace: TraceContext) -> Self {
        Self { trace, ..self }
    }

    /// Also spools large answers to files of a directory until memory is available.
    pub(crate) fn keeping_in(self, directory: &Path) -> Self {
        Self {
            directory: Some(directory.to_owned()),
            ..self
        }
    }

    /// The trace that is propagated to servers.
    pub(crate) const fn trace(&self) -> TraceContext {
        self.trace
    }

    /// A place for an answer, in memory or in a file.
    pub(crate) fn spool(&self) -> SpooledBytes {
        SpooledBytes::new(self.directory.clone())
    }

    /// Creates a client that connects only to these addresses of a host.
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

    /// Creates a client that keeps its connections, for hosts that the operator configures.
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
