//! From a run's results to findings, rendered by templates. Must not know runs, nor the evidence of results.

use std::collections::BTreeMap;
use std::sync::Arc;

use charter_contract::catalogue::skill::Skill;
use charter_contract::catalogue::template::Template;
use charter_contract::error_code::ErrorCode;
use charter_contract::finding::Finding;
use charter_contract::ids::{EvidenceId, StepId, TenantId};
use charter_domain::analysis::{self, MAX_FINDINGS};
use charter_domain::answer::AnalysisResult;
use charter_domain::catalogue::ResolvedDocument;
use charter_domain::guardrail::RequestTags;
use charter_domain::run::Run;
use charter_domain::template::{self, TemplateLookup};
use serde_json::{Map, Value, json};

use crate::EngineError;
use crate::catalogue::live::CatalogueService;
use crate::ground::confined::{Computations, fill_in_here};
use crate::knowledge::expert_graph::ExpertGraphService;

/// Maximum template failures that an answer lists; each finding may have its own.
const TEMPLATE_WARNINGS: usize = 20;

/// Maximum findings without evidence that a warning names.
const UNPROVEN_NAMED: usize = 5;

/// The findings in the results of runs.
pub(crate) struct FindingService {
    catalogue: Arc<CatalogueService>,
    expert_graph: Arc<ExpertGraphService>,
    computations: Arc<Computations>,
}

impl FindingService {
    pub(crate) fn new(
        catalogue: Arc<CatalogueService>,
        expert_graph: Arc<ExpertGraphService>,
        computations: Arc<Computations>,
    ) -> Self {
        Self {
            catalogue,
            expert_graph,
            computations,
        }
    }

    /// Returns the findings of the skill's rules in a run's outputs, each with its step, in the order of the answer.
    pub(crate) async fn of_run(
        &self,
        tenant: &TenantId,
        tags: &RequestTags,
        skill: &Skill,
        run: &Run,
    ) -> Result<Vec<(Finding, StepId)>, EngineError> {
        let mut findings = self.found(tenant, skill, run).await?;
        self.arrange(tenant, tags, skill, &mut findings);
        Ok(findings)
    }

    /// On the advanced tier, adds data of the expert graph to a skill's findings.
    pub(crate) fn relate(
        &self,
        tenant: &TenantId,
        tags: &RequestTags,
        skill: &Skill,
        findings: &mut [Finding],
    ) {
        self.expert_graph
            .relate(tenant, tags.tier, &skill.domain, findings);
    }

