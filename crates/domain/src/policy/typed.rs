//! The rules that govern one tool, checked against the tool's declaration, and their answer to a
//! question about it.
//!
//! Layers answer apart, and each that governs the tool has to permit the call: a tenant's policies
//! narrow what the global ones allow and never widen it.

use std::collections::BTreeMap;
use std::sync::Arc;

use cedar_policy::{
    AuthorizationError, Authorizer, Context, Decision, Entities, EntityUid, Policy as CedarPolicy,
    PolicyId as CedarId, PolicySet, Request, Response, RestrictedExpression, ValidationMode,
    Validator,
};
use charter_contract::bounds::{CEDAR_TOOL_BYTES, CEDAR_TOOL_RULES};
use charter_contract::catalogue::policy::Policy;
use charter_contract::catalogue::tool::{Tool, ToolClass};
use charter_contract::ids::PolicyId;
use charter_contract::package::PackageScope;
use charter_contract::parameter::Parameter;

use super::cost::Cost;
use super::decision::{Denial, PolicyDecision, PolicyFailure, PolicyQuestion, Rule, Unpermitted};
use super::names::{Names, entity};
use super::rules::{CedarFault, MOST_FAULTS, actions, ids, parse, takes_in};
use super::shape::shape;
use super::weighed::{LayerVerdict, RunFact, looks_at};
use super::{entities, schema, values};
use crate::catalogue::CatalogueEntry;

/// The documents of one layer that govern a tool.
#[derive(Debug, Clone)]
pub(super) struct Governing {
    pub(super) scope: PackageScope,
    pub(super) documents: Vec<Arc<CatalogueEntry<Policy>>>,
}

/// The rules for one tool, ready to be asked.
#[derive(Debug)]
pub(super) struct CompiledToolRules {
    parameters: Vec<Parameter>,
    class: ToolClass,
    names: Names,
    validator: Validator,
    layers: Vec<TypedLayer>,
}

/// The rules of one layer for one tool.
#[derive(Debug)]
pub(super) struct TypedLayer {
    pub(super) scope: PackageScope,
    documents: Vec<PolicyId>,
    pub(super) rules: PolicySet,
    looks_at: BTreeMap<CedarId, Vec<RunFact>>,
    cost: Cost,
}

/// What a check of rules against a tool found.
#[derive(Debug, Default)]
pub(super) struct Checked {
    pub(super) errors: Vec<(CedarId, CedarFault)>,
    pub(super) warnings: Vec<(CedarId, CedarFault)>,
}

/// What rules on calls of a tool are checked with; `mentioned` are the actions that they name.
///
/// # Errors
/// Why the tool cannot be governed at all.
pub(super) fn validator(tool: &Tool, mentioned: &[EntityUid]) -> Result<Validator, String> {
    Ok(Validator::new(schema::for_tool(tool, mentioned)?))
}

/// Checks rules strictly: nothing may be asked of a value that may be absent.
pub(super) fn check(validator: &Validator, rules: &PolicySet) -> Checked {
    let result = validator.validate(rules, ValidationMode::Strict);
    let errors = result.validation_errors();
    let errors = errors.take(MOST_FAULTS);
    let errors = errors.map(|error| {
        (
            error.policy_id().clone(),
            CedarFault::from_diagnostic(error),
        )
    });
    let warnings = result.validation_warnings().take(MOST_FAULTS);
    let warnings =
        warnings.map(|note| (note.policy_id().clone(), CedarFault::from_diagnostic(note)));
    Checked {
        errors: errors.collect(),
        warnings: warnings.collect(),
    }
}

/// Rules of one layer, whose ids differ.
///
/// # Errors
/// When two are the same.
pub(super) fn set(rules: impl IntoIterator<Item = CedarPolicy>) -> Result<PolicySet, String> {
    PolicySet::from_policies(rules).map_err(|error| error.to_string())
}

impl CompiledToolRules {
    /// Parses and checks everything that governs a tool.
    ///
    /// # Errors
    /// What keeps the policies from answering. Registration refuses such policies; a tool that was
    /// registered after them, in a layer that does not see them, can still bring it about.
    pub(super) fn compile(
        tool: &Tool,
        governing: &[Governing],
    ) -> Result<Self, Vec<PolicyFailure>> {
        let refused = |mut failures: Vec<PolicyFailure>| {
            failures.sort();
            failures.dedup();
            Err(failures)
        };
        let mut failures = Vec::new();
        let mut layers = Vec::new();
        for layer in governing {
            match TypedLayer::parse(tool, layer) {
                Ok(layer) => layers.push(layer),
                Err(found) => failures.extend(found),
            }
        }
        if !failures.is_empty() {
            return refused(failures);
        }
        let rules = layers.iter().flat_map(|layer| layer.rules.policies());
        let mentioned: Vec<EntityUid> = rules.flat_map(actions).collect();
        let validator = validator(tool, &mentioned).map_err(whole)?;
        for layer in &layers {
            let errors = check(&validator, &layer.rules).errors.into_iter();
            failures.extend(errors.map(|(rule, fault)| PolicyFailure {
                policy_id: ids(&rule).map(|(policy, _)| policy),
                message: fault.message,
            }));
        }
        if !failures.is_empty() {
            return refused(failures);
        }
        layers.iter_mut().for_each(TypedLayer::read_rules);
        Ok(Self {
            parameters: tool.parameters.clone(),
            class: tool.tool_class,
            names: Names::read().map_err(whole)?,
            validator,
            layers,
        })
    }

