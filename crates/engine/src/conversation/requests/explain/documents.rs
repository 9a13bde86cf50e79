//! Describes documents: the purpose of a skill, a playbook, a tool, an agent or a mission type, and its users.

use charter_contract::catalogue::DocumentKind;
use charter_contract::catalogue::playbook::Playbook;
use charter_contract::catalogue::skill::Skill;
use charter_contract::catalogue::tool::{Tool, ToolClass};
use charter_contract::ids::{SkillId, ToolId};
use charter_domain::catalogue::View;
use serde::Serialize;

use crate::Caller;
use crate::catalogue::abilities::served;
use crate::registry::routing::RoutedCandidate;

/// Maximum skills and playbooks of each kind that a description lists.
const LISTED: usize = 8;

/// A document whose text answers.
#[derive(Debug, Serialize)]
pub(super) struct DocumentShown {
    kind: DocumentKind,
    id: String,
    title: String,
    text: Vec<String>,
}

impl DocumentShown {
    /// Formats the document as text, under its title and id.
    pub(super) fn words(&self) -> String {
        let Self {
            kind, id, title, ..
        } = self;
        let mut lines = vec![format!("{title} ({kind} `{id}`)")];
        lines.extend(self.text.iter().map(|line| format!("- {line}")));
        lines.join("\n")
    }
}

/// Returns the text of a document that answers; `None` for lenses and nodes, which are quoted.
pub(super) fn described(
    view: &View,
    caller: &Caller,
    candidate: &RoutedCandidate,
) -> Option<DocumentShown> {
    let (kind, id) = (candidate.kind, candidate.id.as_str());
    let (title, text) = match kind {
        DocumentKind::Skill => skill(view.skill(id)?.document()),
        DocumentKind::Playbook => playbook(view.playbook(id)?.document()),
        DocumentKind::Tool => tool(view, caller, view.tool(id)?.document()),
        DocumentKind::Agent => {
            let found = view.agent(id)?;
            let agent = found.document();
            let mut text: Vec<String> =
                agent.capabilities.iter().map(ToString::to_string).collect();
            text.extend(skill_lines(view, caller, &agent.skill_refs));
            (agent.display_name.to_string(), text)
        }
        DocumentKind::MissionType => {
            let found = view.mission_type(id)?;
            let kind = found.document();
            let needed = kind
                .outline
                .iter()
                .flat_map(|task| &task.required_capabilities);
            let needed: Vec<SkillId> = needed.cloned().collect();
            let mut text = vec![kind.description.to_string()];
            text.extend(skill_lines(view, caller, &needed));
            (kind.title.to_string(), text)
        }
        DocumentKind::Guardrail
        | DocumentKind::DomainLens
        | DocumentKind::Template
        | DocumentKind::GraphNode
        | DocumentKind::GraphEdge
        | DocumentKind::Domain
        | DocumentKind::Policy
        | DocumentKind::PromptTemplate
        | DocumentKind::Schedule
        | DocumentKind::TagRecord
        | DocumentKind::Evidence => return None,
    };
    Some(DocumentShown {
        kind,
        id: id.to_owned(),
        title,
        text,
    })
}

fn skill(skill: &Skill) -> (String, Vec<String>) {
    let mut text = vec![skill.description.to_string(), skill.purpose.to_string()];
    text.extend(skill.capabilities.iter().map(ToString::to_string));
    text.dedup();
    (skill.display_name.to_string(), text)
}

fn playbook(playbook: &Playbook) -> (String, Vec<String>) {
    let context = playbook.context.context_descriptions.iter();
    let steps = playbook.steps.iter().map(|step| {
        let name = step.name.as_ref().map(ToString::to_string);
        let name = name.unwrap_or_else(|| step.step_id.to_string());
        format!("{name} ({}, {})", step.step_type, step.tool_id)
    });
    let undone = playbook
        .rollback_support
        .then(|| "It can be reversed.".to_owned());
    let text = context.map(ToString::to_string).chain(steps).chain(undone);
    (playbook.name.to_string(), text.collect())
}

/// Describes a tool: its effect, its parameters, and the caller's skills and playbooks that use it.
fn tool(view: &View, caller: &Caller, tool: &Tool) -> (String, Vec<String>) {
    let does = match tool.tool_class {
        ToolClass::Readonly | ToolClass::Internal => "It reads",
        ToolClass::Write => "It writes",
    };
    let parameters: Vec<&str> = tool.parameters().iter().map(|p| p.name.as_str()).collect();
    let takes = match parameters.as_slice() {
        [] => String::new(),
        parameters => format!(", and has the parameters {}", parameters.join(", ")),
    };
    let mut text = vec![tool.description.to_string(), format!("{does}{takes}.")];
    let skills =
        served::skills(view, caller).filter(|found| calls(found.document(), &tool.tool_id));
    let skills: Vec<SkillId> = skills
        .map(|found| found.document().skill_id.clone())
        .collect();
    text.extend(skill_lines(view, caller, &skills));
    let playbooks = served::playbooks(view, caller)
        .filter(|found| changes_by(found.document(), &tool.tool_id))
        .take(LISTED);
    text.extend(playbooks.map(|found| {
        let playbook = found.document();
        format!("Playbook `{}`: {}", playbook.playbook_id, playbook.name)
    }));
    (tool.name.to_string(), text)
}

fn calls(skill: &Skill, tool: &ToolId) -> bool {
    let mut steps = skill.execution_plan.steps.iter();
    steps.any(|step| step.tool_id == *tool)
}

fn changes_by(playbook: &Playbook, tool: &ToolId) -> bool {
    let mut steps = playbook.steps.iter();
    let mut rollbacks = playbook.rollback_steps.iter();
    steps.any(|step| step.tool_id == *tool)
        || rollbacks.any(|rollback| rollback.tool_id.as_ref() == Some(tool))
}

/// Lists the ones of these skills that the caller may use, one a line.
fn skill_lines(view: &View, caller: &Caller, skills: &[SkillId]) -> Vec<String> {
    let served = served::skills(view, caller);
    let listed = served.filter(|found| skills.contains(&found.document().skill_id));
    let lines = listed.take(LISTED).map(|found| {
        let skill = found.document();
        format!("Skill `{}`: {}", skill.skill_id, skill.display_name)
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_shown_under_its_title_and_id() {
        let document = DocumentShown {
            kind: DocumentKind::Playbook,
            id: "ops.drain".to_owned(),
            title: "Drain tanks".to_owned(),
            text: vec!["open (write, tank.open)".to_owned()],
        };
        assert_eq!(
            document.words(),
            "Drain tanks (playbook `ops.drain`)\n- open (write, tank.open)"
        );
    }
}
