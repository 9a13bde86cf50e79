//! Agents of the registry (seed 000 §2.11). They ground generation on a miss; they
//! are not searched on every request.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::vocabulary::{Status, Tier};
use crate::ids::{AgentId, DomainId, Label, SkillId, TenantId};
use crate::number::Vector;
use crate::schema::SchemaName;
use crate::text::{Text, Version};
use crate::time::Timestamp;
use crate::validate::Contract;
use crate::violation::Report;

object_only!(AgentManifest, Composition);

/// An agent's manifest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct AgentManifest {
    /// Its id, e.g. `domain.security.exposure`.
    pub agent_id: AgentId,
    /// Its short name.
    pub name: Label,
    /// Its name for people.
    pub display_name: Text,
    /// What kind of agent it is: `domain`.
    pub agent_type: Label,
    /// The domain it belongs to.
    pub domain: DomainId,
    /// The tiers it serves.
    #[serde(default)]
    pub tier_support: Vec<Tier>,
    /// Whether it is offered.
    #[serde(default)]
    pub status: Status,
    /// Its tenant; absent for a global agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<TenantId>,
    /// What it can do, one line each; embedded.
    #[serde(default)]
    pub capabilities: Vec<Text>,
    /// The vector of its capabilities, when the document carries one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capabilities_embedding: Option<Vector>,
    /// Derived on registration: the union over its skills (B000-8).
    #[serde(default)]
    pub supported_context_types: Vec<Label>,
    /// Its skills.
    #[serde(default)]
    pub skill_refs: Vec<SkillId>,
    /// How it goes together with others.
    #[serde(default)]
    pub composition: Composition,
    /// Its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    /// When it was first registered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
    /// When it was last registered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<Timestamp>,
    /// Its vector, when the document carries one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub embedding: Option<Vector>,
}

/// How an agent goes together with others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
#[derive(Default)]
pub struct Composition {
    /// Profiles that may use it.
    #[serde(default)]
    pub usable_in_profiles: Vec<Label>,
    /// Agents it works with.
    #[serde(default)]
    pub compatible_agents: Vec<AgentId>,
    /// Agents it must not meet.
    #[serde(default)]
    pub conflicts_with_agents: Vec<AgentId>,
}

impl Contract for AgentManifest {
    const NAME: SchemaName = SchemaName::Agent;

    // Checks what the schema cannot say.
    fn check(&self, report: &mut Report) {
        let mut seen = BTreeSet::new();
        for (at, skill) in self.skill_refs.iter().enumerate() {
            if !seen.insert(skill) {
                let message = format!("the skill `{skill}` is listed twice");
                report.meaning(format!("/skill_refs/{at}"), "unique", message);
            }
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
