//! Approvals. A trigger prevents a record from moving backwards. Appends and decisions both lock the run's row before
//! any of its approvals.

mod calls;

use async_trait::async_trait;
use charter_contract::catalogue::evidence::EvidenceRecord;
use charter_contract::ids::{ApprovalId, RunId, TenantId, UserId};
use charter_store::StoreError;
use charter_store::approval::{
    ApprovalChange, ApprovalFilter, ApprovalRecord, ApprovalState, ApprovalTransition, Approvals,
    CallRegistration, ListedApproval, PendingCalls,
};
use charter_store::outbox::NewMessage;
use charter_store::page::{Page, PageRequest};

use crate::column::{self, Cursor};
use crate::evidence_log::Log;
use crate::row::{Columns, field};
use crate::store::{Access, RowScope, SqlEngine, SqlStore};
use crate::tx::{Tx, execute, execute_many, params, row};
use crate::{evidence, outbox};

const READING: &str = "reading an approval";
const WRITING: &str = "writing an approval";

/// The columns of [`listed`]. The title of the run is looked up only for the rows of a page.
const LISTED: &str = "approval_id, tenant_id, run_id, state, requested_at, expires_at, body, \
     (SELECT title FROM run WHERE run.tenant_id = approval.tenant_id AND run.run_id = approval.run_id), user_id";

