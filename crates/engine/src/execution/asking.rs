//! Asks a model for a draft until it is valid. The schema constrains the provider; the caller checks the rest, and
//! returns the defects to the model a bounded number of times.

use std::time::Instant;

use charter_contract::error_code::ErrorCode;
use charter_contract::foreign_schema::ForeignSchema;
use charter_domain::run::{ErrorKind, StepFailure, TokenUsage};
use charter_effects::{
    ModelFailure, ModelListener, ModelRequest, Models, RejectedAnswer, Usage, check_against,
};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::execution::runs::failure;

/// How often defects of a draft are returned to the model.
pub(crate) const MAX_REPAIRS: usize = 2;

/// A part of a converted draft that must match a document's own schema.
pub(crate) struct DeclaredPart {
    pub(crate) schema: ForeignSchema,
    pub(crate) value: Value,
    /// The part's name, for messages about its defects.
    pub(crate) name: String,
}

/// A validated draft.
pub(crate) struct ValidatedDraft<T> {
    pub(crate) made: T,
    /// `provider/model`.
    pub(crate) model: String,
    pub(crate) tokens: TokenUsage,
}

/// Why no draft was valid.
#[derive(Debug)]
pub(crate) struct DraftFailure {
    pub(crate) cause: DraftFailureCause,
    /// Tokens that were used until then.
    pub(crate) tokens: TokenUsage,
}

/// The failed party.
#[derive(Debug)]
pub(crate) enum DraftFailureCause {
    /// The model could not be asked, or did not answer.
    Model(ModelFailure),
    /// Every answer was invalid.
    Wrong(String),
}

impl DraftFailure {
    /// Converts the failure for the step that needed the draft.
    pub(crate) fn failure(&self) -> StepFailure {
        match &self.cause {
            DraftFailureCause::Model(found) => StepFailure {
                retryable: found.retryable(),
                ..failure(
                    found.fault.error_type(),
                    found.code(),
                    found.message.clone(),
                )
            },
            DraftFailureCause::Wrong(message) => {
                let kind = ErrorKind::ExecutionError;
                failure(kind, ErrorCode::InvalidDocument, message.clone())
            }
        }
    }
}

/// Requests a draft and converts it, within the request's time. `make` returns the defects of an unusable draft, in
/// words for the model; `declared` names the parts that have schemas of their own.
pub(crate) async fn drafted<D: DeserializeOwned, T>(
    models: &dyn Models,
    mut request: ModelRequest,
    listener: &dyn ModelListener,
    mut make: impl FnMut(D) -> Result<T, Vec<String>>,
    declared: impl Fn(&T) -> Vec<DeclaredPart>,
    cancel: &CancellationToken,
) -> Result<ValidatedDraft<T>, DraftFailure> {
    let (begun, patience) = (Instant::now(), request.timeout);
    let mut tokens = TokenUsage::default();
    loop {
        request.timeout = patience.saturating_sub(begun.elapsed());
        let answer = models.complete_aloud(&request, cancel, listener).await;
        let answer = answer.map_err(|found| DraftFailure {
            tokens: tokens.and(counted(found.usage)),
            cause: DraftFailureCause::Model(found),
        })?;
        tokens = tokens.and(counted(answer.usage));
        let read = serde_json::from_value::<D>(answer.draft.clone());
        let made = read
            .map_err(|error| vec![error.to_string()])
            .and_then(&mut make);
        let wrong = match made {
            Ok(made) => {
                let wrong = unmet(declared(&made)).await;
                if wrong.is_empty() {
                    return Ok(ValidatedDraft {
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
            let cause = DraftFailureCause::Wrong(message);
            return Err(DraftFailure { cause, tokens });
        }
        request.earlier.push(RejectedAnswer {
            answered: answer.draft.to_string(),
            wrong,
        });
    }
}

/// Returns the violations of parts that have schemas of their own.
async fn unmet(parts: Vec<DeclaredPart>) -> Vec<String> {
    let mut wrong = Vec::new();
    for part in parts {
        let (_, violations) = check_against(&part.schema, part.value).await;
        let name = &part.name;
        wrong.extend(violations.iter().map(|found| format!("{name}{found}")));
    }
    wrong
}

fn counted(usage: Usage) -> TokenUsage {
    TokenUsage {
        input: usage.input_tokens,
        output: usage.output_tokens,
    }
}
