//! Every rule that the gate considers for one effect, in order of evaluation, with its result. The decision is a fold
//! over these results; an explanation records them. Reasons are formatted only when they are read.

use std::fmt;

use charter_contract::bounds::GUARDRAILS_PER_CALL;
use charter_contract::catalogue::guardrail::Enforcement;
use charter_contract::catalogue::playbook::SafetyClass;
use charter_contract::catalogue::tool::{Tool, ToolClass};
use schemars::JsonSchema;
use serde::Serialize;

use super::{GateDecision, GateInput, RuleKind, RuleResult, described, facts};
use crate::expression::Budget;
use crate::guardrail::{self, ApplicableGuardrail, EffectClass, GuardrailMatch};
use crate::rate_limit::{BucketLevel, RateLimitExceeded};

/// The result of a rule for an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "RuleEffect")]
#[serde(rename_all = "snake_case")]
pub enum RuleEffect {
    /// The rule denies the effect.
    Deny,
    /// The rule requires approval.
    RequireApproval,
    /// The rule allows the effect with a warning.
    Warn,
    /// The rule allows the effect.
    Allow,
    /// The rule does not apply to the effect.
    NotApplicable,
}

/// One rule with its result for an effect, and the reason.
#[derive(Debug, Clone, PartialEq)]
pub struct ConsideredRule<'a> {
    /// The kind of the rule.
    pub kind: RuleKind,
    /// The rule's id: that of a guardrail, tool, playbook or plan.
    pub id: &'a str,
    /// The result.
    pub says: RuleEffect,
    /// The reason for the result.
    pub why: RuleReason<'a>,
}

