//! From a finished run to findings with evidence.

use std::collections::BTreeMap;

use charter_contract::agentic::response::ActionType;
use charter_contract::catalogue::builtin::Builtin;
use charter_contract::catalogue::evidence::EvidenceRecord;
use charter_contract::catalogue::skill::Skill;
use charter_contract::catalogue::tags::Flow;
use charter_contract::catalogue::template::Template;
use charter_contract::error_code::ErrorCode;
use charter_contract::finding::Finding;
use charter_contract::ids::{EvidenceId, StepId, TenantId, ToolId};
use charter_domain::analysis::{self, MAX_FINDINGS};
use charter_domain::catalogue::Found;
use charter_domain::gate::{Decision, Rule};
use charter_domain::guardrail::RequestTags;
use charter_domain::run::{ResultSource, Run, RunEvent};
use charter_domain::template::{self, Wanted};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::Asked;
use crate::confined::fill_in_here;
use crate::runs::HistoryEvent;
use crate::{Engine, EngineError};

/// Ways in which a template fails that an answer lists; each finding may have one of its own.
const TEMPLATE_WARNINGS: usize = 20;

/// What a skill's run came to.
#[derive(Debug)]
pub(crate) struct Analysed {
    pub(crate) skill: Skill,
    pub(crate) findings: Vec<Finding>,
    pub(crate) evidence: Vec<EvidenceId>,
    pub(crate) warnings: Vec<String>,
    pub(crate) calls: Vec<Call>,
    pub(crate) summary: Option<String>,
}

/// One tool call of the run, as the response shows it.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) tool: ToolId,
    pub(crate) step: StepId,
    pub(crate) source: ResultSource,
    pub(crate) duration_ms: u64,
    pub(crate) at: charter_contract::time::Timestamp,
    /// What a built-in tool says that it did.
    pub(crate) actions: Vec<ToldAction>,
}

/// An action as a built-in tool tells it; when it was is the journal's to say.
#[derive(Debug, serde::Deserialize)]
pub(crate) struct ToldAction {
    pub(crate) action_type: ActionType,
    pub(crate) details: Map<String, Value>,
}

impl Engine {
    /// Applies the skill's rules to the run's outputs, records one evidence record per tool result,
    /// adds what the expert graph says on the advanced tier, and renders the findings.
    pub(super) async fn analyse(
        &self,
        asked: &Asked,
        skill: &Skill,
        run: &Run,
    ) -> Result<Analysed, EngineError> {
        let tenant = &asked.caller.tenant;
        let tags = self.tags_for(asked, Flow::Skill)?;
        let history = self.history(tenant, run.id()).await?;
        let mut findings = self.findings(tenant, skill, run).await?;
        self.arrange(tenant, &tags, skill, &mut findings);
        let mut warnings = guardrail_warnings(&history);
        let records = self
            .evidence_of(asked, run, &history, &findings, &mut warnings)
            .await?;
        let captured: Vec<EvidenceRecord> = records.values().cloned().collect();
        self.keep_evidence(&asked.caller.tenant, &captured).await?;
        for (finding, step) in &mut findings {
            finding.evidence_ids = records
                .get(step)
                .map(|record| record.id.clone())
                .into_iter()
                .collect();
        }
        let mut findings: Vec<Finding> = findings.into_iter().map(|(finding, _)| finding).collect();
        self.relate(asked, &skill.domain, &mut findings);
        let unrendered = self.render(tenant, &tags, skill, &mut findings, None);
        warnings.extend(unrendered.await?);
        let summary = self
            .summarise(tenant, skill, run, &findings, &mut warnings)
            .await?;
        Ok(Analysed {
            skill: skill.clone(),
            summary,
            evidence: records.into_values().map(|record| record.id).collect(),
            calls: calls(run, &history),
            findings,
            warnings,
        })
    }

    /// Findings with the step that each was found in, most severe first.
    async fn findings(
        &self,
        tenant: &TenantId,
        skill: &Skill,
        run: &Run,
    ) -> Result<Vec<(Finding, StepId)>, EngineError> {
        let mut found = Vec::new();
        let mut looked_at: Vec<&StepId> = Vec::new();
        let rules = skill
            .analysis
            .iter()
            .flat_map(|analysis| &analysis.findings);
        for step in rules.map(|rule| &rule.from) {
            // A step that was skipped or failed has nothing to look at.
            let Some(output) = run
                .outputs()
                .get(step)
                .filter(|_| !looked_at.contains(&step))
            else {
                continue;
            };
            looked_at.push(step);
            let findings = self.findings_in(tenant, skill, step, output).await?;
            found.extend(findings.into_iter().map(|finding| (finding, step.clone())));
        }
        found.sort_by(|(a, _), (b, _)| {
            let key = |f: &Finding| (f.severity, f.resource_id.to_string(), f.finding_id.clone());
            key(a).cmp(&key(b))
        });
        found.dedup_by(|(a, _), (b, _)| a.finding_id == b.finding_id);
        Ok(found)
    }

