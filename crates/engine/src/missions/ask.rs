//! Asking a model for a draft: what is sent, and what is done about an answer that does not fit. The
//! provider is held to the schema; what needs the mission is checked here, and the model is told what
//! is wrong, a bounded number of times.

use std::time::Instant;

use charter_contract::error_code::ErrorCode;
use charter_contract::foreign_schema::ForeignSchema;
use charter_contract::ids::Label;
use charter_contract::mission::task_graph::Role;
use charter_domain::run::{ErrorKind, StepFailure, Tokens};
use charter_effects::{
    ModelFailure, ModelRequest, ModelStage, NamedSchema, Turn, Usage, check_against,
};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::draft::schema::DraftSchema;
use super::stage::{StageFailed, StageWork, unfit};
use crate::Engine;
use crate::runs::failure;

/// How often a model is told what is wrong with its draft.
const MAX_REPAIRS: usize = 2;
/// Tokens of one answer, where the mission has as many left.
const MAX_OUTPUT_TOKENS: u64 = 8_192;

/// What a role asks.
pub(super) struct Asking<'a> {
    pub(super) role: Role,
    pub(super) route: &'a Label,
    pub(super) system: &'a str,
    pub(super) task: &'a str,
    pub(super) context: Value,
    /// What the answer must be.
    pub(super) wanted: DraftSchema,
}

/// A part of what was made of a draft that has to keep to a document's own schema.
pub(super) struct Declared {
    pub(super) schema: ForeignSchema,
    pub(super) value: Value,
    /// What it is called, in front of what is wrong with it.
    pub(super) name: String,
}

/// What was made of a draft.
pub(super) struct Drafted<T> {
    pub(super) made: T,
    /// `provider/model`.
    pub(super) model: String,
    pub(super) tokens: Tokens,
}

impl Engine {
    /// Asks for a draft and makes something of it. `make` says what is wrong with a draft that does not
    /// do, in words that the model is told; `declared` names the parts that have schemas of their own.
    pub(super) async fn drafted<D: DeserializeOwned, T>(
        &self,
        work: &StageWork,
        asking: Asking<'_>,
        mut make: impl FnMut(D) -> Result<T, Vec<String>>,
        declared: impl Fn(&T) -> Vec<Declared>,
        cancel: &CancellationToken,
    ) -> Result<Drafted<T>, StageFailed> {
        let mut request = request(work, asking)?;
        let begun = Instant::now();
        let mut tokens = Tokens::default();
        loop {
            request.timeout = work.timeout.saturating_sub(begun.elapsed());
            let models = self.models_for(work);
            let answer = models.complete(&request, cancel).await;
            let answer = answer.map_err(|failure| failed(&failure, tokens))?;
            tokens = tokens.and(counted(answer.usage));
            let read = serde_json::from_value::<D>(answer.draft.clone());
            let made = read
                .map_err(|error| vec![error.to_string()])
                .and_then(&mut make);
            let wrong = match made {
                Ok(made) => {
                    let wrong = unmet(declared(&made)).await;
                    if wrong.is_empty() {
                        return Ok(Drafted {
                            made,
                            model: answer.model,
                            tokens,
                        });
                    }
                    wrong
                }
                Err(wrong) => wrong,
            };
            if request.earlier.len() >= MAX_REPAIRS {
                let message = format!(
                    "the {} answered {} times with what does not fit: {}",
                    request.stage.as_str(),
                    request.earlier.len() + 1,
                    wrong.join("; ")
                );
                let failure = failure(
                    ErrorKind::ExecutionError,
                    ErrorCode::InvalidDocument,
                    message,
                );
                return Err(StageFailed { failure, tokens });
            }
            request.earlier.push(Turn {
                answered: answer.draft.to_string(),
                wrong,
            });
        }
    }
}

/// What is wrong with parts that have schemas of their own.
async fn unmet(parts: Vec<Declared>) -> Vec<String> {
    let mut wrong = Vec::new();
    for part in parts {
        let (_, violations) = check_against(&part.schema, part.value).await;
        let name = &part.name;
        wrong.extend(violations.iter().map(|found| format!("{name}{found}")));
    }
    wrong
}

fn request(work: &StageWork, asking: Asking<'_>) -> Result<ModelRequest, StepFailure> {
    let Value::Object(schema) = asking.wanted.schema else {
        return Err(unfit("the schema of a draft is no object"));
    };
    let left = work.tokens_left.unwrap_or(u64::MAX).min(MAX_OUTPUT_TOKENS);
    Ok(ModelRequest {
        route: asking.route.clone(),
        stage: ModelStage::Role(asking.role),
        system: asking.system.to_owned(),
        task: asking.task.to_owned(),
        context: asking.context,
        earlier: Vec::new(),
        schema: NamedSchema {
            name: Label::parse(asking.wanted.name).map_err(|error| unfit(error.to_string()))?,
            schema: schema.into(),
        },
        max_output_tokens: u32::try_from(left).unwrap_or(u32::MAX),
        temperature: 0.0,
        tenant: work.caller.tenant.clone(),
        idempotency_key: work.key.clone(),
        timeout: work.timeout,
    })
}

fn counted(usage: Usage) -> Tokens {
    Tokens {
        input: usage.input_tokens,
        output: usage.output_tokens,
    }
}

/// What a failure of the model fails the step with.
fn failed(found: &ModelFailure, before: Tokens) -> StageFailed {
    let (kind, code) = (found.fault.error_type(), found.code());
    let retryable = found.retryable();
    StageFailed {
        failure: StepFailure {
            retryable,
            ..failure(kind, code, found.message.clone())
        },
        tokens: before.and(counted(found.usage)),
    }
}
