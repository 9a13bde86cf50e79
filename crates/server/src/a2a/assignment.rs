//! Tasks of missions that an outside agent carries out, over A2A: a data part `assignment` lists, claims, shows, submits
//! or releases one. The answer is a message, since the agent works for Charter and not the reverse.

use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{AssignmentId, LeaseId, MissionId};
use charter_contract::page::PageRequest;
use charter_contract::registry::read_typed;
use charter_engine::{AssignmentCall, AssignmentSubmission, Caller, EngineError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::error::{A2aError, Kind};
use super::show;
use crate::operations;
use crate::state::AppState;

/// The field of a data part with an action on assignments.
pub(super) const FIELD: &str = "assignment";

/// Assignments of one list.
const PAGE: usize = 50;

/// An action on assignments; the fields are those of the REST operations.
#[derive(Deserialize, JsonSchema)]
#[serde(tag = "action", rename_all = "snake_case", deny_unknown_fields)]
enum Action {
    /// Lists the open assignments, or those of a mission.
    List {
        #[serde(default)]
        mission_id: Option<MissionId>,
        #[serde(default)]
        after: Option<String>,
    },
    /// Claims an assignment.
    Claim { assignment_id: AssignmentId },
    /// Shows an assignment.
    Get { assignment_id: AssignmentId },
    /// Submits the result of a turn.
    Submit {
        assignment_id: AssignmentId,
        lease_id: LeaseId,
        #[serde(default)]
        artifacts: Vec<Map<String, Value>>,
        #[serde(default)]
        calls: Vec<AssignmentCall>,
    },
    /// Releases a claimed assignment.
    Release {
        assignment_id: AssignmentId,
        lease_id: LeaseId,
    },
}

impl Action {
    /// Returns the REST operation with the same access rule.
    const fn operation(&self) -> &'static str {
        match self {
            Self::List { .. } => "list_mission_assignments",
            Self::Claim { .. } => "claim_mission_assignment",
            Self::Get { .. } => "get_mission_assignment",
            Self::Submit { .. } => "submit_mission_assignment",
            Self::Release { .. } => "release_mission_assignment",
        }
    }
}

/// Carries out the action of a message; returns the answer of `SendMessage`.
pub(super) async fn answer(
    state: &AppState,
    caller: &Caller,
    asked: &Value,
) -> Result<Value, A2aError> {
    let action: Action = read_typed(asked).map_err(|found| {
        let found: Vec<_> = found
            .into_iter()
            .map(|violation| violation.below(&format!("/{FIELD}")))
            .collect();
        A2aError::of_violations(&found)
    })?;
    operations::admit(action.operation(), caller).map_err(|error| A2aError::of_engine(&error))?;
    let done = carried_out(state, caller, action).await;
    let done = done.map_err(|error| {
        let conflict = Kind::Own(ErrorCode::IllegalTransition);
        let absent = Kind::Own(ErrorCode::NotFound);
        // An assignment is no task of the protocol.
        A2aError::of_engine(&error)
            .renamed(Kind::UnsupportedOperation, conflict)
            .renamed(Kind::TaskNotFound, absent)
    })?;
    let message = json!({"messageId": Uuid::now_v7().to_string(), "role": "ROLE_AGENT"});
    let parts = Value::Array(vec![show::data(&done)]);
    let message = show::with_field(message, "parts", parts);
    Ok(show::with_field(json!({}), "message", message))
}

async fn carried_out(
    state: &AppState,
    caller: &Caller,
    action: Action,
) -> Result<Value, EngineError> {
    let assignments = state.engine.assignments();
    Ok(match action {
        Action::List { mission_id, after } => {
            let page = PageRequest::new(after, PAGE);
            let found = assignments.list(caller, mission_id.as_ref(), &page);
            json!(found.await?)
        }
        Action::Claim { assignment_id } => json!(assignments.claim(caller, &assignment_id).await?),
        Action::Get { assignment_id } => json!(assignments.get(caller, &assignment_id).await?),
        Action::Submit {
            assignment_id,
            lease_id,
            artifacts,
            calls,
        } => {
            let submission = AssignmentSubmission {
                lease_id,
                artifacts,
                calls,
            };
            let longest = state.limits.timeout / 2;
            let shown = assignments.submit(caller, &assignment_id, &submission, longest);
            json!(shown.await?)
        }
        Action::Release {
            assignment_id,
            lease_id,
        } => json!(
            assignments
                .release(caller, &assignment_id, &lease_id)
                .await?
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operations::{RequiredPermission, required_permission};

    #[test]
    fn each_action_needs_the_scopes_of_its_rest_operation() {
        let lease = "lease-00000000-0000-0000-0000-000000000000";
        let id = "asg-00000000-0000-0000-0000-000000000000";
        for action in [
            json!({"action": "list"}),
            json!({"action": "claim", "assignment_id": id}),
            json!({"action": "get", "assignment_id": id}),
            json!({"action": "submit", "assignment_id": id, "lease_id": lease}),
            json!({"action": "release", "assignment_id": id, "lease_id": lease}),
        ] {
            let read: Action = serde_json::from_value(action.clone()).unwrap();
            let rule = required_permission(read.operation());
            let is_scoped =
                matches!(rule, Some(RequiredPermission::Scopes(scopes)) if !scopes.is_empty());
            assert!(is_scoped, "{action}");
        }
    }
}
