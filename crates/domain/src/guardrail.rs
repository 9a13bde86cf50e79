//! Resolves the guardrails that apply to a subject, and evaluates them for one effect.
//!
//! Resolution is a union: every match of the tenant's and of the global layer, in the order skill, agent, domain,
//! global (seed 000 §2.5, rulings 5 and 6). Within a level, guardrails that list the persona come first. Exceptions are
//! evaluated first (B000-12). The gate decides what follows from a guardrail that applies.

use std::sync::Arc;

use charter_contract::catalogue::guardrail::{Enforcement, Guardrail, GuardrailScope};
use charter_contract::catalogue::tags::Flow;
use charter_contract::catalogue::vocabulary::Tier;
use charter_contract::ids::Label;
use charter_contract::text::Text;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::catalogue::{Conditions, ResolvedDocument, View};
use crate::expression::{Budget, ExpressionError, Fact, Facts};
use crate::glob;
use crate::persona::{self, PersonaFit};

/// The names that expressions may use only for a call.
const OF_A_CALL: [&str; 3] = ["tool", "parameters", "dry_run"];

/// The subject for which guardrails are resolved. An absent level has no matches.
#[derive(Debug, Clone, Copy, Default)]
pub struct GuardrailSubject<'a> {
    /// A skill's or playbook's id.
    pub skill: Option<&'a str>,
    /// The owning agent.
    pub agent: Option<&'a str>,
    /// Its domain.
    pub domain: Option<&'a str>,
    /// The persona of the answer. If absent, guardrails apply regardless of the personas that they list.
    pub persona: Option<&'a str>,
}

/// The properties of the request that guardrails may read (seed 000 §2.10).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RequestTags {
    /// The flow that answers the request; absent for a plan or a mission, which has no request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow: Option<Flow>,
    /// The persona of the answer.
    pub persona: Label,
    /// The tier of the answer.
    pub tier: Tier,
}

impl RequestTags {
    /// Returns the request's names for expressions, with the domain of the answer. An absent flow is an empty text.
    #[must_use]
    pub fn facts<'v>(&'v self, domain: &'v str) -> [(&'v str, Fact<'v>); 4] {
        [
            ("flow", Fact::Text(self.flow.map_or("", Flow::as_str))),
            ("domain", Fact::Text(domain)),
            ("persona", Fact::Text(self.persona.as_str())),
            ("tier", Fact::Text(self.tier.as_str())),
        ]
    }
}

/// A guardrail that applies to the subject.
#[derive(Debug, Clone)]
pub struct ApplicableGuardrail {
    /// The guardrail and its layer.
    pub found: ResolvedDocument<Guardrail>,
    /// The glob that matched.
    pub matched: String,
    /// The guardrail's expressions.
    pub conditions: Arc<Conditions>,
}

/// Does not compare the expressions, because they follow from the guardrail.
impl PartialEq for ApplicableGuardrail {
    fn eq(&self, other: &Self) -> bool {
        self.found == other.found && self.matched == other.matched
    }
}

impl ApplicableGuardrail {
    /// Returns whether an expression decides if the guardrail applies to a call: its `when`, or an exception.
    #[must_use]
    pub fn asks_expressions(&self) -> bool {
        let Conditions { when, exceptions } = self.conditions.as_ref();
        when.is_some() || !exceptions.is_empty()
    }
}

/// Returns every guardrail that applies to the subject, without duplicates, in the order skill, agent, domain, global.
/// Within a level, those that list the persona come first; the rest of the order is by id.
#[must_use]
pub fn resolve(view: &View, subject: GuardrailSubject<'_>) -> Vec<ApplicableGuardrail> {
    let anything = subject.skill.or(subject.domain).unwrap_or_default();
    let levels = [
        (GuardrailScope::Skill, subject.skill),
        (GuardrailScope::Agent, subject.agent),
        (GuardrailScope::Domain, subject.domain),
        (GuardrailScope::Global, Some(anything)),
    ];
    levels
        .into_iter()
        .filter_map(|(scope, target)| Some((scope, target?)))
        .flat_map(|(scope, target)| {
            let near = view.guardrails_near(scope, target).into_iter();
            let bearing = near.filter_map(|(found, conditions)| {
                let fit = fit(found.document(), subject.persona)?;
                let matched = matching_glob(found.document(), target)?;
                let resolved = ApplicableGuardrail {
                    found,
                    matched,
                    conditions,
                };
                Some((fit, resolved))
            });
            let mut bearing: Vec<(PersonaFit, ApplicableGuardrail)> = bearing.collect();
            // The sort is stable: guardrails with an equal fit stay in the order of their ids.
            bearing.sort_by_key(|(fit, _)| *fit);
            bearing.into_iter().map(|(_, resolved)| resolved)
        })
        .collect()
}

