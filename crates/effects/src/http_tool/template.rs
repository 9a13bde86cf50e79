//! Fills the placeholders of HTTP tools: `${NAME}`, `${user.NAME}`, `${env.NAME}`.
//!
//! A value is inserted as data: its context determines the encoding, and placeholders in it are not filled. Must not
//! know HTTP clients.

use std::borrow::Cow;

use charter_contract::agentic::error::ErrorType;
use charter_contract::bounds::JSON_MEMORY;
use charter_contract::filling::{FillBudget, FillBudgetExceeded};
use charter_contract::placeholder::{self, Placeholder, Segment};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value};

use crate::outcome::Failure;

/// Everything but the unreserved characters of RFC 3986.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// The sources of one request's values, and their size limit.
#[derive(Debug)]
pub(super) struct Values<'a> {
    parameters: &'a Map<String, Value>,
    environment: &'a [(String, String)],
    filling: FillBudget,
}

#[derive(Debug, PartialEq)]
enum Piece<'a> {
    Text(&'a str),
    Parameter(&'a str),
    Variable(&'a str),
}

impl<'a> Values<'a> {
    /// Creates the values of one request.
    pub(super) const fn new(
        parameters: &'a Map<String, Value>,
        environment: &'a [(String, String)],
    ) -> Self {
        Self {
            parameters,
            environment,
            filling: FillBudget::with_limit(JSON_MEMORY),
        }
    }

    /// Fills a template without encoding its values.
    fn text(&mut self, template: &str) -> Result<String, Failure> {
        let mut filled = String::new();
        for piece in parse(template)? {
            let wrote = match piece {
                Piece::Text(text) => self.filling.write(&mut filled, text),
                placeholder => {
                    let value = self.scalar(&placeholder, template)?;
                    self.filling.write(&mut filled, &value)
                }
            };
            wrote.map_err(|over| too_much(&over))?;
        }
        Ok(filled)
    }

    /// Fills a URL: percent-encoded in path and query, one label in the host.
    pub(super) fn url(&mut self, template: &str) -> Result<String, Failure> {
        let mut filled = String::new();
        for piece in parse(template)? {
            let written = match piece {
                Piece::Text(text) => Cow::Borrowed(text),
                placeholder => {
                    let value = self.scalar(&placeholder, template)?;
                    if is_past_authority(&filled) {
                        Cow::Owned(utf8_percent_encode(&value, ENCODED).to_string())
                    } else if is_label(&value) {
                        Cow::Owned(value)
                    } else {
                        return Err(input(format!(
                            "{value:?} cannot be part of the host in {template:?}"
                        )));
                    }
                }
            };
            let wrote = self.filling.write(&mut filled, &written);
            wrote.map_err(|over| too_much(&over))?;
        }
        refuse_dot_segments(&filled)?;
        Ok(filled)
    }

    /// Fills every string of a JSON value. Returns `None` if the whole was a placeholder for an absent parameter.
    pub(super) fn json(&mut self, template: &Value) -> Result<Option<Value>, Failure> {
        self.json_within(template, 0)
    }

    fn json_within(&mut self, template: &Value, level: usize) -> Result<Option<Value>, Failure> {
        match template {
            Value::String(text) => self.json_string(text, level),
            Value::Array(items) => {
                let level = self.filling.take_list(level);
                let level = level.map_err(|over| too_much(&over))?;
                let mut filled = Vec::with_capacity(items.len());
                for item in items {
                    filled.extend(self.json_within(item, level)?);
                }
                Ok(Some(Value::Array(filled)))
            }
            Value::Object(members) => {
                let names = members.keys().map(String::as_str);
                let level = self.filling.take_object(level, names);
                let level = level.map_err(|over| too_much(&over))?;
                let mut filled = Map::new();
                for (name, member) in members {
                    if let Some(value) = self.json_within(member, level)? {
                        filled.insert(name.clone(), value);
                    }
                }
                Ok(Some(Value::Object(filled)))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => self.copy(template, level),
        }
    }

    fn json_string(&mut self, template: &str, level: usize) -> Result<Option<Value>, Failure> {
        let parameters = self.parameters;
        match parse(template)?.as_slice() {
            [Piece::Parameter(name)] => match parameters.get(*name) {
                Some(value) => self.copy(value, level),
                None => Ok(None),
            },
            [Piece::Variable(name)] => Ok(Some(Value::from(self.variable(name)?))),
            _ => Ok(Some(Value::from(self.text(template)?))),
        }
    }

    fn copy(&mut self, value: &Value, level: usize) -> Result<Option<Value>, Failure> {
        let copied = self.filling.copy(value, level);
        copied.map(Some).map_err(|over| too_much(&over))
    }

    fn scalar(&self, placeholder: &Piece<'_>, template: &str) -> Result<String, Failure> {
        match placeholder {
            Piece::Text(text) => Ok((*text).to_owned()),
            Piece::Variable(name) => Ok(self.variable(name)?.to_owned()),
            Piece::Parameter(name) => match self.parameters.get(*name) {
                Some(value) => scalar_text(value).ok_or_else(|| {
                    input(format!(
                        "parameter {name:?} is not a single value, as {template:?} needs"
                    ))
                }),
                None => Err(input(format!(
                    "parameter {name:?} is missing, which {template:?} needs"
                ))),
            },
        }
    }

    fn variable(&self, name: &str) -> Result<&str, Failure> {
        let granted = self.environment.iter().find(|(known, _)| known == name);
        granted.map(|(_, value)| value.as_str()).ok_or_else(|| {
            Failure::new(
                ErrorType::PermissionError,
                format!("the variable {name:?} is not granted to the tool"),
            )
        })
    }
}

/// Formats a string, number or boolean as text.
pub(super) fn scalar_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Parses a template. An HTTP tool has no steps, so `${NAME}` is a parameter like `${user.NAME}`.
fn parse(template: &str) -> Result<Vec<Piece<'_>>, Failure> {
    let malformed = |detail: String| {
        let message = format!("the tool's template {template:?} cannot be filled: {detail}");
        Failure::new(ErrorType::SystemError, message)
    };
    placeholder::segments(template)
        .map_err(|error| malformed(error.to_string()))?
        .into_iter()
        .map(|segment| match segment {
            Segment::Text(text) => Ok(Piece::Text(text)),
            Segment::Placeholder(Placeholder::User(name)) => Ok(Piece::Parameter(name)),
            Segment::Placeholder(Placeholder::Step { step: "env", path }) => {
                Ok(Piece::Variable(path))
            }
            Segment::Placeholder(Placeholder::Step { step, path: "" }) => {
                Ok(Piece::Parameter(step))
            }
            Segment::Placeholder(Placeholder::Step { step, path }) => Err(malformed(format!(
                "{step}.{path} is neither a parameter nor a variable"
            ))),
        })
        .collect()
}

fn is_past_authority(filled: &str) -> bool {
    filled
        .split_once("://")
        .is_some_and(|(_, after)| after.contains(['/', '?', '#']))
}

fn is_label(value: &str) -> bool {
    !value.is_empty()
        && value.len() <= 63
        && value
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'-')
}

/// Refuses `.` and `..` segments of the template and from values, because URL parsers resolve them: the request would
/// leave the path that the operator names for a server. Parsers also read `%2e` as a dot and `\` as `/`, and leave out
/// tabs and line ends.
fn refuse_dot_segments(url: &str) -> Result<(), Failure> {
    let path = url.split(['?', '#']).next().unwrap_or_default();
    let path = path.replace(['\t', '\n', '\r'], "");
    let path = path.to_ascii_lowercase().replace("%2e", ".");
    if path
        .split(['/', '\\'])
        .any(|segment| segment == "." || segment == "..")
    {
        return Err(input(format!("the path of {url:?} has a `..` segment")));
    }
    Ok(())
}

fn too_much(over: &FillBudgetExceeded) -> Failure {
    input(format!("the request of the tool: {over}"))
}

fn input(message: String) -> Failure {
    Failure::new(ErrorType::InputError, message)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn with_values<T>(run: impl Fn(&mut Values<'_>) -> Result<T, Failure>) -> Result<T, ErrorType> {
        let parameters = json!({
            "id": "a/b?c=d&e#f ${user.n} é", "n": 7, "up": "..", "list": ["x", 1], "region": "eu-west-1", "dot": "a.b",
        });
        let environment = vec![("TOKEN".to_owned(), "s3cret".to_owned())];
        let parameters = parameters.as_object().cloned().unwrap_or_default();
        run(&mut Values::new(&parameters, &environment)).map_err(|failure| failure.kind)
    }

    fn url(template: &str) -> Result<String, ErrorType> {
        with_values(|values| values.url(template))
    }

    #[test]
    fn ruling_13_a_value_in_a_url_is_encoded_as_one_value() {
        assert_eq!(
            url("https://x.${user.region}.example.com/v1/${user.id}?n=${n}"),
            Ok("https://x.eu-west-1.example.com/v1/a%2Fb%3Fc%3Dd%26e%23f%20%24%7Buser.n%7D%20%C3%A9?n=7".to_owned())
        );
        assert_eq!(url("https://x/${user.up}/y"), Err(ErrorType::InputError));
        for resolved in ["a/../y", "%2e%2E/y", "a\\..\\y", ".\t./y", "a/%2e"] {
            let resolved = format!("https://x/{resolved}");
            assert_eq!(url(&resolved), Err(ErrorType::InputError), "{resolved}");
        }
        assert_eq!(url("https://${user.dot}/y"), Err(ErrorType::InputError));
        assert_eq!(url("https://x/${user.list}"), Err(ErrorType::InputError));
        assert_eq!(url("https://x/${user.absent}"), Err(ErrorType::InputError));
        assert_eq!(
            url("https://x/${env.OTHER}"),
            Err(ErrorType::PermissionError)
        );
        for malformed in [
            "https://x/${user.",
            "https://x/${step_1.id}",
            "https://x/${user.}",
        ] {
            assert_eq!(url(malformed), Err(ErrorType::SystemError), "{malformed}");
        }
    }

    #[test]
    fn json_values_keep_their_types_and_absent_values_are_omitted() {
        let template = json!({
            "n": "${user.n}", "list": "${user.list}", "text": "n=${user.n}", "token": "Bearer ${env.TOKEN}",
            "escaped": "$${{ github.sha }} ${user.n}", "whole": "$${user.n}",
            "absent": "${user.absent}", "fixed": [true, null, "${user.id}", "${user.absent}"],
        });
        assert_eq!(
            with_values(|values| values.json(&template)),
            Ok(Some(json!({
                "n": 7, "list": ["x", 1], "text": "n=7", "token": "Bearer s3cret",
                "escaped": "${{ github.sha }} 7", "whole": "${user.n}",
                "fixed": [true, null, "a/b?c=d&e#f ${user.n} é"],
            })))
        );
    }

    /// `$${` produces a literal `${`, also in headers and addresses.
    #[test]
    fn an_escape_produces_its_literal_text() {
        let header = with_values(|values| values.text("$${user.n}=${user.n}"));
        assert_eq!(header.as_deref(), Ok("${user.n}=7"));
        let address = url("https://x/y?q=$${user.n}&n=${user.n}");
        assert_eq!(address.as_deref(), Ok("https://x/y?q=${user.n}&n=7"));
    }

    /// A template that names a parameter a thousand times expands to a thousand times its value.
    #[test]
    fn filled_values_are_bounded_over_the_whole_request() {
        let long = "x".repeat(1 << 20);
        let parameters = Map::from_iter([("long".to_owned(), Value::from(long))]);
        let texts = |times: usize| json!({"a": "${long}-".repeat(times), "b": ["${long}"]});
        let filled = |template: &Value| {
            let filled = Values::new(&parameters, &[]).json(template);
            filled.map(drop).map_err(|failure| failure.message)
        };
        assert_eq!(filled(&texts(46)), Ok(()));
        let over = FillBudgetExceeded::Size(JSON_MEMORY);
        let message = format!("the request of the tool: {over}");
        assert_eq!(filled(&texts(47)), Err(message.clone()));
        let url = format!("https://x/{}", "${long}".repeat(48));
        let url = Values::new(&parameters, &[]).url(&url);
        assert_eq!(url.map_err(|failure| failure.message), Err(message));
    }
}
