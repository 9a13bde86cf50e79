//! The answer to a request without a registered match: the candidate, which has not run.

use std::time::Duration;

use charter_contract::agentic::response::AgentResponse;
use charter_contract::catalogue::Document;
use charter_contract::catalogue::tags::Flow;
use charter_contract::catalogue::vocabulary::StepType;
use charter_contract::ids::{AgentId, ResponseId, StepId, ToolId};
use charter_contract::parameter::Parameter;
use serde::Serialize;
use serde_json::json;

use super::ActiveRequest;
use super::classification::Classification;
use super::respond::{ResponseService, verdict};
use crate::EngineError;
use crate::conversation::candidates::{CandidateProposal, Miss};

/// The request that a candidate is proposed for.
pub(super) fn miss<'r>(asked: &'r ActiveRequest, classified: &'r Classification) -> Miss<'r> {
    Miss {
        caller: &asked.caller,
        text: asked.request.input.as_str(),
        flow: classified.flow,
        agents: &classified.agents,
    }
}

/// A candidate as the answer shows it.
#[derive(Debug, Serialize)]
struct Shown<'p> {
    id: String,
    kind: &'static str,
    /// False once an operator has accepted it.
    is_candidate: bool,
    package: &'p str,
    package_version: &'p str,
    grounding_agent: Option<&'p AgentId>,
    steps: Vec<StepShown<'p>>,
    /// Its required and optional parameters.
    parameters: Vec<Parameter>,
}

#[derive(Debug, Serialize)]
struct StepShown<'p> {
    step: &'p StepId,
    tool: &'p ToolId,
    writes: bool,
    /// The tool that reverses it.
    #[serde(skip_serializing_if = "Option::is_none")]
    undone_by: Option<&'p ToolId>,
}

/// Builds the response that shows a candidate.
pub(super) fn response(
    responses: &ResponseService,
    asked: &ActiveRequest,
    classified: &Classification,
    proposal: &CandidateProposal,
    elapsed: Duration,
) -> Result<AgentResponse, EngineError> {
    let shown = shown(proposal)?;
    let content = content(&shown, classified.flow);
    let builder = AgentResponse::builder(
        ResponseId::from_uuid(responses.ids.uuid()),
        asked.id().clone(),
        responses.clock.now(),
        content,
    )
    .execution_time_ms(u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX))
    .metadata("flow", json!(classified.flow))
    .metadata("verdict", verdict(&classified.verdict)?)
    .metadata("agents", json!(classified.agents))
    .metadata("candidate", json!(shown));
    Ok(builder.build())
}

fn shown(proposal: &CandidateProposal) -> Result<Shown<'_>, EngineError> {
    let document = &proposal.document;
    let (kind, agent, steps, parameters) = match document {
        Document::Skill(skill) => {
            let steps = skill.execution_plan.steps.iter().map(|step| StepShown {
                step: &step.step_id,
                tool: &step.tool_id,
                writes: false,
                undone_by: None,
            });
            let agent = skill.grounding_agent.as_ref();
            ("skill", agent, steps.collect(), skill.parameters.clone())
        }
        Document::Playbook(playbook) => {
            let undone_by = |step: &StepId| {
                let mut rollbacks = playbook.rollback_steps.iter();
                rollbacks
                    .find(|rollback| rollback.reverses == *step)
                    .and_then(|rollback| rollback.tool_id.as_ref())
            };
            let steps = playbook.steps.iter().map(|step| StepShown {
                step: &step.step_id,
                tool: &step.tool_id,
                writes: step.step_type == StepType::Write,
                undone_by: undone_by(&step.step_id),
            });
            let agent = playbook.grounding_agent.as_ref();
            (
                "playbook",
                agent,
                steps.collect(),
                playbook.declared_parameters(),
            )
        }
        other => {
            let cause = format!("a {} cannot be a candidate", other.kind());
            return Err(EngineError::internal("showing a candidate", cause));
        }
    };
    Ok(Shown {
        id: document.id().into_owned(),
        kind,
        is_candidate: document.is_candidate(),
        package: proposal.origin.package.as_ref(),
        package_version: &proposal.origin.version,
        grounding_agent: agent,
        steps,
        parameters,
    })
}

/// Formats the answer as text: the candidate, its steps, its parameters, and the next action.
fn content(shown: &Shown<'_>, flow: Flow) -> String {
    let Shown { id, kind, .. } = shown;
    let agent = shown.grounding_agent.map_or("", AsRef::as_ref);
    let made = if shown.is_candidate {
        format!(
            "The {kind} `{id}` was generated from registered tools within the boundary of `{agent}`. It is a candidate"
        )
    } else {
        format!(
            "The {kind} `{id}`, which an operator accepted, was generated for this request. These words do not route \
             to it"
        )
    };
    let missed = if flow == Flow::CodeGenDirect {
        ""
    } else {
        "Nothing registered matches this request. "
    };
    let mut lines = vec![format!("{missed}{made}; nothing has been run.")];
    for step in &shown.steps {
        let does = if step.writes { "writes" } else { "reads" };
        let undone = match step.undone_by {
            Some(tool) => format!(", undone by {tool}"),
            None if step.writes => ", no registered tool undoes it".to_owned(),
            None => String::new(),
        };
        lines.push(format!("- {} {does}: {}{undone}", step.step, step.tool));
    }
    let needed = shown.parameters.iter().filter(|p| p.required);
    let needed: Vec<&Parameter> = needed.filter(|p| p.default.is_none()).collect();
    for parameter in &needed {
        let about = match parameter.description.as_str() {
            "" => String::new(),
            description => format!(" ({description})"),
        };
        lines.push(format!("It needs {}{about}.", parameter.name));
    }
    let values = needed.iter().map(|p| format!(" -p {}=…", p.name));
    let values: String = values.collect();
    lines.push(match *kind {
        "playbook" => format!(
            "Start it: charter playbook run {id}{values} — every write waits for an approval."
        ),
        _ => format!("Run it: charter ask \"…\" --skill {id}{values}"),
    });
    if shown.is_candidate {
        lines.push(format!(
            "After a successful run an operator may accept it: charter candidate promote {id} --run RUN. To remove \
             it: charter package unregister {} --scope tenant",
            shown.package
        ));
    }
    lines.join("\n")
}
