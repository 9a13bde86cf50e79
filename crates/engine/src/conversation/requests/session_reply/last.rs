//! The latest answer of a session to which a text may reply.

use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{RequestId, RunId, SkillId};
use charter_contract::json::{JsonFault, decode_stored};
use charter_contract::parameter::Parameter;
use charter_store::request::RequestRecord;
use serde_json::{Map, Value};

use super::super::ActiveRequest;
use super::super::classification::Classification;
use super::super::classify::RequestClassificationService;
use super::super::course::Course;
use super::super::offer::OFFERS;
use super::super::offered::Offer;
use crate::EngineError;
use crate::registry::routing::FollowUpReference;

/// Maximum turns to look back for an answer; failed ones are skipped.
const LOOK_BACK: usize = 5;

/// An answer with its request.
#[derive(Debug)]
pub(in super::super) struct LastAnswer {
    pub(in super::super) request: RequestId,
    pub(in super::super) asked: ActiveRequest,
    pub(in super::super) classified: Classification,
    /// The `AgentResponse`, or the `AgentError` that asked for parameters.
    answer: Map<String, Value>,
    /// The run whose end is the request's result.
    awaited: Option<RunId>,
}

impl LastAnswer {
    /// Reads a record; `None` for a request without an answer, and for one that failed without asking for parameters.
    fn from_record(record: RequestRecord) -> Result<Option<Self>, EngineError> {
        let read = |error: JsonFault| EngineError::internal("reading a recorded request", error);
        let (Some(verdict), Some(answer)) = (&record.verdict, &record.answer) else {
            return Ok(None);
        };
        let answer: Map<String, Value> = decode_stored(answer).map_err(read)?;
        let code = answer.get("error_code").and_then(Value::as_str);
        let asks = code == Some(ErrorCode::MissingParameters.as_str());
        if answer.contains_key("error_id") && !asks {
            return Ok(None);
        }
        Ok(Some(Self {
            asked: ActiveRequest::from_json(&record.asked, record.tenant_id)?,
            classified: decode_stored(verdict).map_err(read)?,
            request: record.request_id,
            awaited: record.run_id,
            answer,
        }))
    }

    /// Returns the question behind the answer: of a chain of follow-ups the first.
    pub(in super::super) fn question(&self) -> &str {
        match &self.classified.follow_up {
            Some(follow_up) => &follow_up.question,
            None => self.asked.request.input.as_str(),
        }
    }

    /// Returns whether the request was a dry run.
    pub(super) fn is_trial(&self) -> bool {
        self.classified.dry_run || self.asked.wishes.dry_run
    }

    /// Returns the changes that the answer offers.
    pub(super) fn offers(&self) -> Vec<Offer> {
        let metadata = self.answer.get("metadata");
        let offers = metadata.and_then(|metadata| metadata.get(OFFERS));
        let offers = offers.map(|offers| serde_json::from_value(offers.clone()));
        offers.and_then(Result::ok).unwrap_or_default()
    }

    /// Returns the changing run that the answer describes.
    pub(super) fn run(&self) -> Option<&RunId> {
        let opened = || {
            let awaited = self.awaited.as_ref();
            awaited.filter(|_| self.classified.course() == Course::Open)
        };
        self.classified.earlier_run().or_else(opened)
    }

    /// Returns the answer to which its request replied or referred.
    pub(super) fn follows(&self) -> Option<&FollowUpReference> {
        self.classified.verdict.follow_up.as_ref()
    }

    fn detail(&self, name: &str) -> Option<&Value> {
        self.answer.get("technical_details")?.get(name)
    }

    /// Returns whether a skill lacks parameters and did not run.
    pub(super) fn is_lacking(&self) -> bool {
        self.answer.contains_key("error_id") && self.detail("run_id").is_none()
    }

    /// Returns the skill that lacks parameters, if the request asked for it alone.
    pub(super) fn lacking_skill(&self) -> Option<&SkillId> {
        let classified = &self.classified;
        match classified.skills.as_slice() {
            [skill] if self.is_lacking() && classified.course() == Course::Run => Some(skill),
            _ => None,
        }
    }

    /// Returns the names of the missing parameters, as the error lists them.
    pub(super) fn missing_names(&self) -> Vec<&str> {
        let names = self.detail("missing").and_then(Value::as_array);
        let names = names.into_iter().flatten();
        names.filter_map(Value::as_str).collect()
    }

    /// Returns the known values of the others, without defaults.
    pub(super) fn known(&self, declared: &[Parameter]) -> Map<String, Value> {
        let known = self.detail("known").and_then(Value::as_array);
        let known = known.into_iter().flatten().filter(|shown| {
            let is_default = shown["from"] == "default";
            let name = shown["name"].as_str();
            !is_default && declared.iter().any(|one| Some(one.name.as_str()) == name)
        });
        let pair = |shown: &Value| {
            let name = shown["name"].as_str()?.to_owned();
            Some((name, shown["value"].clone()))
        };
        known.filter_map(pair).collect()
    }
}

impl RequestClassificationService {
    /// Returns the latest answer of a request's session.
    pub(in super::super) async fn last_answer(
        &self,
        asked: &ActiveRequest,
    ) -> Result<Option<LastAnswer>, EngineError> {
        let tenant = &asked.caller.tenant;
        let Some(session) = &asked.request.session_id else {
            return Ok(None);
        };
        let turns = self.store.turns(tenant, session, LOOK_BACK).await?;
        for turn in turns.into_iter().rev() {
            if turn.request_id == *asked.id() {
                continue;
            }
            let Some(record) = self.store.request(tenant, &turn.request_id).await? else {
                continue;
            };
            if let Some(last) = LastAnswer::from_record(record)? {
                return Ok(Some(last));
            }
        }
        Ok(None)
    }

    /// Returns the question before an answer, if the answer is to a chosen option of it.
    pub(in super::super) async fn question_before(
        &self,
        last: &LastAnswer,
    ) -> Result<Option<LastAnswer>, EngineError> {
        let tenant = &last.asked.caller.tenant;
        let mut follows = last.follows().cloned();
        for _ in 0..LOOK_BACK {
            let Some(reference) = follows else {
                return Ok(None);
            };
            let record = self.store.request(tenant, &reference.request_id).await?;
            let before = record.map(LastAnswer::from_record).transpose()?.flatten();
            match before {
                Some(before) if before.classified.course() == Course::AskBack => {
                    return Ok(Some(before));
                }
                Some(before) => follows = before.follows().cloned(),
                None => return Ok(None),
            }
        }
        Ok(None)
    }
}
