//! What every rule over a tool says about one call: what an explanation shows beside the decision.
//! Told from the evaluation that the decision is made of; decides nothing.

use std::collections::BTreeSet;
use std::sync::Arc;

use cedar_policy::{
    AuthorizationError, Authorizer, Decision, Effect, Entities, PolicyId as CedarId,
    PolicySet as CedarSet, Request, Response,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::decision::{PolicyFailure, Rule, Unpermitted};
use super::typed::{TypedLayer, described};
use crate::catalogue::Origin;

/// A fact about the run that a rule may look at: an attribute of `context.run`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunFact {
    /// What is executed.
    Kind,
    /// Its id.
    Subject,
    /// What a mission says of itself.
    Mission,
    /// Whether a person approved exactly this call.
    Approved,
    /// Who did.
    Approvers,
    /// How many approvals the run was given.
    Approvals,
    /// The calls that it began.
    Calls,
}

/// The attributes of `context.run`, as the schema has them.
const FACTS: [(&str, RunFact); 7] = [
    ("kind", RunFact::Kind),
    ("subject", RunFact::Subject),
    ("mission", RunFact::Mission),
    ("approved", RunFact::Approved),
    ("approvers", RunFact::Approvers),
    ("approvals", RunFact::Approvals),
    ("calls", RunFact::Calls),
];

/// Whether a rule's scope and conditions hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuleMatch {
    /// They do.
    Holds,
    /// They do not.
    DoesNotHold,
    /// It has no answer, which denies.
    Failed(String),
}

/// One rule and what it says about a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Weighed {
    /// The rule.
    pub rule: Rule,
    /// Whether it forbids what it holds for; else it permits that.
    pub forbids: bool,
    /// Whether it holds.
    pub stands: RuleMatch,
    /// What of the run it looks at, in a fixed order.
    pub looks_at: Vec<RunFact>,
    /// Where its document comes from.
    pub origin: Option<Arc<Origin>>,
}

/// Part of what policies say about a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PolicyStatement {
    /// A rule was asked.
    Rule(Weighed),
    /// No rule of a layer that governs the tool permits the call.
    Unpermitted(Unpermitted),
    /// Documents or arguments could not be put to the rules at all.
    Failure(PolicyFailure),
}

/// What the rules of one layer said together.
pub(super) struct LayerVerdict<'a> {
    pub(super) layer: &'a TypedLayer,
    pub(super) request: &'a Request,
    pub(super) entities: &'a Entities,
    pub(super) response: &'a Response,
}

impl LayerVerdict<'_> {
    /// Adds what each rule said, by id, and what is said where none permits.
    pub(super) fn weigh(&self, heard: &mut Vec<PolicyStatement>) {
        let holding = self.holding();
        let rules = self.layer.rules.policies();
        let mut weighed: Vec<Weighed> = rules
            .filter_map(|rule| {
                let stands = match self.failed(rule.id()) {
                    Some(error) => RuleMatch::Failed(error),
                    None if holding.contains(rule.id()) => RuleMatch::Holds,
                    None => RuleMatch::DoesNotHold,
                };
                Some(Weighed {
                    rule: self.layer.rule(rule.id())?,
                    forbids: rule.effect() == Effect::Forbid,
                    stands,
                    looks_at: self.layer.looks_at(rule.id()),
                    origin: None,
                })
            })
            .collect();
        weighed.sort_by(|a, b| a.rule.cmp(&b.rule));
        heard.extend(weighed.into_iter().map(PolicyStatement::Rule));
        if self.response.decision() == Decision::Deny && self.reasons().next().is_none() {
            heard.push(PolicyStatement::Unpermitted(self.layer.unpermitted()));
        }
    }

    fn reasons(&self) -> impl Iterator<Item = &CedarId> {
        self.response.diagnostics().reason()
    }

    /// Why a rule had no answer, if it had none.
    fn failed(&self, id: &CedarId) -> Option<String> {
        let mut errors = self.response.diagnostics().errors();
        errors.find_map(|AuthorizationError::PolicyEvaluationError(error)| {
            (error.policy_id() == id).then(|| described(error))
        })
    }

    /// The rules whose scope and conditions hold. Beside a rule that forbids, Cedar names none that
    /// permits: those are asked again by themselves.
    fn holding(&self) -> BTreeSet<CedarId> {
        let mut holding: BTreeSet<CedarId> = self.reasons().cloned().collect();
        if self.response.decision() == Decision::Deny && !holding.is_empty() {
            let permits = self.layer.rules.policies();
            let permits = permits.filter(|rule| rule.effect() == Effect::Permit);
            // Ids differ already, so the set can be made.
            if let Ok(permits) = CedarSet::from_policies(permits.cloned()) {
                let alone = Authorizer::new().is_authorized(self.request, &permits, self.entities);
                holding.extend(alone.diagnostics().reason().cloned());
            }
        }
        holding
    }
}

/// What of the run a rule looks at, from its JSON form. Where it takes the run or the whole context in
/// another way than by an attribute, or has no such form, it may look at anything.
pub(super) fn looks_at(written: Option<&Value>) -> Vec<RunFact> {
    let mut facts = BTreeSet::new();
    match written {
        Some(written) => collect(&written["conditions"], &mut facts),
        None => facts.extend(FACTS.map(|(_, fact)| fact)),
    }
    facts.into_iter().collect()
}

/// Cedar's JSON form of policies: `{".": {"left": …, "attr": …}}` reads an attribute, `has` asks for
/// one, `hasTag` and `getTag` read tags, `{"Var": "context"}` is the context.
fn collect(node: &Value, facts: &mut BTreeSet<RunFact>) {
    match node {
        Value::Object(fields) => {
            for operator in [".", "has"] {
                if let Some(read) = fields.get(operator) {
                    let attribute = read["attr"].as_str().unwrap_or_default();
                    if is_run(&read["left"]) {
                        match fact(attribute) {
                            Some(fact) => facts.extend([fact]),
                            None => facts.extend(FACTS.map(|(_, fact)| fact)),
                        }
                        return;
                    }
                    if is_context(&read["left"]) && attribute != "run" {
                        return;
                    }
                }
            }
            for operator in ["hasTag", "getTag"] {
                if let Some(read) = fields.get(operator)
                    && is_run(&read["left"])
                {
                    facts.insert(RunFact::Calls);
                    collect(&read["right"], facts);
                    return;
                }
            }
            if is_context(node) || is_run(node) {
                facts.extend(FACTS.map(|(_, fact)| fact));
                return;
            }
            fields.values().for_each(|field| collect(field, facts));
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, facts)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn fact(attribute: &str) -> Option<RunFact> {
    let known = FACTS.iter().find(|(name, _)| *name == attribute);
    known.map(|(_, fact)| *fact)
}

fn is_context(node: &Value) -> bool {
    node["Var"] == "context"
}

fn is_run(node: &Value) -> bool {
    let read = &node["."];
    is_context(&read["left"]) && read["attr"] == "run"
}
