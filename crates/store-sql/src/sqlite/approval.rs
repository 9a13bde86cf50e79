//! Approvals in SQLite. A trigger prevents a record from moving backwards (`migrations/V1__initial.sql`).

use async_trait::async_trait;
use charter_contract::ids::{ApprovalId, RunId, TenantId, UserId};
use charter_store::StoreError;
use charter_store::approval::{
    ApprovalChange, ApprovalFilter, ApprovalRecord, ApprovalState, ApprovalTransition, Approvals,
    ListedApproval,
};
use charter_store::outbox::NewMessage;
use charter_store::page::{Page, PageRequest};
use rusqlite::{Connection, params};

use super::statement::{execute, row, rows_within};
use super::{SqliteStore, outbox};
use crate::column::{self, Cursor};
use crate::record::approval::{elsewhere, listed};
use crate::row::field;

const READING: &str = "reading an approval";
const WRITING: &str = "writing an approval";
/// The columns of an approval and its run.
const LISTED: &str = "approval_id, approval.tenant_id, run_id, state, requested_at, expires_at, body, title, \
     approval.user_id";

/// Applies the approval changes of an append; `run` is the run's key.
pub(super) fn change(
    connection: &Connection,
    run: i64,
    changes: &[ApprovalChange],
) -> Result<(), StoreError> {
    for change in changes {
        match change {
            ApprovalChange::Ask(record) => ask(connection, run, record)?,
            ApprovalChange::Move(step) => {
                let moved = execute(
                    WRITING,
                    connection,
                    "UPDATE approval SET state = ?3, body = ?4
                     WHERE approval_id = ?1 AND state = ?2 AND run_key = ?5",
                    params![
                        step.approval_id.as_str(),
                        step.from.as_str(),
                        step.to.as_str(),
                        step.body,
                        run
                    ],
                )?;
                if moved == 0 {
                    return Err(elsewhere(&step.approval_id, step.from));
                }
            }
        }
    }
    Ok(())
}

fn ask(connection: &Connection, run: i64, record: &ApprovalRecord) -> Result<(), StoreError> {
    let added = execute(
        WRITING,
        connection,
        "INSERT INTO approval
         (approval_id, run_key, tenant_id, state, requested_at, expires_at, body, user_id)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, (SELECT user_id FROM run WHERE run_key = ?2))
         ON CONFLICT DO NOTHING",
        params![
            record.approval_id.as_str(),
            run,
            record.tenant_id.as_str(),
            record.state.as_str(),
            column::micros(record.requested_at),
            column::micros(record.expires_at),
            record.body
        ],
    )?;
    if added == 0 {
        return Err(StoreError::AlreadyExists {
            what: "approval",
            id: record.approval_id.to_string(),
        });
    }
    Ok(())
}

fn decide(
    connection: &Connection,
    tenant: &TenantId,
    decision: &ApprovalTransition,
    messages: &[NewMessage],
) -> Result<(), StoreError> {
    let run: i64 = row(
        READING,
        connection,
        "SELECT run_key FROM approval WHERE approval_id = ?1 AND tenant_id = ?2",
        [decision.approval_id.as_str(), tenant.as_str()],
        |row| field(row, 0),
    )?
    .ok_or_else(|| StoreError::NotFound {
        what: "approval",
        id: decision.approval_id.to_string(),
    })?;
    change(connection, run, &[ApprovalChange::Move(decision.clone())])?;
    outbox::insert(connection, messages)?;
    wake(connection, run)
}

/// Makes a waiting run runnable.
pub(super) fn wake(connection: &Connection, run: i64) -> Result<(), StoreError> {
    execute(
        "waking a run",
        connection,
        "UPDATE run SET phase = 'runnable', wake_at = NULL,
             status = CASE status WHEN 'paused' THEN status ELSE 'working' END
         WHERE run_key = ?1 AND phase = 'waiting'",
        [run],
    )
    .map(|_| ())
}

/// Whether any of these approvals of a run has been decided.
pub(super) fn any_decided(
    connection: &Connection,
    run: i64,
    approvals: &[ApprovalId],
) -> Result<bool, StoreError> {
    for approval in approvals {
        let decided: Option<()> = row(
            READING,
            connection,
            "SELECT 1 FROM approval WHERE approval_id = ?1 AND run_key = ?2 AND state <> 'pending'",
            params![approval.as_str(), run],
            |_| Ok(()),
        )?;
        if decided.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

fn list(
    connection: &Connection,
    tenant: &TenantId,
    filter: ApprovalFilter<'_>,
    page: &PageRequest,
) -> Result<Page<ListedApproval>, StoreError> {
    let (at, id) = column::after(page)?;
    // Separate statements for all users and for one, so that each uses its index.
    let whose = match filter.user_id {
        Some(_) => "approval.user_id = ?7",
        None => "?7 IS NULL",
    };
    let listed = rows_within(
        "listing approvals",
        connection,
        &format!(
            "SELECT {LISTED} FROM approval JOIN run USING (run_key)
             WHERE approval.tenant_id = ?1 AND (requested_at, approval_id) < (?2, ?3)
               AND (?4 IS NULL OR state = ?4) AND (?5 IS NULL OR run_id = ?5) AND {whose}
             ORDER BY requested_at DESC, approval_id DESC LIMIT ?6"
        ),
        params![
            tenant.as_str(),
            at,
            id,
            filter.state.map(ApprovalState::as_str),
            filter.run_id.map(RunId::as_str),
            column::limit(page.limit() + 1),
            filter.user_id.map(UserId::as_str)
        ],
        listed,
    )?;
    Ok(listed.page(page, |approval| Cursor {
        at: column::micros(approval.record.requested_at),
        id: approval.record.approval_id.to_string(),
    }))
}

#[async_trait]
impl Approvals for SqliteStore {
    async fn approval(
        &self,
        tenant: &TenantId,
        approval: &ApprovalId,
    ) -> Result<Option<ListedApproval>, StoreError> {
        let (tenant, approval) = (tenant.clone(), approval.clone());
        self.read(move |connection| {
            row(
                READING,
                connection,
                &format!(
                    "SELECT {LISTED} FROM approval JOIN run USING (run_key)
                     WHERE approval_id = ?1 AND approval.tenant_id = ?2"
                ),
                [approval.as_str(), tenant.as_str()],
                listed,
            )
        })
        .await
    }

    async fn approvals(
        &self,
        tenant: &TenantId,
        filter: ApprovalFilter<'_>,
        page: &PageRequest,
    ) -> Result<Page<ListedApproval>, StoreError> {
        let (tenant, page) = (tenant.clone(), page.clone());
        let state = filter.state;
        let (run, user) = (filter.run_id.cloned(), filter.user_id.cloned());
        self.read(move |connection| {
            let filter = ApprovalFilter {
                state,
                run_id: run.as_ref(),
                user_id: user.as_ref(),
            };
            list(connection, &tenant, filter, &page)
        })
        .await
    }

    async fn decide_approval(
        &self,
        tenant: &TenantId,
        decision: ApprovalTransition,
        messages: Vec<NewMessage>,
    ) -> Result<(), StoreError> {
        let tenant = tenant.clone();
        self.write(move |connection| decide(connection, &tenant, &decision, &messages))
            .await
    }
}
