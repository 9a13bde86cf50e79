//! Policies of a package against the catalogue: whether their Cedar holds for every tool that they
//! govern, whether policies in force still hold for the package's tools, and the policies' tests.

use charter_contract::catalogue::Document;
use charter_contract::catalogue::policy::Policy;
use charter_contract::catalogue::tool::Tool;

use super::super::{Package, Problem, Sourced, policy_text};
use super::Against;
use crate::policy::{self, Misfit};

/// Every problem with the package's policies, failing tests among them, and of policies in force
/// with its tools.
#[must_use]
pub fn check_policies(package: &Package, against: &Against<'_>) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut sound = Vec::new();
    for document in &package.documents {
        if against.cancel.is_cancelled() {
            return problems;
        }
        if let Some(policy) = document.value.as_policy() {
            problems.extend(misfits(document, policy, against));
            sound.push((document, policy));
        }
        if let Some(tool) = document.value.as_tool() {
            problems.extend(broken_policies(document, tool, against));
        }
    }
    let errors = problems
        .iter()
        .any(|problem| problem.gravity == super::Gravity::Error);
    if !errors {
        problems.extend(failed_tests(&sound, against));
    }
    problems
}

fn misfits(document: &Sourced<Document>, policy: &Policy, against: &Against<'_>) -> Vec<Problem> {
    let text = policy.cedar.as_ref().map(AsRef::as_ref).unwrap_or_default();
    let misfits = policy::misfits(policy, text, against.after).into_iter();
    misfits
        .map(|misfit| match misfit {
            Misfit::Error(fault) => policy_text::problem(document, policy, fault),
            Misfit::Warning(fault) => policy_text::problem(document, policy, fault).warning(),
        })
        .collect()
}

/// Policies of other packages in force that the tool, as it is to become, would break.
fn broken_policies(
    document: &Sourced<Document>,
    tool: &Tool,
    against: &Against<'_>,
) -> Vec<Problem> {
    let governing = against.after.policies_over(tool.tool_id.as_ref());
    let others = governing.into_iter().flatten();
    let others = others.filter(|entry| entry.origin.package != against.origin.package);
    others
        .filter_map(|entry| {
            let policy = &entry.document;
            let why = policy::breaks(policy, tool)?;
            let message = format!(
                "the policy `{}` of the package `{}` would not hold for this tool: {why}",
                policy.policy_id, entry.origin.package
            );
            Some(Problem::at(
                &document.place,
                "/parameters",
                "breaks",
                message,
            ))
        })
        .collect()
}

/// Tests are only run over policies that are otherwise sound: their outcomes follow from the rest.
fn failed_tests(policies: &[(&Sourced<Document>, &Policy)], against: &Against<'_>) -> Vec<Problem> {
    let documents = policies.iter().map(|(_, policy)| *policy);
    let trials = policy::try_out(&against.origin.package, documents, against.after);
    trials
        .into_iter()
        .filter_map(|trial| {
            let failure = trial.failure?;
            let (document, _) = policies
                .iter()
                .find(|(_, p)| p.policy_id == trial.policy_id)?;
            let pointer = format!("/tests/{}/expect", trial.at);
            let message = format!("the test `{}` fails: {failure}", trial.name);
            Some(Problem::at(
                &document.place,
                &pointer,
                "policy_test",
                message,
            ))
        })
        .collect()
}
