//! Runs one HTTP tool: fills the template, checks the egress policy, sends the request, and reads the answer.
//!
//! Must not know scripts or processes.

mod body;
mod request;
mod template;

use charter_contract::agentic::error::ErrorType;
use tokio_util::sync::CancellationToken;

use crate::call::{HttpTool, ToolCall};
use crate::egress::{EgressPolicy, EgressRefusal};
use crate::http::{self, HttpAnswer, HttpRunner, Redirects};
use crate::outcome::{Failure, Success};
use crate::redact::Redactor;
pub(crate) use request::Exchange;
use request::PreparedRequest;

/// The result of sending a request.
enum SendOutcome {
    /// It was not sent: the call is a dry run.
    Previewed(Success),
    Answered(HttpAnswer),
}

impl HttpRunner {
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
        exchange.add_trace_header(self.trace());
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
                let message = format!("no response within {} ms", call.limits.timeout.as_millis());
                Err(Failure::new(ErrorType::TimeoutError, message).retryable())
            }),
        };
        let result = match result {
            Ok(SendOutcome::Previewed(preview)) => Ok(preview),
            // The call's timeout no longer applies once the answer has arrived: reading it may wait for memory.
            Ok(SendOutcome::Answered(answer)) => {
                http::read(answer, redactor, call.room.as_ref()).await
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
        let body = self.spool();
        HttpAnswer::fetch(&client, request, call.limits.output_bytes, body).await
    }

    /// Creates a client for this call alone: it connects only to the checked addresses, keeps no connection, and uses
    /// no proxy.
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
