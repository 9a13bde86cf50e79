//! The language models, as an operator writes them: providers, routes, and what tenants have of their
//! own. Keys are named here and never written. What fits together is checked where models are set up.

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
    /// Where each route leads, as `provider/model`.
    pub(crate) routes: BTreeMap<Label, String>,
    /// What tenants have of their own; it wins over the server's.
    pub(crate) tenants: BTreeMap<TenantId, TenantModelsConfig>,
    /// How often an answer that does not keep to its schema is sent back, at most.
    pub(crate) repairs: u32,
    /// How often a request is sent again after failures that may pass, at most.
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
    /// The API that it speaks.
    pub(crate) api: ApiConfig,
    /// The base of that API; its vendor's when absent. For `openai` what `/chat/completions` is
    /// under, for `anthropic` what `/v1/messages` is under.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) base_url: Option<String>,
    /// Where its key is; none is sent when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<SecretConfig>,
    /// How it is made to keep to a schema; `json_schema` for `openai` and `tool` for `anthropic`
    /// when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) structured: Option<StructuredConfig>,
    /// Whether answers are streamed.
    #[serde(default = "yes")]
    pub(crate) stream: bool,
    /// What the limit of tokens is called, for `openai`.
    #[serde(default)]
    pub(crate) token_limit: TokenLimitConfig,
    /// Whether it is told a temperature; some models refuse it.
    #[serde(default)]
    pub(crate) temperature: TemperatureConfig,
    /// Where it may be spoken to without TLS.
    #[serde(default)]
    pub(crate) plain_http: PlainHttpConfig,
    /// Largest answer, in bytes.
    #[serde(default = "output_bytes")]
    pub(crate) output_bytes: usize,
    /// Time limit of one attempt, in milliseconds.
    #[serde(default = "timeout_ms")]
    pub(crate) timeout_ms: u64,
    /// Requests under way at once.
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

/// An API that providers speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ApiConfig {
    /// OpenAI's chat completions, which many servers speak.
    #[serde(rename = "openai")]
    OpenAi,
    /// Anthropic's messages.
    Anthropic,
}

/// How a model is made to keep to a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StructuredConfig {
    /// The provider is given the schema.
    JsonSchema,
    /// The provider is told to answer in JSON, the prompt has the schema; for `openai`.
    JsonObject,
    /// The model must call one tool whose parameters have the schema.
    Tool,
    /// The prompt has the schema.
    None,
}

/// What the limit of tokens is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TokenLimitConfig {
    /// The present name.
    #[default]
    MaxCompletionTokens,
    /// The former name.
    MaxTokens,
}

/// Whether a provider is told a temperature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TemperatureConfig {
    /// It is.
    #[default]
    Sent,
    /// It is not.
    Omitted,
}

/// What a tenant has of its own.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct TenantModelsConfig {
    /// Where its keys are, by provider.
    pub(crate) keys: BTreeMap<Label, SecretConfig>,
    /// Where its routes lead, as `provider/model`.
    pub(crate) routes: BTreeMap<Label, String>,
}
