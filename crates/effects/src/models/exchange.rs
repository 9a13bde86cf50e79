//! One request to a provider: sends it, reads the answer within bounds, classifies the result. Must not know retries,
//! repairs or routes.

use std::time::SystemTime;

use charter_contract::cause::chain;
use futures_util::StreamExt;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Client, Response, Url};
use serde_json::Value;
use sse_stream::SseStream;

use super::complaint::Complaint;
use super::options::ModelApi;
use super::provider_request::{MAX_STREAM_BYTES, Progress, ProviderRequest};
use super::reply::Reply;
use super::{
    ModelFailure, ModelFault, ModelListener, RejectedAnswer, Usage, anthropic, conversation, openai,
};
use crate::http::{End, IDEMPOTENCY_KEY, MAX_BODY_BYTES, read_within};
use crate::patience::retry_after;
use crate::secret::redactor;
use crate::telemetry::TraceContext;

/// Largest body of a refusal that is read, in bytes.
const MAX_REFUSAL_BYTES: usize = 64 << 10;
/// Bytes of a complete answer per byte of the model's text, because of escapes.
const BYTES_PER_WRITTEN_BYTE: usize = 6;
/// Bytes of a complete answer beside the model's text.
const BYTES_BESIDE: usize = 64 << 10;

/// Usage of a request; it stays available if the caller stops waiting.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Meter {
    /// Tokens of finished attempts.
    done: Usage,
    /// Tokens of the current attempt, as far as reported.
    current: Usage,
    /// Number of requests.
    pub(super) attempts: u32,
}

impl Meter {
    pub(super) fn begin(&mut self) {
        self.done = self.usage();
        self.current = Usage::default();
        self.attempts += 1;
    }

    pub(super) fn usage(&self) -> Usage {
        self.done.and(self.current)
    }
}

