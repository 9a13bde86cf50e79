//! Guardrails (seed 000 §2.5). The domain crate matches them with effects, decides, and compiles their CEL.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::vocabulary::Status;
use crate::ids::{DomainId, GuardrailId, Label, TenantId};
use crate::schema::SchemaName;
use crate::text::{Text, Version};
use crate::time::Timestamp;
use crate::validate::Contract;
use crate::violation::Report;

object_only!(Guardrail, Exception);

/// A guardrail: a rule over effects.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct Guardrail {
    /// Id of the guardrail.
    pub guardrail_id: GuardrailId,
    /// Domain of the guardrail; absent for a global one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<DomainId>,
    /// Kind of id that `applies_to` is matched against (ruling 6).
    pub scope: GuardrailScope,
    /// Globs on dot segments: `security.*`; at least one.
    #[schemars(length(min = 1, max = crate::list::MAX_LIST))]
    #[serde(deserialize_with = "crate::list::one_or_more")]
    pub applies_to: Vec<Glob>,
    /// Description of the rule.
    pub rule: Text,
    /// Effect of a match.
    pub enforcement: Enforcement,
    /// Message for the user.
    pub message: Text,
    /// Exceptions, evaluated first; if one holds, the effect passes (B000-12).
    #[serde(default)]
    pub exceptions: Vec<Exception>,
    /// CEL condition over the call and its request, or over the request alone for answers without a call (this
    /// project). When absent, the guardrail applies to writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<Text>,
    /// Personas that the guardrail applies to (this project); all when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub personas: Vec<Label>,
    /// Tenant of the guardrail; absent for a global one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<TenantId>,
    /// Whether the guardrail is in force (this project, for guardrails).
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

/// An exception to a guardrail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct Exception {
    /// CEL condition over the effect. A condition that fails at run time exempts nothing.
    pub condition: Text,
    /// Whether the effect passes when the condition holds.
    pub allow: bool,
}

string_enum! {
    /// Level of a guardrail, in resolution order (000 §2.5).
    pub enum GuardrailScope {
        /// One skill.
        Skill = "skill",
        /// One agent.
        Agent = "agent",
        /// One domain.
        Domain = "domain",
        /// Everything.
        Global = "global",
    }
}

string_enum! {
    /// Effect of a matching guardrail, from weakest to strictest.
    pub enum Enforcement {
        /// Adds the message to the output.
        SoftWarn = "soft_warn",
        /// Holds this step until an approver decides.
        RequireApproval = "require_approval",
        /// Blocks the effect and returns the message.
        HardBlock = "hard_block",
    }
}

string_newtype! {
    crate::ids::Shape::pattern(
        |text| {
            !text.is_empty()
                && text.len() <= 200
                && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-' | b'*'))
        },
        "^[A-Za-z0-9._*-]{1,200}$",
        "an id, where `*` matches any part between dots",
    );
    /// An id with `*` wildcards, matched on dot segments (ruling 6).
    Glob,
}

/// The conditions that make a guardrail apply to reads, to answers, or to writes alone.
const BIND_READS: &str = "to bind reads and answers as well, write `when: \"true\"`; to bind reads alone, \
     `when: 'tool.tool_class == \"readonly\"'`; to keep it to writes, `when: 'tool.tool_class == \"write\"'`";

impl Contract for Guardrail {
    const NAME: SchemaName = SchemaName::Guardrail;

    // Checks rules beyond the schema, and warns where a guardrail covers less than it appears to (ruling 30).
    fn check(&self, report: &mut Report) {
        if self.when.is_none() {
            let message = "a guardrail without `when` binds writes only: no read, and no answer without a call";
            report.advise("/enforcement", "when", message.to_owned(), BIND_READS);
        }
        if self.scope == GuardrailScope::Domain && self.domain.is_none() {
            let message = "a guardrail of the scope `domain` names its domain".to_owned();
            report.meaning("/domain", "required", message);
        }
    }
}
