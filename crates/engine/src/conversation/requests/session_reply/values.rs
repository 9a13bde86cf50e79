//! Replies with values: for a skill that lacks parameters, for a run that waits for them, for an offered change.

use std::collections::BTreeMap;

use charter_contract::error_code::ErrorCode;
use charter_contract::identity::AccessScope;
use charter_contract::ids::{Label, RunId, SkillId};
use charter_contract::intent::Intent;
use charter_contract::parameter::{Parameter, ParameterType};
use charter_domain::assent::assent;
use charter_domain::follow_up::StandaloneMeaning;
use charter_domain::intent::{self, Remark};
use charter_domain::parameters::{Reply, value_as_a_whole, values_alone};
use serde_json::{Map, Value};

use super::super::ActiveRequest;
use super::super::classification::{Classification, FollowUp, ReplyValues};
use super::super::classify::RequestClassificationService;
use super::super::follow_up::alone;
use super::super::offered::Offer;
use super::{LastAnswer, RunReply, about_run, follows, offered};
use crate::EngineError;
use crate::registry::routing::RoutingResult;

/// Parameters that an answer asked for.
struct AskedFor {
    declared: Vec<Parameter>,
    known: Map<String, Value>,
    missing: Vec<Label>,
    by: Asker,
}

/// The skill, run or offer that lacks values.
enum Asker {
    Skill(SkillId),
    Run(RunId),
    Offer(Box<Offer>),
}

impl AskedFor {
    /// Returns the reply of a text that states values and nothing else.
    fn stated(&self, asked: &ActiveRequest) -> Option<Reply> {
        let (text, at) = (asked.request.input.as_str(), asked.request.timestamp);
        let stated = values_alone(&self.declared, &self.known, &self.missing, text, at);
        let of_boolean = || {
            let is_asked = |one: &Parameter| {
                one.kind == ParameterType::Boolean && self.missing.contains(&one.name)
            };
            let mut declared = self.declared.iter();
            declared
                .any(is_asked)
                .then(|| value_as_a_whole(&self.declared, &self.missing, text, at))
                .flatten()
        };
        stated.or_else(of_boolean)
    }

    /// Returns the reply of a text that is one value as a whole.
    fn whole(&self, asked: &ActiveRequest) -> Option<Reply> {
        let (text, at) = (asked.request.input.as_str(), asked.request.timestamp);
        value_as_a_whole(&self.declared, &self.missing, text, at)
    }
}

impl RequestClassificationService {
    /// Classifies a text that states values of the requested parameters, and nothing else.
    pub(super) async fn values_given(
        &self,
        asked: &ActiveRequest,
        last: &LastAnswer,
    ) -> Result<Option<Classification>, EngineError> {
        let Some(wanted) = self.asked_for(asked, last).await? else {
            return Ok(None);
        };
        match wanted.stated(asked) {
            Some(reply) => self.given(asked, last, wanted, reply).map(Some),
            None => Ok(None),
        }
    }

    /// Classifies a short text without a clear match of its own that is, as a whole, the one missing value.
    pub(in super::super) async fn whole_value(
        &self,
        asked: &ActiveRequest,
        last: &LastAnswer,
        routed: &RoutingResult,
    ) -> Result<Option<Classification>, EngineError> {
        let is_clear = alone(&routed.verdict) == StandaloneMeaning::Clear;
        if is_clear || asked.wishes.flow.is_some() || !may_be_value(asked.request.input.as_str()) {
            return Ok(None);
        }
        let Some(wanted) = self.asked_for(asked, last).await? else {
            return Ok(None);
        };
        match wanted.whole(asked) {
            Some(reply) => self.given(asked, last, wanted, reply).map(Some),
            None => Ok(None),
        }
    }

