//! Pins (this project): documents that clients of the Model Context Protocol get as tools of their own. Must not know
//! which clients those are.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{Label, PlaybookId, SkillId};
use crate::text::Text;
use crate::violation::Report;

object_only!(Pin);

/// A document that clients get as a tool of its own: exactly one of `tool`, `skill` and `playbook`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct Pin {
    /// Id of a tool, or a glob over ids: `mcp.files.*`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<Text>,
    /// Id of a skill.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skill: Option<SkillId>,
    /// Id of a playbook.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub playbook: Option<PlaybookId>,
    /// Name of the tool for clients. Without one, a tool of an MCP server has its name on that server, and any other
    /// document has its id. A glob has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Label>,
}

/// The document of a pin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PinSubject<'p> {
    /// One tool, or those of a glob.
    Tool(&'p str),
    /// A skill.
    Skill(&'p SkillId),
    /// A playbook.
    Playbook(&'p PlaybookId),
}

impl Pin {
    /// Returns the document; `None` unless exactly one is named.
    #[must_use]
    pub fn subject(&self) -> Option<PinSubject<'_>> {
        match (&self.tool, &self.skill, &self.playbook) {
            (Some(tool), None, None) => Some(PinSubject::Tool(tool.as_str())),
            (None, Some(skill), None) => Some(PinSubject::Skill(skill)),
            (None, None, Some(playbook)) => Some(PinSubject::Playbook(playbook)),
            _ => None,
        }
    }

    /// Returns what is wrong with the pin; `None` if nothing is.
    #[must_use]
    pub fn fault(&self) -> Option<&'static str> {
        match self.subject() {
            None => Some("exactly one of `tool`, `skill` and `playbook` must be given"),
            Some(PinSubject::Tool(id)) if id.contains('*') && self.name.is_some() => {
                Some("a glob over several tools cannot have one `name`")
            }
            Some(_) => None,
        }
    }

    /// Reports what is wrong with the pin at `pointer`.
    pub(crate) fn check(&self, pointer: &str, report: &mut Report) {
        if let Some(fault) = self.fault() {
            report.meaning(pointer, "pin", fault.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn pin(value: Value) -> Pin {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn a_pin_names_exactly_one_document() {
        let tool = pin(json!({"tool": "mcp.files.*"}));
        assert_eq!(tool.subject(), Some(PinSubject::Tool("mcp.files.*")));
        assert_eq!(tool.fault(), None);
        for wrong in [
            json!({}),
            json!({"tool": "a.b", "skill": "a.c"}),
            json!({"tool": "a.*", "name": "a"}),
        ] {
            assert!(pin(wrong.clone()).fault().is_some(), "{wrong}");
        }
    }
}
