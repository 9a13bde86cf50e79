//! Finds skills that no caller can reach, because their agent supports no tier on which they may be used.

use charter_contract::bounds::PACKAGE_PROBLEMS;
use charter_contract::catalogue::agent::AgentManifest;
use charter_contract::catalogue::skill::Skill;

use super::super::{Problem, SourceLocation};
use crate::catalogue::View;
use crate::tier::{ServedTiers, skill_served};

/// Warns about a skill that no caller can reach.
pub(super) fn unreached(place: &SourceLocation, skill: &Skill, after: &View) -> Option<Problem> {
    is_unreached(skill, after).then(|| warning(place, "/tier", skill))
}

/// Warns about the skills of an agent that no caller can reach.
pub(super) fn unreached_of(
    place: &SourceLocation,
    agent: &AgentManifest,
    after: &View,
) -> Vec<Problem> {
    let skills = agent.skill_refs.iter().enumerate();
    let found = skills.filter_map(|(at, id)| Some((at, after.skill(id.as_ref())?)));
    let never = found
        .filter(|(_, found)| is_unreached(found.document(), after))
        .map(|(at, found)| warning(place, &format!("/skill_refs/{at}"), found.document()));
    never.take(PACKAGE_PROBLEMS).collect()
}

fn is_unreached(skill: &Skill, after: &View) -> bool {
    skill_served(after, skill) == ServedTiers::Never
}

fn warning(place: &SourceLocation, pointer: &str, skill: &Skill) -> Problem {
    let message = format!(
        "the skill `{}` has the tier {}, which its agent does not support: no caller can reach it",
        skill.skill_id, skill.tier
    );
    let problem = Problem::at(place, pointer, "tier", message).warning();
    problem.suggest("add the tier to the agent's `tier_support`, or lower the skill's `tier`")
}
