//! The generator that needs no model: it joins the nearest tools by their contracts. It is deterministic: equal briefs
//! give equal documents.

use charter_contract::catalogue::Document;
use charter_contract::catalogue::playbook::{
    Playbook, PlaybookContext, PlaybookStep, RollbackStep, Safety, SafetyClass,
};
use charter_contract::catalogue::skill::{Skill, SkillContext, SkillPlan, SkillStep};
use charter_contract::catalogue::tool::{Tool, ToolClass};
use charter_contract::catalogue::vocabulary::{GeneratedBy, OnFailure, Status, StepType, Tier};
use charter_contract::ids::{IdError, Label, PlaybookId, SkillId, StepId, ToolId};
use charter_contract::number::Positive;
use charter_contract::text::Text;
use serde_json::{Map, Value};

use super::plan::{Plan, PlannedStep, is_needed};
use super::{Brief, CandidateKind, NoFit, plain, shortened};

/// The maximum number of goal tools of a skill. The tools that supply their inputs are not counted.
const MAX_GOALS: usize = 3;
/// Time limit of a candidate playbook's work, in seconds.
const TIMEOUT_S: u64 = 600;
/// The kind of output of a skill that has no rules: what its tools returned.
const OUTPUT_TYPE: &str = "inventory";

/// Composes a skill or playbook from the nearest tools.
///
/// # Errors
/// [`NoFit`].
pub fn compose(brief: &Brief) -> Result<Document, NoFit> {
    let readers = brief.of_class(ToolClass::Readonly);
    let writers = brief.of_class(ToolClass::Write);
    if readers.is_empty() && writers.is_empty() {
        return Err(NoFit::NothingNear);
    }
    let names = |tools: &[&Tool]| tools.iter().map(|tool| tool.tool_id.clone()).collect();
    match (brief.wanted, writers.first()) {
        (CandidateKind::Read, _) if readers.is_empty() => Err(NoFit::OnlyWrites(names(&writers))),
        (CandidateKind::Read, _) => {
            let goals = &readers[..readers.len().min(MAX_GOALS)];
            let plan = Plan::reaching(goals, &readers)?;
            skill(brief, &plan, repeated(brief, &plan)?).map(Document::Skill)
        }
        (CandidateKind::Change, None) => Err(NoFit::OnlyReads(names(&readers))),
        (CandidateKind::Change, Some(writer)) => {
            let plan = Plan::reaching(&[*writer], &readers)?;
            playbook(brief, &plan, repeated(brief, &plan)?).map(Document::Playbook)
        }
    }
}

/// The descriptive texts of a candidate.
pub(super) struct CandidateText {
    pub(super) name: Text,
    pub(super) description: Text,
    /// Requests that the candidate answers, starting with the request that it was made for.
    pub(super) requests: Vec<Text>,
}

/// Returns the request's words, and a description of the tools' effects.
fn repeated(brief: &Brief, plan: &Plan<'_>) -> Result<CandidateText, NoFit> {
    let does: Vec<String> = plan.steps.iter().map(|step| about(step.tool)).collect();
    let said = Text::parse(&brief.words.shown())?;
    Ok(CandidateText {
        name: said.clone(),
        description: Text::parse(&shortened(&does.join(" ")))?,
        requests: vec![said],
    })
}

pub(super) fn skill(brief: &Brief, plan: &Plan<'_>, told: CandidateText) -> Result<Skill, NoFit> {
    let steps = plan.steps.iter().map(|step| SkillStep {
        step_id: step.id.clone(),
        step_type: StepType::Readonly,
        tool_id: step.tool.tool_id.clone(),
        description: about(step.tool),
        cache_ttl_seconds: None,
        parameters: step.arguments.clone(),
        depends_on: Vec::new(),
        timeout_ms: step.tool.timeout_ms,
        on_failure: None,
    });
    Ok(Skill {
        skill_id: SkillId::parse(&brief.document_id())?,
        name: Label::parse(&brief.name())?,
        domain: brief.boundary.domain().clone(),
        tier: Tier::default(),
        is_candidate: true,
        generated_by: GeneratedBy::CodeAgent,
        grounding_agent: Some(brief.boundary.agent().clone()),
        tenant_id: None,
        status: Status::Active,
        display_name: told.name,
        description: told.description,
        purpose: request_text(brief)?,
        capabilities: Vec::new(),
        capability_id: None,
        context: SkillContext {
            context_descriptions: Vec::new(),
            supported_context_types: contexts(brief, plan),
        },
        output_type: Label::parse(OUTPUT_TYPE)?,
        execution_plan: SkillPlan {
            steps: steps.collect(),
        },
        approach_hints: Vec::new(),
        examples: told.requests,
        parameters: plan.parameters.clone(),
        analysis: None,
        version: None,
        created_at: None,
        updated_at: None,
        embedding: None,
    })
}

