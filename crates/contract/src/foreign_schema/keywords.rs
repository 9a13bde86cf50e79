//! The keywords of JSON Schema that contain subschemas, in drafts 4 to 2020-12. Keywords unknown to a schema's draft
//! count too: limiting them costs nothing. Must not know the cost of subschemas.

use serde_json::Value;

use crate::violation::escaped_segment;

/// The target of a subschema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Applies {
    /// The value itself.
    Here,
    /// Parts of the value.
    Below,
    /// Nothing, until a reference leads to it.
    Elsewhere,
}

/// The way a keyword contains subschemas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Holder {
    pub(super) applies: Applies,
    /// Whether the subschemas have names, as in `properties`.
    named: bool,
    /// Whether `unevaluatedProperties` and `unevaluatedItems` compile them again.
    pub(super) marked: bool,
}

/// Returns how a keyword contains subschemas, if it does.
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
    /// Lists the subschemas, with their pointers relative to the schema that has the keyword.
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

/// Whether the value of a keyword is data, even if it looks like a schema.
pub(super) fn is_data(keyword: &str) -> bool {
    matches!(keyword, "const" | "enum" | "default" | "examples")
}

/// Whether a keyword has no effect on values, or only identifies schemas for references.
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

/// Keywords whose target depends on the evaluation path, so that their references cannot be resolved in advance.
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

    fn subschema_pointers(keyword: &str, value: &Value) -> Vec<String> {
        let found = holder(keyword).unwrap().subschemas(keyword, value);
        found.into_iter().map(|(pointer, _)| pointer).collect()
    }

    #[test]
    fn subschemas_are_found_in_every_form() {
        let one = json!({"type": "null"});
        assert_eq!(subschema_pointers("items", &one), ["/items"]);
        assert_eq!(
            subschema_pointers("items", &json!([one, true])),
            ["/items/0", "/items/1"]
        );
        assert_eq!(
            subschema_pointers("properties", &json!({"a/b": one})),
            ["/properties/a~1b"]
        );
        let dependencies = json!({"a": ["b"], "c": one});
        assert_eq!(
            subschema_pointers("dependencies", &dependencies),
            ["/dependencies/c"]
        );
        assert_eq!(
            subschema_pointers("additionalProperties", &json!(false)),
            ["/additionalProperties"]
        );
        assert_eq!(subschema_pointers("not", &json!("x")), Vec::<String>::new());
        assert_eq!(holder("const"), None);
    }
}
