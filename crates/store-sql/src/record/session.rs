//! Sessions and their turns.

use charter_contract::ids::{RequestId, SessionId, TenantId};
use charter_store::StoreError;
use charter_store::session::{SessionRecord, Turn};

use crate::column;
use crate::row::{Columns, field};

pub(crate) fn turn(row: &dyn Columns) -> Result<Turn, StoreError> {
    let request: String = field(row, 0)?;
    Ok(Turn {
        request_id: column::parse::<RequestId>("request id", &request)?,
        at: column::parse_micros(field(row, 1)?)?,
        input: field(row, 2)?,
        output: field(row, 3)?,
    })
}

/// Reads `user_id, created_at, expires_at`.
pub(crate) fn record(
    row: &dyn Columns,
    tenant: &TenantId,
    session: &SessionId,
) -> Result<SessionRecord, StoreError> {
    Ok(SessionRecord {
        session_id: session.clone(),
        tenant_id: tenant.clone(),
        user_id: column::parse("user id", field(row, 0)?)?,
        created_at: column::parse_micros(field(row, 1)?)?,
        expires_at: column::parse_micros(field(row, 2)?)?,
    })
}
