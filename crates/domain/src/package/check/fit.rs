//! Checks that the documents a document refers to are of the required kind: readonly tools in skills, known parameters,
//! one owner per skill, edges between the right nodes. Mission types have a separate file.

use std::collections::BTreeSet;

use charter_contract::bounds::PACKAGE_PROBLEMS;
use charter_contract::catalogue::Document;
use charter_contract::catalogue::agent::AgentManifest;
use charter_contract::catalogue::graph::GraphEdge;
use charter_contract::catalogue::playbook::{Playbook, SafetyClass};
use charter_contract::catalogue::skill::Skill;
use charter_contract::catalogue::tool::{Tool, ToolClass};
use charter_contract::catalogue::vocabulary::StepType;
use charter_contract::ids::StepId;

use super::super::{Problem, WithLocation};
use super::missions;
use crate::catalogue::View;
use crate::graph;
use crate::parameters::{Misfit, argument_faults as misfits_of};

pub(super) fn problems(document: &WithLocation<Document>, after: &View) -> Vec<Problem> {
    let misfits = match &document.value {
        Document::Skill(skill) => skill_misfits(skill, after),
        Document::Playbook(playbook) => playbook_misfits(playbook, after),
        Document::Agent(agent) => agent_misfits(agent, after),
        Document::GraphEdge(edge) => edge_misfits(edge, after),
        Document::MissionType(kind) => missions::misfits(kind, after),
        Document::Tool(tool) => preview_misfits(tool, after),
        Document::Guardrail(_)
        | Document::Policy(_)
        | Document::DomainLens(_)
        | Document::Template(_)
        | Document::PromptTemplate(_)
        | Document::Schedule(_)
        | Document::GraphNode(_)
        | Document::Domain(_) => Vec::new(),
    };
    misfits
        .into_iter()
        .map(|(pointer, keyword, message)| Problem::at(&document.place, &pointer, keyword, message))
        .collect()
}

/// The tools that preview a write are readonly.
fn preview_misfits(tool: &Tool, after: &View) -> Vec<Misfit> {
    let Some(preview) = &tool.preview else {
        return Vec::new();
    };
    let named = [("tool", &preview.tool), ("present", &preview.present)];
    let misfits = named.into_iter().filter_map(|(field, id)| {
        let found = after.tool(id.as_ref()?.as_ref())?;
        let class = found.document().tool_class;
        let message = format!(
            "a write is previewed by readonly tools only; `{}` is {class}",
            found.document().tool_id
        );
        let is_readonly = class == ToolClass::Readonly;
        (!is_readonly).then(|| (format!("/preview/{field}"), "readonly", message))
    });
    misfits.collect()
}

/// B000-11: a skill's plan may use only readonly tools.
fn skill_misfits(skill: &Skill, after: &View) -> Vec<Misfit> {
    let mut misfits = Vec::new();
    let wired = graph::wired(skill, after);
    for (at, step) in wired.execution_plan.steps.iter().enumerate() {
        if misfits.len() >= PACKAGE_PROBLEMS {
            break;
        }
        let here = format!("/execution_plan/steps/{at}");
        let Some(tool) = after.tool(step.tool_id.as_ref()) else {
            continue;
        };
        if tool.document().tool_class != ToolClass::Readonly {
            let message = format!(
                "a skill may use readonly tools only; `{}` is {}",
                step.tool_id,
                tool.document().tool_class
            );
            misfits.push((format!("{here}/tool_id"), "readonly", message));
        }
        misfits.extend(misfits_of(tool.document(), &step.parameters, &here));
        misfits.extend(graph::contradicted(skill, &wired, at, tool.document()));
    }
    misfits
}

fn playbook_misfits(playbook: &Playbook, after: &View) -> Vec<Misfit> {
    let mut misfits = Vec::new();
    if playbook.is_candidate && playbook.safety.safety_class == SafetyClass::Automated {
        let message =
            "a candidate is not accepted yet, so it cannot be approved in advance".to_owned();
        misfits.push(("/safety/safety_class".to_owned(), "candidate", message));
    }
    let called = playbook.steps.iter().enumerate();
    let called = called.map(|(at, step)| (format!("/steps/{at}/tool_id"), &step.tool_id));
    let undone = playbook.rollback_steps.iter().enumerate();
    let undone = undone.filter_map(|(at, step)| {
        let tool = step.tool_id.as_ref()?;
        Some((format!("/rollback_steps/{at}/tool_id"), tool))
    });
    for (pointer, tool) in called.chain(undone) {
        misfits.extend(missions::stage_of_missions(tool, pointer));
    }
    let scripted: BTreeSet<&StepId> = playbook.scripts.iter().map(|s| &s.step_id).collect();
    for (at, step) in playbook.steps.iter().enumerate() {
        if misfits.len() >= PACKAGE_PROBLEMS {
            break;
        }
        let here = format!("/steps/{at}");
        let Some(tool) = after.tool(step.tool_id.as_ref()) else {
            continue;
        };
        let wanted = match step.step_type {
            StepType::Readonly => ToolClass::Readonly,
            StepType::Write => ToolClass::Write,
        };
        if tool.document().tool_class != wanted {
            let message = format!(
                "a {} step needs a {wanted} tool; `{}` is {}",
                step.step_type,
                step.tool_id,
                tool.document().tool_class
            );
            misfits.push((format!("{here}/tool_id"), "tool_class", message));
        }
        // For a step with a script of its own, the script determines the arguments.
        if !scripted.contains(&step.step_id) {
            misfits.extend(misfits_of(tool.document(), &step.parameters, &here));
        }
    }
    misfits
}

/// Ruling 8: a skill has one owner.
fn agent_misfits(agent: &AgentManifest, after: &View) -> Vec<Misfit> {
    let mut misfits = Vec::new();
    for (at, skill) in agent.skill_refs.iter().enumerate() {
        if misfits.len() >= PACKAGE_PROBLEMS {
            break;
        }
        let owners = after.owners_of(skill.as_ref()).into_iter();
        for other in owners.filter(|owner| owner.document().agent_id != agent.agent_id) {
            let message = format!(
                "the skill `{skill}` already belongs to the agent `{}`",
                other.document().agent_id
            );
            misfits.push((format!("/skill_refs/{at}"), "owner", message));
        }
    }
    misfits
}

/// B000-17: each edge joins nodes of the types that its own type requires.
fn edge_misfits(edge: &GraphEdge, after: &View) -> Vec<Misfit> {
    let (from, to) = edge.edge_type.endpoints();
    let ends = [("/from", &edge.from, from), ("/to", &edge.to, to)];
    ends.into_iter()
        .filter_map(|(pointer, id, wanted)| {
            let node = after.node(id.as_ref())?;
            let found = node.document().node_type;
            (found != wanted).then(|| {
                let message = format!(
                    "`{}` leads from a {from} to a {to}; `{id}` is a {found}",
                    edge.edge_type
                );
                (pointer.to_owned(), "endpoint", message)
            })
        })
        .collect()
}
