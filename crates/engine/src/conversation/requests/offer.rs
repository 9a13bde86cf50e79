//! Playbooks that an answer offers: the change, its values, and how to start it. An offer starts nothing.
//!
//! A playbook is offered for a sentence that may ask for it, or for findings whose rule names one of its trigger
//! conditions; its own filter then makes its parameters from the findings. Similarity to findings never leads to an
//! offer.

use std::sync::Arc;
use std::time::Duration;

use charter_contract::agentic::response::AgentResponse;
use charter_contract::catalogue::DocumentKind;
use charter_contract::catalogue::playbook::Playbook;
use charter_contract::catalogue::skill::Skill;
use charter_contract::catalogue::vocabulary::Status;
use charter_contract::error_code::ErrorCode;
use charter_contract::finding::Finding;
use charter_contract::ids::{PlaybookId, ResponseId, SkillId};
use charter_contract::text::Text;
use charter_domain::intent::offered_from;
use charter_domain::parameters::{self, Collected};
use serde_json::{Value, json};

use super::ActiveRequest;
use super::analyse::SkillResult;
use super::classification::{Classification, change_text};
use super::notices::WARNINGS;
use super::offered::Offer;
use super::respond::{ResponseService, verdict};
use crate::EngineError;
use crate::catalogue::live::CatalogueService;
use crate::execution::starts::RunStartService;
use crate::ground::confined::Computations;
use crate::registry::routing::{RoutedCandidate, RoutedVerdict};

/// Maximum playbooks that one answer offers.
const OFFERED: usize = 3;

/// The metadata field of an answer that lists them.
pub(super) const OFFERS: &str = "offers";

/// The offers for findings, with failures that prevented others.
#[derive(Debug, Default)]
pub(super) struct Offers {
    offers: Vec<Offer>,
    warnings: Vec<String>,
}

/// The playbooks that answers offer.
pub(crate) struct OfferService {
    catalogue: Arc<CatalogueService>,
    run_starts: Arc<RunStartService>,
    computations: Arc<Computations>,
}

impl OfferService {
    pub(crate) fn new(
        catalogue: Arc<CatalogueService>,
        run_starts: Arc<RunStartService>,
        computations: Arc<Computations>,
    ) -> Self {
        Self {
            catalogue,
            run_starts,
            computations,
        }
    }

    /// Returns the playbooks that a sentence mentions, with the values that it states.
    pub(super) fn offers_of_text(
        &self,
        asked: &ActiveRequest,
        classified: &Classification,
    ) -> Vec<Offer> {
        if let Some(again) = classified.offered_again() {
            return again.to_vec();
        }
        let fitting = fitting(&classified.verdict).into_iter();
        let playbooks = fitting.filter_map(|candidate| PlaybookId::parse(&candidate.id).ok());
        let mut playbooks: Vec<PlaybookId> = playbooks.collect();
        if playbooks.is_empty() {
            // The request named it.
            playbooks.extend(classified.playbook.clone());
        }
        let text = match &classified.follow_up {
            Some(_) => change_text(asked, classified),
            None => classified.text(asked).to_owned(),
        };
        let offers = playbooks.into_iter().filter_map(|id| {
            let found = self.run_starts.runnable_playbook(&asked.caller, &id).ok()?;
            let declared = found.document().declared_parameters();
            let stated = Collected::given(&declared, &asked.wishes.parameters);
            let stated = stated.read(&text, asked.request.timestamp);
            let mut offer = Offer::with_fitting(found.document(), stated.values().clone());
            offer.ask_for(stated.left_out());
            Some(offer)
        });
        offers.take(OFFERED).collect()
    }

