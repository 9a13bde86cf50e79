//! Language models: the port, its values, and the implementation over HTTP.
//!
//! A request names a route, not a model: the operator configures the provider and model of each route, and a tenant may
//! have its own routes and keys. The answer is a draft, one JSON value that conforms to the schema of the request: it
//! never acts, and sets no id. Must not know missions, prompts, or how a draft is used.

mod anthropic;
mod complaint;
mod completion;
mod conversation;
mod exchange;
mod failure;
mod openai;
mod options;
mod provider_request;
mod providers;
mod reply;
mod routes;
mod setup;
mod strict;
mod target;

use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;
use charter_contract::foreign_schema::ForeignSchema;
use charter_contract::ids::{Label, TenantId};
use charter_contract::mission::task_graph::Role;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::secret::SecretSource;

pub use failure::{ModelFailure, ModelFault};
pub use options::{
    Delivery, ModelApi, ModelOptions, ProviderOptions, Repairs, StructuredOutput, Temperature,
    TenantModels, TokenLimit,
};
pub use providers::ModelProviders;
pub use setup::ModelSetupError;
pub use target::{ModelTarget, TargetError};

/// Port for language models.
#[async_trait]
pub trait Models: Send + Sync {
    /// Requests a draft from the model of a route. Retries within the request's timeout if the answer does not conform
    /// to the schema or the provider may recover soon.
    ///
    /// Requests have no effect but cost, so repeats are safe; a repeat may return another answer.
    ///
    /// # Errors
    /// [`ModelFailure`], with the usage until then.
    async fn complete(
        &self,
        request: &ModelRequest,
        cancel: &CancellationToken,
    ) -> Result<ModelAnswer, ModelFailure>;

    /// Like [`Models::complete`], and passes the text of the draft to `listener` as it arrives. That text is not
    /// validated yet, and may belong to an attempt that fails: only the result is the answer.
    ///
    /// # Errors
    /// As for [`Models::complete`].
    async fn complete_aloud(
        &self,
        request: &ModelRequest,
        cancel: &CancellationToken,
        listener: &dyn ModelListener,
    ) -> Result<ModelAnswer, ModelFailure> {
        let answer = self.complete(request, cancel).await?;
        listener.begins();
        listener.hears(&answer.draft.to_string());
        Ok(answer)
    }

    /// Returns the routes of a tenant with their targets, by name.
    fn routes(&self, tenant: &TenantId) -> BTreeMap<Label, ModelRoute>;
}

/// Receives the text of a draft while the model writes it.
pub trait ModelListener: Send + Sync {
    /// A text begins; all text before it belongs to a failed attempt.
    fn begins(&self);

    /// Receives the next piece of the text.
    fn hears(&self, piece: &str);
}

/// Ignores the text.
#[derive(Debug, Clone, Copy, Default)]
pub struct NullListener;

impl ModelListener for NullListener {
    fn begins(&self) {}

    fn hears(&self, _: &str) {}
}

/// Refuses every route: for programs without models.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoModels;

#[async_trait]
impl Models for NoModels {
    async fn complete(
        &self,
        request: &ModelRequest,
        _: &CancellationToken,
    ) -> Result<ModelAnswer, ModelFailure> {
        let message = format!(
            "the route `{}` has no model: no models are configured (`models` in the configuration)",
            request.route
        );
        Err(ModelFailure::new(ModelFault::UnknownRoute, message))
    }

    fn routes(&self, _: &TenantId) -> BTreeMap<Label, ModelRoute> {
        BTreeMap::new()
    }
}

/// A request to a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelRequest {
    /// The `model_route` of the prompt package, e.g. `tier_high_reasoning`.
    pub route: Label,
    /// The part of Charter that sends the request.
    pub stage: ModelStage,
    /// The system prompt: instructions that do not change from call to call.
    pub system: String,
    /// The prompt of the task: also instructions.
    pub task: String,
    /// Input data, sent separately from instructions.
    pub context: Value,
    /// Earlier answers to this request with their faults, oldest first.
    pub earlier: Vec<RejectedAnswer>,
    /// The schema of the draft.
    pub schema: NamedSchema,
    /// Token limit of one answer.
    pub max_output_tokens: u32,
    /// How much the answer may vary; 0 for the least.
    pub temperature: f64,
    /// The tenant whose routes and keys apply.
    pub tenant: TenantId,
    /// Key by which providers recognise repeats; sent as `Idempotency-Key`.
    pub idempotency_key: String,
    /// Timeout of the whole request: attempts, pauses and repairs.
    pub timeout: Duration,
}

/// The part of Charter that uses a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelStage {
    /// A role of a mission.
    Role(Role),
    /// The agent that writes a candidate.
    CodeAgent,
    /// The agent that summarises the results of a request.
    AnalysisAgent,
    /// The gateway, for parameters that a request leaves open.
    Parameters,
    /// The gateway, to interpret a request.
    Gateway,
    /// An operator's test of a route.
    Probe,
}

impl ModelStage {
    /// Returns its name, e.g. `planner`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Role(role) => role.as_str(),
            Self::CodeAgent => "code_agent",
            Self::AnalysisAgent => "analysis_agent",
            Self::Parameters => "parameters",
            Self::Gateway => "gateway",
            Self::Probe => "probe",
        }
    }
}

/// An invalid answer with its faults.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RejectedAnswer {
    /// The answer, as the model wrote it.
    pub answered: String,
    /// Its faults, each with its location.
    pub wrong: Vec<String>,
}

/// A JSON Schema with a name.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedSchema {
    /// The schema's name as sent to providers.
    pub name: Label,
    /// The schema, of an object.
    pub schema: ForeignSchema,
}

/// A model's draft, with its usage.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelAnswer {
    /// One JSON value that conforms to the request's schema. A truncated, refused or filtered answer is a failure
    /// instead.
    pub draft: Value,
    /// `provider/model`, the model as the provider names it in its answer.
    pub model: String,
    /// Tokens of all attempts and repairs.
    pub usage: Usage,
    /// Number of requests, attempts and repairs together.
    pub attempts: u32,
    /// How often an answer was returned to the model because it did not conform to the schema.
    pub repairs: u32,
    /// Wall-clock time of the whole request.
    pub duration_ms: u64,
}

/// Tokens, as providers count and report them. Interrupted attempts count as far as the provider reported their usage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Input tokens, those from a cache included.
    pub input_tokens: u64,
    /// Output tokens.
    pub output_tokens: u64,
    /// Input tokens that came from the provider's cache.
    pub cached_tokens: u64,
}

impl Usage {
    /// Adds two usages.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self {
            input_tokens: self.input_tokens.saturating_add(other.input_tokens),
            output_tokens: self.output_tokens.saturating_add(other.output_tokens),
            cached_tokens: self.cached_tokens.saturating_add(other.cached_tokens),
        }
    }
}

/// The target of a route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelRoute {
    /// Provider and model.
    pub target: ModelTarget,
    /// The configuration that defines the route.
    pub set_by: SetBy,
    /// Source of the key; absent if no key is sent.
    pub key: Option<SecretSource>,
    /// The configuration that defines the key.
    pub key_of: SetBy,
}

/// The part of the configuration that defines a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetBy {
    /// The server's own configuration.
    Server,
    /// The tenant's part of it.
    Tenant,
}

impl SetBy {
    /// Returns `server` or `tenant`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Tenant => "tenant",
        }
    }
}
