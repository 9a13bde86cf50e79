//! Policies of a package against the catalogue: whether their Cedar holds for every tool that they
//! govern, whether policies in force still hold for the package's tools, and the policies' tests.

use std::collections::BTreeMap;
use std::sync::Arc;

use charter_contract::catalogue::Document;
use charter_contract::catalogue::policy::Policy;
use charter_contract::catalogue::tool::Tool;

use super::super::{Package, Problem, WithLocation, policy_text};
use super::Against;
use crate::catalogue::CatalogueEntry;
use crate::policy::{self, Checks, Misfit};

/// Every problem with the package's policies, failing tests among them, and of policies in force
/// with its tools.
#[must_use]
pub fn check_policies(package: &Package, against: &Against<'_>) -> Vec<Problem> {
    if let Some(problem) = crowded(package, against) {
        return vec![problem];
    }
    let documents = package.documents.iter();
    let policies: Vec<(&WithLocation<Document>, &Policy)> = documents
        .filter_map(|document| Some((document, document.value.as_policy()?)))
        .collect();
    let mut checks = Checks::default();
    let mut problems = misfits(&policies, against, &mut checks);
    if against.cancel.is_cancelled() {
        return problems;
    }
    problems.extend(broken_policies(package, against, &mut checks));
    let errors = problems
        .iter()
        .any(|problem| problem.severity == super::ProblemSeverity::Error);
    if !errors {
        problems.extend(failed_tests(&policies, against));
    }
    problems
}

/// Whether more rules would govern a tool than are asked about a call, where the package brings the tool or rules over
/// it.
fn crowded(package: &Package, against: &Against<'_>) -> Option<Problem> {
    let own = &against.origin.package;
    let message = policy::crowded(against.after, |tool, policy| {
        tool.entry.origin.package == *own || policy.origin.package == *own
    })?;
    Some(Problem::at(
        &package.manifest.place,
        "/name",
        "policies",
        message,
    ))
}

fn misfits(
    documents: &[(&WithLocation<Document>, &Policy)],
    against: &Against<'_>,
    checks: &mut Checks,
) -> Vec<Problem> {
    let policies: Vec<&Policy> = documents.iter().map(|(_, policy)| *policy).collect();
    let misfits = policy::misfits(&policies, against.after, checks);
    let misfits = documents.iter().zip(misfits);
    misfits
        .flat_map(|((document, policy), misfits)| {
            misfits.into_iter().map(move |misfit| match misfit {
                Misfit::Error(fault) => policy_text::problem(document, policy, fault),
                Misfit::Warning(fault) => policy_text::problem(document, policy, fault).warning(),
            })
        })
        .collect()
}

/// A policy in force, and the tools of a package that it governs with their documents.
type Governing<'p> = (
    Arc<CatalogueEntry<Policy>>,
    Vec<(&'p WithLocation<Document>, &'p Tool)>,
);

/// Policies of other packages in force that the package's tools, as they are to become, would break.
fn broken_policies(package: &Package, against: &Against<'_>, checks: &mut Checks) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (entry, tools) in governing(package, against) {
        let policy = &entry.document;
        let declared: Vec<&Tool> = tools.iter().map(|(_, tool)| *tool).collect();
        let named = format!(
            "the policy `{}` of the package `{}`",
            policy.policy_id, entry.origin.package
        );
        match policy::breaks(policy, &declared, checks) {
            Ok(broken) => problems.extend(broken.into_iter().filter_map(|(at, why)| {
                let (document, _) = tools.get(at)?;
                let message = format!("{named} would not hold for this tool: {why}");
                let place = &document.place;
                Some(Problem::at(place, "/parameters", "breaks", message))
            })),
            Err(why) => {
                let place = &package.manifest.place;
                let message = format!("{named}: {why}");
                problems.push(Problem::at(place, "/name", "breaks", message));
            }
        }
    }
    problems
}

/// The policies of other packages over the package's tools, by layer and id.
fn governing<'p>(package: &'p Package, against: &Against<'_>) -> Vec<Governing<'p>> {
    let mut governing: BTreeMap<(usize, String), Governing<'p>> = BTreeMap::new();
    for document in &package.documents {
        let Some(tool) = document.value.as_tool() else {
            continue;
        };
        let layers = against.after.policies_over(tool.tool_id.as_ref());
        for (layer, entries) in layers.into_iter().enumerate() {
            let others = entries.into_iter();
            let others = others.filter(|entry| entry.origin.package != against.origin.package);
            for entry in others {
                let key = (layer, entry.document.policy_id.to_string());
                let governed = governing.entry(key).or_insert((entry, Vec::new()));
                governed.1.push((document, tool));
            }
        }
    }
    governing.into_values().collect()
}

/// Tests are only run over policies that are otherwise sound: their outcomes follow from the rest.
fn failed_tests(
    policies: &[(&WithLocation<Document>, &Policy)],
    against: &Against<'_>,
) -> Vec<Problem> {
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
