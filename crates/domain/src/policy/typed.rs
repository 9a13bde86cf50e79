//! The rules for one tool, validated against the tool's declaration, and their evaluation for a call of the tool.
//!
//! Layers are evaluated separately, and each layer that governs the tool must permit the call: a tenant's policies
//! narrow the permissions of the global ones and never widen them.

use cedar_policy::{
    Authorizer, Context, Entities, EntityUid, PolicyId as CedarId, PolicySet, Request,
    RestrictedExpression, ValidationMode, Validator,
};
use charter_contract::catalogue::tool::{Tool, ToolClass};
use charter_contract::foreign_schema::ForeignSchema;
use charter_contract::parameter::Parameter;

use super::decision::{Denial, PolicyDecision, PolicyFailure, PolicyQuestion};
use super::error_text::described;
use super::fault::CedarFault;
use super::layer::{Governing, TypedLayer, whole};
use super::names::{Names, entity};
use super::rules::{MOST_FAULTS, actions, ids};
use super::weighed::LayerVerdict;
use super::{entities, schema, values};

/// The compiled rules for one tool.
#[derive(Debug)]
pub(super) struct CompiledToolRules {
    parameters: Vec<Parameter>,
    input_schema: Option<ForeignSchema>,
    class: ToolClass,
    names: Names,
    validator: Validator,
    layers: Vec<TypedLayer>,
}

/// The results of checking rules against a tool.
#[derive(Debug, Default)]
pub(super) struct Checked {
    pub(super) errors: Vec<(CedarId, CedarFault)>,
    pub(super) warnings: Vec<(CedarId, CedarFault)>,
}

/// Returns the validator for rules about calls of a tool; `mentioned` are the actions that they name.
///
/// # Errors
/// The reason why the tool cannot be governed.
pub(super) fn validator(tool: &Tool, mentioned: &[EntityUid]) -> Result<Validator, String> {
    Ok(Validator::new(schema::for_tool(tool, mentioned)?))
}

/// Validates rules in strict mode: a rule must not use a value that may be absent.
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

impl CompiledToolRules {
    /// Parses and validates the policies that govern a tool.
    ///
    /// # Errors
    /// The reasons why the policies cannot be evaluated. Registration rejects such policies, but a tool that was
    /// registered later, in a layer that they do not see, can still cause this.
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
            parameters: tool.parameters().to_vec(),
            input_schema: tool.input_schema.clone(),
            class: tool.tool_class,
            names: Names::read().map_err(whole)?,
            validator,
            layers,
        })
    }

    /// Returns whether this was compiled for the tool's declaration.
    pub(super) fn is_for(&self, tool: &Tool) -> bool {
        self.class == tool.tool_class
            && self.input_schema == tool.input_schema
            && self.parameters == tool.parameters()
    }

    /// Returns the decision, and passes the result of each layer to `hear`.
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
        let parameters = values::arguments(question.tool, question.arguments)?;
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
