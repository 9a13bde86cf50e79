//! The gate's question about a step: the guardrails and policies of a run's workspace, and the facts of the run's
//! history. A decision and its explanation ask the same questions. Decides nothing itself.

use charter_contract::catalogue::tool::Tool;
use charter_contract::ids::ToolId;
use charter_contract::time::Timestamp;
use charter_domain::approval::ExactCall;
use charter_domain::gate::{
    self, GateDecision, GateInput, PolicyAnswer, RuleEffect, RuleFinding, RuleKind, RulePhase,
    RuleResult, StepSafety,
};
use charter_domain::graph::{PlanSource, Step};
use charter_domain::guardrail::ApplicableGuardrail;
use charter_domain::policy::{PolicyDecision, PolicyQuestion, Principal, RunFacts};
use charter_domain::rate_limit::{BucketLevel, RateLimitExceeded};
use charter_domain::run::Run;

use super::effect::Workspace;
use super::view::ForeseenCall;
use crate::ground::questions::Effort;

/// A decision with every rule that was considered for it.
#[derive(Debug)]
pub(crate) struct ExplainedDecision {
    /// The decision that the step would begin under.
    pub(crate) decision: GateDecision,
    /// Each rule, in the order in which the gate asks.
    pub(crate) findings: Vec<RuleFinding>,
    /// Facts of the run's history for policies.
    pub(crate) facts: RunFacts,
}

/// When policy is asked. It comes after all approvals, because a rule may look at the approvers. A denial that does not
/// depend on them comes before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PolicyTiming {
    /// No policy governs the tool.
    Never,
    /// A person has to approve first.
    OnceApproved,
    Now,
}

impl Workspace {
    /// Returns how long the gate's answer about a call of this tool may take.
    pub(crate) fn effort(&self, tool: &ToolId) -> Effort {
        let asked = self
            .guardrails
            .iter()
            .map(ApplicableGuardrail::asks_expressions);
        Effort::long_if_any(asked.chain([self.policies.governs(tool.as_ref())]))
    }

    /// Returns the gate's answer at `now`.
    pub(super) fn ask(
        &self,
        run: &Run,
        step: &Step,
        tool: &Tool,
        call: &ExactCall,
        now: Timestamp,
    ) -> GateDecision {
        let decided = gate::decide(&self.question(run, step, tool, call));
        match self.policy_turn(run, call, &decided, now) {
            PolicyTiming::Never => decided.under(self.ungoverned(step, tool)),
            PolicyTiming::OnceApproved => self.before_approval(run, tool, call, decided, now),
            PolicyTiming::Now => {
                let facts = self.facts(run, call, &decided, now);
                let said = self
                    .policies
                    .decide(&self.policy_question(run, tool, call, &facts));
                decided.under(PolicyAnswer::from(&said))
            }
        }
    }

    /// Returns the same answer with the result of each rule. Includes policies and the rate limit even if they are not
    /// asked in the run's present state. `bucket` is the state of the tool's rate limit at `now`.
    pub(crate) fn explain(
        &self,
        run: &Run,
        step: &Step,
        tool: &Tool,
        call: &ExactCall,
        bucket: Option<Result<BucketLevel, RateLimitExceeded>>,
        now: Timestamp,
    ) -> ExplainedDecision {
        let mut findings: Vec<RuleFinding> = Vec::new();
        let question = self.question(run, step, tool, call);
        let decided = gate::weigh(&question, |considered| findings.push(considered.into()));
        set_aside(&mut findings, &decided);
        let turn = self.policy_turn(run, call, &decided, now);
        let facts = self.facts(run, call, &decided, now);
        let decided = match turn {
            PolicyTiming::Never => {
                findings.push(RuleFinding::ungoverned(tool.tool_id.as_ref()));
                decided.under(self.ungoverned(step, tool))
            }
            PolicyTiming::OnceApproved | PolicyTiming::Now => {
                let (said, heard) = self
                    .policies
                    .explain(&self.policy_question(run, tool, call, &facts));
                let phase = match turn {
                    PolicyTiming::Now => RulePhase::Now,
                    PolicyTiming::Never | PolicyTiming::OnceApproved => RulePhase::AfterApproval,
                };
                findings.extend(heard.into_iter().map(|heard| RuleFinding {
                    phase,
                    ..heard.into()
                }));
                if phase == RulePhase::Now {
                    decided.under(PolicyAnswer::from(&said))
                } else {
                    self.before_approval(run, tool, call, decided, now)
                }
            }
        };
        let (decision, limited) = limit(run, step, tool, call, decided, bucket, now);
        findings.push(limited);
        ExplainedDecision {
            decision: run.steps().lifted(call, decision, now),
            findings,
            facts,
        }
    }

    /// Returns the warnings of guardrails about a future call. If some values are unknown, rules without an answer are
    /// left out.
    pub(super) fn foreseen_warnings(
        &self,
        run: &Run,
        step: &Step,
        tool: &Tool,
        foreseen: &ForeseenCall,
    ) -> Vec<RuleResult> {
        let ForeseenCall { call, is_whole } = foreseen;
        let mut warnings = Vec::new();
        let decided = gate::weigh(&self.question(run, step, tool, call), |considered| {
            let is_answered = *is_whole || considered.note().is_none();
            if considered.says == RuleEffect::Warn && is_answered {
                warnings.push(considered.rule());
            }
        });
        match decided {
            // A call that will not happen needs no warnings.
            GateDecision::Deny { .. } if *is_whole => Vec::new(),
            GateDecision::Deny { .. }
            | GateDecision::Allow { .. }
            | GateDecision::NeedsApproval { .. } => warnings,
        }
    }

