//! From the errors of the schema validator to violations in our words. The words
//! are ours so that they are stable and say what to do.

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{ValidationError, Validator};
use serde_json::{Map, Value};

use super::suggest::nearest;
use crate::json::{Profile, extent_of};
use crate::violation::{Report, Stage, Violation, pointer_segment};
use crate::{bounds, canonical};

/// Violations of a report that come with a suggestion; looking for one costs more than the rest of a violation.
const MOST_SUGGESTED: usize = 100;

/// Words of a list that are named in a message.
const MOST_LISTED: usize = 100;

/// Adds every violation of the schema, as many as a report holds; of a value with very many parts the first one.
pub(super) fn collect(validator: &Validator, schema: &Value, value: &Value, report: &mut Report) {
    if validator.is_valid(value) {
        return;
    }
    // The validator goes through fields as they come; the report is in one order.
    let value = canonical::sorted(value.clone());
    // The validator makes all errors before it gives the first.
    let values = extent_of(&value, Profile::STORED).map_or(usize::MAX, |extent| extent.values);
    if values > bounds::REPORTED_VALUES {
        if let Err(error) = validator.validate(&value) {
            describe(&error, schema, report);
        }
        return;
    }
    for error in validator.iter_errors(&value) {
        if report.is_full() {
            return;
        }
        describe(&error, schema, report);
    }
}

/// One error; alternatives are replaced by the errors of the branch that was meant.
fn describe(error: &ValidationError<'_>, schema: &Value, report: &mut Report) {
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
                if let Some(pattern) = pattern {
                    let message =
                        format!("the name `{field}` does not match the pattern {pattern}");
                    report.push(plain(&place, "propertyNames", message));
                    continue;
                }
                let message = format!("unknown field `{field}`");
                let mut found = plain(&place, "additionalProperties", message);
                if report.violations.len() < MOST_SUGGESTED {
                    found.suggestion = nearest(field, known.iter().copied());
                }
                report.push(found);
            }
        }
        ValidationErrorKind::Enum { options } => report.push(not_listed(error, here, options)),
        ValidationErrorKind::PropertyNames { error } => describe(error, schema, report),
        kind => report.push(plain(here, kind.keyword(), in_words(error, kind))),
    }
}

/// Alternatives of which none fits. When all of them ask for another word in one
/// place, or for another type, that is the violation; else it is what is wrong with
/// the alternative that was most likely meant.
fn alternatives(
    branches: &[Vec<ValidationError<'static>>],
    error: &ValidationError<'_>,
    schema: &Value,
    report: &mut Report,
) {
    let here = error.instance_path().as_str();
    if let Some(found) = no_such_word(branches).or_else(|| not_one_field(error, schema)) {
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
            "fits none of the allowed forms".into(),
        )),
    }
}

/// The constants that the branches ask for in the place where each has one.
fn no_such_word(branches: &[Vec<ValidationError<'static>>]) -> Option<Violation> {
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
        options.push(Value::clone(expected));
    }
    let error = asked?;
    Some(not_listed(
        error,
        error.instance_path().as_str(),
        &Value::Array(options),
    ))
}

/// An object that has not exactly one of the fields of which each branch asks for another one.
fn not_one_field(error: &ValidationError<'_>, schema: &Value) -> Option<Violation> {
    let branches = schema.pointer(error.schema_path().as_str())?.as_array()?;
    let names: Vec<&str> = branches.iter().map(only_field).collect::<Option<_>>()?;
    let given: Vec<&String> = error.instance().as_object()?.keys().collect();
    let known = |field: &str| names.contains(&field);
    if let [field] = given[..]
        && known(field)
    {
        return None;
    }
    let listed: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    let message = format!("needs exactly one of {}", listed.join(", "));
    let mut found = plain(error.instance_path().as_str(), "exactly_one", message);
    let mut unknown = given.iter().filter(|field| !known(field));
    found.suggestion = unknown.find_map(|field| nearest(field, names.iter().copied()));
    Some(found)
}

/// The one field that an alternative has and needs.
fn only_field(branch: &Value) -> Option<&str> {
    let mut fields = branch.get("properties")?.as_object()?.keys();
    let only = fields.next().filter(|_| fields.next().is_none())?;
    let required = branch.get("required")?.as_array()?;
    let needs_it = required.iter().any(|name| name == only);
    needs_it.then_some(only)
}

