//! The gate decides about one exact effect, before every effect.
//!
//! Permissions, policies, guardrails and, last, the rate limit may deny an effect. Guardrails, the tool, the playbook's
//! safety class and its review list may require approval (rulings 10, 27). The strictest result wins, and the decision
//! names every rule behind it. The decision and its explanation are folds over the results of all rules ([`weigh`]).
//! Must not know runs or storage: the caller passes all inputs.

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

/// The kind of a rule.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum RuleKind {
    /// A permission: which tools may be called, and by which callers.
    Permission,
    /// A Cedar policy, or the default deny for tools that policies govern.
    Policy,
    /// A guardrail.
    Guardrail,
    /// The rate limit of a tool.
    RateLimit,
    /// The tool requires approval of each call.
    Tool,
    /// The playbook's safety class or review list.
    Safety,
    /// The effect was interrupted, and repeating it may do it twice.
    Interrupted,
    /// Another run requested approval of the same call before.
    SameCall,
    /// An approval that was granted already.
    Approval,
}

/// The result of one rule for an effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RuleResult")]
pub struct RuleResult {
    /// The kind of the rule.
    pub kind: RuleKind,
    /// The rule's id: that of a guardrail, policy, tool, playbook or approval.
    pub id: String,
    /// The message for people.
    pub message: String,
    /// The reason why the rule could not be evaluated, if it could not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl RuleResult {
    /// Creates a result without a note.
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

/// The gate's decision, with the rules behind it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "GateDecision")]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum GateDecision {
    /// The effect may happen.
    Allow {
        /// The rules that permit it.
        permitted_by: Vec<RuleResult>,
        /// Warnings to show with it.
        warnings: Vec<RuleResult>,
    },
    /// The effect needs an approval of exactly this call.
    NeedsApproval {
        /// The rules that require approval; never empty.
        rules: Vec<RuleResult>,
        /// The other rules that permit it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        permitted_by: Vec<RuleResult>,
        /// Warnings to show with it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        warnings: Vec<RuleResult>,
    },
    /// The effect must not happen.
    Deny {
        /// The rules that deny it, ordered by kind; never empty.
        rules: Vec<RuleResult>,
    },
}

impl GateDecision {
    /// Returns `allow`, `warn`, `needs_approval` or `deny`.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Allow { warnings, .. } if warnings.is_empty() => "allow",
            Self::Allow { .. } => "warn",
            Self::NeedsApproval { .. } => "needs_approval",
            Self::Deny { .. } => "deny",
        }
    }

    /// Returns the rules behind the decision.
    #[must_use]
    pub fn rules(&self) -> &[RuleResult] {
        match self {
            Self::Allow { permitted_by, .. } => permitted_by,
            Self::NeedsApproval { rules, .. } | Self::Deny { rules } => rules,
        }
    }

    /// Returns the decision after an approval. It lifts only the requirement of approval.
    #[must_use]
    pub fn approved(self, approval: &(impl ToString + ?Sized)) -> Self {
        match self {
            Self::NeedsApproval {
                rules,
                permitted_by,
                warnings,
            } => {
                let person = "An approver approved exactly this call.";
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

    /// Returns the decision about a call that was made and may have happened. Unless the call is denied, a repeat needs
    /// approval, even if the tool declares repeats harmless.
    #[must_use]
    pub fn in_doubt(self, tool: &ToolId, why: &str) -> Self {
        let doubt = RuleResult::new(
            RuleKind::Interrupted,
            tool,
            format!("This was started and may have happened: {why}. A repeat may do it twice."),
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

    /// Adds a reason why a person decides. A call that needs no approval stays allowed, and a denied one stays denied.
    #[must_use]
    pub fn also_because(mut self, reason: RuleResult) -> Self {
        if let Self::NeedsApproval { rules, .. } = &mut self {
            rules.push(reason);
        }
        self
    }

    /// Combines the decision with the policies' result, which may deny but lifts nothing.
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

/// The result of the policies. The policy module computes it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum PolicyAnswer {
    /// No policy in force governs the tool.
    #[default]
    Ungoverned,
    /// Policies permit the call.
    Permit(Vec<RuleResult>),
    /// Policies forbid the call, or none of the governing policies permits it.
    Forbid(Vec<RuleResult>),
}

/// The safety context of a step.
#[derive(Debug, Clone, Copy, Default)]
pub struct StepSafety<'a> {
    /// The playbook and its class; absent for plans without one.
    pub playbook: Option<(&'a str, SafetyClass)>,
    /// Whether the step needs a review: the playbook lists it, or it is a mission's proposal.
    pub reviewed: bool,
    /// The kind of the mission that the step belongs to, if it belongs to one.
    pub mission: Option<&'a str>,
    /// The unregistered plan that the caller sent, if the step belongs to one.
    pub unregistered: Option<&'a str>,
}

/// All inputs of the gate.
#[derive(Debug, Clone, Copy)]
pub struct GateInput<'a> {
    /// The tool in its pinned version.
    pub tool: &'a Tool,
    /// The exact arguments.
    pub parameters: &'a Map<String, Value>,
    /// Whether the step may write. A step that only reads may use only readonly tools (B000-11).
    pub may_write: bool,
    /// Whether the server itself executes the step, as a stage of a mission or an analysis. Its tool may be internal.
    pub stage: bool,
    /// Whether this is a dry run.
    pub dry_run: bool,
    /// Whether the caller has the tool's permission level.
    pub permitted: bool,
    /// The guardrails that apply to the subject, in order of resolution.
    pub guardrails: &'a [ApplicableGuardrail],
    /// The request that the call is for.
    pub tags: &'a RequestTags,
    /// The domain of the skill or playbook; if absent, the tool's domain is used.
    pub domain: Option<&'a str>,
    /// The safety context of the step.
    pub safety: StepSafety<'a>,
    /// Whether the effect began before with an unknown outcome, and the tool does not declare repeats harmless.
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

/// Decides about one effect, without policies: [`GateDecision::under`] adds them.
#[must_use]
pub fn decide(question: &GateInput<'_>) -> GateDecision {
    weigh(question, |_| {})
}

/// Decides like `decide`, and passes every rule that is considered to `hear`, in order of evaluation.
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

/// The results so far that affect the decision.
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

    /// After a denial, no approval is requested and no warning is shown.
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

/// Returns the tool's fields that guardrail expressions may use.
fn described(tool: &Tool) -> Value {
    json!({
        "tool_id": tool.tool_id, "name": tool.name, "tool_class": tool.tool_class,
        "provider": tool.provider, "service": tool.service, "domain": tool.domain,
        "permission_level": tool.permission_level, "execution_target": tool.execution_target,
    })
}

/// Returns the input of guardrail expressions, under the names of [`Roots::Gate`](crate::expression::Roots::Gate).
/// `tool` is the tool's description.
fn facts<'v>(tool: &'v Value, question: &'v GateInput<'_>) -> Facts<'v> {
    let numbers = Numbers::among(question.tool.parameters());
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
