//! Which controls of a framework something registered looks at or mends, and which nothing does.
//!
//! Seed 000 §2.12 has no edge from a control to a skill. A control's evidence is collected from resource
//! types, and both a resource type and a tool (seed 000 §2.4) have a provider and a service. A skill or
//! playbook covers a resource type if it is active, belongs to the control's domain, and calls an active
//! tool of that provider and service (ruling 62).

use std::collections::{BTreeMap, BTreeSet};

use charter_contract::catalogue::DocumentKind;
use charter_contract::catalogue::graph::{EdgeType, NodeType};
use charter_contract::catalogue::vocabulary::Status;
use charter_contract::ids::{DomainId, GraphNodeId, GuardrailId, Label, ToolId};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Depth, Direction, ExpertGraph, MAX_FOUND, PathQuery, Target};
use crate::catalogue::View;
use crate::guardrail::{self, GuardrailSubject};

/// What is known of a framework.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "FrameworkCoverage")]
pub struct Coverage {
    /// The framework, as its controls name it.
    pub framework: String,
    /// Its controls, by id.
    pub controls: Vec<ControlCoverage>,
}

/// How far a control is looked after.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "ControlStatus")]
#[serde(rename_all = "snake_case")]
pub enum ControlStatus {
    /// Every resource type that its evidence comes from.
    Covered,
    /// Some of them, or a requirement of it names no evidence.
    Partial,
    /// None.
    None,
}

/// One control.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ControlCoverage {
    /// The control.
    pub control: GraphNodeId,
    /// Its title.
    pub title: Option<String>,
    /// How far it is looked after.
    pub status: ControlStatus,
    /// The resource types that its evidence is collected from, by id.
    pub resource_types: Vec<ResourceCoverage>,
    /// Requirements from which the graph leads to no resource type.
    pub without_evidence: Vec<GraphNodeId>,
    /// Guardrails that bear on what is listed for it.
    pub guardrails: BTreeSet<GuardrailId>,
}

/// A resource type of a control, with what covers it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ResourceCoverage {
    /// The resource type.
    pub resource_type: GraphNodeId,
    /// Skills and playbooks that call a tool for it.
    pub covered_by: Vec<CoveringAction>,
}

/// A skill or playbook with the tools that join it to a resource type.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[schemars(rename = "CoveringAction")]
pub struct CoveringAction {
    /// `skill` or `playbook`.
    pub kind: DocumentKind,
    /// Its id.
    pub id: String,
    /// Those of its tools.
    pub tools: BTreeSet<ToolId>,
}

/// Actions by what their tools work on.
type Actions =
    BTreeMap<(Label, Label, DomainId), BTreeMap<(DocumentKind, String), BTreeSet<ToolId>>>;

impl ExpertGraph<'_> {
    /// The frameworks that controls of the view name.
    #[must_use]
    pub fn frameworks(&self) -> BTreeSet<String> {
        let controls = self.nodes_of(NodeType::Control);
        let named = controls.filter_map(|control| control.document().framework.clone());
        named.map(|name| name.as_str().to_owned()).collect()
    }

    /// How the controls of a framework are looked after; no controls when the view has none of it.
    /// Upper and lower case of the framework's name are the same.
    #[must_use]
    pub fn coverage(&self, framework: &str) -> Coverage {
        let actions = actions(self.view);
        let controls = self.nodes_of(NodeType::Control).filter(|control| {
            let named = control.document().framework.as_ref();
            named.is_some_and(|named| named.as_str().eq_ignore_ascii_case(framework))
        });
        let controls = controls.take(MAX_FOUND).map(|control| {
            let control = control.document();
            let resource_types = self.resource_types(&control.id);
            let resource_types: Vec<ResourceCoverage> = resource_types
                .into_iter()
                .map(|id| ResourceCoverage {
                    covered_by: self.covering(&actions, &id, control.domain.as_ref()),
                    resource_type: id,
                })
                .collect();
            let without_evidence = self.without_evidence(&control.id);
            ControlCoverage {
                control: control.id.clone(),
                title: control.title.as_ref().map(ToString::to_string),
                status: status(&resource_types, &without_evidence),
                guardrails: guardrails(self.view, &resource_types),
                resource_types,
                without_evidence,
            }
        });
        Coverage {
            framework: framework.to_owned(),
            controls: controls.collect(),
        }
    }

    /// Where the evidence of a control, or of a requirement, is collected from.
    fn resource_types(&self, from: &GraphNodeId) -> BTreeSet<GraphNodeId> {
        let paths = self.paths(&PathQuery {
            from: from.clone(),
            to: Target::Type(NodeType::ResourceType),
            direction: Direction::Out,
            depth: Depth::MOST,
            limit: MAX_FOUND,
        });
        let ends = paths.found.into_iter();
        ends.filter_map(|path| path.nodes.into_iter().next_back())
            .collect()
    }

    fn without_evidence(&self, control: &GraphNodeId) -> Vec<GraphNodeId> {
        let links = self.links(control, Direction::Out).into_iter();
        links
            .filter(|link| link.edge == EdgeType::Requires)
            .map(|link| link.to)
            .filter(|requirement| self.resource_types(requirement).is_empty())
            .collect()
    }

    fn covering(
        &self,
        actions: &Actions,
        resource_type: &GraphNodeId,
        domain: Option<&DomainId>,
    ) -> Vec<CoveringAction> {
        let Some(found) = self.node(resource_type) else {
            return Vec::new();
        };
        let node = found.document();
        let (Some(provider), Some(service), Some(domain)) = (&node.provider, &node.service, domain)
        else {
            return Vec::new();
        };
        let key = (provider.clone(), service.clone(), domain.clone());
        let found = actions.get(&key).into_iter().flatten();
        found
            .map(|((kind, id), tools)| CoveringAction {
                kind: *kind,
                id: id.clone(),
                tools: tools.clone(),
            })
            .collect()
    }
}

