//! Exact rules over step outputs: jq filters that emit findings (DESIGN, analysis prefers rules).
//!
//! The filter language is jq as implemented by jaq. A filter sees one step's output as `.` and
//! emits one object per finding. Filters are compiled when a package is registered, once they are known to nest no
//! deeper than the stack is. Running one may loop or grow, so callers run it in a process whose time and memory are bounded.

mod shape;

use std::cmp::Ordering;

use charter_contract::bounds::JQ_BYTES;
use charter_contract::canonical;
use charter_contract::catalogue::skill::{FindingRule, Skill};
use charter_contract::catalogue::vocabulary::Severity;
use charter_contract::deeply::deeply;
use charter_contract::finding::Finding;
use charter_contract::ids::FindingId;
use charter_contract::json::{Profile, decode_text};
use charter_contract::text::{ShortText, Text};
use jaq_core::load::{self, Arena, File, Loader};
use jaq_core::{Compiler, Ctx, Vars, data, unwrap_valr};
use jaq_json::Val;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::source::escape;

/// Most findings that one rule may emit.
pub const MAX_FINDINGS: usize = 10_000;

/// Most faults of a filter that are reported.
const MOST_FAULTS: usize = 10;

/// Why a filter is refused or its run failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FilterError {
    /// It does not compile.
    #[error("the filter does not compile: {0}")]
    Syntax(String),
    /// It is longer than [`JQ_BYTES`].
    #[error("the filter is longer than {} bytes; split it", JQ_BYTES)]
    TooLong,
    /// It nests deeper than filters may, or has more brackets.
    #[error("the filter {0}; split it")]
    TooDeep(String),
    /// It failed on this input.
    #[error("the filter failed: {0}")]
    Failed(String),
    /// It emitted more than the bound.
    #[error("the filter emitted more than {0} values")]
    TooMany(usize),
    /// What it emitted is not a finding.
    #[error("the filter emitted something that is no finding: {0}")]
    NotAFinding(String),
}

/// A compiled jq filter.
pub struct Filter {
    filter: jaq_core::Filter<data::JustLut<Val>>,
}

impl std::fmt::Debug for Filter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Filter")
    }
}

impl Filter {
    /// Compiles a filter.
    ///
    /// # Errors
    /// [`FilterError::Syntax`], [`FilterError::TooLong`], [`FilterError::TooDeep`].
    pub fn compile(source: &str) -> Result<Self, FilterError> {
        if source.len() > JQ_BYTES {
            return Err(FilterError::TooLong);
        }
        // jaq reads each half of a character alone, and refuses it.
        let joined = escape::joined(source);
        let source = joined.as_ref();
        shape::count_brackets(source)?;
        deeply(|| {
            shape::measure(source)?;
            Self::compile_shallow(source)
        })
    }

    /// Compiles a filter whose nesting was measured.
    fn compile_shallow(source: &str) -> Result<Self, FilterError> {
        let definitions = jaq_core::defs()
            .chain(jaq_std::defs())
            .chain(jaq_json::defs());
        let functions = jaq_core::funs()
            .chain(jaq_std::funs())
            .chain(jaq_json::funs());
        let arena = Arena::default();
        let program = File {
            code: source,
            path: (),
        };
        let modules = Loader::new(definitions)
            .load(&arena, program)
            .map_err(|errors| FilterError::Syntax(load_errors(source, &errors)))?;
        Compiler::default()
            .with_funs(functions)
            .compile(modules)
            .map(|filter| Self { filter })
            .map_err(|errors| FilterError::Syntax(compile_errors(source, &errors)))
    }

    /// Everything the filter emits for an input, at most `limit` values.
    ///
    /// # Errors
    /// [`FilterError::Failed`], [`FilterError::TooMany`].
    pub fn run(&self, input: &Value, limit: usize) -> Result<Vec<Value>, FilterError> {
        let text = input.to_string();
        let input = jaq_json::read::parse_single(text.as_bytes())
            .map_err(|error| FilterError::Failed(error.to_string()))?;
        let context = Ctx::<data::JustLut<Val>>::new(&self.filter.lut, Vars::new([]));
        let mut emitted = Vec::new();
        for output in self.filter.id.run((context, input)).map(unwrap_valr) {
            if emitted.len() == limit {
                return Err(FilterError::TooMany(limit));
            }
            let value = output.map_err(|error| FilterError::Failed(error.to_string()))?;
            let json = decode_text(&value.to_string(), Profile::OUTPUT)
                .map_err(|error| FilterError::Failed(error.to_string()))?;
            emitted.push(json);
        }
        Ok(emitted)
    }
}

