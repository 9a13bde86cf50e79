//! Every rule that the gate considers about one effect, in the order in which it asks them, and what
//! each says. The decision is a fold over this; an explanation keeps it. Writes nothing out: reasons
//! are put into words for whoever reads them.

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

/// What a rule says about an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "RuleEffect")]
#[serde(rename_all = "snake_case")]
pub enum RuleEffect {
    /// It may not happen.
    Deny,
    /// A person has to agree first.
    RequireApproval,
    /// It may happen, and this is said along with it.
    Warn,
    /// It may happen, as far as this rule goes.
    Allow,
    /// Nothing: this effect is not what it is about.
    NotApplicable,
}

/// One rule, what it says about an effect, and why.
#[derive(Debug, Clone, PartialEq)]
pub struct ConsideredRule<'a> {
    /// What kind of rule.
    pub kind: RuleKind,
    /// Which one: a guardrail's id, a tool's, a playbook's, a plan's.
    pub id: &'a str,
    /// What it says.
    pub says: RuleEffect,
    /// Why it says that.
    pub why: RuleReason<'a>,
}

/// Why a rule says what it says. `Display` is a sentence for people.
#[derive(Debug, Clone, PartialEq)]
pub enum RuleReason<'a> {
    /// The caller is below the tool's permission level.
    BelowLevel(&'a Tool),
    /// The caller has the tool's permission level.
    HasLevel(&'a Tool),
    /// The tool is for the server's own use.
    Internal(&'a Tool),
    /// The tool writes, and the step is not declared to.
    StepOnlyReads(&'a Tool),
    /// The step may use a tool of this class.
    ClassFits(&'a Tool),
    /// More guardrails bear on the call than are asked.
    TooManyGuardrails(usize),
    /// What the guardrail says.
    Guardrail(&'a ApplicableGuardrail, GuardrailMatch<'a>),
    /// The tool asks for an approval of each call.
    EachCallApproved(&'a Tool),
    /// The tool does not.
    NoCallApproved(&'a Tool),
    /// Nobody is asked about what changes nothing.
    NothingChanges,
    /// The call only reads.
    OnlyReads,
    /// A playbook of this class has each write approved.
    EachWriteApproved(SafetyClass),
    /// An automated playbook is approved in advance (ruling 27).
    ApprovedInAdvance,
    /// The playbook lists the step for review.
    Reviewed,
    /// It does not.
    NotReviewed,
    /// It is a mission's proposal, which a person has to approve.
    Proposal,
    /// It is a mission's call, and no proposal that a person has to approve.
    NoProposal,
    /// Nobody registered the plan.
    Unregistered,
    /// It was begun before, and nobody knows how that ended.
    MayHappenTwice,
    /// It was not begun before, or a repeat is harmless.
    NotInterrupted,
    /// The tool has no rate limit.
    Unlimited,
    /// So many calls may happen now.
    Left(BucketLevel),
    /// The next call may happen in so many seconds.
    Wait(u64),
    /// A reversal is counted and never refused: half a rollback is worse than a call too many.
    ReversalGoes,
}

impl ConsideredRule<'_> {
    /// The rule, as a decision names it.
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

    /// The decision, where this rule refuses what every other allows.
    #[must_use]
    pub fn refusal(&self) -> Option<GateDecision> {
        (self.says == RuleEffect::Deny).then(|| GateDecision::Deny {
            rules: vec![self.rule()],
        })
    }

    /// Why an expression of a guardrail had no answer, where one had none.
    #[must_use]
    pub fn note(&self) -> Option<&String> {
        let RuleReason::Guardrail(_, GuardrailMatch::Bears { note }) = &self.why else {
            return None;
        };
        note.as_ref()
    }
}

/// Tells of every rule but policy and the rate limit: what may refuse first, then what asks for a
/// person or warns.
pub(super) fn consider<'a>(question: &GateInput<'a>, hear: &mut impl FnMut(ConsideredRule<'a>)) {
    hear(level(question));
    hear(class(question));
    guardrails(question, hear);
    hear(each_call(question));
    safety(question, hear);
    hear(interrupted(question));
}

/// A call with more guardrails than are asked is refused: which of them to leave out is not for the gate to choose.
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

/// Ruling 10, beside guardrails. A dry run changes nothing, so nobody is asked for it.
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
        // A person who is asked about the write reviews the step.
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
    // Nobody reviewed such a plan before: it never needs less than a supervised playbook.
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

/// What a rule says that asks for a person before each write.
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

/// What the rate limit of a tool says, by what its bucket holds; a tool without one has none. Asked
/// last, so that only calls that happen are counted.
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
                "{count} guardrails bear on this call, and the limit is {GUARDRAILS_PER_CALL} (GUARDRAILS_PER_CALL): \
                 narrow their `applies_to`, or put them together."
            ),
            Self::Guardrail(guardrail, word) => of_guardrail(f, guardrail, word),
            Self::EachCallApproved(tool) => {
                write!(f, "Each call of `{}` is approved by a person.", tool.tool_id)
            }
            Self::NoCallApproved(tool) => {
                write!(f, "`{}` asks for no approval of each call.", tool.tool_id)
            }
            Self::NothingChanges => f.write_str("Nobody is asked for what changes nothing."),
            Self::OnlyReads => f.write_str("It is about writes, and the call only reads."),
            Self::EachWriteApproved(class) => {
                write!(f, "Each write of a {class} playbook is approved by a person.")
            }
            Self::ApprovedInAdvance => {
                f.write_str("An automated playbook is approved in advance.")
            }
            Self::Reviewed => f.write_str("The playbook lists this step for review by a person."),
            Self::NotReviewed => f.write_str("The playbook does not list this step for review."),
            Self::Proposal => {
                f.write_str("What a mission proposes to write back is approved by a person.")
            }
            Self::NoProposal => f.write_str(
                "It is no proposal of the mission, or one that needs no person's approval.",
            ),
            Self::Unregistered => f.write_str(
                "Each write of a plan that nobody registered is approved by a person.",
            ),
            Self::MayHappenTwice => f.write_str(
                "This was begun before and nobody knows whether it happened; a repeat may do it twice.",
            ),
            Self::NotInterrupted => {
                f.write_str("No earlier attempt was interrupted, or a repeat is harmless.")
            }
            Self::Unlimited => f.write_str("The tool has no rate limit."),
            Self::Left(BucketLevel { calls, burst }) => {
                write!(f, "{calls} of {burst} calls are left.")
            }
            Self::Wait(seconds) => write!(f, "The tool may be called again in {seconds} s."),
            Self::ReversalGoes => f.write_str("A reversal is never refused by a rate limit."),
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
            let why = "It has no condition, so it bears on writes only, and this reads.";
            return f.write_str(why);
        }
        (GuardrailMatch::Bears { .. }, Some(when)) => write!(f, "Its condition is `{when}`")?,
        (GuardrailMatch::Bears { .. }, None) => f.write_str("It bears on every write")?,
    }
    match document.exceptions.len() {
        0 => f.write_str("."),
        1 => f.write_str(", and its exception does not hold."),
        _ => f.write_str(", and none of its exceptions holds."),
    }
}