fn status(resource_types: &[ResourceCoverage], without_evidence: &[GraphNodeId]) -> ControlStatus {
    let covered = |resource: &&ResourceCoverage| !resource.covered_by.is_empty();
    match resource_types.iter().filter(covered).count() {
        0 => ControlStatus::None,
        all if all == resource_types.len() && without_evidence.is_empty() => ControlStatus::Covered,
        _ => ControlStatus::Partial,
    }
}

/// Every active skill and playbook, by the provider and service of its tools and its own domain.
fn actions(view: &View) -> Actions {
    let mut actions = Actions::new();
    let mut add = |kind: DocumentKind, id: &str, domain: &DomainId, tool: &ToolId| {
        let Some(found) = view.tool(tool.as_ref()) else {
            return;
        };
        let document = found.document();
        let Some(service) = document.service.clone() else {
            return;
        };
        if document.status == Status::Active {
            let key = (document.provider.clone(), service, domain.clone());
            let of_key = actions.entry(key).or_default();
            let tools = of_key.entry((kind, id.to_owned())).or_default();
            tools.insert(tool.clone());
        }
    };
    for found in view.skills() {
        let skill = found.document();
        if skill.status == Status::Active && !skill.is_candidate {
            for step in &skill.execution_plan.steps {
                add(
                    DocumentKind::Skill,
                    skill.skill_id.as_ref(),
                    &skill.domain,
                    &step.tool_id,
                );
            }
        }
    }
    for found in view.playbooks() {
        let playbook = found.document();
        if playbook.status == Status::Active && !playbook.is_candidate {
            for step in &playbook.steps {
                let id = playbook.playbook_id.as_ref();
                add(DocumentKind::Playbook, id, &playbook.domain, &step.tool_id);
            }
        }
    }
    actions
}

/// The guardrails that bear on any of the actions.
fn guardrails(view: &View, resource_types: &[ResourceCoverage]) -> BTreeSet<GuardrailId> {
    let actions = resource_types
        .iter()
        .flat_map(|resource| &resource.covered_by);
    let ids: BTreeSet<(DocumentKind, &str)> = actions
        .map(|action| (action.kind, action.id.as_str()))
        .collect();
    let mut bearing = BTreeSet::new();
    for (kind, id) in ids {
        let owner = view.owner_of(id);
        let skill = view.skill(id).filter(|_| kind == DocumentKind::Skill);
        let playbook = view.playbook(id).filter(|_| kind == DocumentKind::Playbook);
        let domain = skill.as_ref().map(|found| &found.document().domain);
        let domain = domain.or(playbook.as_ref().map(|found| &found.document().domain));
        let subject = GuardrailSubject {
            skill: Some(id),
            agent: owner
                .as_ref()
                .map(|owner| owner.document().agent_id.as_ref()),
            domain: domain.map(AsRef::as_ref),
            persona: None,
        };
        let resolved = guardrail::resolve(view, subject).into_iter();
        bearing.extend(resolved.map(|found| found.found.document().guardrail_id.clone()));
    }
    bearing
}