/// Returns how a guardrail fits the persona of the answer.
fn fit(guardrail: &Guardrail, persona: Option<&str>) -> Option<PersonaFit> {
    match persona {
        Some(persona) => persona::fit(&guardrail.personas, persona),
        None => Some(PersonaFit::General),
    }
}

fn matching_glob(guardrail: &Guardrail, target: &str) -> Option<String> {
    let mut globs = guardrail.applies_to.iter().map(AsRef::as_ref);
    globs
        .find(|glob| glob::covers(glob, target))
        .map(str::to_owned)
}

/// Whether an effect changes something outside Charter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EffectClass {
    /// The effect only reads.
    Read,
    /// The effect writes.
    Write,
    /// No tool is called: the effect is the answer to a request.
    Answer,
}

/// The result of one guardrail for an effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GuardrailMatch<'a> {
    /// The guardrail applies, and its enforcement takes effect.
    Bears {
        /// The reason why an expression could not be evaluated, if it could not.
        note: Option<String>,
    },
    /// This exception applies.
    Excepted(&'a Text),
    /// The guardrail's `when` is false.
    Elsewhere(&'a Text),
    /// The guardrail has no `when`, so it applies only to writes, and the effect is not a write.
    OnWritesOnly,
}

/// Returns the guardrails in descending order of strictness, and otherwise in the order of resolution.
pub fn strictest_first(
    guardrails: &[ApplicableGuardrail],
) -> impl Iterator<Item = &ApplicableGuardrail> {
    let strictest = Enforcement::ALL.iter().rev();
    strictest.flat_map(move |enforcement| {
        let enforces = move |resolved: &&ApplicableGuardrail| {
            resolved.found.document().enforcement == *enforcement
        };
        guardrails.iter().filter(enforces)
    })
}

/// Returns the result of a guardrail for one effect. `facts` is the input of its expressions. `budget` is shared by all
/// guardrails that apply to the effect.
///
/// A guardrail without `when` applies only to writes. One with `when` applies if the expression is true, and also if it
/// cannot be evaluated, so that a broken rule allows nothing. To an answer without a call, only guardrails about the
/// request apply: a `when` that cannot be evaluated without a call is about calls. An exception applies only if its
/// condition is true.
#[must_use]
pub fn word<'a>(
    resolved: &'a ApplicableGuardrail,
    class: EffectClass,
    facts: &Facts<'_>,
    budget: &mut Budget,
) -> GuardrailMatch<'a> {
    let guardrail = resolved.found.document();
    let conditions = &resolved.conditions;
    let mut note = None;
    for (exception, condition) in guardrail.exceptions.iter().zip(&conditions.exceptions) {
        match condition.holds(facts, budget) {
            Ok(true) if exception.allow => return GuardrailMatch::Excepted(&exception.condition),
            Ok(_) => {}
            Err(error) => note = Some(unanswered("exception", &exception.condition, &error)),
        }
    }
    match (&guardrail.when, &conditions.when) {
        (None, _) => match class {
            EffectClass::Read | EffectClass::Answer => return GuardrailMatch::OnWritesOnly,
            EffectClass::Write => {}
        },
        (Some(when), Some(condition)) => match condition.holds(facts, budget) {
            Ok(true) => {}
            Ok(false) => return GuardrailMatch::Elsewhere(when),
            Err(_) if class == EffectClass::Answer && condition.uses(&OF_A_CALL) => {
                return GuardrailMatch::Elsewhere(when);
            }
            Err(error) => note = Some(unanswered("condition", when, &error)),
        },
        (Some(_), None) => {}
    }
    GuardrailMatch::Bears { note }
}

fn unanswered(what: &str, expression: &Text, error: &ExpressionError) -> String {
    format!("the {what} `{expression}`: {error}")
}

#[cfg(test)]
mod tests;
