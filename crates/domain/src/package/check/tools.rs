//! Warns about arguments of tools that policies cannot look into.

use charter_contract::catalogue::tool::Tool;

use super::super::{Problem, SourceLocation};
use crate::catalogue::View;

/// The maximum number of arguments that a warning names.
const MOST_NAMED: usize = 10;

/// The word by which the Cedar text of a policy reads arguments.
const PARAMETERS: &str = "parameters";

/// Returns a warning for a tool with arguments whose values have no type in Cedar, if a policy over the tool reads
/// arguments. A list of parameters has none.
pub(super) fn opaque(place: &SourceLocation, tool: &Tool, after: &View) -> Option<Problem> {
    let message = unseen(tool)?;
    let policies = after.policies_over(tool.tool_id.as_ref());
    let mut texts = policies
        .iter()
        .flatten()
        .filter_map(|entry| entry.document.cedar.as_ref());
    if !texts.any(|text| text.as_str().contains(PARAMETERS)) {
        return None;
    }
    Some(Problem::at(place, "/input_schema", "policy", message).warning())
}

fn unseen(tool: &Tool) -> Option<String> {
    tool.input_schema.as_ref()?;
    let input = tool.input();
    let mut mixed = Vec::new();
    for parameter in tool.parameters() {
        if let Some(shape) = input.shape(parameter) {
            shape.mixed_below(parameter.name.as_str(), &mut mixed);
        }
    }
    let is_open = input.takes_any_name() || !input.name_patterns().is_empty();
    let named = mixed.iter().take(MOST_NAMED);
    let mut named: Vec<String> = named.map(|path| format!("`{path}`")).collect();
    match mixed.len().checked_sub(MOST_NAMED) {
        Some(more) if more > 0 => named.push(format!("{more} more")),
        Some(_) | None => {}
    }
    let named = named.join(", ");
    match (mixed.is_empty(), is_open) {
        (true, false) => None,
        (false, false) => Some(format!(
            "policies cannot look into {named}: the values have several types"
        )),
        (true, true) => {
            Some("policies do not see arguments that the schema does not describe".to_owned())
        }
        (false, true) => Some(format!(
            "policies cannot look into {named}, because the values have several types, and do not see arguments that \
             the schema does not describe"
        )),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn warning(field: &str, declared: &Value) -> Option<String> {
        let mut tool = json!({
            "tool_id": "a.b", "name": "t", "provider": "p", "tool_class": "readonly", "domain": "d",
            "description": "d", "language": "http",
        });
        tool[field] = declared.clone();
        unseen(&serde_json::from_value(tool).unwrap())
    }

    #[test]
    fn arguments_that_policies_cannot_look_into_are_named() {
        let list = json!([{"name": "a", "type": "string", "other_types": ["array"]}]);
        assert_eq!(warning("parameters", &list), None);
        let plain =
            json!({"properties": {"a": {"type": ["string", "null"]}, "b": {"type": "object"}}});
        assert_eq!(warning("input_schema", &plain), None);
        let mixed = json!({"properties": {"a": {}, "b": {"properties": {"c": {"type": ["string", "array"]}}}}});
        assert_eq!(
            warning("input_schema", &mixed).unwrap(),
            "policies cannot look into `a`, `b.c`: the values have several types"
        );
        let open = json!({"additionalProperties": {"type": "string"}});
        assert_eq!(
            warning("input_schema", &open).unwrap(),
            "policies do not see arguments that the schema does not describe"
        );
    }
}