    /// Whether this was compiled for what the tool declares.
    pub(super) fn is_for(&self, tool: &Tool) -> bool {
        self.class == tool.tool_class && self.parameters == tool.parameters
    }

    /// The answer. `hear` is told what each layer said.
    pub(super) fn decide(
        &self,
        question: &PolicyQuestion<'_>,
        hear: &mut dyn FnMut(&LayerVerdict<'_>),
    ) -> PolicyDecision {
        let (request, entities) = match self.request(question) {
            Ok(request) => request,
            Err(message) => {
                return PolicyDecision::Deny(Denial::of_failures(vec![PolicyFailure {
                    policy_id: None,
                    message,
                }]));
            }
        };
        let authorizer = Authorizer::new();
        let mut by = Vec::new();
        let mut denial = Denial::default();
        for layer in &self.layers {
            let response = authorizer.is_authorized(&request, &layer.rules, &entities);
            hear(&LayerVerdict {
                layer,
                request: &request,
                entities: &entities,
                response: &response,
            });
            layer.read(&response, &mut by, &mut denial);
        }
        if !denial.is_empty() {
            return PolicyDecision::Deny(denial);
        }
        PolicyDecision::Allow { by }
    }

    fn request(&self, question: &PolicyQuestion<'_>) -> Result<(Request, Entities), String> {
        let names = &self.names;
        let schema = self.validator.schema();
        let tool = entities::tool(names, question.tool)?;
        let caller = entities::caller(names, question)?;
        let run = entities::run(names, question)?;
        let count = values::count_of(question.arguments)?;
        for layer in &self.layers {
            layer.cost.admit(question.arguments, count)?;
        }
        let parameters = values::arguments(&question.tool.parameters, question.arguments)?;
        let context = Context::from_pairs([
            ("parameters".to_owned(), parameters),
            (
                "dry_run".to_owned(),
                RestrictedExpression::new_bool(question.dry_run),
            ),
            (
                "run".to_owned(),
                RestrictedExpression::new_entity_uid(run.uid()),
            ),
        ])
        .map_err(|error| described(&error))?;
        let action = entity(&names.action, question.tool.tool_id.as_ref());
        let request = Request::new(caller.uid(), action, tool.uid(), context, Some(schema))
            .map_err(|error| described(&error))?;
        let entities = Entities::from_entities([caller, tool, run], Some(schema))
            .map_err(|error| described(&error))?;
        Ok((request, entities))
    }
}

impl TypedLayer {
    /// The rules of a layer's documents whose scope takes in the tool.
    fn parse(tool: &Tool, layer: &Governing) -> Result<Self, Vec<PolicyFailure>> {
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
            looks_at: BTreeMap::new(),
            cost: Cost::of_operators(operators),
        })
    }

    /// What shows in the rules' JSON form: what of the run they look at, and how much work their `like` is.
    fn read_rules(&mut self) {
        for rule in self.rules.policies() {
            let written = rule.to_json().ok();
            if let Some(written) = &written {
                self.cost.add(&written["conditions"]);
            }
            let looks_at = looks_at(written.as_ref());
            self.looks_at.insert(rule.id().clone(), looks_at);
        }
    }

    /// What of the run a rule looks at, in a fixed order.
    pub(super) fn looks_at(&self, rule: &CedarId) -> Vec<RunFact> {
        self.looks_at.get(rule).cloned().unwrap_or_default()
    }

    /// Adds one layer's answer. An error denies: Cedar leaves out a rule that fails, and a
    /// forbidding one must not be left out.
    fn read(&self, response: &Response, by: &mut Vec<Rule>, denial: &mut Denial) {
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

    /// What is said where no rule of the layer permits.
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
fn whole(message: String) -> Vec<PolicyFailure> {
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
            "the policies of one layer that govern it have {bytes} bytes of Cedar, and the limit is \
             {CEDAR_TOOL_BYTES} (CEDAR_TOOL_BYTES); narrow what they govern"
        ));
    }
    Ok(())
}

pub(super) fn too_many_rules(tool: &Tool) -> String {
    format!(
        "more than {CEDAR_TOOL_RULES} rules of one layer govern the tool `{}` (CEDAR_TOOL_RULES); put them together, or \
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

/// An error with its causes: Cedar keeps what matters in the cause.
pub(super) fn described(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        text = format!("{text}: {next}");
        cause = next.source();
    }
    text
}
