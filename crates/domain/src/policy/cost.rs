//! Computes an upper bound of the work of a layer's rules for one call, from the rules and the arguments. A step is
//! about one character comparison of a `like`.

use charter_contract::bounds::CEDAR_STEPS;
use serde_json::{Map, Value};

/// The work of an operator for each value that it may visit.
const VALUE: u64 = 4;

/// The costly parts of a layer's rules.
#[derive(Debug, Default)]
pub(super) struct Cost {
    operators: u64,
    likes: Vec<Like>,
}

/// A comparison of a text with a pattern.
#[derive(Debug, PartialEq, Eq)]
struct Like {
    /// The parameter with the text; `None` if it is unknown.
    of: Option<String>,
    /// The length of the longest part between two `*`, in characters: it may be compared at each position of the text.
    part: u64,
}

impl Cost {
    pub(super) fn of_operators(operators: usize) -> Self {
        Self {
            operators: operators as u64,
            likes: Vec::new(),
        }
    }

    /// Adds the `like` operators of a rule in Cedar's JSON form.
    pub(super) fn add(&mut self, rule: &Value) {
        match rule {
            Value::Object(fields) => {
                if let Some(like) = fields.get("like") {
                    self.likes.push(Like {
                        of: parameter(&like["left"]),
                        part: longest_part(&like["pattern"]),
                    });
                }
                fields.values().for_each(|field| self.add(field));
            }
            Value::Array(items) => items.iter().for_each(|item| self.add(item)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    /// Checks whether the rules may be evaluated for these arguments, `values` of which are passed to them.
    ///
    /// # Errors
    /// The reason why not.
    pub(super) fn admit(
        &self,
        arguments: &Map<String, Value>,
        values: usize,
    ) -> Result<(), String> {
        let looked_at = (values as u64).saturating_add(1).saturating_mul(VALUE);
        let likes = self.likes.iter().map(|like| like.steps(arguments));
        let steps = likes.fold(
            self.operators.saturating_mul(looked_at),
            u64::saturating_add,
        );
        if steps > CEDAR_STEPS as u64 {
            return Err(format!(
                "the policies would take {steps} steps on these arguments; the limit is {CEDAR_STEPS} (CEDAR_STEPS): \
                 pass less, or use fewer `like` and operators"
            ));
        }
        Ok(())
    }
}

impl Like {
    fn steps(&self, arguments: &Map<String, Value>) -> u64 {
        let longest = match &self.of {
            Some(name) => arguments.get(name).map_or(0, longest_text),
            None => arguments.values().map(longest_text).max().unwrap_or(0),
        };
        longest.saturating_mul(self.part)
    }
}

/// Returns the length of the longest text in a value, in bytes.
fn longest_text(value: &Value) -> u64 {
    match value {
        Value::String(text) => text.len() as u64,
        Value::Array(items) => items.iter().map(longest_text).max().unwrap_or(0),
        Value::Object(fields) => fields.values().map(longest_text).max().unwrap_or(0),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

/// Returns the name in `context.parameters.name`.
fn parameter(read: &Value) -> Option<String> {
    let read = &read["."];
    let parameters = &read["left"]["."];
    let is_parameters =
        parameters["attr"] == "parameters" && parameters["left"]["Var"] == "context";
    let name = read["attr"].as_str().filter(|_| is_parameters)?;
    Some(name.to_owned())
}

/// A pattern is a list of `"Wildcard"` and `{"Literal": text}`.
fn longest_part(pattern: &Value) -> u64 {
    let mut longest = 1;
    let mut part = 0;
    for element in pattern.as_array().into_iter().flatten() {
        part = match element["Literal"].as_str() {
            Some(text) => part + text.chars().count() as u64,
            None => 0,
        };
        longest = longest.max(part);
    }
    longest
}

#[cfg(test)]
mod tests {
    use cedar_policy::Policy as CedarPolicy;
    use serde_json::json;

    use super::*;

    fn likes(condition: &str) -> Vec<(Option<String>, u64)> {
        let text = format!("permit (principal, action, resource) when {{ {condition} }};");
        let rule: CedarPolicy = text.parse().unwrap();
        let mut cost = Cost::default();
        cost.add(&rule.to_json().unwrap());
        let likes = cost.likes.into_iter();
        likes.map(|like| (like.of, like.part)).collect()
    }

    #[test]
    fn a_like_is_about_a_parameter_and_as_long_as_its_longest_part() {
        let of = |name: &str| Some(name.to_owned());
        let cases = [
            ("true", vec![]),
            (
                "context.parameters.path like \"/etc/*\"",
                vec![(of("path"), 5)],
            ),
            (
                "context.parameters.a like \"*ab*cde*f\"",
                vec![(of("a"), 3)],
            ),
            ("principal.user like \"*\"", vec![(None, 1)]),
            (
                "!(context.parameters[\"a\"] like \"x\") && (if true then context.parameters.b else \"\") like \"yy\"",
                vec![(of("a"), 1), (None, 2)],
            ),
        ];
        for (condition, expected) in cases {
            assert_eq!(likes(condition), expected, "{condition}");
        }
    }

    #[test]
    fn work_grows_with_what_the_arguments_hold() {
        let arguments = |text: usize| {
            let arguments = json!({"path": "/a", "content": "a".repeat(text)});
            arguments.as_object().unwrap().clone()
        };
        let like = |of: Option<&str>, part| Cost {
            operators: 0,
            likes: vec![Like {
                of: of.map(str::to_owned),
                part,
            }],
        };
        let large = arguments(8 << 20);
        assert_eq!(like(Some("path"), 1_000).admit(&large, 0), Ok(()));
        assert_eq!(like(Some("content"), 10).admit(&large, 0), Ok(()));
        assert!(like(Some("content"), 1_000).admit(&large, 0).is_err());
        assert!(like(None, 1_000).admit(&large, 0).is_err());
        let many = Cost::of_operators(5_000);
        assert_eq!(many.admit(&large, 100), Ok(()));
        assert!(many.admit(&large, 20_000).is_err());
    }
}
