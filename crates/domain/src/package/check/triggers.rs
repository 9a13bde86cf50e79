//! Finds triggers of finding rules without a playbook, and playbooks whose parameters cannot be filled from findings.

use charter_contract::bounds::PACKAGE_PROBLEMS;
use charter_contract::catalogue::skill::Skill;
use charter_contract::text::Text;

use super::super::{Problem, SourceLocation};
use crate::catalogue::View;

/// Warns about the triggers of a skill's rules.
pub(super) fn unmet(place: &SourceLocation, skill: &Skill, after: &View) -> Vec<Problem> {
    let rules = skill
        .analysis
        .iter()
        .flat_map(|analysis| &analysis.findings);
    let triggers = rules.enumerate().flat_map(|(rule, found)| {
        let triggers = found.triggers.iter().enumerate();
        triggers
            .map(move |(at, trigger)| (format!("/analysis/findings/{rule}/triggers/{at}"), trigger))
    });
    let warned = triggers.filter_map(|(pointer, trigger)| {
        let (message, hint) = fault(trigger, after)?;
        let problem = Problem::at(place, &pointer, "trigger", message).warning();
        Some(problem.suggest(hint))
    });
    warned.take(PACKAGE_PROBLEMS).collect()
}

/// Returns the problem of a trigger, with a suggestion.
fn fault(trigger: &Text, after: &View) -> Option<(String, &'static str)> {
    let playbooks: Vec<_> = after
        .playbooks()
        .filter(|found| found.document().trigger_conditions.contains(trigger))
        .collect();
    if playbooks.is_empty() {
        let message =
            format!("no playbook has the trigger condition `{trigger}`, so none will be offered");
        return Some((
            message,
            "write it as in the playbook's `trigger_conditions`",
        ));
    }
    let mapped = playbooks
        .iter()
        .any(|found| found.document().parameters_from_findings.is_some());
    (!mapped).then(|| {
        let message = format!(
            "no playbook with the trigger condition `{trigger}` has `parameters_from_findings`, so none will be offered"
        );
        (message, "add `parameters_from_findings` to the playbook")
    })
}
