//! Checks that a candidate stays inside its brief. The check is the same for every generator.

use charter_contract::catalogue::Document;
use charter_contract::catalogue::playbook::{Playbook, SafetyClass};
use charter_contract::catalogue::skill::Skill;
use charter_contract::catalogue::tool::ToolClass;
use charter_contract::catalogue::vocabulary::{GeneratedBy, Status, StepType};
use charter_contract::ids::{AgentId, Label, ToolId};
use serde_json::Value;

use super::{Brief, CandidateKind, MAX_BYTES, MAX_TOOLS};

/// Returns every way in which a document violates the brief; empty for a valid candidate.
#[must_use]
pub fn breaches(brief: &Brief, document: &Document) -> Vec<String> {
    let mut found = match (brief.wanted, document) {
        (CandidateKind::Read, Document::Skill(skill)) => skill_breaches(brief, skill),
        (CandidateKind::Change, Document::Playbook(playbook)) => playbook_breaches(brief, playbook),
        (CandidateKind::Read | CandidateKind::Change, other) => {
            return vec![format!("a {} was not requested", other.kind())];
        }
    };
    if document.id() != brief.document_id() {
        found.push(format!("its id is `{}`", document.id()));
    }
    if document.domain() != Some(brief.boundary.domain()) {
        found.push("it belongs to another domain".to_owned());
    }
    if document.tenant_id().is_some() || document.status() != Status::Active {
        found.push("it sets its own tenant or status".to_owned());
    }
    match serde_json::to_value(document) {
        Ok(body) => found.extend(text_breaches(&body)),
        Err(error) => found.push(format!("it cannot be written: {error}")),
    }
    found
}

fn skill_breaches(brief: &Brief, skill: &Skill) -> Vec<String> {
    let mut found = origin_breaches(
        brief,
        skill.is_candidate,
        skill.generated_by,
        skill.grounding_agent.as_ref(),
    );
    let steps = &skill.execution_plan.steps;
    found.extend(size_breach(steps.len()));
    let tools = steps.iter().map(|step| (&step.tool_id, StepType::Readonly));
    found.extend(tool_breaches(brief, tools));
    found.extend(context_breaches(
        brief,
        &skill.context.supported_context_types,
    ));
    if skill.analysis.is_some() {
        found.push("it defines its own rules".to_owned());
    }
    found
}

fn playbook_breaches(brief: &Brief, playbook: &Playbook) -> Vec<String> {
    let mut found = origin_breaches(
        brief,
        playbook.is_candidate,
        playbook.generated_by,
        playbook.grounding_agent.as_ref(),
    );
    found.extend(size_breach(playbook.steps.len()));
    let steps = playbook.steps.iter();
    let steps = steps.map(|step| (&step.tool_id, step.step_type));
    let rollbacks = playbook.rollback_steps.iter();
    let undone = rollbacks.filter_map(|step| Some((step.tool_id.as_ref()?, StepType::Write)));
    found.extend(tool_breaches(brief, steps.chain(undone)));
    found.extend(context_breaches(
        brief,
        &playbook.context.supported_context_types,
    ));
    if !playbook.scripts.is_empty() {
        found.push("it contains scripts".to_owned());
    }
    if playbook.safety.safety_class != SafetyClass::Supervised {
        found.push("its writes are not supervised".to_owned());
    }
    let reviewed = &playbook.safety.requires_human_review_for;
    let writes = playbook
        .steps
        .iter()
        .filter(|s| s.step_type == StepType::Write);
    let unseen = writes.filter(|step| !reviewed.contains(&step.step_id));
    found.extend(unseen.map(|step| format!("its step `{}` has no review", step.step_id)));
    found
}

fn origin_breaches(
    brief: &Brief,
    is_candidate: bool,
    by: GeneratedBy,
    agent: Option<&AgentId>,
) -> Vec<String> {
    let mut found = Vec::new();
    if !is_candidate || by != GeneratedBy::CodeAgent {
        found.push("it is not marked as a generated candidate".to_owned());
    }
    if agent != Some(brief.boundary.agent()) {
        found.push("it names an agent other than the one that grounds it".to_owned());
    }
    found
}

fn size_breach(steps: usize) -> Option<String> {
    (steps > MAX_TOOLS).then(|| format!("it has {steps} steps; {MAX_TOOLS} are allowed"))
}

/// Reports tools outside the boundary, and tools whose class exceeds their step's type.
fn tool_breaches<'t>(
    brief: &Brief,
    used: impl Iterator<Item = (&'t ToolId, StepType)>,
) -> Vec<String> {
    let breach = |(id, step): (&ToolId, StepType)| {
        let wanted = match step {
            StepType::Readonly => ToolClass::Readonly,
            StepType::Write => ToolClass::Write,
        };
        match brief.boundary.tool(id) {
            None => Some(format!("the tool `{id}` is outside the boundary")),
            Some(tool) if tool.tool_class != wanted => Some(format!(
                "the tool `{id}` is {}, not {wanted}",
                tool.tool_class
            )),
            Some(_) => None,
        }
    };
    used.filter_map(breach).collect()
}

fn context_breaches(brief: &Brief, types: &[Label]) -> Vec<String> {
    let known = brief.boundary.context_types();
    let outside = types.iter().filter(|kind| !known.contains(kind));
    outside
        .map(|kind| format!("the context type `{kind}` is outside the boundary"))
        .collect()
}

/// Fields that may hold references or texts of tools, and so are not the candidate's own words.
const REFERRING: [&str; 6] = [
    "execution_plan",
    "steps",
    "rollback_steps",
    "parameters",
    "mandatory_parameters",
    "optional_parameters",
];

/// Checks that the document is bounded in size, and that its words contain nothing that is evaluated.
fn text_breaches(body: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let size = body.to_string().len();
    if size > MAX_BYTES {
        found.push(format!("it has {size} bytes; {MAX_BYTES} are allowed"));
    }
    let fields = body.as_object().into_iter().flatten();
    let texts = fields.filter(|(field, _)| !REFERRING.contains(&field.as_str()));
    for (field, value) in texts {
        let text = value.to_string();
        if ["${", "{{", "{%"]
            .iter()
            .any(|opening| text.contains(opening))
        {
            found.push(format!("`{field}` contains a reference or a placeholder"));
        }
    }
    found
}
