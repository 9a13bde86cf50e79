//! Access to environment variables. Seed 003 names this contract without specifying it: the form is this project's.
//! Values are secrets: `Debug` does not show them.

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
    /// Id of the access.
    pub id: EnvironmentAccessId,
    /// Request that the access serves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<RequestId>,
    /// Time of the access.
    pub timestamp: Timestamp,
    /// Operation to perform.
    pub operation: EnvironmentOperation,
    /// Names of the variables; empty for `list`.
    #[serde(default)]
    pub names: Vec<VariableName>,
    /// Value for `set`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<SecretText>,
    /// Reason for the access.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text>,
    /// Additional free-form data.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
}

string_enum! {
    /// Operation on the environment (this project).
    pub enum EnvironmentOperation {
        /// Reads variables.
        Get = "get",
        /// Lists the names of the readable variables.
        List = "list",
        /// Sets one variable for the tools of this run.
        Set = "set",
        /// Removes variables for the tools of this run.
        Unset = "unset",
    }
}

/// Text that `Debug` does not show.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub struct SecretText(String);

impl SecretText {
    /// Returns the secret text.
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
