//! The language models in the configuration: providers, routes, and overrides of tenants. The configuration names where
//! keys are and never holds them. Startup checks that the settings fit together.

use std::collections::BTreeMap;

use charter_contract::ids::{Label, TenantId};
use charter_effects::{ProviderOptions, Repairs, RetryPolicy};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::remote::{PlainHttpConfig, SecretConfig};

/// The language models.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ModelsConfig {
    /// The providers, by the names that routes use.
    pub(crate) providers: BTreeMap<Label, ProviderConfig>,
    /// The target of each route, as `provider/model`.
    pub(crate) routes: BTreeMap<Label, String>,
    /// Overrides of tenants, which take precedence over the server's settings.
    pub(crate) tenants: BTreeMap<TenantId, TenantModelsConfig>,
    /// The most times that an answer which violates its schema is returned to the model for correction.
    pub(crate) repairs: u32,
    /// The most retries of a request after transient failures.
    pub(crate) retries: u32,
}

impl Default for ModelsConfig {
    fn default() -> Self {
        Self {
            providers: BTreeMap::new(),
            routes: BTreeMap::new(),
            tenants: BTreeMap::new(),
            repairs: Repairs::default().0,
            retries: RetryPolicy::RETRIES,
        }
    }
}

/// One provider.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ProviderConfig {
    /// The API of the provider.
    pub(crate) api: ApiConfig,
    /// The base URL of that API; its vendor's if absent. For `openai`, the URL before `/chat/completions`; for
    /// `anthropic`, the URL before `/v1/messages`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) base_url: Option<String>,
    /// Where its key is; if absent, no key is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<SecretConfig>,
    /// How the model is made to follow a schema; if absent, `json_schema` for `openai` and `tool` for `anthropic`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) structured: Option<StructuredConfig>,
    /// Whether answers are streamed.
    #[serde(default = "yes")]
    pub(crate) stream: bool,
    /// The name of the token limit's parameter, for `openai`.
    #[serde(default)]
    pub(crate) token_limit: TokenLimitConfig,
    /// Whether a temperature is sent; some models refuse it.
    #[serde(default)]
    pub(crate) temperature: TemperatureConfig,
    /// The hosts to which plain HTTP is allowed.
    #[serde(default)]
    pub(crate) plain_http: PlainHttpConfig,
    /// Largest answer, in bytes.
    #[serde(default = "output_bytes")]
    pub(crate) output_bytes: usize,
    /// Timeout of one attempt, in milliseconds.
    #[serde(default = "timeout_ms")]
    pub(crate) timeout_ms: u64,
    /// Concurrent requests.
    #[serde(default = "concurrency")]
    pub(crate) concurrency: usize,
}

fn yes() -> bool {
    true
}

fn output_bytes() -> usize {
    ProviderOptions::OUTPUT_BYTES
}

fn timeout_ms() -> u64 {
    u64::try_from(ProviderOptions::ATTEMPT_TIMEOUT.as_millis()).unwrap_or(u64::MAX)
}

fn concurrency() -> usize {
    ProviderOptions::CONCURRENCY
}

/// A provider's API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ApiConfig {
    /// OpenAI's chat completions, which many servers implement.
    #[serde(rename = "openai")]
    OpenAi,
    /// Anthropic's messages.
    Anthropic,
}

/// How a model is made to follow a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StructuredConfig {
    /// The request contains the schema.
    JsonSchema,
    /// The request asks for JSON, and the prompt contains the schema; for `openai`.
    JsonObject,
    /// The model must call one tool whose parameters have the schema.
    Tool,
    /// The prompt contains the schema.
    None,
}

/// The name of the token limit's parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TokenLimitConfig {
    /// The current name.
    #[default]
    MaxCompletionTokens,
    /// The former name.
    MaxTokens,
}

/// Whether a temperature is sent to a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TemperatureConfig {
    /// It is sent.
    #[default]
    Sent,
    /// It is omitted.
    Omitted,
}

/// Overrides of a tenant.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct TenantModelsConfig {
    /// Where its keys are, by provider.
    pub(crate) keys: BTreeMap<Label, SecretConfig>,
    /// The targets of its routes, as `provider/model`.
    pub(crate) routes: BTreeMap<Label, String>,
}
