//! The configured collector, and the HTTP exchange with it. Must not know what is sent.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use async_trait::async_trait;
use charter_contract::cause::chain;
use charter_effects::operator_address;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use reqwest::Url;
use reqwest::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use tokio::runtime::Handle;

use crate::config::{Config, TelemetryConfig};
use crate::secrets::{plain_http, secret};

/// Timeout of one exchange with the collector.
pub(super) const SEND_TIMEOUT: Duration = Duration::from_secs(5);
/// Largest answer that is read, in bytes.
const MAX_ANSWER_BYTES: usize = 64 << 10;

/// The destination of telemetry.
#[derive(Debug, Clone)]
pub(crate) struct Collector {
    base: String,
    client: reqwest::Client,
    runtime: Handle,
    /// Whether the last exchange failed: a lasting failure is logged once.
    failing: Arc<AtomicBool>,
}

impl Collector {
    /// The configured collector; `None` without one. No request is sent.
    pub(crate) fn configured(config: &Config) -> anyhow::Result<Option<Self>> {
        let telemetry = &config.telemetry;
        let Some(endpoint) = &telemetry.otlp_endpoint else {
            return Ok(None);
        };
        let collector = Self::new(telemetry, endpoint).context("setting up `telemetry`")?;
        Ok(Some(collector))
    }

    fn new(telemetry: &TelemetryConfig, endpoint: &str) -> anyhow::Result<Self> {
        ensure!(
            (0.0..=1.0).contains(&telemetry.sample_ratio),
            "`sample_ratio` = {} is not between 0 and 1",
            telemetry.sample_ratio
        );
        ensure!(
            telemetry.export_interval_s > 0,
            "`export_interval_s` must be more than 0"
        );
        let base = match operator_address(endpoint, plain_http(telemetry.plain_http)) {
            Ok(base) => base,
            Err(instead) => bail!("`otlp_endpoint` = {endpoint:?} is {instead}"),
        };
        let client = reqwest::Client::builder()
            .default_headers(headers(telemetry)?)
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .timeout(SEND_TIMEOUT)
            .build()
            .context("setting up the HTTP client")?;
        Ok(Self {
            base: base.as_str().trim_end_matches('/').to_owned(),
            client,
            runtime: Handle::current(),
            failing: Arc::default(),
        })
    }

    /// Its address, for messages.
    pub(crate) fn address(&self) -> &str {
        &self.base
    }

    pub(super) fn traces(&self) -> String {
        format!("{}/v1/traces", self.base)
    }

    pub(super) fn metrics(&self) -> String {
        format!("{}/v1/metrics", self.base)
    }

    /// Sends an empty export, which has no bytes, to each path.
    pub(crate) async fn probe(&self) -> anyhow::Result<()> {
        for url in [self.traces(), self.metrics()] {
            let url: Url = url.parse()?;
            let path = url.path().to_owned();
            let asked = self.client.post(url);
            let asked = asked.header(CONTENT_TYPE, "application/x-protobuf");
            let answer = asked
                .header(CONTENT_LENGTH, 0)
                .send()
                .await
                .with_context(|| format!("POST {path}"))?;
            let status = answer.status();
            ensure!(status.is_success(), "POST {path} was answered {status}");
        }
        Ok(())
    }

    fn note(&self, failed: Option<String>) {
        let is_failing = failed.is_some();
        if self.failing.swap(is_failing, Ordering::Relaxed) == is_failing {
            return;
        }
        match failed {
            Some(reason) => {
                tracing::warn!(
                    collector = self.base,
                    reason,
                    "collector unreachable; dropping telemetry until it recovers"
                );
            }
            None => tracing::info!(
                collector = self.base,
                "collector recovered; sending telemetry"
            ),
        }
    }
}

fn headers(telemetry: &TelemetryConfig) -> anyhow::Result<HeaderMap> {
    let headers = telemetry.headers.iter().map(|(name, named)| {
        let key = || format!("headers.{name}");
        let value = secret(named).with_context(key)?;
        let mut value = HeaderValue::from_str(value.expose()).with_context(key)?;
        value.set_sensitive(true);
        Ok((HeaderName::try_from(name).with_context(key)?, value))
    });
    headers.collect()
}

/// The SDK calls from its own threads, so the exchange itself runs as a task of the runtime.
#[async_trait]
impl HttpClient for Collector {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let exchange = exchange(self.client.clone(), request);
        let sent = self.runtime.spawn(exchange).await;
        let sent = sent.map_err(HttpError::from).and_then(|sent| sent);
        self.note(match &sent {
            Ok(answer) if answer.status().is_success() => None,
            Ok(answer) => Some(format!("answered {}", answer.status())),
            Err(error) => Some(chain(error.as_ref())),
        });
        sent
    }
}

async fn exchange(
    client: reqwest::Client,
    request: Request<Bytes>,
) -> Result<Response<Bytes>, HttpError> {
    let mut answer = client.execute(request.try_into()?).await?;
    let mut body = Vec::new();
    while let Some(chunk) = answer.chunk().await? {
        if body.len() + chunk.len() > MAX_ANSWER_BYTES {
            let message = format!("the answer has more than {MAX_ANSWER_BYTES} bytes");
            return Err(message.into());
        }
        body.extend_from_slice(&chunk);
    }
    let mut response = Response::new(Bytes::from(body));
    *response.status_mut() = answer.status();
    *response.headers_mut() = answer.headers().clone();
    Ok(response)
}
