//! The dependency graph of documents: the documents that each one requires.

use charter_contract::catalogue::mission_type::{MissionType, WriteBackAction};
use charter_contract::catalogue::schedule::{Schedule, ScheduledWork};
use charter_contract::catalogue::tool::Tool;
use charter_contract::catalogue::{Document, DocumentKind};

/// A document that another one refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Need {
    /// The kind.
    pub kind: DocumentKind,
    /// The id.
    pub id: String,
    /// The JSON pointer of the reference in the referring document.
    pub pointer: String,
}

fn need(kind: DocumentKind, id: &impl ToString, pointer: impl Into<String>) -> Need {
    Need {
        kind,
        id: id.to_string(),
        pointer: pointer.into(),
    }
}

/// Returns every document that a document refers to, in the order of its fields.
#[must_use]
pub fn needs(document: &Document) -> Vec<Need> {
    let mut found: Vec<Need> = match document {
        Document::Domain(_) => return Vec::new(),
        Document::Skill(skill) => skill
            .execution_plan
            .steps
            .iter()
            .enumerate()
            .map(|(at, step)| {
                let pointer = format!("/execution_plan/steps/{at}/tool_id");
                need(DocumentKind::Tool, &step.tool_id, pointer)
            })
            .collect(),
        Document::Playbook(playbook) => {
            let steps = playbook.steps.iter().enumerate().map(|(at, step)| {
                need(
                    DocumentKind::Tool,
                    &step.tool_id,
                    format!("/steps/{at}/tool_id"),
                )
            });
            let rollbacks = playbook.rollback_steps.iter().enumerate();
            let undo = rollbacks.filter_map(|(at, step)| {
                let pointer = format!("/rollback_steps/{at}/tool_id");
                step.tool_id
                    .as_ref()
                    .map(|tool| need(DocumentKind::Tool, tool, pointer))
            });
            steps.chain(undo).collect()
        }
        Document::Agent(agent) => agent
            .skill_refs
            .iter()
            .enumerate()
            .map(|(at, skill)| need(DocumentKind::Skill, skill, format!("/skill_refs/{at}")))
            .collect(),
        Document::Template(template) => {
            let skill = template.skill_id.iter();
            let agent = template.agent_id.iter();
            skill
                .map(|id| need(DocumentKind::Skill, id, "/skill_id"))
                .chain(agent.map(|id| need(DocumentKind::Agent, id, "/agent_id")))
                .collect()
        }
        Document::GraphEdge(edge) => vec![
            need(DocumentKind::GraphNode, &edge.from, "/from"),
            need(DocumentKind::GraphNode, &edge.to, "/to"),
        ],
        Document::MissionType(kind) => mission_type_needs(kind),
        Document::Schedule(schedule) => schedule_needs(schedule),
        Document::Tool(tool) => preview_needs(tool),
        Document::Guardrail(_)
        | Document::Policy(_)
        | Document::PromptTemplate(_)
        | Document::DomainLens(_)
        | Document::GraphNode(_) => Vec::new(),
    };
    found.extend(
        document
            .domain()
            .map(|domain| need(DocumentKind::Domain, domain, "/domain")),
    );
    found
}

/// The readonly tools that preview a write.
fn preview_needs(tool: &Tool) -> Vec<Need> {
    let Some(preview) = &tool.preview else {
        return Vec::new();
    };
    let named = [("tool", &preview.tool), ("present", &preview.present)];
    let named = named.into_iter().filter_map(|(field, tool)| {
        let tool = tool.as_ref()?;
        Some(need(DocumentKind::Tool, tool, format!("/preview/{field}")))
    });
    named.collect()
}

/// The tools of a plan are checked when it starts, like those of any plan that a caller sends.
fn schedule_needs(schedule: &Schedule) -> Vec<Need> {
    let started = match &schedule.run {
        ScheduledWork::Skill(skill) => Some(need(DocumentKind::Skill, skill, "/run/skill")),
        ScheduledWork::Playbook(playbook) => {
            Some(need(DocumentKind::Playbook, playbook, "/run/playbook"))
        }
        ScheduledWork::Mission(mission) => {
            let kind = mission.mission_type.as_ref();
            kind.map(|kind| need(DocumentKind::MissionType, kind, "/run/mission/mission_type"))
        }
        ScheduledWork::Plan(_) => None,
    };
    started.into_iter().collect()
}

/// Only the skills of its outline are included: the tools of a task belong to the mission type's families.
fn mission_type_needs(kind: &MissionType) -> Vec<Need> {
    let mut found = Vec::new();
    for (name, family) in &kind.resource_families {
        let here = format!("/resource_families/{name}");
        for (at, tool) in family.tools.iter().enumerate() {
            found.push(need(DocumentKind::Tool, tool, format!("{here}/tools/{at}")));
        }
        for (at, lens) in family.lenses.iter().enumerate() {
            let pointer = format!("{here}/lenses/{at}");
            found.push(need(DocumentKind::DomainLens, lens, pointer));
        }
    }
    for (role, prompt) in &kind.prompts {
        let pointer = format!("/prompts/{role}");
        found.push(need(DocumentKind::PromptTemplate, prompt, pointer));
    }
    for (at, task) in kind.outline.iter().enumerate() {
        for (number, skill) in task.required_capabilities.iter().enumerate() {
            let pointer = format!("/outline/{at}/required_capabilities/{number}");
            found.push(need(DocumentKind::Skill, skill, pointer));
        }
    }
    for (at, write_back) in kind.write_backs.iter().enumerate() {
        let here = format!("/write_backs/{at}");
        match &write_back.by {
            WriteBackAction::Tool(tool) => {
                found.push(need(DocumentKind::Tool, tool, format!("{here}/by/tool")));
            }
            WriteBackAction::Playbook(playbook) => {
                let pointer = format!("{here}/by/playbook");
                found.push(need(DocumentKind::Playbook, playbook, pointer));
            }
            WriteBackAction::Webhook(_) => {}
        }
        if let Some(target) = &write_back.target {
            let pointer = format!("{here}/target/tool");
            found.push(need(DocumentKind::Tool, &target.tool, pointer));
        }
    }
    found
}
