//! The policies' answer before an approval: a denial that no approver can change, so that no one approves a call that
//! policy then refuses. Must not know who may approve.

use charter_contract::package::PackageScope;

use super::PolicySet;
use super::decision::{Denial, PolicyDecision, PolicyQuestion};
use super::run_facts::RunFact;
use super::weighed::{PolicyStatement, RuleMatch, Weighed};

impl PolicySet {
    /// Returns the denial of a call that holds under any approver. The run's facts in the question are those after an
    /// approval; rules that read the approvers or the number of approvals are left to the question after it.
    #[must_use]
    pub fn denies_under_any_approver(&self, question: &PolicyQuestion<'_>) -> Option<Denial> {
        let (decision, statements) = self.explain(question);
        let PolicyDecision::Deny(denial) = decision else {
            return None;
        };
        let rules: Vec<&Weighed> = statements
            .iter()
            .filter_map(|statement| match statement {
                PolicyStatement::Rule(weighed) => Some(weighed),
                PolicyStatement::Unpermitted(_) | PolicyStatement::Failure(_) => None,
            })
            .collect();
        let forbids = |weighed: &&&Weighed| {
            weighed.forbids && weighed.stands == RuleMatch::Holds && !depends(weighed)
        };
        let may_permit = |scope: PackageScope| {
            let mut permits = rules.iter().filter(|weighed| !weighed.forbids);
            permits.any(|weighed| weighed.rule.scope == scope && depends(weighed))
        };
        let unpermitted = denial.unpermitted.into_iter();
        let certain = Denial {
            forbidden_by: rules
                .iter()
                .filter(forbids)
                .map(|weighed| weighed.rule.clone())
                .collect(),
            unpermitted: unpermitted
                .filter(|layer| !may_permit(layer.scope))
                .collect(),
            failures: Vec::new(),
        };
        (!certain.is_empty()).then_some(certain)
    }
}

/// Returns whether a rule's result depends on the person that approves, or on the number of approvals.
fn depends(weighed: &Weighed) -> bool {
    let facts = &weighed.run_facts;
    facts.contains(&RunFact::Approvers) || facts.contains(&RunFact::Approvals)
}
