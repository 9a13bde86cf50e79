//! Sends one request to the node: bounded in time and size, with classified failures.

use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD as BASE64;
use charter_contract::json::{Profile, decode};
use charter_store::skill_index::SkillIndexError;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use reqwest::{Certificate, Client, Method, Response, Url, redirect};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::options::{Credentials, EsOptions, SetupError, base};

/// Largest answer that is read, in bytes.
const MAX_ANSWER_BYTES: usize = 16 << 20;
/// JSON limits of an answer: the node is the operator's, and returns data that Charter stored.
const ANSWER: Profile = Profile::OPERATOR.of_bytes(MAX_ANSWER_BYTES);

/// Characters of a refusal that errors quote.
const MAX_REASON_CHARS: usize = 400;

/// Factor of the timeout for loading and creating an index.
const SLOW_TIMEOUT_FACTOR: u32 = 10;

/// The content type of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Json,
    /// Lines, for `_bulk`.
    Lines,
}

/// The timeout of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    /// A caller waits for the answer.
    Quick,
    /// It transfers much data.
    Slow,
}

/// A request.
#[derive(Debug)]
pub(crate) struct NodeRequest<'a> {
    /// The operation, for errors.
    pub(crate) doing: &'static str,
    pub(crate) method: Method,
    /// Path and query relative to the address; its variable parts are validated or generated.
    pub(crate) path: &'a str,
    pub(crate) body: Option<(Form, Vec<u8>)>,
    pub(crate) pace: Pace,
}

impl<'a> NodeRequest<'a> {
    pub(crate) fn new(doing: &'static str, method: Method, path: &'a str) -> Self {
        Self {
            doing,
            method,
            path,
            body: None,
            pace: Pace::Quick,
        }
    }

    pub(crate) fn json(mut self, body: &Value) -> Self {
        self.body = Some((Form::Json, body.to_string().into_bytes()));
        self
    }

    pub(crate) fn lines(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = Some((Form::Lines, body.into()));
        self
    }

    pub(crate) fn with_long_timeout(mut self) -> Self {
        self.pace = Pace::Slow;
        self
    }
}

/// The HTTP client of one node.
#[derive(Debug)]
pub(crate) struct Node {
    client: Client,
    base: Url,
    authorization: Option<HeaderValue>,
    timeout: Duration,
}

impl Node {
    pub(crate) fn new(options: &EsOptions) -> Result<Self, SetupError> {
        let mut base = base(options)?;
        if !base.path().ends_with('/') {
            base.set_path(&format!("{}/", base.path()));
        }
        // No redirects, because requests carry credentials. Answers are small, and compressing them would cost the node
        // more than sending them.
        let mut client = Client::builder()
            .no_gzip()
            .no_proxy()
            .redirect(redirect::Policy::none())
            .connect_timeout(options.timeout);
        if let Some(path) = &options.certificates {
            let refused = |source| SetupError::Certificates(path.clone(), source);
            let pem = std::fs::read(path).map_err(|error| refused(error.into()))?;
            let roots =
                Certificate::from_pem_bundle(&pem).map_err(|error| refused(error.into()))?;
            if roots.is_empty() {
                return Err(refused("it contains no certificate".into()));
            }
            client = client.tls_certs_only(roots);
        }
        Ok(Self {
            client: client.build().map_err(SetupError::Client)?,
            authorization: options.credentials.as_ref().map(header).transpose()?,
            timeout: options.timeout,
            base,
        })
    }

    /// Returns its address, which contains no credentials.
    pub(crate) fn place(&self) -> String {
        self.base.as_str().trim_end_matches('/').to_owned()
    }

    /// Returns the JSON of a successful answer.
    pub(crate) async fn ask(&self, ask: NodeRequest<'_>) -> Result<Value, SkillIndexError> {
        let doing = ask.doing;
        match self.answer(ask).await? {
            NodeAnswer::Found(value) => Ok(value),
            NodeAnswer::Missing(reason) => Err(SkillIndexError::Refused {
                place: self.place(),
                doing,
                status: 404,
                reason,
            }),
        }
    }

