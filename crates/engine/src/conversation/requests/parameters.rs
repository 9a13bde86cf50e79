//! The parameters of the skill or playbook that a request was routed to: collected from every source, each with its
//! source.

mod draft;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use charter_contract::ids::RequestId;
use charter_contract::parameter::Parameter;
use charter_domain::parameters::{Bound, Collected, ProposedValue, ValueSource};
use charter_domain::run::{Run, TokenUsage};
use charter_effects::Models;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::ActiveRequest;
use super::classification::ReplyValues;
use crate::EngineError;
use crate::knowledge::memory::MemoryService;

/// The skill or playbook that a request asks for.
#[derive(Debug, Clone, Copy)]
pub(super) struct ParameterTarget<'a> {
    /// Its id.
    pub(super) id: &'a str,
    /// Its purpose, in the document's words.
    pub(super) description: &'a str,
    /// Its declared parameters.
    pub(super) declared: &'a [Parameter],
    /// The text that states values.
    pub(super) text: &'a str,
}

/// The values of an earlier request of the session.
#[derive(Debug, Clone, Copy)]
pub(super) struct EarlierValues<'a> {
    pub(super) request: &'a RequestId,
    pub(super) values: &'a Map<String, Value>,
    /// The values of the request itself, if it is a reply.
    pub(super) reply: Option<&'a ReplyValues>,
}

/// Values for a target, and data that may help to find the missing ones.
#[derive(Debug)]
pub(super) struct CollectedParameters {
    pub(super) bound: Bound,
    /// Values that memories hold for missing parameters.
    pub(super) proposals: Vec<ProposedValue>,
    /// Failures of sources.
    pub(super) notices: Vec<String>,
    /// Tokens that a model used to draft values.
    pub(super) tokens: TokenUsage,
}

/// A parameter's value with its source, as an answer shows it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ParameterView {
    /// Its name.
    name: String,
    /// Its value.
    value: Value,
    /// Its source.
    #[serde(flatten)]
    source: ValueSource,
}

impl ParameterView {
    /// Lists the parameters of a run, ordered by name. A value without a source in the journal came from the caller.
    #[must_use]
    pub fn list(values: &Map<String, Value>, sources: &BTreeMap<String, ValueSource>) -> Vec<Self> {
        let mut shown: Vec<Self> = values
            .iter()
            .map(|(name, value)| Self {
                name: name.clone(),
                value: value.clone(),
                source: sources.get(name).cloned().unwrap_or(ValueSource::Given),
            })
            .collect();
        shown.sort_by(|one, other| one.name.cmp(&other.name));
        shown
    }

    /// Lists the parameters of a run.
    pub(crate) fn of_run(run: &Run) -> Vec<Self> {
        Self::list(run.parameters(), &run.opening().sources)
    }

    /// Returns the values alone, by name.
    pub(crate) fn values(shown: &[Self]) -> Map<String, Value> {
        let values = shown.iter();
        values
            .map(|Self { name, value, .. }| (name.clone(), value.clone()))
            .collect()
    }

    /// Returns whether the value came from the caller or is the default, and so needs no explanation.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        matches!(self.source, ValueSource::Given | ValueSource::Default)
    }

    /// Formats the parameter as text: `region = "eu-west-1" (from the words "in eu-west-1")`.
    #[must_use]
    pub fn in_words(&self) -> String {
        let Self { name, value, .. } = self;
        let source = match &self.source {
            ValueSource::Given => "given".to_owned(),
            ValueSource::Sentence { words } => format!("from the words \"{words}\""),
            ValueSource::Session { request_id } => {
                format!("from the session, request {request_id}")
            }
            ValueSource::RequestContext { field } => format!("from the request's context, {field}"),
            ValueSource::Memory { memory_id } => format!("from the memory {memory_id}"),
            ValueSource::Model { model } => format!("drafted by the model {model}"),
            ValueSource::Default => "the default".to_owned(),
        };
        format!("{name} = {value} ({source})")
    }
}

