//! Cedar policies for tool calls: which callers may call which tools, with which arguments, in which runs.
//!
//! A policy document names the tools that it governs. A governed tool is denied unless a rule permits the call, and a
//! rule that forbids it wins. At registration, rules are validated against the shipped [`SCHEMA`] and the declared
//! parameters of each governed tool, so that no rule can fail on an absent value. A rule that fails nevertheless denies
//! the call.
//!
//! Cedar: Cutler et al., *Cedar: A New Language for Expressive, Fast, Safe, and Analyzable Authorization*, OOPSLA 2024.
//! Knows nothing of guardrails, approvals, rate limits and storage, nor of the enforcement of decisions.

mod ahead;
mod check;
mod cost;
mod decision;
mod entities;
mod error_text;
mod fault;
mod layer;
mod names;
mod rules;
mod run_facts;
mod schema;
mod shape;
mod trial;
mod typed;
mod values;
mod weighed;

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use charter_contract::catalogue::tool::Tool;
use charter_contract::deeply::deeply;
use charter_contract::package::PackageScope;

use crate::catalogue::{Origin, ResolvedDocument, View};

pub use decision::{
    Denial, PolicyDecision, PolicyFailure, PolicyQuestion, Principal, Rule, RunFacts, Unpermitted,
};
pub use fault::CedarFault;
pub use run_facts::RunFact;
pub use schema::{ACTION_GROUPS, SCHEMA, actions_text};
pub use trial::{PolicyTestResult, try_out};
pub use weighed::{PolicyStatement, RuleMatch, Weighed};

pub(crate) use check::{Checks, Misfit, breaks, crowded, misfits};
use layer::Governing;
use typed::CompiledToolRules;
use weighed::LayerVerdict;

/// The compiled policies of a view. Built once per revision of the catalogue; decisions change nothing visible, except
/// that a tool's compiled rules are cached on first use.
#[derive(Debug)]
pub struct PolicySet {
    view: View,
    governed: HashMap<String, Governed>,
}

/// A tool that policies govern.
#[derive(Debug)]
struct Governed {
    tool: ResolvedDocument<Tool>,
    by: Vec<Governing>,
    typed: OnceLock<Result<CompiledToolRules, Vec<PolicyFailure>>>,
}

impl PolicySet {
    /// Determines the governed tools of the view, and the policies that govern them.
    #[must_use]
    pub fn compile(view: View) -> Self {
        let none = view.tenant.policies.is_empty() && view.global.policies.is_empty();
        let tools = (!none).then(|| view.tools()).into_iter().flatten();
        let governed = tools.filter_map(|tool| {
            let id = tool.document().tool_id.to_string();
            let by = governing(&view, &id);
            let governed = Governed {
                tool,
                by,
                typed: OnceLock::new(),
            };
            (!governed.by.is_empty()).then_some((id, governed))
        });
        Self {
            governed: governed.collect(),
            view,
        }
    }

    /// Returns whether a policy in force governs the tool.
    #[must_use]
    pub fn governs(&self, tool: &str) -> bool {
        self.governed.contains_key(tool) || !governing(&self.view, tool).is_empty()
    }

    /// Returns the decision of the policies in force about a call. Equal questions have equal decisions.
    #[must_use]
    pub fn decide(&self, question: &PolicyQuestion<'_>) -> PolicyDecision {
        self.asked(question, &mut |_| {})
    }

    /// Returns the decision, with the results of all rules: those of the global layer first, ordered by the rules' ids.
    #[must_use]
    pub fn explain(&self, question: &PolicyQuestion<'_>) -> (PolicyDecision, Vec<PolicyStatement>) {
        let mut heard = Vec::new();
        let decision = self.asked(question, &mut |answered| answered.weigh(&mut heard));
        if heard.is_empty()
            && let PolicyDecision::Deny(denial) = &decision
        {
            heard.extend(
                denial
                    .failures
                    .iter()
                    .cloned()
                    .map(PolicyStatement::Failure),
            );
        }
        let by = governing(&self.view, question.tool.tool_id.as_ref());
        for heard in &mut heard {
            if let PolicyStatement::Rule(weighed) = heard {
                weighed.origin = origin(&by, &weighed.rule);
            }
        }
        (decision, heard)
    }

    /// The recursion of parsing, validation, evaluation and explanation is as deep as the rules' nesting.
    fn asked(
        &self,
        question: &PolicyQuestion<'_>,
        hear: &mut dyn FnMut(&LayerVerdict<'_>),
    ) -> PolicyDecision {
        deeply(|| self.decided(question, hear))
    }

    fn decided(
        &self,
        question: &PolicyQuestion<'_>,
        hear: &mut dyn FnMut(&LayerVerdict<'_>),
    ) -> PolicyDecision {
        let id = question.tool.tool_id.as_ref();
        let Some(governed) = self.governed.get(id) else {
            // A run may have pinned a tool that is no longer in force.
            return decide_anew(question, &governing(&self.view, id), hear);
        };
        let tool = governed.tool.document();
        match governed
            .typed
            .get_or_init(|| CompiledToolRules::compile(tool, &governed.by))
        {
            Ok(typed) if typed.is_for(question.tool) => typed.decide(question, hear),
            Err(failures) if tool == question.tool => denied(failures.clone()),
            // The run pinned a version of the tool with another declaration than the one in force.
            Ok(_) | Err(_) => decide_anew(question, &governed.by, hear),
        }
    }
}

/// Decides with policies that were not compiled for this version of the tool.
fn decide_anew(
    question: &PolicyQuestion<'_>,
    by: &[Governing],
    hear: &mut dyn FnMut(&LayerVerdict<'_>),
) -> PolicyDecision {
    if by.is_empty() {
        return PolicyDecision::Ungoverned;
    }
    match CompiledToolRules::compile(question.tool, by) {
        Ok(typed) => typed.decide(question, hear),
        Err(failures) => denied(failures),
    }
}

/// Returns the origin of a rule's document.
fn origin(by: &[Governing], rule: &Rule) -> Option<Arc<Origin>> {
    let layer = by.iter().find(|layer| layer.scope == rule.scope)?;
    let mut entries = layer.documents.iter();
    let entry = entries.find(|entry| entry.document.policy_id == rule.policy_id)?;
    Some(Arc::clone(&entry.origin))
}

fn denied(failures: Vec<PolicyFailure>) -> PolicyDecision {
    PolicyDecision::Deny(Denial::of_failures(failures))
}

/// Returns the layers with documents that govern a tool, the global one first.
fn governing(view: &View, tool: &str) -> Vec<Governing> {
    let [own, shared] = view.policies_over(tool);
    let layers = [(PackageScope::Global, shared), (PackageScope::Tenant, own)];
    let layers = layers
        .into_iter()
        .map(|(scope, documents)| Governing { scope, documents });
    layers.filter(|layer| !layer.documents.is_empty()).collect()
}

#[cfg(test)]
mod tests;