    /// Returns the playbooks that the findings of skills suggest. A failure of a playbook's filter is a warning.
    ///
    /// # Errors
    /// `unavailable` if the engine stops first.
    pub(super) async fn offers_of_findings(
        &self,
        asked: &ActiveRequest,
        results: &[SkillResult],
    ) -> Result<Offers, EngineError> {
        let done = results
            .iter()
            .filter_map(|result| result.outcome.as_ref().ok());
        let done: Vec<(&Skill, &[Finding])> = done
            .map(|analysed| (&analysed.skill, analysed.findings.as_slice()))
            .collect();
        let mut offers = Offers::default();
        if !done.iter().any(|(skill, _)| has_triggers(skill)) {
            return Ok(offers);
        }
        let view = self.catalogue.live().view(&asked.caller.tenant);
        let playbooks: Vec<_> = view.playbooks().collect();
        for found in &playbooks {
            let playbook = found.document();
            let (met, skills) = met(playbook, &done);
            let is_offered = playbook.status == Status::Active
                && !playbook.is_candidate
                && !met.is_empty()
                && self
                    .run_starts
                    .runnable_playbook(&asked.caller, &playbook.playbook_id)
                    .is_ok();
            if is_offered && offers.offers.len() < OFFERED {
                self.offer_for(asked, playbook, &met, &skills, &mut offers)
                    .await?;
            }
        }
        offers.offers.truncate(OFFERED);
        Ok(offers)
    }

