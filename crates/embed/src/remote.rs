//! Embeddings from a server that implements the OpenAI API (`POST {base}/embeddings`): bounded batches, bounded
//! answers, bounded retries. Knows no particular provider; the key and every setting come from the caller.

use std::fmt;
use std::ops::Range;
use std::time::Duration;

use async_trait::async_trait;
use backon::{ExponentialBuilder, Retryable};
use charter_contract::hex;
use charter_contract::json::{JsonFault, Profile, decode};
use charter_search::embed::{
    EmbedError, Embedder, EmbeddingModel, MAX_TEXTS_PER_CALL, Quantisation, Vector, VectorError,
};
use reqwest::header::{HeaderMap, RETRY_AFTER};
use reqwest::{Client, Response, StatusCode, Url};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use thiserror::Error;

/// Texts in one request unless set otherwise.
pub const DEFAULT_TEXTS_PER_REQUEST: usize = 128;
/// Time for one request, its answer included, unless set otherwise.
pub const DEFAULT_REQUEST_TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum number of retries of a request after transient failures.
pub const MAX_RETRIES: usize = 4;
/// The longest pause before a retry, even if the server requests a longer one.
pub const MAX_RETRY_PAUSE: Duration = Duration::from_secs(20);
/// The pause before the first retry; it doubles with each further one.
const FIRST_RETRY_PAUSE: Duration = Duration::from_millis(250);
/// Bytes of an answer for each component: digits, sign, exponent, comma, spaces.
const ANSWER_BYTES_PER_COMPONENT: usize = 64;
/// Bytes of an answer beside its components.
const ANSWER_BYTES_BESIDE: usize = 64 << 10;
/// Bytes of a refusal that are shown.
const MAX_REFUSAL_BYTES: usize = 400;

/// A secret key. `Debug` hides it.
#[derive(Clone)]
pub struct ApiKey(String);

impl ApiKey {
    /// Wraps a key.
    pub fn new(key: impl Into<String>) -> ApiKey {
        ApiKey(key.into())
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ApiKey(…)")
    }
}

/// The server, and options of its requests.
#[derive(Clone, Debug)]
pub struct RemoteOptions {
    /// The API's base, for example `https://api.openai.com/v1`.
    pub base_url: Url,
    /// The model's name on the server.
    pub model: String,
    /// Components that each vector must have.
    pub dims: usize,
    /// Sent as a bearer token if present.
    pub api_key: Option<ApiKey>,
    /// Texts in one request, at least 1.
    pub texts_per_request: usize,
    /// Timeout of one request, including its answer.
    pub timeout: Duration,
    /// Pause before the first retry; doubled for each further one, at most
    /// [`MAX_RETRY_PAUSE`].
    pub first_retry_pause: Duration,
    /// Prefixes that the model expects.
    pub prefixes: Prefixes,
}

/// Prefixes that a model expects, by the role of a text; e5, bge and arctic models were trained with them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prefixes {
    /// Of queries, for example `query: `.
    pub query: String,
    /// Of documents, for example `passage: `.
    pub document: String,
}

impl Prefixes {
    /// Returns the model's name with a digest of the prefixes, so that vectors with other prefixes are not mixed in.
    fn named(&self, model: &str) -> String {
        if *self == Prefixes::default() {
            return model.to_owned();
        }
        let mut digest = Sha256::new();
        digest.update(&self.query);
        digest.update([0]);
        digest.update(&self.document);
        format!("{model}+{}", hex::encode(&digest.finalize()[..4]))
    }
}

impl RemoteOptions {
    /// Returns the defaults for a server and a model.
    pub fn new(base_url: Url, model: impl Into<String>, dims: usize) -> RemoteOptions {
        RemoteOptions {
            base_url,
            model: model.into(),
            dims,
            api_key: None,
            texts_per_request: DEFAULT_TEXTS_PER_REQUEST,
            timeout: DEFAULT_REQUEST_TIMEOUT,
            first_retry_pause: FIRST_RETRY_PAUSE,
            prefixes: Prefixes::default(),
        }
    }
}

