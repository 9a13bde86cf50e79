//! Queries of the domain expert graph (seed 000 §2.12, B000-17): on the advanced tier only. Served from the snapshot,
//! no storage.

use std::sync::Arc;

use charter_contract::catalogue::DocumentKind;
use charter_contract::catalogue::graph::{EdgeType, GraphNode, NodeType};
use charter_contract::finding::Finding;
use charter_contract::ids::{DomainId, GraphNodeId, TenantId};
use charter_domain::catalogue::{Direction, WinningLayer};
use charter_domain::expert_graph::{
    Bounded, Coverage, Depth, ExpertGraph, Neighbour, OpenRisk, Path, PathQuery, Target,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::catalogue::documents::unseen_active;
use crate::catalogue::live::CatalogueService;
use crate::{Caller, EngineError, Tier};

/// Default number of paths.
const PATHS: usize = 100;

/// Maximum frameworks that the error for an unknown one names.
const NAMED_FRAMEWORKS: usize = 10;

/// A query of the graph.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(tag = "query", rename_all = "snake_case", deny_unknown_fields)]
pub enum GraphQuery {
    /// The neighbours of a node.
    Neighbours {
        /// The node.
        node: GraphNodeId,
        /// The direction; both when absent.
        #[serde(default)]
        direction: Option<Direction>,
        /// The types of edges; all when empty.
        #[serde(default)]
        edges: Vec<EdgeType>,
        /// The distance; 1 when absent.
        #[serde(default)]
        depth: Option<Depth>,
    },
    /// The paths from a node.
    Paths {
        /// The node, e.g. a control.
        from: GraphNodeId,
        /// The target; any resource type when absent.
        #[serde(default)]
        to: Option<Target>,
        /// The direction of every edge; `out` when absent.
        #[serde(default)]
        direction: Option<Direction>,
        /// Maximum length of a path; the limit when absent.
        #[serde(default)]
        depth: Option<Depth>,
        /// Maximum paths.
        #[serde(default)]
        limit: Option<usize>,
    },
    /// Risks without a remediation.
    Unremediated {
        /// The domain; all when absent.
        #[serde(default)]
        domain: Option<DomainId>,
    },
    /// Coverage of a framework's controls by registered skills and playbooks.
    Coverage {
        /// The framework, e.g. `SOC2`.
        framework: String,
    },
}

/// The answer of the graph.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "query", rename_all = "snake_case")]
pub enum GraphAnswer {
    /// The neighbours of a node.
    Neighbours {
        /// The node.
        node: Box<GraphNode>,
        /// Its layer.
        layer: WinningLayer,
        /// Its neighbours, nearest first.
        #[serde(flatten)]
        neighbours: Bounded<Neighbour>,
    },
    /// Paths, shortest first.
    Paths(Bounded<Path>),
    /// Risks, most severe first.
    Unremediated(Bounded<OpenRisk>),
    /// The controls, by id.
    Coverage(Coverage),
}

/// The expert graphs of tenants.
pub struct ExpertGraphService {
    catalogue: Arc<CatalogueService>,
}

impl std::fmt::Debug for ExpertGraphService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ExpertGraphService").finish_non_exhaustive()
    }
}

impl ExpertGraphService {
    pub(crate) fn new(catalogue: Arc<CatalogueService>) -> Self {
        Self { catalogue }
    }

    /// Answers a query of the graph of the caller's tenant.
    ///
    /// # Errors
    /// `permission_denied` below the advanced tier; `not_found` for a node or framework that is not visible to the
    /// caller.
    pub fn query(&self, caller: &Caller, query: GraphQuery) -> Result<GraphAnswer, EngineError> {
        caller.must_have(Tier::Advanced, "the expert graph needs the advanced tier")?;
        let view = self.catalogue.live().view(&caller.tenant);
        let graph = ExpertGraph::from_view(&view);
        let node = |id: &GraphNodeId| {
            let missing = || unseen_active(&view, DocumentKind::GraphNode, id.as_ref());
            graph.node(id).ok_or_else(missing)
        };
        Ok(match query {
            GraphQuery::Neighbours {
                node: id,
                direction,
                edges,
                depth,
            } => {
                let found = node(&id)?;
                let directions = match direction {
                    Some(direction) => vec![direction],
                    None => vec![Direction::Out, Direction::In],
                };
                let depth = depth.unwrap_or(Depth::ONE);
                GraphAnswer::Neighbours {
                    node: Box::new(found.document().clone()),
                    layer: found.won,
                    neighbours: graph.neighbours(&id, &directions, &edges, depth),
                }
            }
            GraphQuery::Paths {
                from,
                to,
                direction,
                depth,
                limit,
            } => {
                node(&from)?;
                if let Some(Target::Node(to)) = &to {
                    node(to)?;
                }
                GraphAnswer::Paths(graph.paths(&PathQuery {
                    from,
                    to: to.unwrap_or(Target::Type(NodeType::ResourceType)),
                    direction: direction.unwrap_or(Direction::Out),
                    depth: depth.unwrap_or(Depth::MOST),
                    limit: limit.unwrap_or(PATHS),
                }))
            }
            GraphQuery::Unremediated { domain } => {
                GraphAnswer::Unremediated(graph.unremediated(domain.as_ref()))
            }
            GraphQuery::Coverage { framework } => {
                let coverage = graph.coverage(&framework);
                if coverage.controls.is_empty() {
                    return Err(unknown_framework(&graph, &framework));
                }
                GraphAnswer::Coverage(coverage)
            }
        })
    }

    /// Adds the graph's data to findings, if the request is answered on the advanced tier.
    pub(crate) fn relate(
        &self,
        tenant: &TenantId,
        tier: Tier,
        domain: &DomainId,
        findings: &mut [Finding],
    ) {
        match tier {
            Tier::Basic => {}
            Tier::Advanced => {
                let view = self.catalogue.live().view(tenant);
                let graph = ExpertGraph::from_view(&view);
                for finding in findings {
                    finding.expert = graph.related(finding, domain);
                }
            }
        }
    }
}

/// The error for a framework without visible controls, with the visible frameworks.
fn unknown_framework(graph: &ExpertGraph<'_>, framework: &str) -> EngineError {
    let mut absent = EngineError::not_found("framework", framework);
    let known = graph.frameworks();
    let named: Vec<&str> = known
        .iter()
        .take(NAMED_FRAMEWORKS)
        .map(String::as_str)
        .collect();
    if !named.is_empty() {
        absent.message = format!(
            "{}; controls reference {}",
            absent.message,
            named.join(", ")
        );
    }
    absent
}
