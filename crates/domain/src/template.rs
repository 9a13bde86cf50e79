//! Which template renders an output, and the rendering itself.
//!
//! Resolution (seed 000 §2.7, B000-14): the output type must match; then skill, agent, domain,
//! global default; within a level the tenant's before the global one. Rendering fills `{{name}}`
//! in every text of the structure. A text that is exactly one placeholder takes the value with
//! its type. A placeholder without a value is an error that names it; a value that is filled in
//! is never looked at again.

use std::collections::BTreeSet;

use charter_contract::catalogue::template::Template;
use charter_contract::catalogue::vocabulary::Status;
use minijinja::{AutoEscape, Environment, UndefinedBehavior};
use schemars::JsonSchema;
use serde_json::{Map, Value};

use crate::catalogue::{Found, View};

/// Instructions that one text of a template may take.
pub const FUEL: u64 = 50_000;

/// Where a template was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, JsonSchema)]
#[schemars(rename = "TemplateLevel")]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Written for the skill.
    Skill,
    /// Written for the agent.
    Agent,
    /// Written for the domain.
    Domain,
    /// The default for the output type.
    Global,
}

/// What a template is looked for.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// Must match exactly.
    pub output_type: &'a str,
    /// The skill, where there is one.
    pub skill: Option<&'a str>,
    /// The agent that owns the skill.
    pub agent: Option<&'a str>,
    /// The domain.
    pub domain: Option<&'a str>,
}

/// The template that renders what is wanted, and the level that it was found on.
#[must_use]
pub fn resolve(view: &View, wanted: Wanted<'_>) -> Option<(Found<Template>, Level)> {
    view.templates()
        .filter(|found| found.document().status == Status::Active)
        .filter(|found| found.document().output_type.as_ref() == wanted.output_type)
        .filter_map(|found| {
            let level = level_of(found.document(), wanted)?;
            Some((found, level))
        })
        .min_by(|(a, a_level), (b, b_level)| {
            a_level
                .cmp(b_level)
                .then_with(|| b.won.is_tenant().cmp(&a.won.is_tenant()))
                .then_with(|| a.document().template_id.cmp(&b.document().template_id))
        })
}

/// A template written for another skill, agent or domain is none for this one.
fn level_of(template: &Template, wanted: Wanted<'_>) -> Option<Level> {
    if let Some(skill) = &template.skill_id {
        return (wanted.skill == Some(skill.as_ref())).then_some(Level::Skill);
    }
    if let Some(agent) = &template.agent_id {
        return (wanted.agent == Some(agent.as_ref())).then_some(Level::Agent);
    }
    match &template.domain {
        Some(domain) => (wanted.domain == Some(domain.as_ref())).then_some(Level::Domain),
        None => Some(Level::Global),
    }
}

/// Why a template does not render.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RenderError {
    /// Placeholders that nothing was given for, by name.
    #[error("the template has no value for: {}", .0.join(", "))]
    Missing(Vec<String>),
    /// A text is not a template.
    #[error("the template text `{text}` cannot be read: {detail}")]
    Syntax {
        /// The text, shortened.
        text: String,
        /// What is wrong in it.
        detail: String,
    },
}

/// Renders every text inside `structure` with the given values.
///
/// # Errors
/// [`RenderError::Missing`] with every missing name of the whole structure;
/// [`RenderError::Syntax`] for the first text that is not a template or runs out of [`FUEL`].
pub fn render(structure: &Value, values: &Map<String, Value>) -> Result<Value, RenderError> {
    let environment = environment();
    let mut missing = BTreeSet::new();
    collect_missing(&environment, structure, values, &mut missing)?;
    if missing.is_empty() {
        fill(&environment, structure, values)
    } else {
        Err(RenderError::Missing(missing.into_iter().collect()))
    }
}

/// The names of all placeholders in a structure; what registration checks for syntax.
///
/// # Errors
/// [`RenderError::Syntax`].
pub fn placeholders(structure: &Value) -> Result<Vec<String>, RenderError> {
    let mut names = BTreeSet::new();
    collect_missing(&environment(), structure, &Map::new(), &mut names)?;
    Ok(names.into_iter().collect())
}

fn environment() -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment.set_fuel(Some(FUEL));
    environment
}

fn collect_missing(
    environment: &Environment<'static>,
    part: &Value,
    values: &Map<String, Value>,
    missing: &mut BTreeSet<String>,
) -> Result<(), RenderError> {
    match part {
        Value::String(text) => {
            let template = environment
                .template_from_str(text)
                .map_err(|error| syntax(text, &error))?;
            let unknown = template.undeclared_variables(true).into_iter();
            let built_in = |name: &str| environment.globals().any(|(global, _)| global == name);
            missing
                .extend(unknown.filter(|name| lookup(values, name).is_none() && !built_in(name)));
            Ok(())
        }
        Value::Array(items) => items
            .iter()
            .try_for_each(|item| collect_missing(environment, item, values, missing)),
        Value::Object(fields) => fields
            .values()
            .try_for_each(|field| collect_missing(environment, field, values, missing)),
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
    }
}

fn lookup<'v>(values: &'v Map<String, Value>, dotted: &str) -> Option<&'v Value> {
    let mut keys = dotted.split('.');
    let first = values.get(keys.next()?)?;
    keys.try_fold(first, |value, key| value.get(key))
}

fn fill(
    environment: &Environment<'static>,
    part: &Value,
    values: &Map<String, Value>,
) -> Result<Value, RenderError> {
    Ok(match part {
        Value::String(text) => match lone_placeholder(text).and_then(|name| lookup(values, name)) {
            Some(value) => value.clone(),
            None => environment
                .render_str(
                    text,
                    minijinja::Value::from(minijinja::value::Serde(values)),
                )
                .map(Value::String)
                .map_err(|error| syntax(text, &error))?,
        },
        Value::Array(items) => items
            .iter()
            .map(|item| fill(environment, item, values))
            .collect::<Result<_, _>>()?,
        Value::Object(fields) => Value::Object(
            fields
                .iter()
                .map(|(key, field)| Ok((key.clone(), fill(environment, field, values)?)))
                .collect::<Result<_, RenderError>>()?,
        ),
        plain @ (Value::Null | Value::Bool(_) | Value::Number(_)) => plain.clone(),
    })
}

fn lone_placeholder(text: &str) -> Option<&str> {
    let name = text.trim().strip_prefix("{{")?.strip_suffix("}}")?.trim();
    let plain = name
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.'));
    (plain && !name.is_empty()).then_some(name)
}

fn syntax(text: &str, error: &minijinja::Error) -> RenderError {
    RenderError::Syntax {
        text: text.chars().take(80).collect(),
        detail: error.to_string(),
    }
}

#[cfg(test)]
mod tests;
