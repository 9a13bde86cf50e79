//! A compiled schema, and validation within a budget. Must not know the origin of the schema, or the wording of
//! faults.

use std::panic::{AssertUnwindSafe, catch_unwind};

use jsonschema::{PatternOptions, ValidationError, Validator};
use serde::de::IgnoredAny;
use serde_json::Value;

use super::counted::{Counted, CountedValue};
use super::meter::{Budget, Costs, spend, with_budget};
use crate::bounds::{PATTERN_CACHE, PATTERN_SIZE, SCHEMA_FAULT_MEMORY, SCHEMA_FAULT_STEPS};
use crate::deeply::deeply;
use crate::json::{Profile, decode_text};
use crate::time::Timestamp;

/// Memory of one fault, including the displayed part of the value, in bytes, estimated.
const FAULT_BYTES: usize = 4 << 10;
/// Maximum length of a compilation error, in characters: the validator quotes the refused input.
const MAX_REASON: usize = 1_000;

/// A compiled schema.
#[derive(Debug)]
pub(crate) struct Checker {
    validator: Validator<Counted>,
    costs: Costs,
}

/// The reason why a value has no verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unchecked {
    /// The budget was spent.
    TooMuchWork,
    /// The validator panicked.
    Broken,
}

/// The faults of a refused value.
#[derive(Debug)]
pub(crate) enum Faults<'v> {
    /// All faults.
    All(Vec<ValidationError<'v>>),
    /// One of several faults.
    First(ValidationError<'v>),
    /// Finding the faults takes too much work.
    Unknown,
}

impl Checker {
    /// Compiles a schema with Charter's formats, without external references, and with regular expressions that match
    /// in linear time. The caller must have limited its nesting.
    pub(crate) fn compile(schema: &Value, costs: Costs) -> Result<Self, String> {
        let build = || {
            jsonschema::options_for::<Counted>()
                .should_validate_formats(true)
                .with_format("date-time", |text: &str| Timestamp::parse(text).is_ok())
                .with_format("regex", is_regex)
                .with_content_media_type("application/json", is_json)
                .with_pattern_options(
                    PatternOptions::regex()
                        .size_limit(PATTERN_SIZE)
                        .dfa_size_limit(PATTERN_CACHE),
                )
                .build(schema)
                .map_err(|error| message_of(&error))
        };
        match deeply(|| contained(build)) {
            Some(Ok(validator)) => Ok(Self { validator, costs }),
            Some(Err(why)) => Err(why),
            None => Err("the validator cannot process it".to_owned()),
        }
    }

    /// Returns the reason why a schema is invalid, according to the meta-schema of its draft.
    pub(crate) fn misfit(schema: &Value) -> Option<String> {
        let check = || {
            jsonschema::meta::validate(schema)
                .err()
                .map(|error| message_of(&error))
        };
        deeply(|| contained(check)).flatten()
    }

    /// Whether the schema accepts a value.
    pub(crate) fn accepts(&self, value: &Value, steps: usize) -> Result<bool, Unchecked> {
        self.measure(value, steps).0
    }

    /// Validates a value, and returns the verdict with the number of steps.
    pub(crate) fn measure(&self, value: &Value, steps: usize) -> (Result<bool, Unchecked>, u64) {
        let budget = Budget {
            steps: steps as u64,
            faults: 0,
        };
        let check = || self.validator.is_valid(CountedValue(value));
        match deeply(|| contained(|| with_budget(budget, self.costs, check))) {
            Some((accepted, took)) => (accepted.ok_or(Unchecked::TooMuchWork), took),
            None => (Err(Unchecked::Broken), budget.steps),
        }
    }

    /// Returns the faults of a refused value.
    pub(crate) fn faults<'v>(&'v self, value: &'v Value, steps: usize) -> Faults<'v> {
        let faults = self.faults_within_memory(value);
        let all = Budget {
            steps: SCHEMA_FAULT_STEPS as u64,
            faults,
        };
        let find = || self.validator.iter_errors(CountedValue(value)).collect();
        let found: Option<Vec<ValidationError<'v>>> =
            deeply(|| contained(|| with_budget(all, self.costs, find)))
                .and_then(|(found, _)| found);
        if let Some(found) = found.filter(|found| !found.is_empty()) {
            return Faults::All(found);
        }
        let one = Budget {
            steps: steps as u64,
            faults,
        };
        let find = || self.validator.validate(CountedValue(value)).err();
        let first = deeply(|| contained(|| with_budget(one, self.costs, find)));
        match first.and_then(|(first, _)| first).flatten() {
            Some(first) => Faults::First(first),
            None => Faults::Unknown,
        }
    }

    /// Returns the number of faults that fit into memory. Each fault holds its path in the value and in the schema.
    fn faults_within_memory(&self, value: &Value) -> usize {
        let reach = deeply(|| Reach::measure(value));
        let each = FAULT_BYTES
            + self.costs.fault
            + reach.path
            + self.costs.fault_level.saturating_mul(reach.levels);
        (SCHEMA_FAULT_MEMORY / each).max(1)
    }
}

/// The maximum distance of a value's parts from its root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Reach {
    levels: usize,
    path: usize,
}

