//! Parses the Cedar text of one policy document into named rules, without templates.

use std::collections::BTreeSet;

use cedar_policy::{
    ActionConstraint, EntityUid, Policy as CedarPolicy, PolicyId as CedarId, PolicySet,
};
use charter_contract::ids::PolicyId;

use super::fault::CedarFault;
use super::names::is_action;
use super::schema::ACTION_GROUPS;
use super::shape::shape;

/// The maximum number of reported faults of a text.
pub(super) const MOST_FAULTS: usize = 100;

/// The annotation that names a rule.
const ID: &str = "id";

/// Separates a document's id, which cannot contain it, from a rule's id.
const SEPARATOR: char = '#';

/// Returns the rules of a document, each under the id `<policy_id>#<@id>`. Rules that pass [`shape`] may still nest
/// some hundred levels, so the caller must provide enough stack.
///
/// # Errors
/// All faults of the text that do not depend on tools.
pub(super) fn parse(policy: &PolicyId, text: &str) -> Result<Vec<CedarPolicy>, Vec<CedarFault>> {
    shape(text).map_err(|fault| vec![fault])?;
    let parsed: PolicySet = text.parse().map_err(|errors: cedar_policy::ParseErrors| {
        let errors = errors.iter().take(MOST_FAULTS);
        errors.map(CedarFault::from_diagnostic).collect::<Vec<_>>()
    })?;
    let mut faults = Vec::new();
    if parsed.templates().next().is_some() {
        let message = "templates (`?principal`, `?resource`) are not supported";
        faults.push(CedarFault::new(message));
    }
    let mut rules = Vec::new();
    let mut seen = BTreeSet::new();
    for (at, rule) in parsed.policies().enumerate() {
        match rule.annotation(ID) {
            None | Some("") => {
                let message = format!("rule {} has no name", at + 1);
                faults.push(CedarFault {
                    advice: Some("write `@id(\"…\")` before it; decisions use it".to_owned()),
                    ..CedarFault::new(message)
                });
            }
            Some(id) if !seen.insert(id.to_owned()) => {
                faults.push(CedarFault::new(format!("the rule `{id}` is duplicated")));
            }
            Some(id) => rules.push(rule.new_id(CedarId::new(format!("{policy}{SEPARATOR}{id}")))),
        }
    }
    if rules.is_empty() && faults.is_empty() {
        faults.push(CedarFault::new("the Cedar text has no rule"));
    }
    if faults.is_empty() {
        Ok(rules)
    } else {
        Err(faults)
    }
}

/// Splits Cedar's id of a rule into the document's id and the rule's.
pub(super) fn ids(id: &CedarId) -> Option<(PolicyId, String)> {
    let text: &str = id.as_ref();
    let (policy, rule) = text.split_once(SEPARATOR)?;
    Some((PolicyId::parse(policy).ok()?, rule.to_owned()))
}

/// Returns the actions that a rule names.
pub(super) fn actions(rule: &CedarPolicy) -> impl Iterator<Item = EntityUid> {
    rule.entity_literals().into_iter().filter(is_action)
}

/// Returns whether a rule's scope covers calls of a tool in this group.
pub(super) fn takes_in(rule: &CedarPolicy, tool: &str, group: &str) -> bool {
    let covers = |action: &EntityUid| {
        let id = action.id().unescaped();
        id == tool || id == group || id == ACTION_GROUPS[0]
    };
    match rule.action_constraint() {
        ActionConstraint::Any => true,
        ActionConstraint::Eq(action) => action.id().unescaped() == tool,
        ActionConstraint::In(actions) => actions.iter().any(covers),
    }
}
