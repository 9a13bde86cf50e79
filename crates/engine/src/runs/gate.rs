//! What the gate is asked about a step: the guardrails and policies of a run's workspace, and what the
//! run's history says to them. Decides nothing itself.

use charter_contract::catalogue::tool::Tool;
use charter_contract::ids::UserId;
use charter_domain::approval::ExactCall;
use charter_domain::gate::{self, Decision, PolicyAnswer, Question, Rule, RuleKind, Safety};
use charter_domain::graph::{Source, Step};
use charter_domain::policy::{Denial, PolicyDecision, PolicyQuestion, Principal, RunFacts};
use charter_domain::run::Run;

use super::effect::Workspace;

impl Workspace {
    /// The gate's answer. Policy is asked once nobody else has to be: a rule may look at who approved.
    pub(super) fn ask(&self, run: &Run, step: &Step, tool: &Tool, call: &ExactCall) -> Decision {
        let playbook = self.playbook.as_ref();
        let decided = gate::decide(&Question {
            tool,
            parameters: &call.parameters,
            may_write: step.writes(),
            dry_run: run.is_dry_run(),
            permitted: self.role.may_call(tool.permission_level),
            guardrails: &self.guardrails,
            safety: Safety {
                playbook: playbook.map(|(id, class)| (id.as_ref(), *class)),
                reviewed: step.reviewed,
                unregistered: run.graph().source().map(Source::id),
            },
            interrupted: run.is_interrupted(&step.id) && !tool.idempotent,
        });
        let waits = matches!(decided, Decision::NeedsApproval { .. });
        if (waits && !run.permits(call, &decided)) || !self.policies.governs(tool.tool_id.as_ref())
        {
            return decided;
        }
        let approver = run.approver(call, &decided).cloned();
        decided.under(self.ask_policies(run, tool, call, approver))
    }

    fn ask_policies(
        &self,
        run: &Run,
        tool: &Tool,
        call: &ExactCall,
        approver: Option<UserId>,
    ) -> PolicyAnswer {
        let facts = RunFacts {
            kind: self.kind,
            subject: self.subject.clone(),
            approvers: approver.into_iter().collect(),
            approvals: run.approvals() as u64,
            calls: run.calls(),
        };
        answer(&self.policies.decide(&PolicyQuestion {
            principal: Principal {
                tenant: &self.tenant,
                user: &self.by,
                role: self.role,
            },
            tool,
            arguments: &call.parameters,
            dry_run: run.is_dry_run(),
            run: &facts,
        }))
    }
}

/// What the policies say, as rules of the gate.
fn answer(decision: &PolicyDecision) -> PolicyAnswer {
    let rule = |rule: &charter_domain::policy::Rule| {
        let id = format!("{}#{}", rule.policy_id, rule.rule);
        let message = rule.message.clone().unwrap_or_default();
        Rule::new(RuleKind::Policy, &id, message)
    };
    match decision {
        PolicyDecision::Ungoverned => PolicyAnswer::Ungoverned,
        PolicyDecision::Allow { by } => PolicyAnswer::Permit(by.iter().map(rule).collect()),
        PolicyDecision::Deny(Denial {
            forbidden_by,
            unpermitted,
            failures,
        }) => {
            let unpermitted = unpermitted.iter().map(|layer| {
                let governed: Vec<&str> = layer.governed_by.iter().map(AsRef::as_ref).collect();
                let message = "No rule of it permits this call.";
                Rule::new(RuleKind::Policy, &governed.join(", "), message)
            });
            let failures = failures.iter().map(|failure| {
                let id = failure.policy_id.as_ref().map_or("policy", AsRef::as_ref);
                Rule::new(RuleKind::Policy, id, failure.message.clone())
            });
            let forbidden = forbidden_by.iter().map(rule);
            PolicyAnswer::Forbid(forbidden.chain(unpermitted).chain(failures).collect())
        }
    }
}