    fn question<'a>(
        &'a self,
        run: &'a Run,
        step: &Step,
        tool: &'a Tool,
        call: &'a ExactCall,
    ) -> GateInput<'a> {
        let playbook = self.playbook.as_ref();
        GateInput {
            tool,
            parameters: &call.parameters,
            may_write: step.writes(),
            stage: self.carries_out(tool),
            dry_run: run.is_dry_run(),
            permitted: self.role.may_call(tool.permission_level),
            guardrails: &self.guardrails,
            tags: &self.tags,
            domain: self.domain.as_deref(),
            safety: StepSafety {
                playbook: playbook.map(|(id, class)| (id.as_ref(), *class)),
                reviewed: step.reviewed,
                mission: self.desk.as_deref().map(|desk| desk.kind_id()),
                unregistered: unregistered(run),
            },
            interrupted: run.steps().is_interrupted(&step.id) && !tool.idempotent,
        }
    }

    /// The policy answer for a tool that no policy governs: a mission may call only tools that a policy permits or a
    /// person approves.
    fn ungoverned(&self, step: &Step, tool: &Tool) -> PolicyAnswer {
        if self.desk.is_none() || self.carries_out(tool) || step.reviewed {
            return PolicyAnswer::Ungoverned;
        }
        let message = "no policy permits it, and a mission may call only what a policy permits";
        PolicyAnswer::Forbid(vec![RuleResult::new(
            RuleKind::Policy,
            &tool.tool_id,
            message,
        )])
    }

    fn policy_turn(
        &self,
        run: &Run,
        call: &ExactCall,
        decided: &GateDecision,
        now: Timestamp,
    ) -> PolicyTiming {
        let waits = matches!(decided, GateDecision::NeedsApproval { .. });
        if !self.policies.governs(call.tool.as_ref()) {
            PolicyTiming::Never
        } else if waits && !run.steps().permits(call, decided, now) {
            PolicyTiming::OnceApproved
        } else {
            PolicyTiming::Now
        }
    }

    fn facts(
        &self,
        run: &Run,
        call: &ExactCall,
        decided: &GateDecision,
        now: Timestamp,
    ) -> RunFacts {
        RunFacts {
            kind: self.kind,
            subject: self.subject.clone(),
            mission: self.desk.as_deref().map(|desk| desk.facts()),
            approvers: run
                .steps()
                .approver(call, decided, now)
                .cloned()
                .into_iter()
                .collect(),
            approvals: run.steps().approvals() as u64,
            calls: run.steps().calls(),
        }
    }

    /// Returns the decision about a call that a person has to approve first. Policies that deny it under any approver are
    /// asked before that person.
    fn before_approval(
        &self,
        run: &Run,
        tool: &Tool,
        call: &ExactCall,
        decided: GateDecision,
        now: Timestamp,
    ) -> GateDecision {
        let facts = self.facts(run, call, &decided, now);
        let facts = RunFacts {
            approvers: vec![self.by.clone()],
            approvals: facts.approvals + 1,
            ..facts
        };
        let question = self.policy_question(run, tool, call, &facts);
        match self.policies.denies_under_any_approver(&question) {
            Some(denial) => decided.under(PolicyAnswer::from(&PolicyDecision::Deny(denial))),
            None => decided,
        }
    }

    /// Builds the question for policies.
    fn policy_question<'a>(
        &'a self,
        run: &Run,
        tool: &'a Tool,
        call: &'a ExactCall,
        facts: &'a RunFacts,
    ) -> PolicyQuestion<'a> {
        PolicyQuestion {
            principal: Principal {
                tenant: &self.tenant,
                user: &self.by,
                role: self.role,
            },
            tool,
            arguments: &call.parameters,
            dry_run: run.is_dry_run(),
            run: facts,
        }
    }
}

/// The executed plan, if it is not registered.
fn unregistered(run: &Run) -> Option<&str> {
    let source = run.graph().source();
    source
        .filter(|source| source.is_unregistered())
        .map(PlanSource::id)
}

/// Marks rules that request approval or warn as not asked, if the call is denied.
fn set_aside(findings: &mut [RuleFinding], decided: &GateDecision) {
    if !matches!(decided, GateDecision::Deny { .. }) {
        return;
    }
    for finding in findings {
        if matches!(
            finding.effect,
            RuleEffect::RequireApproval | RuleEffect::Warn
        ) {
            finding.phase = RulePhase::NotEvaluated;
        }
    }
}

/// Adds the rate limit's answer, which is asked only for calls that everything else permits.
fn limit(
    run: &Run,
    step: &Step,
    tool: &Tool,
    call: &ExactCall,
    decided: GateDecision,
    bucket: Option<Result<BucketLevel, RateLimitExceeded>>,
    now: Timestamp,
) -> (GateDecision, RuleFinding) {
    let limited = gate::rate_limit(tool, bucket, step.reverses.is_some());
    let phase = match &decided {
        GateDecision::Deny { .. } => RulePhase::NotEvaluated,
        decided if run.steps().permits(call, decided, now) => RulePhase::Now,
        GateDecision::Allow { .. } | GateDecision::NeedsApproval { .. } => RulePhase::AfterApproval,
    };
    let refusal = limited.refusal().filter(|_| phase == RulePhase::Now);
    let decision = refusal.unwrap_or(decided);
    let finding = RuleFinding {
        phase,
        ..limited.into()
    };
    (decision, finding)
}
