//! The offline reviewer. It approves supported output unchanged; a draft with contradictions or gaps is approved with
//! those written into it. It proposes each offered write-back for the most serious subjects that fill its payload.

use std::collections::BTreeSet;

use charter_contract::catalogue::vocabulary::Severity;
use charter_contract::foreign_schema::ForeignSchema;
use serde_json::{Map, Value, json};

use super::subjects::{CitedFinding, Subject, same_kind, subjects};
use super::text::{bounded, cut, list, text};

/// Maximum proposals of one write-back: a person decides on each.
const PROPOSED: usize = 3;
/// Maximum characters of an issue.
const ISSUE: usize = 900;

/// Drafts a review.
pub(super) fn draft(context: &Value) -> Value {
    let remarks = |name: &str| -> Vec<String> {
        let remarks = list(context, name).iter();
        remarks.map(|remark| text(remark, "description")).collect()
    };
    let (contradictions, gaps) = (remarks("contradictions"), remarks("coverage_gaps"));
    let mut summary = vec![text(context, "summary")];
    let mut edits = Vec::new();
    if !contradictions.is_empty() {
        edits.push("State where sources disagree.");
        summary.push("Sources disagree:".to_owned());
        summary.extend(contradictions.iter().map(|said| format!("- {said}")));
    }
    if !gaps.is_empty() {
        edits.push("State what is not covered.");
        summary.push("Not covered:".to_owned());
        summary.extend(gaps.iter().map(|said| format!("- {said}")));
    }
    let issues = contradictions.iter().chain(&gaps);
    let issues: Vec<Value> = issues
        .map(|said| json!({"severity": "medium", "message": cut(said, ISSUE)}))
        .take(50)
        .collect();
    let status = if edits.is_empty() {
        "approved"
    } else {
        "approved_with_edits"
    };
    json!({
        "review_status": status,
        "issues": issues,
        "required_edits": edits,
        "approved_output": {
            "summary": bounded(&summary.join("\n")), "claims": context["evidence_matrix"],
            "contradictions": contradictions, "gaps": gaps,
        },
        "proposals": proposals(context),
    })
}

fn proposals(context: &Value) -> Vec<Value> {
    let results = list(context, "results").iter();
    let found = results.flat_map(|result| CitedFinding::all(&result["structured"]));
    let subjects = subjects(found.map(|cited| (cited, None)).collect());
    let mut proposals = Vec::new();
    for offered in list(context, "write_backs") {
        let entity = text(offered, "target_entity_type");
        let of_kind = subjects
            .iter()
            .filter(|subject| same_kind(&subject.kind, &entity));
        let of_kind: Vec<&Subject> = of_kind.collect();
        let named = named_entity(context, &entity).filter(|_| of_kind.is_empty());
        // Harmless findings need no change.
        let serious = of_kind
            .iter()
            .filter(|subject| subject.severity != Severity::Info);
        let targets = serious.map(|subject| (subject.id.clone(), Some(*subject)));
        let targets = targets.chain(named.map(|id| (id, None)));
        let schema = offered["payload_schema"].as_object().cloned();
        let schema = schema.map(ForeignSchema::from);
        let made = targets.filter_map(|(target, subject)| {
            Some(json!({
                "action_type": offered["action_type"], "target_entity_type": entity,
                "target_entity_id": target, "payload": payload(schema.as_ref(), subject, context)?,
            }))
        });
        proposals.extend(made.take(PROPOSED));
    }
    proposals
}

/// Returns the first entity of the mission whose reference is named like the type: `lead_ids`.
fn named_entity(context: &Value, entity: &str) -> Option<String> {
    let refs = context["context_refs"].as_object()?;
    let (_, value) = refs.iter().find(|(name, _)| name.starts_with(entity))?;
    let first = value
        .as_array()
        .map_or(Some(value), |items| items.first())?;
    first.as_str().map(ToOwned::to_owned)
}

/// Returns a payload value from a subject's findings. Prefers the finding with most fields of the payload, then the
/// others; the reason is the text of that finding.
fn found(subject: &Subject, names: &[&str], name: &str) -> Option<Value> {
    let most = subject.most_of(names)?;
    let mut others = subject.findings.iter();
    let field = most
        .value(name)
        .or_else(|| others.find_map(|found| found.value(name)));
    field.cloned().or_else(|| match name {
        "severity" => Some(json!(subject.severity.as_str())),
        "reason" | "summary" => Some(json!(most.statement)),
        _ => None,
    })
}

/// Builds a payload that matches its schema. A value is the schema's only one, else one of that name from the findings
/// or the mission, else the default. `None` if a mandatory value is unknown or does not match.
fn payload(
    declared: Option<&ForeignSchema>,
    subject: Option<&Subject>,
    context: &Value,
) -> Option<Map<String, Value>> {
    let mut payload = Map::new();
    let Some(declared) = declared else {
        return Some(payload);
    };
    let schema = declared.json();
    let required: BTreeSet<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .map_or_else(BTreeSet::new, |names| {
            names.iter().filter_map(Value::as_str).collect()
        });
    let properties = schema.get("properties").and_then(Value::as_object);
    let names: Vec<&str> = properties
        .into_iter()
        .flatten()
        .map(|(name, _)| name.as_str())
        .collect();
    for (name, of) in properties.into_iter().flatten() {
        let only = of.get("const").cloned();
        let found = || subject.and_then(|subject| found(subject, &names, name));
        let given = || Some(context["context_refs"][name].clone()).filter(|given| !given.is_null());
        let default = || of.get("default").cloned();
        match only.or_else(found).or_else(given).or_else(default) {
            Some(value) => {
                payload.insert(name.clone(), value);
            }
            None if required.contains(name.as_str()) => return None,
            None => {}
        }
    }
    let whole = Value::Object(payload.clone());
    declared.violations(&whole).is_empty().then_some(payload)
}