pub(super) fn playbook(
    brief: &Brief,
    plan: &Plan<'_>,
    told: CandidateText,
) -> Result<Playbook, NoFit> {
    let rollback_steps = rollbacks(brief, plan)?;
    let is_reversed = |step: &PlannedStep<'_>| {
        let mut rollbacks = rollback_steps.iter();
        rollbacks.any(|rollback| rollback.reverses == step.id)
    };
    let steps = plan.steps.iter().map(|step| PlaybookStep {
        step_id: step.id.clone(),
        name: Text::parse(&about(step.tool)).ok(),
        step_type: if writes(step.tool) {
            StepType::Write
        } else {
            StepType::Readonly
        },
        tool_id: step.tool.tool_id.clone(),
        required: true,
        on_failure: if is_reversed(step) {
            OnFailure::Rollback
        } else {
            OnFailure::Stop
        },
        parameters: step.arguments.clone(),
        for_each: None,
        timeout_ms: step.tool.timeout_ms,
    });
    let steps: Vec<PlaybookStep> = steps.collect();
    let (mandatory, optional) = plan.parameters.iter().cloned().partition(is_needed);
    let review = plan.steps.iter().filter(|step| writes(step.tool));
    let review: Vec<StepId> = review.map(|step| step.id.clone()).collect();
    Ok(Playbook {
        playbook_id: PlaybookId::parse(&brief.document_id())?,
        name: told.name,
        domain: brief.boundary.domain().clone(),
        tier: Tier::default(),
        is_candidate: true,
        generated_by: GeneratedBy::CodeAgent,
        grounding_agent: Some(brief.boundary.agent().clone()),
        tenant_id: None,
        status: Status::Active,
        trigger_conditions: vec![request_text(brief)?],
        examples: told.requests,
        context: PlaybookContext {
            supported_context_types: contexts(brief, plan),
            ..PlaybookContext::default()
        },
        steps,
        scripts: Vec::new(),
        target_language: None,
        mandatory_parameters: mandatory,
        optional_parameters: optional,
        parameters_from_findings: None,
        rollback_support: !rollback_steps.is_empty(),
        rollback_steps,
        approach_hints: Vec::new(),
        execution_timeout: Positive::new(TIMEOUT_S),
        safety: Safety {
            safety_class: SafetyClass::Supervised,
            requires_human_review_for: review,
            resource_parameter: None,
        },
        evidence_requirements: Vec::new(),
        version: None,
        created_at: None,
        updated_at: None,
        embedding: None,
    })
}

/// Returns a reversal for every write that a registered playbook reverses.
fn rollbacks(brief: &Brief, plan: &Plan<'_>) -> Result<Vec<RollbackStep>, NoFit> {
    let mut rollbacks = Vec::new();
    for step in plan.steps.iter().filter(|step| writes(step.tool)) {
        let mut known = brief.boundary.reversal_of(&step.tool.tool_id);
        let usable = known.find_map(|reversal| {
            let arguments = plan.translated(&step.id, reversal)?;
            is_called_fully(brief, &reversal.by, &arguments).then_some((&reversal.by, arguments))
        });
        if let Some((by, parameters)) = usable {
            rollbacks.push(RollbackStep {
                step_id: StepId::parse(&format!("undo_{}", step.id))?,
                script_id: None,
                tool_id: Some(by.clone()),
                parameters,
                reverses: step.id.clone(),
            });
        }
    }
    Ok(rollbacks)
}

/// Returns whether arguments name every required parameter of a tool, and no unknown parameter.
pub(super) fn is_called_fully(
    brief: &Brief,
    tool: &ToolId,
    arguments: &Map<String, Value>,
) -> bool {
    let Some(tool) = brief.boundary.tool(tool) else {
        return false;
    };
    let mut needed = tool.parameters().iter().filter(|p| is_needed(p));
    let known = |name: &String| tool.parameters().iter().any(|p| p.name.as_ref() == name);
    needed.all(|p| arguments.contains_key(p.name.as_ref())) && arguments.keys().all(known)
}

fn contexts(brief: &Brief, plan: &Plan<'_>) -> Vec<Label> {
    let tools = plan.steps.iter().map(|step| &step.tool.tool_id);
    brief.boundary.contexts_of(tools)
}

fn writes(tool: &Tool) -> bool {
    tool.tool_class == ToolClass::Write
}

fn request_text(brief: &Brief) -> Result<Text, IdError> {
    Text::parse(&brief.words.shown())
}

/// Returns the first sentence of a tool's description.
fn about(tool: &Tool) -> String {
    let description = plain(tool.description.as_str());
    let sentence = description.split_inclusive(". ").next();
    shortened(sentence.unwrap_or_default().trim_end())
}
