//! Claims in SQLite.

use charter_contract::ids::RunId;
use charter_store::StoreError;
use charter_store::journal::{Claim, ClaimedRun};

use crate::journal::{RECORD, record};
use crate::tx::{Tx, params, rows};
use crate::{column, lease};

/// Leases runs to a worker: each tenant's oldest first, then each tenant's second, and so on.
pub(super) async fn claim(tx: &mut Tx<'_>, claim: &Claim) -> Result<Vec<ClaimedRun>, StoreError> {
    let except: Vec<&str> = claim.except.iter().map(RunId::as_str).collect();
    let sql = format!(
        "SELECT {RECORD}, row_number() OVER (PARTITION BY tenant_id ORDER BY created_at, run_id) AS turn
         FROM run LEFT JOIN lease
           ON resource = run_id AND holder IS NOT NULL AND expires_at > $1
         WHERE (phase = 'runnable' OR (phase = 'waiting' AND wake_at <= $1)) AND resource IS NULL
           AND run_id NOT IN (SELECT value FROM json_each($3))
         ORDER BY turn, created_at, run_id LIMIT $2"
    );
    let values = params![
        column::micros(claim.now),
        column::limit(claim.limit),
        except
    ];
    let mut claimed = Vec::new();
    for run in rows("looking for claimable runs", tx, &sql, values, record).await? {
        let (resource, holder) = (run.run_id.as_str(), claim.holder.as_str());
        // Claimable runs have no live lease.
        if let Some(lease) = lease::acquire(tx, resource, holder, claim.now, claim.until).await? {
            claimed.push(ClaimedRun { run, lease });
        }
    }
    Ok(claimed)
}
