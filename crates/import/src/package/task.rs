//! The targets of requests: a skill for an operation that reads, a playbook for one that writes.

use std::collections::BTreeSet;

use charter_contract::catalogue::tool::HttpMethod;
use charter_contract::parameter::ParameterType;
use serde_json::{Map, Value, json};

use super::names::NamedOperation;
use super::tool::{description, placeholder};
use super::undo::Reversal;
use super::{PackageIds, STEP};
use crate::api::{Argument, ArgumentLocation};
use crate::schema::value_types;
use crate::text::{first_sentence, shortened, unpunctuated, words};

/// Optional parameters of a skill or playbook. A call of the tool can have all its arguments.
const MAX_OPTIONAL: usize = 40;
/// Longest example of a request, in characters.
const EXAMPLE: usize = 120;
/// Longest description of a parameter, in characters.
const PARAMETER: usize = 200;
/// Time limit of a playbook's run, in seconds.
const EXECUTION_TIMEOUT: u32 = 120;

/// Returns the skill of an operation that reads.
pub(super) fn skill(ids: &PackageIds, named: &NamedOperation<'_>) -> Value {
    let described: Vec<&Argument> = described_arguments(named).collect();
    let parameters = described.iter().map(|argument| parameter(argument));
    json!({
        "skill_id": ids.task(named),
        "name": named.name,
        "domain": ids.domain,
        "tier": "basic",
        "status": "active",
        "display_name": named.title,
        "description": description(named),
        "purpose": named.title,
        "capabilities": [named.title],
        "context": { "supported_context_types": [ids.context_type(&named.group)] },
        "output_type": "finding",
        "examples": examples(named),
        "parameters": parameters.collect::<Vec<_>>(),
        "execution_plan": { "steps": [{
            "step_id": STEP,
            "type": "readonly",
            "tool_id": ids.tool(named),
            "description": named.title,
            "parameters": passed_on(&described),
        }] },
    })
}

/// Returns the playbook of an operation that writes.
pub(super) fn playbook(
    ids: &PackageIds,
    named: &NamedOperation<'_>,
    reversal: Option<&Reversal>,
) -> Value {
    let described: Vec<&Argument> = described_arguments(named).collect();
    let of = |required: bool| -> Vec<Value> {
        let listed = described
            .iter()
            .filter(|argument| argument.required == required);
        listed.map(|argument| parameter(argument)).collect()
    };
    let mut document = json!({
        "playbook_id": ids.task(named),
        "name": named.title,
        "domain": ids.domain,
        "tier": "basic",
        "status": "active",
        "trigger_conditions": [named.title],
        "examples": examples(named),
        "mandatory_parameters": of(true),
        "optional_parameters": of(false),
        "steps": [{
            "step_id": STEP,
            "name": named.title,
            "type": "write",
            "tool_id": ids.tool(named),
            "on_failure": "stop",
            "parameters": passed_on(&described),
        }],
        "rollback_support": reversal.is_some(),
    });
    if let Some(reversal) = reversal {
        document["rollback_steps"] = json!([{
            "step_id": "undo",
            "reverses": STEP,
            "tool_id": reversal.tool,
            "parameters": reversal.parameters,
        }]);
    }
    document["safety"] = safety(named, reversal);
    document["execution_timeout"] = EXECUTION_TIMEOUT.into();
    document
}

/// A deletion without a way back is destructive if it names what it deletes.
fn safety(named: &NamedOperation<'_>, reversal: Option<&Reversal>) -> Value {
    let mut arguments = named.operation.arguments.iter();
    let target = arguments.rfind(|argument| argument.location == ArgumentLocation::Path);
    match target {
        Some(target) if named.operation.method == HttpMethod::Delete && reversal.is_none() => {
            json!({ "safety_class": "destructive", "resource_parameter": target.name })
        }
        Some(_) | None => json!({ "safety_class": "supervised" }),
    }
}

/// Returns sentences that ask for an operation, as its author describes it.
pub(super) fn examples(named: &NamedOperation<'_>) -> Vec<String> {
    let operation = named.operation;
    let sentence = first_sentence(&operation.description, EXAMPLE);
    let id = operation
        .operation_id
        .as_deref()
        .map(words)
        .unwrap_or_default();
    let id = if id.len() > 1 {
        id.join(" ")
    } else {
        String::new()
    };
    let texts = [
        shortened(&named.title, EXAMPLE),
        unpunctuated(&sentence).to_owned(),
        id,
    ];
    let mut seen = BTreeSet::new();
    let texts = texts
        .into_iter()
        .filter(|text| !text.is_empty() && !text.ends_with('…'));
    let mut unique: Vec<String> = texts
        .filter(|text| seen.insert(text.to_lowercase()))
        .collect();
    if unique.is_empty() {
        unique.push(operation.heading());
    }
    unique
}

/// Returns the arguments that a request may give values for: all required ones, and optional ones of a simple form.
fn described_arguments<'a>(named: &NamedOperation<'a>) -> impl Iterator<Item = &'a Argument> {
    let mut optional = 0;
    let arguments = named.operation.arguments.iter();
    arguments.filter(move |argument| {
        if argument.required {
            return true;
        }
        let is_simple = !matches!(value_types(&argument.schema).as_slice(), [] | ["object"]);
        let writes = matches!(
            argument.location,
            ArgumentLocation::BodyField | ArgumentLocation::Body
        );
        optional += usize::from(is_simple || writes);
        (is_simple || writes) && optional <= MAX_OPTIONAL
    })
}

/// Returns the arguments of the step: each is the parameter of its name.
fn passed_on(arguments: &[&Argument]) -> Map<String, Value> {
    let passed = arguments.iter().map(|argument| {
        let value = placeholder(&argument.name);
        (argument.name.clone(), Value::from(value))
    });
    passed.collect()
}

/// Returns the declaration of a parameter for an argument.
fn parameter(argument: &Argument) -> Value {
    let schema = &argument.schema;
    let types = value_types(schema);
    let mut types: Vec<&str> = types
        .into_iter()
        .filter(|name| name.parse::<ParameterType>().is_ok())
        .collect();
    if types.is_empty() {
        types = vec!["string", "number", "boolean", "array", "object"];
    }
    let mut declared = json!({ "name": argument.name, "type": types[0] });
    if types.len() > 1 {
        declared["other_types"] = json!(types[1..]);
    }
    declared["required"] = argument.required.into();
    let description = schema.get("description").and_then(Value::as_str);
    declared["description"] = match description {
        Some(description) => shortened(description, PARAMETER).into(),
        None => words(&argument.wire_name).join(" ").into(),
    };
    let fits = |value: &Value| {
        let mut kinds = types
            .iter()
            .filter_map(|name| name.parse::<ParameterType>().ok());
        kinds.any(|kind| kind.fits(value))
    };
    let allowed = schema.get("enum").and_then(Value::as_array);
    let allowed: Option<Vec<&Value>> =
        allowed.map(|allowed| allowed.iter().filter(|value| fits(value)).collect());
    let allowed = allowed.filter(|allowed| !allowed.is_empty());
    let admits = |value: &&Value| {
        fits(value)
            && allowed
                .as_ref()
                .is_none_or(|allowed| allowed.contains(value))
    };
    let examples = schema.get("examples").and_then(|examples| examples.get(0));
    if let Some(example) = examples.filter(admits) {
        declared["example"] = example.clone();
    }
    if let Some(default) = schema.get("default").filter(admits) {
        declared["default"] = default.clone();
    }
    if let Some(allowed) = &allowed {
        declared["enum"] = json!(allowed);
    }
    declared
}