impl ProviderRequest<'_> {
    /// Builds the body of the request.
    ///
    /// # Errors
    /// When it exceeds the largest request.
    pub(super) fn body(&self, turns: &[RejectedAnswer]) -> Result<Vec<u8>, ModelFailure> {
        let conversation = conversation::build(self.request, self.provider.structured, turns);
        let body: Value = match self.provider.api {
            ModelApi::OpenAi => openai::body(self, conversation),
            ModelApi::Anthropic => anthropic::body(self, conversation),
        };
        let body = body.to_string().into_bytes();
        if body.len() > MAX_BODY_BYTES {
            let message = format!(
                "prompts and context take {} bytes, more than {MAX_BODY_BYTES}",
                body.len()
            );
            return Err(ModelFailure::new(ModelFault::ContextTooLong, message));
        }
        Ok(body)
    }

    fn headers(&self, idempotency_key: &str) -> Result<HeaderMap, ModelFailure> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(
            ACCEPT,
            HeaderValue::from_static("application/json, text/event-stream"),
        );
        let unfit = |what: &str| {
            let message = format!("{what} has a character that is invalid in headers");
            ModelFailure::new(ModelFault::System, message)
        };
        let id = HeaderValue::from_str(idempotency_key).map_err(|_| unfit("an idempotency key"))?;
        headers.insert(IDEMPOTENCY_KEY, id);
        if self.provider.api == ModelApi::Anthropic {
            let version = HeaderValue::from_static(anthropic::VERSION);
            headers.insert("anthropic-version", version);
        }
        if let Some(key) = self.key {
            let (name, text) = match self.provider.api {
                ModelApi::OpenAi => (AUTHORIZATION.as_str(), format!("Bearer {}", key.value())),
                ModelApi::Anthropic => ("x-api-key", key.value().to_owned()),
            };
            let mut value = HeaderValue::from_str(&text).map_err(|_| unfit("a provider's key"))?;
            value.set_sensitive(true);
            headers.insert(
                reqwest::header::HeaderName::try_from(name).map_err(|_| unfit("a header name"))?,
                value,
            );
        }
        Ok(headers)
    }

    fn take(&self, reply: &mut Reply, data: &str) -> Result<Progress, ModelFailure> {
        let taken = match self.provider.api {
            ModelApi::OpenAi => openai::take(reply, data),
            ModelApi::Anthropic => anthropic::take(reply, data),
        };
        let progress = taken.map_err(|complaint| self.complain(&complaint))?;
        if reply.len() > self.provider.output_bytes {
            return Err(self.fail(ModelFault::TooMuchOutput));
        }
        Ok(progress)
    }

    fn complain(&self, complaint: &Complaint) -> ModelFailure {
        self.fail(complaint.fault)
            .with_detail(complaint.detail(&redactor(self.key)))
    }

    /// Builds a failure of this provider, with a message that is safe to show.
    pub(super) fn fail(&self, fault: ModelFault) -> ModelFailure {
        let happened = match fault {
            ModelFault::UnknownRoute => "has no such route",
            ModelFault::UnknownModel => "does not know this model or its address",
            ModelFault::Redirected => "answered with a redirect, which is not followed",
            ModelFault::InvalidRequest => "rejected the request",
            ModelFault::ContextTooLong => "rejected the prompts and context as too long",
            ModelFault::Authentication => "rejected the key, or requires one",
            ModelFault::Permission => "does not permit this for the key",
            ModelFault::Billing => "reported that the account has no credit",
            ModelFault::RateLimited => "reported a rate limit",
            ModelFault::Overloaded => "is overloaded",
            ModelFault::Unreachable => "could not be reached",
            ModelFault::Timeout => "did not answer in time",
            ModelFault::Broken => "failed",
            ModelFault::Truncated => "interrupted its answer",
            ModelFault::Refused => "declined to answer",
            ModelFault::Filtered => "withheld its answer by a content filter",
            ModelFault::Malformed => "answered with invalid JSON",
            ModelFault::SchemaViolated => "answered with JSON that violates the schema",
            ModelFault::CutOff => "reached the token limit",
            ModelFault::TooMuchOutput => "gave an answer that is too large",
            ModelFault::Cancelled => "was cancelled",
            ModelFault::System => "could not be called",
        };
        ModelFailure::new(fault, format!("the model {} {happened}", self.target))
    }
}

/// The HTTP request.
pub(super) struct WireRequest<'a> {
    pub(super) body: Vec<u8>,
    pub(super) idempotency_key: &'a str,
    pub(super) trace: TraceContext,
}

/// Sends a request and reads the answer to its end.
pub(super) async fn attempt(
    client: &Client,
    url: &Url,
    provider_request: &ProviderRequest<'_>,
    sent: WireRequest<'_>,
    meter: &mut Meter,
    listener: &dyn ModelListener,
) -> Result<Reply, ModelFailure> {
    let mut headers = provider_request.headers(sent.idempotency_key)?;
    sent.trace.add_to(&mut headers);
    let request = client.post(url.clone()).headers(headers).body(sent.body);
    let sent = request.send().await;
    let response = sent.map_err(|error| unanswered(provider_request, error))?;
    if !response.status().is_success() {
        return Err(refused(provider_request, response).await);
    }
    let mut hearing = ListenerState::new(listener);
    let reply = if is_stream(&response) {
        read_stream(provider_request, response, meter, &mut hearing).await?
    } else {
        let reply = read_whole(provider_request, response, meter).await?;
        hearing.report_new_text(&reply);
        reply
    };
    match reply.fault() {
        Some(fault) => Err(provider_request.fail(fault)),
        None => Ok(reply),
    }
}

/// Decides by the answer, not by the request: some servers do not stream.
fn is_stream(response: &Response) -> bool {
    let kind = response.headers().get(CONTENT_TYPE);
    let kind = kind.and_then(|value| value.to_str().ok());
    kind.is_some_and(|value| {
        value
            .trim_start()
            .to_ascii_lowercase()
            .starts_with("text/event-stream")
    })
}

