//! Language models: the port, its values, and the implementation over HTTP.
//!
//! A request names a route, not a model: the operator says which provider and model a route leads
//! to, a tenant may have routes and keys of its own. The answer is a draft, one JSON value that
//! keeps to the schema that was sent along, and nothing else: it never acts, and sets no id.
//! Must not know missions, prompts, or what a draft is for.

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

/// Asks language models.
#[async_trait]
pub trait Models: Send + Sync {
    /// Asks the model of a route for a draft, and asks again where the answer does not keep to the
    /// schema or the provider may be better in a moment, all within the request's time.
    ///
    /// Asking has no effect but cost, so a repeat does no harm; it may give another answer.
    ///
    /// # Errors
    /// [`ModelFailure`], with what was spent until then.
    async fn complete(
        &self,
        request: &ModelRequest,
        cancel: &CancellationToken,
    ) -> Result<ModelAnswer, ModelFailure>;

    /// The same, while `listener` hears the text of the draft as it comes in. It is not held to the schema yet, and
    /// may be that of an attempt that fails: what the answer is, the result says.
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

    /// The routes of a tenant, in the order of their names, with where each leads.
    fn routes(&self, tenant: &TenantId) -> BTreeMap<Label, ModelRoute>;
}

/// Hears what a model writes while it writes.
pub trait ModelListener: Send + Sync {
    /// The text begins; what was heard before belongs to an attempt that came to nothing.
    fn begins(&self);

    /// The next piece of the text.
    fn hears(&self, piece: &str);
}

/// Does not listen.
#[derive(Debug, Clone, Copy, Default)]
pub struct NullListener;

impl ModelListener for NullListener {
    fn begins(&self) {}

    fn hears(&self, _: &str) {}
}

/// Refuses every route: for programs that have no models.
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

/// What a model is asked.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelRequest {
    /// The `model_route` of the prompt package, e.g. `tier_high_reasoning`.
    pub route: Label,
    /// Who asks.
    pub stage: ModelStage,
    /// The system prompt: instructions that do not change from call to call.
    pub system: String,
    /// The prompt of the task: instructions too.
    pub task: String,
    /// Data to work with, kept apart from instructions and sent as such.
    pub context: Value,
    /// What was answered before in this matter, and what was wrong with it, oldest first.
    pub earlier: Vec<RejectedAnswer>,
    /// What the draft must keep to.
    pub schema: NamedSchema,
    /// Most tokens of one answer.
    pub max_output_tokens: u32,
    /// How much the answer may vary; 0 for as little as possible.
    pub temperature: f64,
    /// Whose routes and keys count.
    pub tenant: TenantId,
    /// What makes repeats of this request recognisable; sent to providers as `Idempotency-Key`.
    pub idempotency_key: String,
    /// Longest time for everything: attempts, pauses and repairs.
    pub timeout: Duration,
}

/// Who asks a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelStage {
    /// A role of a mission.
    Role(Role),
    /// The agent that writes a candidate.
    CodeAgent,
    /// The agent that puts the results of a request into words.
    AnalysisAgent,
    /// The gateway, for values that a request leaves open.
    Parameters,
    /// The gateway, which reads what a request asks for.
    Gateway,
    /// An operator who wants to know whether the route works.
    Probe,
}

impl ModelStage {
    /// Its name, e.g. `planner`.
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

/// An answer that would not do, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RejectedAnswer {
    /// The answer, as the model wrote it.
    pub answered: String,
    /// What is wrong with it, each with its place.
    pub wrong: Vec<String>,
}

/// A JSON Schema with a name.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedSchema {
    /// What providers are told that it is called.
    pub name: Label,
    /// The schema; it describes an object.
    pub schema: ForeignSchema,
}

/// A model's draft, and what it took.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelAnswer {
    /// One JSON value that keeps to the schema of the request. An answer that was cut off, refused
    /// or filtered is none: it is a failure.
    pub draft: Value,
    /// `provider/model`, the model as the provider names it in its answer.
    pub model: String,
    /// Tokens of all attempts and repairs.
    pub usage: Usage,
    /// Requests sent, attempts and repairs together.
    pub attempts: u32,
    /// How often an answer was sent back because it did not keep to the schema.
    pub repairs: u32,
    /// Wall-clock time of everything.
    pub duration_ms: u64,
}

/// Tokens, as providers count and report them. What an attempt that broke off has used is in it as
/// far as the provider said so before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Tokens that were read, those from a cache included.
    pub input_tokens: u64,
    /// Tokens that were written.
    pub output_tokens: u64,
    /// Those of the input that came from the provider's cache.
    pub cached_tokens: u64,
}

impl Usage {
    /// Both together.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self {
            input_tokens: self.input_tokens.saturating_add(other.input_tokens),
            output_tokens: self.output_tokens.saturating_add(other.output_tokens),
            cached_tokens: self.cached_tokens.saturating_add(other.cached_tokens),
        }
    }
}

/// Where a route leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelRoute {
    /// Provider and model.
    pub target: ModelTarget,
    /// Whether the tenant or the server says so.
    pub set_by: SetBy,
    /// Where the key comes from; nothing where none is sent.
    pub key: Option<SecretSource>,
    /// Whose key it is.
    pub key_of: SetBy,
}

/// Who set something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetBy {
    /// The server's own configuration.
    Server,
    /// The part of it that is the tenant's.
    Tenant,
}

impl SetBy {
    /// `server` or `tenant`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Tenant => "tenant",
        }
    }
}