impl CollectedParameters {
    /// Returns the values, if none is missing.
    ///
    /// # Errors
    /// `missing_parameters` with the known values, the missing ones with the reason, the values that memories propose,
    /// and the tokens that a model used.
    pub(super) fn complete(self, of: &str) -> Result<Bound, EngineError> {
        if self.bound.missing.is_empty() {
            return Ok(self.bound);
        }
        let error = EngineError::parameters(&format!("`{of}`"), &self.bound.faults);
        let known = ParameterView::list(&self.bound.values, &self.bound.sources);
        let mut details = error.details.clone().unwrap_or_else(|| json!({}));
        details["known"] = json!(known);
        if !self.proposals.is_empty() {
            details["proposals"] = json!(self.proposals);
        }
        if !self.notices.is_empty() {
            details["notices"] = json!(self.notices);
        }
        if !self.tokens.is_none() {
            details["tokens"] = json!(self.tokens);
        }
        Err(error.with_details(details))
    }
}

impl ActiveRequest {
    /// Returns the caller's values, and those that a text states in addition.
    pub(super) fn stated(&self, declared: &[Parameter], text: &str) -> Map<String, Value> {
        let given = Collected::given(declared, &self.wishes.parameters);
        given.read(text, self.request.timestamp).values().clone()
    }
}

/// Collects the caller's values, those in the text, and those of an earlier request of the session.
fn stated_of<'d>(
    asked: &ActiveRequest,
    target: ParameterTarget<'d>,
    earlier: Option<EarlierValues<'_>>,
) -> Collected<'d> {
    let given = Collected::given(target.declared, &asked.wishes.parameters);
    let (text, at) = (target.text, asked.request.timestamp);
    let Some(earlier) = earlier else {
        return given.read(text, at);
    };
    let Some(reply) = earlier.reply else {
        return given
            .read(text, at)
            .inherit(earlier.request, earlier.values);
    };
    let mut collected = given;
    for parameter in target.declared {
        let name = parameter.name.as_str();
        if let (Some(value), Some(source)) = (reply.values.get(name), reply.sources.get(name)) {
            collected.add(&parameter.name, value.clone(), source.clone());
        }
    }
    let collected = collected.inherit(earlier.request, earlier.values);
    match reply.is_unclear {
        true => collected.read(asked.request.input.as_str(), at),
        false => collected,
    }
}

/// Collects the parameters of the skills and playbooks that requests were routed to.
pub(crate) struct ParameterService {
    memories: Arc<MemoryService>,
    models: Arc<dyn Models>,
}

impl ParameterService {
    pub(crate) fn new(memories: Arc<MemoryService>, models: Arc<dyn Models>) -> Self {
        Self { memories, models }
    }

    /// Collects the values of a target's parameters.
    ///
    /// # Errors
    /// `invalid_parameters` for values of the caller that are invalid.
    pub(super) async fn gather(
        &self,
        asked: &ActiveRequest,
        target: ParameterTarget<'_>,
        earlier: Option<EarlierValues<'_>>,
    ) -> Result<CollectedParameters, EngineError> {
        let mut collected = stated_of(asked, target, earlier);
        if let Some(metadata) = &asked.request.metadata {
            collected = collected.add_context(metadata);
        }
        let open = collected.open();
        let mut notices = Vec::new();
        let mut proposals = self
            .memories
            .propose_values(&asked.caller, &open, &mut notices)
            .await;
        if asked.wishes.use_memory {
            for parameter in open {
                let mut own = proposals
                    .iter()
                    .filter(|one| one.parameter == parameter.name);
                // Memories that contradict each other are proposed, and none is used.
                if let (Some(only), None) = (own.next(), own.next()) {
                    let memory_id = only.memory_id.clone();
                    let source = ValueSource::Memory { memory_id };
                    collected.add(&parameter.name, only.value.clone(), source);
                }
            }
        }
        let tokens = self
            .draft_open(asked, target, &mut collected, &mut notices)
            .await;
        let bound = collected
            .settle()
            .map_err(|faults| EngineError::parameters(&format!("`{}`", target.id), &faults))?;
        proposals.retain(|one| bound.missing.contains(&one.parameter));
        Ok(CollectedParameters {
            bound,
            proposals,
            notices,
            tokens,
        })
    }
}
