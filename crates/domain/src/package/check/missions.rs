//! Checks mission types against the catalogue: that tools and prompts are of the required kind, and that mission types
//! in force still fit the package's new documents.

use charter_contract::catalogue::mission_type::{
    MissionType, OutlinedTask, TargetRead, WriteBack, WriteBackAction,
};
use charter_contract::catalogue::stage::Stage;
use charter_contract::catalogue::tool::ToolClass;
use charter_contract::ids::{PlaybookId, ToolId};

use super::super::{Package, Problem};
use super::Against;
use crate::catalogue::View;
use crate::mission::unknown_outputs;
use crate::parameters::{Misfit, argument_faults as misfits_of, argument_faults_with};

/// Returns the references of a mission type to documents that do not fit. Missing documents are reported elsewhere.
pub(super) fn misfits(kind: &MissionType, after: &View) -> Vec<Misfit> {
    let mut misfits = Vec::new();
    for (at, why) in unknown_outputs(&kind.requested_outputs) {
        misfits.push((format!("/requested_outputs/{at}"), "enum", why));
    }
    for (name, family) in &kind.resource_families {
        for (at, tool) in family.tools.iter().enumerate() {
            let pointer = format!("/resource_families/{name}/tools/{at}");
            misfits.extend(not_readonly(tool, "a worker may only read", pointer, after));
        }
    }
    for (role, prompt) in &kind.prompts {
        let Some(found) = after.prompt_template(prompt.as_ref()) else {
            continue;
        };
        let instructed = found.document().role_type;
        if instructed != *role {
            let message = format!("the prompt template `{prompt}` is for a {instructed}");
            misfits.push((format!("/prompts/{role}"), "role_type", message));
        }
    }
    for (at, task) in kind.outline.iter().enumerate() {
        misfits.extend(out_of_scope(task, &format!("/outline/{at}"), after));
    }
    for (at, write_back) in kind.write_backs.iter().enumerate() {
        let here = format!("/write_backs/{at}");
        misfits.extend(carried_out(write_back, &here, after));
        if let Some(target) = &write_back.target {
            misfits.extend(read(target, &format!("{here}/target"), after));
        }
    }
    misfits
}

/// The stages of missions are tools, and only a mission goes through them.
pub(super) fn stage_of_missions(tool: &ToolId, pointer: String) -> Option<Misfit> {
    Stage::from_tool_id(tool)?;
    let message = format!("`{tool}` is a mission stage, which cannot be used elsewhere");
    Some((pointer, "tool_class", message))
}

/// B002-6: workers may only read, and so may the call that reads a target.
fn not_readonly(tool: &ToolId, why: &str, pointer: String, after: &View) -> Option<Misfit> {
    let class = after.tool(tool.as_ref())?.document().tool_class;
    let message = format!("{why}; `{tool}` is {class}");
    (class != ToolClass::Readonly).then_some((pointer, "readonly", message))
}

/// A skill analyses the outputs of its tools, so a task with the skill must be allowed to call them.
fn out_of_scope(task: &OutlinedTask, here: &str, after: &View) -> Vec<Misfit> {
    let mut misfits = Vec::new();
    for (at, id) in task.required_capabilities.iter().enumerate() {
        let Some(skill) = after.skill(id.as_ref()) else {
            continue;
        };
        let plan = skill.document().execution_plan.steps.iter();
        let missing = plan.filter(|step| !task.allowed_tools.contains(&step.tool_id));
        misfits.extend(missing.map(|step| {
            let tool = &step.tool_id;
            let message = format!("the skill `{id}` calls `{tool}`, which the task may not use");
            let pointer = format!("{here}/required_capabilities/{at}");
            (pointer, "tool_scope", message)
        }));
    }
    misfits
}

fn carried_out(write_back: &WriteBack, here: &str, after: &View) -> Vec<Misfit> {
    match &write_back.by {
        WriteBackAction::Tool(tool) => by_tool(tool, write_back, here, after),
        WriteBackAction::Playbook(playbook) => by_playbook(playbook, write_back, here, after),
        // The webhook defines its own body.
        WriteBackAction::Webhook(_) => Vec::new(),
    }
}

fn by_tool(tool: &ToolId, write_back: &WriteBack, here: &str, after: &View) -> Vec<Misfit> {
    let pointer = format!("{here}/by/tool");
    if let Some(misfit) = stage_of_missions(tool, pointer.clone()) {
        return vec![misfit];
    }
    let Some(found) = after.tool(tool.as_ref()) else {
        return Vec::new();
    };
    let document = found.document();
    let mut misfits = Vec::new();
    if document.tool_class != ToolClass::Write {
        let class = document.tool_class;
        let message = format!("a write-back needs a write tool; `{tool}` is {class}");
        misfits.push((pointer, "tool_class", message));
    }
    misfits.extend(misfits_of(document, &write_back.parameters, here));
    misfits
}

/// A proposal is approved in its final form, so no parameter may remain open.
fn by_playbook(
    playbook: &PlaybookId,
    write_back: &WriteBack,
    here: &str,
    after: &View,
) -> Vec<Misfit> {
    let Some(found) = after.playbook(playbook.as_ref()) else {
        return Vec::new();
    };
    let whose = format!("the playbook `{playbook}`");
    let declared = found.document().declared_parameters();
    argument_faults_with(&whose, &declared, &write_back.parameters, here)
}

fn read(target: &TargetRead, here: &str, after: &View) -> Vec<Misfit> {
    let why = "the tool that reads a target must be readonly";
    let pointer = format!("{here}/tool");
    let mut misfits: Vec<Misfit> = not_readonly(&target.tool, why, pointer, after)
        .into_iter()
        .collect();
    if let Some(found) = after.tool(target.tool.as_ref()) {
        misfits.extend(misfits_of(found.document(), &target.parameters, here));
    }
    misfits
}

/// Returns mission types of other packages that fit now and would no longer fit.
pub(super) fn broken(package: &Package, against: &Against<'_>) -> Vec<Problem> {
    let mut problems = Vec::new();
    for found in against.after.mission_types() {
        let origin = &found.entry.origin;
        let kind = found.document();
        if origin.package == against.origin.package || !misfits(kind, against.before).is_empty() {
            continue;
        }
        for (_, _, why) in misfits(kind, against.after) {
            let message = format!(
                "the mission_type `{}` of the package `{}` would become invalid: {why}",
                kind.mission_type, origin.package
            );
            let manifest = &package.manifest.place;
            problems.push(Problem::at(manifest, "/name", "breaks", message));
        }
    }
    problems
}
