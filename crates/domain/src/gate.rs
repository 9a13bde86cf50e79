//! The gate: one answer for one exact effect, asked before every effect.
//!
//! Permission, policy and guardrails may refuse, and last the rate limit; guardrails, the tool, the
//! playbook's safety class and its review list may ask for a person (rulings 10, 27). The strictest
//! wins, and the decision names every rule that made it. A decision is a fold over what each rule
//! says ([`weigh`]), and so is its explanation. Must not know runs or storage: what it judges is
//! given to it.

mod answer;
mod considered;
mod finding;
mod policies;

use charter_contract::catalogue::playbook::SafetyClass;
use charter_contract::catalogue::tool::{Tool, ToolClass};
use charter_contract::ids::ToolId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::expression::{Fact, Facts, Numbers};
use crate::guardrail::{ApplicableGuardrail, EffectClass, RequestTags};

pub use answer::decide_answer;
pub use considered::{ConsideredRule, RuleEffect, RuleReason, rate_limit};
pub use finding::{RuleFinding, RulePhase};

/// What kind of rule spoke.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum RuleKind {
    /// What may be called at all, and by whom.
    Permission,
    /// A Cedar policy, or the default deny of what policy governs.
    Policy,
    /// A guardrail.
    Guardrail,
    /// How often a tool may be called.
    RateLimit,
    /// The tool asks for an approval of each call.
    Tool,
    /// The playbook's safety class or review list.
    Safety,
    /// The effect was interrupted, and repeating it may do it twice.
    Interrupted,
    /// A person's approval, already given.
    Approval,
}

/// One rule's word on an effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RuleResult")]
pub struct RuleResult {
    /// What kind of rule.
    pub kind: RuleKind,
    /// Which one: a guardrail's or policy's id, a tool's, a playbook's, an approval's.
    pub id: String,
    /// What a person is told.
    pub message: String,
    /// Why it had no answer, where it had none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl RuleResult {
    /// A rule's word.
    #[must_use]
    pub fn new(kind: RuleKind, id: &(impl ToString + ?Sized), message: impl Into<String>) -> Self {
        Self {
            kind,
            id: id.to_string(),
            message: message.into(),
            note: None,
        }
    }
}

/// The gate's answer, with the rules that made it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "GateDecision")]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum GateDecision {
    /// It may happen.
    Allow {
        /// What permits it.
        permitted_by: Vec<RuleResult>,
        /// What is said along with it.
        warnings: Vec<RuleResult>,
    },
    /// A person has to agree to exactly this first.
    NeedsApproval {
        /// What asks for it; at least one.
        rules: Vec<RuleResult>,
        /// What else permits it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        permitted_by: Vec<RuleResult>,
        /// What is said along with it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        warnings: Vec<RuleResult>,
    },
    /// It may not happen.
    Deny {
        /// What refuses, the first kind first; at least one.
        rules: Vec<RuleResult>,
    },
}

impl GateDecision {
    /// `allow`, `warn`, `needs_approval` or `deny`.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Allow { warnings, .. } if warnings.is_empty() => "allow",
            Self::Allow { .. } => "warn",
            Self::NeedsApproval { .. } => "needs_approval",
            Self::Deny { .. } => "deny",
        }
    }

    /// The rules that made the decision.
    #[must_use]
    pub fn rules(&self) -> &[RuleResult] {
        match self {
            Self::Allow { permitted_by, .. } => permitted_by,
            Self::NeedsApproval { rules, .. } | Self::Deny { rules } => rules,
        }
    }

    /// The same decision where a person has agreed already: only what asks for a person is lifted.
    #[must_use]
    pub fn approved(self, approval: &(impl ToString + ?Sized)) -> Self {
        match self {
            Self::NeedsApproval {
                rules,
                permitted_by,
                warnings,
            } => {
                let person = "A person approved exactly this.";
                let approval = RuleResult::new(RuleKind::Approval, approval, person);
                let all = permitted_by.into_iter().chain(rules).chain([approval]);
                Self::Allow {
                    permitted_by: all.collect(),
                    warnings,
                }
            }
            decided @ (Self::Allow { .. } | Self::Deny { .. }) => decided,
        }
    }

    /// The same decision about a call that was made and may have happened: a person is asked about repeating it, whatever
    /// the tool promises, unless it is refused.
    #[must_use]
    pub fn in_doubt(self, tool: &ToolId, why: &str) -> Self {
        let doubt = RuleResult::new(
            RuleKind::Interrupted,
            tool,
            format!("This was begun and may have happened: {why}. A repeat may do it twice."),
        );
        match self {
            Self::Allow {
                permitted_by,
                warnings,
            } => Self::NeedsApproval {
                rules: vec![doubt],
                permitted_by,
                warnings,
            },
            Self::NeedsApproval {
                mut rules,
                permitted_by,
                warnings,
            } => {
                rules.retain(|rule| rule.kind != RuleKind::Interrupted);
                rules.push(doubt);
                Self::NeedsApproval {
                    rules,
                    permitted_by,
                    warnings,
                }
            }
            refused @ Self::Deny { .. } => refused,
        }
    }

    /// The same decision under what policy says: it may refuse, and it lifts nothing.
    #[must_use]
    pub fn under(mut self, policy: PolicyAnswer) -> Self {
        match (&mut self, policy) {
            (_, PolicyAnswer::Ungoverned) | (Self::Deny { .. }, PolicyAnswer::Permit(_)) => {}
            (
                Self::Allow { permitted_by, .. } | Self::NeedsApproval { permitted_by, .. },
                PolicyAnswer::Permit(by),
            ) => permitted_by.extend(by),
            (Self::Deny { rules }, PolicyAnswer::Forbid(by)) => {
                rules.extend(by);
                rules.sort_by_key(|rule| rule.kind);
            }
            (_, PolicyAnswer::Forbid(rules)) => return Self::Deny { rules },
        }
        self
    }
}

