//! Templates (seed 000 §2.7): the structure of an output with `{{placeholders}}`. Selection and rendering happen
//! elsewhere.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::vocabulary::{Status, Tier};
use crate::ids::{AgentId, DomainId, Label, SkillId, TemplateId, TenantId};
use crate::placeholder::each_string;
use crate::schema::SchemaName;
use crate::text::Version;
use crate::time::Timestamp;
use crate::validate::Contract;
use crate::violation::Report;

object_only!(Template);

/// A template.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct Template {
    /// Id of the template.
    pub template_id: TemplateId,
    /// Domain of the template; absent for the global default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<DomainId>,
    /// Kind of output that the template renders; must match (B000-14).
    pub output_type: Label,
    /// Skill that the template is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skill_id: Option<SkillId>,
    /// Agent that the template is for (this project; ruling 7).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<AgentId>,
    /// Personas that the template is for (this project); all when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub personas: Vec<Label>,
    /// Lowest tier that may use the template.
    #[serde(default)]
    pub tier: Tier,
    /// Tenant of the template; absent for a global template.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<TenantId>,
    /// Structure of the output, with `{{name}}` in place of values.
    pub structure: Map<String, Value>,
    /// Hints for displaying the output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rendering_hints: Option<Map<String, Value>>,
    /// Status in the catalogue (this project, for templates).
    #[serde(default)]
    pub status: Status,
    /// Version of the document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    /// Time of the first registration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
    /// Time of the last registration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<Timestamp>,
}

/// Checks `{{ name }}`: a dotted name, with optional spaces around it.
fn check_placeholders(text: &str) -> Result<(), String> {
    let mut rest = text;
    while let Some(open) = rest.find("{{") {
        let inner = &rest[open + 2..];
        let close = inner
            .find("}}")
            .ok_or_else(|| "`{{` is not closed".to_owned())?;
        let name = inner[..close].trim();
        let named = name.split('.').all(|part| {
            !part.is_empty()
                && part
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
        });
        if !named {
            return Err(format!(
                "`{{{{{name}}}}}` is not a placeholder: write a name between the braces"
            ));
        }
        rest = &inner[close + 2..];
    }
    Ok(())
}

impl Contract for Template {
    const NAME: SchemaName = SchemaName::Template;

    // Checks that every `{{` opens a placeholder with a name, which the schema cannot express.
    fn check(&self, report: &mut Report) {
        let structure = Value::Object(self.structure.clone());
        each_string(&structure, "/structure", &mut |pointer, text| {
            if let Err(message) = check_placeholders(text) {
                report.meaning(pointer, "placeholder", message);
            }
        });
    }
}