/// Reads [`LISTED`].
fn listed(row: &dyn Columns) -> Result<ListedApproval, StoreError> {
    let record = ApprovalRecord {
        approval_id: column::parse("approval id", field(row, 0)?)?,
        tenant_id: column::parse("tenant id", field(row, 1)?)?,
        run_id: column::parse("run id", field(row, 2)?)?,
        state: column::parse_approval_state(field(row, 3)?)?,
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

/// Applies the approval changes of an append to the tenant's run.
pub(crate) async fn change(
    tx: &mut Tx<'_>,
    (tenant, run): (&str, &str),
    changes: &[ApprovalChange],
) -> Result<(), StoreError> {
    for change in changes {
        match change {
            ApprovalChange::Ask(record) => ask(tx, run, record).await?,
            ApprovalChange::Move(step) => advance(tx, (tenant, run), step).await?,
        }
    }
    Ok(())
}

async fn ask(tx: &mut Tx<'_>, run: &str, record: &ApprovalRecord) -> Result<(), StoreError> {
    let added = execute(
        WRITING,
        tx,
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
            &record.body
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

async fn advance(
    tx: &mut Tx<'_>,
    (tenant, run): (&str, &str),
    step: &ApprovalTransition,
) -> Result<(), StoreError> {
    let update = "UPDATE approval SET state = $4, body = $5
         WHERE tenant_id = $1 AND approval_id = $2 AND state = $3 AND run_id = $6";
    let mut values = params![
        tenant,
        step.approval_id.as_str(),
        step.from.as_str(),
        step.to.as_str(),
        &step.body,
        run
    ]
    .to_vec();
    let moved = match &step.expected_body {
        Some(expected) => {
            values.push(expected.into());
            let update = format!("{update} AND body = $7");
            execute(WRITING, tx, &update, &values).await?
        }
        None => execute(WRITING, tx, update, &values).await?,
    };
    if moved == 0 {
        return Err(StoreError::Refused {
            what: "approval",
            id: step.approval_id.to_string(),
            detail: format!(
                "it is no longer {}, or was changed meanwhile",
                step.from.as_str()
            ),
        });
    }
    Ok(())
}

/// Makes waiting runs runnable of which any of the given approvals has been decided.
pub(crate) async fn wake_decided(
    tx: &mut Tx<'_>,
    waits: &[(&str, &str, &[ApprovalId])],
) -> Result<(), StoreError> {
    let mut values = Vec::with_capacity(waits.len());
    for (tenant, run, approvals) in waits {
        let approvals: Vec<&str> = approvals.iter().map(ApprovalId::as_str).collect();
        if !approvals.is_empty() {
            values.push(params![*tenant, *run, approvals].to_vec());
        }
    }
    let sql = format!(
        "UPDATE run SET phase = 'runnable', wake_at = NULL,
             status = CASE status WHEN 'paused' THEN status ELSE 'working' END
         WHERE tenant_id = $1 AND run_id = $2 AND phase = 'waiting'
           AND EXISTS (SELECT 1 FROM approval WHERE approval.tenant_id = $1 AND approval.run_id = $2
                       AND approval_id {} AND state <> 'pending')",
        tx.dialect().one_of("$3")
    );
    let woken = execute_many("waking a run", tx, &sql, &values).await;
    woken.map(|_| ())
}

async fn decide(
    tx: &mut Tx<'_>,
    tenant: &TenantId,
    decision: &ApprovalTransition,
    (records, messages): (&[EvidenceRecord], &[NewMessage]),
) -> Result<(), StoreError> {
    // Locked before the run, as the erasure of a tenant does.
    let mut log = match records {
        [] => None,
        _ => Some(Log::hold(tx, tenant).await?),
    };
    let approval = &decision.approval_id;
    let run_of = format!(
        "SELECT run_id FROM run WHERE tenant_id = $1 AND run_id =
             (SELECT run_id FROM approval WHERE tenant_id = $1 AND approval_id = $2){}",
        tx.dialect().for_update()
    );
    let values = params![tenant.as_str(), approval.as_str()];
    let run: Option<String> = row(READING, tx, &run_of, values, |row| field(row, 0)).await?;
    let run = run.ok_or_else(|| StoreError::NotFound {
        what: "approval",
        id: approval.to_string(),
    })?;
    advance(tx, (tenant.as_str(), run.as_str()), decision).await?;
    if let Some(log) = &mut log {
        evidence::add(tx, tenant, records, log).await?;
    }
    outbox::insert(tx, messages).await?;
    let decided = std::slice::from_ref(approval);
    wake_decided(tx, &[(tenant.as_str(), run.as_str(), decided)]).await
}

#[async_trait]
impl<E: SqlEngine> Approvals for SqlStore<E> {
    async fn approval(
        &self,
        tenant: &TenantId,
        approval: &ApprovalId,
    ) -> Result<Option<ListedApproval>, StoreError> {
        let sql =
            format!("SELECT {LISTED} FROM approval WHERE tenant_id = $1 AND approval_id = $2");
        let values = params![tenant.as_str(), approval.as_str()];
        self.engine
            .row(RowScope::Tenant(tenant), READING, &sql, values, listed)
            .await
    }

    async fn approvals(
        &self,
        tenant: &TenantId,
        filter: ApprovalFilter<'_>,
        page: &PageRequest,
    ) -> Result<Page<ListedApproval>, StoreError> {
        let (at, id) = column::after(page)?;
        // Each combination of filters has its own statement, so that each uses its index for all values.
        let condition = |column: &str, placeholder: &str, is_given: bool| match is_given {
            true => format!("{column} = {placeholder}"),
            false => format!("CAST({placeholder} AS text) IS NULL"),
        };
        let sql = format!(
            "SELECT {LISTED} FROM approval
             WHERE tenant_id = $1 AND (requested_at, approval_id) < ($2, $3) AND {} AND {} AND {}
             ORDER BY requested_at DESC, approval_id DESC LIMIT $7",
            condition("state", "$4", filter.state.is_some()),
            condition("run_id", "$5", filter.run_id.is_some()),
            condition("user_id", "$6", filter.user_id.is_some())
        );
        let values = params![
            tenant.as_str(),
            at,
            id,
            filter.state.map(ApprovalState::as_str),
            filter.run_id.map(RunId::as_str),
            filter.user_id.map(UserId::as_str),
            column::limit(page.limit() + 1)
        ];
        let scope = RowScope::Tenant(tenant);
        let found = self
            .engine
            .rows_within(scope, "listing approvals", &sql, values, listed)
            .await?;
        Ok(found.page(page, |approval| Cursor {
            at: column::micros(approval.record.requested_at),
            id: approval.record.approval_id.to_string(),
        }))
    }

    async fn decide_approval(
        &self,
        tenant: &TenantId,
        decision: ApprovalTransition,
        evidence: Vec<EvidenceRecord>,
        messages: Vec<NewMessage>,
    ) -> Result<(), StoreError> {
        let count = messages.len();
        let values = (tenant.clone(), decision, (evidence, messages));
        let scope = RowScope::Tenant(tenant);
        self.engine
            .run(
                Access::Write,
                scope,
                values,
                |tx, (tenant, decision, (evidence, messages))| {
                    let written = (evidence.as_slice(), messages.as_slice());
                    Box::pin(decide(tx, tenant, decision, written))
                },
            )
            .await?;
        self.engine.announce(count);
        Ok(())
    }

    async fn register_calls(
        &self,
        tenant: &TenantId,
        registration: CallRegistration,
    ) -> Result<Option<PendingCalls>, StoreError> {
        let values = (tenant.clone(), registration);
        let scope = RowScope::Tenant(tenant);
        self.engine
            .run(
                Access::Write,
                scope,
                values,
                |tx, (tenant, registration)| Box::pin(calls::register(tx, tenant, registration)),
            )
            .await
    }

    async fn is_call_pending(
        &self,
        tenant: &TenantId,
        run: &RunId,
        other: &RunId,
    ) -> Result<bool, StoreError> {
        let values = (tenant.clone(), run.clone(), other.clone());
        let scope = RowScope::Tenant(tenant);
        self.engine
            .run(Access::Read, scope, values, |tx, (tenant, run, other)| {
                Box::pin(calls::is_pending(tx, tenant, run, other))
            })
            .await
    }

    async fn release_calls(
        &self,
        tenant: &TenantId,
        run: &RunId,
    ) -> Result<Vec<RunId>, StoreError> {
        let values = (tenant.clone(), run.clone());
        let scope = RowScope::Tenant(tenant);
        self.engine
            .run(Access::Write, scope, values, |tx, (tenant, run)| {
                Box::pin(calls::release(tx, tenant, run))
            })
            .await
    }
}
