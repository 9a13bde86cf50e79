//! Agents of the registry (seed 000 §2.11). They ground generation on a miss; requests do not search them.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::pin::Pin;
use super::vocabulary::{Status, Tier};
use crate::ids::{AgentId, DomainId, Label, SkillId, TenantId};
use crate::number::Vector;
use crate::schema::SchemaName;
use crate::text::{Text, Version};
use crate::time::Timestamp;
use crate::validate::Contract;
use crate::violation::Report;

object_only!(AgentManifest, Composition);

/// The manifest of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct AgentManifest {
    /// Id of the agent, e.g. `domain.security.exposure`.
    pub agent_id: AgentId,
    /// Short name.
    pub name: Label,
    /// Display name.
    pub display_name: Text,
    /// Type of the agent: `domain`.
    pub agent_type: Label,
    /// Domain that the agent belongs to.
    pub domain: DomainId,
    /// Tiers that the agent supports.
    #[serde(default)]
    pub tier_support: Vec<Tier>,
    /// Status in the catalogue.
    #[serde(default)]
    pub status: Status,
    /// Tenant of the agent; absent for a global agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<TenantId>,
    /// Capabilities, one line each; embedded.
    #[serde(default)]
    pub capabilities: Vec<Text>,
    /// Embedding of the capabilities, if the document includes one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capabilities_embedding: Option<Vector>,
    /// Context types, derived on registration: the union over the agent's skills (B000-8).
    #[serde(default)]
    pub supported_context_types: Vec<Label>,
    /// Skills of the agent.
    #[serde(default)]
    pub skill_refs: Vec<SkillId>,
    /// Compatibility with profiles and other agents.
    #[serde(default)]
    pub composition: Composition,
    /// Documents that clients of the Model Context Protocol get as tools of their own, in tenants that allow it (this
    /// project).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pinned: Vec<Pin>,
    /// Version of the document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    /// Time of the first registration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
    /// Time of the last registration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<Timestamp>,
    /// Embedding of the document, if it includes one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub embedding: Option<Vector>,
}

/// Compatibility of an agent with profiles and other agents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
#[derive(Default)]
pub struct Composition {
    /// Profiles that may use the agent; every profile when empty.
    #[serde(default)]
    pub usable_in_profiles: Vec<Label>,
    /// Compatible agents.
    #[serde(default)]
    pub compatible_agents: Vec<AgentId>,
    /// Agents that it must not be combined with.
    #[serde(default)]
    pub conflicts_with_agents: Vec<AgentId>,
}

impl Contract for AgentManifest {
    const NAME: SchemaName = SchemaName::Agent;

    // Checks the rules that the schema cannot express.
    fn check(&self, report: &mut Report) {
        let mut seen = BTreeSet::new();
        for (at, skill) in self.skill_refs.iter().enumerate() {
            if !seen.insert(skill) {
                let message = format!("the skill `{skill}` is listed twice");
                report.meaning(format!("/skill_refs/{at}"), "unique", message);
            }
        }
        for (at, pin) in self.pinned.iter().enumerate() {
            pin.check(&format!("/pinned/{at}"), report);
        }
        let Composition {
            compatible_agents,
            conflicts_with_agents,
            ..
        } = &self.composition;
        let compatible: BTreeSet<&AgentId> = compatible_agents.iter().collect();
        for (at, agent) in conflicts_with_agents.iter().enumerate() {
            let here = format!("/composition/conflicts_with_agents/{at}");
            if *agent == self.agent_id {
                report.meaning(here, "self", "an agent conflicts with itself".to_owned());
            } else if compatible.contains(agent) {
                let message = format!("`{agent}` is listed as both compatible and conflicting");
                report.consistency(here, "composition", message);
            }
        }
    }
}
