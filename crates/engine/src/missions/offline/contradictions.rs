//! Contradictions: different values from the rules of two skills for one field of one subject. Compares only numbers,
//! truth values and single words, because two sentences may differ and mean the same.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::subjects::{FindingText, Subject};

/// Maximum contradictions of a draft.
const MOST: usize = 50;

/// Returns each contradiction, with the results and calls behind it.
pub(super) fn contradictions(subjects: &[Subject]) -> Vec<Value> {
    let all = subjects.iter().flat_map(|subject| {
        let disputed = disputed(subject).into_iter();
        disputed.map(|description| json!({"description": description, "refs": subject.refs}))
    });
    all.take(MOST).collect()
}

fn disputed(subject: &Subject) -> Vec<String> {
    let mut fields: BTreeMap<&str, BTreeMap<&str, BTreeSet<String>>> = BTreeMap::new();
    for FindingText { finding, .. } in &subject.findings {
        for (name, value) in &finding.fields {
            if let Some(plain) = plain(value) {
                let said = fields.entry(name).or_default();
                said.entry(finding.skill_id.as_str())
                    .or_default()
                    .insert(plain);
            }
        }
    }
    let disputed = fields.into_iter().filter_map(|(name, said)| {
        let one = |values: &BTreeSet<String>| values.first().filter(|_| values.len() == 1).cloned();
        let said: Vec<(&str, String)> = said
            .iter()
            .filter_map(|(skill, values)| Some((*skill, one(values)?)))
            .collect();
        let values: BTreeSet<&String> = said.iter().map(|(_, value)| value).collect();
        (values.len() > 1).then(|| {
            let said = said
                .iter()
                .map(|(skill, value)| format!("{value} by {skill}"));
            let said: Vec<String> = said.collect();
            let name = name.replace('_', " ");
            format!(
                "{}: the {name} is {}.",
                subject.label(),
                said.join(", and ")
            )
        })
    });
    disputed.collect()
}

/// Returns a value that can be compared.
fn plain(value: &Value) -> Option<String> {
    match value {
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(truth) => Some(truth.to_string()),
        Value::String(word) if !word.is_empty() && !word.contains(char::is_whitespace) => {
            Some(word.clone())
        }
        Value::String(_) | Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}
