//! Guardrails (seed 000 §2.5). Which ones match an effect, and what they decide,
//! is the domain's business; CEL is compiled there too.

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
    /// Its id.
    pub guardrail_id: GuardrailId,
    /// The domain it belongs to; absent for a global one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<DomainId>,
    /// What `applies_to` is matched against (ruling 6).
    pub scope: GuardrailScope,
    /// Globs on dot segments: `security.*`.
    #[schemars(length(min = 1, max = crate::list::MAX_LIST))]
    #[serde(deserialize_with = "crate::list::one_or_more")]
    pub applies_to: Vec<Glob>,
    /// The rule, in words.
    pub rule: Text,
    /// What a match does.
    pub enforcement: Enforcement,
    /// What the user is told.
    pub message: Text,
    /// Evaluated first; one that holds lets the effect pass (B000-12).
    #[serde(default)]
    pub exceptions: Vec<Exception>,
    /// CEL over the call and the request that it is for, or over the request alone, for answers without a call (this
    /// project). Absent: the guardrail applies to writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<Text>,
    /// The personas that it is for (this project); for every persona when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub personas: Vec<Label>,
    /// Its tenant; absent for a global one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<TenantId>,
    /// Whether it is in force (this project, for guardrails).
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

/// An exception to a guardrail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct Exception {
    /// CEL over the effect. One that fails at run time grants nothing.
    pub condition: Text,
    /// Whether the effect passes when the condition holds.
    pub allow: bool,
}

string_enum! {
    /// The level of a guardrail, in the order in which they are resolved (000 §2.5).
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
    /// What a matching guardrail does, from the weakest to the strictest.
    pub enum Enforcement {
        /// The message is added to the output.
        SoftWarn = "soft_warn",
        /// Exactly this step waits for a person.
        RequireApproval = "require_approval",
        /// Nothing is done; the message is returned.
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
    /// An id with `*`, matched on dot segments (ruling 6).
    Glob,
}

/// The conditions by which a guardrail binds reads, answers, or writes alone.
const BIND_READS: &str = "to bind reads and answers as well, write `when: \"true\"`; to bind reads alone, \
     `when: 'tool.tool_class == \"readonly\"'`; to keep it to writes, `when: 'tool.tool_class == \"write\"'`";

impl Contract for Guardrail {
    const NAME: SchemaName = SchemaName::Guardrail;

    // Checks beyond the schema, and warns where a rule covers less than it seems to (ruling 30).
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
