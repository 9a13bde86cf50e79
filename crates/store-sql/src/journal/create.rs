//! Creates runs.

use charter_contract::ids::{RunId, TenantId};
use charter_contract::mission::MissionState;
use charter_store::StoreError;
use charter_store::journal::{EventHash, GENESIS, NewEvent, NewLeasedRun, RunRecord};
use charter_store::lease::Lease;
use charter_store::mission::ArtifactRecord;
use charter_store::outbox::NewMessage;

use super::WRITING;
use crate::artifact::{self, Addition};
use crate::tx::{SqlValue, Tx, execute, execute_many, params};
use crate::{approval, column, lease, outbox};

/// Checks that events chain from `previous`; returns the last hash.
pub(crate) fn check_chain(
    run: &RunId,
    version: u64,
    previous: EventHash,
    events: &[NewEvent],
) -> Result<EventHash, StoreError> {
    let mut last = previous;
    for (sequence, event) in (version + 1..).zip(events) {
        if event.hash != last.chain(sequence, &event.payload) {
            return Err(StoreError::Corrupt {
                what: "journal of run",
                id: run.to_string(),
                detail: format!("event {sequence} does not chain from the one before it"),
            });
        }
        last = event.hash;
    }
    Ok(last)
}

pub(super) fn refused(run: &RunId, detail: String) -> StoreError {
    StoreError::Refused {
        what: "run",
        id: run.to_string(),
        detail,
    }
}

/// Adds the values of events after `version`, for [`insert_events`].
pub(super) fn push_events<'v>(
    values: &mut Vec<Vec<SqlValue<'v>>>,
    (tenant, run): (&'v TenantId, &'v RunId),
    version: u64,
    events: &'v [NewEvent],
) -> Result<(), StoreError> {
    for (sequence, event) in (version + 1..).zip(events) {
        let event = params![
            tenant.as_str(),
            run.as_str(),
            column::integer("event sequence", sequence)?,
            column::micros(event.at),
            event.hash.0.as_slice(),
            &event.payload
        ];
        values.push(event.to_vec());
    }
    Ok(())
}

pub(super) async fn insert_events(
    tx: &mut Tx<'_>,
    values: &[Vec<SqlValue<'_>>],
) -> Result<(), StoreError> {
    execute_many(
        "appending to a journal",
        tx,
        "INSERT INTO journal_event (tenant_id, run_id, sequence, at, hash, payload)
         VALUES ($1, $2, $3, $4, $5, $6)",
        values,
    )
    .await
    .map(|_| ())
}

/// Creates a run with its first events.
pub(crate) async fn create(
    tx: &mut Tx<'_>,
    run: &RunRecord,
    events: &[NewEvent],
    messages: &[NewMessage],
) -> Result<(), StoreError> {
    if run.version != events.len() as u64 {
        let detail = format!("version {} with {} events", run.version, events.len());
        return Err(refused(&run.run_id, detail));
    }
    let last_hash = check_chain(&run.run_id, 0, GENESIS, events)?;
    let (tenant, id) = (run.tenant_id.as_str(), run.run_id.as_str());
    let sql = "INSERT INTO run_tenant (run_id, tenant_id) VALUES ($1, $2) ON CONFLICT DO NOTHING";
    if execute(WRITING, tx, sql, params![id, tenant]).await? == 0 {
        return Err(StoreError::AlreadyExists {
            what: "run",
            id: run.run_id.to_string(),
        });
    }
    execute(
        WRITING,
        tx,
        "INSERT INTO run
         (tenant_id, run_id, title, phase, version, last_hash, created_at, updated_at, status, wake_at,
          user_id)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
        params![
            tenant,
            id,
            &run.title,
            column::phase(run.phase),
            column::integer("run version", run.version)?,
            last_hash.0.as_slice(),
            column::micros(run.created_at),
            column::micros(run.updated_at),
            run.status.as_str(),
            run.wake_at.map(column::micros),
            column::user(run.user_id.as_ref())
        ],
    )
    .await?;
    let mut values = Vec::with_capacity(events.len());
    push_events(&mut values, (&run.tenant_id, &run.run_id), 0, events)?;
    insert_events(tx, &values).await?;
    outbox::insert(tx, messages).await
}

/// Creates a run, and its mission if it has one.
pub(super) async fn with_mission(
    tx: &mut Tx<'_>,
    run: &RunRecord,
    events: &[NewEvent],
    artifacts: &[ArtifactRecord],
    messages: &[NewMessage],
) -> Result<(), StoreError> {
    create(tx, run, events, messages).await?;
    begin_mission(tx, run, artifacts, None).await
}

async fn begin_mission(
    tx: &mut Tx<'_>,
    run: &RunRecord,
    artifacts: &[ArtifactRecord],
    state: Option<MissionState>,
) -> Result<(), StoreError> {
    let addition = Addition {
        tenant: run.tenant_id.as_str(),
        run: run.run_id.as_str(),
        event: run.version,
        artifacts,
        state,
    };
    artifact::begin(tx, &run.tenant_id, addition).await
}

/// Creates a run with its first approvals and artifacts, and leases it.
pub(super) async fn held(tx: &mut Tx<'_>, new: &NewLeasedRun) -> Result<Lease, StoreError> {
    let (tenant, run) = (new.run.tenant_id.as_str(), new.run.run_id.as_str());
    create(tx, &new.run, &new.events, &new.messages).await?;
    approval::change(tx, (tenant, run), &new.approvals).await?;
    begin_mission(tx, &new.run, &new.artifacts, new.mission_state).await?;
    let (holder, now) = (&new.holder, new.run.created_at);
    let lease = lease::acquire(tx, run, holder, now, new.expires_at).await?;
    let refusal = || refused(&new.run.run_id, "its id is already leased".to_owned());
    let lease = lease.ok_or_else(refusal)?;
    if new.release {
        lease::release_fences(tx, &[(run, lease.fence)]).await?;
    }
    Ok(lease)
}
