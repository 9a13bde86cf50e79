//! Spellings that are accepted on input and not stored (ruling 15): `_id`, `_created_at`, `classification.domain`. The
//! schema describes them; input is converted to the stored form before it is deserialised.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use crate::violation::Report;

/// One spelling accepted on input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Alias {
    /// Accepted spelling.
    pub authored: &'static str,
    /// Field inside an accepted spelling that is an object: `classification` → `domain`.
    pub inner: Option<&'static str>,
    /// Stored spelling.
    pub stored: &'static str,
}

impl Alias {
    /// An alias for a field with another name.
    pub(crate) const fn field(authored: &'static str, stored: &'static str) -> Self {
        Self {
            authored,
            inner: None,
            stored,
        }
    }

    /// An alias for a field inside an object.
    pub(crate) const fn inside(
        authored: &'static str,
        inner: &'static str,
        stored: &'static str,
    ) -> Self {
        Self {
            authored,
            inner: Some(inner),
            stored,
        }
    }

    fn pointer(&self) -> String {
        match self.inner {
            None => format!("/{}", self.authored),
            Some(inner) => format!("/{}/{inner}", self.authored),
        }
    }
}

/// Adds the accepted spellings to a schema. A required field may then have any of them.
pub(super) fn describe(schema: &mut Value, aliases: &[Alias]) {
    let Some(root) = schema.as_object_mut() else {
        return;
    };
    let mut spellings: Map<String, Value> = Map::new();
    let Some(properties) = root.get_mut("properties").and_then(Value::as_object_mut) else {
        return;
    };
    for alias in aliases {
        let Some(field) = properties.get(alias.stored).cloned() else {
            continue;
        };
        let described = match alias.inner {
            None => field,
            Some(inner) => json!({
                "type": "object",
                "properties": { inner: field },
                "required": [inner],
                "additionalProperties": false,
            }),
        };
        properties.insert(alias.authored.to_owned(), described);
        let others = spellings.entry(alias.stored).or_insert_with(|| json!([]));
        if let Some(list) = others.as_array_mut() {
            list.push(json!({ "required": [alias.authored] }));
        }
    }
    let Some(required) = root.get_mut("required").and_then(Value::as_array_mut) else {
        return;
    };
    let mut either = Vec::new();
    required.retain(|field| {
        let Some(name) = field.as_str() else {
            return true;
        };
        let Some(Value::Array(others)) = spellings.remove(name) else {
            return true;
        };
        let forms: Vec<Value> = [json!({ "required": [name] })]
            .into_iter()
            .chain(others)
            .collect();
        either.push(json!({ "anyOf": forms }));
        false
    });
    if !either.is_empty() {
        root.insert("allOf".into(), either.into());
    }
}

/// Converts a value to stored spellings. Two spellings of one field must agree.
pub(crate) fn stored_form<'v>(
    value: &'v Value,
    aliases: &[Alias],
    report: &mut Report,
) -> Cow<'v, Value> {
    let Some(fields) = value.as_object() else {
        return Cow::Borrowed(value);
    };
    if !aliases
        .iter()
        .any(|alias| fields.contains_key(alias.authored))
    {
        return Cow::Borrowed(value);
    }
    let mut fields = fields.clone();
    for alias in aliases {
        let Some(authored) = fields.remove(alias.authored) else {
            continue;
        };
        let authored = match alias.inner {
            None => authored,
            Some(inner) => authored.get(inner).cloned().unwrap_or(Value::Null),
        };
        match fields.get(alias.stored) {
            None | Some(Value::Null) => {
                fields.insert(alias.stored.to_owned(), authored);
            }
            Some(stored) if *stored == authored || authored.is_null() => {}
            Some(stored) => report.consistency(
                alias.pointer(),
                "alias",
                format!(
                    "{authored} differs from the document's {}, {stored}",
                    alias.stored
                ),
            ),
        }
    }
    Cow::Owned(Value::Object(fields))
}
