//! Sends one message: signed, through the egress wall, without following redirects, and retried under the same id after
//! transient failures. Of an answer it reads the status, and of a refusal a short excerpt.

use std::net::SocketAddr;
use std::time::{Duration, Instant, SystemTime};

use async_trait::async_trait;
use bytes::Bytes;
use charter_contract::cause::chain;
use charter_contract::visible::clean;
use reqwest::header::{self, HeaderName, HeaderValue, InvalidHeaderValue};
use reqwest::{Client, Method, Request, Response, StatusCode, Url};
use tokio_util::sync::CancellationToken;

use super::options::{HttpWebhooks, System};
use super::sign::signatures;
use super::{Delivered, Delivery, DeliveryFailed, DeliveryFault, Webhooks, unknown_system};
use crate::egress::EgressRefusal;
use crate::http::{MAX_BODY_BYTES, Redirects, USER_AGENT, read_within};
use crate::patience::retry_after;

/// The headers of the specification.
const ID: HeaderName = HeaderName::from_static("webhook-id");
const TIMESTAMP: HeaderName = HeaderName::from_static("webhook-timestamp");
const SIGNATURE: HeaderName = HeaderName::from_static("webhook-signature");

/// Most bytes of an answer that are read.
const ANSWER_BYTES: usize = 16 << 10;
/// Characters of a refusal that the error quotes.
const MAX_RESPONSE_EXCERPT: usize = 300;
/// Microseconds of a second.
const MICROS: i64 = 1_000_000;

/// A failure, and when the message may be retried.
struct DeliveryAttemptError {
    failed: DeliveryFailed,
    again: DeliveryRetry,
}

enum DeliveryRetry {
    Never,
    /// After the pause that the system requests, if any.
    After(Option<Duration>),
}

#[async_trait]
impl Webhooks for HttpWebhooks {
    async fn deliver(
        &self,
        delivery: &Delivery,
        cancel: &CancellationToken,
    ) -> Result<Delivered, DeliveryFailed> {
        let url = Url::parse(&delivery.url).map_err(|_| unknown_system(&delivery.url))?;
        let system = self.system_of(&delivery.tenant, &url);
        let system = system.ok_or_else(|| unknown_system(&delivery.url))?;
        let body = Bytes::from(delivery.body.to_string());
        let to = OutgoingMessage {
            webhooks: self,
            system,
            url,
            delivery,
            body,
            began: Instant::now(),
        };
        to.deliver(cancel).await
    }
}

/// A message that is being sent.
struct OutgoingMessage<'d> {
    webhooks: &'d HttpWebhooks,
    system: &'d System,
    url: Url,
    delivery: &'d Delivery,
    /// Identical for every attempt.
    body: Bytes,
    began: Instant,
}

