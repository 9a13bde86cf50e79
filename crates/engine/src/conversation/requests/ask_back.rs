//! One question that is asked back if several different documents fit a request, and the answer to it.
//!
//! The next turn of the session may name an option or its number. The option then runs with the parameters of the first
//! request. A change that is chosen this way is shown before it begins, like any change that is chosen from words.

use std::collections::BTreeMap;
use std::time::Duration;

use charter_contract::agentic::response::AgentResponse;
use charter_contract::bounds::CLARIFICATION_OPTIONS;
use charter_contract::catalogue::DocumentKind;
use charter_contract::ids::{PlaybookId, ResponseId, SkillId};
use charter_domain::catalogue::View;
use charter_domain::clarification::{OptionNamed, chosen, chosen_alone};
use charter_domain::parameters::Collected;
use serde::{Deserialize, Serialize};
use serde_json::{Map, json};

use super::ActiveRequest;
use super::classification::{Classification, FollowUp, SessionReply};
use super::classify::RequestClassificationService;
use super::course::Course;
use super::respond::{ResponseService, verdict};
use super::session_reply::{LastAnswer, follows};
use crate::EngineError;

/// The field of an answer's metadata that holds a question.
pub(crate) const CLARIFICATION: &str = "clarification";

/// A question that is asked back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Clarification {
    /// The question.
    pub(crate) question: String,
    /// The options, which a reply may name by id, title or number from 1 on.
    pub(crate) options: Vec<ClarificationOption>,
}

/// One of the possible meanings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ClarificationOption {
    /// Its id.
    pub(crate) id: String,
    /// Its kind: a skill or a playbook.
    pub(crate) kind: DocumentKind,
    /// Its title.
    pub(crate) title: String,
}

impl Clarification {
    /// Builds the question about the candidates of a verdict.
    fn from_verdict(view: &View, classified: &Classification) -> Self {
        let candidates = classified.verdict.candidates.iter();
        let options = candidates.filter_map(|candidate| {
            let id = candidate.id.as_str();
            let title = match candidate.kind == DocumentKind::Playbook {
                true => view.playbook(id)?.document().name.to_string(),
                false => view.skill(id)?.document().display_name.to_string(),
            };
            Some(ClarificationOption {
                id: candidate.id.clone(),
                kind: candidate.kind,
                title,
            })
        });
        let question = match classified.playbook {
            Some(_) => "Several changes match this request. Which one do you mean?",
            None => "Several different questions match this request. Which one do you mean?",
        };
        Self {
            question: question.to_owned(),
            options: options.take(CLARIFICATION_OPTIONS).collect(),
        }
    }

    /// Returns the option that an answer names.
    pub(crate) fn chosen(&self, answer: &str) -> Option<&ClarificationOption> {
        self.options.get(chosen(answer, &self.named())?)
    }

    /// Returns the option that an answer names without other content.
    fn chosen_alone(&self, answer: &str) -> Option<&ClarificationOption> {
        self.options.get(chosen_alone(answer, &self.named())?)
    }

    fn named(&self) -> Vec<OptionNamed<'_>> {
        let named = self.options.iter().map(|option| OptionNamed {
            id: &option.id,
            title: &option.title,
        });
        named.collect()
    }

    /// Formats the question and its options as text.
    pub(crate) fn content(&self) -> String {
        let mut lines = vec![self.question.clone()];
        let options = self.options.iter().enumerate();
        lines.extend(options.map(|(at, option)| {
            format!(
                "{}. {} ({} `{}`)",
                at + 1,
                option.title,
                option.kind,
                option.id
            )
        }));
        lines.push(
            "Answer with the number or the name in the same session, or name the skill or playbook in the request."
                .to_owned(),
        );
        lines.join("\n")
    }
}

impl RequestClassificationService {
    /// Classifies a request that chooses an option of the preceding question of its session; `None` for an independent
    /// request. After one option was chosen, a later turn may choose another.
    pub(super) async fn chosen_option(
        &self,
        asked: &ActiveRequest,
        last: &LastAnswer,
    ) -> Result<Option<Classification>, EngineError> {
        let view = self.catalogue.live().view(&asked.caller.tenant);
        let text = asked.request.input.as_str();
        if last.classified.course() == Course::AskBack {
            let clarification = Clarification::from_verdict(&view, &last.classified);
            let option = clarification.chosen(text);
            return option
                .map(|option| self.take_option(asked, last, option))
                .transpose();
        }
        let Some(question) = self.question_before(last).await? else {
            return Ok(None);
        };
        let clarification = Clarification::from_verdict(&view, &question.classified);
        let option = clarification.chosen_alone(text);
        option
            .filter(|option| !last.classified.has_chosen(&option.id))
            .map(|option| {
                let mut classified = self.take_option(asked, &question, option)?;
                // The option that was chosen first has its run and needs no offer.
                classified.reply = None;
                Ok(classified)
            })
            .transpose()
    }

