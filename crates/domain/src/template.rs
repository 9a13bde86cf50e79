//! Which template renders an output, and the rendering itself.
//!
//! Resolution (seed 000 §2.7, B000-14): the output type must match, and the tier must reach the
//! template; then skill, agent, domain, global default; within a level one for the persona before one
//! for every persona, then the tenant's before the global one. Rendering fills `{{name}}`
//! in every text of the structure. A text that is exactly one placeholder takes the value with
//! its type. A placeholder without a value is an error that names it; a value that is filled in
//! is never looked at again.
//!
//! [`PlainStructure::fill`] fills in a structure without expressions, in any process. One with
//! expressions or blocks is a program of its author: [`evaluate()`] runs it, in a process that is
//! bounded in time and memory. No text is parsed before its length and nesting are known to be
//! within [`charter_contract::bounds`].

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

/// Characters of a text or message that an error quotes.
const QUOTED: usize = 80;

/// Characters of what is wrong with a text.
const DETAIL: usize = 300;

/// What is added to an error that does not name the field.
const UNNAMED_HINT: &str =
    "; a field is misspelled or nested: in a summary, those of a rule are under `fields`";

/// Missing names that an error lists.
const LISTED: usize = 20;

/// Where a template was found.
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

/// What a template is looked for.
#[derive(Debug, Clone, Copy)]
pub struct TemplateLookup<'a> {
    /// Must match exactly.
    pub output_type: &'a str,
    /// The skill, where there is one.
    pub skill: Option<&'a str>,
    /// The agent that owns the skill.
    pub agent: Option<&'a str>,
    /// The domain.
    pub domain: Option<&'a str>,
    /// The persona that is answered.
    pub persona: &'a str,
    /// The tier that is answered on; a template above it is passed over.
    pub tier: Tier,
}

/// The template that renders what is wanted, and the level that it was found on.
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

/// The place of a template in the chain: its level, then how it fits the persona.
fn place_of(
    template: &Template,
    wanted: TemplateLookup<'_>,
) -> Option<(TemplateLevel, PersonaFit)> {
    let fit = persona::fit(&template.personas, wanted.persona)?;
    Some((level_of(template, wanted)?, fit))
}

/// The field of findings by which they are listed, largest first: the hint `sort_by`.
#[must_use]
pub fn sort_field(template: &Template) -> Option<&str> {
    template.rendering_hints.as_ref()?.get("sort_by")?.as_str()
}

/// A template written for another skill, agent or domain is none for this one.
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

/// Why a template does not render.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RenderError {
    /// Placeholders that nothing was given for, by name.
    #[error("the template has no value for: {}", listed(.0))]
    Missing(Vec<String>),
    /// A text is not a template.
    #[error("the template text `{text}` cannot be read: {detail}")]
    Syntax {
        /// The text, shortened.
        text: String,
        /// What is wrong in it.
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
    /// A structure is over [`FILLED_BYTES`], or nests too deep.
    #[error(
        "the template's structure takes more than {FILLED_BYTES} bytes, or nests more than {JSON_LEVELS} levels deep: \
         make it smaller"
    )]
    Structure,
    /// The values are too large, or nest too deep where they are put.
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

/// The beginning of a text: what a package or a value holds may be of any length.
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

/// Whether a structure or summary can be rendered; what registration checks. Evaluates nothing.
///
/// # Errors
/// A [`RenderError`] for the first text that is over a bound or that the parser refuses.
pub fn check(structure: &Value) -> Result<(), RenderError> {
    Part::read(structure, &|text| Text::read(text)?.check()).map(drop)
}

#[cfg(test)]
mod tests;