/// The reason for a rule's result. `Display` writes a sentence for people.
#[derive(Debug, Clone, PartialEq)]
pub enum RuleReason<'a> {
    /// The caller is below the tool's permission level.
    BelowLevel(&'a Tool),
    /// The caller has the tool's permission level.
    HasLevel(&'a Tool),
    /// The tool is reserved for the server.
    Internal(&'a Tool),
    /// The tool writes, and the step is declared as reading.
    StepOnlyReads(&'a Tool),
    /// The step may use a tool of this class.
    ClassFits(&'a Tool),
    /// More guardrails apply to the call than the gate evaluates.
    TooManyGuardrails(usize),
    /// The guardrail's match.
    Guardrail(&'a ApplicableGuardrail, GuardrailMatch<'a>),
    /// The tool requires approval of each call.
    EachCallApproved(&'a Tool),
    /// The tool requires no approval.
    NoCallApproved(&'a Tool),
    /// Nothing changes, so no approval is needed.
    NothingChanges,
    /// The call only reads.
    OnlyReads,
    /// A playbook of this class has each write approved.
    EachWriteApproved(SafetyClass),
    /// An automated playbook is approved in advance (ruling 27).
    ApprovedInAdvance,
    /// The playbook lists the step for review.
    Reviewed,
    /// The playbook does not list the step for review.
    NotReviewed,
    /// The step is a mission's proposal, which needs approval.
    Proposal,
    /// The step is a mission's call, but not a proposal that needs approval.
    NoProposal,
    /// The plan is not registered.
    Unregistered,
    /// The call began before, and its outcome is unknown.
    MayHappenTwice,
    /// The call did not begin before, or a repeat is harmless.
    NotInterrupted,
    /// The tool has no rate limit.
    Unlimited,
    /// The number of calls that are allowed now.
    Left(BucketLevel),
    /// The number of seconds until the next call is allowed.
    Wait(u64),
    /// A reversal is counted and never denied: half a rollback is worse than one call over the limit.
    ReversalGoes,
}

impl ConsideredRule<'_> {
    /// Returns the rule in the form that decisions use.
    #[must_use]
    pub fn rule(&self) -> RuleResult {
        let RuleReason::Guardrail(guardrail, _) = &self.why else {
            return RuleResult::new(self.kind, self.id, self.why.to_string());
        };
        let message = guardrail.found.document().message.as_str();
        RuleResult {
            note: self.note().cloned(),
            ..RuleResult::new(self.kind, self.id, message)
        }
    }

    /// Returns the denial by this rule, if it denies the effect.
    #[must_use]
    pub fn refusal(&self) -> Option<GateDecision> {
        (self.says == RuleEffect::Deny).then(|| GateDecision::Deny {
            rules: vec![self.rule()],
        })
    }

    /// Returns the reason why an expression of a guardrail could not be evaluated, if it could not.
    #[must_use]
    pub fn note(&self) -> Option<&String> {
        let RuleReason::Guardrail(_, GuardrailMatch::Bears { note }) = &self.why else {
            return None;
        };
        note.as_ref()
    }
}

/// Passes on every rule except policies and the rate limit: first those that may deny, then those that require approval
/// or warn.
pub(super) fn consider<'a>(question: &GateInput<'a>, hear: &mut impl FnMut(ConsideredRule<'a>)) {
    hear(level(question));
    hear(class(question));
    guardrails(question, hear);
    hear(each_call(question));
    safety(question, hear);
    hear(interrupted(question));
}

/// Denies a call with more guardrails than the gate evaluates, because the gate must not choose which to skip.
fn guardrails<'a>(question: &GateInput<'a>, hear: &mut impl FnMut(ConsideredRule<'a>)) {
    let count = question.guardrails.len();
    if count > GUARDRAILS_PER_CALL {
        let (says, why) = (RuleEffect::Deny, RuleReason::TooManyGuardrails(count));
        hear(of_tool(RuleKind::Guardrail, question.tool, says, why));
        return;
    }
    if count == 0 {
        return;
    }
    let tool = described(question.tool);
    let facts = facts(&tool, question);
    let budget = &mut Budget::default();
    for resolved in guardrail::strictest_first(question.guardrails) {
        let word = guardrail::word(resolved, question.class(), &facts, budget);
        hear(ruled(resolved, word));
    }
}

fn level<'a>(question: &GateInput<'a>) -> ConsideredRule<'a> {
    let tool = question.tool;
    let (says, why) = if question.permitted {
        (RuleEffect::Allow, RuleReason::HasLevel(tool))
    } else {
        (RuleEffect::Deny, RuleReason::BelowLevel(tool))
    };
    of_tool(RuleKind::Permission, tool, says, why)
}

fn class<'a>(question: &GateInput<'a>) -> ConsideredRule<'a> {
    let tool = question.tool;
    let (says, why) = match tool.tool_class {
        ToolClass::Internal if question.stage => (RuleEffect::Allow, RuleReason::ClassFits(tool)),
        ToolClass::Internal => (RuleEffect::Deny, RuleReason::Internal(tool)),
        ToolClass::Write if !question.may_write => {
            (RuleEffect::Deny, RuleReason::StepOnlyReads(tool))
        }
        ToolClass::Write | ToolClass::Readonly => (RuleEffect::Allow, RuleReason::ClassFits(tool)),
    };
    of_tool(RuleKind::Permission, tool, says, why)
}

pub(super) fn ruled<'a>(
    guardrail: &'a ApplicableGuardrail,
    word: GuardrailMatch<'a>,
) -> ConsideredRule<'a> {
    let document = guardrail.found.document();
    let says = match (&word, document.enforcement) {
        (
            GuardrailMatch::Excepted(_)
            | GuardrailMatch::Elsewhere(_)
            | GuardrailMatch::OnWritesOnly,
            _,
        ) => RuleEffect::NotApplicable,
        (GuardrailMatch::Bears { .. }, Enforcement::HardBlock) => RuleEffect::Deny,
        (GuardrailMatch::Bears { .. }, Enforcement::RequireApproval) => RuleEffect::RequireApproval,
        (GuardrailMatch::Bears { .. }, Enforcement::SoftWarn) => RuleEffect::Warn,
    };
    ConsideredRule {
        kind: RuleKind::Guardrail,
        id: document.guardrail_id.as_ref(),
        says,
        why: RuleReason::Guardrail(guardrail, word),
    }
}