    async fn asked_for(
        &self,
        asked: &ActiveRequest,
        last: &LastAnswer,
    ) -> Result<Option<AskedFor>, EngineError> {
        if let Some(skill) = last.lacking_skill() {
            let declared = match self.run_starts.skill_parameters(&asked.caller, skill) {
                Ok(declared) => declared,
                // The document is no longer available: the text is routed.
                Err(error)
                    if matches!(
                        error.code,
                        ErrorCode::NotFound | ErrorCode::PermissionDenied
                    ) =>
                {
                    return Ok(None);
                }
                Err(error) => return Err(error),
            };
            let names = last.missing_names();
            let is_missing = |one: &&Parameter| {
                names.contains(&one.name.as_str()) || names.contains(&one.called())
            };
            let missing = declared.iter().filter(is_missing);
            return Ok(Some(AskedFor {
                missing: missing.map(|one| one.name.clone()).collect(),
                known: last.known(&declared),
                declared,
                by: Asker::Skill(skill.clone()),
            }));
        }
        if let Some(run) = self.open_run(asked, last).await? {
            let may_give = asked.caller.scopes.opens(AccessScope::RunsWrite);
            if run.state.missing.is_empty() || !may_give {
                return Ok(None);
            }
            let id = run.summary.run_id;
            let (declared, known) = self
                .run_management
                .parameters_of(&asked.caller.tenant, &id)
                .await?;
            return Ok(Some(AskedFor {
                declared,
                known,
                missing: run.state.missing,
                by: Asker::Run(id),
            }));
        }
        let mut offers = last.offers();
        let (Some(offer), true) = (offers.pop(), offers.is_empty()) else {
            return Ok(None);
        };
        let Ok(found) = self
            .run_starts
            .runnable_playbook(&asked.caller, offer.playbook())
        else {
            return Ok(None);
        };
        Ok(Some(AskedFor {
            declared: found.document().declared_parameters(),
            known: offer.parameters().clone(),
            missing: offer.missing().to_vec(),
            by: Asker::Offer(Box::new(offer)),
        }))
    }

    /// Builds the classification with the values of a reply: the skill runs, the run continues, or the change is
    /// offered again.
    fn given(
        &self,
        asked: &ActiveRequest,
        last: &LastAnswer,
        wanted: AskedFor,
        reply: Reply,
    ) -> Result<Classification, EngineError> {
        let names: Vec<&str> = reply.values.keys().map(String::as_str).collect();
        let because = match names.as_slice() {
            [] => format!("it replies to `{}` without a value", last.request),
            names => format!("it replies to `{}` with {}", last.request, names.join(", ")),
        };
        let Reply {
            values,
            sources,
            unclear,
        } = reply;
        match wanted.by {
            Asker::Skill(skill) => {
                let mut classified = self.named_skill(asked, &skill)?;
                follows(&mut classified, last, because);
                classified.follow_up = Some(FollowUp {
                    question: last.question().to_owned(),
                    parameters: BTreeMap::from([(skill.to_string(), wanted.known)]),
                    reply: Some(ReplyValues {
                        values,
                        sources,
                        is_unclear: !unclear.is_empty(),
                    }),
                });
                Ok(classified)
            }
            Asker::Run(run) => {
                let reply = RunReply::Give {
                    values,
                    sources,
                    unclear: unclear.iter().map(ToString::to_string).collect(),
                };
                Ok(about_run(asked, last, run, reply, because))
            }
            Asker::Offer(offer) => {
                let found = self
                    .run_starts
                    .runnable_playbook(&asked.caller, offer.playbook())?;
                let mut all = offer.into_parameters();
                all.extend(values);
                let offer = Offer::with_fitting(found.document(), all);
                let because = match offer.missing() {
                    [] => "it has all values now; \"yes\" shows its plan".to_owned(),
                    _ => format!("`{}` needs {}", offer.playbook(), offer.missing_names()),
                };
                Ok(offered(asked, last, vec![offer], because))
            }
        }
    }
}

/// Returns whether a text may be a value as a whole: it is no question, command or small talk.
fn may_be_value(text: &str) -> bool {
    if text.contains('?') || assent(text).is_some() {
        return false;
    }
    let reading = intent::read(text);
    let says_nothing_else = matches!(
        reading.remark,
        None | Some(Remark::FollowUp | Remark::Statement | Remark::NamesSystem | Remark::Pasted)
    );
    reading.parts == 0 && reading.intent != Intent::Change && says_nothing_else
}
