//! Appends to journals. A list of appends takes the round trips of one.

use charter_contract::ids::{RunId, TenantId};
use charter_contract::run_status::RunStatus;
use charter_store::StoreError;
use charter_store::journal::{Append, EventHash, NewEvent, NextPhase, RunPhase, RunWait};
use charter_store::lease::Fence;
use charter_store::outbox::NewMessage;

use super::create::{check_chain, insert_events, push_events, refused};
use super::{READING, WRITING};
use crate::artifact::{self, Addition};
use crate::row::{Columns, field};
use crate::tx::{Tx, execute, execute_many, params, row_each};
use crate::{approval, column, lease, outbox};

/// The state of a run that a write is checked against.
pub(crate) struct RunHead {
    pub(crate) version: u64,
    pub(crate) phase: RunPhase,
    pub(crate) last_hash: EventHash,
}

/// Reads `version, phase, last_hash`.
fn head(row: &dyn Columns) -> Result<RunHead, StoreError> {
    Ok(RunHead {
        version: column::parse_integer("run version", field(row, 0)?)?,
        phase: column::parse_phase(field(row, 1)?)?,
        last_hash: EventHash(column::parse_hash("event hash", field(row, 2)?)?),
    })
}

/// Locks runs in this order until the transaction ends, and then the leases of those that exist. Returns the state of
/// each run whose fence is the current one.
async fn lock(
    tx: &mut Tx<'_>,
    runs: &[(&TenantId, &RunId, Fence)],
) -> Result<Vec<Result<RunHead, StoreError>>, StoreError> {
    let mut keys = Vec::with_capacity(runs.len());
    for (tenant, run, _) in runs {
        keys.push(params![tenant.as_str(), run.as_str()].to_vec());
    }
    let for_update = tx.dialect().for_update();
    let sql = format!(
        "SELECT version, phase, last_hash FROM run WHERE tenant_id = $1 AND run_id = $2{for_update}"
    );
    let heads = row_each(READING, tx, &sql, &keys, head).await?;
    let mut leases = Vec::with_capacity(runs.len());
    for ((_, run, fence), head) in runs.iter().zip(&heads) {
        if head.is_some() {
            leases.push((run.as_str(), *fence));
        }
    }
    let mut checked = lease::check_fences(tx, &leases).await?.into_iter();
    let mut locked = Vec::with_capacity(runs.len());
    for ((_, run, _), head) in runs.iter().zip(heads) {
        locked.push(match head {
            Some(head) => checked.next().unwrap_or(Ok(())).map(|()| head),
            None => Err(StoreError::NotFound {
                what: "run",
                id: run.to_string(),
            }),
        });
    }
    Ok(locked)
}

/// An append that its run accepts.
struct Accepted<'a> {
    append: &'a Append,
    /// The run's phase before it.
    phase: RunPhase,
    /// The run's version after it.
    version: u64,
    last_hash: EventHash,
    newest: &'a NewEvent,
}

fn check<'a>(head: &RunHead, append: &'a Append) -> Result<Accepted<'a>, StoreError> {
    let run = &append.run_id;
    if head.version != append.expected {
        return Err(StoreError::VersionConflict {
            what: "run",
            id: run.to_string(),
            expected: append.expected,
            found: head.version,
        });
    }
    if head.phase == RunPhase::Finished {
        return Err(refused(run, "it is finished".to_owned()));
    }
    let Some(newest) = append.events.last() else {
        return Err(refused(run, "an append without events".to_owned()));
    };
    Ok(Accepted {
        append,
        phase: head.phase,
        version: head.version + append.events.len() as u64,
        last_hash: check_chain(run, head.version, head.last_hash, &append.events)?,
        newest,
    })
}

/// Returns the version of a run after an append, as far as its state decides.
///
/// # Errors
/// As for an append, except those of leases, approvals and artifacts.
pub(crate) fn check_state(head: &RunHead, append: &Append) -> Result<u64, StoreError> {
    check(head, append).map(|accepted| accepted.version)
}

/// Returns whether the later events of an append chain from its first one.
pub(crate) fn is_chained(append: &Append) -> bool {
    append.events.split_first().is_none_or(|(first, later)| {
        let version = append.expected.saturating_add(1);
        check_chain(&append.run_id, version, first.hash, later).is_ok()
    })
}

/// Appends to different runs, in the order of their ids, so that concurrent lists do not deadlock. Returns the new
/// version of each. An append that the run's lease, version or phase refuses, or whose events do not chain, writes
/// nothing and does not affect the others.
///
/// # Errors
/// If an approval or an artifact is refused, the whole list is: the transaction has to be rolled back.
pub(super) async fn append(
    tx: &mut Tx<'_>,
    appends: &[Append],
) -> Result<Vec<Result<u64, StoreError>>, StoreError> {
    let runs: Vec<_> = appends
        .iter()
        .map(|append| (&append.tenant_id, &append.run_id, append.fence))
        .collect();
    let heads = lock(tx, &runs).await?;
    let mut accepted = Vec::with_capacity(appends.len());
    let mut answers = Vec::with_capacity(appends.len());
    for (append, head) in appends.iter().zip(heads) {
        let checked = head.and_then(|head| check(&head, append));
        answers.push(checked.map(|append| {
            let version = append.version;
            accepted.push(append);
            version
        }));
    }
    write(tx, &accepted).await?;
    write_effects(tx, &accepted).await?;
    Ok(answers)
}

