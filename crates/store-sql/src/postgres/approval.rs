//! Approvals in PostgreSQL. A trigger prevents a record from moving backwards. Appends and decisions both lock the
//! run's row before any of its approvals.

use async_trait::async_trait;
use charter_contract::ids::{ApprovalId, RunId, TenantId, UserId};
use charter_store::StoreError;
use charter_store::approval::{
    ApprovalChange, ApprovalFilter, ApprovalRecord, ApprovalState, ApprovalTransition, Approvals,
    ListedApproval,
};
use charter_store::outbox::NewMessage;
use charter_store::page::{Page, PageRequest};
use deadpool_postgres::Transaction;

use super::connection::{RowScope, in_transaction};
use super::statement::{execute, params, row, rows_within};
use super::{PostgresStore, outbox};
use crate::column::{self, Cursor};
use crate::record::approval::{elsewhere, listed};
use crate::row::field;

const READING: &str = "reading an approval";
/// The title of an approval's run, looked up only for the rows of a page.
const TITLE: &str = "(SELECT title FROM run WHERE run.tenant_id = approval.tenant_id AND run.run_id = approval.run_id)";
const WRITING: &str = "writing an approval";
/// The columns of an approval, without its owner.
const LISTED: &str = "approval_id, tenant_id, run_id, state, requested_at, expires_at, body";

/// Applies the approval changes of an append to the tenant's run.
pub(super) async fn change(
    connection: &Transaction<'_>,
    tenant: &str,
    run: &str,
    changes: &[ApprovalChange],
) -> Result<(), StoreError> {
    for change in changes {
        match change {
            ApprovalChange::Ask(record) => ask(connection, run, record).await?,
            ApprovalChange::Move(step) => {
                let moved = execute(
                    WRITING,
                    connection,
                    "UPDATE approval SET state = $4, body = $5
                     WHERE tenant_id = $1 AND approval_id = $2 AND state = $3 AND run_id = $6",
                    params![
                        tenant,
                        step.approval_id.as_str(),
                        step.from.as_str(),
                        step.to.as_str(),
                        step.body,
                        run
                    ],
                )
                .await?;
                if moved == 0 {
                    return Err(elsewhere(&step.approval_id, step.from));
                }
            }
        }
    }
    Ok(())
}

async fn ask(
    connection: &Transaction<'_>,
    run: &str,
    record: &ApprovalRecord,
) -> Result<(), StoreError> {
    let added = execute(
        WRITING,
        connection,
        "INSERT INTO approval
         (tenant_id, approval_id, run_id, state, requested_at, expires_at, body, user_id)
         VALUES ($1, $2, $3, $4, $5, $6, $7,
                 coalesce((SELECT user_id FROM run WHERE tenant_id = $1 AND run_id = $3), ''))
         ON CONFLICT DO NOTHING",
        params![
            record.tenant_id.as_str(),
            record.approval_id.as_str(),
            run,
            record.state.as_str(),
            column::micros(record.requested_at),
            column::micros(record.expires_at),
            record.body
        ],
    )
    .await?;
    if added == 0 {
        return Err(StoreError::AlreadyExists {
            what: "approval",
            id: record.approval_id.to_string(),
        });
    }
    Ok(())
}

async fn decide(
    connection: &Transaction<'_>,
    tenant: &TenantId,
    decision: &ApprovalTransition,
    messages: &[NewMessage],
) -> Result<(), StoreError> {
    let run: String = row(
        READING,
        connection,
        "SELECT run.run_id FROM run JOIN approval USING (tenant_id, run_id)
         WHERE tenant_id = $1 AND approval_id = $2 FOR UPDATE OF run",
        params![tenant.as_str(), decision.approval_id.as_str()],
        |row| field(row, 0),
    )
    .await?
    .ok_or_else(|| StoreError::NotFound {
        what: "approval",
        id: decision.approval_id.to_string(),
    })?;
    let step = [ApprovalChange::Move(decision.clone())];
    change(connection, tenant.as_str(), &run, &step).await?;
    outbox::insert(connection, messages).await?;
    wake(connection, tenant.as_str(), &run).await
}

/// Makes a waiting run runnable.
pub(super) async fn wake(
    connection: &Transaction<'_>,
    tenant: &str,
    run: &str,
) -> Result<(), StoreError> {
    execute(
        "waking a run",
        connection,
        "UPDATE run SET phase = 'runnable', wake_at = NULL,
             status = CASE status WHEN 'paused' THEN status ELSE 'working' END
         WHERE tenant_id = $1 AND run_id = $2 AND phase = 'waiting'",
        params![tenant, run],
    )
    .await
    .map(|_| ())
}

/// Whether any of these approvals of a run has been decided.
pub(super) async fn any_decided(
    connection: &Transaction<'_>,
    tenant: &str,
    run: &str,
    approvals: &[ApprovalId],
) -> Result<bool, StoreError> {
    let approvals: Vec<&str> = approvals.iter().map(ApprovalId::as_str).collect();
    let decided: Option<bool> = row(
        READING,
        connection,
        "SELECT EXISTS (SELECT FROM approval WHERE tenant_id = $1 AND run_id = $2
                        AND approval_id = ANY ($3) AND state <> 'pending')",
        params![tenant, run, approvals],
        |row| field(row, 0),
    )
    .await?;
    Ok(decided.unwrap_or(false))
}

#[async_trait]
impl Approvals for PostgresStore {
    async fn approval(
        &self,
        tenant: &TenantId,
        approval: &ApprovalId,
    ) -> Result<Option<ListedApproval>, StoreError> {
        let client = self.client(RowScope::Tenant(tenant)).await?;
        row(
            READING,
            &client,
            &format!(
                "SELECT {LISTED}, {TITLE}, user_id
                 FROM approval WHERE tenant_id = $1 AND approval_id = $2"
            ),
            params![tenant.as_str(), approval.as_str()],
            listed,
        )
        .await
    }

    async fn approvals(
        &self,
        tenant: &TenantId,
        filter: ApprovalFilter<'_>,
        page: &PageRequest,
    ) -> Result<Page<ListedApproval>, StoreError> {
        let (at, id) = column::after(page)?;
        // A separate statement for each combination, so that each uses its index for all values.
        let state = match filter.state {
            Some(_) => "state = $4",
            None => "$4::text IS NULL",
        };
        let run = match filter.run_id {
            Some(_) => "run_id = $5",
            None => "$5::text IS NULL",
        };
        let whose = match filter.user_id {
            Some(_) => "user_id = $7",
            None => "$7::text IS NULL",
        };
        let client = self.client(RowScope::Tenant(tenant)).await?;
        let listed = rows_within(
            "listing approvals",
            &client,
            &format!(
                "SELECT {LISTED}, {TITLE}, user_id
                 FROM approval
                 WHERE tenant_id = $1 AND (requested_at, approval_id) < ($2, $3)
                   AND {state} AND {run} AND {whose}
                 ORDER BY requested_at DESC, approval_id DESC LIMIT $6"
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
        )
        .await?;
        Ok(listed.page(page, |approval| Cursor {
            at: column::micros(approval.record.requested_at),
            id: approval.record.approval_id.to_string(),
        }))
    }

    async fn decide_approval(
        &self,
        tenant: &TenantId,
        decision: ApprovalTransition,
        messages: Vec<NewMessage>,
    ) -> Result<(), StoreError> {
        let decided = in_transaction!(self, RowScope::Tenant(tenant), tx => decide(&tx, tenant, &decision, &messages))?;
        self.announce(messages.len());
        Ok(decided)
    }
}
