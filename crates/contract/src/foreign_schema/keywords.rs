//! Which keywords of JSON Schema hold subschemas, in the drafts 4 to 2020-12. What a draft does not know counts all the
//! same: it costs nothing to bound it. Must not know what subschemas cost.

use serde_json::Value;

use crate::violation::escaped_segment;

/// What a subschema applies to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Applies {
    /// To the value itself.
    Here,
    /// To parts of the value.
    Below,
    /// To nothing, until something refers to it.
    Elsewhere,
}

/// How a keyword holds subschemas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Holder {
    pub(super) applies: Applies,
    /// Whether each has a name, as those of `properties`.
    named: bool,
    /// Whether `unevaluatedProperties` and `unevaluatedItems` compile it once more.
    pub(super) marked: bool,
}

/// How a keyword holds subschemas, if it does.
pub(super) fn holder(keyword: &str) -> Option<Holder> {
    let (applies, named, marked) = match keyword {
        "allOf" | "anyOf" | "oneOf" | "not" | "if" | "then" | "else" => {
            (Applies::Here, false, false)
        }
        "dependentSchemas" | "dependencies" => (Applies::Here, true, false),
        "properties" => (Applies::Below, true, false),
        "patternProperties" => (Applies::Below, true, true),
        "additionalProperties" | "unevaluatedProperties" | "unevaluatedItems" | "contains" => {
            (Applies::Below, false, true)
        }
        "items" | "prefixItems" | "additionalItems" | "propertyNames" => {
            (Applies::Below, false, false)
        }
        "$defs" | "definitions" => (Applies::Elsewhere, true, false),
        "contentSchema" => (Applies::Elsewhere, false, false),
        _ => return None,
    };
    Some(Holder {
        applies,
        named,
        marked,
    })
}

impl Holder {
    /// The subschemas, with their pointers from the one that has the keyword.
    pub(super) fn subschemas<'s>(
        self,
        keyword: &str,
        value: &'s Value,
    ) -> Vec<(String, &'s Value)> {
        let mut found: Vec<(String, &'s Value)> = match (self.named, value) {
            (true, Value::Object(named)) => named
                .iter()
                .map(|(name, value)| (format!("/{keyword}/{}", escaped_segment(name)), value))
                .collect(),
            (false, Value::Array(items)) => items
                .iter()
                .enumerate()
                .map(|(at, value)| (format!("/{keyword}/{at}"), value))
                .collect(),
            (false, value) => vec![(format!("/{keyword}"), value)],
            (true, _) => Vec::new(),
        };
        found.retain(|(_, value)| value.is_object() || value.is_boolean());
        found
    }
}

/// Whether what stands under a keyword is data, whatever it looks like.
pub(super) fn is_data(keyword: &str) -> bool {
    matches!(keyword, "const" | "enum" | "default" | "examples")
}

/// Whether a keyword says nothing about values, or names what references are resolved by.
pub(super) fn is_note(keyword: &str) -> bool {
    matches!(
        keyword,
        "$id"
            | "$anchor"
            | "$comment"
            | "title"
            | "description"
            | "default"
            | "examples"
            | "deprecated"
            | "readOnly"
            | "writeOnly"
    )
}

/// Keywords whose meaning depends on the way that led to them, so that no reference can be followed beforehand.
pub(super) const DYNAMIC: [&str; 4] = [
    "$dynamicRef",
    "$dynamicAnchor",
    "$recursiveRef",
    "$recursiveAnchor",
];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(keyword: &str, value: &Value) -> Vec<String> {
        let found = holder(keyword).unwrap().subschemas(keyword, value);
        found.into_iter().map(|(pointer, _)| pointer).collect()
    }

    #[test]
    fn subschemas_are_found_in_every_form() {
        let one = json!({"type": "null"});
        assert_eq!(found("items", &one), ["/items"]);
        assert_eq!(
            found("items", &json!([one, true])),
            ["/items/0", "/items/1"]
        );
        assert_eq!(
            found("properties", &json!({"a/b": one})),
            ["/properties/a~1b"]
        );
        let dependencies = json!({"a": ["b"], "c": one});
        assert_eq!(found("dependencies", &dependencies), ["/dependencies/c"]);
        assert_eq!(
            found("additionalProperties", &json!(false)),
            ["/additionalProperties"]
        );
        assert_eq!(found("not", &json!("x")), Vec::<String>::new());
        assert_eq!(holder("const"), None);
    }
}
