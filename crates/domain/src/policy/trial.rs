//! The tests in policy documents: each is a call with its expected decision.
//!
//! They test their own package: its policies decide, with every tool in view, and policies of other packages are
//! ignored. A test therefore has the same result locally and at registration.

use std::collections::BTreeMap;

use charter_contract::catalogue::policy::{Expectation, Policy, PolicyTest};
use charter_contract::ids::{PackageName, PolicyId, TenantId, ToolId, UserId};
use serde_json::Value;

use super::PolicySet;
use super::decision::{PolicyDecision, PolicyQuestion, Principal, RunFacts};
use crate::catalogue::View;
use crate::parameters;

/// The result of one test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyTestResult {
    /// The document that holds the test.
    pub policy_id: PolicyId,
    /// The index of the test in the document.
    pub at: usize,
    /// Its name.
    pub name: String,
    /// The reason for the failure; absent if the test passes.
    pub failure: Option<String>,
}

/// Runs the tests of a package's policies, in order.
#[must_use]
pub fn try_out<'p>(
    package: &PackageName,
    policies: impl IntoIterator<Item = &'p Policy>,
    view: &View,
) -> Vec<PolicyTestResult> {
    let set = PolicySet::compile(view.with_policies_of(package));
    let mut trials = Vec::new();
    for policy in policies {
        for (at, test) in policy.tests.iter().enumerate() {
            trials.push(PolicyTestResult {
                policy_id: policy.policy_id.clone(),
                at,
                name: test.name.to_string(),
                failure: failure(test, &set, view),
            });
        }
    }
    trials
}

fn failure(test: &PolicyTest, set: &PolicySet, view: &View) -> Option<String> {
    let decision = match decide(test, set, view) {
        Ok(decision) => decision,
        Err(message) => return Some(message),
    };
    let holds = match (&decision, test.expect) {
        (PolicyDecision::Ungoverned, Expectation::Ungoverned)
        | (PolicyDecision::Allow { .. }, Expectation::Allow) => true,
        // A rule that cannot be evaluated denies, but a test never expects that.
        (PolicyDecision::Deny(denial), Expectation::Deny) => denial.failures.is_empty(),
        (
            PolicyDecision::Ungoverned | PolicyDecision::Allow { .. } | PolicyDecision::Deny(_),
            Expectation::Allow | Expectation::Deny | Expectation::Ungoverned,
        ) => false,
    };
    (!holds).then(|| format!("expected {}, but the call is {decision}", test.expect))
}

fn decide(test: &PolicyTest, set: &PolicySet, view: &View) -> Result<PolicyDecision, String> {
    let found = view.tool(test.tool.as_ref());
    let found = found.ok_or_else(|| format!("there is no tool `{}`", test.tool))?;
    let tool = found.document();
    let arguments = parameters::bind_arguments(tool, &test.arguments).map_err(|faults| {
        let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
        format!(
            "invalid arguments for `{}`: {}",
            test.tool,
            faults.join("; ")
        )
    })?;
    let argument = arguments.get("dry_run").and_then(Value::as_bool);
    let (tenant, user) = (tenant(test)?, user(test)?);
    Ok(set.decide(&PolicyQuestion {
        principal: Principal {
            tenant: &tenant,
            user: &user,
            role: test.principal.role,
        },
        tool,
        arguments: &arguments,
        dry_run: test.context.dry_run.or(argument).unwrap_or(false),
        run: &facts(test)?,
    }))
}

fn tenant(test: &PolicyTest) -> Result<TenantId, String> {
    let given = test.principal.tenant.clone();
    given.map_or_else(|| TenantId::parse("tenant").map_err(|e| e.to_string()), Ok)
}

fn user(test: &PolicyTest) -> Result<UserId, String> {
    let given = test.principal.user.clone();
    given.map_or_else(|| UserId::parse("user").map_err(|e| e.to_string()), Ok)
}

fn facts(test: &PolicyTest) -> Result<RunFacts, String> {
    let run = &test.context.run;
    let calls = run.calls.iter().map(|(tool, count)| {
        let tool = ToolId::parse(tool).map_err(|error| error.to_string())?;
        Ok((tool, count.get()))
    });
    Ok(RunFacts {
        kind: run.kind,
        subject: run
            .subject
            .as_ref()
            .map_or_else(|| "test".to_owned(), ToString::to_string),
        mission: run.mission.clone(),
        approvers: run.approvers.clone(),
        approvals: run.approvals.get(),
        calls: calls.collect::<Result<BTreeMap<_, _>, String>>()?,
    })
}
