//! Converts errors of the schema validator to violations in Charter's wording, which is stable and states the remedy.

use std::borrow::Cow;
use std::fmt::{self, Display, Write};

use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind};
use serde_json::{Map, Value};

use super::listing::Listing;
use super::suggest::nearest;
use crate::deeply::deeply;
use crate::schema::{Checker, Faults, Unchecked};
use crate::shorten;
use crate::violation::{Report, Stage, Violation, pointer_segment};

/// Maximum number of options named in a message.
const NAMED_OPTIONS: usize = 100;
/// Maximum length of a name, a pattern or the validator's own message, in characters.
const MAX_QUOTED: usize = 300;

/// Adds every violation of the schema; the pointers start at the value.
pub(super) fn collect(
    checker: &Checker,
    schema: &Map<String, Value>,
    value: &Value,
    steps: usize,
    report: &mut Report,
) {
    match checker.accepts(value, steps) {
        Ok(true) => {}
        Err(unchecked) => report.push(no_verdict(unchecked, steps)),
        Ok(false) => deeply(|| describe_faults(checker.faults(value, steps), schema, report)),
    }
}

fn no_verdict(unchecked: Unchecked, steps: usize) -> Violation {
    let message = match unchecked {
        Unchecked::TooMuchWork => format!(
            "takes more than {steps} steps to check (limit SCHEMA_STEPS); send less, or declare a simpler schema"
        ),
        Unchecked::Broken => "the validator cannot process it; declare a simpler schema".to_owned(),
    };
    plain("", "schema_limit", message)
}

fn describe_faults(faults: Faults<'_>, schema: &Map<String, Value>, report: &mut Report) {
    let mut list = Listing::new(report);
    match faults {
        Faults::All(errors) => {
            for error in &errors {
                describe(error, schema, &mut list);
            }
        }
        Faults::First(error) => {
            describe(&error, schema, &mut list);
            list.more_follow("the value is too large to list the other violations".into());
        }
        Faults::Unknown => {
            let message =
                "does not match the schema, and is too large to locate the violation".into();
            list.push(plain("", "schema", message));
        }
    }
}

/// Describes one error; for alternatives, describes the errors of the intended branch.
fn describe(error: &ValidationError<'_>, schema: &Map<String, Value>, report: &mut Listing<'_>) {
    if report.is_full() {
        return;
    }
    let here = error.instance_path().as_str();
    match error.kind() {
        ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => {
            alternatives(context, error, schema, report);
        }
        ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
            let known = sibling_properties(error, schema);
            let pattern = pattern_of_names(error, schema);
            for field in unexpected {
                if report.is_full() {
                    return;
                }
                let place = format!("{here}/{}", pointer_segment(field));
                let name = shortened(field);
                if let Some(pattern) = pattern {
                    let message = format!(
                        "the name `{name}` does not match the pattern {}",
                        shortened(pattern)
                    );
                    report.push(plain(&place, "propertyNames", message));
                    continue;
                }
                let message = format!("unknown field `{name}`");
                let mut found = plain(&place, "additionalProperties", message);
                found.suggestion = report.suggest(|| nearest(field, known.iter().copied()));
                report.push(found);
            }
        }
        ValidationErrorKind::Enum { options } => {
            let options: Vec<&Value> = options.as_array().into_iter().flatten().collect();
            let found = not_listed(error, here, &options, report);
            report.push(found);
        }
        ValidationErrorKind::PropertyNames { error } => describe(error, schema, report),
        kind => report.push(plain(here, kind.keyword(), in_words(error, kind))),
    }
}

