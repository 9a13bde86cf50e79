//! Agent skills as `find` names them: never with an instruction, and none that the caller may not reach.

use charter_contract::ids::SkillId;
use charter_engine::{AgentSkillSummary, EngineError, SkillSearch};

use super::{FoundItem, Kind, short};
use crate::mcp::call::Call;

/// Those that fit best.
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
        ..found(&hit.skill)
    });
    Ok(found.collect())
}

/// What a folder points at; without one, what nothing points at.
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
    Ok(listing.entries.iter().map(found).collect())
}

fn found(skill: &AgentSkillSummary) -> FoundItem {
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
