//! Forms that a person fills in, and the values in their answers.

use charter_contract::ids::Label;
use charter_contract::json::{Profile, decode_text};
use charter_contract::parameter::{Parameter, ParameterType};
use charter_engine::{ParameterView, RunView};
use serde::Deserialize;
use serde_json::{Map, Value, json};

pub(super) const CONFIRM: &str = "confirm";
pub(super) const TYPED: &str = "typed";
pub(super) const APPROVE: &str = "approve";
pub(super) const REASON: &str = "reason";
pub(super) const CHOICE: &str = "choice";

/// One of the candidates that the answer to a request lists.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(in crate::mcp) struct Choice {
    /// `skill` or `playbook`.
    pub(in crate::mcp) kind: String,
    pub(in crate::mcp) id: String,
    title: String,
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

/// A form has flat fields only (elicitation, 2025-11-25): lists and objects are written as JSON.
pub(super) fn fields(missing: &[Parameter]) -> Map<String, Value> {
    let mut properties = Map::new();
    for parameter in missing {
        let mut field = json!({"title": parameter.name, "description": parameter.description});
        let (kind, note) = match parameter.kind {
            ParameterType::String => ("string", ""),
            ParameterType::Number => ("number", ""),
            ParameterType::Integer => ("integer", ""),
            ParameterType::Boolean => ("boolean", ""),
            ParameterType::Array => ("string", " (a JSON array)"),
            ParameterType::Object => ("string", " (a JSON object)"),
        };
        field["type"] = json!(kind);
        field["description"] = json!(format!("{}{note}", parameter.description));
        let texts = parameter
            .allowed
            .as_ref()
            .filter(|values| values.iter().all(Value::is_string));
        if let (Some(allowed), ParameterType::String) = (texts, parameter.kind) {
            field["enum"] = json!(allowed);
        }
        properties.insert(parameter.name.to_string(), field);
    }
    let required: Vec<&str> = missing
        .iter()
        .map(|parameter| parameter.name.as_ref())
        .collect();
    object(json!({"type": "object", "properties": properties, "required": required}))
}

/// The values of a form in the declared types.
pub(in crate::mcp) fn typed_values(
    missing: &[Parameter],
    content: Map<String, Value>,
) -> Map<String, Value> {
    let typed = content.into_iter().map(|(name, value)| {
        let declared = missing
            .iter()
            .find(|parameter| parameter.name.as_ref() == name);
        let as_json = declared.is_some_and(|parameter| {
            matches!(parameter.kind, ParameterType::Array | ParameterType::Object)
        });
        // A value that is not JSON stays text, and is refused as a wrong type with the parameter's name.
        let read = value
            .as_str()
            .filter(|_| as_json)
            .and_then(|text| decode_text(text, Profile::PARAMETER).ok());
        (name, read.unwrap_or(value))
    });
    typed.collect()
}

/// The form of a choice has one field: the chosen kind and id.
pub(super) fn choice(options: &[Choice]) -> Map<String, Value> {
    let values = options
        .iter()
        .map(|option| format!("{} {}", option.kind, option.id));
    let titles = options
        .iter()
        .map(|option| format!("{} ({})", option.title, option.kind));
    let (values, titles): (Vec<String>, Vec<String>) = (values.collect(), titles.collect());
    object(json!({
        "type": "object",
        "properties": {CHOICE: {
            "type": "string", "title": "Which one", "description": "The option",
            "enum": values, "enumNames": titles,
        }},
        "required": [CHOICE],
    }))
}

/// The kinds of documents that a request may mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::mcp) enum Choosable {
    Skill,
    Playbook,
}

/// The choice in a form: its kind, and its id.
pub(in crate::mcp) fn chosen(content: &Map<String, Value>) -> Option<(Choosable, &str)> {
    let (kind, id) = content.get(CHOICE)?.as_str()?.split_once(' ')?;
    let kind = match kind {
        "skill" => Choosable::Skill,
        "playbook" => Choosable::Playbook,
        _ => return None,
    };
    Some((kind, id))
}

pub(super) fn confirmation(typed: Option<&Label>) -> Map<String, Value> {
    let mut properties = json!({
        CONFIRM: {"type": "boolean", "title": "Execute", "description": "Execute exactly this plan"},
    });
    let mut required = vec![CONFIRM];
    if let Some(name) = typed {
        let description = format!("Type the value of {name}: this cannot be undone");
        properties[TYPED] = json!({"type": "string", "title": name, "description": description});
        required.push(TYPED);
    }
    object(json!({"type": "object", "properties": properties, "required": required}))
}

pub(super) fn approval() -> Map<String, Value> {
    object(json!({
        "type": "object",
        "properties": {
            APPROVE: {"type": "boolean", "title": "Approve", "description": "Yes: the call is made. No: it is \
                                                                             rejected permanently"},
            REASON: {"type": "string", "title": "Reason", "description": "The reason; kept with the decision"},
        },
        "required": [APPROVE],
    }))
}

/// Describes a plan, with the arguments of its writes as the plan has them: without four eyes, the confirmation approves
/// the calls.
pub(super) fn plan_of(run: &RunView) -> String {
    let steps = run
        .state
        .steps
        .iter()
        .filter(|step| step.reverses.is_none());
    let lines = steps.map(|step| {
        let tool = step.tool.as_ref().map_or("", AsRef::as_ref);
        let kind = if step.writes { "write" } else { "read" };
        let arguments = run.planned_arguments(&step.step);
        match arguments.filter(|_| step.writes) {
            Some(arguments) => {
                let arguments = Value::Object(arguments.clone());
                format!("- {} ({kind}, {tool} with {arguments})", step.step)
            }
            None => format!("- {} ({kind}, {tool})", step.step),
        }
    });
    let mut lines: Vec<String> = lines.collect();
    let with = Value::Object(run.state.parameters.clone());
    lines.insert(0, format!("{} with {with}", run.summary.title));
    let values = ParameterView::list(&run.state.parameters, &run.state.sources);
    let taken = values.iter().filter(|shown| !shown.is_plain());
    lines.extend(taken.map(|shown| format!("- {}", shown.in_words())));
    lines.join("\n")
}

/// The missing parameters of a run, with the known facts about each.
pub(super) fn with_reasons(missing: Vec<Parameter>, run: &RunView) -> Vec<Parameter> {
    let explained = missing.into_iter().map(|parameter| {
        let unclear = run.state.unclear.get(parameter.name.as_str());
        let proposals = run.proposals.iter();
        let proposals = proposals.filter(|proposed| proposed.parameter == parameter.name);
        let proposals = proposals.map(|proposed| {
            let (title, value) = (&proposed.title, &proposed.value);
            format!("the memory \"{title}\" proposes {value}")
        });
        let notes: Vec<String> = unclear.cloned().into_iter().chain(proposals).collect();
        match notes.as_slice() {
            [] => parameter,
            notes => Parameter {
                description: format!("{} ({})", parameter.description, notes.join("; ")),
                ..parameter
            },
        }
    });
    explained.collect()
}
