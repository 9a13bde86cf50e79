//! Reads documents without a contract: bodies of an interface, their parts, and arguments of a call. The schema is
//! that of the type, compiled when a document of the type is first refused.

use std::any::TypeId;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::inline_contracts;
use crate::json::JsonText;
use crate::schema::{Checker, Costs, Draft, of_type};
use crate::validate::{is_duplicate, structure, value_of, violations_of};
use crate::violation::{Report, Violation};

/// The compiled schema of a type, or the reason why it does not compile.
type Compiled = Result<(Checker, Map<String, Value>), String>;

static COMPILED: LazyLock<Mutex<HashMap<TypeId, Arc<Compiled>>>> = LazyLock::new(Mutex::default);

/// Parses a measured document.
///
/// # Errors
/// Every violation of the first stage that found one.
pub fn parse_typed<T>(text: &JsonText<'_>) -> Result<T, Vec<Violation>>
where
    T: DeserializeOwned + JsonSchema + 'static,
{
    match text.parse::<T>() {
        Ok(document) => Ok(document),
        Err(error) => {
            let document = read_typed(&value_of(text)?)?;
            // A parsed value does not show a duplicate field.
            if is_duplicate(&error) {
                return Err(vec![structure(error.to_string())]);
            }
            Ok(document)
        }
    }
}

/// Reads a parsed value.
///
/// # Errors
/// Every violation of the first stage that found one.
pub fn read_typed<T>(value: &Value) -> Result<T, Vec<Violation>>
where
    T: DeserializeOwned + JsonSchema + 'static,
{
    let error = match T::deserialize(value) {
        Ok(document) => return Ok(document),
        Err(error) => error,
    };
    let mut report = Report::new();
    match &*compiled::<T>() {
        // The schema is Charter's own, so the work is linear in the value.
        Ok((checker, schema)) => {
            report.violations = violations_of(checker, schema, value, usize::MAX);
        }
        Err(broken) => report.push(structure(broken.clone())),
    }
    if report.violations.is_empty() {
        // A rule of the type that its schema does not express.
        report.push(structure(error.to_string()));
    }
    Err(report.violations)
}

fn compiled<T: JsonSchema + 'static>() -> Arc<Compiled> {
    let all = || COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = all().get(&TypeId::of::<T>()) {
        return Arc::clone(known);
    }
    let compiled = Arc::new(compile(of_type::<T>(Draft::Draft202012)));
    all().insert(TypeId::of::<T>(), Arc::clone(&compiled));
    compiled
}

fn compile(mut schema: Value) -> Compiled {
    inline_contracts(&mut schema);
    let checker = Checker::compile(&schema, Costs::PLAIN)?;
    match schema {
        Value::Object(schema) => Ok((checker, schema)),
        _ => Err("the schema of the type is not an object".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;
    use crate::ids::ToolId;
    use crate::json::Profile;
    use crate::schema::SchemaName;
    use crate::validate::measure;

    fn parse<T>(text: &str) -> Result<T, Vec<Violation>>
    where
        T: DeserializeOwned + JsonSchema + 'static,
    {
        parse_typed(&measure(text.as_bytes(), Profile::MESSAGE)?)
    }

    /// A bookcase of a library.
    #[derive(Debug, PartialEq, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Bookcase {
        room: String,
        #[serde(default)]
        order: Option<Order>,
        #[serde(default)]
        #[schemars(inner(range(min = 1, max = 500)))]
        places: Vec<u16>,
        #[serde(default)]
        keeper: Option<ToolId>,
    }

    #[derive(Debug, PartialEq, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    enum Order {
        ByTitle,
        ByAuthor,
    }

    fn violations_in(text: &str) -> Vec<(String, String, Option<String>)> {
        let violations = parse::<Bookcase>(text).unwrap_err();
        let shown = violations.into_iter().map(|found| {
            let Violation {
                pointer,
                keyword,
                suggestion,
                ..
            } = found;
            (pointer, keyword, suggestion)
        });
        shown.collect()
    }

    fn expected(
        pointer: &str,
        keyword: &str,
        suggestion: Option<&str>,
    ) -> (String, String, Option<String>) {
        let suggestion = suggestion.map(|word| format!("did you mean `{word}`?"));
        (pointer.to_owned(), keyword.to_owned(), suggestion)
    }

    /// B003-2
    #[test]
    fn every_fault_of_a_body_is_reported_with_its_pointer() {
        let text =
            r#"{"rom": "west", "order": "by_auhtor", "places": [1, 0, "x"], "keeper": "a b"}"#;
        let mut found = violations_in(text);
        found.sort();
        assert_eq!(
            found,
            [
                expected("", "required", None),
                expected("/keeper", "pattern", None),
                expected("/order", "enum", Some("by_author")),
                expected("/places/1", "minimum", None),
                expected("/places/2", "type", None),
                expected("/rom", "additionalProperties", Some("room")),
            ]
        );
    }

    #[test]
    fn faults_outside_the_schema_are_reported() {
        assert_eq!(
            violations_in(r#"{"room": "a", "room": "b"}"#),
            [expected("", "json", None)]
        );
        assert_eq!(violations_in("{"), [expected("", "json", None)]);
        let deep = format!("{}{}", "[".repeat(100), "]".repeat(100));
        assert_eq!(violations_in(&deep), [expected("", "json", None)]);
        assert_eq!(violations_in("[]"), [expected("", "type", None)]);
    }

    #[test]
    fn a_valid_body_is_read() {
        let text = r#"{"room": "west", "order": "by_title", "places": [1]}"#;
        let expected = Bookcase {
            room: "west".to_owned(),
            order: Some(Order::ByTitle),
            places: vec![1],
            keeper: None,
        };
        assert_eq!(parse(text), Ok(expected));
    }

    /// A body that contains a document of a contract.
    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "it is only refused")]
    struct Carrier {
        #[schemars(schema_with = "edge")]
        edge: Value,
        note: String,
    }

    fn edge(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        super::super::reference(SchemaName::GraphEdge)
    }

    #[test]
    fn a_contract_inside_a_body_is_checked_with_the_body() {
        let text = r#"{"edge": {"from": 7}, "note": 8}"#;
        let found = parse::<Carrier>(text).unwrap_err();
        let mut pointers: Vec<&str> = found.iter().map(|one| one.pointer.as_str()).collect();
        pointers.sort_unstable();
        pointers.dedup();
        assert_eq!(pointers, ["/edge", "/edge/from", "/note"]);
    }
}
