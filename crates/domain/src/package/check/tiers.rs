//! Skills that no caller reaches: their agent supports no tier on which they may be used.

use charter_contract::bounds::PACKAGE_PROBLEMS;
use charter_contract::catalogue::Document;
use charter_contract::catalogue::skill::Skill;

use super::super::{Problem, Sourced};
use crate::catalogue::View;
use crate::tier::{Served, skill_served};

/// Warnings about a skill, or about the skills of an agent.
pub(super) fn unreached(document: &Sourced<Document>, after: &View) -> Vec<Problem> {
    let warning = |pointer: &str, skill: &Skill| {
        let message = format!(
            "the skill `{}` is of the tier {}, and its agent supports no such tier: no caller reaches it",
            skill.skill_id, skill.tier
        );
        let problem = Problem::at(&document.place, pointer, "tier", message).warning();
        problem.suggest("add the tier to the agent's `tier_support`, or lower the skill's `tier`")
    };
    match &document.value {
        Document::Skill(skill) if skill_served(after, skill) == Served::Never => {
            vec![warning("/tier", skill)]
        }
        Document::Agent(agent) => {
            let skills = agent.skill_refs.iter().enumerate();
            let found = skills.filter_map(|(at, id)| Some((at, after.skill(id.as_ref())?)));
            let never = found
                .filter(|(_, found)| skill_served(after, found.document()) == Served::Never)
                .map(|(at, found)| warning(&format!("/skill_refs/{at}"), found.document()));
            never.take(PACKAGE_PROBLEMS).collect()
        }
        Document::Skill(_)
        | Document::Tool(_)
        | Document::Playbook(_)
        | Document::Guardrail(_)
        | Document::Policy(_)
        | Document::DomainLens(_)
        | Document::Template(_)
        | Document::PromptTemplate(_)
        | Document::MissionType(_)
        | Document::GraphNode(_)
        | Document::GraphEdge(_)
        | Document::Domain(_) => Vec::new(),
    }
}