    /// Lists findings by the field that the skill's template names, if it names one.
    fn arrange(
        &self,
        tenant: &TenantId,
        tags: &RequestTags,
        skill: &Skill,
        findings: &mut [(Finding, StepId)],
    ) {
        let template = self.template_of(tenant, tags, skill);
        let field = template
            .as_ref()
            .and_then(|found| template::sort_field(found.document()));
        if let Some(field) = field {
            analysis::order_by(findings, field);
        }
    }

    /// What the skill's rules find in the output of one step of its plan.
    pub(crate) async fn findings_in(
        &self,
        tenant: &TenantId,
        skill: &Skill,
        step: &StepId,
        output: &Value,
    ) -> Result<Vec<Finding>, EngineError> {
        let mut found = Vec::new();
        let rules = skill
            .analysis
            .iter()
            .flat_map(|analysis| &analysis.findings);
        for rule in rules.filter(|rule| rule.from == *step) {
            let what = format!("the rule `{}` of `{}`", rule.rule_id, skill.skill_id);
            let emitted = self
                .filter(
                    tenant,
                    &what,
                    rule.filter.as_str(),
                    || output.clone(),
                    MAX_FINDINGS,
                )
                .await?;
            let findings = analysis::findings(skill, rule, emitted).map_err(|error| {
                EngineError::new(ErrorCode::ToolFailed, format!("{what}: {error}"))
            })?;
            found.extend(findings);
        }
        Ok(found)
    }

    /// One record per tool result. Its id follows from run and step, so analysing again finds it. A summary that could
    /// not be filled in is a warning.
    async fn evidence_of(
        &self,
        asked: &Asked,
        run: &Run,
        history: &[HistoryEvent],
        findings: &[(Finding, StepId)],
        warnings: &mut Vec<String>,
    ) -> Result<BTreeMap<StepId, EvidenceRecord>, EngineError> {
        let pinned = self.pinned_by(&asked.caller.tenant, run).await?;
        let mut records = BTreeMap::new();
        for (step, output) in run.outputs() {
            let Some(tool) = run
                .graph()
                .step(step)
                .and_then(|step| pinned.workspace.tools.get(step.tool()?))
            else {
                continue;
            };
            let supported = findings
                .iter()
                .filter(|(_, from)| from == step)
                .map(|(finding, _)| finding);
            let captured = crate::evidence::Captured {
                tool: &tool.entry.document,
                step,
                parameters: begun_with(history, step),
                output,
                at: succeeded_at(history, step).unwrap_or_else(|| self.now()),
            };
            if let Some(made) = captured
                .record(self, &asked.caller.tenant, run.id(), supported)
                .await?
            {
                warnings.extend(made.fault);
                records.insert(step.clone(), made.record);
            }
        }
        Ok(records)
    }

    /// Renders every finding; returns what could not be, in words. `proof` stands for the evidence of
    /// findings that have none yet.
    ///
    /// # Errors
    /// `unavailable` when the engine stops first. What a template fails with is a warning.
    pub(crate) async fn render(
        &self,
        tenant: &TenantId,
        tags: &RequestTags,
        skill: &Skill,
        findings: &mut [Finding],
        proof: Option<&str>,
    ) -> Result<Vec<String>, EngineError> {
        if findings.is_empty() {
            return Ok(Vec::new());
        }
        let Some(template) = self.template_of(tenant, tags, skill) else {
            return Ok(vec![format!(
                "there is no template for `{}`; findings are not rendered",
                skill.output_type
            )]);
        };
        let template = template.document();
        let what = format!("the template `{}`", template.template_id);
        let structure = Value::Object(template.structure.clone());
        let all = findings.iter().map(|finding| values(finding, proof));
        let rendered = match fill_in_here(&what, &structure, all) {
            Some(rendered) => rendered,
            None => {
                let all = findings.iter().map(|finding| values(finding, proof));
                let all = all.collect();
                self.evaluate(tenant, &what, &structure, all).await?
            }
        };
        let mut warnings: Vec<String> = Vec::new();
        for (finding, rendered) in findings.iter_mut().zip(rendered) {
            match rendered {
                Ok(rendered) => finding.rendered = Some(rendered),
                Err(warning) => {
                    if warnings.len() < TEMPLATE_WARNINGS && !warnings.contains(&warning) {
                        warnings.push(warning);
                    }
                }
            }
        }
        Ok(warnings)
    }

