//! The parameters of what a request was routed to: collected from every source, each with where it comes from.

mod draft;

use std::collections::BTreeMap;

use charter_contract::ids::RequestId;
use charter_contract::parameter::Parameter;
use charter_domain::parameters::{
    Bound, Collected, MemoryText, ParameterFault, Proposal, ValueSource, proposals,
};
use charter_domain::run::Run;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::Asked;
use crate::{Caller, Engine, EngineError, MemoryQuery};

/// Memories that are looked at for missing parameters.
const MEMORIES: usize = 10;

/// What a request asks for: one skill or playbook.
#[derive(Debug, Clone, Copy)]
pub(super) struct Target<'a> {
    /// Its id.
    pub(super) id: &'a str,
    /// What it is for, in the document's words.
    pub(super) description: &'a str,
    /// What it declares.
    pub(super) declared: &'a [Parameter],
}

/// What an earlier request of the session had.
#[derive(Debug, Clone, Copy)]
pub(super) struct Earlier<'a> {
    pub(super) request: &'a RequestId,
    pub(super) values: &'a Map<String, Value>,
}

/// Values for a target, and what may help to find the missing ones.
#[derive(Debug)]
pub(super) struct Gathered {
    pub(super) bound: Bound,
    /// Values that memories state for missing parameters.
    pub(super) proposals: Vec<Proposal>,
    /// What kept a source from being asked.
    pub(super) notices: Vec<String>,
}

/// A parameter's value with its source, as an answer shows it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "ParameterValue")]
pub struct ParameterShown {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: Value,
    /// Where it comes from.
    #[serde(flatten)]
    pub source: ValueSource,
}

impl ParameterShown {
    /// The parameters of a run, in the order of their names. A value of which its journal does not say where it comes from
    /// was given.
    #[must_use]
    pub fn of(values: &Map<String, Value>, sources: &BTreeMap<String, ValueSource>) -> Vec<Self> {
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

    /// The parameters of a run.
    pub(crate) fn of_run(run: &Run) -> Vec<Self> {
        Self::of(run.parameters(), &run.opening().sources)
    }

    /// As a person reads it: `region = "eu-west-1" (from the words "in eu-west-1")`.
    #[must_use]
    pub fn in_words(&self) -> String {
        let Self { name, value, .. } = self;
        let source = match &self.source {
            ValueSource::Given => "given".to_owned(),
            ValueSource::Sentence { words } => format!("from the words \"{words}\""),
            ValueSource::Session { request_id } => format!("from the session, request {request_id}"),
            ValueSource::RequestContext { field } => format!("from the request's context, {field}"),
            ValueSource::Memory { memory_id } => format!("from the memory {memory_id}"),
            ValueSource::Model { model } => format!("drafted by the model {model}"),
            ValueSource::Default => "the default".to_owned(),
        };
        format!("{name} = {value} ({source})")
    }
}

impl Gathered {
    /// The values, if none is missing.
    ///
    /// # Errors
    /// `missing_parameters` with what is known, what is missing and why, and what memories propose.
    pub(super) fn complete(self, of: &str) -> Result<Bound, EngineError> {
        if self.bound.missing.is_empty() {
            return Ok(self.bound);
        }
        let error = EngineError::parameters(&format!("`{of}`"), &self.bound.faults);
        let mut details = error.details.clone().unwrap_or_else(|| json!({}));
        details["known"] = json!(self.known());
        if !self.proposals.is_empty() {
            details["proposals"] = json!(self.proposals);
        }
        Err(error.with_details(details))
    }

    /// Values that are no defaults.
    fn known(&self) -> Map<String, Value> {
        let Bound { values, sources, .. } = &self.bound;
        let is_default = |name: &String| sources.get(name) == Some(&ValueSource::Default);
        let known = values.iter().filter(|(name, _)| !is_default(name));
        known.map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    /// Words that name a value and do not give it, in words.
    pub(super) fn unclear(&self) -> Vec<String> {
        let unclear = self.bound.faults.iter().filter(|fault| matches!(fault, ParameterFault::Unclear(_)));
        unclear.map(ToString::to_string).collect()
    }
}

impl Engine {
    /// Collects the values of a target's parameters.
    ///
    /// # Errors
    /// `invalid_parameters` for values that the caller gave and that do not fit.
    pub(super) async fn gather(
        &self,
        asked: &Asked,
        target: Target<'_>,
        earlier: Option<Earlier<'_>>,
    ) -> Result<Gathered, EngineError> {
        let text = asked.request.input.as_str();
        let mut collected = Collected::given(target.declared, &asked.wishes.parameters)
            .read(text, asked.request.timestamp);
        if let Some(earlier) = earlier {
            collected = collected.inherit(earlier.request, earlier.values);
        }
        if let Some(metadata) = &asked.request.metadata {
            collected = collected.add_context(metadata);
        }
        let mut notices = Vec::new();
        let mut proposed = self.proposed(&asked.caller, &collected.open(), &mut notices).await;
        if asked.wishes.use_memory {
            proposed.retain(|one| {
                let memory_id = one.memory_id.clone();
                !collected.add(&one.parameter, one.value.clone(), ValueSource::Memory { memory_id })
            });
        }
        self.draft_open(asked, target, &mut collected, &mut notices).await;
        let bound = collected.settle().map_err(|faults| {
            EngineError::parameters(&format!("`{}`", target.id), &faults)
        })?;
        proposed.retain(|one| bound.missing.contains(&one.parameter));
        Ok(Gathered {
            bound,
            proposals: proposed,
            notices,
        })
    }

    /// What the memories that the caller sees state for open parameters. Without memories a request is answered as well.
    async fn proposed(
        &self,
        caller: &Caller,
        open: &[&Parameter],
        notices: &mut Vec<String>,
    ) -> Vec<Proposal> {
        if open.is_empty() {
            return Vec::new();
        }
        let words = open.iter().map(|parameter| format!("{} {}", parameter.name, parameter.description));
        let words: Vec<String> = words.collect();
        let query = MemoryQuery {
            text: Some(words.join("; ")),
            limit: Some(MEMORIES),
            ..MemoryQuery::default()
        };
        let found = match self.find_memories(caller, &query).await {
            Ok(found) => found,
            Err(error) => {
                tracing::warn!(error = %error, "memories could not be searched for missing parameters");
                notices.push(format!("memories were not searched: {error}"));
                return Vec::new();
            }
        };
        let texts = found.iter().filter_map(|found| {
            let entry = found.shown.entry.as_ref()?;
            Some(MemoryText {
                id: &found.shown.memory_id,
                title: &entry.title,
                content: &entry.content,
                written_at: found.shown.at,
            })
        });
        proposals(open, &texts.collect::<Vec<_>>())
    }
}
