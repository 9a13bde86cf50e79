//! Proposes playbooks for the events of triggers: each run waits for a person's confirmation. Findings propose a
//! playbook once for each object of parameters that its filter emits, within a bound.

use std::collections::BTreeSet;

use charter_contract::bounds::{SCHEDULE_REPORT_ITEMS, TRIGGER_PROPOSALS};
use charter_contract::canonical;
use charter_contract::catalogue::playbook::Playbook;
use charter_contract::error_code::ErrorCode;
use charter_contract::finding::Finding;
use charter_contract::ids::{PlaybookId, RunId};
use charter_store::schedule::OccurrenceRecord;
use serde::Deserialize as _;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::ScheduleService;
use super::form::StartedWork;
use crate::{Caller, EngineError, IdempotencyKey};

/// The proposals of one event.
#[derive(Debug, Default)]
struct Proposals {
    runs: Vec<RunId>,
    /// The number of objects of parameters beyond the bound.
    omitted: usize,
    /// The errors of proposals that could not start.
    failures: Vec<EngineError>,
}

impl Proposals {
    /// Returns the started runs, and a note about the proposals that are missing; an error if no run started.
    fn into_work(self) -> Result<(StartedWork, Option<String>), EngineError> {
        let note = self.note();
        let mut runs = self.runs;
        match (runs.len(), self.failures.into_iter().next()) {
            (0, Some(error)) => Err(error),
            (1, _) => Ok((StartedWork::Run(runs.remove(0)), note)),
            _ => Ok((StartedWork::Runs(runs), note)),
        }
    }

    fn note(&self) -> Option<String> {
        let mut parts = Vec::new();
        if self.omitted > 0 {
            parts.push(format!(
                "{} more proposals were left out: an event starts at most {TRIGGER_PROPOSALS} (TRIGGER_PROPOSALS)",
                self.omitted
            ));
        }
        let failures = self.failures.iter();
        parts.extend(failures.map(|error| format!("a proposal could not start: {error}")));
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}

impl ScheduleService {
    /// Proposes a playbook for findings that meet its trigger conditions, once for each object of parameters that
    /// `parameters_from_findings` emits for them. A repeat with the same id finds the runs.
    ///
    /// # Errors
    /// `no_match` without such a finding or such an object; those of the start if no proposal could start, and those
    /// that may pass, for as long as the start of the occurrence is repeated.
    pub(super) async fn propose_for_findings(
        &self,
        caller: &Caller,
        playbook: &PlaybookId,
        parameters: &Map<String, Value>,
        (one, event): (&OccurrenceRecord, &Value),
        id: Uuid,
    ) -> Result<(StartedWork, Option<String>), EngineError> {
        let found = self.parts.run_starts.runnable_playbook(caller, playbook)?;
        let met = self.met(caller, found.document(), event)?;
        if met.is_empty() {
            let message = format!("no finding meets a trigger condition of `{playbook}`");
            return Err(EngineError::new(ErrorCode::NoMatch, message));
        }
        let Some(filter) = &found.document().parameters_from_findings else {
            let run = self.propose(caller, playbook, parameters, id).await?;
            return Ok((StartedWork::Run(run), None));
        };
        let what = format!("`parameters_from_findings` of `{playbook}`");
        let emitted = self.parts.computations.filter(
            &caller.tenant,
            &what,
            filter.as_str(),
            || json!(met),
            SCHEDULE_REPORT_ITEMS,
        );
        let emitted = emitted.await?;
        if emitted.is_empty() {
            let message = format!("{what} emits no parameters for the findings");
            return Err(EngineError::new(ErrorCode::NoMatch, message));
        }
        let distinct = distinct(&what, parameters, id, emitted);
        let mut proposals = Proposals {
            omitted: distinct.len().saturating_sub(TRIGGER_PROPOSALS),
            ..Proposals::default()
        };
        for proposal in distinct.into_iter().take(TRIGGER_PROPOSALS) {
            let started = match proposal {
                Ok((id, merged)) => self.propose(caller, playbook, &merged, id).await,
                Err(error) => Err(error),
            };
            match started {
                Ok(run) => proposals.runs.push(run),
                // The start of the occurrence is repeated, and finds the runs that have started.
                Err(error) if self.may_pass(&error, one) => return Err(error),
                Err(error) => proposals.failures.push(error),
            }
        }
        proposals.into_work()
    }

    /// Proposes a playbook: its run waits for a person's confirmation.
    ///
    /// # Errors
    /// Those of the start.
    pub(super) async fn propose(
        &self,
        caller: &Caller,
        playbook: &PlaybookId,
        parameters: &Map<String, Value>,
        id: Uuid,
    ) -> Result<RunId, EngineError> {
        let key = IdempotencyKey::parse(&id.to_string())?;
        let started = self
            .parts
            .run_starts
            .propose_playbook(caller, playbook, parameters, &key);
        Ok(started.await?.run().summary.run_id)
    }