/// Writes the events, and the new state of the runs. A step of a run leaves its phase out: SQLite writes the partial
/// indexes over the phase anew for every statement that sets it.
async fn write(tx: &mut Tx<'_>, accepted: &[Accepted<'_>]) -> Result<(), StoreError> {
    let mut events = Vec::with_capacity(accepted.len());
    let (mut same_phase, mut next_phase) = (Vec::new(), Vec::new());
    for one in accepted {
        let append = one.append;
        let run = (&append.tenant_id, &append.run_id);
        push_events(&mut events, run, append.expected, &append.events)?;
        let wake_at = match &append.then {
            NextPhase::Waits(wait) => wait.until.map(column::micros),
            NextPhase::Runs | NextPhase::Ends => None,
        };
        let values = params![
            append.tenant_id.as_str(),
            append.run_id.as_str(),
            column::integer("run version", one.version)?,
            one.last_hash.0.as_slice(),
            column::micros(one.newest.at),
            append.status.as_str(),
            wake_at
        ];
        let mut values = values.to_vec();
        let phase = append.then.phase();
        if phase == one.phase {
            same_phase.push(values);
        } else {
            values.push(column::phase(phase).into());
            next_phase.push(values);
        }
    }
    insert_events(tx, &events).await?;
    let sql =
        "UPDATE run SET version = $3, last_hash = $4, updated_at = $5, status = $6, wake_at = $7
               WHERE tenant_id = $1 AND run_id = $2";
    execute_many(WRITING, tx, sql, &same_phase).await?;
    let sql =
        "UPDATE run SET version = $3, last_hash = $4, updated_at = $5, status = $6, wake_at = $7,
               phase = $8 WHERE tenant_id = $1 AND run_id = $2";
    execute_many(WRITING, tx, sql, &next_phase)
        .await
        .map(|_| ())
}

/// Writes the changes that the events record: approvals, artifacts, waits, releases of leases, messages.
async fn write_effects(tx: &mut Tx<'_>, accepted: &[Accepted<'_>]) -> Result<(), StoreError> {
    let mut waits = Vec::new();
    let mut released = Vec::new();
    let mut messages: Vec<&NewMessage> = Vec::new();
    for one in accepted {
        let append = one.append;
        let (tenant, run) = (append.tenant_id.as_str(), append.run_id.as_str());
        approval::change(tx, (tenant, run), &append.approvals).await?;
        let addition = Addition {
            tenant,
            run,
            event: one.version,
            artifacts: &append.artifacts,
            state: append.mission_state,
        };
        artifact::add(tx, addition).await?;
        if let NextPhase::Waits(wait) = &append.then {
            waits.push((tenant, run, wait.approvals.as_slice()));
        }
        if append.release {
            released.push((run, append.fence));
        }
        messages.extend(&append.messages);
    }
    approval::wake_decided(tx, &waits).await?;
    lease::release_fences(tx, &released).await?;
    outbox::insert(tx, &messages).await
}

/// Makes a run wait with this status, releases its lease, and writes the messages about it.
pub(super) async fn park(
    tx: &mut Tx<'_>,
    (tenant, run): (&TenantId, &RunId),
    fence: Fence,
    (status, wait): (RunStatus, &RunWait),
    messages: &[NewMessage],
) -> Result<(), StoreError> {
    let head = lock(tx, &[(tenant, run, fence)]).await?.remove(0)?;
    let (tenant, run) = (tenant.as_str(), run.as_str());
    if head.phase != RunPhase::Finished {
        execute(
            WRITING,
            tx,
            "UPDATE run SET phase = 'waiting', wake_at = $3, status = $4 WHERE tenant_id = $1 AND run_id = $2",
            params![tenant, run, wait.until.map(column::micros), status.as_str()],
        )
        .await?;
        approval::wake_decided(tx, &[(tenant, run, wait.approvals.as_slice())]).await?;
        outbox::insert(tx, messages).await?;
    }
    lease::release_fences(tx, &[(run, fence)]).await
}

#[cfg(test)]
mod tests {
    use charter_store::journal::Journal;
    use charter_testkit::store_suite::sample;

    use super::*;
    use crate::sqlite::{SqliteOptions, SqliteStore};
    use crate::store::{Access, RowScope, SqlEngine};

    #[tokio::test]
    async fn a_refused_append_of_a_list_writes_nothing_and_does_not_affect_the_others() {
        let dir = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(dir.path(), &SqliteOptions::default()).unwrap();
        let mut appends = Vec::new();
        for n in 1..=6 {
            let (run, events) = sample::new_run("acme", n, 0).unwrap();
            let created = store.create_run(&run, events, vec![], vec![]);
            created.await.unwrap();
            appends.push(sample::second_append(n, NextPhase::Runs, &["{}"]).unwrap());
        }
        appends[1].expected = 7;
        appends[2].fence = Fence(3);
        appends[3].run_id = sample::run(9);
        appends[4].events[0].hash = EventHash([0; 32]);
        let answers = store
            .engine
            .run(Access::Write, RowScope::Everyone, appends, |tx, appends| {
                Box::pin(append(tx, appends))
            })
            .await
            .unwrap();
        assert!(
            matches!(
                &answers[..],
                [
                    Ok(2),
                    Err(StoreError::VersionConflict { found: 1, .. }),
                    Err(StoreError::FencedOff { current: 0, .. }),
                    Err(StoreError::NotFound { .. }),
                    Err(StoreError::Corrupt { .. }),
                    Ok(2)
                ]
            ),
            "{answers:?}"
        );
        let acme = sample::tenant("acme").unwrap();
        for (n, length) in (1..).zip([2, 1, 1, 1, 1, 2]) {
            let events = store.events(&acme, &sample::run(n), 0, 9).await.unwrap();
            assert_eq!(events.len(), length, "run {n}");
        }
    }
}
