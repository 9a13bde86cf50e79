//! Grounding: the boundaries of the agents that come near, and which tools inside them have to do with
//! the request.

use std::sync::Arc;

use charter_contract::catalogue::tool::{Tool, ToolClass};
use charter_contract::ids::{AgentId, ToolId};
use charter_domain::candidate::{Boundary, MAX_TOOLS};
use charter_search::{
    Allowed, EmbeddedQuery, IndexSettings, Layer, Layers, RouteEntry, RouteIndex, RouteQuery,
    RouteSettings, RouteText, Scope, search,
};

use crate::routing::refused;
use crate::{Caller, Engine, EngineError};

/// An agent's boundary, and what of it a request is about.
#[derive(Debug)]
pub(crate) struct Grounds {
    pub(crate) boundary: Boundary,
    /// Nearest first.
    pub(crate) near: Vec<ToolId>,
}

impl Grounds {
    /// Whether the nearest tool changes something; `None` where no tool comes near.
    pub(crate) fn changes(&self) -> Option<bool> {
        let nearest = self.boundary.tool(self.near.first()?)?;
        Some(nearest.tool_class == ToolClass::Write)
    }
}

impl Engine {
    /// The boundaries of these agents for a caller, in the order of the agents.
    pub(crate) async fn grounds(
        &self,
        caller: &Caller,
        agents: &[AgentId],
        text: &str,
    ) -> Result<Vec<Grounds>, EngineError> {
        let query = RouteQuery::parse(text).map_err(refused)?.lexical_only();
        let (live, caller, agents) = (self.live(), caller.clone(), agents.to_vec());
        let grounding = tokio::task::spawn_blocking(move || {
            let view = live.view(&caller.tenant);
            let agents = agents.iter().filter_map(|id| view.agent(id.as_ref()));
            let grounds = agents.map(|found| {
                let boundary = Boundary::of(found.document(), &view, caller.role);
                let near = near(&boundary, &query, &live.settings)?;
                Ok(Grounds { boundary, near })
            });
            grounds.collect()
        });
        grounding
            .await
            .map_err(|error| EngineError::internal("grounding a request", error))?
    }
}

/// The tools that clear the narrow threshold by their words. Tools are not routed to, so they have no
/// index; on a miss those of one boundary are few, and making one costs less than keeping it.
fn near(
    boundary: &Boundary,
    query: &EmbeddedQuery,
    settings: &RouteSettings,
) -> Result<Vec<ToolId>, EngineError> {
    let entries = boundary.tools().map(|tool| RouteEntry {
        id: tool.tool_id.to_string(),
        text: text_of(tool),
        vectors: Vec::new(),
    });
    let index = RouteIndex::build(entries.collect(), None, &IndexSettings::default())
        .map_err(|error| EngineError::internal("indexing the tools of a boundary", error))?;
    let layers = Layers::new(vec![Layer {
        scope: Scope::Global,
        index: Arc::new(index),
    }]);
    let found =
        search(&layers, query, Allowed::Everything, settings, MAX_TOOLS).map_err(refused)?;
    let clear = found
        .iter()
        .filter(|hit| hit.score >= settings.thresholds.narrow);
    Ok(clear
        .filter_map(|hit| ToolId::parse(&hit.id).ok())
        .collect())
}

fn text_of(tool: &Tool) -> RouteText {
    RouteText {
        name: tool.name.to_string(),
        group: tool.service.as_ref().unwrap_or(&tool.provider).to_string(),
        description: tool.description.to_string(),
        parameters: tool.parameters.iter().map(|p| p.name.to_string()).collect(),
        examples: tool.examples.iter().map(ToString::to_string).collect(),
        ..RouteText::default()
    }
}
