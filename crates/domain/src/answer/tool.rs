//! The analysis as a tool of the catalogue, so that guardrails, policies and the journal treat it like any other call.

use charter_contract::catalogue::tool::{ANALYSIS_TOOL, Tool};
use charter_contract::validate;
use charter_contract::violation::Violation;
use serde_json::json;

/// Returns the tool's document.
///
/// # Errors
/// Violations in the document; a test ensures that there are none.
pub fn analysis_tool() -> Result<Tool, Vec<Violation>> {
    let document = json!({
        "tool_id": ANALYSIS_TOOL,
        "name": "analysis.draft",
        "provider": "charter",
        "service": "analysis",
        "tool_class": "internal",
        "domain": "platform",
        "description": "Lets a language model put the results of a request into words.",
        "parameters": [
            {"name": "question", "type": "string", "required": true, "description": "The request's words."},
            {"name": "tier", "type": "string", "required": false, "description": "The tier of the answer."},
            {"name": "runs", "type": "array", "required": false,
                "description": "The runs whose results are analysed; its own run when absent."},
        ],
        "execution_target": "server",
        "language": "builtin",
        // Repeating a call of the model changes nothing.
        "idempotent": true,
        "implementation": {"type": "analysis"},
    });
    validate::read_value::<Tool>(&document).map(|(tool, _)| tool)
}

#[cfg(test)]
mod tests {
    use charter_contract::catalogue::tool::Implementation;

    use super::*;

    #[test]
    fn the_analysis_is_an_internal_tool_that_keeps_its_contract() {
        let tool = analysis_tool().unwrap();
        assert_eq!(tool.tool_id.as_str(), ANALYSIS_TOOL);
        assert!(tool.is_internal());
        assert_eq!(tool.implementation, Some(Implementation::Analysis {}));
    }
}
