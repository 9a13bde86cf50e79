//! Agent skills in `find`: never with an instruction, and only those that the caller may reach.

use charter_contract::ids::SkillId;
use charter_engine::{AgentSkillSummary, EngineError, SkillSearch};

use super::{FoundItem, Kind, short};
use crate::mcp::call::Call;

/// The skills that fit best.
pub(super) async fn discovered(
    call: &Call,
    query: &str,
    limit: usize,
) -> Result<Vec<FoundItem>, EngineError> {
    let search = SkillSearch {
        query: Some(query.to_owned()),
        top_k: Some(limit),
        ..SkillSearch::default()
    };
    let hits = call
        .engine()
        .agent_skills()
        .discover_skills(&call.caller, &search)
        .await?;
    let found = hits.iter().map(|hit| FoundItem {
        score: Some(hit.score),
        ..found_item(&hit.skill)
    });
    Ok(found.collect())
}

/// The entries of a folder; without one, the skills that no folder contains.
pub(super) fn listed(
    call: &Call,
    under: Option<&str>,
    after: &str,
    limit: usize,
) -> Result<Vec<FoundItem>, EngineError> {
    let (engine, caller) = (call.engine(), &call.caller);
    let after = SkillId::parse(after).ok();
    let listing = match under {
        Some(folder) => {
            let absent = |_| EngineError::not_found("agent skill", folder);
            let id = SkillId::parse(folder).map_err(absent)?;
            engine
                .agent_skills()
                .skill_children(caller, &id, after.as_ref(), limit)?
        }
        None => engine
            .agent_skills()
            .skill_roots(caller, after.as_ref(), limit)?,
    };
    Ok(listing.entries.iter().map(found_item).collect())
}

fn found_item(skill: &AgentSkillSummary) -> FoundItem {
    FoundItem {
        kind: Kind::AgentSkill,
        id: skill.skill_id.to_string(),
        description: short(&skill.summary),
        parameters: Vec::new(),
        writes: false,
        is_folder: Some(skill.is_folder),
        score: None,
    }
}
