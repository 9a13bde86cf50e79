//! Indexes for the lookups of every request, so that none scans a layer: guardrails by id, policies by tool, owners by
//! skill, and edges of the expert graph by node.

use std::collections::HashMap;
use std::sync::Arc;

use charter_contract::catalogue::agent::AgentManifest;
use charter_contract::catalogue::graph::{GraphEdge, GraphNode, NodeType};
use charter_contract::catalogue::guardrail::{Glob, Guardrail, GuardrailScope};
use charter_contract::catalogue::policy::Policy;
use charter_contract::catalogue::vocabulary::Status;

use super::{CatalogueEntry, Conditions, DocumentsById};
use crate::glob;

/// The documents of a layer that are indexed.
pub(super) struct IndexedShelves<'l> {
    pub(super) guardrails: &'l DocumentsById<Guardrail>,
    pub(super) policies: &'l DocumentsById<Policy>,
    pub(super) edges: &'l DocumentsById<GraphEdge>,
    pub(super) nodes: &'l DocumentsById<GraphNode>,
    pub(super) agents: &'l DocumentsById<AgentManifest>,
}

/// Indexes over one layer's documents.
#[derive(Debug, Default)]
pub(super) struct Lookup {
    guardrails: HashMap<GuardrailScope, ByStem<Guardrail>>,
    /// The expressions of active guardrails, by id.
    conditions: HashMap<String, Arc<Conditions>>,
    policies: ByStem<Policy>,
    owners: HashMap<String, Vec<String>>,
    edges_from: EdgesByEnd,
    edges_to: EdgesByEnd,
    nodes: HashMap<NodeType, Vec<String>>,
}

/// Edges with their own ids, by the id of the node at one end.
type EdgesByEnd = HashMap<String, Vec<(String, Arc<CatalogueEntry<GraphEdge>>)>>;

/// Active documents by the stems of their globs, in order of their ids.
#[derive(Debug)]
struct ByStem<T>(HashMap<String, Vec<Arc<CatalogueEntry<T>>>>);

impl<T> Default for ByStem<T> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<T> ByStem<T> {
    /// Adds a document; documents must be added in order of their ids.
    fn add(&mut self, globs: &[Glob], entry: &Arc<CatalogueEntry<T>>) {
        for glob in globs {
            let stem = glob::stem(glob.as_ref()).to_owned();
            let near = self.0.entry(stem).or_default();
            if near.last().is_none_or(|last| !Arc::ptr_eq(last, entry)) {
                near.push(Arc::clone(entry));
            }
        }
    }

    /// Returns every document with a glob that may cover `target`, without duplicates, ordered by id.
    fn near(&self, target: &str, id: fn(&T) -> &str) -> Vec<&Arc<CatalogueEntry<T>>> {
        let stems = glob::stems_over(target).filter_map(|stem| self.0.get(stem));
        let mut near: Vec<&Arc<CatalogueEntry<T>>> = stems.flatten().collect();
        // A document with several globs may be listed under several stems.
        near.sort_by(|a, b| id(&a.document).cmp(id(&b.document)));
        near.dedup_by(|a, b| Arc::ptr_eq(a, b));
        near
    }
}

impl Lookup {
    pub(super) fn build(layer: &IndexedShelves<'_>) -> Self {
        let mut lookup = Self::default();
        for (id, entry) in layer.guardrails {
            let guardrail = &entry.document;
            if guardrail.status != Status::Active {
                continue;
            }
            let conditions = Arc::new(Conditions::from_guardrail(guardrail));
            lookup.conditions.insert(id.clone(), conditions);
            let by_stem = lookup.guardrails.entry(guardrail.scope).or_default();
            by_stem.add(&guardrail.applies_to, entry);
        }
        for entry in layer.policies.values() {
            if entry.document.status == Status::Active {
                lookup.policies.add(&entry.document.governs, entry);
            }
        }
        for (id, entry) in layer.edges {
            let ends = [
                (&mut lookup.edges_from, &entry.document.from),
                (&mut lookup.edges_to, &entry.document.to),
            ];
            for (by_end, end) in ends {
                let edges = by_end.entry(end.to_string()).or_default();
                edges.push((id.clone(), Arc::clone(entry)));
            }
        }
        for (id, entry) in layer.nodes {
            let of_type = lookup.nodes.entry(entry.document.node_type).or_default();
            of_type.push(id.clone());
        }
        for (id, agent) in layer.agents {
            for skill in &agent.document.skill_refs {
                let owners = lookup.owners.entry(skill.to_string()).or_default();
                if owners.last() != Some(id) {
                    owners.push(id.clone());
                }
            }
        }
        lookup
    }

    /// Returns every active guardrail of a scope level with a glob that may cover `target`, without duplicates, with
    /// its expressions.
    pub(super) fn guardrails_near(
        &self,
        scope: GuardrailScope,
        target: &str,
    ) -> impl Iterator<Item = (&Arc<CatalogueEntry<Guardrail>>, &Arc<Conditions>)> {
        let by_stem = self.guardrails.get(&scope).into_iter();
        let near =
            by_stem.flat_map(move |by_stem| by_stem.near(target, |g| g.guardrail_id.as_str()));
        near.filter_map(move |entry| {
            let conditions = self.conditions.get(entry.document.guardrail_id.as_str())?;
            Some((entry, conditions))
        })
    }

    /// Returns every active policy with a glob that may cover the tool, without duplicates.
    pub(super) fn policies_near(&self, tool: &str) -> Vec<&Arc<CatalogueEntry<Policy>>> {
        self.policies.near(tool, |policy| policy.policy_id.as_str())
    }

    /// Returns the ids of the agents that list a skill.
    pub(super) fn owners_of(&self, skill: &str) -> impl Iterator<Item = &str> {
        let owners = self.owners.get(skill);
        owners.into_iter().flatten().map(String::as_str)
    }

    /// The edges that leave a node, with their ids.
    pub(super) fn edges_from(&self, node: &str) -> &[(String, Arc<CatalogueEntry<GraphEdge>>)] {
        self.edges_from.get(node).map_or(&[], Vec::as_slice)
    }

    /// The edges that reach a node, with their ids.
    pub(super) fn edges_to(&self, node: &str) -> &[(String, Arc<CatalogueEntry<GraphEdge>>)] {
        self.edges_to.get(node).map_or(&[], Vec::as_slice)
    }

    /// The ids of the nodes of a type, in order.
    pub(super) fn nodes_of(&self, of_type: NodeType) -> &[String] {
        self.nodes.get(&of_type).map_or(&[], Vec::as_slice)
    }
}
