//! Finds tools by words. Requests are never routed to tools, so they have no permanent index. An index of the few
//! relevant tools, or of the caller's, is made for each query, which costs less than keeping one.

mod areas;

use std::sync::Arc;

use charter_contract::catalogue::tool::Tool;
use charter_contract::catalogue::vocabulary::Status;
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::ToolId;
use charter_domain::graph::CallableTools;
use charter_search::{
    Allowed, EmbeddedQuery, IndexSettings, Layer, Layers, RouteEntry, RouteIndex, RouteQuery,
    RouteSettings, RouteText, Scope, search,
};

use crate::catalogue::documents::DocumentService;
use crate::catalogue::live::CatalogueService;
use crate::catalogue::resolve::InForce;
use crate::{Caller, EngineError, ToolFilter};

pub use areas::{WorkArea, WorkAreas};

/// A tool that matches a query.
#[derive(Debug, Clone)]
pub struct FoundTool {
    /// The tool.
    pub tool: InForce<Tool>,
    /// Probability that it is right, 0 to 1.
    pub score: f32,
}

/// Finds tools by words.
pub struct ToolSearchService {
    catalogue: Arc<CatalogueService>,
    documents: Arc<DocumentService>,
}

impl std::fmt::Debug for ToolSearchService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ToolSearchService").finish_non_exhaustive()
    }
}

impl ToolSearchService {
    pub(crate) fn new(catalogue: Arc<CatalogueService>, documents: Arc<DocumentService>) -> Self {
        Self {
            catalogue,
            documents,
        }
    }

    /// Returns whether the caller could call a tool at all: it is active, not internal, and within the caller's
    /// permission level. The gate decides on exact calls.
    #[must_use]
    pub fn may_call(&self, caller: &Caller, tool: &Tool) -> bool {
        tool.status == Status::Active
            && !tool.is_internal()
            && caller.role.may_call(tool.permission_level)
    }

    /// Returns the tool that the caller could call by this name: its id in the catalogue, or in the agent contracts
    /// (ruling 25).
    ///
    /// # Errors
    /// `not_found`; `invalid_request` for a name that several tools share.
    pub fn resolve_callable(
        &self,
        caller: &Caller,
        name: &str,
    ) -> Result<InForce<Tool>, EngineError> {
        let view = self.catalogue.live().view(&caller.tenant);
        let ids = CallableTools::new(&view).ids_of(name);
        if let [_, _, ..] = ids.as_slice() {
            let ids: Vec<&str> = ids.iter().map(ToolId::as_str).collect();
            let message = format!(
                "`{name}` is the name of several tools: {}; use one of these ids",
                ids.join(", ")
            );
            return Err(EngineError::new(ErrorCode::InvalidRequest, message));
        }
        let id = ids.first().map_or(name, ToolId::as_str);
        let tool = self.documents.resolve_tool(caller, id)?;
        if !self.may_call(caller, tool.document()) {
            return Err(EngineError::not_found("tool", name));
        }
        Ok(tool)
    }

    /// Returns the tools that the caller could call and that match the words, best first.
    ///
    /// # Errors
    /// `invalid_request` for an empty query or a limit of zero; `too_large`.
    pub async fn find_tools(
        &self,
        caller: &Caller,
        text: &str,
        limit: usize,
    ) -> Result<Vec<FoundTool>, EngineError> {
        let query = RouteQuery::parse(text)
            .map_err(EngineError::from)?
            .lexical_only();
        let mut tools = self.documents.resolve_tools(caller, &ToolFilter::default());
        tools.retain(|tool| self.may_call(caller, tool.document()));
        let live = self.catalogue.live();
        let finding = tokio::task::spawn_blocking(move || {
            let documents = tools.iter().map(InForce::document);
            let ranked = rank_tools(documents, &query, &live.settings, limit)?;
            let found = ranked.into_iter().filter_map(|(id, score)| {
                let tool = tools.iter().find(|tool| tool.document().tool_id == id)?;
                Some(FoundTool {
                    tool: tool.clone(),
                    score,
                })
            });
            Ok(found.collect())
        });
        finding
            .await
            .map_err(|error| EngineError::internal("searching the tools", error))?
    }
}

/// Ranks tools by their words, best first, with their scores.
pub(crate) fn rank_tools<'a>(
    tools: impl Iterator<Item = &'a Tool>,
    query: &EmbeddedQuery,
    settings: &RouteSettings,
    limit: usize,
) -> Result<Vec<(ToolId, f32)>, EngineError> {
    let entries = tools.map(|tool| RouteEntry {
        id: tool.tool_id.to_string(),
        text: text_of(tool),
        vectors: Vec::new(),
    });
    let index = RouteIndex::build(entries.collect(), None, &IndexSettings::default())
        .map_err(|error| EngineError::internal("indexing tools", error))?;
    let layers = Layers::new(vec![Layer {
        scope: Scope::Global,
        index: Arc::new(index),
    }]);
    let found =
        search(&layers, query, Allowed::Everything, settings, limit).map_err(EngineError::from)?;
    let ranked = found
        .iter()
        .filter_map(|hit| Some((ToolId::parse(&hit.id).ok()?, hit.score)));
    Ok(ranked.collect())
}

fn text_of(tool: &Tool) -> RouteText {
    let names = tool.parameters().iter();
    RouteText {
        name: tool.title().to_owned(),
        group: tool.service.as_ref().unwrap_or(&tool.provider).to_string(),
        description: tool.description.to_string(),
        parameters: names.map(|parameter| parameter.name.to_string()).collect(),
        examples: tool.examples.iter().map(ToString::to_string).collect(),
        ..RouteText::default()
    }
}
