//! The calls for which runs request approval: which run requests first, and which runs wait for it.
//!
//! Every registration locks the tenant's row of `approval_call_place` first, so a registration sees those before it.

use charter_contract::bounds::{SAME_CALL_CHAIN, SAME_CALL_RUNS};
use charter_contract::ids::{RunId, TenantId};
use charter_store::StoreError;
use charter_store::approval::{CallRegistration, PendingCalls};

use crate::column;
use crate::row::field;
use crate::tx::{Tx, execute, execute_many, params, row, rows};

const READING: &str = "reading pending calls";
const WRITING: &str = "registering calls";

/// The condition that the approval of a registration `other` was refused.
const REFUSED: &str = "EXISTS (SELECT 1 FROM approval
         WHERE approval.tenant_id = $1 AND approval.approval_id = other.approval_id
           AND approval.state IN ('rejected', 'lapsed'))";

/// The condition that the run of a row has an approval that was not refused.
const HELD: &str = "EXISTS (SELECT 1 FROM approval
         WHERE approval.tenant_id = $1 AND approval.approval_id = approval_call.approval_id
           AND approval.state IN ('pending', 'approved', 'consumed'))";

/// Registers the calls of a run, and returns the run that it has to wait for.
pub(super) async fn register(
    tx: &mut Tx<'_>,
    tenant: &TenantId,
    registration: &CallRegistration,
) -> Result<Option<PendingCalls>, StoreError> {
    let (tenant, run) = (tenant.as_str(), registration.run_id.as_str());
    let place = next_place(tx, tenant).await?;
    let created = "SELECT created_at FROM run WHERE tenant_id = $1 AND run_id = $2";
    let created: Option<i64> = row(READING, tx, created, params![tenant, run], |row| {
        field(row, 0)
    })
    .await?;
    let created = created.ok_or_else(|| StoreError::NotFound {
        what: "run",
        id: run.to_owned(),
    })?;
    remove_outdated(tx, (tenant, run), &registration.calls).await?;
    let held = format!(
        "SELECT count(*) FROM approval_call WHERE tenant_id = $1 AND run_id = $2 AND {HELD}"
    );
    let held: Option<i64> = row(READING, tx, &held, params![tenant, run], |row| {
        field(row, 0)
    })
    .await?;
    insert(tx, tenant, registration, place).await?;
    let awaited = if registration.may_wait {
        // A run that holds approvals waits for older runs only.
        let before = match held {
            None | Some(0) => i64::MAX,
            Some(_) => created,
        };
        run_to_wait_for(tx, (tenant, run), &registration.calls, before).await?
    } else {
        None
    };
    let sql = "UPDATE approval_call SET awaits = $3 WHERE tenant_id = $1 AND run_id = $2";
    let values = params![tenant, run, awaited.as_deref()];
    execute(WRITING, tx, sql, values).await?;
    match awaited {
        None => Ok(None),
        Some(other) => {
            let calls = shared_calls(tx, (tenant, run), &other, &registration.calls).await?;
            let run_id = column::parse("run id", &other)?;
            Ok(Some(PendingCalls { run_id, calls }))
        }
    }
}

/// Locks the places of the tenant until the transaction ends, and returns the next one.
async fn next_place(tx: &mut Tx<'_>, tenant: &str) -> Result<i64, StoreError> {
    let sql = "INSERT INTO approval_call_place (tenant_id, last_place) VALUES ($1, 1)
         ON CONFLICT (tenant_id) DO UPDATE SET last_place = approval_call_place.last_place + 1
         RETURNING last_place";
    let place: Option<i64> = row(WRITING, tx, sql, params![tenant], |row| field(row, 0)).await?;
    Ok(place.unwrap_or(1))
}

/// Removes the run's registrations whose approval was refused, and those without an approval that are not repeated.
async fn remove_outdated(
    tx: &mut Tx<'_>,
    (tenant, run): (&str, &str),
    calls: &[String],
) -> Result<(), StoreError> {
    let calls: Vec<&str> = calls.iter().map(String::as_str).collect();
    let sql = format!(
        "DELETE FROM approval_call WHERE tenant_id = $1 AND run_id = $2 AND NOT {HELD}
           AND (NOT (call_digest {})
                OR EXISTS (SELECT 1 FROM approval
                           WHERE approval.tenant_id = $1 AND approval.approval_id = approval_call.approval_id))",
        tx.dialect().one_of("$3")
    );
    let removed = execute(WRITING, tx, &sql, params![tenant, run, calls]).await;
    removed.map(|_| ())
}

/// Adds the calls; a call that is registered already keeps its place.
async fn insert(
    tx: &mut Tx<'_>,
    tenant: &str,
    registration: &CallRegistration,
    place: i64,
) -> Result<(), StoreError> {
    let (run, approval) = (&registration.run_id, &registration.approval_id);
    let mut values = Vec::with_capacity(registration.calls.len());
    for call in &registration.calls {
        values.push(params![tenant, call, run.as_str(), approval.as_str(), place].to_vec());
    }
    let sql = "INSERT INTO approval_call (tenant_id, call_digest, run_id, approval_id, place)
         VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (tenant_id, call_digest, run_id) DO UPDATE SET approval_id = excluded.approval_id";
    let added = execute_many(WRITING, tx, sql, &values).await;
    added.map(|_| ())
}

