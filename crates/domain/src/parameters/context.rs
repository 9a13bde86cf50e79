//! Values in a request's context: the client's data about the editor and the project (seed 003). They are named data;
//! they are not parsed as sentences.

use charter_contract::agentic::request::RequestMetadata;
use charter_contract::parameter::Parameter;
use serde_json::{Map, Value};

use super::check;

/// Returns the context's value for a parameter's name, with the path of its field; `None` for an invalid value.
pub(super) fn of_context(
    parameter: &Parameter,
    metadata: &RequestMetadata,
) -> Option<(String, Value)> {
    let name = plain(parameter.name.as_str());
    let parts = [
        ("project", fields(metadata.project.as_ref())),
        ("environment", fields(metadata.environment.as_ref())),
    ];
    parts.into_iter().find_map(|(part, fields)| {
        let mut known = known(part, fields).into_iter();
        let (_, field, value) = known.find(|(names, _, value)| {
            names.contains(&name) && !value.is_null() && check(parameter, value).is_ok()
        })?;
        Some((field, value))
    })
}

fn fields(part: Option<&impl serde::Serialize>) -> Map<String, Value> {
    match part.map(serde_json::to_value) {
        Some(Ok(Value::Object(fields))) => fields,
        Some(_) | None => Map::new(),
    }
}

/// Returns the fields of one part of the context: matching parameter names, path and value.
fn known(part: &str, fields: Map<String, Value>) -> Vec<(Vec<String>, String, Value)> {
    let mut known = Vec::new();
    for (name, value) in fields {
        if let ("cursor_position", Value::Object(position)) = (name.as_str(), &value) {
            known.extend(position.iter().map(|(name, value)| {
                let names = vec![plain(name), plain(&format!("cursor_{name}"))];
                (
                    names,
                    format!("{part}.cursor_position.{name}"),
                    value.clone(),
                )
            }));
            continue;
        }
        let mut names = vec![plain(&format!("{part}_{name}"))];
        // The project's name does not match every parameter called `name`.
        names.push(if name == "name" {
            plain(part)
        } else {
            plain(&name)
        });
        known.push((names, format!("{part}.{name}"), value));
    }
    known
}

/// Normalises a name, so that `root_directory` equals `rootDirectory`.
fn plain(name: &str) -> String {
    let letters = name.chars().filter(|c| c.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(parameter: Value) -> Option<(String, Value)> {
        let metadata: RequestMetadata = serde_json::from_value(json!({
            "environment": {
                "editor": "vim", "open_files": ["a.rs"], "region": "eu-west-1",
                "cursor_position": {"file": "b.rs", "line": 7}
            },
            "project": {"name": "shop", "root_directory": "/srv/shop", "language": "rust", "limit": "many"}
        }))
        .unwrap();
        of_context(&serde_json::from_value(parameter).unwrap(), &metadata)
    }

    #[test]
    fn a_field_is_found_by_the_parameters_name() {
        for (name, kind, expected) in [
            (
                "editor",
                "string",
                Some(("environment.editor", json!("vim"))),
            ),
            (
                "open_files",
                "array",
                Some(("environment.open_files", json!(["a.rs"]))),
            ),
            (
                "file",
                "string",
                Some(("environment.cursor_position.file", json!("b.rs"))),
            ),
            (
                "cursor_line",
                "integer",
                Some(("environment.cursor_position.line", json!(7))),
            ),
            (
                "region",
                "string",
                Some(("environment.region", json!("eu-west-1"))),
            ),
            ("project", "string", Some(("project.name", json!("shop")))),
            (
                "project_name",
                "string",
                Some(("project.name", json!("shop"))),
            ),
            (
                "rootDirectory",
                "string",
                Some(("project.root_directory", json!("/srv/shop"))),
            ),
            (
                "language",
                "string",
                Some(("project.language", json!("rust"))),
            ),
            ("name", "string", None),
            ("framework", "string", None),
            ("limit", "integer", None),
        ] {
            let expected = expected.map(|(field, value)| (field.to_owned(), value));
            assert_eq!(
                found(json!({"name": name, "type": kind})),
                expected,
                "{name}"
            );
        }
    }

    #[test]
    fn a_value_that_does_not_fit_is_not_used() {
        assert_eq!(
            found(json!({"name": "region", "type": "string", "pattern": "^us-"})),
            None
        );
        assert_eq!(
            found(json!({"name": "language", "type": "string", "enum": ["python"]})),
            None
        );
    }
}
