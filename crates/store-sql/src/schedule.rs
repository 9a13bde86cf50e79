//! Enabled schedules and their occurrences.

mod occurrence;
mod record;
mod write;

use async_trait::async_trait;
use charter_contract::ids::{HookId, ScheduleId, TenantId, UserId};
use charter_contract::time::Timestamp;
use charter_store::StoreError;
use charter_store::outbox::NewMessage;
use charter_store::page::{Page, PageRequest};
use charter_store::schedule::{
    OccurrenceAdded, OccurrenceChange, OccurrenceRecord, ScheduleChange, ScheduleRecord,
    ScheduleStored, Schedules,
};

use crate::column::{self, Cursor};
use crate::store::{Access, RowScope, SqlEngine, SqlStore, sweep};
use crate::tx::{StatementBuilder, Tx, params, rows_within};

use record::{RECORD, key, record};

const READING: &str = "reading a schedule";

async fn list(
    tx: &mut Tx<'_>,
    tenant: &TenantId,
    user: Option<&UserId>,
    page: &PageRequest,
) -> Result<Page<ScheduleRecord>, StoreError> {
    let (at, id) = column::after(page)?;
    let mut statement = StatementBuilder::new(format!("SELECT {RECORD} FROM schedule WHERE "));
    statement.push("tenant_id = ?", [tenant.as_str().into()]);
    statement.and("(enabled_at, schedule_id) < (?, ?)", [at.into(), id.into()]);
    if let Some(user) = user {
        statement.and("user_id = ?", [user.as_str().into()]);
    }
    let limit = column::limit(page.limit() + 1);
    statement.push(
        " ORDER BY enabled_at DESC, schedule_id DESC LIMIT ?",
        [limit.into()],
    );
    let (sql, values) = statement.whole();
    let listed = rows_within("listing schedules", tx, &sql, &values, record).await?;
    Ok(listed.page(page, |schedule| Cursor {
        at: column::micros(schedule.enabled_at),
        id: schedule.schedule_id.to_string(),
    }))
}

/// Returns the occurrences of a schedule in an unfinished state, oldest first. The state is part of the statement, so
/// that its partial index is used.
async fn open_occurrences<E: SqlEngine>(
    engine: &E,
    (tenant, schedule): (&TenantId, &ScheduleId),
    state: &'static str,
    limit: usize,
) -> Result<Vec<OccurrenceRecord>, StoreError> {
    let sql = format!(
        "{} WHERE tenant_id = $1 AND schedule_id = $2 AND state = '{state}' ORDER BY due_at, occurrence LIMIT $3",
        occurrence::SELECT_LISTED
    );
    let values = params![tenant.as_str(), schedule.as_str(), column::limit(limit)];
    let scope = RowScope::Tenant(tenant);
    let found = engine.rows(scope, occurrence::READING, &sql, values, occurrence::record);
    found.await
}

#[async_trait]
impl<E: SqlEngine> Schedules for SqlStore<E> {
    async fn put_schedule(
        &self,
        schedule: &ScheduleRecord,
        expected: Option<u64>,
        room: usize,
        messages: Vec<NewMessage>,
    ) -> Result<ScheduleStored, StoreError> {
        let count = messages.len();
        let scope = RowScope::Tenant(&schedule.tenant_id);
        let values = (schedule.clone(), messages);
        let stored = self
            .engine
            .run(
                Access::Write,
                scope,
                values,
                move |tx, (schedule, messages)| {
                    Box::pin(write::put(tx, schedule, expected, room, messages))
                },
            )
            .await?;
        self.engine.announce(count);
        Ok(stored)
    }

    async fn schedule(
        &self,
        tenant: &TenantId,
        schedule: &ScheduleId,
    ) -> Result<Option<ScheduleRecord>, StoreError> {
        self.engine
            .row(
                RowScope::Tenant(tenant),
                READING,
                &format!("SELECT {RECORD} FROM schedule WHERE tenant_id = $1 AND schedule_id = $2"),
                params![tenant.as_str(), schedule.as_str()],
                record,
            )
            .await
    }

    async fn schedule_of_hook(&self, hook: &HookId) -> Result<Option<ScheduleRecord>, StoreError> {
        self.engine
            .row(
                RowScope::Everyone,
                READING,
                &format!("SELECT {RECORD} FROM schedule WHERE hook_id = $1"),
                params![hook.as_str()],
                record,
            )
            .await
    }

