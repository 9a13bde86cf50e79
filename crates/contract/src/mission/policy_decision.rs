//! Policy decisions (002 §12): the guard plane's explicit decision on one subject.

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

/// One policy decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct PolicyDecision {
    /// Always `policy_decision`.
    pub schema_name: PolicyDecisionTag,
    /// Version of this form.
    pub schema_version: MissionSchemaVersion,
    /// Id of the mission.
    pub mission_id: MissionId,
    /// Tenant of the mission; set on storage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<TenantId>,
    /// Actor of the mission; set on storage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor_id: Option<ActorId>,
    /// Id of the decision.
    pub decision_id: PolicyDecisionId,
    /// Type of the decision: `tool_scope`.
    pub decision_type: Label,
    /// Subject of the decision: `external_search`.
    pub subject: ShortText,
    /// Outcome.
    pub decision: Decision,
    /// The reason.
    pub reason: Text,
    /// Creation time.
    pub created_at: Timestamp,
    /// Producer of the artifact.
    pub producer: Label,
}

string_enum! {
    /// Outcome of a policy decision (ruling 23); a required approval is a pending proposal instead.
    pub enum Decision {
        /// The subject is permitted.
        Allow = "allow",
        /// The subject is denied.
        Deny = "deny",
    }
}

impl Contract for PolicyDecision {
    const NAME: SchemaName = SchemaName::PolicyDecision;

    fn check(&self, _: &mut Report) {}
}
