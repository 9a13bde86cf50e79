//! Sends a query to a provider: one request, and at most one retry after a transient failure, within the call's
//! timeout. Maps other answers to failures.

use std::time::{Duration, Instant, SystemTime};

use charter_contract::agentic::error::ErrorType;
use charter_contract::json::{self, Profile};
use charter_contract::visible::clean;
use reqwest::header::{ACCEPT, HeaderMap, HeaderValue};
use reqwest::{Request, StatusCode};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::hit::Hit;
use super::options::{SearchProvider, WebSearch};
use super::{Query, brave, searxng};
use crate::http::{HttpAnswer, USER_AGENT, kind_of};
use crate::kept::SpooledBytes;
use crate::outcome::Failure;
use crate::patience::retry_after;

/// Characters of a provider's message that are logged.
const LOGGED_CHARACTERS: usize = 400;

/// A failure, and when the request may be retried.
struct SearchAttemptError {
    failure: Failure,
    again: SearchRetry,
}

enum SearchRetry {
    Never,
    /// After the pause that the provider requests, if any.
    After(Option<Duration>),
}

impl From<Failure> for SearchAttemptError {
    fn from(failure: Failure) -> Self {
        Self {
            failure,
            again: SearchRetry::Never,
        }
    }
}

impl WebSearch {
    /// Sends the query, and reads the results.
    pub(crate) async fn find(
        &self,
        query: &Query,
        timeout: Duration,
        cancel: &CancellationToken,
    ) -> Result<Vec<Hit>, Failure> {
        let until = Instant::now() + timeout;
        let found = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(Failure::cancelled()),
            found = tokio::time::timeout(timeout, self.ask(query, until)) => found,
        };
        let found = found.unwrap_or_else(|_| Err(self.late(timeout)));
        found.map_err(|failure| Failure {
            message: self.redactor().apply(&failure.message),
            ..failure
        })
    }

    async fn ask(&self, query: &Query, until: Instant) -> Result<Vec<Hit>, Failure> {
        let patience = &self.options.patience;
        for retry in 0..patience.retries {
            let missed = match self.attempt(query).await {
                Ok(hits) => return Ok(hits),
                Err(missed) => missed,
            };
            let SearchRetry::After(asked) = missed.again else {
                return Err(missed.failure);
            };
            match patience.pause(retry, asked) {
                Some(pause) if Instant::now() + pause < until => tokio::time::sleep(pause).await,
                Some(_) | None => return Err(missed.failure),
            }
        }
        self.attempt(query).await.map_err(|missed| missed.failure)
    }

    async fn attempt(&self, query: &Query) -> Result<Vec<Hit>, SearchAttemptError> {
        let limit = self.options.attempt_timeout;
        let exchange = HttpAnswer::fetch(
            &self.client,
            self.request(query)?,
            self.options.answer_bytes,
            SpooledBytes::new(None),
        );
        let answer = tokio::time::timeout(limit, exchange).await;
        let HttpAnswer {
            status,
            headers,
            body,
        } = answer.unwrap_or_else(|_| Err(self.late(limit)))?;
        let body = body.into_bytes();
        let body = body.map_err(|error| Failure::system(format!("reading the answer: {error}")))?;
        if !status.is_success() {
            return Err(self.refused(status, &headers, &body));
        }
        let mut hits = self.hits(&body)?;
        hits.truncate(query.count);
        Ok(hits)
    }

    fn request(&self, query: &Query) -> Result<Request, Failure> {
        let url = match self.provider() {
            SearchProvider::Brave => brave::address(&self.url, query),
            SearchProvider::SearxNg => searxng::address(&self.url, query),
        };
        let mut request = self
            .client
            .get(url)
            .header(ACCEPT, "application/json")
            .header(reqwest::header::USER_AGENT, USER_AGENT);
        if let Some(key) = &self.options.key {
            let mut value = HeaderValue::from_str(key.value())
                .map_err(|_| Failure::system("the search provider's key cannot be sent"))?;
            value.set_sensitive(true);
            request = request.header(brave::KEY_HEADER, value);
        }
        let built = request.build();
        built.map_err(|_| Failure::system("a request to the search provider cannot be built"))
    }

    fn hits(&self, body: &[u8]) -> Result<Vec<Hit>, Failure> {
        let answer: Option<Value> = json::decode(body, Profile::MESSAGE).ok();
        let hits = match (self.provider(), &answer) {
            (SearchProvider::Brave, Some(answer)) => brave::hits(answer),
            (SearchProvider::SearxNg, Some(answer)) => match searxng::parse_response(answer) {
                Some(found) if found.hits.is_empty() && found.silent_engines > 0 => {
                    let silent = format!(
                        "found nothing, and {} of its engines did not answer",
                        found.silent_engines
                    );
                    return Err(self.failure(ErrorType::ExecutionError, &silent).retryable());
                }
                found => found.map(|found| found.hits),
            },
            (SearchProvider::Brave | SearchProvider::SearxNg, None) => None,
        };
        hits.ok_or_else(|| {
            let happened = "answered with invalid JSON";
            self.failure(ErrorType::ExecutionError, happened)
        })
    }

    /// Maps a status other than success to a failure. The provider's message may name the operator's account, so it
    /// goes to the log only, and not even there if it is about a key.
    fn refused(
        &self,
        status: StatusCode,
        headers: &HeaderMap,
        answer: &[u8],
    ) -> SearchAttemptError {
        let body: Value = json::decode(answer, Profile::MESSAGE).unwrap_or_default();
        let word = match self.provider() {
            SearchProvider::Brave => brave::refusal(&body),
            SearchProvider::SearxNg => None,
        };
        let (kind, passes, happened) = self.meaning(status, word);
        let said = String::from_utf8_lossy(answer);
        let said = clean(&self.redactor().apply(&said), LOGGED_CHARACTERS);
        let said = Some(said).filter(|_| kind != ErrorType::PermissionError);
        let provider = self.provider().as_str();
        tracing::warn!(
            provider,
            status = status.as_u16(),
            said,
            "a web search failed"
        );
        let failure = Failure {
            retryable: passes,
            ..self.failure(kind, &format!("{happened} ({})", status.as_u16()))
        };
        let again = match passes {
            true => SearchRetry::After(retry_after(headers, SystemTime::now())),
            false => SearchRetry::Never,
        };
        SearchAttemptError { failure, again }
    }

    fn meaning(&self, status: StatusCode, word: Option<&str>) -> (ErrorType, bool, &'static str) {
        let (kind, passes) = kind_of(status);
        match (status.as_u16(), word) {
            (
                _,
                Some(
                    "SUBSCRIPTION_TOKEN_INVALID"
                    | "SUBSCRIPTION_TOKEN_MISSING"
                    | "SUBSCRIPTION_NOT_FOUND",
                ),
            ) => (ErrorType::PermissionError, false, "rejected the key"),
            (402, _) | (_, Some("QUOTA_LIMITED")) => {
                let happened = "reported that the account's quota is exhausted";
                (ErrorType::ResourceError, false, happened)
            }
            (300..=399, _) => {
                let happened = "answered with a redirect, which is not followed";
                (kind, false, happened)
            }
            (400 | 422, _) => (ErrorType::InputError, false, "rejected the query"),
            (401 | 403, _) => (kind, false, self.forbidden()),
            (404, _) => (kind, false, "was not found at its address"),
            (408 | 504, _) => (kind, passes, "did not answer in time"),
            (429, _) => (kind, passes, "reported a rate limit"),
            (503, _) => (kind, passes, "is overloaded"),
            _ => (kind, passes, "failed"),
        }
    }

    fn forbidden(&self) -> &'static str {
        match self.provider() {
            SearchProvider::Brave => "rejected the key",
            SearchProvider::SearxNg => "denied this: add `json` to its `search.formats`",
        }
    }

    fn late(&self, limit: Duration) -> Failure {
        let happened = format!("did not answer within {} ms", limit.as_millis());
        self.failure(ErrorType::TimeoutError, &happened).retryable()
    }

    fn failure(&self, kind: ErrorType, happened: &str) -> Failure {
        let provider = self.provider().as_str();
        Failure::new(kind, format!("the search provider `{provider}` {happened}"))
    }
}
