//! The minimum tier of a document (seed 000 `tier` and `tier_support`, ruling 32).
//!
//! A tier includes the lower ones: a caller may use every tier up to its own. An agent limits its skills to the tiers
//! that it supports. An agent that lists no tier supports all of them.

use std::collections::BTreeSet;

use charter_contract::catalogue::DocumentKind;
use charter_contract::catalogue::agent::AgentManifest;
use charter_contract::catalogue::playbook::Playbook;
use charter_contract::catalogue::skill::Skill;
use charter_contract::catalogue::vocabulary::Tier;
use charter_contract::ids::SkillId;

use crate::catalogue::View;

/// The tiers on which a document is available.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServedTiers {
    /// On this tier and higher ones.
    From(Tier),
    /// On no tier: its agent supports none on which it may be used.
    Never,
}

impl ServedTiers {
    /// Returns whether it is available to a caller of this tier.
    #[must_use]
    pub fn reaches(self, tier: Tier) -> bool {
        match self {
            Self::From(lowest) => lowest <= tier,
            Self::Never => false,
        }
    }

    /// Returns the tiers of a document with the tier `own` that belongs to `agent`.
    fn within(own: Tier, agent: Option<&AgentManifest>) -> Self {
        let Some(agent) = agent.filter(|agent| !agent.tier_support.is_empty()) else {
            return Self::From(own);
        };
        let supported = agent.tier_support.iter().filter(|tier| **tier >= own);
        supported
            .min()
            .map_or(Self::Never, |tier| Self::From(*tier))
    }
}

/// Returns the tiers on which an agent is available.
#[must_use]
pub fn agent_served(agent: &AgentManifest) -> ServedTiers {
    ServedTiers::within(Tier::default(), Some(agent))
}

/// Returns the tiers on which a skill is available: its own and higher ones, as far as its agent supports them.
#[must_use]
pub fn skill_served(view: &View, skill: &Skill) -> ServedTiers {
    let owner = view.owner_of(skill.skill_id.as_ref());
    let agent = owner.as_ref().map(|owner| owner.document());
    ServedTiers::within(skill.tier, agent)
}

/// Returns the tiers on which a playbook is available; only a generated one belongs to an agent.
#[must_use]
pub fn playbook_served(view: &View, playbook: &Playbook) -> ServedTiers {
    let agent = playbook.grounding_agent.as_ref();
    let agent = agent.and_then(|agent| view.agent(agent.as_ref()));
    let agent = agent.as_ref().map(|agent| agent.document());
    ServedTiers::within(playbook.tier, agent)
}

/// Returns the skills, playbooks and agents in view that are not available on every tier, with their tiers.
#[must_use]
pub fn limited(view: &View) -> Vec<(DocumentKind, String, ServedTiers)> {
    let agents: Vec<_> = view.agents().filter(|a| limits(a.document())).collect();
    let bounded: BTreeSet<&SkillId> = agents
        .iter()
        .flat_map(|agent| &agent.document().skill_refs)
        .collect();
    let of_agents = agents.iter().map(|agent| {
        let agent = agent.document();
        let id = agent.agent_id.to_string();
        (DocumentKind::Agent, id, agent_served(agent))
    });
    let skills = view.skills().filter_map(|found| {
        let skill = found.document();
        let may_differ = skill.tier != Tier::default()
            || skill.grounding_agent.is_some()
            || bounded.contains(&skill.skill_id);
        let served = may_differ.then(|| skill_served(view, skill))?;
        Some((DocumentKind::Skill, skill.skill_id.to_string(), served))
    });
    let playbooks = view.playbooks().map(|found| {
        let playbook = found.document();
        let served = playbook_served(view, playbook);
        let id = playbook.playbook_id.to_string();
        (DocumentKind::Playbook, id, served)
    });
    let all = of_agents.chain(skills).chain(playbooks);
    all.filter(|(_, _, served)| !served.reaches(Tier::default()))
        .collect()
}

/// Returns whether an agent does not support every tier.
fn limits(agent: &AgentManifest) -> bool {
    let support = &agent.tier_support;
    !support.is_empty() && !Tier::ALL.iter().all(|tier| support.contains(tier))
}

#[cfg(test)]
mod tests;
