//! Guardrails and templates for answers without a tool call (seed 000 §2.10: they are resolved in every flow).
//!
//! The gate checks calls, and a template renders a skill's findings. An answer without a call is checked here by the
//! guardrails of its domains, and formatted by the template of its flow, whose output type is the flow's name. Must not
//! know how the answer was found.

use std::collections::BTreeSet;
use std::sync::Arc;

use charter_contract::agentic::response::AgentResponse;
use charter_contract::catalogue::tags::Flow;
use charter_contract::catalogue::template::Template;
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{AgentId, DomainId};
use charter_domain::gate::{GateDecision, RuleResult, decide_answer};
use charter_domain::guardrail::{self, ApplicableGuardrail, GuardrailSubject, RequestTags};
use charter_domain::template::{self, TemplateLookup};
use serde_json::{Map, Value, json};

use super::ActiveRequest;
use crate::EngineError;
use crate::catalogue::live::CatalogueService;
use crate::execution::tags::TagService;
use crate::ground::confined::Computations;
use crate::ground::questions::{Effort, QuestionSlots};

/// The metadata field that templates do not get: the routing of the request.
const NOT_FILLED_IN: &str = "verdict";

/// The subject of an answer without a call.
#[derive(Debug)]
pub(super) struct AnswerSubject {
    pub(super) flow: Flow,
    /// The domains of all its parts.
    pub(super) domains: BTreeSet<DomainId>,
    /// The agent within whose boundary it was made, for a candidate.
    pub(super) agent: Option<AgentId>,
}

impl AnswerSubject {
    fn subject<'a>(&'a self, domain: &'a DomainId, tags: &'a RequestTags) -> GuardrailSubject<'a> {
        GuardrailSubject {
            skill: None,
            agent: self.agent.as_ref().map(AgentId::as_str),
            domain: Some(domain.as_str()),
            persona: Some(tags.persona.as_str()),
        }
    }

    /// Returns the domain, if there is only one.
    fn domain(&self) -> Option<&DomainId> {
        let mut domains = self.domains.iter();
        domains.next().filter(|_| domains.next().is_none())
    }
}

/// The guardrails and templates of answers without a call.
pub(crate) struct AnswerGuardService {
    catalogue: Arc<CatalogueService>,
    tags: Arc<TagService>,
    questions: QuestionSlots,
    computations: Arc<Computations>,
}

impl AnswerGuardService {
    pub(crate) fn new(
        catalogue: Arc<CatalogueService>,
        tags: Arc<TagService>,
        questions: QuestionSlots,
        computations: Arc<Computations>,
    ) -> Self {
        Self {
            catalogue,
            tags,
            questions,
            computations,
        }
    }

    /// Returns the tags of a request that is answered in this flow, for guardrails and templates.
    pub(super) fn tags_for(
        &self,
        asked: &ActiveRequest,
        flow: Flow,
    ) -> Result<RequestTags, EngineError> {
        self.tags
            .of_request(&asked.caller, asked.wishes.persona.as_ref(), Some(flow))
    }

    /// Returns the warnings of guardrails about an answer, each once (B000-13).
    ///
    /// # Errors
    /// `guardrail_blocked` with the messages of the blocking guardrails, which the user gets instead.
    pub(super) async fn must_answer(
        &self,
        asked: &ActiveRequest,
        about: &AnswerSubject,
    ) -> Result<Vec<String>, EngineError> {
        let tags = self.tags_for(asked, about.flow)?;
        let view = self.catalogue.live().view(&asked.caller.tenant);
        let mut all: Vec<String> = Vec::new();
        for domain in &about.domains {
            let bearing = guardrail::resolve(&view, about.subject(domain, &tags));
            let effort =
                Effort::long_if_any(bearing.iter().map(ApplicableGuardrail::asks_expressions));
            let place = self.questions.slot_for(&asked.caller.tenant, effort).await;
            let warnings = match place.ask(|| decide_answer(&bearing, &tags, domain.as_str())) {
                GateDecision::Deny { rules } => {
                    let message = rules.iter().map(quoted).collect::<Vec<_>>().join("; ");
                    return Err(EngineError::new(ErrorCode::GuardrailBlocked, message));
                }
                GateDecision::Allow { warnings, .. }
                | GateDecision::NeedsApproval { warnings, .. } => warnings,
            };
            for warning in warnings.iter().map(quoted) {
                if !all.contains(&warning) {
                    all.push(warning);
                }
            }
        }
        Ok(all)
    }

    /// Formats an answer by its template, if there is one, and adds the warnings of guardrails.
    ///
    /// # Errors
    /// As for [`AnswerGuardService::must_answer`]; `unavailable` if the engine stops first. A template that cannot be
    /// filled in is a warning.
    pub(super) async fn shaped(
        &self,
        asked: &ActiveRequest,
        about: &AnswerSubject,
        mut response: AgentResponse,
    ) -> Result<AgentResponse, EngineError> {
        let mut warnings = self.must_answer(asked, about).await?;
        if let Some(template) = self.answer_template(asked, about)? {
            let what = format!("the template `{}`", template.template_id);
            let structure = Value::Object(template.structure.clone());
            let values = self.answer_values(asked, about, &response)?;
            let tenant = &asked.caller.tenant;
            match self
                .computations
                .fill_in(tenant, &what, &structure, values)
                .await?
            {
                Ok(rendered) => apply_template(&mut response, &template, rendered),
                Err(warning) => warnings.push(warning),
            }
        }
        warn(&mut response, &warnings);
        Ok(response)
    }