fn unanswered(provider_request: &ProviderRequest<'_>, error: reqwest::Error) -> ModelFailure {
    let fault = if error.is_connect() {
        ModelFault::Unreachable
    } else if error.is_timeout() {
        ModelFault::Timeout
    } else {
        ModelFault::Truncated
    };
    let said = chain(&error.without_url());
    provider_request.fail(fault).with_detail(Some(said))
}

async fn refused(provider_request: &ProviderRequest<'_>, response: Response) -> ModelFailure {
    let status = response.status();
    let wait = retry_after(response.headers(), SystemTime::now());
    // A truncated body is used as far as it arrived: the status is more important.
    let (body, _) = read_within(response, MAX_REFUSAL_BYTES).await;
    let complaint = Complaint::from_response(status, &String::from_utf8_lossy(&body));
    let mut failure = provider_request.complain(&complaint);
    failure.retry_after = wait;
    failure
}

async fn read_whole(
    provider_request: &ProviderRequest<'_>,
    response: Response,
    meter: &mut Meter,
) -> Result<Reply, ModelFailure> {
    let limit = provider_request.provider.output_bytes * BYTES_PER_WRITTEN_BYTE + BYTES_BESIDE;
    let (body, end) = read_within(response, limit).await;
    match end {
        End::Whole => {}
        End::TooLong => return Err(provider_request.fail(ModelFault::TooMuchOutput)),
        End::BrokenOff(_) => return Err(provider_request.fail(ModelFault::Truncated)),
    }
    let text = String::from_utf8_lossy(&body);
    let mut reply = Reply::default();
    let taken = provider_request.take(&mut reply, &text);
    meter.current = reply.usage;
    taken?;
    Ok(reply)
}

/// Why the body of a stream ended early.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
struct BodyError(Box<dyn std::error::Error + Send + Sync>);

/// The part of a reply that a listener has received.
struct ListenerState<'l> {
    listener: &'l dyn ModelListener,
    bytes: usize,
    /// Whether the text is the tool's input.
    of_tool: bool,
}

impl<'l> ListenerState<'l> {
    fn new(listener: &'l dyn ModelListener) -> Self {
        listener.begins();
        Self {
            listener,
            bytes: 0,
            of_tool: false,
        }
    }

    /// Passes new text to the listener. Text before the tool call is not part of the draft.
    fn report_new_text(&mut self, reply: &Reply) {
        if reply.tool.is_some() && !self.of_tool {
            (self.of_tool, self.bytes) = (true, 0);
            self.listener.begins();
        }
        let written = reply.written();
        let piece = written.get(self.bytes..).unwrap_or_default();
        if !piece.is_empty() {
            self.bytes = written.len();
            self.listener.hears(piece);
        }
    }
}

async fn read_stream(
    provider_request: &ProviderRequest<'_>,
    response: Response,
    meter: &mut Meter,
    hearing: &mut ListenerState<'_>,
) -> Result<Reply, ModelFailure> {
    let body = reqwest::Body::from(response);
    let body = Limited::new(body, MAX_STREAM_BYTES).map_err(BodyError);
    let mut events = SseStream::new(Box::pin(body));
    let mut reply = Reply::default();
    while let Some(event) = events.next().await {
        let event = event.map_err(|error| broken_off(provider_request, &error))?;
        let Some(data) = event.data else { continue };
        let taken = provider_request.take(&mut reply, &data);
        meter.current = reply.usage;
        hearing.report_new_text(&reply);
        if taken? == Progress::Ended {
            break;
        }
    }
    Ok(reply)
}

fn broken_off(provider_request: &ProviderRequest<'_>, error: &sse_stream::Error) -> ModelFailure {
    let sse_stream::Error::Body(cause) = error else {
        return provider_request.fail(ModelFault::Malformed);
    };
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(cause.as_ref());
    while let Some(error) = cause {
        if error.is::<LengthLimitError>() {
            return provider_request.fail(ModelFault::TooMuchOutput);
        }
        cause = error.source();
    }
    provider_request.fail(ModelFault::Truncated)
}
