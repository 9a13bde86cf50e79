//! Turns a code agent's draft into a document. A draft chooses tools and their arguments; it cannot choose ids, safety,
//! reversals or review.

use charter_contract::catalogue::Document;
use charter_contract::catalogue::tool::{Tool, ToolClass};
use charter_contract::ids::{Label, StepId, ToolId};
use charter_contract::parameter::Parameter;
use charter_contract::text::Text;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::compose::{CandidateText, is_called_fully, playbook, skill};
use super::plan::{Plan, PlannedStep};
use super::{Brief, CandidateKind, MAX_TOOLS, plain, shortened};
use crate::reference::{Reference, references};

/// The maximum number of further requests in a draft.
pub const MAX_REQUESTS: usize = 5;

/// A candidate as a code agent drafts it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CandidateDraft {
    /// The display name.
    pub name: String,
    /// The description.
    pub description: String,
    /// Other requests that the candidate answers.
    #[serde(default)]
    pub requests: Vec<String>,
    /// The parameters of the candidate; steps refer to them as `${user.name}`.
    #[serde(default)]
    pub parameters: Vec<DraftedParameter>,
    /// The calls, in order.
    pub steps: Vec<DraftedStep>,
}

/// A draft's parameter: a tool's parameter under a name of the draft's own.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DraftedParameter {
    /// The name in the draft.
    pub name: Label,
    /// The tool that has the parameter.
    pub tool: ToolId,
    /// The tool's parameter, which supplies the type, limits and default.
    pub parameter: Label,
}

/// A step of a draft.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DraftedStep {
    /// The step's name; later steps refer to its output as `${name.field}`.
    pub step_id: StepId,
    /// The tool to call.
    pub tool: ToolId,
    /// The arguments: values, and references to parameters and earlier steps.
    #[serde(default)]
    pub arguments: Map<String, Value>,
}

/// Returns the document of a draft.
///
/// # Errors
/// The problems of the draft, worded for the code agent.
pub fn drafted(brief: &Brief, draft: &CandidateDraft) -> Result<Document, Vec<String>> {
    let mut wrong = Vec::new();
    if draft.steps.is_empty() {
        wrong.push("it has no steps".to_owned());
    }
    if draft.steps.len() > MAX_TOOLS {
        wrong.push(format!("it has more than {MAX_TOOLS} steps"));
    }
    let mut plan = Plan::default();
    for declared in &draft.parameters {
        match parameter(brief, &plan, declared) {
            Ok(parameter) => plan.parameters.push(parameter),
            Err(why) => wrong.push(format!("the parameter `{}`: {why}", declared.name)),
        }
    }
    for step in &draft.steps {
        match planned(brief, &plan, step) {
            Ok(step) => plan.steps.push(step),
            Err(why) => wrong.push(format!("the step `{}`: {why}", step.step_id)),
        }
    }
    let writes = |step: &PlannedStep<'_>| step.tool.tool_class == ToolClass::Write;
    if brief.wanted == CandidateKind::Change && wrong.is_empty() && !plan.steps.iter().any(writes) {
        wrong.push("a change is requested, but every tool that it calls only reads".to_owned());
    }
    for parameter in &plan.parameters {
        if !refers(&plan, &parameter.name) && wrong.is_empty() {
            wrong.push(format!(
                "no step refers to the parameter `{}`",
                parameter.name
            ));
        }
    }
    if !wrong.is_empty() {
        return Err(wrong);
    }
    let said = |error: charter_contract::ids::IdError| vec![error.to_string()];
    let told = candidate_text(brief, draft)?;
    match brief.wanted {
        CandidateKind::Read => skill(brief, &plan, told).map(Document::Skill),
        CandidateKind::Change => playbook(brief, &plan, told).map(Document::Playbook),
    }
    .map_err(|no_fit| match no_fit {
        super::NoFit::Name(error) => said(error),
        other => vec![other.to_string()],
    })
}

fn parameter(
    brief: &Brief,
    plan: &Plan<'_>,
    declared: &DraftedParameter,
) -> Result<Parameter, String> {
    if declared.name.as_ref().contains('.') {
        return Err("its name must not contain a dot, which starts a path".to_owned());
    }
    if plan
        .parameters
        .iter()
        .any(|known| known.name == declared.name)
    {
        return Err("it is declared twice".to_owned());
    }
    let tool = tool(brief, &declared.tool)?;
    let mut known = tool.parameters().iter();
    let known = known.find(|known| known.name == declared.parameter);
    let known = known.ok_or_else(|| {
        format!(
            "`{}` has no parameter `{}`",
            declared.tool, declared.parameter
        )
    })?;
    Ok(Parameter {
        name: declared.name.clone(),
        required: known.default.is_none(),
        ..known.clone()
    })
}

fn planned<'b>(
    brief: &'b Brief,
    plan: &Plan<'_>,
    step: &DraftedStep,
) -> Result<PlannedStep<'b>, String> {
    if plan.steps.iter().any(|known| known.id == step.step_id) {
        return Err("it is duplicated".to_owned());
    }
    let tool = tool(brief, &step.tool)?;
    if brief.wanted == CandidateKind::Read && tool.tool_class != ToolClass::Readonly {
        return Err(format!(
            "`{}` writes, but only reading is requested",
            step.tool
        ));
    }
    if !is_called_fully(brief, &step.tool, &step.arguments) {
        return Err(format!(
            "`{}` is called without a required parameter, or with an unknown one",
            step.tool
        ));
    }
    let arguments = Value::Object(step.arguments.clone());
    for reference in references(&arguments).map_err(|error| error.to_string())? {
        let known = match &reference {
            Reference::Parameter(name) => {
                let name = name.split('.').next().unwrap_or_default();
                plan.parameters
                    .iter()
                    .any(|known| known.name.as_ref() == name)
            }
            Reference::Output { step, .. } => plan.steps.iter().any(|known| known.id == *step),
        };
        if !known {
            return Err(format!(
                "`{reference}` is neither one of its parameters nor an output of an earlier step"
            ));
        }
    }
    Ok(PlannedStep {
        id: step.step_id.clone(),
        tool,
        arguments: step.arguments.clone(),
    })
}

fn tool<'b>(brief: &'b Brief, id: &ToolId) -> Result<&'b Tool, String> {
    let found = brief.boundary.tool(id);
    found.ok_or_else(|| format!("the tool `{id}` is not offered"))
}

fn refers(plan: &Plan<'_>, name: &Label) -> bool {
    let wanted = format!("${{user.{name}");
    let mut steps = plan.steps.iter();
    steps.any(|step| {
        Value::Object(step.arguments.clone())
            .to_string()
            .contains(&wanted)
    })
}

/// Returns the draft's texts, without characters that any language here interprets.
fn candidate_text(brief: &Brief, draft: &CandidateDraft) -> Result<CandidateText, Vec<String>> {
    let text = |what: &str, given: &str| {
        let plain = shortened(&plain(given));
        Text::parse(&plain).map_err(|error| vec![format!("{what}: {error}")])
    };
    let mut requests = vec![text("the request", &brief.words.shown())?];
    for request in draft.requests.iter().take(MAX_REQUESTS) {
        let request = text("requests", request)?;
        if !requests.contains(&request) {
            requests.push(request);
        }
    }
    Ok(CandidateText {
        name: text("name", &draft.name)?,
        description: text("description", &draft.description)?,
        requests,
    })
}