    /// Returns the findings of an event whose rule names one of a playbook's trigger conditions.
    fn met(
        &self,
        caller: &Caller,
        playbook: &Playbook,
        event: &Value,
    ) -> Result<Vec<Finding>, EngineError> {
        let findings = Vec::<Finding>::deserialize(&event["data"]["findings"])
            .map_err(|error| EngineError::internal("reading the findings of an event", error))?;
        let view = self.parts.catalogue.live().view(&caller.tenant);
        let leads = |finding: &Finding| {
            let skill = view.skill(finding.skill_id.as_ref());
            skill.is_some_and(|skill| {
                let analysis = skill.document().analysis.iter();
                let mut rules = analysis.flat_map(|analysis| &analysis.findings);
                rules.any(|rule| {
                    let mut conditions = playbook.trigger_conditions.iter();
                    rule.rule_id == finding.rule_id
                        && conditions.any(|condition| rule.triggers.contains(condition))
                })
            })
        };
        Ok(findings.into_iter().filter(leads).collect())
    }
}

/// The id of a proposal and its parameters, or why it cannot start.
type PlaybookProposal = Result<(Uuid, Map<String, Value>), EngineError>;

/// Returns the proposals of an occurrence for the objects that the filter emitted. Equal objects are one proposal.
fn distinct(
    what: &str,
    given: &Map<String, Value>,
    occurrence: Uuid,
    emitted: Vec<Value>,
) -> Vec<PlaybookProposal> {
    let mut known = BTreeSet::new();
    let mut proposals = Vec::with_capacity(emitted.len());
    for value in emitted {
        match merged(what, given, value) {
            Ok(parameters) => {
                let id = id_of(occurrence, &parameters);
                if known.insert(id) {
                    proposals.push(Ok((id, parameters)));
                }
            }
            Err(error) => proposals.push(Err(error)),
        }
    }
    proposals
}

/// Returns the parameters of one proposal: those of the schedule, and those that the filter emitted.
fn merged(
    what: &str,
    given: &Map<String, Value>,
    emitted: Value,
) -> Result<Map<String, Value>, EngineError> {
    let Value::Object(emitted) = emitted else {
        let message = format!("{what} emitted a value that is no object of parameters");
        return Err(EngineError::new(ErrorCode::InvalidParameters, message));
    };
    let mut parameters = given.clone();
    for (name, value) in emitted {
        parameters.entry(name).or_insert(value);
    }
    Ok(parameters)
}

/// Derives the id of a proposal from its parameters, so that a repeat finds it in any order of what the filter emits.
fn id_of(occurrence: Uuid, parameters: &Map<String, Value>) -> Uuid {
    let text = canonical::text(Value::Object(parameters.clone()));
    Uuid::new_v5(&occurrence, text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(number: u128) -> RunId {
        RunId::from_uuid(Uuid::from_u128(number))
    }

    fn refused() -> EngineError {
        EngineError::new(ErrorCode::InvalidParameters, "`vault` is missing")
    }

    #[test]
    fn an_occurrence_records_the_proposals_that_are_left_out() {
        let proposals = Proposals {
            runs: vec![run(1), run(2)],
            omitted: 3,
            failures: vec![refused()],
        };
        let (work, note) = proposals.into_work().unwrap();
        assert_eq!(work, StartedWork::Runs(vec![run(1), run(2)]));
        let note = note.unwrap();
        assert!(note.starts_with("3 more proposals were left out"), "{note}");
        assert!(
            note.ends_with("; a proposal could not start: `vault` is missing"),
            "{note}"
        );
    }

    #[test]
    fn equal_objects_are_one_proposal() {
        let given = Map::from_iter([("profile".to_owned(), json!("main"))]);
        let emitted = vec![
            json!({"vault": "a", "region": "b"}),
            json!({"region": "b", "vault": "a"}),
            json!({"region": "b", "vault": "a", "profile": "other"}),
            json!("no object"),
            json!({"vault": "c"}),
        ];
        let proposals = distinct("the filter", &given, Uuid::from_u128(1), emitted);
        let shown = proposals.into_iter().map(|proposal| match proposal {
            Ok((_, parameters)) => parameters["vault"].clone(),
            Err(error) => json!(error.message),
        });
        let refused = json!("the filter emitted a value that is no object of parameters");
        let expected = [json!("a"), refused, json!("c")];
        assert_eq!(shown.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn an_occurrence_without_any_proposal_fails_with_the_first_reason() {
        let one = Proposals {
            runs: vec![run(1)],
            ..Proposals::default()
        };
        assert_eq!(one.into_work().unwrap(), (StartedWork::Run(run(1)), None));
        let none = Proposals {
            failures: vec![refused()],
            ..Proposals::default()
        };
        assert_eq!(none.into_work().unwrap_err().message, "`vault` is missing");
    }
}
