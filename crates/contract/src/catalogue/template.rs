//! Templates (seed 000 §2.7): the shape of an output with `{{placeholders}}`.
//! Choosing and rendering one happens elsewhere.

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
    /// Its id.
    pub template_id: TemplateId,
    /// The domain it is for; absent for the global default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<DomainId>,
    /// The kind of output it renders; must match (B000-14).
    pub output_type: Label,
    /// The skill it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skill_id: Option<SkillId>,
    /// The agent it is for (this project; ruling 7).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<AgentId>,
    /// The personas that it is for (this project); for every persona when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub personas: Vec<Label>,
    /// The tier from which it may be used.
    #[serde(default)]
    pub tier: Tier,
    /// Its tenant; absent for a global template.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<TenantId>,
    /// The output, with `{{name}}` where a value goes.
    pub structure: Map<String, Value>,
    /// Advice to whoever shows the output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rendering_hints: Option<Map<String, Value>>,
    /// Whether it is offered (this project, for templates).
    #[serde(default)]
    pub status: Status,
    /// Its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    /// When it was first registered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
    /// When it was last registered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<Timestamp>,
}

/// `{{ name }}`: a dotted name, with spaces around it allowed.
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

    // Checks what the schema cannot say: every `{{` opens a placeholder with a name.
    fn check(&self, report: &mut Report) {
        let structure = Value::Object(self.structure.clone());
        each_string(&structure, "/structure", &mut |pointer, text| {
            if let Err(message) = check_placeholders(text) {
                report.meaning(pointer, "placeholder", message);
            }
        });
    }
}
