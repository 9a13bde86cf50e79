//! The generator that needs no model: the nearest tools, joined by their contracts. The same brief
//! gives the same document.

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

/// Most tools that a skill is made to call for their own sake; those that feed them come on top.
const MAX_GOALS: usize = 3;
/// Time limit of a candidate playbook's work, in seconds.
const TIMEOUT_S: u64 = 600;
/// The kind of output of a skill that has no rules: what its tools returned.
const OUTPUT_TYPE: &str = "inventory";

/// The skill or playbook that the nearest tools come to.
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

/// What a candidate says of itself.
pub(super) struct CandidateText {
    pub(super) name: Text,
    pub(super) description: Text,
    /// What it answers: the request that it was made for comes first.
    pub(super) requests: Vec<Text>,
}

/// The request's words, and what the tools do.
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

/// A reversal for every write that a registered playbook knows how to reverse.
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

/// Whether arguments name every parameter that a tool needs, and none that it does not have.
pub(super) fn is_called_fully(
    brief: &Brief,
    tool: &ToolId,
    arguments: &Map<String, Value>,
) -> bool {
    let Some(tool) = brief.boundary.tool(tool) else {
        return false;
    };
    let mut needed = tool.parameters.iter().filter(|p| is_needed(p));
    let known = |name: &String| tool.parameters.iter().any(|p| p.name.as_ref() == name);
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

/// What a tool does, in a sentence.
fn about(tool: &Tool) -> String {
    let description = plain(tool.description.as_str());
    let sentence = description.split_inclusive(". ").next();
    shortened(sentence.unwrap_or_default().trim_end())
}
