//! What an operator sets of models: providers, routes, keys and bounds. Plain values; where they
//! come from is the binary's business.

use std::collections::BTreeMap;
use std::time::Duration;

use charter_contract::ids::{Label, TenantId};

use super::target::ModelTarget;
use crate::http::PlainHttp;
use crate::patience::RetryPolicy;
use crate::secret::Secret;
use crate::telemetry::TraceContext;

/// Providers, and which route leads to which.
#[derive(Debug, Clone, Default)]
pub struct ModelOptions {
    /// The providers, by the names that routes use.
    pub providers: BTreeMap<Label, ProviderOptions>,
    /// The routes of tenants that have none of their own by that name.
    pub routes: BTreeMap<Label, ModelTarget>,
    /// What tenants have of their own; it wins.
    pub tenants: BTreeMap<TenantId, TenantModels>,
    /// How often an answer that does not keep to its schema is sent back, at most.
    pub repairs: Repairs,
    /// How failures that may pass are waited for.
    pub patience: RetryPolicy,
    /// Whether providers are told which trace a request belongs to.
    pub trace: TraceContext,
}

/// How often an answer that does not keep to its schema is sent back, at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repairs(pub u32);

impl Default for Repairs {
    fn default() -> Self {
        Self(2)
    }
}

/// What a tenant has of its own.
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
    /// Which API it speaks.
    pub api: ModelApi,
    /// The base of that API: for OpenAI's what `/chat/completions` is under, for Anthropic's what
    /// `/v1/messages` is under.
    pub base_url: String,
    /// The key for tenants that have none of their own; nothing for servers that ask for none.
    pub key: Option<Secret>,
    /// How it is made to keep to a schema.
    pub structured: StructuredOutput,
    /// Whether answers are streamed.
    pub delivery: Delivery,
    /// What the limit of tokens is called; for OpenAI's API.
    pub token_limit: TokenLimit,
    /// Whether it is told a temperature; some models refuse it.
    pub temperature: Temperature,
    /// Largest answer, in bytes.
    pub output_bytes: usize,
    /// Longest time of one attempt.
    pub attempt_timeout: Duration,
    /// Requests under way at once; more wait, within their time.
    pub concurrency: usize,
    /// Where it may be spoken to without TLS.
    pub plain_http: PlainHttp,
}

impl ProviderOptions {
    /// Default largest answer: 1 MiB.
    pub const OUTPUT_BYTES: usize = 1 << 20;
    /// Default time of one attempt.
    pub const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(120);
    /// Default requests under way at once.
    pub const CONCURRENCY: usize = 8;

    /// The defaults for an API.
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

/// An API that providers speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelApi {
    /// OpenAI's chat completions, which many servers speak.
    OpenAi,
    /// Anthropic's messages.
    Anthropic,
}

impl ModelApi {
    /// Where its vendor serves it.
    #[must_use]
    pub const fn base_url(self) -> &'static str {
        match self {
            Self::OpenAi => "https://api.openai.com/v1",
            Self::Anthropic => "https://api.anthropic.com",
        }
    }

    /// What its vendor's models keep to a schema by, in every version that is served.
    #[must_use]
    pub const fn structured(self) -> StructuredOutput {
        match self {
            Self::OpenAi => StructuredOutput::JsonSchema,
            Self::Anthropic => StructuredOutput::Tool,
        }
    }
}

/// How a model is made to keep to a schema. Whatever it is, the answer is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StructuredOutput {
    /// The provider is given the schema and keeps the model to it.
    JsonSchema,
    /// The provider keeps the model to JSON, the prompt has the schema. OpenAI's API only.
    JsonObject,
    /// The model must call the one tool whose parameters have the schema.
    Tool,
    /// The prompt has the schema.
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

/// What OpenAI's API calls the limit of tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenLimit {
    /// Its present name.
    MaxCompletionTokens,
    /// Its former name, which some servers still want.
    MaxTokens,
}

/// Whether a provider is told a temperature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Temperature {
    /// It is.
    Sent,
    /// It is not, and the model does as it does.
    Omitted,
}