/// Ruling 10, besides guardrails. A dry run changes nothing, so it needs no approval.
fn each_call<'a>(question: &GateInput<'a>) -> ConsideredRule<'a> {
    let tool = question.tool;
    let (says, why) = match tool.requires_approval {
        false => (RuleEffect::NotApplicable, RuleReason::NoCallApproved(tool)),
        true if question.dry_run => (RuleEffect::NotApplicable, RuleReason::NothingChanges),
        true => (
            RuleEffect::RequireApproval,
            RuleReason::EachCallApproved(tool),
        ),
    };
    of_tool(RuleKind::Tool, tool, says, why)
}

fn safety<'a>(question: &GateInput<'a>, hear: &mut impl FnMut(ConsideredRule<'a>)) {
    let of = |id, says, why| ConsideredRule {
        kind: RuleKind::Safety,
        id,
        says,
        why,
    };
    if let Some((playbook, class)) = question.safety.playbook {
        let (says, why) = match class {
            SafetyClass::Automated => (RuleEffect::NotApplicable, RuleReason::ApprovedInAdvance),
            SafetyClass::Supervised | SafetyClass::Destructive => {
                on_writes(question, RuleReason::EachWriteApproved(class))
            }
        };
        hear(of(playbook, says, why));
        // An approval of the write is also the review of the step.
        if says != RuleEffect::RequireApproval {
            let (says, why) = match question.safety.reviewed {
                false => (RuleEffect::NotApplicable, RuleReason::NotReviewed),
                true if question.dry_run => (RuleEffect::NotApplicable, RuleReason::NothingChanges),
                true => (RuleEffect::RequireApproval, RuleReason::Reviewed),
            };
            hear(of(playbook, says, why));
        }
    }
    if let Some(mission) = question.safety.mission {
        let (says, why) = match question.safety.reviewed {
            false => (RuleEffect::NotApplicable, RuleReason::NoProposal),
            true => on_writes(question, RuleReason::Proposal),
        };
        hear(of(mission, says, why));
    }
    // Such a plan was never reviewed, so it needs at least the approvals of a supervised playbook.
    if let Some(plan) = question.safety.unregistered {
        let (says, why) = on_writes(question, RuleReason::Unregistered);
        hear(of(plan, says, why));
    }
}

fn interrupted<'a>(question: &GateInput<'a>) -> ConsideredRule<'a> {
    let (says, why) = if question.interrupted {
        on_writes(question, RuleReason::MayHappenTwice)
    } else {
        (RuleEffect::NotApplicable, RuleReason::NotInterrupted)
    };
    of_tool(RuleKind::Interrupted, question.tool, says, why)
}

/// Returns the result of a rule that requires approval of each write.
fn on_writes<'a>(question: &GateInput<'a>, asks: RuleReason<'a>) -> (RuleEffect, RuleReason<'a>) {
    match question.class() {
        EffectClass::Read | EffectClass::Answer => {
            (RuleEffect::NotApplicable, RuleReason::OnlyReads)
        }
        EffectClass::Write if question.dry_run => {
            (RuleEffect::NotApplicable, RuleReason::NothingChanges)
        }
        EffectClass::Write => (RuleEffect::RequireApproval, asks),
    }
}

/// Returns the result of a tool's rate limit for the state of its bucket. Evaluated last, so that only calls that
/// happen are counted.
#[must_use]
pub fn rate_limit(
    tool: &Tool,
    bucket: Option<Result<BucketLevel, RateLimitExceeded>>,
    reverses: bool,
) -> ConsideredRule<'_> {
    let (says, why) = match bucket {
        None => (RuleEffect::NotApplicable, RuleReason::Unlimited),
        Some(Ok(left)) => (RuleEffect::Allow, RuleReason::Left(left)),
        Some(Err(_)) if reverses => (RuleEffect::Allow, RuleReason::ReversalGoes),
        Some(Err(wait)) => (
            RuleEffect::Deny,
            RuleReason::Wait(wait.wait_ms.div_ceil(1_000)),
        ),
    };
    of_tool(RuleKind::RateLimit, tool, says, why)
}