    /// Offers a playbook with the parameters that its filter makes from findings.
    async fn offer_for(
        &self,
        asked: &ActiveRequest,
        playbook: &Playbook,
        met: &[&Finding],
        skills: &[SkillId],
        offers: &mut Offers,
    ) -> Result<(), EngineError> {
        let Some(filter) = &playbook.parameters_from_findings else {
            return Ok(());
        };
        let id = &playbook.playbook_id;
        let what = format!("`parameters_from_findings` of `{id}`");
        let tenant = &asked.caller.tenant;
        let emitted =
            self.computations
                .filter(tenant, &what, filter.as_str(), || json!(met), OFFERED);
        let emitted = match emitted.await {
            Ok(emitted) => emitted,
            Err(error) if matches!(error.code, ErrorCode::ToolFailed | ErrorCode::ToolTimeout) => {
                offers
                    .warnings
                    .push(format!("`{id}` is not offered: {error}"));
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        let declared = playbook.declared_parameters();
        for value in emitted {
            let bound = match &value {
                Value::Object(values) => parameters::bind_so_far(&declared, values)
                    .map_err(|faults| faults.iter().map(ToString::to_string).collect::<Vec<_>>()),
                _ => Err(vec!["it did not return an object of parameters".to_owned()]),
            };
            match (bound, value) {
                (Ok(so_far), Value::Object(values)) => offers.offers.push(Offer {
                    playbook_id: id.clone(),
                    title: playbook.name.to_string(),
                    parameters: values,
                    missing: so_far.missing,
                    finding_skills: skills.to_vec(),
                }),
                (Ok(_), _) => {}
                (Err(faults), _) => {
                    let warning = format!("`{id}` is not offered: {what}: {}", faults.join("; "));
                    offers.warnings.push(warning);
                }
            }
        }
        Ok(())
    }
}

/// Returns the playbooks of a verdict that fit the request: named ones, the best one and those with close scores, and
/// the best one of each clause. A score above the floor alone is not enough.
fn fitting(verdict: &RoutedVerdict) -> Vec<&RoutedCandidate> {
    let Some(best) = verdict.candidates.first() else {
        return Vec::new();
    };
    let thresholds = verdict.thresholds;
    let least = offered_from(thresholds.floor, thresholds.narrow);
    let fits = |candidate: &&RoutedCandidate| {
        let near = best.fused - candidate.fused < thresholds.margin;
        candidate.kind == DocumentKind::Playbook
            && (candidate.name_match.is_some()
                || candidate.score >= least && (near || verdict.is_best_of_clause(candidate)))
    };
    verdict.candidates.iter().filter(fits).collect()
}

fn has_triggers(skill: &Skill) -> bool {
    let mut rules = skill
        .analysis
        .iter()
        .flat_map(|analysis| &analysis.findings);
    rules.any(|rule| !rule.triggers.is_empty())
}

/// Returns the findings whose rule names one of a playbook's trigger conditions, and their skills.
fn met<'f>(
    playbook: &Playbook,
    done: &[(&Skill, &'f [Finding])],
) -> (Vec<&'f Finding>, Vec<SkillId>) {
    let (mut met, mut skills) = (Vec::new(), Vec::new());
    for (skill, findings) in done {
        let rules = skill
            .analysis
            .iter()
            .flat_map(|analysis| &analysis.findings);
        let names = |triggers: &[Text]| {
            let mut conditions = playbook.trigger_conditions.iter();
            conditions.any(|condition| triggers.contains(condition))
        };
        let leads: Vec<_> = rules
            .filter(|rule| names(&rule.triggers))
            .map(|rule| &rule.rule_id)
            .collect();
        let of_skill = findings.iter();
        let before = met.len();
        met.extend(of_skill.filter(|finding| leads.contains(&&finding.rule_id)));
        if met.len() > before {
            skills.push(skill.skill_id.clone());
        }
    }
    (met, skills)
}

/// Builds the response that offers the changes that a sentence may ask for.
pub(super) fn response(
    responses: &ResponseService,
    asked: &ActiveRequest,
    classified: &Classification,
    offers: Vec<Offer>,
    elapsed: Duration,
) -> Result<AgentResponse, EngineError> {
    let because = classified.because.as_deref().unwrap_or_default();
    let mut response = AgentResponse::builder(
        ResponseId::from_uuid(responses.ids.uuid()),
        asked.id().clone(),
        responses.clock.now(),
        format!("Nothing was started: {because}."),
    )
    .execution_time_ms(u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX))
    .metadata("flow", json!(classified.flow))
    .metadata("verdict", verdict(&classified.verdict)?)
    .metadata("because", json!(because))
    .build();
    Offers::new(offers).add_to(&mut response);
    Ok(response)
}

impl Offers {
    pub(super) fn new(offers: Vec<Offer>) -> Self {
        Self {
            offers,
            warnings: Vec::new(),
        }
    }

    /// Adds the offers to an answer: to its metadata, and to its text.
    pub(super) fn add_to(&self, response: &mut AgentResponse) {
        for warning in &self.warnings {
            response.content.push_str("\n\nWarning: ");
            response.content.push_str(warning);
        }
        for (number, offer) in self.offers.iter().enumerate() {
            let gap = if number == 0 { "\n\n" } else { "\n" };
            response.content.push_str(gap);
            response.content.push_str(&offer.line());
        }
        let metadata = &mut response.metadata.get_or_insert_default().extra;
        if !self.warnings.is_empty() {
            let known = metadata.entry(WARNINGS).or_insert_with(|| json!([]));
            if let Value::Array(known) = known {
                known.extend(self.warnings.iter().map(|warning| json!(warning)));
            }
        }
        if !self.offers.is_empty() {
            metadata.insert(OFFERS.to_owned(), json!(self.offers));
        }
    }
}

#[cfg(test)]
mod tests {
    use charter_contract::intent::Intent;
    use charter_search::{Scope, Thresholds};

    use super::*;

    fn candidate(id: &str, score: f32, fused: f32) -> RoutedCandidate {
        RoutedCandidate {
            kind: DocumentKind::Playbook,
            id: id.to_owned(),
            scope: Scope::Global,
            score,
            fused,
            lexical: 1.0,
            coverage: None,
            cosine: None,
            name_match: None,
        }
    }

    /// Playbooks above the floor that do something else are not offered.
    #[test]
    fn b000_20_only_playbooks_that_fit_are_offered() {
        let offered = |candidates: &[(&str, f32, f32)]| {
            let candidates = candidates.iter();
            let verdict = RoutedVerdict {
                candidates: candidates
                    .map(|(id, score, fused)| candidate(id, *score, *fused))
                    .collect(),
                thresholds: Thresholds {
                    floor: 0.2,
                    narrow: 0.6,
                    margin: 0.12,
                },
                ..RoutedVerdict::unrouted("drain it", Intent::Change, "")
            };
            let ids = fitting(&verdict).into_iter().map(|found| found.id.clone());
            ids.collect::<Vec<_>>()
        };
        assert_eq!(
            offered(&[
                ("ops.drain", 0.7, 1.0),
                ("ops.flush", 0.65, 0.9),
                ("ops.rinse", 0.64, 0.8),
                ("ops.seal", 0.28, 0.95),
            ]),
            ["ops.drain", "ops.flush"]
        );
        assert_eq!(offered(&[("ops.drain", 0.35, 1.0)]), ["ops.drain"]);
        assert_eq!(offered(&[("ops.seal", 0.27, 1.0)]), [""; 0]);
        assert_eq!(offered(&[]), [""; 0]);
    }

    fn playbook() -> Playbook {
        serde_json::from_value(json!({
            "playbook_id": "ops.drain", "name": "Drain tanks", "domain": "ops",
            "trigger_conditions": ["tank_is_full"],
            "steps": [{"step_id": "drain", "type": "write", "tool_id": "tank.drain"}],
            "mandatory_parameters": [
                {"name": "site", "type": "string", "required": true, "pattern": "^[a-z]+$"},
                {"name": "tanks", "type": "array", "required": true},
            ],
            "safety": {"safety_class": "supervised"},
        }))
        .unwrap()
    }

    fn skill(id: &str, triggers: &Value) -> Skill {
        serde_json::from_value(json!({
            "skill_id": id, "name": "levels", "domain": "ops", "display_name": "Levels",
            "description": "Reads levels.", "purpose": "To know levels.", "output_type": "finding",
            "execution_plan": {"steps": [
                {"step_id": "read", "type": "readonly", "tool_id": "tank.levels"},
            ]},
            "analysis": {"findings": [
                {"rule_id": "full", "from": "read", "filter": ".[]", "triggers": triggers},
                {"rule_id": "low", "from": "read", "filter": ".[]"},
            ]},
        }))
        .unwrap()
    }

    fn finding(rule: &str, tank: &str) -> Finding {
        serde_json::from_value(json!({
            "finding_id": "fnd_0123456789abcdef", "rule_id": rule, "skill_id": "ops.levels",
            "severity": "high", "resource_type": "tank", "resource_id": tank,
        }))
        .unwrap()
    }

    #[test]
    fn only_findings_whose_rule_names_a_trigger_condition_lead_to_a_playbook() {
        let named = skill("ops.levels", &json!(["tank_is_full"]));
        let other = skill("ops.others", &json!(["tank_is_empty"]));
        let findings = [finding("full", "t-1"), finding("low", "t-2")];
        let done: [(&Skill, &[Finding]); 2] = [(&named, &findings), (&other, &findings)];
        let (met, skills) = met(&playbook(), &done);
        assert_eq!(met, [&findings[0]]);
        assert_eq!(skills, std::slice::from_ref(&named.skill_id));
        assert!(has_triggers(&named) && has_triggers(&other));
    }

    #[test]
    fn an_offer_names_what_fits_and_what_is_missing_as_a_shell_takes_it() {
        let values = json!({"site": "NORTH 1", "tanks": ["t-1", "it's"], "other": 1});
        let Value::Object(values) = values else {
            panic!("an object");
        };
        let offer = Offer::with_fitting(&playbook(), values);
        assert_eq!(offer.missing.len(), 1, "{offer:?}");
        assert_eq!(
            offer.line(),
            r#"To do this: Drain tanks. charter playbook run ops.drain -p 'tanks=["t-1","it'\''s"]' -p site=…"#
        );
    }
}