fn load_errors(source: &str, errors: &jaq_core::load::Errors<&str, ()>) -> String {
    let mut said = Vec::new();
    for (_, error) in errors {
        match error {
            load::Error::Io(failures) => {
                said.extend(
                    failures
                        .iter()
                        .map(|(path, why)| format!("`{path}`: {why}")),
                );
            }
            load::Error::Lex(faults) => said.extend(
                faults
                    .iter()
                    .take(MOST_FAULTS)
                    .map(|(wanted, found)| expected(source, wanted.as_str(), found)),
            ),
            load::Error::Parse(faults) => said.extend(
                faults
                    .iter()
                    .take(MOST_FAULTS)
                    .map(|(wanted, found)| expected(source, wanted.as_str(), found)),
            ),
        }
    }
    said.join("; ")
}

fn expected(source: &str, wanted: &str, found: &str) -> String {
    let instead = match found.lines().next().unwrap_or_default() {
        "" => "the filter ends".to_owned(),
        text => format!("`{}` stands", text.chars().take(20).collect::<String>()),
    };
    format!(
        "{wanted} is expected where {instead} ({})",
        place(source, found)
    )
}

/// Where a part of the source stands, as `line:column` of the filter. An empty part is the end.
fn place(source: &str, part: &str) -> String {
    let offset = (part.as_ptr() as usize).wrapping_sub(source.as_ptr() as usize);
    let before = source
        .get(..offset)
        .filter(|_| !part.is_empty())
        .unwrap_or(source);
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
    format!("{line}:{column}")
}

fn compile_errors(source: &str, errors: &jaq_core::compile::Errors<&str, ()>) -> String {
    errors
        .iter()
        .flat_map(|(_, undefined)| undefined.iter())
        .take(MOST_FAULTS)
        .map(|(name, what)| {
            format!(
                "the {} `{name}` is not defined ({})",
                what.as_str(),
                place(source, name)
            )
        })
        .collect::<Vec<_>>()
        .join("; ")
}

/// The findings that a rule's filter emitted, in the order emitted.
///
/// A finding's id is a function of skill, rule, resource and fields, so the same exposure keeps
/// its id from one run to the next.
///
/// # Errors
/// [`FilterError::NotAFinding`].
pub fn findings(
    skill: &Skill,
    rule: &FindingRule,
    emitted: Vec<Value>,
) -> Result<Vec<Finding>, FilterError> {
    emitted
        .into_iter()
        .map(|emitted| finding(skill, rule, emitted))
        .collect()
}

fn finding(skill: &Skill, rule: &FindingRule, emitted: Value) -> Result<Finding, FilterError> {
    let Value::Object(mut fields) = emitted else {
        return Err(FilterError::NotAFinding(shortened(&emitted)));
    };
    let severity = take_text(&mut fields, "severity")?;
    let severity: Severity = serde_json::from_value(Value::String(severity))
        .map_err(|error| FilterError::NotAFinding(format!("severity: {error}")))?;
    let resource_type = take_text(&mut fields, "resource_type")?;
    let resource_type = ShortText::parse(&resource_type)
        .map_err(|error| FilterError::NotAFinding(format!("resource_type: {error}")))?;
    let resource_id = take_text(&mut fields, "resource_id")?;
    let resource_id = Text::parse(&resource_id)
        .map_err(|error| FilterError::NotAFinding(format!("resource_id: {error}")))?;
    let identity = serde_json::json!([
        skill.skill_id,
        rule.rule_id,
        resource_type,
        resource_id,
        fields
    ]);
    let digest = Sha256::digest(canonical::text(identity));
    let hex: String = digest[..12].iter().map(|b| format!("{b:02x}")).collect();
    let finding_id = FindingId::parse(&format!("fnd_{hex}"))
        .map_err(|error| FilterError::NotAFinding(error.to_string()))?;
    Ok(Finding {
        finding_id,
        rule_id: rule.rule_id.clone(),
        skill_id: skill.skill_id.clone(),
        severity,
        resource_type,
        resource_id,
        fields,
        evidence_ids: Vec::new(),
        rendered: None,
        expert: None,
    })
}

/// Orders findings by a field that their rules gave, largest first: numbers, then texts, then those without it. Equal
/// ones keep their order.
pub fn order_by<T>(findings: &mut [(Finding, T)], field: &str) {
    findings.sort_by(|(a, _), (b, _)| compare(b.fields.get(field), a.fields.get(field)));
}

fn compare(a: Option<&Value>, b: Option<&Value>) -> Ordering {
    match (a.and_then(Value::as_f64), b.and_then(Value::as_f64)) {
        (Some(a), Some(b)) => a.total_cmp(&b),
        (Some(_), None) => Ordering::Greater,
        (None, Some(_)) => Ordering::Less,
        (None, None) => a.and_then(Value::as_str).cmp(&b.and_then(Value::as_str)),
    }
}

fn take_text(fields: &mut Map<String, Value>, name: &str) -> Result<String, FilterError> {
    match fields.remove(name) {
        Some(Value::String(text)) => Ok(text),
        Some(other) => Err(FilterError::NotAFinding(format!(
            "{name} is {}",
            shortened(&other)
        ))),
        None => Err(FilterError::NotAFinding(format!("it has no {name}"))),
    }
}

fn shortened(value: &Value) -> String {
    value.to_string().chars().take(120).collect()
}

#[cfg(test)]
mod tests;
