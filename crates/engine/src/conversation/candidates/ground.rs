//! Grounding: the boundaries of the nearest agents, and their tools that relate to the request.

use charter_contract::catalogue::tool::ToolClass;
use charter_contract::ids::{AgentId, ToolId};
use charter_domain::candidate::{Boundary, MAX_TOOLS};
use charter_search::{EmbeddedQuery, RouteQuery, RouteSettings};

use super::CandidateService;
use crate::registry::tool_search::rank_tools;
use crate::{Caller, EngineError};

/// An agent's boundary, with the tools that relate to a request.
#[derive(Debug)]
pub(crate) struct Grounding {
    pub(crate) boundary: Boundary,
    /// Nearest first.
    pub(crate) near: Vec<ToolId>,
}

impl Grounding {
    /// Returns whether the nearest tool changes something; `None` if no tool is near.
    pub(crate) fn changes(&self) -> Option<bool> {
        let nearest = self.boundary.tool(self.near.first()?)?;
        Some(nearest.tool_class == ToolClass::Write)
    }
}

impl CandidateService {
    /// Returns the boundaries of these agents for a caller, in the order of the agents.
    pub(crate) async fn grounds(
        &self,
        caller: &Caller,
        agents: &[AgentId],
        text: &str,
    ) -> Result<Vec<Grounding>, EngineError> {
        let query = RouteQuery::parse(text)
            .map_err(EngineError::from)?
            .lexical_only();
        let (live, caller, agents) = (self.catalogue.live(), caller.clone(), agents.to_vec());
        let grounding = tokio::task::spawn_blocking(move || {
            let view = live.view(&caller.tenant);
            let agents = agents.iter().filter_map(|id| view.agent(id.as_ref()));
            let grounds = agents.map(|found| {
                let boundary = Boundary::for_agent(found.document(), &view, caller.role);
                let near = near(&boundary, &query, &live.settings)?;
                Ok(Grounding { boundary, near })
            });
            grounds.collect()
        });
        grounding
            .await
            .map_err(|error| EngineError::internal("grounding a request", error))?
    }
}

/// Returns the tools that clear the narrow threshold by their words.
fn near(
    boundary: &Boundary,
    query: &EmbeddedQuery,
    settings: &RouteSettings,
) -> Result<Vec<ToolId>, EngineError> {
    let ranked = rank_tools(boundary.tools(), query, settings, MAX_TOOLS)?;
    let clear = ranked
        .into_iter()
        .filter(|(_, score)| *score >= settings.thresholds.narrow);
    Ok(clear.map(|(id, _)| id).collect())
}
