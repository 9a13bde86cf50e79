//! Selects the template for an output, and renders it.
//!
//! Resolution (seed 000 §2.7, B000-14): the output type must match, and the tier must reach the template. The order is
//! skill, agent, domain, global default. Within a level, a template for the persona precedes one for every persona,
//! then the tenant's precedes the global one. Rendering fills `{{name}}` in every text of the structure. A text that is
//! exactly one placeholder becomes the value with its type. A placeholder without a value is an error with its name.
//! Inserted values are never parsed again.
//!
//! [`PlainStructure::fill`] fills in a structure without expressions, in any process. A structure with expressions or
//! blocks is a program of its author: [`evaluate()`] runs it in a process with bounded time and memory. A text is
//! parsed only after a check that its length and nesting are within [`charter_contract::bounds`].

mod attributes;
mod evaluate;
mod fill;
mod text;

use charter_contract::bounds::{FILLED_BYTES, JSON_LEVELS, TEMPLATE_BYTES, TEMPLATE_OPERATORS};
use charter_contract::catalogue::template::Template;
use charter_contract::catalogue::vocabulary::{Status, Tier};
use charter_contract::filling::FillBudgetExceeded;
use minijinja::ErrorKind;
use schemars::JsonSchema;
use serde_json::Value;

pub use self::evaluate::{Filled, evaluate};
use self::fill::Part;
pub use self::fill::{PlainStructure, Structure};
use self::text::Text;
use crate::catalogue::{ResolvedDocument, View};
use crate::persona::{self, PersonaFit};

/// The maximum number of characters of a quoted text or message in an error.
const QUOTED: usize = 80;

/// The maximum number of characters of an error's detail.
const DETAIL: usize = 300;

/// The hint for an error that does not name the field.
const UNNAMED_HINT: &str =
    "; a field is misspelled or nested: in a summary, those of a rule are under `fields`";

/// The maximum number of missing names in an error.
const LISTED: usize = 20;

/// The level on which a template was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, JsonSchema)]
#[schemars(rename = "TemplateLevel")]
#[serde(rename_all = "snake_case")]
pub enum TemplateLevel {
    /// Written for the skill.
    Skill,
    /// Written for the agent.
    Agent,
    /// Written for the domain.
    Domain,
    /// The default for the output type.
    Global,
}

/// The criteria of a search for a template.
#[derive(Debug, Clone, Copy)]
pub struct TemplateLookup<'a> {
    /// The output type, which must match exactly.
    pub output_type: &'a str,
    /// The skill, if there is one.
    pub skill: Option<&'a str>,
    /// The agent that owns the skill.
    pub agent: Option<&'a str>,
    /// The domain.
    pub domain: Option<&'a str>,
    /// The persona of the answer.
    pub persona: &'a str,
    /// The tier of the answer; templates of a higher tier are skipped.
    pub tier: Tier,
}

/// Returns the template for these criteria, and its level.
#[must_use]
pub fn resolve(
    view: &View,
    wanted: TemplateLookup<'_>,
) -> Option<(ResolvedDocument<Template>, TemplateLevel)> {
    view.templates()
        .filter(|found| found.document().status == Status::Active)
        .filter(|found| found.document().output_type.as_ref() == wanted.output_type)
        .filter(|found| found.document().tier <= wanted.tier)
        .filter_map(|found| {
            let place = place_of(found.document(), wanted)?;
            Some((found, place))
        })
        .min_by(|(a, a_place), (b, b_place)| {
            a_place
                .cmp(b_place)
                .then_with(|| b.won.is_tenant().cmp(&a.won.is_tenant()))
                .then_with(|| a.document().template_id.cmp(&b.document().template_id))
        })
        .map(|(found, (level, _))| (found, level))
}

/// Returns the rank of a template: its level, then its fit to the persona.
fn place_of(
    template: &Template,
    wanted: TemplateLookup<'_>,
) -> Option<(TemplateLevel, PersonaFit)> {
    let fit = persona::fit(&template.personas, wanted.persona)?;
    Some((level_of(template, wanted)?, fit))
}