    async fn schedules(
        &self,
        tenant: &TenantId,
        user: Option<&UserId>,
        page: &PageRequest,
    ) -> Result<Page<ScheduleRecord>, StoreError> {
        let values = (tenant.clone(), user.cloned(), page.clone());
        self.engine
            .run(
                Access::Read,
                RowScope::Tenant(tenant),
                values,
                |tx, (tenant, user, page)| Box::pin(list(tx, tenant, user.as_ref(), page)),
            )
            .await
    }

    async fn finding_triggers(&self, tenant: &TenantId) -> Result<Vec<ScheduleId>, StoreError> {
        let keys = self
            .engine
            .rows(
                RowScope::Tenant(tenant),
                READING,
                "SELECT tenant_id, schedule_id FROM schedule
                 WHERE tenant_id = $1 AND cause = 'finding' AND state = 'active' ORDER BY schedule_id",
                params![tenant.as_str()],
                key,
            )
            .await?;
        Ok(keys.into_iter().map(|(_, schedule)| schedule).collect())
    }

    async fn schedules_due(
        &self,
        now: Timestamp,
        after: Option<(&TenantId, &ScheduleId)>,
        limit: usize,
    ) -> Result<Vec<(TenantId, ScheduleId)>, StoreError> {
        let (tenant, schedule) = after.map_or(("", ""), |(tenant, schedule)| {
            (tenant.as_str(), schedule.as_str())
        });
        self.engine
            .rows(
                RowScope::Everyone,
                "reading due schedules",
                "SELECT tenant_id, schedule_id FROM schedule
                 WHERE (tenant_id, schedule_id) IN (
                     SELECT tenant_id, schedule_id FROM schedule WHERE state = 'active' AND next_at <= $1
                     UNION
                     SELECT tenant_id, schedule_id FROM schedule_occurrence
                     WHERE state IN ('waiting', 'started') AND start_at <= $1)
                   AND (tenant_id, schedule_id) > ($2, $3)
                 ORDER BY tenant_id, schedule_id LIMIT $4",
                params![
                    column::micros(now),
                    tenant,
                    schedule,
                    column::limit(limit)
                ],
                key,
            )
            .await
    }

    async fn change_schedule(
        &self,
        tenant: &TenantId,
        schedule: &ScheduleId,
        changed: &ScheduleChange,
        messages: Vec<NewMessage>,
    ) -> Result<bool, StoreError> {
        let count = messages.len();
        let values = (tenant.clone(), schedule.clone(), changed.clone(), messages);
        let done = self
            .engine
            .run(
                Access::Write,
                RowScope::Tenant(tenant),
                values,
                |tx, (tenant, schedule, changed, messages)| {
                    Box::pin(write::change(tx, (tenant, schedule), changed, messages))
                },
            )
            .await?;
        self.engine.announce(count);
        Ok(done)
    }

    async fn advance_schedule(
        &self,
        tenant: &TenantId,
        schedule: &ScheduleId,
        expected: u64,
        next_at: Option<Timestamp>,
        occurrences: &[OccurrenceRecord],
        room: usize,
    ) -> Result<bool, StoreError> {
        let values = (tenant.clone(), schedule.clone(), occurrences.to_vec());
        self.engine
            .run(
                Access::Write,
                RowScope::Tenant(tenant),
                values,
                move |tx, (tenant, schedule, occurrences)| {
                    Box::pin(write::advance(
                        tx,
                        (tenant, schedule),
                        expected,
                        next_at,
                        occurrences,
                        room,
                    ))
                },
            )
            .await
    }

    async fn delete_schedule(
        &self,
        tenant: &TenantId,
        schedule: &ScheduleId,
        messages: Vec<NewMessage>,
    ) -> Result<bool, StoreError> {
        let count = messages.len();
        let values = (tenant.clone(), schedule.clone(), messages);
        let deleted = self
            .engine
            .run(
                Access::Write,
                RowScope::Tenant(tenant),
                values,
                |tx, (tenant, schedule, messages)| {
                    Box::pin(write::delete(tx, tenant, schedule, messages))
                },
            )
            .await?;
        self.engine.announce(count);
        Ok(deleted)
    }

