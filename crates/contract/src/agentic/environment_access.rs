//! Access to environment variables. Seed 003 names this contract and gives no text:
//! the form is this project's. Values are secrets: `Debug` does not show them.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::catalogue::tool::VariableName;
use crate::ids::{EnvironmentAccessId, RequestId};
use crate::schema::SchemaName;
use crate::text::Text;
use crate::time::Timestamp;
use crate::validate::Contract;
use crate::violation::Report;

object_only!(EnvironmentAccess);

/// One access to the environment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct EnvironmentAccess {
    /// Its id.
    pub id: EnvironmentAccessId,
    /// The request it serves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<RequestId>,
    /// When it was asked for.
    pub timestamp: Timestamp,
    /// What is done.
    pub operation: EnvironmentOperation,
    /// The variables; none for `list`.
    #[serde(default)]
    pub names: Vec<VariableName>,
    /// `set`: the value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<SecretText>,
    /// Why it is needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text>,
    /// Anything else about it.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
}

string_enum! {
    /// What is done to the environment (this project).
    pub enum EnvironmentOperation {
        /// Reads variables.
        Get = "get",
        /// Names the variables that may be read.
        List = "list",
        /// Sets one for the tools of this run.
        Set = "set",
        /// Removes some for the tools of this run.
        Unset = "unset",
    }
}

/// Text that is not shown by `Debug`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub struct SecretText(String);

impl SecretText {
    /// Shows the text to whoever must have it.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl From<String> for SecretText {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

impl Contract for EnvironmentAccess {
    const NAME: SchemaName = SchemaName::EnvironmentAccess;

    fn check(&self, report: &mut Report) {
        let count = self.names.len();
        let problem = match self.operation {
            EnvironmentOperation::List if count > 0 => Some("`list` takes no variables"),
            EnvironmentOperation::Set if count != 1 => Some("`set` needs exactly one variable"),
            EnvironmentOperation::Get | EnvironmentOperation::Unset if count == 0 => {
                Some("at least one variable is needed")
            }
            EnvironmentOperation::List
            | EnvironmentOperation::Set
            | EnvironmentOperation::Get
            | EnvironmentOperation::Unset => None,
        };
        if let Some(problem) = problem {
            report.meaning("/names", "operation", problem.to_owned());
        }
        if (self.operation == EnvironmentOperation::Set) != self.value.is_some() {
            let message = "`value` is allowed only with `set`".to_owned();
            report.meaning("/value", "operation", message);
        }
    }
}
