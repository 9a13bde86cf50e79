//! Which guardrails bear on something, and what they say about one effect.
//!
//! Resolution is a union: every match of the tenant and of the global layer, in the order skill,
//! agent, domain, global (seed 000 §2.5, rulings 5 and 6); within a level those that list the persona
//! come first. Exceptions are evaluated first (B000-12); what follows from a guardrail that bears on an
//! effect is the business of the gate.

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

/// The names that an expression has of a call, and of nothing else.
const OF_A_CALL: [&str; 3] = ["tool", "parameters", "dry_run"];

/// What guardrails are resolved for. Absent levels match nothing on that level.
#[derive(Debug, Clone, Copy, Default)]
pub struct GuardrailSubject<'a> {
    /// A skill's or playbook's id.
    pub skill: Option<&'a str>,
    /// The agent that owns it.
    pub agent: Option<&'a str>,
    /// Its domain.
    pub domain: Option<&'a str>,
    /// The persona that is answered. Absent: guardrails bear independently of the personas that they list.
    pub persona: Option<&'a str>,
}

/// The request that a call or an answer is for, as far as guardrails read it (seed 000 §2.10).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RequestTags {
    /// How it is answered; absent for a plan or a mission, which answers no request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow: Option<Flow>,
    /// The persona that it is answered for.
    pub persona: Label,
    /// The tier that it is answered on.
    pub tier: Tier,
}

impl RequestTags {
    /// The names that expressions have of it, with the domain of the answer. An absent flow reads as an empty text.
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

/// A guardrail that bears on the subject.
#[derive(Debug, Clone)]
pub struct ApplicableGuardrail {
    /// The guardrail, and the layer it came from.
    pub found: ResolvedDocument<Guardrail>,
    /// The glob that matched.
    pub matched: String,
    /// Its expressions.
    pub conditions: Arc<Conditions>,
}

/// The expressions are those of the guardrail.
impl PartialEq for ApplicableGuardrail {
    fn eq(&self, other: &Self) -> bool {
        self.found == other.found && self.matched == other.matched
    }
}

impl ApplicableGuardrail {
    /// Whether an expression decides if it bears on a call: in its `when`, or in an exception.
    #[must_use]
    pub fn asks_expressions(&self) -> bool {
        let Conditions { when, exceptions } = self.conditions.as_ref();
        when.is_some() || !exceptions.is_empty()
    }
}

/// Every guardrail that bears on the subject, strictest level of scope first: skill, agent,
/// domain, global; within a level those that list the persona first, then by id; each once.
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
            // Stable: those that fit alike stay in the order of their ids.
            bearing.sort_by_key(|(fit, _)| *fit);
            bearing.into_iter().map(|(_, resolved)| resolved)
        })
        .collect()
}

/// How a guardrail fits the persona that is answered.
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

/// Whether an effect changes something outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EffectClass {
    /// It only reads.
    Read,
    /// It writes.
    Write,
    /// No tool is called: it is the answer to a request.
    Answer,
}

/// What one guardrail says about an effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GuardrailMatch<'a> {
    /// It bears on it, and what it enforces follows.
    Bears {
        /// Why an expression of it had no answer, where one had none.
        note: Option<String>,
    },
    /// This exception holds.
    Excepted(&'a Text),
    /// Its `when` is false.
    Elsewhere(&'a Text),
    /// It has no `when`, so it bears on writes only, and this writes nothing.
    OnWritesOnly,
}

/// The guardrails strictest first, in the order of resolution otherwise.
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

/// What a guardrail says about one effect. `facts` is what its expressions are about, and `budget` is for those of all
/// guardrails that bear on the effect.
///
/// A guardrail without `when` bears on writes only; one with `when` bears where it holds, and
/// where it fails to answer too: a broken rule does not open a door. On an answer without a call bears what is about the
/// request: a `when` that has no answer without the call is about calls. An exception bears where its condition holds,
/// and nowhere else.
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