fn of_tool<'a>(
    kind: RuleKind,
    tool: &'a Tool,
    says: RuleEffect,
    why: RuleReason<'a>,
) -> ConsideredRule<'a> {
    ConsideredRule {
        kind,
        id: tool.tool_id.as_ref(),
        says,
        why,
    }
}

impl fmt::Display for RuleReason<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BelowLevel(tool) => write!(
                f,
                "The tool `{}` needs the permission level {}.",
                tool.tool_id, tool.permission_level
            ),
            Self::HasLevel(tool) => write!(
                f,
                "The caller has the permission level {} that `{}` needs.",
                tool.permission_level, tool.tool_id
            ),
            Self::Internal(tool) => write!(f, "The tool `{}` is internal.", tool.tool_id),
            Self::StepOnlyReads(tool) => write!(
                f,
                "Only a step that is declared to write may use `{}`, which is a write tool.",
                tool.tool_id
            ),
            Self::ClassFits(tool) => write!(f, "The step may use a {} tool.", tool.tool_class),
            Self::TooManyGuardrails(count) => write!(
                f,
                "{count} guardrails apply to this call; the limit is {GUARDRAILS_PER_CALL} (GUARDRAILS_PER_CALL): \
                 narrow their `applies_to`, or merge them."
            ),
            Self::Guardrail(guardrail, word) => of_guardrail(f, guardrail, word),
            Self::EachCallApproved(tool) => {
                write!(f, "Each call of `{}` needs an approval.", tool.tool_id)
            }
            Self::NoCallApproved(tool) => {
                write!(f, "`{}` does not need an approval of each call.", tool.tool_id)
            }
            Self::NothingChanges => f.write_str("A call that changes nothing needs no approval."),
            Self::OnlyReads => f.write_str("The rule is about writes; this call only reads."),
            Self::EachWriteApproved(class) => {
                write!(f, "Each write of a {class} playbook needs an approval.")
            }
            Self::ApprovedInAdvance => {
                f.write_str("An automated playbook is approved in advance.")
            }
            Self::Reviewed => f.write_str("The playbook lists this step for human review."),
            Self::NotReviewed => f.write_str("The playbook does not list this step for review."),
            Self::Proposal => {
                f.write_str("A mission's write-back proposal needs an approval.")
            }
            Self::NoProposal => f.write_str(
                "The call is not a proposal of the mission, or its proposal needs no approval.",
            ),
            Self::Unregistered => f.write_str(
                "Each write of an unregistered plan needs an approval.",
            ),
            Self::MayHappenTwice => f.write_str(
                "An earlier attempt was started and its outcome is unknown; a repeat may do it twice.",
            ),
            Self::NotInterrupted => {
                f.write_str("No earlier attempt was interrupted, or a repeat is harmless.")
            }
            Self::Unlimited => f.write_str("The tool has no rate limit."),
            Self::Left(BucketLevel { calls, burst }) => {
                write!(f, "{calls} of {burst} calls are left.")
            }
            Self::Wait(seconds) => write!(f, "The tool may be called again in {seconds} s."),
            Self::ReversalGoes => f.write_str("A reversal is never rate limited."),
        }
    }
}

fn of_guardrail(
    f: &mut fmt::Formatter<'_>,
    guardrail: &ApplicableGuardrail,
    word: &GuardrailMatch<'_>,
) -> fmt::Result {
    let document = guardrail.found.document();
    match (word, &document.when) {
        (GuardrailMatch::Excepted(exception), _) => {
            return write!(f, "Its exception `{exception}` holds.");
        }
        (GuardrailMatch::Elsewhere(when), _) => {
            return write!(f, "Its condition `{when}` is false.");
        }
        (GuardrailMatch::OnWritesOnly, _) => {
            let why = "It has no condition, so it applies to writes only; this call reads.";
            return f.write_str(why);
        }
        (GuardrailMatch::Bears { .. }, Some(when)) => write!(f, "Its condition is `{when}`")?,
        (GuardrailMatch::Bears { .. }, None) => f.write_str("It applies to every write")?,
    }
    match document.exceptions.len() {
        0 => f.write_str("."),
        1 => f.write_str(", and its exception does not hold."),
        _ => f.write_str(", and none of its exceptions holds."),
    }
}
