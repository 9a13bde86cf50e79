//! Claims in PostgreSQL.

use charter_contract::ids::RunId;
use charter_store::StoreError;
use charter_store::journal::{Claim, ClaimedRun};
use charter_store::lease::{Fence, Lease};

use crate::column;
use crate::journal::{RECORD, record};
use crate::row::field;
use crate::tx::{Tx, params, rows};

/// Due runs that one claim considers, the longest overdue first.
const MOST_DUE: i64 = 1_000;

/// Leases runs to a worker: each tenant's oldest first, then each tenant's second, and so on. Reads no more of a
/// tenant's runs than it could lease, so that a claim's cost does not depend on the number of waiting runs.
pub(super) async fn claim(tx: &mut Tx<'_>, claim: &Claim) -> Result<Vec<ClaimedRun>, StoreError> {
    let except: Vec<&str> = claim.except.iter().map(RunId::as_str).collect();
    let free = "run_id <> ALL ($5) AND NOT EXISTS (
                    SELECT FROM lease WHERE resource = run_id AND holder IS NOT NULL AND expires_at > $1)";
    // Locked before they are leased, in the order of an append; rows that another transaction locks are skipped.
    let sql = format!(
        "WITH RECURSIVE tenants AS (
             (SELECT tenant_id FROM run WHERE phase = 'runnable' ORDER BY tenant_id LIMIT 1)
             UNION ALL
             SELECT next.tenant_id FROM tenants CROSS JOIN LATERAL (
                 SELECT run.tenant_id FROM run
                 WHERE phase = 'runnable' AND run.tenant_id > tenants.tenant_id
                 ORDER BY run.tenant_id LIMIT 1) AS next
         ), candidates AS (
             SELECT oldest.* FROM tenants CROSS JOIN LATERAL (
                 SELECT run.tenant_id, run_id, created_at FROM run
                 WHERE phase = 'runnable' AND run.tenant_id = tenants.tenant_id AND {free}
                 ORDER BY created_at, run_id LIMIT $2) AS oldest
             UNION ALL
             (SELECT tenant_id, run_id, created_at FROM run
              WHERE phase = 'waiting' AND wake_at <= $1 AND {free}
              ORDER BY wake_at LIMIT $6)
         ), ready AS (
             SELECT tenant_id, run_id, created_at,
                    row_number() OVER (PARTITION BY tenant_id ORDER BY created_at, run_id) AS turn
             FROM candidates ORDER BY turn, created_at, run_id LIMIT $2
         ), locked AS (
             SELECT run.run_id FROM run JOIN ready USING (tenant_id, run_id)
             WHERE phase = 'runnable' OR (phase = 'waiting' AND wake_at <= $1)
             FOR UPDATE OF run SKIP LOCKED
         ), claimed AS (
             INSERT INTO lease AS held (resource, holder, fence, expires_at)
             SELECT run_id, $3, 1, $4 FROM locked
             ON CONFLICT (resource) DO UPDATE SET
                 fence = held.fence + 1, holder = excluded.holder, expires_at = excluded.expires_at
             WHERE held.holder IS NULL OR held.expires_at <= $1
             RETURNING resource, fence
         )
         SELECT {RECORD}, fence FROM run JOIN ready USING (tenant_id, run_id, created_at)
         JOIN claimed ON resource = run_id ORDER BY turn, created_at, run_id"
    );
    let values = params![
        column::micros(claim.now),
        column::limit(claim.limit),
        &claim.holder,
        column::micros(claim.until),
        except,
        MOST_DUE
    ];
    rows("claiming runs", tx, &sql, values, |row| {
        let run = record(row)?;
        let lease = Lease {
            resource: run.run_id.to_string(),
            holder: claim.holder.clone(),
            fence: Fence(column::parse_integer("fence", field(row, 10)?)?),
            expires_at: claim.until,
        };
        Ok(ClaimedRun { run, lease })
    })
    .await
}
