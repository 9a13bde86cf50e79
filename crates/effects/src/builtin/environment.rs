//! `env.get`: granted environment variables (seed 003, Environment Access Schema). Values appear in the answer only.
//! Must not read the environment: values come with the grants.

use std::collections::BTreeMap;

use charter_contract::agentic::environment_access::{EnvironmentAccess, EnvironmentOperation};
use charter_contract::agentic::response::ActionType;
use charter_contract::catalogue::builtin::Builtin;
use charter_contract::ids::EnvironmentAccessId;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::action::{Action, answer};
use super::parameters;
use crate::builtin_grants::{BuiltinGrants, denied};
use crate::outcome::{Failure, Success};

/// Returns the named variables. All of them must be granted; the error does not disclose whether another one exists.
pub(crate) fn get(given: &Map<String, Value>, grants: &BuiltinGrants) -> Result<Success, Failure> {
    let id = EnvironmentAccessId::from_uuid(Uuid::new_v4()).to_string();
    let operation = EnvironmentOperation::Get.as_str();
    let fixed = [("id", id.into()), ("operation", operation.into())];
    let access: EnvironmentAccess = parameters::document(Builtin::EnvGet, given, &fixed)?;
    let mut values = BTreeMap::new();
    for name in &access.names {
        let granted = grants.environment.get(name.as_ref());
        let value = granted
            .ok_or_else(|| denied(format!("the variable `{name}` is not granted, or not set")))?;
        values.insert(name.as_str(), value.reveal());
    }
    let details =
        json!({ "operation": "env.get", "operation_id": access.id, "names": access.names });
    let action = Action::new(ActionType::CommandExecution, &details)?;
    answer(&json!({ "values": values }), &[action])
}

#[cfg(test)]
mod tests {
    use charter_contract::agentic::error::ErrorType;

    use super::*;

    fn grants() -> BuiltinGrants {
        BuiltinGrants {
            environment: BTreeMap::from([("REGION".to_owned(), "eu".to_owned().into())]),
            ..BuiltinGrants::default()
        }
    }

    fn read_variables(names: &Value) -> Result<Value, (ErrorType, String)> {
        let given = Map::from_iter([("names".to_owned(), names.clone())]);
        let got = get(&given, &grants());
        got.map(|success| success.output)
            .map_err(|failure| (failure.kind, failure.message))
    }

    #[test]
    fn b003_only_granted_variables_are_read() {
        let mut answered = read_variables(&json!(["REGION"])).unwrap();
        let actions = answered["actions"].take();
        assert_eq!(
            answered,
            json!({"values": {"REGION": "eu"}, "actions": null})
        );
        assert_eq!(actions[0]["action_type"], "command_execution");
        assert_eq!(actions[0]["details"]["names"], json!(["REGION"]));
        // PATH is set in every environment, but not granted here.
        let refused = read_variables(&json!(["REGION", "PATH"]));
        let message = "the variable `PATH` is not granted, or not set".to_owned();
        assert_eq!(refused, Err((ErrorType::PermissionError, message)));
        for wrong in [json!([]), json!(["A=B"]), json!("REGION"), json!(null)] {
            let kind = read_variables(&wrong).map_err(|(kind, _)| kind);
            assert_eq!(kind, Err(ErrorType::InputError), "{wrong}");
        }
    }

    #[test]
    fn b003_values_of_variables_are_not_logged() {
        let shown = format!("{:?}", grants());
        assert!(
            shown.contains("REGION") && !shown.contains("eu\""),
            "{shown}"
        );
    }
}