/// Returns the field by which findings are listed, in descending order: the hint `sort_by`.
#[must_use]
pub fn sort_field(template: &Template) -> Option<&str> {
    template.rendering_hints.as_ref()?.get("sort_by")?.as_str()
}

/// A template for another skill, agent or domain does not apply.
fn level_of(template: &Template, wanted: TemplateLookup<'_>) -> Option<TemplateLevel> {
    if let Some(skill) = &template.skill_id {
        return (wanted.skill == Some(skill.as_ref())).then_some(TemplateLevel::Skill);
    }
    if let Some(agent) = &template.agent_id {
        return (wanted.agent == Some(agent.as_ref())).then_some(TemplateLevel::Agent);
    }
    match &template.domain {
        Some(domain) => (wanted.domain == Some(domain.as_ref())).then_some(TemplateLevel::Domain),
        None => Some(TemplateLevel::Global),
    }
}

/// The reason why a template cannot be rendered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RenderError {
    /// Placeholders without a value, by name.
    #[error("the template has no value for: {}", listed(.0))]
    Missing(Vec<String>),
    /// The syntax of a text is invalid.
    #[error("the template text `{text}` cannot be read: {detail}")]
    Syntax {
        /// The text, shortened.
        text: String,
        /// The problem.
        detail: String,
    },
    /// A text is longer than [`TEMPLATE_BYTES`].
    #[error("the template text `{text}` has {bytes} bytes, more than {TEMPLATE_BYTES}: shorten it")]
    TooLong {
        /// The text, shortened.
        text: String,
        /// Its length.
        bytes: usize,
    },
    /// A tag of a text has more than [`TEMPLATE_OPERATORS`].
    #[error(
        "the template text `{text}` has more than {TEMPLATE_OPERATORS} operators in one tag, or more than \
         {TEMPLATE_OPERATORS} `elif`: split it, with `{{% set %}}` for its parts"
    )]
    TooManyOperators {
        /// The text, shortened.
        text: String,
    },
    /// A structure exceeds [`FILLED_BYTES`], or is nested too deeply.
    #[error(
        "the template's structure takes more than {FILLED_BYTES} bytes, or nests more than {JSON_LEVELS} levels deep: \
         make it smaller"
    )]
    Structure,
    /// The values are too large, or nested too deeply at their location.
    #[error(transparent)]
    Overfull(#[from] FillBudgetExceeded),
}

impl RenderError {
    fn syntax(text: &str, error: &minijinja::Error) -> Self {
        let mut detail = error.to_string();
        if error.kind() == ErrorKind::UndefinedError && error.detail().is_none() {
            detail.push_str(UNNAMED_HINT);
        }
        Self::Syntax {
            text: beginning(text, QUOTED),
            detail: beginning(&detail, DETAIL),
        }
    }

    fn too_long(text: &str) -> Self {
        Self::TooLong {
            text: beginning(text, QUOTED),
            bytes: text.len(),
        }
    }

    fn too_many_operators(text: &str) -> Self {
        Self::TooManyOperators {
            text: beginning(text, QUOTED),
        }
    }
}

/// Returns the beginning of a text, because texts of packages and values may have any length.
fn beginning(text: &str, most: usize) -> String {
    text.chars().take(most).collect()
}

fn listed(names: &[String]) -> String {
    let shown = names.iter().take(LISTED);
    let shown: Vec<String> = shown.map(|name| beginning(name, QUOTED)).collect();
    match names.len().saturating_sub(LISTED) {
        0 => shown.join(", "),
        more => format!("{}, and {more} more", shown.join(", ")),
    }
}

/// Checks at registration whether a structure or summary can be rendered. Evaluates nothing.
///
/// # Errors
/// A [`RenderError`] for the first text that exceeds a limit or that the parser rejects.
pub fn check(structure: &Value) -> Result<(), RenderError> {
    Part::read(structure, &|text| Text::read(text)?.check()).map(drop)
}

#[cfg(test)]
mod tests;