    /// Returns findings with the step of each, most severe first.
    async fn found(
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
            // A step that was skipped or failed has no output.
            let Some(output) = run
                .outputs()
                .get(step)
                .filter(|_| !looked_at.contains(&step))
            else {
                continue;
            };
            looked_at.push(step);
            let findings = self.in_output(tenant, skill, step, output).await?;
            found.extend(findings.into_iter().map(|finding| (finding, step.clone())));
        }
        found.sort_by(|(a, _), (b, _)| {
            let key = |f: &Finding| (f.severity, f.resource_id.to_string(), f.finding_id.clone());
            key(a).cmp(&key(b))
        });
        found.dedup_by(|(a, _), (b, _)| a.finding_id == b.finding_id);
        Ok(found)
    }

    /// Sorts findings by the field that the skill's template names, if it names one.
    fn arrange(
        &self,
        tenant: &TenantId,
        tags: &RequestTags,
        skill: &Skill,
        findings: &mut [(Finding, StepId)],
    ) {
        let template = self.template(tenant, tags, skill);
        let field = template
            .as_ref()
            .and_then(|found| template::sort_field(found.document()));
        if let Some(field) = field {
            analysis::order_by(findings, field);
        }
    }

    /// Returns the findings of the skill's rules in the output of one step of its plan.
    pub(crate) async fn in_output(
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
                .computations
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

    /// Renders every finding, and returns the failures as text. `proof` replaces the evidence of findings that have
    /// none yet, and `drafted` has values of a model for fields without a rule's value.
    ///
    /// # Errors
    /// `unavailable` if the engine stops first. A failure of a template is a warning.
    pub(crate) async fn render(
        &self,
        tenant: &TenantId,
        tags: &RequestTags,
        skill: &Skill,
        findings: &mut [Finding],
        proof: Option<&str>,
        drafted: Option<&AnalysisResult>,
    ) -> Result<Vec<String>, EngineError> {
        if findings.is_empty() {
            return Ok(Vec::new());
        }
        let Some(template) = self.template(tenant, tags, skill) else {
            return Ok(vec![format!(
                "there is no template for `{}`; findings are not rendered",
                skill.output_type
            )]);
        };
        let template = template.document();
        let what = format!("the template `{}`", template.template_id);
        let structure = Value::Object(template.structure.clone());
        let all = findings.iter();
        let all = all.map(|finding| values(finding, proof, drafted));
        let rendered = match fill_in_here(&what, &structure, all) {
            Some(rendered) => rendered,
            None => {
                let all = findings.iter();
                let all = all.map(|finding| values(finding, proof, drafted));
                let all = all.collect();
                self.computations
                    .evaluate(tenant, &what, &structure, all)
                    .await?
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

    /// Returns the template of a skill's findings, for the persona and tier of the request.
    pub(crate) fn template(
        &self,
        tenant: &TenantId,
        tags: &RequestTags,
        skill: &Skill,
    ) -> Option<ResolvedDocument<Template>> {
        let view = self.catalogue.live().view(tenant);
        let agent = view.owner_of(skill.skill_id.as_ref());
        let wanted = TemplateLookup {
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

    /// Returns the summary of a skill's findings, if it has one. A summary that cannot be filled in is a warning.
    pub(crate) async fn summarise(
        &self,
        tenant: &TenantId,
        skill: &Skill,
        parameters: &Map<String, Value>,
        findings: &[Finding],
        warnings: &mut Vec<String>,
    ) -> Result<Option<String>, EngineError> {
        let summary = skill.analysis.as_ref();
        let Some(summary) = summary.and_then(|analysis| analysis.summary.clone()) else {
            return Ok(None);
        };
        let what = format!("the summary of `{}`", skill.skill_id);
        let values = summary_values(parameters, findings);
        let summary = Value::String(summary);
        Ok(
            match self
                .computations
                .fill_in(tenant, &what, &summary, values)
                .await?
            {
                Ok(Value::String(text)) => Some(text),
                Ok(other) => Some(other.to_string()),
                Err(warning) => {
                    warnings.push(warning);
                    None
                }
            },
        )
    }
}

/// Returns the values of a template's placeholders: the rule's own fields, the common fields of findings, and a model's
/// values for the rest.
pub(crate) fn values(
    finding: &Finding,
    proof: Option<&str>,
    drafted: Option<&AnalysisResult>,
) -> Map<String, Value> {
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
    let given = drafted.and_then(|drafted| drafted.values.get(&finding.finding_id));
    for (name, value) in given.into_iter().flatten() {
        values.entry(name).or_insert_with(|| json!(value));
    }
    values
}

/// Returns the warning that some findings have no evidence, if any have none.
pub(crate) fn unproven(findings: &[Finding]) -> Option<String> {
    let unproven = findings.iter().filter(|one| one.evidence_ids.is_empty());
    let unproven: Vec<String> = unproven
        .map(|one| format!("{} {}", one.resource_type, one.resource_id))
        .collect();
    let more = match unproven.len() {
        0 => return None,
        count => count.saturating_sub(UNPROVEN_NAMED),
    };
    let named = unproven.get(..UNPROVEN_NAMED).unwrap_or(&unproven);
    let more = match more {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    Some(format!(
        "{} finding(s) without evidence: {}{more}",
        unproven.len(),
        named.join(", ")
    ))
}

/// Returns the values for the placeholders of a summary.
fn summary_values(parameters: &Map<String, Value>, findings: &[Finding]) -> Map<String, Value> {
    let mut by_severity: BTreeMap<&str, usize> = BTreeMap::new();
    for finding in findings {
        *by_severity.entry(finding.severity.as_str()).or_default() += 1;
    }
    Map::from_iter([
        ("count".to_owned(), json!(findings.len())),
        ("findings".to_owned(), json!(findings)),
        ("by_severity".to_owned(), json!(by_severity)),
        ("parameters".to_owned(), json!(parameters)),
    ])
}
