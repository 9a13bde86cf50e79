//! The facts about a run that a rule looks at, by the rule's JSON form.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// A fact about the run that a rule may look at: an attribute of `context.run`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunFact {
    /// The executed document.
    Kind,
    /// Its id.
    Subject,
    /// The mission's own attributes.
    Mission,
    /// Whether a person approved exactly this call.
    Approved,
    /// The users who approved it.
    Approvers,
    /// The number of approvals of the run.
    Approvals,
    /// The calls that it began.
    Calls,
}

/// The attributes of `context.run`, as the schema has them.
const FACTS: [(&str, RunFact); 7] = [
    ("kind", RunFact::Kind),
    ("subject", RunFact::Subject),
    ("mission", RunFact::Mission),
    ("approved", RunFact::Approved),
    ("approvers", RunFact::Approvers),
    ("approvals", RunFact::Approvals),
    ("calls", RunFact::Calls),
];

/// The parts of the run that a rule reads, from its JSON form. Where it takes the run or the whole context in
/// another way than by an attribute, or has no such form, it may look at anything.
pub(super) fn run_facts(written: Option<&Value>) -> Vec<RunFact> {
    let mut facts = BTreeSet::new();
    match written {
        Some(written) => collect(&written["conditions"], &mut facts),
        None => facts.extend(FACTS.map(|(_, fact)| fact)),
    }
    facts.into_iter().collect()
}

/// Cedar's JSON form of policies: `{".": {"left": …, "attr": …}}` reads an attribute, `has` asks for
/// one, `hasTag` and `getTag` read tags, `{"Var": "context"}` is the context.
fn collect(node: &Value, facts: &mut BTreeSet<RunFact>) {
    match node {
        Value::Object(fields) => {
            for operator in [".", "has"] {
                if let Some(read) = fields.get(operator) {
                    let attribute = read["attr"].as_str().unwrap_or_default();
                    if is_run(&read["left"]) {
                        match fact(attribute) {
                            Some(fact) => facts.extend([fact]),
                            None => facts.extend(FACTS.map(|(_, fact)| fact)),
                        }
                        return;
                    }
                    if is_context(&read["left"]) && attribute != "run" {
                        return;
                    }
                }
            }
            for operator in ["hasTag", "getTag"] {
                if let Some(read) = fields.get(operator)
                    && is_run(&read["left"])
                {
                    facts.insert(RunFact::Calls);
                    collect(&read["right"], facts);
                    return;
                }
            }
            if is_context(node) || is_run(node) {
                facts.extend(FACTS.map(|(_, fact)| fact));
                return;
            }
            fields.values().for_each(|field| collect(field, facts));
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, facts)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn fact(attribute: &str) -> Option<RunFact> {
    let known = FACTS.iter().find(|(name, _)| *name == attribute);
    known.map(|(_, fact)| *fact)
}

fn is_context(node: &Value) -> bool {
    node["Var"] == "context"
}

fn is_run(node: &Value) -> bool {
    let read = &node["."];
    is_context(&read["left"]) && read["attr"] == "run"
}
