//! Warns about arguments of tools that policies cannot look into.

use charter_contract::catalogue::tool::Tool;

use super::super::{Problem, SourceLocation};

/// The maximum number of arguments that a warning names.
const MOST_NAMED: usize = 10;

/// Returns a warning for a tool with arguments whose values have no type in Cedar. A list of parameters has none.
pub(super) fn opaque(place: &SourceLocation, tool: &Tool) -> Option<Problem> {
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
    let message = match (mixed.is_empty(), is_open) {
        (true, false) => return None,
        (false, false) => {
            format!("policies cannot look into {named}: the values have several types")
        }
        (true, true) => {
            "policies do not see arguments that the schema does not describe".to_owned()
        }
        (false, true) => format!(
            "policies cannot look into {named}, because the values have several types, and do not see arguments that \
             the schema does not describe"
        ),
    };
    Some(Problem::at(place, "/input_schema", "policy", message).warning())
}