    /// The template of a skill's findings, for the persona and tier of the request.
    fn template_of(
        &self,
        tenant: &TenantId,
        tags: &RequestTags,
        skill: &Skill,
    ) -> Option<Found<Template>> {
        let view = self.live().view(tenant);
        let agent = view.owner_of(skill.skill_id.as_ref());
        let wanted = Wanted {
            output_type: skill.output_type.as_ref(),
            skill: Some(skill.skill_id.as_ref()),
            agent: agent
                .as_ref()
                .map(|agent| agent.document().agent_id.as_ref()),
            domain: Some(skill.domain.as_ref()),
            persona: tags.persona.as_str(),
            tier: tags.tier,
        };
        template::resolve(&view, wanted).map(|(found, _)| found)
    }

    /// The summary of a skill's findings, where it has one. One that cannot be filled in is a warning.
    async fn summarise(
        &self,
        tenant: &TenantId,
        skill: &Skill,
        run: &Run,
        findings: &[Finding],
        warnings: &mut Vec<String>,
    ) -> Result<Option<String>, EngineError> {
        let summary = skill.analysis.as_ref();
        let Some(summary) = summary.and_then(|analysis| analysis.summary.clone()) else {
            return Ok(None);
        };
        let what = format!("the summary of `{}`", skill.skill_id);
        let (summary, values) = (Value::String(summary), summary_values(run, findings));
        Ok(match self.fill_in(tenant, &what, &summary, values).await? {
            Ok(Value::String(text)) => Some(text),
            Ok(other) => Some(other.to_string()),
            Err(warning) => {
                warnings.push(warning);
                None
            }
        })
    }
}

/// What a template's placeholders may name: the rule's own fields, and what every finding has.
fn values(finding: &Finding, proof: Option<&str>) -> Map<String, Value> {
    let mut values = finding.fields.clone();
    let evidence = finding.evidence_ids.first().map(EvidenceId::as_str);
    let own = json!({
        "finding_id": finding.finding_id, "rule_id": finding.rule_id, "skill_id": finding.skill_id,
        "severity": finding.severity.as_str(), "resource_type": finding.resource_type,
        "resource_id": finding.resource_id, "evidence_id": evidence.or(proof),
    });
    if let Value::Object(own) = own {
        values.extend(own);
    }
    values
}

fn begun_with<'h>(history: &'h [HistoryEvent], step: &StepId) -> Option<&'h Map<String, Value>> {
    history.iter().rev().find_map(|entry| match &entry.event {
        RunEvent::StepBegun(begun) if begun.step == *step => Some(&begun.parameters),
        _ => None,
    })
}

fn succeeded_at(
    history: &[HistoryEvent],
    step: &StepId,
) -> Option<charter_contract::time::Timestamp> {
    history.iter().find_map(|entry| match &entry.event {
        RunEvent::StepSucceeded { step: ended, .. } if ended == step => Some(entry.at),
        _ => None,
    })
}

/// B000-13: `soft_warn` guardrails are added to the output, each once.
fn guardrail_warnings(history: &[HistoryEvent]) -> Vec<String> {
    let mut warnings: Vec<String> = Vec::new();
    for entry in history {
        let RunEvent::StepBegun(begun) = &entry.event else {
            continue;
        };
        let Decision::Allow {
            warnings: rules, ..
        } = &begun.policy_decision
        else {
            continue;
        };
        for Rule { id, message, .. } in rules {
            let warning = format!("{id}: {message}");
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
        }
    }
    warnings
}

fn calls(run: &Run, history: &[HistoryEvent]) -> Vec<Call> {
    history
        .iter()
        .filter_map(|entry| match &entry.event {
            RunEvent::StepSucceeded {
                step,
                source,
                duration_ms,
                ..
            } => {
                let tool = run.graph().step(step)?.tool()?.clone();
                Some(Call {
                    actions: told_actions(&tool, run.outputs().get(step)),
                    tool,
                    step: step.clone(),
                    source: source.clone(),
                    duration_ms: *duration_ms,
                    at: entry.at,
                })
            }
            _ => None,
        })
        .collect()
}

/// The actions in a built-in tool's output. Others may call a field so, and mean something else.
fn told_actions(tool: &ToolId, output: Option<&Value>) -> Vec<ToldAction> {
    let told = Builtin::of(tool)
        .and(output)
        .and_then(|output| output.get("actions"));
    let told = told.map(Vec::deserialize);
    told.and_then(Result::ok).unwrap_or_default()
}

/// What a summary's placeholders may name.
fn summary_values(run: &Run, findings: &[Finding]) -> Map<String, Value> {
    let mut by_severity: BTreeMap<&str, usize> = BTreeMap::new();
    for finding in findings {
        *by_severity.entry(finding.severity.as_str()).or_default() += 1;
    }
    Map::from_iter([
        ("count".to_owned(), json!(findings.len())),
        ("findings".to_owned(), json!(findings)),
        ("by_severity".to_owned(), json!(by_severity)),
        ("parameters".to_owned(), json!(run.bindings().parameters)),
    ])
}
