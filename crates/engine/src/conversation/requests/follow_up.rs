//! A request that refers to an earlier one of its session (B003-11).
//!
//! Only reading has follow-ups: a change must be requested in full.

use std::collections::BTreeMap;

use charter_contract::catalogue::DocumentKind;
use charter_contract::catalogue::tags::Flow;
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{RequestId, SkillId, TenantId};
use charter_contract::intent::Intent;
use charter_contract::json::decode_stored;
use charter_domain::assent::assent;
use charter_domain::follow_up::{self, StandaloneMeaning};
use charter_domain::graph;
use charter_domain::intent::{Language, Remark};
use charter_search::{MAX_QUERY_BYTES, VerdictKind};
use serde_json::{Map, Value};

use super::ActiveRequest;
use super::classification::{Classification, FollowUp};
use super::classify::RequestClassificationService;
use super::course::Course;
use super::parameters::EarlierValues;
use super::run_ids::run_id_of;
use crate::EngineError;
use crate::registry::routing::{FollowUpReference, Purpose, RoutedVerdict, RoutingResult};

/// Maximum turns of a session to look back.
const LOOK_BACK: usize = 10;

impl Classification {
    /// Returns the values of a skill or playbook from the request that this one follows.
    pub(super) fn earlier_values(&self, document: &str) -> Option<EarlierValues<'_>> {
        let follows = self.verdict.follow_up.as_ref()?;
        let follow_up = self.follow_up.as_ref()?;
        Some(EarlierValues {
            request: &follows.request_id,
            values: follow_up.parameters.get(document)?,
            reply: follow_up.reply.as_ref(),
        })
    }
}

/// Returns the meaning of the text alone. Even the only candidate may be barely above the floor, so a skill counts as
/// an answer only from half way to the narrow threshold. A text that a passage answers may still refer to a question.
pub(super) fn alone(own: &RoutedVerdict) -> StandaloneMeaning {
    let halfway = (own.thresholds.floor + own.thresholds.narrow) / 2.0;
    match own.candidates.first() {
        None => StandaloneMeaning::Nothing,
        Some(best) if best.kind == DocumentKind::Skill && best.score >= halfway => {
            StandaloneMeaning::Clear
        }
        Some(_) => StandaloneMeaning::Weak,
    }
}

/// Returns whether a text may refer to an earlier one. Small talk does not, nor does a yes or no without an open
/// question. A change must be requested in full.
fn may_lean(text: &str, routed: &RoutingResult) -> bool {
    assent(text).is_none()
        && routed.language == Language::English
        && routed.verdict.intent != Some(Intent::Change)
        && matches!(routed.remark, None | Some(Remark::FollowUp))
}

/// An earlier request of the session that was answered by skills.
struct EarlierRequest {
    request: RequestId,
    question: String,
    skills: Vec<SkillId>,
}

impl RequestClassificationService {
    /// Returns the verdict on the text joined with the question to which it refers. `None` if the text is independent,
    /// or if the joined text has no better match.
    pub(super) async fn follow_up(
        &self,
        asked: &ActiveRequest,
        routed: &RoutingResult,
    ) -> Result<Option<(RoutedVerdict, FollowUp)>, EngineError> {
        let (text, own) = (asked.request.input.as_str(), &routed.verdict);
        let reads = matches!(
            asked.wishes.flow,
            None | Some(Flow::Skill | Flow::ReadBroad)
        ) && may_lean(text, routed);
        let Some(because) = follow_up::leans(text, alone(own)).filter(|_| reads) else {
            return Ok(None);
        };
        let earlier = self.earlier(asked).await?;
        let Some(last) = earlier.first() else {
            return Ok(None);
        };
        let joined = format!("{}\n{text}", last.question);
        if joined.len() > MAX_QUERY_BYTES {
            return Ok(None);
        }
        let candidates = self.settings.candidates;
        let mut verdict = self
            .routing
            .route(&asked.caller, Purpose::Skills, &joined, candidates)
            .await?;
        if verdict.kind == VerdictKind::Miss {
            return Ok(None);
        }
        let best = verdict.candidates.first();
        let best = best.and_then(|best| SkillId::parse(&best.id).ok());
        if best.is_some_and(|best| last.skills.contains(&best)) {
            verdict.kind = VerdictKind::Narrow;
        }
        verdict.reason = format!(
            "a follow-up of `{}`, because {because}; with that question: {}",
            last.request, verdict.reason
        );
        let parameters = self.taken_over(asked, &verdict, &earlier).await?;
        // The model read only the text alone; its tokens count nevertheless.
        verdict.gateway.clone_from(&own.gateway);
        verdict.intent = Some(Intent::Read);
        verdict.intent_reason = Some(format!("it follows a question: {because}"));
        verdict.follow_up = Some(FollowUpReference {
            request_id: last.request.clone(),
            standalone_verdict: own.kind,
            reason: because,
        });
        let question = last.question.clone();
        Ok(Some((
            verdict,
            FollowUp {
                question,
                parameters,
                reply: None,
            },
        )))
    }