/// What policy says; made where policies are evaluated.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum PolicyAnswer {
    /// No policy in force governs the tool.
    #[default]
    Ungoverned,
    /// Policies permit it.
    Permit(Vec<RuleResult>),
    /// Policies forbid it, or none of those that govern it permits it.
    Forbid(Vec<RuleResult>),
}

/// What a step belongs to, as far as its safety goes.
#[derive(Debug, Clone, Copy, Default)]
pub struct StepSafety<'a> {
    /// The playbook and its class; absent for plans without one.
    pub playbook: Option<(&'a str, SafetyClass)>,
    /// Whether the step is listed for review by a person: by the playbook, or as a mission's proposal.
    pub reviewed: bool,
    /// The kind of the mission that the step belongs to, if it belongs to one.
    pub mission: Option<&'a str>,
    /// The plan that the caller sent and nobody registered, if the step belongs to one.
    pub unregistered: Option<&'a str>,
}

/// Everything the gate looks at.
#[derive(Debug, Clone, Copy)]
pub struct GateInput<'a> {
    /// The tool in its pinned version.
    pub tool: &'a Tool,
    /// The exact arguments.
    pub parameters: &'a Map<String, Value>,
    /// Whether the step may write: what only reads may use readonly tools only (B000-11).
    pub may_write: bool,
    /// Whether the server itself carries the step out, as a stage of a mission or an analysis: its tool may be internal.
    pub stage: bool,
    /// Whether nothing is to be changed.
    pub dry_run: bool,
    /// Whether the caller has the tool's permission level.
    pub permitted: bool,
    /// The guardrails that bear on the subject, in order of resolution.
    pub guardrails: &'a [ApplicableGuardrail],
    /// The request that the call is for.
    pub tags: &'a RequestTags,
    /// The domain of the skill or playbook; absent for what has none of its own, where the tool's counts.
    pub domain: Option<&'a str>,
    /// The step's surroundings.
    pub safety: StepSafety<'a>,
    /// Whether the effect was begun before and nobody knows how it ended, and the tool does not
    /// promise that a repeat is harmless.
    pub interrupted: bool,
}

impl GateInput<'_> {
    fn class(&self) -> EffectClass {
        match self.tool.tool_class {
            ToolClass::Write => EffectClass::Write,
            ToolClass::Readonly | ToolClass::Internal => EffectClass::Read,
        }
    }
}

/// The answer for one effect, but for policy: [`GateDecision::under`] adds that.
#[must_use]
pub fn decide(question: &GateInput<'_>) -> GateDecision {
    weigh(question, |_| {})
}

/// The same answer; `hear` is told of every rule that is considered, in the order in which they are
/// asked.
#[must_use]
pub fn weigh<'a>(
    question: &GateInput<'a>,
    mut hear: impl FnMut(ConsideredRule<'a>),
) -> GateDecision {
    let mut tally = Tally::default();
    considered::consider(question, &mut |considered| {
        tally.count(&considered);
        hear(considered);
    });
    tally.decision()
}

/// What the rules said so far, as far as it bears on the answer.
#[derive(Default)]
struct Tally {
    refusals: Vec<RuleResult>,
    asking: Vec<RuleResult>,
    warnings: Vec<RuleResult>,
}

impl Tally {
    fn count(&mut self, considered: &ConsideredRule<'_>) {
        match considered.says {
            RuleEffect::Deny => self.refusals.push(considered.rule()),
            RuleEffect::RequireApproval => self.asking.push(considered.rule()),
            RuleEffect::Warn => self.warnings.push(considered.rule()),
            RuleEffect::Allow | RuleEffect::NotApplicable => {}
        }
    }

    /// After a refusal nobody is asked and nothing is warned of.
    fn decision(self) -> GateDecision {
        if !self.refusals.is_empty() {
            return GateDecision::Deny {
                rules: self.refusals,
            };
        }
        let (warnings, permitted_by) = (self.warnings, Vec::new());
        if self.asking.is_empty() {
            return GateDecision::Allow {
                permitted_by,
                warnings,
            };
        }
        GateDecision::NeedsApproval {
            rules: self.asking,
            permitted_by,
            warnings,
        }
    }
}

/// What guardrail expressions may ask of a tool.
fn described(tool: &Tool) -> Value {
    json!({
        "tool_id": tool.tool_id, "name": tool.name, "tool_class": tool.tool_class,
        "provider": tool.provider, "service": tool.service, "domain": tool.domain,
        "permission_level": tool.permission_level, "execution_target": tool.execution_target,
    })
}

/// What guardrail expressions are about, by the names of [`Roots::Gate`](crate::expression::Roots::Gate); `tool` is
/// described.
fn facts<'v>(tool: &'v Value, question: &'v GateInput<'_>) -> Facts<'v> {
    let numbers = Numbers::among(&question.tool.parameters);
    let domain = question.domain.unwrap_or(question.tool.domain.as_ref());
    [
        ("tool", Fact::Value(tool)),
        ("parameters", Fact::Parameters(question.parameters, numbers)),
        ("dry_run", Fact::Flag(question.dry_run)),
    ]
    .into_iter()
    .chain(question.tags.facts(domain))
    .collect()
}

#[cfg(test)]
mod tests;
