//! Approvals.

use charter_contract::ids::ApprovalId;
use charter_store::StoreError;
use charter_store::approval::{ApprovalRecord, ApprovalState, ListedApproval};

use crate::column;
use crate::row::{Columns, field};

/// Reads `approval_id, tenant_id, run_id, state, requested_at, expires_at, body`, the title of the run, and its owner.
pub(crate) fn listed(row: &dyn Columns) -> Result<ListedApproval, StoreError> {
    let approval: String = field(row, 0)?;
    let tenant: String = field(row, 1)?;
    let run: String = field(row, 2)?;
    let state: String = field(row, 3)?;
    let record = ApprovalRecord {
        approval_id: column::parse("approval id", &approval)?,
        tenant_id: column::parse("tenant id", &tenant)?,
        run_id: column::parse("run id", &run)?,
        state: column::parse_approval_state(&state)?,
        requested_at: column::parse_micros(field(row, 4)?)?,
        expires_at: column::parse_micros(field(row, 5)?)?,
        body: field(row, 6)?,
    };
    Ok(ListedApproval {
        record,
        run_title: field(row, 7)?,
        user_id: column::parse_user(field(row, 8)?)?,
    })
}

pub(crate) fn elsewhere(approval: &ApprovalId, believed: ApprovalState) -> StoreError {
    StoreError::Refused {
        what: "approval",
        id: approval.to_string(),
        detail: format!("it is no longer {}", believed.as_str()),
    }
}
