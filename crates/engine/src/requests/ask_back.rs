//! One question that is asked back where several different things fit a request, and the answer to it.
//!
//! The next turn of the session may name an option or its number. Then that one is taken, with the parameters that the
//! first request stated; a change that is chosen so is shown before it begins, as any that is chosen from words.

use std::collections::BTreeMap;
use std::time::Duration;

use charter_contract::agentic::response::AgentResponse;
use charter_contract::bounds::CLARIFICATION_OPTIONS;
use charter_contract::catalogue::DocumentKind;
use charter_contract::ids::{PlaybookId, RequestId, ResponseId, SkillId};
use charter_contract::json::decode_stored;
use charter_domain::catalogue::View;
use charter_domain::clarification::{OptionNamed, chosen};
use charter_domain::parameters::Collected;
use charter_search::VerdictKind;
use serde::{Deserialize, Serialize};
use serde_json::{Map, json};

use super::classify::Classification;
use super::course::Course;
use super::follow_up::FollowUp;
use super::respond::verdict;
use super::{ActiveRequest, FollowUpReference};
use crate::{Engine, EngineError};

/// Turns that are looked back over: the question is in the latest of another request.
const LOOK_BACK: usize = 2;

/// The field of an answer's metadata that holds a question.
pub(crate) const CLARIFICATION: &str = "clarification";

/// A question that is asked back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Clarification {
    /// The question.
    pub(crate) question: String,
    /// What it may be answered with, by id, title or number from 1 on.
    pub(crate) options: Vec<ClarificationOption>,
}

/// One of the things that may be meant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ClarificationOption {
    /// Its id.
    pub(crate) id: String,
    /// What it is: a skill or a playbook.
    pub(crate) kind: DocumentKind,
    /// Its title.
    pub(crate) title: String,
}

impl Clarification {
    /// The question about the candidates of a verdict.
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
            Some(_) => "Several changes fit this. Which one do you mean?",
            None => "Several different questions fit this. Which one do you mean?",
        };
        Self {
            question: question.to_owned(),
            options: options.take(CLARIFICATION_OPTIONS).collect(),
        }
    }

    /// The option that an answer names.
    pub(crate) fn chosen(&self, answer: &str) -> Option<&ClarificationOption> {
        let named = self.options.iter().map(|option| OptionNamed {
            id: &option.id,
            title: &option.title,
        });
        let named: Vec<OptionNamed<'_>> = named.collect();
        self.options.get(chosen(answer, &named)?)
    }

    /// The question and its options, for people.
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

impl Engine {
    /// What a request chooses, where the turn before it in its session was a question that was asked back, and it answers
    /// that; `None` where it is a request of its own.
    pub(super) async fn chosen_option(
        &self,
        asked: &ActiveRequest,
    ) -> Result<Option<Classification>, EngineError> {
        let Some((request, question, earlier)) = self.asked_back(asked).await? else {
            return Ok(None);
        };
        let view = self.live().view(&asked.caller.tenant);
        let clarification = Clarification::from_verdict(&view, &earlier);
        let Some(option) = clarification.chosen(asked.request.input.as_str()) else {
            return Ok(None);
        };
        let mut parameters = BTreeMap::new();
        let mut classified = match option.kind == DocumentKind::Playbook {
            true => {
                let id = PlaybookId::parse(&option.id)
                    .map_err(|error| EngineError::internal("reading an option", error))?;
                self.named_playbook(asked, &id)?
            }
            false => {
                let id = SkillId::parse(&option.id)
                    .map_err(|error| EngineError::internal("reading an option", error))?;
                if let Some(found) = view.skill(id.as_ref()) {
                    let declared = &found.document().parameters;
                    let stated = Collected::given(declared, &Map::new());
                    let stated = stated
                        .read(&question, asked.request.timestamp)
                        .values()
                        .clone();
                    parameters.insert(id.clone(), stated);
                }
                self.named_skill(asked, &id)?
            }
        };
        let because = format!(
            "it answers the question of `{request}` with `{}`",
            option.id
        );
        classified.verdict.reason.clone_from(&because);
        classified.verdict.intent_reason = Some(because.clone());
        classified.verdict.follows = Some(FollowUpReference {
            request_id: request,
            alone: VerdictKind::Miss,
            because,
        });
        classified.dry_run |= earlier.dry_run;
        classified.follow_up = Some(FollowUp {
            question,
            parameters,
        });
        Ok(Some(classified))
    }

    /// The latest turn of the session, if it was a question that was asked back: its request, the text of that, and how it
    /// was classified.
    async fn asked_back(
        &self,
        asked: &ActiveRequest,
    ) -> Result<Option<(RequestId, String, Classification)>, EngineError> {
        let tenant = &asked.caller.tenant;
        let Some(session) = &asked.request.session_id else {
            return Ok(None);
        };
        let turns = self.store().turns(tenant, session, LOOK_BACK).await?;
        let mut others = turns.into_iter().rev();
        let Some(last) = others.find(|turn| turn.request_id != *asked.id()) else {
            return Ok(None);
        };
        let record = self.store().request(tenant, &last.request_id).await?;
        let Some(verdict) = record.and_then(|record| record.verdict) else {
            return Ok(None);
        };
        let classified: Classification = decode_stored(&verdict)
            .map_err(|error| EngineError::internal("reading a recorded verdict", error))?;
        let asks = classified.course() == Course::AskBack;
        Ok(asks.then_some((last.request_id, last.input, classified)))
    }
}

/// The response that asks back.
pub(super) fn response(
    engine: &Engine,
    asked: &ActiveRequest,
    classified: &Classification,
    elapsed: Duration,
) -> Result<AgentResponse, EngineError> {
    let view = engine.live().view(&asked.caller.tenant);
    let clarification = Clarification::from_verdict(&view, classified);
    let builder = AgentResponse::builder(
        ResponseId::from_uuid(engine.new_uuid()),
        asked.id().clone(),
        engine.now(),
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
