//! The credentials that a tool names. A document names a credential and never holds one; the configuration defines it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Tool, VariableName};
use crate::bounds::TOOL_CREDENTIALS;
use crate::catalogue::vocabulary::{ExecutionTarget, Language};
use crate::ids::Label;
use crate::violation::Report;

object_only!(ToolCredential);

/// A credential that a tool uses (this project).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct ToolCredential {
    /// Name of the credential in the configuration: `github`.
    pub name: Label,
    /// Variable that has its secret during a call: a script reads it from its environment, an HTTP template as
    /// `${env.NAME}`.
    pub variable: VariableName,
}

impl Tool {
    /// Whether each call acts with a credential, so that its result depends on the user.
    #[must_use]
    pub fn has_credentials(&self) -> bool {
        !self.credentials.is_empty()
    }

    /// Checks that the server can pass each credential to a call, under a variable of its own.
    pub(super) fn check_credentials(&self, report: &mut Report) {
        if self.credentials.is_empty() {
            return;
        }
        if self.credentials.len() > TOOL_CREDENTIALS {
            let message = format!("a tool has at most {TOOL_CREDENTIALS} credentials");
            report.meaning("/credentials", "too_many", message);
        }
        if self.execution_target == ExecutionTarget::Client {
            let message =
                "credentials are passed to tools of the server only: an executor has its own"
                    .to_owned();
            report.consistency("/credentials", "execution_target", message);
        }
        if self.language == Language::Builtin {
            let message = "a built-in tool uses no credentials".to_owned();
            report.consistency("/credentials", "language", message);
        }
        for (at, credential) in self.credentials.iter().enumerate() {
            let variable = &credential.variable;
            let mut before = self.credentials[..at].iter();
            if self.environment.contains(variable)
                || before.any(|other| other.variable == *variable)
            {
                let message = format!("the variable `{variable}` is used twice");
                report.meaning(format!("/credentials/{at}/variable"), "unique", message);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::validate::parse;

    fn checked(with: &[(&str, Value)]) -> Vec<String> {
        let mut tool = json!({
            "tool_id": "gh.issues", "name": "issues", "provider": "github", "tool_class": "readonly", "domain": "code",
            "description": "Lists issues.", "language": "http", "execution_target": "server",
            "credentials": [{"name": "github", "variable": "TOKEN"}],
            "implementation": {"type": "http", "method": "GET", "url": "https://api.github.com/issues",
                "headers": {"authorization": "Bearer ${env.TOKEN}"}},
        });
        for (field, value) in with {
            tool[*field] = value.clone();
        }
        let parsed = parse::<Tool>(tool.to_string().as_bytes());
        let violations = parsed.err().unwrap_or_default().into_iter();
        violations.map(|violation| violation.pointer).collect()
    }

    #[test]
    fn a_credential_has_a_variable_of_its_own() {
        assert_eq!(checked(&[]), Vec::<String>::new());
        let taken = json!(["TOKEN"]);
        assert_eq!(
            checked(&[("environment", taken)]),
            ["/credentials/0/variable"]
        );
        let twice = json!([{"name": "a", "variable": "TOKEN"}, {"name": "b", "variable": "TOKEN"}]);
        assert_eq!(
            checked(&[("credentials", twice)]),
            ["/credentials/1/variable"]
        );
    }

    #[test]
    fn a_tool_of_the_client_names_no_credential_of_the_server() {
        assert_eq!(
            checked(&[("execution_target", json!("client"))]),
            ["/credentials"]
        );
    }
}