/// Describes a value that matches none of several alternatives. If all of them expect another constant in one place,
/// or another type, that is the violation; otherwise the faults of the most likely alternative are.
fn alternatives(
    branches: &[Vec<ValidationError<'static>>],
    error: &ValidationError<'_>,
    schema: &Map<String, Value>,
    report: &mut Listing<'_>,
) {
    let here = error.instance_path().as_str();
    let found = no_such_word(branches, report).or_else(|| not_one_field(error, schema, report));
    if let Some(found) = found {
        return report.push(found);
    }
    let mut types: Vec<String> = branches
        .iter()
        .filter_map(|branch| other_type(branch, here))
        .collect();
    if types.len() == branches.len() && types.len() > 1 {
        types.dedup();
        let given = type_of(error.instance());
        let message = format!("expected {}, found {given}", types.join(" or "));
        return report.push(plain(here, "type", message));
    }
    let meant = branches
        .iter()
        .filter(|branch| !branch.is_empty())
        .min_by_key(|branch| {
            let mismatches = branch.iter().filter(|error| {
                matches!(error.kind(), ValidationErrorKind::Constant { .. })
                    || (matches!(error.kind(), ValidationErrorKind::Type { .. })
                        && error.instance_path().as_str() == here)
            });
            (mismatches.count(), branch.len())
        });
    match meant {
        Some(branch) => branch
            .iter()
            .for_each(|error| describe(error, schema, report)),
        None => report.push(plain(
            here,
            "anyOf",
            "matches none of the allowed forms".into(),
        )),
    }
}

/// Returns a violation with the constants that the branches expect, if each expects one in the same place.
fn no_such_word(
    branches: &[Vec<ValidationError<'static>>],
    report: &mut Listing<'_>,
) -> Option<Violation> {
    let mut options = Vec::new();
    let mut asked: Option<&ValidationError<'static>> = None;
    for branch in branches {
        let (error, expected) = branch.iter().find_map(|error| match error.kind() {
            ValidationErrorKind::Constant { expected_value } => Some((error, expected_value)),
            _ => None,
        })?;
        if asked.is_some_and(|first| first.instance_path() != error.instance_path()) {
            return None;
        }
        asked = asked.or(Some(error));
        options.push(&**expected);
    }
    let error = asked?;
    let here = error.instance_path().as_str();
    Some(not_listed(error, here, &options, report))
}

/// Returns a violation for an object that lacks exactly one of the fields that the branches require, one each.
fn not_one_field(
    error: &ValidationError<'_>,
    schema: &Map<String, Value>,
    report: &mut Listing<'_>,
) -> Option<Violation> {
    let path = error.schema_path().as_str();
    let branches = part(schema, path)?.as_array()?;
    if branches.iter().all(has_one_keyword) && !path.ends_with("/oneOf") {
        // The branches are spellings of one field: the field is missing, which has its own message.
        return None;
    }
    let names: Vec<&str> = branches.iter().map(only_field).collect::<Option<_>>()?;
    let given: Vec<&String> = error.instance().as_object()?.keys().collect();
    let known = |field: &str| names.contains(&field);
    if let [field] = given[..]
        && known(field)
    {
        return None;
    }
    let listed = names.iter().map(|name| format!("`{}`", shortened(name)));
    let message = format!("needs exactly one of {}", joined(listed));
    let mut found = plain(error.instance_path().as_str(), "exactly_one", message);
    found.suggestion = report.suggest(|| {
        let mut unknown = given.iter().filter(|field| !known(field));
        unknown.find_map(|field| nearest(field, names.iter().copied()))
    });
    Some(found)
}

/// Returns the only field that a branch declares and requires, or the only field of a branch that has nothing but
/// `required`.
fn only_field(branch: &Value) -> Option<&str> {
    let required = branch.get("required")?.as_array()?;
    let Some(properties) = branch.get("properties") else {
        let [only] = required.as_slice() else {
            return None;
        };
        return only.as_str().filter(|_| has_one_keyword(branch));
    };
    let mut fields = properties.as_object()?.keys();
    let only = fields.next().filter(|_| fields.next().is_none())?;
    let needs_it = required.iter().any(|name| name == only);
    needs_it.then_some(only)
}

/// Whether a schema has a single keyword.
fn has_one_keyword(schema: &Value) -> bool {
    schema
        .as_object()
        .is_some_and(|keywords| keywords.len() == 1)
}

/// Returns the type that a branch expects at this location, if the value has another type.
fn other_type(branch: &[ValidationError<'static>], here: &str) -> Option<String> {
    branch.iter().find_map(|error| match error.kind() {
        ValidationErrorKind::Type { kind } if error.instance_path().as_str() == here => {
            Some(types(kind))
        }
        _ => None,
    })
}

/// Returns the expected types for a message; an allowed null is omitted.
fn types(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(one) => one.to_string(),
        TypeKind::Multiple(several) => {
            let several: Vec<String> = several
                .iter()
                .map(|one| one.to_string())
                .filter(|one| one != "null")
                .collect();
            several.join(" or ")
        }
    }
}

/// Returns the names of the properties next to a violated `additionalProperties`.
fn sibling_properties<'s>(
    error: &ValidationError<'_>,
    schema: &'s Map<String, Value>,
) -> Vec<&'s str> {
    sibling(error, schema, "properties")
        .map(|properties| properties.keys().map(String::as_str).collect())
        .unwrap_or_default()
}

/// Returns the pattern for all names, if `additionalProperties` excludes the names that do not match it.
fn pattern_of_names<'s>(
    error: &ValidationError<'_>,
    schema: &'s Map<String, Value>,
) -> Option<&'s str> {
    let mut patterns = sibling(error, schema, "patternProperties")?.keys();
    let only = patterns.next().filter(|_| patterns.next().is_none())?;
    Some(only.as_str())
}

/// Returns the value of a keyword next to the violated one.
fn sibling<'s>(
    error: &ValidationError<'_>,
    schema: &'s Map<String, Value>,
    keyword: &str,
) -> Option<&'s Map<String, Value>> {
    let path = error.schema_path().as_str();
    let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
    part(schema, &format!("{parent}/{keyword}"))?.as_object()
}

/// Returns the part of a schema at a non-empty pointer.
fn part<'s>(schema: &'s Map<String, Value>, pointer: &str) -> Option<&'s Value> {
    let path = pointer.strip_prefix('/')?;
    let (first, rest) = path.split_at(path.find('/').unwrap_or(path.len()));
    let first = first.replace("~1", "/").replace("~0", "~");
    schema.get(&first)?.pointer(rest)
}

