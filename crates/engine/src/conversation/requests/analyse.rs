//! The results of a skill's run, for the answer.

use charter_contract::agentic::response::ActionType;
use charter_contract::catalogue::DocumentKind;
use charter_contract::catalogue::builtin::Builtin;
use charter_contract::catalogue::skill::Skill;
use charter_contract::catalogue::tool::ANALYSIS_TOOL;
use charter_contract::finding::Finding;
use charter_contract::ids::{EvidenceId, RunId, SkillId, StepId, ToolId};
use charter_domain::answer::outline;
use charter_domain::guardrail::RequestTags;
use charter_domain::run::{DocumentPin, ResultSource, Run, RunEvent, TokenUsage};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::parameters::ParameterView;
use super::run_service::RequestRunService;
use crate::EngineError;
use crate::conversation::analysis::Drafting;
use crate::execution::runs::{DrivenRun, HistoryEvent, LoadedRun};

/// The results of a skill's run. [`super::words`] adds the texts, after the answer of a model if one is asked.
#[derive(Debug)]
pub(crate) struct SkillAnalysis {
    pub(crate) skill: Skill,
    /// The version of the skill that the run executed.
    pub(crate) pin: Option<DocumentPin>,
    pub(crate) findings: Vec<Finding>,
    pub(crate) evidence: Vec<EvidenceId>,
    pub(crate) warnings: Vec<String>,
    pub(crate) calls: Vec<Call>,
    /// The parameters of its run.
    pub(crate) parameters: Vec<ParameterView>,
    /// The answered question.
    pub(crate) tags: RequestTags,
    /// The results, as people read them, of a skill without rules.
    pub(crate) outlines: Vec<String>,
    pub(crate) summary: Option<String>,
    /// How the run's own analysis by a model ended, where it has one.
    pub(crate) drafted: Option<Drafting>,
    /// Tokens that models used for the run.
    pub(crate) tokens: TokenUsage,
}

/// The contribution of one skill.
#[derive(Debug)]
pub(super) struct SkillResult {
    pub(super) skill: SkillId,
    pub(super) run_id: RunId,
    pub(super) outcome: Result<SkillAnalysis, EngineError>,
}

/// One tool call of the run, as the response shows it.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) tool: ToolId,
    pub(crate) step: StepId,
    pub(crate) source: ResultSource,
    pub(crate) duration_ms: u64,
    pub(crate) at: charter_contract::time::Timestamp,
    /// The actions that a built-in tool reports.
    pub(crate) actions: Vec<ToolAction>,
}

/// An action as a built-in tool reports it. Its time comes from the journal.
#[derive(Debug, serde::Deserialize)]
pub(crate) struct ToolAction {
    pub(crate) action_type: ActionType,
    pub(crate) details: Map<String, Value>,
}

impl RequestRunService {
    /// Returns the examined results of a skill's run, and reads how a model has analysed them.
    pub(super) async fn analyse(&self, driven: DrivenRun) -> Result<SkillAnalysis, EngineError> {
        let DrivenRun {
            run,
            pinned,
            history,
            examined,
        } = driven;
        let (tenant, skill) = (&pinned.workspace.tenant, pinned.skill()?);
        let history = match history {
            Some(history) => history,
            None => self.journals.history(tenant, run.id()).await?,
        };
        let examined = match examined {
            Some(examined) => examined?,
            // An earlier attempt or another replica ended the run, maybe with a version that ended runs before their
            // evidence was recorded.
            None => self.run_evidence.examine(&pinned, &run, &history).await?,
        };
        let mut pins = run.pins().iter();
        Ok(SkillAnalysis {
            pin: pins.find(|pin| pin.kind == DocumentKind::Skill).cloned(),
            outlines: match skill.has_rules() {
                true => Vec::new(),
                false => outlines(&skill, &pinned, &run),
            },
            drafted: Drafting::from_run(&run),
            tokens: run.tokens(),
            parameters: ParameterView::of_run(&run),
            tags: pinned.workspace.tags.clone(),
            evidence: examined.evidence.into_values().collect(),
            calls: calls(&run, &history),
            findings: examined.findings,
            warnings: examined.warnings,
            summary: None,
            skill,
        })
    }
}

fn calls(run: &Run, history: &[HistoryEvent]) -> Vec<Call> {
    history
        .iter()
        .filter_map(|entry| match &entry.event {
            RunEvent::StepSucceeded {
                step,
                source,
                duration_ms,
                ..
            } => {
                let tool = run.graph().step(step)?.tool()?.clone();
                // Putting results into words is no call of a tool.
                if tool.as_str() == ANALYSIS_TOOL {
                    return None;
                }
                Some(Call {
                    actions: tool_actions(&tool, run.outputs().get(step)),
                    tool,
                    step: step.clone(),
                    source: source.clone(),
                    duration_ms: *duration_ms,
                    at: entry.at,
                })
            }
            _ => None,
        })
        .collect()
}

/// The actions in a built-in tool's output. Others may call a field so, and mean something else.
fn tool_actions(tool: &ToolId, output: Option<&Value>) -> Vec<ToolAction> {
    let told = Builtin::from_tool_id(tool)
        .and(output)
        .and_then(|output| output.get("actions"));
    let told = told.map(Vec::deserialize);
    told.and_then(Result::ok).unwrap_or_default()
}

/// The results of a skill without rules, each under what its step is for.
fn outlines(skill: &Skill, pinned: &LoadedRun, run: &Run) -> Vec<String> {
    let steps = skill.execution_plan.steps.iter();
    let outlines = steps.filter_map(|step| {
        let output: &Value = run.outputs().get(&step.step_id)?;
        let tool = pinned.workspace.tools.get(&step.tool_id)?;
        let tool = &tool.entry.document;
        let name = match step.description.trim() {
            "" => tool.description.as_str(),
            description => description,
        };
        Some(outline(name, output, tool.output_schema.as_ref()))
    });
    outlines.collect()
}
