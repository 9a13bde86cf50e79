//! The tools and types that a candidate may use: the boundary of the agent that grounds it (seed 000 §2.11).
//!
//! The seed defines an agent by a domain, skills and context types. Its tools are those of its domain and those that
//! its skills call. Internal tools, and tools that the caller may not call, are excluded.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use charter_contract::catalogue::agent::AgentManifest;
use charter_contract::catalogue::playbook::Playbook;
use charter_contract::catalogue::tool::{Tool, ToolClass};
use charter_contract::catalogue::vocabulary::{Role, Status};
use charter_contract::ids::{AgentId, DomainId, Label, StepId, ToolId};
use charter_contract::text::Text;
use serde_json::{Map, Value};

use crate::catalogue::{CatalogueEntry, View};

/// The maximum number of playbook hints in a boundary.
const MOST_HINTS: usize = 40;

/// The tools and types that a candidate may use.
#[derive(Debug, Clone)]
pub struct Boundary {
    agent: AgentId,
    domain: DomainId,
    context_types: Vec<Label>,
    tools: BTreeMap<ToolId, Arc<CatalogueEntry<Tool>>>,
    /// For each tool, the context types of the agent's skills that call it.
    contexts: BTreeMap<ToolId, BTreeSet<Label>>,
    reversals: Vec<Reversal>,
    /// The hints of the domain's registered playbooks.
    hints: Vec<Text>,
}

/// A registered playbook's declaration that one tool reverses the write of another.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Reversal {
    /// The tool whose writes are reversed.
    pub(super) undoes: ToolId,
    /// The tool that reverses them.
    pub(super) by: ToolId,
    /// The step that the reversal's arguments refer to.
    pub(super) step: StepId,
    /// The arguments of that step.
    pub(super) forward: Map<String, Value>,
    /// The arguments of the reversal.
    pub(super) arguments: Map<String, Value>,
}

impl Boundary {
    /// Computes the boundary of an agent in a catalogue for a caller of this level.
    #[must_use]
    pub fn for_agent(agent: &AgentManifest, view: &View, role: Role) -> Self {
        let contexts = contexts(agent, view);
        let inside = |tool: &Tool| {
            let own = tool.domain == agent.domain || contexts.contains_key(&tool.tool_id);
            own && tool.status == Status::Active
                && !tool.is_internal()
                && role.may_call(tool.permission_level)
        };
        let tools: BTreeMap<ToolId, Arc<CatalogueEntry<Tool>>> = view
            .tools()
            .filter(|found| inside(found.document()))
            .map(|found| (found.document().tool_id.clone(), found.entry))
            .collect();
        let known = |reversal: &Reversal| {
            let writes = |id| tools.get(id).is_some_and(|tool| is_write(&tool.document));
            writes(&reversal.undoes) && writes(&reversal.by)
        };
        let playbooks = view.playbooks();
        let registered: Vec<_> = playbooks
            .filter(|found| {
                let playbook = found.document();
                playbook.status == Status::Active && !playbook.is_candidate
            })
            .collect();
        let reversals = registered.iter();
        let reversals = reversals.flat_map(|found| reversals_of(found.document()));
        let own = registered.iter().map(|found| found.document());
        let own = own.filter(|playbook| playbook.domain == agent.domain);
        let hints = own.flat_map(|playbook| playbook.approach_hints.iter().cloned());
        Self {
            hints: hints.take(MOST_HINTS).collect(),
            agent: agent.agent_id.clone(),
            domain: agent.domain.clone(),
            context_types: agent.supported_context_types.clone(),
            reversals: reversals.filter(known).collect(),
            contexts,
            tools,
        }
    }

    /// Returns the agent's id.
    #[must_use]
    pub fn agent(&self) -> &AgentId {
        &self.agent
    }

    /// Returns the agent's domain.
    #[must_use]
    pub fn domain(&self) -> &DomainId {
        &self.domain
    }

    /// Returns the agent's context types.
    #[must_use]
    pub fn context_types(&self) -> &[Label] {
        &self.context_types
    }

    /// Returns a tool inside the boundary.
    #[must_use]
    pub fn tool(&self, id: &ToolId) -> Option<&Tool> {
        self.tools.get(id).map(|entry| &entry.document)
    }

    /// Returns every tool inside the boundary, by id.
    pub fn tools(&self) -> impl Iterator<Item = &Tool> {
        self.tools.values().map(|entry| &entry.document)
    }

    /// Returns the agent's context types in which its skills call these tools.
    pub(super) fn contexts_of<'t>(&self, tools: impl Iterator<Item = &'t ToolId>) -> Vec<Label> {
        let used: BTreeSet<&Label> = tools
            .filter_map(|tool| self.contexts.get(tool))
            .flatten()
            .collect();
        let supported = self.context_types.iter();
        supported
            .filter(|kind| used.contains(kind))
            .cloned()
            .collect()
    }

    /// Returns the hints that the domain's registered playbooks have for changes.
    #[must_use]
    pub fn hints(&self) -> &[Text] {
        &self.hints
    }

    /// Returns the registered reversals of a tool's writes.
    pub(super) fn reversal_of(&self, tool: &ToolId) -> impl Iterator<Item = &Reversal> {
        self.reversals
            .iter()
            .filter(move |reversal| reversal.undoes == *tool)
    }
}

fn is_write(tool: &Tool) -> bool {
    tool.tool_class == ToolClass::Write
}

/// Returns the tools that an agent's skills call, with the context types of those skills.
fn contexts(agent: &AgentManifest, view: &View) -> BTreeMap<ToolId, BTreeSet<Label>> {
    let mut contexts: BTreeMap<ToolId, BTreeSet<Label>> = BTreeMap::new();
    let skills = agent.skill_refs.iter();
    for found in skills.filter_map(|id| view.skill(id.as_ref())) {
        let skill = found.document();
        if skill.status != Status::Active || skill.is_candidate {
            continue;
        }
        for step in &skill.execution_plan.steps {
            let known = contexts.entry(step.tool_id.clone()).or_default();
            known.extend(skill.context.supported_context_types.iter().cloned());
        }
    }
    contexts
}

/// Returns a playbook's reversals in which one tool reverses the step of another. A step with a script is skipped,
/// because its tool is unknown.
fn reversals_of(playbook: &Playbook) -> impl Iterator<Item = Reversal> {
    let rollbacks = playbook.rollback_steps.iter();
    rollbacks
        .filter(|_| playbook.rollback_support)
        .filter_map(|rollback| {
            let mut steps = playbook.steps.iter();
            let step = steps.find(|step| step.step_id == rollback.reverses)?;
            let mut scripts = playbook.scripts.iter();
            let scripted = scripts.any(|script| script.step_id == step.step_id);
            (!scripted).then_some(Reversal {
                undoes: step.tool_id.clone(),
                by: rollback.tool_id.clone()?,
                step: step.step_id.clone(),
                forward: step.parameters.clone(),
                arguments: rollback.parameters.clone(),
            })
        })
}