/// Why a server returned no embeddings.
#[derive(Debug, Error)]
pub enum RemoteError {
    /// Creating the HTTP client failed.
    #[error("the HTTP client could not be set up")]
    Client {
        /// The cause.
        source: reqwest::Error,
    },
    /// The base URL cannot carry a path.
    #[error("{url} cannot be the base URL of an API: it does not accept a path")]
    BaseUrl {
        /// The configured URL.
        url: String,
    },
    /// The request or its answer was lost.
    #[error("no answer from {url}")]
    Request {
        /// The requested URL.
        url: String,
        /// The cause.
        source: reqwest::Error,
    },
    /// The server refused.
    #[error("{url} answered with status {status}: {message}")]
    Refused {
        /// The requested URL.
        url: String,
        /// The HTTP status.
        status: u16,
        /// The beginning of its answer.
        message: String,
        /// The pause that the server requests.
        retry_after: Option<Duration>,
    },
    /// The answer exceeds the largest possible size of the vectors.
    #[error("the answer is longer than {limit} bytes")]
    TooLong {
        /// The greatest accepted length.
        limit: usize,
    },
    /// The answer does not have the API's form.
    #[error("the answer does not follow the embeddings API")]
    Form {
        /// The parser's error.
        source: JsonFault,
    },
    /// The answer does not have one vector for each text.
    #[error("the answer does not have one vector for each of {texts} texts")]
    Count {
        /// Number of requested texts.
        texts: usize,
    },
    /// A vector is invalid, for example because its dimensions differ from the index's.
    #[error("the answer's vector {index} is unusable")]
    Vector {
        /// Its position in the request.
        index: usize,
        /// The cause.
        source: VectorError,
    },
}

impl RemoteError {
    /// Whether the same request may succeed later.
    pub fn is_retryable(&self) -> bool {
        match self {
            RemoteError::Request { source, .. } => {
                source.is_timeout()
                    || source.is_connect()
                    || source.is_body()
                    || source.is_request()
            }
            RemoteError::Refused { status, .. } => {
                *status == StatusCode::TOO_MANY_REQUESTS.as_u16()
                    || *status == StatusCode::REQUEST_TIMEOUT.as_u16()
                    || *status >= 500
            }
            RemoteError::Client { .. }
            | RemoteError::BaseUrl { .. }
            | RemoteError::TooLong { .. }
            | RemoteError::Form { .. }
            | RemoteError::Count { .. }
            | RemoteError::Vector { .. } => false,
        }
    }

    fn retry_after(&self) -> Option<Duration> {
        match self {
            RemoteError::Refused { retry_after, .. } => *retry_after,
            RemoteError::Client { .. }
            | RemoteError::BaseUrl { .. }
            | RemoteError::Request { .. }
            | RemoteError::TooLong { .. }
            | RemoteError::Form { .. }
            | RemoteError::Count { .. }
            | RemoteError::Vector { .. } => None,
        }
    }
}

#[derive(Serialize)]
struct Question<'a> {
    model: &'a str,
    input: &'a [String],
    encoding_format: &'static str,
}

#[derive(Deserialize)]
struct Answer {
    data: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    index: usize,
    embedding: Vec<f32>,
}

/// An [`Embedder`] over HTTP.
pub struct RemoteEmbedder {
    model: EmbeddingModel,
    options: RemoteOptions,
    url: Url,
    client: Client,
}

impl RemoteEmbedder {
    /// Creates a client; sends no request yet. The process must have a default TLS provider installed.
    ///
    /// # Errors
    /// [`RemoteError::BaseUrl`] or [`RemoteError::Client`].
    pub fn new(options: RemoteOptions) -> Result<RemoteEmbedder, RemoteError> {
        let mut url = options.base_url.clone();
        url.path_segments_mut()
            .map_err(|()| RemoteError::BaseUrl {
                url: options.base_url.to_string(),
            })?
            .pop_if_empty()
            .push("embeddings");
        let client = Client::builder()
            .timeout(options.timeout)
            .build()
            .map_err(|source| RemoteError::Client { source })?;
        Ok(RemoteEmbedder {
            model: EmbeddingModel {
                name: options.prefixes.named(&options.model),
                dims: options.dims,
                quantisation: Quantisation::Provider,
            },
            options,
            url,
            client,
        })
    }

    /// Returns the vectors of texts, each with a prefix.
    async fn embed_after(
        &self,
        prefix: &str,
        mut texts: Vec<String>,
    ) -> Result<Vec<Vector>, EmbedError> {
        if texts.len() > MAX_TEXTS_PER_CALL {
            return Err(EmbedError::TooManyTexts {
                found: texts.len(),
                limit: MAX_TEXTS_PER_CALL,
            });
        }
        if !prefix.is_empty() {
            for text in &mut texts {
                text.insert_str(0, prefix);
            }
        }
        let mut vectors = Vec::with_capacity(texts.len());
        for request in texts.chunks(self.options.texts_per_request.max(1)) {
            let answer = self.ask_with_retries(request).await;
            vectors.extend(answer.map_err(|error| EmbedError::Remote {
                source: Box::new(error),
            })?);
        }
        Ok(vectors)
    }

