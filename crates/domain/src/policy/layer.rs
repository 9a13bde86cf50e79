//! The rules of one layer that govern one tool, and the decision that they make together.

use std::collections::BTreeMap;
use std::sync::Arc;

use cedar_policy::{
    AuthorizationError, Decision, Policy as CedarPolicy, PolicyId as CedarId, PolicySet, Response,
};
use charter_contract::bounds::{CEDAR_TOOL_BYTES, CEDAR_TOOL_RULES};
use charter_contract::catalogue::policy::Policy;
use charter_contract::catalogue::tool::Tool;
use charter_contract::ids::PolicyId;
use charter_contract::package::PackageScope;

use super::cost::Cost;
use super::decision::{Denial, PolicyFailure, Rule, Unpermitted};
use super::error_text::described;
use super::fault::CedarFault;
use super::rules::{ids, parse, takes_in};
use super::run_facts::{RunFact, run_facts};
use super::schema;
use super::shape::shape;
use crate::catalogue::CatalogueEntry;

/// The documents of one layer that govern a tool.
#[derive(Debug, Clone)]
pub(super) struct Governing {
    pub(super) scope: PackageScope,
    pub(super) documents: Vec<Arc<CatalogueEntry<Policy>>>,
}

/// The rules of one layer for one tool.
#[derive(Debug)]
pub(super) struct TypedLayer {
    pub(super) scope: PackageScope,
    documents: Vec<PolicyId>,
    pub(super) rules: PolicySet,
    run_facts: BTreeMap<CedarId, Vec<RunFact>>,
    pub(super) cost: Cost,
}

impl TypedLayer {
    /// The rules of a layer's documents whose scope takes in the tool.
    pub(super) fn parse(tool: &Tool, layer: &Governing) -> Result<Self, Vec<PolicyFailure>> {
        let documents = || layer.documents.iter().map(|entry| &entry.document);
        admit_texts(documents()).map_err(whole)?;
        let (mut rules, mut failures) = (Vec::new(), Vec::new());
        let mut operators = 0;
        for policy in documents() {
            match rules_for(tool, policy) {
                Ok((found, count)) => {
                    rules.extend(found);
                    operators += count;
                }
                Err(faults) => failures.extend(failures_of(&policy.policy_id, faults)),
            }
        }
        if rules.len() > CEDAR_TOOL_RULES {
            failures.extend(whole(too_many_rules(tool)));
        }
        if !failures.is_empty() {
            return Err(failures);
        }
        Ok(Self {
            scope: layer.scope,
            documents: documents().map(|policy| policy.policy_id.clone()).collect(),
            rules: set(rules).map_err(whole)?,
            run_facts: BTreeMap::new(),
            cost: Cost::of_operators(operators),
        })
    }

    /// Facts from the rules' JSON form: which parts of the run they read, and how much work their `like` is.
    pub(super) fn read_rules(&mut self) {
        for rule in self.rules.policies() {
            let written = rule.to_json().ok();
            if let Some(written) = &written {
                self.cost.add(&written["conditions"]);
            }
            let run_facts = run_facts(written.as_ref());
            self.run_facts.insert(rule.id().clone(), run_facts);
        }
    }

    /// The parts of the run that a rule reads, in a fixed order.
    pub(super) fn run_facts(&self, rule: &CedarId) -> Vec<RunFact> {
        self.run_facts.get(rule).cloned().unwrap_or_default()
    }

    /// Adds one layer's answer. An error denies: Cedar leaves out a rule that fails, and a
    /// forbidding one must not be left out.
    pub(super) fn read(&self, response: &Response, by: &mut Vec<Rule>, denial: &mut Denial) {
        let mut failures: Vec<PolicyFailure> = response
            .diagnostics()
            .errors()
            .map(
                |AuthorizationError::PolicyEvaluationError(error)| PolicyFailure {
                    policy_id: ids(error.policy_id()).map(|(policy, _)| policy),
                    message: described(error),
                },
            )
            .collect();
        failures.sort();
        denial.failures.extend(failures);
        let mut rules: Vec<Rule> = response
            .diagnostics()
            .reason()
            .filter_map(|id| self.rule(id))
            .collect();
        rules.sort();
        match response.decision() {
            Decision::Allow => by.extend(rules),
            Decision::Deny if rules.is_empty() => denial.unpermitted.push(self.unpermitted()),
            Decision::Deny => denial.forbidden_by.extend(rules),
        }
    }

    /// The explanation if no rule of the layer permits.
    pub(super) fn unpermitted(&self) -> Unpermitted {
        Unpermitted {
            scope: self.scope,
            governed_by: self.documents.clone(),
        }
    }

    /// A rule as decisions name it.
    pub(super) fn rule(&self, id: &CedarId) -> Option<Rule> {
        let (policy_id, rule) = ids(id)?;
        let message = self.rules.annotation(id, "message").map(str::to_owned);
        Some(Rule {
            policy_id,
            rule,
            scope: self.scope,
            message,
        })
    }
}

/// A failure of all documents together.
pub(super) fn whole(message: String) -> Vec<PolicyFailure> {
    vec![PolicyFailure {
        policy_id: None,
        message,
    }]
}

/// Whether the documents of a layer that govern a tool are parsed for it, which takes as long as their texts are.
///
/// # Errors
/// Why not.
pub(super) fn admit_texts<'p>(policies: impl Iterator<Item = &'p Policy>) -> Result<(), String> {
    let texts = policies.filter_map(|policy| policy.cedar.as_ref());
    let bytes: usize = texts.map(|text| text.as_str().len()).sum();
    if bytes > CEDAR_TOOL_BYTES {
        return Err(format!(
            "the policies of one layer that govern it have {bytes} bytes of Cedar; the limit is {CEDAR_TOOL_BYTES} \
             (CEDAR_TOOL_BYTES); narrow what they govern"
        ));
    }
    Ok(())
}

pub(super) fn too_many_rules(tool: &Tool) -> String {
    format!(
        "more than {CEDAR_TOOL_RULES} rules of one layer govern the tool `{}` (CEDAR_TOOL_RULES); merge them, or \
         narrow what they govern",
        tool.tool_id
    )
}

/// A document's rules whose scope takes in the tool, and how many operators the document has.
fn rules_for(tool: &Tool, policy: &Policy) -> Result<(Vec<CedarPolicy>, usize), Vec<CedarFault>> {
    let Some(text) = &policy.cedar else {
        return Err(vec![CedarFault::new("its Cedar text was never filled in")]);
    };
    let group = schema::group(tool.tool_class);
    let shape = shape(text.as_str()).map_err(|fault| vec![fault])?;
    let rules = parse(&policy.policy_id, text.as_str())?;
    let rules = rules.into_iter();
    let rules = rules.filter(|rule| takes_in(rule, tool.tool_id.as_ref(), group));
    Ok((rules.collect(), shape.operators))
}

fn failures_of(policy: &PolicyId, faults: Vec<CedarFault>) -> impl Iterator<Item = PolicyFailure> {
    let policy = policy.clone();
    faults.into_iter().map(move |fault| PolicyFailure {
        policy_id: Some(policy.clone()),
        message: fault.message,
    })
}

/// Rules of one layer, whose ids differ.
///
/// # Errors
/// When two are the same.
pub(super) fn set(rules: impl IntoIterator<Item = CedarPolicy>) -> Result<PolicySet, String> {
    PolicySet::from_policies(rules).map_err(|error| error.to_string())
}