/// Describes a value outside an enumeration. An unknown version has its own message (B002-1).
fn not_listed(
    error: &ValidationError<'_>,
    here: &str,
    options: &[&Value],
    report: &mut Listing<'_>,
) -> Violation {
    let options = options.iter().copied().filter(|option| !option.is_null());
    let options: Vec<&Value> = options.collect();
    let given = quoted(error.instance());
    let listed = joined(options.iter().map(|option| quoted(option)));
    if here == "/schema_version" {
        let message = format!("the version {given} is not supported; known: {listed}");
        return plain(here, "unsupported_version", message);
    }
    let message = match options[..] {
        [only] => format!("{given} is not {}", quoted(only)),
        _ => format!("{given} is not one of {listed}"),
    };
    let mut found = plain(here, "enum", message);
    if let Some(text) = error.instance().as_str() {
        let words = options.iter().filter_map(|option| option.as_str());
        found.suggestion = report.suggest(|| nearest(text, words));
    }
    found
}

/// Joins the first options, and adds the number of the others.
fn joined(words: impl ExactSizeIterator<Item = String>) -> String {
    let more = words.len().saturating_sub(NAMED_OPTIONS);
    let first: Vec<String> = words.take(NAMED_OPTIONS).collect();
    match more {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

/// Describes the remaining kinds of errors.
fn in_words(error: &ValidationError<'_>, kind: &ValidationErrorKind) -> String {
    let given = || quoted(error.instance());
    match kind {
        ValidationErrorKind::Required { property } => {
            format!(
                "the field `{}` is missing",
                shortened(property.as_str().unwrap_or_default())
            )
        }
        ValidationErrorKind::Type { kind } => {
            format!(
                "expected {}, found {}",
                types(kind),
                type_of(error.instance())
            )
        }
        ValidationErrorKind::Constant { expected_value } => {
            format!("{} is not {}", given(), quoted(expected_value))
        }
        ValidationErrorKind::Pattern { pattern } => {
            format!(
                "{} does not match the pattern {}",
                given(),
                shortened(pattern)
            )
        }
        ValidationErrorKind::Format { format } if format == "date-time" => {
            format!("{} is not {}", given(), crate::time::EXPECTED)
        }
        ValidationErrorKind::Format { format } => {
            format!("{} is not a {}", given(), shortened(format))
        }
        ValidationErrorKind::MinLength { limit: 1 } => "must not be empty".to_owned(),
        ValidationErrorKind::MinLength { limit } => format!("needs at least {limit} characters"),
        ValidationErrorKind::MaxLength { limit } => format!("allows at most {limit} characters"),
        ValidationErrorKind::MinItems { limit } => {
            format!("needs at least {limit} item{}", s(*limit))
        }
        ValidationErrorKind::MaxItems { limit } => format!("allows at most {limit} items"),
        ValidationErrorKind::Minimum { limit } => format!("{} is less than {limit}", given()),
        ValidationErrorKind::Maximum { limit } => format!("{} is greater than {limit}", given()),
        ValidationErrorKind::OneOfMultipleValid { .. } => "matches more than one form".to_owned(),
        // Keywords that no contract uses keep the validator's own message, without the value.
        _ => brief_words(&error.masked_with("the value")),
    }
}

fn s(count: u64) -> &'static str {
    if count == 1 { "" } else { "s" }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Shortens a name or a pattern for a message.
fn shortened(text: &str) -> Cow<'_, str> {
    shorten::to_chars(text, MAX_QUOTED)
}

/// Returns the beginning of a displayed value, of any length.
fn brief_words(said: &impl Display) -> String {
    struct Beginning(String);
    impl Write for Beginning {
        fn write_str(&mut self, more: &str) -> fmt::Result {
            let left = MAX_QUOTED.saturating_sub(self.0.chars().count());
            self.0.extend(more.chars().take(left));
            if more.chars().nth(left).is_some() {
                return Err(fmt::Error);
            }
            Ok(())
        }
    }
    let mut beginning = Beginning(String::new());
    if write!(beginning, "{said}").is_err() {
        beginning.0.push('…');
    }
    beginning.0
}

/// Quotes a value for a message, shortened.
fn quoted(value: &Value) -> String {
    const LIMIT: usize = 80;
    match value {
        Value::String(text) => {
            let mut quote = String::from("`");
            quote.extend(text.chars().take(LIMIT));
            quote.push_str(if text.chars().nth(LIMIT).is_some() {
                "…`"
            } else {
                "`"
            });
            quote
        }
        Value::Array(_) => "this list".to_owned(),
        Value::Object(_) => "this object".to_owned(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

fn plain(pointer: &str, keyword: &str, message: String) -> Violation {
    Violation {
        stage: Stage::Schema,
        pointer: pointer.to_owned(),
        keyword: keyword.to_owned(),
        message,
        suggestion: None,
    }
}
