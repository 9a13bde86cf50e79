//! How a write is previewed before a person decides on it. Nothing here calls a tool.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Implementation, Tool, ToolClass};
use crate::ids::ToolId;
use crate::parameter::ParameterType;
use crate::violation::Report;

object_only!(ToolPreview);

/// The parameter by which a tool declares that it supports dry runs.
pub const DRY_RUN: &str = "dry_run";

/// The preview of a write (this project): the calls that show the present state and the state after.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct ToolPreview {
    /// Readonly tool that computes what the write would change, called with those of its arguments that the tool
    /// declares. When absent, the write itself is called with `dry_run: true`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<ToolId>,
    /// Readonly tool that reads the present state, called likewise. When absent, the result of the preview holds both
    /// states, in fields named `before` and `after` or with names that end so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub present: Option<ToolId>,
}

impl Tool {
    /// Whether the tool supports dry runs: it declares the parameter `dry_run` and changes nothing when that is true.
    /// The declaration of an MCP server is not trusted for this.
    #[must_use]
    pub fn supports_dry_run(&self) -> bool {
        if let Some(Implementation::Mcp { .. }) = &self.implementation {
            return false;
        }
        let mut declared = self.parameters().iter();
        declared.any(|p| p.name.as_ref() == DRY_RUN && p.kind == ParameterType::Boolean)
    }

    /// Checks that the preview of a write can be made without the write.
    pub(super) fn check_preview(&self, report: &mut Report) {
        let Some(preview) = &self.preview else {
            return;
        };
        if self.tool_class != ToolClass::Write {
            let message = format!("`{}` changes nothing, so it has no preview", self.tool_id);
            report.meaning("/preview", "readonly", message);
        }
        if preview.tool.is_none() && !self.supports_dry_run() {
            let message = "without `tool`, the tool needs a boolean parameter `dry_run`".to_owned();
            report.consistency("/preview", "dry_run", message);
        }
        for (field, tool) in [("tool", &preview.tool), ("present", &preview.present)] {
            if tool.as_ref() == Some(&self.tool_id) {
                let message = "a write cannot preview itself: name a readonly tool".to_owned();
                report.consistency(format!("/preview/{field}"), "readonly", message);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::validate::parse;

    fn checked(with: &[(&str, Value)]) -> Vec<String> {
        let mut tool = json!({
            "tool_id": "site.purge", "name": "purge", "provider": "site", "tool_class": "write", "domain": "site",
            "description": "Purges a zone.", "language": "python", "execution_target": "server",
            "parameters": [{"name": "dry_run", "type": "boolean", "description": "Change nothing."}],
            "preview": {},
            "implementation": {"type": "script", "body": "print(1)"},
        });
        for (field, value) in with {
            tool[*field] = value.clone();
        }
        let parsed = parse::<Tool>(tool.to_string().as_bytes());
        let violations = parsed.err().unwrap_or_default().into_iter();
        violations.map(|violation| violation.pointer).collect()
    }

    #[test]
    fn a_preview_is_a_dry_run_or_a_readonly_twin() {
        assert_eq!(checked(&[]), Vec::<String>::new());
        let none = ("parameters", json!([]));
        assert_eq!(checked(std::slice::from_ref(&none)), ["/preview"]);
        let twin = (
            "preview",
            json!({"tool": "site.would_purge", "present": "site.show"}),
        );
        assert_eq!(checked(&[none, twin]), Vec::<String>::new());
        let own = ("preview", json!({"tool": "site.purge"}));
        assert_eq!(checked(&[own]), ["/preview/tool"]);
    }

    #[test]
    fn only_a_write_has_a_preview() {
        assert_eq!(checked(&[("tool_class", json!("readonly"))]), ["/preview"]);
    }
}