impl Reach {
    fn measure(value: &Value) -> Self {
        match value {
            Value::Array(items) => {
                let below = items.iter().map(|item| Self::measure(item).below(8));
                below.fold(Self::default(), Self::or)
            }
            Value::Object(fields) => {
                let below = fields
                    .iter()
                    .map(|(name, value)| Self::measure(value).below(name.len() + 1));
                below.fold(Self::default(), Self::or)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Self::default(),
        }
    }

    fn below(self, name: usize) -> Self {
        Self {
            levels: self.levels + 1,
            path: self.path + name,
        }
    }

    fn or(self, other: Self) -> Self {
        Self {
            levels: self.levels.max(other.levels),
            path: self.path.max(other.path),
        }
    }
}

fn message_of(error: &ValidationError<'_>) -> String {
    error.to_string().chars().take(MAX_REASON).collect()
}

/// Runs the validator, and returns `None` if it panics: schemas and values are foreign input.
fn contained<T>(work: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(work)).ok()
}

/// Checks the format `regex`. Checking compares the group names with each other, which costs steps.
fn is_regex(text: &str) -> bool {
    const COMPARED: u64 = 4_096;
    let length = text.len() as u64;
    spend(length + length.saturating_mul(length) / COMPARED)
        && jsonschema_regex::is_valid_ecma_regex(text)
}

/// Checks the media type of JSON. The parsed value is discarded: it would take much more memory than its text.
fn is_json(text: &str) -> bool {
    decode_text::<IgnoredAny>(text, Profile::MESSAGE).is_ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn checker(schema: &Value) -> Checker {
        Checker::compile(schema, Costs::PLAIN).unwrap()
    }

    #[test]
    fn a_check_ends_when_its_budget_is_spent() {
        let checker = checker(&json!({"items": {"type": "integer"}}));
        let numbers: Value = (0..1_000).collect();
        assert_eq!(checker.accepts(&numbers, 100), Err(Unchecked::TooMuchWork));
        let (accepted, took) = checker.measure(&numbers, 1_000_000);
        assert_eq!(accepted, Ok(true));
        assert!((2_000..6_000).contains(&took), "{took}");
    }

    #[test]
    fn faults_are_all_named_or_the_first_of_them() {
        let checker = checker(&json!({"items": {"type": "integer"}}));
        let few = json!([1, "a", "b"]);
        let Faults::All(all) = checker.faults(&few, 1_000) else {
            panic!("two faults fit");
        };
        let places: Vec<&str> = all
            .iter()
            .map(|fault| fault.instance_path().as_str())
            .collect();
        assert_eq!(places, ["/1", "/2"]);
        let many: Value = (0..100_000).map(|at| at.to_string()).collect();
        let Faults::First(first) = checker.faults(&many, 1_000) else {
            panic!("a hundred thousand faults do not fit");
        };
        assert_eq!(first.instance_path().as_str(), "/0");
        let late: Value = (0..100_000)
            .map(Value::from)
            .chain([json!("last")])
            .collect();
        assert!(matches!(checker.faults(&late, 1_000), Faults::All(_)));
    }

    #[test]
    fn a_long_path_leaves_room_for_few_faults() {
        let checker = checker(&json!({"additionalProperties": {"items": {"type": "null"}}}));
        let long = "n".repeat(1 << 20);
        let items: Vec<u32> = (0..1_000).collect();
        let value = json!({ long: items });
        assert!(checker.faults_within_memory(&value) < 40);
        assert!(checker.faults_within_memory(&json!({"n": [1]})) > 5_000);
        assert!(matches!(
            checker.faults(&value, 10_000_000),
            Faults::First(_)
        ));
    }

    #[test]
    fn alternatives_do_not_copy_the_value_that_fits_none_of_them() {
        let ways: Vec<Value> = (0..50)
            .map(|at| json!({"required": [format!("f{at}")]}))
            .collect();
        let checker = checker(&json!({ "anyOf": ways }));
        let value: serde_json::Map<String, Value> = (0..1_000)
            .map(|at| (format!("x{at}"), json!([at])))
            .collect();
        let value = Value::Object(value);
        let Faults::All(all) = checker.faults(&value, 1_000_000) else {
            panic!("one fault with fifty in it fits");
        };
        assert_eq!(all.len(), 1);
        assert_eq!(all[0].instance().as_object().unwrap().len(), 16);
    }

    #[test]
    fn custom_formats_agree_with_the_validators_formats() {
        let schema = |format: &str| json!({"type": "string", "format": format});
        for (format, text, expected) in [
            ("regex", "^[a-z]+$", true),
            ("regex", "a(", false),
            ("date-time", "2024-05-01T10:00:00Z", true),
            ("date-time", "yesterday", false),
        ] {
            let value = json!(text);
            assert_eq!(
                checker(&schema(format)).accepts(&value, 10_000),
                Ok(expected),
                "{text}"
            );
        }
        let json_text = json!({"$schema": "http://json-schema.org/draft-07/schema#",
            "contentMediaType": "application/json"});
        let checker = checker(&json_text);
        assert_eq!(checker.accepts(&json!("{\"a\": [1]}"), 1_000), Ok(true));
        assert_eq!(checker.accepts(&json!("{"), 1_000), Ok(false));
    }
}