    /// Classifies a request that chooses an option of a question.
    fn take_option(
        &self,
        asked: &ActiveRequest,
        question: &LastAnswer,
        option: &ClarificationOption,
    ) -> Result<Classification, EngineError> {
        let before = &question.asked.request;
        let mut parameters = BTreeMap::new();
        let mut classified = match option.kind == DocumentKind::Playbook {
            true => {
                let id = PlaybookId::parse(&option.id)
                    .map_err(|error| EngineError::internal("reading an option", error))?;
                let mut classified = self.named_playbook(asked, &id)?;
                let beside = self.asked_for_beside(asked, question, &option.id);
                if !beside.is_empty() {
                    classified.reply = Some(SessionReply::Beside(beside));
                }
                classified
            }
            false => {
                let id = SkillId::parse(&option.id)
                    .map_err(|error| EngineError::internal("reading an option", error))?;
                let view = self.catalogue.live().view(&asked.caller.tenant);
                if let Some(found) = view.skill(id.as_ref()) {
                    let declared = &found.document().parameters;
                    let stated = Collected::given(declared, &Map::new());
                    let stated = stated
                        .read(before.input.as_str(), asked.request.timestamp)
                        .values()
                        .clone();
                    parameters.insert(id.to_string(), stated);
                }
                self.named_skill(asked, &id)?
            }
        };
        let because = format!(
            "it answers the question of `{}` with `{}`",
            question.request, option.id
        );
        follows(&mut classified, question, because);
        classified.dry_run |= question.classified.dry_run;
        classified.follow_up = Some(FollowUp {
            question: before.input.to_string(),
            parameters,
            reply: None,
        });
        Ok(classified)
    }
}

impl Classification {
    /// Returns whether this document was chosen.
    fn has_chosen(&self, id: &str) -> bool {
        let playbook = self.playbook.as_ref().map(AsRef::<str>::as_ref);
        let mut skills = self.skills.iter().map(AsRef::<str>::as_ref);
        playbook == Some(id) || skills.any(|skill| skill == id)
    }
}

/// Builds the response that asks back.
pub(super) fn response(
    responses: &ResponseService,
    asked: &ActiveRequest,
    classified: &Classification,
    elapsed: Duration,
) -> Result<AgentResponse, EngineError> {
    let view = responses.catalogue.live().view(&asked.caller.tenant);
    let clarification = Clarification::from_verdict(&view, classified);
    let builder = AgentResponse::builder(
        ResponseId::from_uuid(responses.ids.uuid()),
        asked.id().clone(),
        responses.clock.now(),
        clarification.content(),
    )
    .execution_time_ms(u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX))
    .metadata("flow", json!(classified.flow))
    .metadata("verdict", verdict(&classified.verdict)?)
    .metadata(CLARIFICATION, json!(clarification));
    Ok(builder.build())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_lists_its_options_by_number_and_takes_an_answer() {
        let option = |id: &str, title: &str| ClarificationOption {
            id: id.to_owned(),
            kind: DocumentKind::Skill,
            title: title.to_owned(),
        };
        let clarification = Clarification {
            question: "Which one?".to_owned(),
            options: vec![option("net.hosts", "Hosts"), option("cost.disks", "Disks")],
        };
        let content = clarification.content();
        assert!(
            content.starts_with(
                "Which one?\n1. Hosts (skill `net.hosts`)\n2. Disks (skill `cost.disks`)\n"
            ),
            "{content}"
        );
        for (answer, id) in [
            ("2", Some("cost.disks")),
            ("hosts", Some("net.hosts")),
            ("both", None),
        ] {
            let chosen = clarification
                .chosen(answer)
                .map(|option| option.id.as_str());
            assert_eq!(chosen, id, "{answer}");
        }
    }
}
