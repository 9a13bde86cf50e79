//! Exact rules over step outputs: filters that emit findings (ruling 51).
//!
//! A filter sees one step's output as `.` and emits one object per finding; [`crate::jq`] has the language.

use std::cmp::Ordering;

use charter_contract::canonical;
use charter_contract::catalogue::skill::{FindingRule, Skill};
use charter_contract::catalogue::vocabulary::Severity;
use charter_contract::finding::Finding;
use charter_contract::hex;
use charter_contract::ids::{FindingId, RuleId};
use charter_contract::text::{ShortText, Text};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

/// Most findings that one rule may emit.
pub const MAX_FINDINGS: usize = 10_000;

/// The rule id of findings that a model stated.
pub const STATED: &str = "stated_by_model";

/// A filter's output that is not a valid finding.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the filter emitted an invalid finding: {0}")]
pub struct NotAFinding(String);

/// Returns the findings that a rule's filter emitted, in the order emitted.
///
/// A finding's id is a function of skill, rule, resource and fields, so the same exposure keeps its id in every run.
///
/// # Errors
/// [`NotAFinding`].
pub fn findings(
    skill: &Skill,
    rule: &FindingRule,
    emitted: Vec<Value>,
) -> Result<Vec<Finding>, NotAFinding> {
    emitted
        .into_iter()
        .map(|emitted| finding(skill, rule, emitted))
        .collect()
}

fn finding(skill: &Skill, rule: &FindingRule, emitted: Value) -> Result<Finding, NotAFinding> {
    let Value::Object(mut fields) = emitted else {
        return Err(NotAFinding(shortened(&emitted)));
    };
    let severity = take_text(&mut fields, "severity")?;
    let severity: Severity = serde_json::from_value(Value::String(severity))
        .map_err(|error| NotAFinding(format!("severity: {error}")))?;
    let resource_type = take_text(&mut fields, "resource_type")?;
    let resource_id = take_text(&mut fields, "resource_id")?;
    let resource = (resource_type.as_str(), resource_id.as_str());
    made(skill, rule.rule_id.clone(), severity, resource, fields)
}

/// Returns a finding that a model states for a skill without rules.
///
/// # Errors
/// [`NotAFinding`].
pub fn stated(
    skill: &Skill,
    severity: Severity,
    resource_type: &str,
    resource_id: &str,
    fields: Map<String, Value>,
) -> Result<Finding, NotAFinding> {
    let rule = RuleId::parse(STATED).map_err(|error| NotAFinding(error.to_string()))?;
    made(skill, rule, severity, (resource_type, resource_id), fields)
}

fn made(
    skill: &Skill,
    rule_id: RuleId,
    severity: Severity,
    (resource_type, resource_id): (&str, &str),
    fields: Map<String, Value>,
) -> Result<Finding, NotAFinding> {
    let resource_type = ShortText::parse(resource_type)
        .map_err(|error| NotAFinding(format!("resource_type: {error}")))?;
    let resource_id =
        Text::parse(resource_id).map_err(|error| NotAFinding(format!("resource_id: {error}")))?;
    let identity = serde_json::json!([skill.skill_id, rule_id, resource_type, resource_id, fields]);
    let digest = Sha256::digest(canonical::text(identity));
    let finding_id = FindingId::parse(&format!("fnd_{}", hex::encode(&digest[..12])))
        .map_err(|error| NotAFinding(error.to_string()))?;
    Ok(Finding {
        finding_id,
        rule_id,
        skill_id: skill.skill_id.clone(),
        severity,
        resource_type,
        resource_id,
        fields,
        evidence_ids: Vec::new(),
        rendered: None,
        expert: None,
    })
}

/// Orders findings by a field that their rules set, in descending order: numbers first, then texts, then findings
/// without the field. The sort is stable.
pub fn order_by<T>(findings: &mut [(Finding, T)], field: &str) {
    findings.sort_by(|(a, _), (b, _)| compare(b.fields.get(field), a.fields.get(field)));
}

fn compare(a: Option<&Value>, b: Option<&Value>) -> Ordering {
    match (a.and_then(Value::as_f64), b.and_then(Value::as_f64)) {
        (Some(a), Some(b)) => a.total_cmp(&b),
        (Some(_), None) => Ordering::Greater,
        (None, Some(_)) => Ordering::Less,
        (None, None) => a.and_then(Value::as_str).cmp(&b.and_then(Value::as_str)),
    }
}

fn take_text(fields: &mut Map<String, Value>, name: &str) -> Result<String, NotAFinding> {
    match fields.remove(name) {
        Some(Value::String(text)) => Ok(text),
        Some(other) => Err(NotAFinding(format!("{name} is {}", shortened(&other)))),
        None => Err(NotAFinding(format!("it has no {name}"))),
    }
}

fn shortened(value: &Value) -> String {
    value.to_string().chars().take(120).collect()
}

#[cfg(test)]
mod tests;