impl OutgoingMessage<'_> {
    async fn deliver(&self, cancel: &CancellationToken) -> Result<Delivered, DeliveryFailed> {
        if self.body.len() > MAX_BODY_BYTES {
            let message = format!("takes more than {MAX_BODY_BYTES} bytes, and was not sent");
            return Err(self.failed(DeliveryFault::Forbidden, &message));
        }
        let patience = &self.webhooks.patience;
        for retry in 0..patience.retries {
            let missed = match self.attempt(cancel).await {
                Ok(delivered) => return Ok(delivered),
                Err(missed) => missed,
            };
            let DeliveryRetry::After(asked) = missed.again else {
                return Err(missed.failed);
            };
            let pause = patience.pause(retry, asked);
            let Some(pause) = pause.filter(|pause| *pause < self.remaining()) else {
                return Err(missed.failed);
            };
            tokio::select! {
                biased;
                () = cancel.cancelled() => return Err(missed.failed),
                () = tokio::time::sleep(pause) => {}
            }
        }
        self.attempt(cancel).await.map_err(|missed| missed.failed)
    }

    /// Returns the remaining time.
    fn remaining(&self) -> Duration {
        self.delivery.timeout.saturating_sub(self.began.elapsed())
    }

    async fn attempt(&self, cancel: &CancellationToken) -> Result<Delivered, DeliveryAttemptError> {
        if cancel.is_cancelled() || self.remaining().is_zero() {
            return Err(self.permanent_failure(
                DeliveryFault::Unavailable,
                "was not sent: the time limit is reached",
            ));
        }
        let client = self.client().await?;
        let request = self.request().map_err(|error| {
            let message = format!("cannot be sent as a request: {}", chain(&error));
            self.permanent_failure(DeliveryFault::Forbidden, &message)
        })?;
        let limit = self.system.attempt_timeout.min(self.remaining());
        let answered = async {
            let response = client.execute(request).await;
            let response = response.map_err(|error| self.unanswered(&error))?;
            self.interpret(response).await
        };
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(self.unknown_outcome("was cancelled before an answer came")),
            answered = tokio::time::timeout(limit, answered) => answered.unwrap_or_else(|_| {
                let message = format!("was not answered within {} ms", limit.as_millis());
                Err(self.unknown_outcome(&message))
            }),
        }
    }

    /// Creates a client for this attempt alone, which connects only to checked addresses.
    async fn client(&self) -> Result<Client, DeliveryAttemptError> {
        let addresses = self.addresses().await?;
        let host = self.host();
        let client = self
            .webhooks
            .http
            .client_to(host, &addresses, Redirects::None);
        client.map_err(|error| {
            let message = format!("was not sent: preparing the HTTP client: {}", chain(&error));
            self.permanent_failure(DeliveryFault::Forbidden, &message)
        })
    }

    async fn addresses(&self) -> Result<Vec<SocketAddr>, DeliveryAttemptError> {
        let port = self.url.port_or_known_default().unwrap_or_default();
        let found = self.system.wall.addresses(self.host(), port);
        let found = tokio::time::timeout(self.remaining(), found).await;
        let found = found
            .map_err(|_| self.retryable_failure("was not sent: the time limit is reached", None))?;
        found.map_err(|refusal| {
            let name = &self.system.name;
            match refusal {
                EgressRefusal::NotListed { host, port } => self.permanent_failure(
                    DeliveryFault::Forbidden,
                    &format!(
                        "was not sent: the port of {host}:{port} is not a default port, and the `egress` of the \
                         system of record `{name}` does not list it"
                    ),
                ),
                EgressRefusal::PrivateAddress { host, address } => self.permanent_failure(
                    DeliveryFault::Forbidden,
                    &format!(
                        "was not sent: {host} is {address}, a private or local address that the `egress` of the \
                         system of record `{name}` does not list"
                    ),
                ),
                EgressRefusal::Unresolved { host, source } => {
                    let message = format!("was not sent: {host} cannot be resolved: {source}");
                    self.retryable_failure(&message, None)
                }
            }
        })
    }

    fn host(&self) -> &str {
        let host = self.url.host_str().unwrap_or_default();
        host.trim_matches(['[', ']'])
    }

    fn request(&self) -> Result<Request, InvalidHeaderValue> {
        let elapsed = i64::try_from(self.began.elapsed().as_micros()).unwrap_or_default();
        // The time of the attempt, by the sender's clock.
        let now = (self.delivery.now.as_micros() + elapsed).div_euclid(MICROS);
        let id = &self.delivery.id;
        let signed = signatures(&self.system.secrets, id, now, &self.body);
        let mut request = Request::new(Method::POST, self.url.clone());
        let headers = request.headers_mut();
        headers.insert(header::USER_AGENT, HeaderValue::from_static(USER_AGENT));
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/json"),
        );
        headers.insert(ID, HeaderValue::from_str(id.as_str())?);
        headers.insert(TIMESTAMP, HeaderValue::from(now));
        headers.insert(SIGNATURE, HeaderValue::from_str(&signed)?);
        *request.body_mut() = Some(self.body.clone().into());
        Ok(request)
    }

    /// Interprets an answer.
    async fn interpret(&self, response: Response) -> Result<Delivered, DeliveryAttemptError> {
        let status = response.status();
        if status.is_success() {
            return Ok(Delivered {
                status: status.as_u16(),
            });
        }
        let asked = retry_after(response.headers(), SystemTime::now());
        if status.is_redirection() {
            let message = format!("was answered {status}; redirects are not followed");
            return Err(self.permanent_failure(DeliveryFault::Refused, &message));
        }
        let (body, _) = read_within(response, ANSWER_BYTES).await;
        let words = clean(&String::from_utf8_lossy(&body), MAX_RESPONSE_EXCERPT);
        let message = if words.is_empty() {
            format!("was answered {status}")
        } else {
            format!("was answered {status}: {words:?}")
        };
        Err(match status {
            StatusCode::CONFLICT | StatusCode::PRECONDITION_FAILED => {
                self.permanent_failure(DeliveryFault::Conflict, &message)
            }
            StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS => {
                self.retryable_failure(&message, asked)
            }
            status if status.is_server_error() => self.retryable_failure(&message, asked),
            _ => self.permanent_failure(DeliveryFault::Refused, &message),
        })
    }

    /// Classifies a request without an answer. Without a connection nothing was sent.
    fn unanswered(&self, error: &reqwest::Error) -> DeliveryAttemptError {
        if error.is_connect() {
            self.retryable_failure(&format!("was not sent: {}", chain(error)), None)
        } else {
            self.unknown_outcome(&format!("was not answered: {}", chain(error)))
        }
    }

    fn unknown_outcome(&self, message: &str) -> DeliveryAttemptError {
        let message =
            format!("{message}; its outcome is unknown: look up this id in the system of record");
        self.permanent_failure(DeliveryFault::Unknown, &message)
    }

    fn retryable_failure(&self, message: &str, asked: Option<Duration>) -> DeliveryAttemptError {
        DeliveryAttemptError {
            failed: self.failed(DeliveryFault::Unavailable, message),
            again: DeliveryRetry::After(asked),
        }
    }

    fn permanent_failure(&self, fault: DeliveryFault, message: &str) -> DeliveryAttemptError {
        DeliveryAttemptError {
            failed: self.failed(fault, message),
            again: DeliveryRetry::Never,
        }
    }

    fn failed(&self, fault: DeliveryFault, message: &str) -> DeliveryFailed {
        let (id, name) = (&self.delivery.id, &self.system.name);
        DeliveryFailed {
            fault,
            message: format!("the message {id} to the system of record `{name}` {message}"),
        }
    }
}