    async fn add_occurrence(
        &self,
        added: &OccurrenceRecord,
        room: usize,
        messages: Vec<NewMessage>,
    ) -> Result<OccurrenceAdded, StoreError> {
        let count = messages.len();
        let scope = RowScope::Tenant(&added.tenant_id);
        let values = (added.clone(), messages);
        let done = self
            .engine
            .run(
                Access::Write,
                scope,
                values,
                move |tx, (added, messages)| Box::pin(occurrence::add(tx, added, room, messages)),
            )
            .await?;
        self.engine.announce(count);
        Ok(done)
    }

    async fn occurrence(
        &self,
        tenant: &TenantId,
        schedule: &ScheduleId,
        key: &str,
    ) -> Result<Option<OccurrenceRecord>, StoreError> {
        self.engine
            .row(
                RowScope::Tenant(tenant),
                occurrence::READING,
                &format!(
                    "{} WHERE tenant_id = $1 AND schedule_id = $2 AND occurrence = $3",
                    occurrence::SELECT
                ),
                params![tenant.as_str(), schedule.as_str(), key],
                occurrence::record,
            )
            .await
    }

    async fn occurrences(
        &self,
        tenant: &TenantId,
        schedule: &ScheduleId,
        page: &PageRequest,
    ) -> Result<Page<OccurrenceRecord>, StoreError> {
        let (at, id) = column::after(page)?;
        let listed = self
            .engine
            .rows_within(
                RowScope::Tenant(tenant),
                "listing occurrences",
                &format!(
                    "{} WHERE tenant_id = $1 AND schedule_id = $2 AND (due_at, occurrence) < ($3, $4)
                     ORDER BY due_at DESC, occurrence DESC LIMIT $5",
                    occurrence::SELECT_LISTED
                ),
                params![
                    tenant.as_str(),
                    schedule.as_str(),
                    at,
                    id,
                    column::limit(page.limit() + 1)
                ],
                occurrence::record,
            )
            .await?;
        Ok(listed.page(page, |one| Cursor {
            at: column::micros(one.due_at),
            id: one.occurrence.clone(),
        }))
    }

    async fn waiting_occurrences(
        &self,
        tenant: &TenantId,
        schedule: &ScheduleId,
        limit: usize,
    ) -> Result<Vec<OccurrenceRecord>, StoreError> {
        open_occurrences(&self.engine, (tenant, schedule), "waiting", limit).await
    }

    async fn started_occurrences(
        &self,
        tenant: &TenantId,
        schedule: &ScheduleId,
        limit: usize,
    ) -> Result<Vec<OccurrenceRecord>, StoreError> {
        open_occurrences(&self.engine, (tenant, schedule), "started", limit).await
    }

    async fn last_reported(
        &self,
        tenant: &TenantId,
        schedule: &ScheduleId,
    ) -> Result<Option<OccurrenceRecord>, StoreError> {
        self.engine
            .row(
                RowScope::Tenant(tenant),
                occurrence::READING,
                &format!(
                    "{} WHERE tenant_id = $1 AND schedule_id = $2 AND report IS NOT NULL
                     ORDER BY due_at DESC, occurrence DESC LIMIT 1",
                    occurrence::SELECT_REPORT
                ),
                params![tenant.as_str(), schedule.as_str()],
                occurrence::record,
            )
            .await
    }

    async fn change_occurrence(
        &self,
        tenant: &TenantId,
        schedule: &ScheduleId,
        key: &str,
        changed: &OccurrenceChange,
        messages: Vec<NewMessage>,
    ) -> Result<bool, StoreError> {
        let count = messages.len();
        let values = (
            (tenant.clone(), schedule.clone(), key.to_owned()),
            changed.clone(),
            messages,
        );
        let done = self
            .engine
            .run(
                Access::Write,
                RowScope::Tenant(tenant),
                values,
                |tx, (key, changed, messages)| {
                    Box::pin(occurrence::change(tx, key, changed, messages))
                },
            )
            .await?;
        self.engine.announce(count);
        Ok(done)
    }

    async fn sweep_occurrences(&self, before: Timestamp) -> Result<u64, StoreError> {
        sweep(&self.engine, occurrence::SWEEP, column::micros(before)).await
    }
}