    /// Returns the session's requests that skills answered, the latest first.
    async fn earlier(&self, asked: &ActiveRequest) -> Result<Vec<EarlierRequest>, EngineError> {
        let tenant = &asked.caller.tenant;
        let Some(session) = &asked.request.session_id else {
            return Ok(Vec::new());
        };
        let turns = self.store.turns(tenant, session, LOOK_BACK).await?;
        let mut earlier = Vec::new();
        for turn in turns.into_iter().rev() {
            if turn.output.is_none() || turn.request_id == *asked.id() {
                continue;
            }
            let record = self.store.request(tenant, &turn.request_id).await?;
            let Some(verdict) = record.and_then(|record| record.verdict) else {
                continue;
            };
            let classified: Classification = decode_stored(&verdict)
                .map_err(|error| EngineError::internal("reading a recorded verdict", error))?;
            if classified.course() == Course::Run {
                earlier.push(EarlierRequest {
                    question: classified
                        .follow_up
                        .map_or(turn.input, |follow_up| follow_up.question),
                    request: turn.request_id,
                    skills: classified.skills,
                });
            }
        }
        Ok(earlier)
    }

    /// Returns the parameters of every skill that the verdict chooses.
    async fn taken_over(
        &self,
        asked: &ActiveRequest,
        verdict: &RoutedVerdict,
        earlier: &[EarlierRequest],
    ) -> Result<BTreeMap<String, Map<String, Value>>, EngineError> {
        let tenant = &asked.caller.tenant;
        let text = asked.request.input.as_str();
        let back = match follow_up::asks_for_another(text) {
            true => earlier,
            false => earlier.get(..1).unwrap_or_default(),
        };
        let mut ran = Vec::with_capacity(back.len());
        for one in back {
            ran.push(self.ran_with(tenant, one).await?);
        }
        let view = self.catalogue.live().view(tenant);
        let mut parameters = BTreeMap::new();
        for chosen in verdict.chosen(self.settings.broad_skills) {
            let skill = view.skill(&chosen.id);
            let Some(skill) = skill.filter(|_| chosen.kind == DocumentKind::Skill) else {
                continue;
            };
            let skill = graph::wired(skill.document(), &view);
            // Values of the same skill if it ran; otherwise of another one, by name.
            let of = |ran: &BTreeMap<SkillId, Map<String, Value>>| {
                let same = ran.get(&skill.skill_id).or(ran.values().next());
                same.cloned().unwrap_or_default()
            };
            let seen: Vec<Map<String, Value>> = ran.iter().map(of).collect();
            let last = seen.first().cloned().unwrap_or_default();
            let now = asked.request.timestamp;
            let taken = follow_up::take_over(&skill.parameters, &last, &seen, text, now);
            let taken = taken.map_err(|which| {
                EngineError::new(ErrorCode::MissingParameters, which.to_string())
            })?;
            parameters.insert(skill.skill_id.to_string(), taken);
        }
        Ok(parameters)
    }

    /// Returns the parameters of the skills that ran for an earlier request.
    async fn ran_with(
        &self,
        tenant: &TenantId,
        earlier: &EarlierRequest,
    ) -> Result<BTreeMap<SkillId, Map<String, Value>>, EngineError> {
        let mut ran = BTreeMap::new();
        for skill in &earlier.skills {
            let run = run_id_of(tenant, &earlier.request, skill.as_ref());
            if self.store.run(tenant, &run).await?.is_some() {
                let folded = self.journals.fold(tenant, &run).await?.run;
                ran.insert(skill.clone(), folded.bindings().parameters.clone());
            }
        }
        Ok(ran)
    }
}
