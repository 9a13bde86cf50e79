//! The results of a skill's run: the findings of its rules, and one evidence record for each result, attached to the
//! findings that it supports. Must not know the driver of a run.

use std::collections::BTreeMap;

use charter_contract::catalogue::evidence::EvidenceRecord;
use charter_contract::finding::Finding;
use charter_contract::ids::{EvidenceId, FindingId, StepId};
use charter_contract::time::Timestamp;
use charter_domain::run::{Run, RunEvent};
use serde_json::{Map, Value};

use super::{RunEvidenceService, is_fault};
use crate::EngineError;
use crate::execution::evidence::{CapturedResult, EvidenceOutcome};
use crate::execution::findings::unproven;
use crate::execution::runs::journal::HistoryEvent;
use crate::execution::runs::pinned::LoadedRun;
use crate::execution::runs::rule_warnings::guardrail_warnings;

/// The findings of rules in a run's results, with the evidence of each result.
#[derive(Debug)]
pub(crate) struct ExaminedRun {
    pub(crate) findings: Vec<Finding>,
    /// The step whose result has each finding.
    pub(crate) found_in: BTreeMap<FindingId, StepId>,
    pub(crate) evidence: BTreeMap<StepId, EvidenceId>,
    pub(crate) warnings: Vec<String>,
}

/// The examined results of a skill's run, or the fault of a package that prevents their examination.
pub(crate) type Examination = Result<ExaminedRun, EngineError>;

impl RunEvidenceService {
    /// Applies the skill's rules to the run's outputs, and records one evidence record for each tool result. On the
    /// advanced tier, adds data of the expert graph. A repeat finds the same records, because their ids follow from run
    /// and step.
    ///
    /// # Errors
    /// `tool_failed` or `tool_timeout` if a rule or an evidence declaration fails; then nothing is recorded.
    /// `unavailable` if the engine stops first.
    pub(crate) async fn examine(
        &self,
        pinned: &LoadedRun,
        run: &Run,
        history: &[HistoryEvent],
    ) -> Result<ExaminedRun, EngineError> {
        let (tenant, tags) = (&pinned.workspace.tenant, &pinned.workspace.tags);
        let skill = pinned.skill()?;
        let mut findings = self.findings.of_run(tenant, tags, &skill, run).await?;
        let mut warnings = guardrail_warnings(history);
        let records = self
            .records_of(pinned, run, history, &findings, &mut warnings)
            .await?;
        let captured: Vec<EvidenceRecord> = records.values().cloned().collect();
        self.records.keep(tenant, &captured).await?;
        for (finding, step) in &mut findings {
            finding.evidence_ids = records
                .get(step)
                .map(|record| record.id.clone())
                .into_iter()
                .collect();
        }
        let found_in = findings
            .iter()
            .map(|(finding, step)| (finding.finding_id.clone(), step.clone()));
        let found_in = found_in.collect();
        let mut findings: Vec<Finding> = findings.into_iter().map(|(finding, _)| finding).collect();
        warnings.extend(unproven(&findings));
        self.findings.relate(tenant, tags, &skill, &mut findings);
        let evidence = records.into_iter().map(|(step, record)| (step, record.id));
        Ok(ExaminedRun {
            evidence: evidence.collect(),
            findings,
            found_in,
            warnings,
        })
    }

    /// Examines a skill's run that is about to end. A fault of a package does not keep the run from ending.
    ///
    /// # Errors
    /// Those after which the run is resumed: `unavailable`, and errors of storage.
    pub(super) async fn examine_before_end(
        &self,
        pinned: &LoadedRun,
        run: &Run,
        history: &[HistoryEvent],
    ) -> Result<Examination, EngineError> {
        match self.examine(pinned, run, history).await {
            Err(error) if !is_fault(&error) => Err(error),
            examined => Ok(examined),
        }
    }

    /// Builds the record of each tool result. A summary that cannot be filled in is a warning.
    async fn records_of(
        &self,
        pinned: &LoadedRun,
        run: &Run,
        history: &[HistoryEvent],
        findings: &[(Finding, StepId)],
        warnings: &mut Vec<String>,
    ) -> Result<BTreeMap<StepId, EvidenceRecord>, EngineError> {
        let tenant = &pinned.workspace.tenant;
        let mut records = BTreeMap::new();
        for (step, output) in run.outputs() {
            let tool = run.graph().step(step);
            let tool = tool.and_then(|step| pinned.workspace.tools.get(step.tool()?));
            // A model's analysis of results is not a result itself.
            let Some(tool) = tool.filter(|tool| !tool.entry.document.is_internal()) else {
                continue;
            };
            let supported = findings
                .iter()
                .filter(|(_, from)| from == step)
                .map(|(finding, _)| finding);
            let captured = CapturedResult {
                tool: &tool.entry.document,
                step,
                parameters: begun_with(history, step),
                output,
                at: succeeded_at(history, step).unwrap_or_else(|| self.clock.now()),
            };
            match captured
                .record(&self.records, tenant, run.id(), supported)
                .await?
            {
                EvidenceOutcome::Recorded(made) => {
                    warnings.extend(made.fault);
                    records.insert(step.clone(), made.record);
                }
                EvidenceOutcome::Unshown(why) => warnings.push(why),
            }
        }
        Ok(records)
    }
}

fn begun_with<'h>(history: &'h [HistoryEvent], step: &StepId) -> Option<&'h Map<String, Value>> {
    history.iter().rev().find_map(|entry| match &entry.event {
        RunEvent::StepBegun(begun) if begun.step == *step => Some(&begun.parameters),
        _ => None,
    })
}

fn succeeded_at(history: &[HistoryEvent], step: &StepId) -> Option<Timestamp> {
    history.iter().find_map(|entry| match &entry.event {
        RunEvent::StepSucceeded { step: ended, .. } if ended == step => Some(entry.at),
        _ => None,
    })
}