    /// Returns the answer in the expected form; a missing resource is a separate case.
    pub(crate) async fn answer<T: DeserializeOwned>(
        &self,
        ask: NodeRequest<'_>,
    ) -> Result<NodeAnswer<T>, SkillIndexError> {
        let doing = ask.doing;
        let url = self.base.join(ask.path.trim_start_matches('/'));
        let url = url.map_err(|error| self.invalid_answer(doing, error.to_string()))?;
        let timeout = match ask.pace {
            Pace::Quick => self.timeout,
            Pace::Slow => self.timeout * SLOW_TIMEOUT_FACTOR,
        };
        let mut request = self.client.request(ask.method, url).timeout(timeout);
        if let Some(authorization) = &self.authorization {
            request = request.header(AUTHORIZATION, authorization.clone());
        }
        if let Some((form, body)) = ask.body {
            let kind = match form {
                Form::Json => "application/json",
                Form::Lines => "application/x-ndjson",
            };
            request = request.header(CONTENT_TYPE, kind).body(body);
        }
        let response = request.send().await;
        let response = response.map_err(|error| self.unreachable(doing, error))?;
        let status = response.status().as_u16();
        let body = self.read(doing, response).await?;
        match status {
            200..=299 => decode(&body, ANSWER)
                .map(NodeAnswer::Found)
                .map_err(|error| self.invalid_answer(doing, error.to_string())),
            404 => Ok(NodeAnswer::Missing(reason_text(&body))),
            _ => Err(SkillIndexError::Refused {
                place: self.place(),
                doing,
                status,
                reason: reason_text(&body),
            }),
        }
    }

    async fn read(
        &self,
        doing: &'static str,
        mut response: Response,
    ) -> Result<Vec<u8>, SkillIndexError> {
        let mut body = Vec::new();
        while let Some(chunk) = response
            .chunk()
            .await
            .map_err(|error| self.unreachable(doing, error))?
        {
            if body.len() + chunk.len() > MAX_ANSWER_BYTES {
                let detail = format!("it is longer than {MAX_ANSWER_BYTES} bytes");
                return Err(self.invalid_answer(doing, detail));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    fn unreachable(&self, doing: &'static str, error: reqwest::Error) -> SkillIndexError {
        SkillIndexError::Unreachable {
            place: self.place(),
            doing,
            source: Box::new(error.without_url()),
        }
    }

    pub(crate) fn invalid_answer(&self, doing: &'static str, detail: String) -> SkillIndexError {
        SkillIndexError::Form {
            place: self.place(),
            doing,
            detail,
        }
    }
}

/// A node's answer.
#[derive(Debug)]
pub(crate) enum NodeAnswer<T> {
    /// The resource.
    Found(T),
    /// The resource does not exist; the node's reason.
    Missing(String),
}

fn header(credentials: &Credentials) -> Result<HeaderValue, SetupError> {
    let text = match credentials {
        Credentials::Basic { user, password } => {
            format!("Basic {}", BASE64.encode(format!("{user}:{password}")))
        }
        Credentials::ApiKey(key) => format!("ApiKey {key}"),
    };
    let mut value = HeaderValue::from_str(&text).map_err(|_| {
        let why = "the credentials contain a character that is invalid in headers";
        SetupError::Url(String::new(), why.to_owned())
    })?;
    value.set_sensitive(true);
    Ok(value)
}

/// Returns the reason in an error document, or its beginning.
fn reason_text(body: &[u8]) -> String {
    let document: Option<Value> = decode(body, ANSWER).ok();
    let reason = document.as_ref().and_then(|document| {
        let error = &document["error"];
        let cause = &error["root_cause"][0]["reason"];
        cause.as_str().or(error["reason"].as_str())
    });
    let text = reason.map_or_else(|| String::from_utf8_lossy(body).into_owned(), str::to_owned);
    shortened(&text)
}

pub(crate) fn shortened(text: &str) -> String {
    text.chars()
        .filter(|character| !character.is_control())
        .take(MAX_REASON_CHARS)
        .collect()
}
