//! Policy decisions (002 §12): the guard plane's explicit word on one subject.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::version::{MissionSchemaVersion, schema_tag};
use crate::ids::{ActorId, Label, MissionId, PolicyDecisionId, TenantId};
use crate::schema::SchemaName;
use crate::text::{ShortText, Text};
use crate::time::Timestamp;
use crate::validate::Contract;
use crate::violation::Report;

object_only!(PolicyDecision);

schema_tag!(PolicyDecisionTag = "policy_decision");

/// One decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct PolicyDecision {
    /// `policy_decision`.
    pub schema_name: PolicyDecisionTag,
    /// Version of this form.
    pub schema_version: MissionSchemaVersion,
    /// The mission.
    pub mission_id: MissionId,
    /// Its tenant; stamped when stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<TenantId>,
    /// Its actor; stamped when stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor_id: Option<ActorId>,
    /// Its own id.
    pub decision_id: PolicyDecisionId,
    /// What kind of question it answers: `tool_scope`.
    pub decision_type: Label,
    /// What it is about: `external_search`.
    pub subject: ShortText,
    /// The answer.
    pub decision: Decision,
    /// The reason.
    pub reason: Text,
    /// When it was made.
    pub created_at: Timestamp,
    /// Who made it.
    pub producer: Label,
}

string_enum! {
    /// An answer (ruling 23); a required approval is a pending proposal instead.
    pub enum Decision {
        /// It may be done.
        Allow = "allow",
        /// It may not.
        Deny = "deny",
    }
}

impl Contract for PolicyDecision {
    const NAME: SchemaName = SchemaName::PolicyDecision;

    fn check(&self, _: &mut Report) {}
}
