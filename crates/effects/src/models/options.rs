//! Configuration of models: providers, routes, keys and bounds. Plain values; the binary reads them.

use std::collections::BTreeMap;
use std::time::Duration;

use charter_contract::ids::{Label, TenantId};

use super::target::ModelTarget;
use crate::http::PlainHttp;
use crate::patience::RetryPolicy;
use crate::secret::Secret;
use crate::telemetry::TraceContext;

/// Providers, and the target of each route.
#[derive(Debug, Clone, Default)]
pub struct ModelOptions {
    /// The providers, by the names that routes use.
    pub providers: BTreeMap<Label, ProviderOptions>,
    /// The default routes, for tenants without their own route of that name.
    pub routes: BTreeMap<Label, ModelTarget>,
    /// The tenants' own configuration; it takes precedence.
    pub tenants: BTreeMap<TenantId, TenantModels>,
    /// How often an answer that does not conform to its schema is sent back, at most.
    pub repairs: Repairs,
    /// Retry policy for transient failures.
    pub patience: RetryPolicy,
    /// Trace context to send to providers.
    pub trace: TraceContext,
}

/// Maximum number of repairs of an answer that does not conform to its schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repairs(pub u32);

impl Default for Repairs {
    fn default() -> Self {
        Self(2)
    }
}

/// A tenant's own configuration.
#[derive(Debug, Clone, Default)]
pub struct TenantModels {
    /// Keys, by provider.
    pub keys: BTreeMap<Label, Secret>,
    /// Routes.
    pub routes: BTreeMap<Label, ModelTarget>,
}

/// One provider.
#[derive(Debug, Clone)]
pub struct ProviderOptions {
    /// Its API.
    pub api: ModelApi,
    /// The base of that API: for OpenAI's the URL above `/chat/completions`, for Anthropic's the URL above
    /// `/v1/messages`.
    pub base_url: String,
    /// The key for tenants without their own; absent for servers that require none.
    pub key: Option<Secret>,
    /// How its output is constrained to a schema.
    pub structured: StructuredOutput,
    /// Whether answers are streamed.
    pub delivery: Delivery,
    /// The name of the token limit; for OpenAI's API.
    pub token_limit: TokenLimit,
    /// Whether requests contain a temperature; some models refuse it.
    pub temperature: Temperature,
    /// Largest answer, in bytes.
    pub output_bytes: usize,
    /// Timeout of one attempt.
    pub attempt_timeout: Duration,
    /// Concurrent requests; more wait, within their timeout.
    pub concurrency: usize,
    /// Hosts to which connections without TLS are allowed.
    pub plain_http: PlainHttp,
}

impl ProviderOptions {
    /// Default largest answer: 1 MiB.
    pub const OUTPUT_BYTES: usize = 1 << 20;
    /// Default timeout of one attempt.
    pub const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(120);
    /// Default number of concurrent requests.
    pub const CONCURRENCY: usize = 8;

    /// Returns the defaults for an API.
    #[must_use]
    pub fn new(api: ModelApi, base_url: impl Into<String>) -> Self {
        Self {
            api,
            base_url: base_url.into(),
            key: None,
            structured: api.structured(),
            delivery: Delivery::Streamed,
            token_limit: TokenLimit::MaxCompletionTokens,
            temperature: Temperature::Sent,
            output_bytes: Self::OUTPUT_BYTES,
            attempt_timeout: Self::ATTEMPT_TIMEOUT,
            concurrency: Self::CONCURRENCY,
            plain_http: PlainHttp::Loopback,
        }
    }
}

/// An API of providers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelApi {
    /// OpenAI's chat completions, which many servers implement.
    OpenAi,
    /// Anthropic's messages.
    Anthropic,
}

impl ModelApi {
    /// Returns its vendor's address.
    #[must_use]
    pub const fn base_url(self) -> &'static str {
        match self {
            Self::OpenAi => "https://api.openai.com/v1",
            Self::Anthropic => "https://api.anthropic.com",
        }
    }

    /// Returns the constraint that every current model of its vendor supports.
    #[must_use]
    pub const fn structured(self) -> StructuredOutput {
        match self {
            Self::OpenAi => StructuredOutput::JsonSchema,
            Self::Anthropic => StructuredOutput::Tool,
        }
    }
}

/// How a model's output is constrained to a schema. The answer is checked in every case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StructuredOutput {
    /// The provider receives the schema and enforces it.
    JsonSchema,
    /// The provider enforces JSON, and the prompt contains the schema. OpenAI's API only.
    JsonObject,
    /// The model must call the one tool whose parameters have the schema.
    Tool,
    /// The prompt contains the schema.
    None,
}

/// Whether answers are streamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// As server-sent events.
    Streamed,
    /// In one piece.
    Whole,
}

/// The name of the token limit in OpenAI's API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenLimit {
    /// Its current name.
    MaxCompletionTokens,
    /// Its former name, which some servers still require.
    MaxTokens,
}

/// Whether requests contain a temperature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Temperature {
    /// They do.
    Sent,
    /// They do not, and the model's default applies.
    Omitted,
}