    async fn ask_with_retries(&self, texts: &[String]) -> Result<Vec<Vector>, RemoteError> {
        let pauses = ExponentialBuilder::default()
            .with_min_delay(self.options.first_retry_pause)
            .with_max_delay(MAX_RETRY_PAUSE)
            .with_max_times(MAX_RETRIES);
        (|| self.ask(texts))
            .retry(pauses)
            .when(RemoteError::is_retryable)
            .adjust(|error, pause| {
                pause.map(|pause| error.retry_after().unwrap_or(pause).min(MAX_RETRY_PAUSE))
            })
            .notify(|error, pause| {
                tracing::warn!(%error, ?pause, "embedding request failed; retrying");
            })
            .await
    }

    async fn ask(&self, texts: &[String]) -> Result<Vec<Vector>, RemoteError> {
        let mut request = self.client.post(self.url.clone()).json(&Question {
            model: &self.options.model,
            input: texts,
            encoding_format: "float",
        });
        if let Some(ApiKey(key)) = &self.options.api_key {
            request = request.bearer_auth(key);
        }
        let response = request.send().await.map_err(|source| self.lost(source))?;
        if !response.status().is_success() {
            return Err(self.refusal(response).await);
        }
        let limit =
            ANSWER_BYTES_BESIDE + texts.len() * self.options.dims * ANSWER_BYTES_PER_COMPONENT;
        let body = match self.read(response, limit).await? {
            body if body.len() > limit => return Err(RemoteError::TooLong { limit }),
            body => body,
        };
        // The server is the operator's own, so its numbers are parsed as floats; their count is checked.
        let answer: Answer = decode(&body, Profile::OPERATOR.of_bytes(limit))
            .map_err(|source| RemoteError::Form { source })?;
        in_order(answer, texts.len(), self.options.dims)
    }

    /// Reads a body until it ends or is longer than `limit`.
    async fn read(&self, mut response: Response, limit: usize) -> Result<Vec<u8>, RemoteError> {
        let mut body = Vec::new();
        while body.len() <= limit
            && let Some(chunk) = response.chunk().await.map_err(|source| self.lost(source))?
        {
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    async fn refusal(&self, response: Response) -> RemoteError {
        let status = response.status().as_u16();
        let retry_after = retry_after(response.headers());
        match self.read(response, MAX_REFUSAL_BYTES).await {
            Err(error) => error,
            Ok(mut body) => {
                body.truncate(MAX_REFUSAL_BYTES);
                RemoteError::Refused {
                    url: self.url.to_string(),
                    status,
                    message: String::from_utf8_lossy(&body).into_owned(),
                    retry_after,
                }
            }
        }
    }

    fn lost(&self, source: reqwest::Error) -> RemoteError {
        RemoteError::Request {
            url: self.url.to_string(),
            source: source.without_url(),
        }
    }
}

/// Returns the requested pause in seconds; dates are not supported.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get(RETRY_AFTER)?.to_str().ok()?.parse().ok()?;
    Some(Duration::from_secs(seconds))
}

/// Returns each text's vector, ordered by the index in the answer.
fn in_order(answer: Answer, texts: usize, dims: usize) -> Result<Vec<Vector>, RemoteError> {
    let count = || RemoteError::Count { texts };
    let mut vectors: Vec<Option<Vector>> = vec![None; texts];
    for Item { index, embedding } in answer.data {
        let place = vectors.get_mut(index).ok_or_else(count)?;
        let vector = Vector::with_dims(embedding, dims)
            .map_err(|source| RemoteError::Vector { index, source })?;
        if place.replace(vector).is_some() {
            return Err(count());
        }
    }
    vectors
        .into_iter()
        .collect::<Option<Vec<_>>>()
        .ok_or_else(count)
}

#[async_trait]
impl Embedder for RemoteEmbedder {
    fn model(&self) -> &EmbeddingModel {
        &self.model
    }

    async fn embed(&self, texts: Vec<String>) -> Result<Vec<Vector>, EmbedError> {
        self.embed_after(&self.options.prefixes.document, texts)
            .await
    }

    async fn embed_queries(&self, texts: Vec<String>) -> Result<Vec<Vector>, EmbedError> {
        self.embed_after(&self.options.prefixes.query, texts).await
    }

    fn count_tokens(&self, _text: &str) -> Option<usize> {
        None
    }

    fn token_spans(&self, _text: &str) -> Option<Vec<Range<usize>>> {
        None
    }
}