    /// Returns the template of an answer.
    fn answer_template(
        &self,
        asked: &ActiveRequest,
        about: &AnswerSubject,
    ) -> Result<Option<Template>, EngineError> {
        let tags = self.tags_for(asked, about.flow)?;
        let view = self.catalogue.live().view(&asked.caller.tenant);
        let wanted = TemplateLookup {
            output_type: about.flow.as_str(),
            skill: None,
            agent: about.agent.as_ref().map(AgentId::as_str),
            domain: about.domain().map(DomainId::as_str),
            persona: tags.persona.as_str(),
            tier: tags.tier,
        };
        let found = template::resolve(&view, wanted);
        Ok(found.map(|(found, _)| found.document().clone()))
    }

    /// Returns the values for the placeholders of an answer's template: the question, the answer, the request's tags,
    /// and the fields of the answer's metadata.
    fn answer_values(
        &self,
        asked: &ActiveRequest,
        about: &AnswerSubject,
        response: &AgentResponse,
    ) -> Result<Map<String, Value>, EngineError> {
        let tags = self.tags_for(asked, about.flow)?;
        let metadata = response.metadata.iter().flat_map(|known| &known.extra);
        let mut values: Map<String, Value> = metadata
            .filter(|(name, _)| name.as_str() != NOT_FILLED_IN)
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        let own = json!({
            "question": asked.request.input.as_str(), "answer": response.content, "flow": about.flow,
            "domains": about.domains, "persona": tags.persona, "tier": tags.tier,
        });
        if let Value::Object(own) = own {
            values.extend(own);
        }
        Ok(values)
    }
}

/// Returns the message of a guardrail with its id.
fn quoted(rule: &RuleResult) -> String {
    format!("{}: {}", rule.id, rule.message)
}

/// Applies a template to an answer: `summary` replaces the text, `title` precedes it.
fn apply_template(response: &mut AgentResponse, template: &Template, rendered: Value) {
    let text = |field: &str| rendered.get(field).and_then(Value::as_str);
    let summary = text("summary").unwrap_or(&response.content);
    response.content = match text("title") {
        Some(title) => format!("{title}\n\n{summary}"),
        None => summary.to_owned(),
    };
    let metadata = &mut response.metadata.get_or_insert_default().extra;
    metadata.insert("template_id".to_owned(), json!(template.template_id));
    metadata.insert("rendered".to_owned(), rendered);
    if let Some(hints) = &template.rendering_hints {
        metadata.insert("rendering_hints".to_owned(), json!(hints));
    }
}

/// Adds warnings to an answer: to its list of warnings, and to its text.
pub(super) fn warn(response: &mut AgentResponse, warnings: &[String]) {
    if warnings.is_empty() {
        return;
    }
    for warning in warnings {
        response.content.push_str("\n\nWarning: ");
        response.content.push_str(warning);
    }
    let metadata = &mut response.metadata.get_or_insert_default().extra;
    let known = metadata.entry("warnings").or_insert_with(|| json!([]));
    if let Value::Array(known) = known {
        known.extend(warnings.iter().map(|warning| json!(warning)));
    }
}

#[cfg(test)]
mod tests {
    use charter_contract::ids::{RequestId, ResponseId};
    use charter_contract::time::Timestamp;
    use uuid::Uuid;

    use super::*;

    fn answer() -> AgentResponse {
        AgentResponse::builder(
            ResponseId::from_uuid(Uuid::from_u128(1)),
            RequestId::from_uuid(Uuid::from_u128(2)),
            Timestamp::from_micros(0).unwrap(),
            "As it was found.",
        )
        .build()
    }

    fn template() -> Template {
        let template = json!({
            "template_id": "t.answer", "output_type": "knowledge", "structure": {},
            "rendering_hints": {"color": "red"},
        });
        serde_json::from_value(template).unwrap()
    }

    #[test]
    fn a_template_gives_an_answer_its_words_and_its_fields() {
        for (rendered, content) in [
            (json!({"title": "T", "summary": "S"}), "T\n\nS"),
            (json!({"summary": "S"}), "S"),
            (json!({"title": "T"}), "T\n\nAs it was found."),
            (json!({"other": "x", "summary": 7}), "As it was found."),
        ] {
            let mut response = answer();
            apply_template(&mut response, &template(), rendered.clone());
            assert_eq!(response.content, content);
            let metadata = response.metadata.unwrap().extra;
            assert_eq!(metadata["rendered"], rendered);
            assert_eq!(metadata["template_id"], "t.answer");
            assert_eq!(metadata["rendering_hints"], json!({"color": "red"}));
        }
    }

    #[test]
    fn warnings_are_added_to_those_that_an_answer_has() {
        let mut response = answer();
        warn(&mut response, &[]);
        assert_eq!(response, answer());
        warn(&mut response, &["first".to_owned()]);
        warn(&mut response, &["second".to_owned()]);
        assert_eq!(
            response.content,
            "As it was found.\n\nWarning: first\n\nWarning: second"
        );
        let metadata = response.metadata.unwrap().extra;
        assert_eq!(metadata["warnings"], json!(["first", "second"]));
    }

    /// An answer from several domains does not get the template of one of them.
    #[test]
    fn an_answer_has_a_domain_if_it_has_one_alone() {
        let about = |domains: &[&str]| AnswerSubject {
            flow: Flow::RagSearch,
            domains: domains
                .iter()
                .map(|id| DomainId::parse(id).unwrap())
                .collect(),
            agent: None,
        };
        let one = about(&["cost"]);
        assert_eq!(one.domain().map(DomainId::as_str), Some("cost"));
        assert_eq!(about(&["cost", "security"]).domain(), None);
        assert_eq!(about(&[]).domain(), None);
    }
}