/// The type that a branch asks for instead of the one that is there.
fn other_type(branch: &[ValidationError<'static>], here: &str) -> Option<String> {
    branch.iter().find_map(|error| match error.kind() {
        ValidationErrorKind::Type { kind } if error.instance_path().as_str() == here => {
            Some(types(kind))
        }
        _ => None,
    })
}

/// What is expected, in words; a null that is allowed as well is not worth a word.
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

/// The names of the properties that stand beside a broken `additionalProperties`.
fn sibling_properties<'s>(error: &ValidationError<'_>, schema: &'s Value) -> Vec<&'s str> {
    sibling(error, schema, "properties")
        .map(|properties| properties.keys().map(String::as_str).collect())
        .unwrap_or_default()
}

/// The pattern of all names, where `additionalProperties` shuts out those that do not match it.
fn pattern_of_names<'s>(error: &ValidationError<'_>, schema: &'s Value) -> Option<&'s str> {
    let mut patterns = sibling(error, schema, "patternProperties")?.keys();
    let only = patterns.next().filter(|_| patterns.next().is_none())?;
    Some(only.as_str())
}

/// What stands under a keyword beside the broken one.
fn sibling<'s>(
    error: &ValidationError<'_>,
    schema: &'s Value,
    keyword: &str,
) -> Option<&'s Map<String, Value>> {
    let path = error.schema_path().as_str();
    let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
    schema.pointer(parent)?.get(keyword)?.as_object()
}

/// A value outside a list. A version outside the known ones has a word of its own (B002-1).
fn not_listed(error: &ValidationError<'_>, here: &str, options: &Value) -> Violation {
    let options = options.as_array().map(Vec::as_slice).unwrap_or_default();
    let options: Vec<&Value> = options.iter().filter(|option| !option.is_null()).collect();
    let given = quoted(error.instance());
    let mut listed: Vec<String> = options
        .iter()
        .take(MOST_LISTED)
        .map(|option| quoted(option))
        .collect();
    if let Some(more) = options.len().checked_sub(MOST_LISTED + 1) {
        listed.push(format!("and {} more", more + 1));
    }
    let listed = listed.join(", ");
    if here == "/schema_version" {
        let message = format!("the version {given} is not supported; known: {listed}");
        return plain(here, "unsupported_version", message);
    }
    let message = match options[..] {
        [only] => format!("{given} is not {}", quoted(only)),
        _ => format!("{given} is not one of {listed}"),
    };
    let mut found = plain(here, "enum", message);
    found.suggestion = error
        .instance()
        .as_str()
        .and_then(|text| nearest(text, options.iter().filter_map(|option| option.as_str())));
    found
}

/// The other kinds in words.
fn in_words(error: &ValidationError<'_>, kind: &ValidationErrorKind) -> String {
    let given = || quoted(error.instance());
    match kind {
        ValidationErrorKind::Required { property } => {
            format!(
                "the field `{}` is missing",
                property.as_str().unwrap_or_default()
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
            format!("{} does not match the pattern {pattern}", given())
        }
        ValidationErrorKind::Format { format } if format == "date-time" => {
            format!("{} is not {}", given(), crate::time::EXPECTED)
        }
        ValidationErrorKind::Format { format } => format!("{} is not a {format}", given()),
        ValidationErrorKind::MinLength { limit: 1 } => "must not be empty".to_owned(),
        ValidationErrorKind::MinLength { limit } => format!("needs at least {limit} characters"),
        ValidationErrorKind::MaxLength { limit } => format!("allows at most {limit} characters"),
        ValidationErrorKind::MinItems { limit } => {
            format!("needs at least {limit} item{}", s(*limit))
        }
        ValidationErrorKind::MaxItems { limit } => format!("allows at most {limit} items"),
        ValidationErrorKind::Minimum { limit } => format!("{} is less than {limit}", given()),
        ValidationErrorKind::Maximum { limit } => format!("{} is greater than {limit}", given()),
        ValidationErrorKind::OneOfMultipleValid { .. } => "fits more than one form".to_owned(),
        // Keywords that no contract uses keep the validator's own words.
        _ => error.to_string(),
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

/// A value as it is quoted in a message: short, whatever was sent.
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