/// Returns the first run that registered one of these calls of the run earlier, was created before `before`, and does
/// not wait for this run. Calls that the run requested before are no reason to wait.
async fn run_to_wait_for(
    tx: &mut Tx<'_>,
    (tenant, run): (&str, &str),
    calls: &[String],
    before: i64,
) -> Result<Option<String>, StoreError> {
    let calls: Vec<&str> = calls.iter().map(String::as_str).collect();
    let sql = format!(
        "SELECT other.run_id, min(other.place) AS earliest
         FROM approval_call AS mine
         JOIN approval_call AS other
           ON other.tenant_id = $1 AND other.call_digest = mine.call_digest
          AND other.run_id <> mine.run_id AND other.place < mine.place
         JOIN run ON run.tenant_id = $1 AND run.run_id = other.run_id
         WHERE mine.tenant_id = $1 AND mine.run_id = $2 AND run.phase <> 'finished'
           AND (run.created_at, run.run_id) < ($3, $2) AND NOT {REFUSED} AND mine.call_digest {}
         GROUP BY other.run_id ORDER BY earliest, other.run_id LIMIT $4",
        tx.dialect().one_of("$5")
    );
    let most = column::limit(SAME_CALL_RUNS);
    let values = params![tenant, run, before, most, calls];
    let others: Vec<String> = rows(READING, tx, &sql, values, |row| field(row, 0)).await?;
    for other in others {
        if !leads_to(tx, tenant, &other, run).await? {
            return Ok(Some(other));
        }
    }
    Ok(None)
}

/// Returns whether a run waits for another one, itself or behind other runs. A chain that is too long counts as one
/// that does. A run that is about to end its wait, as [`is_pending`] decides, does not wait.
async fn leads_to(tx: &mut Tx<'_>, tenant: &str, from: &str, to: &str) -> Result<bool, StoreError> {
    let sql = format!(
        "SELECT mine.awaits FROM approval_call AS mine
         JOIN approval_call AS other
           ON other.tenant_id = $1 AND other.call_digest = mine.call_digest AND other.place < mine.place
          AND other.run_id = mine.awaits
         JOIN run ON run.tenant_id = $1 AND run.run_id = other.run_id
         WHERE mine.tenant_id = $1 AND mine.run_id = $2 AND run.phase <> 'finished' AND NOT {REFUSED} LIMIT 1"
    );
    let mut at = from.to_owned();
    for _ in 0..SAME_CALL_CHAIN {
        let values = params![tenant, &at];
        let next: Option<String> = row(READING, tx, &sql, values, |row| field(row, 0)).await?;
        match next {
            None => return Ok(false),
            Some(next) if next == to => return Ok(true),
            Some(next) => at = next,
        }
    }
    Ok(true)
}

/// Returns which of the calls another run registered.
async fn shared_calls(
    tx: &mut Tx<'_>,
    (tenant, run): (&str, &str),
    other: &str,
    calls: &[String],
) -> Result<Vec<String>, StoreError> {
    let calls: Vec<&str> = calls.iter().map(String::as_str).collect();
    let sql = format!(
        "SELECT mine.call_digest FROM approval_call AS mine
         JOIN approval_call AS other
           ON other.tenant_id = $1 AND other.call_digest = mine.call_digest AND other.place < mine.place
         WHERE mine.tenant_id = $1 AND mine.run_id = $2 AND other.run_id = $3 AND NOT {REFUSED}
           AND mine.call_digest {} ORDER BY mine.call_digest",
        tx.dialect().one_of("$4")
    );
    let values = params![tenant, run, other, calls];
    rows(READING, tx, &sql, values, |row| field(row, 0)).await
}

/// Returns whether an unfinished run registered a call of another run earlier, and its approval was not refused.
pub(super) async fn is_pending(
    tx: &mut Tx<'_>,
    tenant: &TenantId,
    run: &RunId,
    other: &RunId,
) -> Result<bool, StoreError> {
    let sql = format!(
        "SELECT 1 FROM approval_call AS mine
         JOIN approval_call AS other
           ON other.tenant_id = $1 AND other.call_digest = mine.call_digest AND other.place < mine.place
         JOIN run ON run.tenant_id = $1 AND run.run_id = other.run_id
         WHERE mine.tenant_id = $1 AND mine.run_id = $2 AND other.run_id = $3
           AND run.phase <> 'finished' AND NOT {REFUSED} LIMIT 1"
    );
    let values = params![tenant.as_str(), run.as_str(), other.as_str()];
    let found = row(READING, tx, &sql, values, |_| Ok(())).await?;
    Ok(found.is_some())
}

/// Removes the registrations of a finished run, and makes the runs runnable that wait for it. Returns these.
pub(super) async fn release(
    tx: &mut Tx<'_>,
    tenant: &TenantId,
    run: &RunId,
) -> Result<Vec<RunId>, StoreError> {
    let (tenant, run) = (tenant.as_str(), run.as_str());
    let sql = "SELECT 1 FROM run WHERE tenant_id = $1 AND run_id = $2 AND phase = 'finished'";
    let finished = row(READING, tx, sql, params![tenant, run], |_| Ok(())).await?;
    if finished.is_none() {
        return Ok(Vec::new());
    }
    let sql = "DELETE FROM approval_call WHERE tenant_id = $1 AND run_id = $2";
    execute("releasing calls", tx, sql, params![tenant, run]).await?;
    let sql = "UPDATE run SET phase = 'runnable', wake_at = NULL
         WHERE tenant_id = $1 AND phase = 'waiting'
           AND run_id IN (SELECT run_id FROM approval_call WHERE tenant_id = $1 AND awaits = $2)
         RETURNING run_id";
    rows("waking runs", tx, sql, params![tenant, run], |row| {
        column::parse("run id", field(row, 0)?)
    })
    .await
}
