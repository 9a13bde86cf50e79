//! Profiles (seed 000 §2.11 `usable_in_profiles`): a caller with a profile may use the agents that list it, and those
//! that list none, with their skills.

use charter_contract::catalogue::DocumentKind;
use charter_contract::catalogue::agent::AgentManifest;
use charter_contract::ids::Label;

use crate::catalogue::View;

/// Returns whether an agent is usable in a profile.
#[must_use]
pub fn admits(agent: &AgentManifest, profile: &Label) -> bool {
    let listed = &agent.composition.usable_in_profiles;
    listed.is_empty() || listed.contains(profile)
}

/// Returns whether a skill or playbook is available in a profile: its agent is usable in it, or it has no agent.
#[must_use]
pub fn serves(view: &View, id: &str, profile: &Label) -> bool {
    let owner = view.owner_of(id);
    owner.is_none_or(|agent| admits(agent.document(), profile))
}

/// Returns the agents in view that are not usable in a profile, with their skills and playbooks.
#[must_use]
pub fn outside(view: &View, profile: &Label) -> Vec<(DocumentKind, String)> {
    let agents: Vec<_> = view
        .agents()
        .filter(|agent| !admits(agent.document(), profile))
        .collect();
    if agents.is_empty() {
        return Vec::new();
    }
    let own = agents
        .iter()
        .map(|agent| (DocumentKind::Agent, agent.document().agent_id.to_string()));
    let skills = view.skills().filter_map(|found| {
        let id = found.document().skill_id.to_string();
        (!serves(view, &id, profile)).then_some((DocumentKind::Skill, id))
    });
    let playbooks = view.playbooks().filter_map(|found| {
        let id = found.document().playbook_id.to_string();
        (!serves(view, &id, profile)).then_some((DocumentKind::Playbook, id))
    });
    own.chain(skills).chain(playbooks).collect()
}

/// Returns whether two agents must not contribute to one answer (000 §2.11 `conflicts_with_agents`). It is sufficient
/// that one of them declares it.
#[must_use]
pub fn conflict(one: &AgentManifest, other: &AgentManifest) -> bool {
    let names = |agent: &AgentManifest, other: &AgentManifest| {
        agent
            .composition
            .conflicts_with_agents
            .contains(&other.agent_id)
    };
    names(one, other) || names(other, one)
}

#[cfg(test)]
mod tests;
