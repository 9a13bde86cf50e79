//! Ids of runs, which follow from the ids of their requests.

use charter_contract::ids::{RequestId, RunId, TenantId};
use uuid::Uuid;

use super::ActiveRequest;

/// The run of a skill or playbook for a request. Another tenant may use the same request id, so the tenant is
/// part of it.
pub(super) fn run_id(asked: &ActiveRequest, document: &str) -> RunId {
    run_id_of(&asked.caller.tenant, asked.id(), document)
}

/// The same of a request that is known by its id.
pub(super) fn run_id_of(tenant: &TenantId, request: &RequestId, document: &str) -> RunId {
    let name = format!("{tenant}/{document}");
    RunId::from_uuid(Uuid::new_v5(&request.uuid(), name.as_bytes()))
}
