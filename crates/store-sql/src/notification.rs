//! Notifications, and the signatures of requests that were used. A claim sets the time at which a message is due to the
//! end of the claim.

use async_trait::async_trait;
use charter_contract::ids::{Label, TenantId};
use charter_contract::time::Timestamp;
use charter_store::StoreError;
use charter_store::notification::{
    ChannelTenants, ClaimedMessage, MessageOutcome, NewNotification, NotificationClaim,
    NotificationFilter, NotificationRecord, NotificationState, Notifications,
};
use charter_store::page::{Page, PageRequest};

use crate::column::{self, Cursor};
use crate::row::{Columns, field};
use crate::store::{Access, RowScope, SqlEngine, SqlStore, sweep};
use crate::tx::{StatementBuilder, Tx, execute, execute_many, params, row, rows};

const READING: &str = "reading notifications";
const WRITING: &str = "writing a notification";

/// The columns of [`record`].
const RECORD: &str = "tenant_id, notification_id, channel, topic, digest, state, created_at, due_at, attempts, \
     message_id, settled_at, detail, body";

fn record(row: &dyn Columns) -> Result<NotificationRecord, StoreError> {
    let digest: String = field(row, 4)?;
    let state: &str = field(row, 5)?;
    let settled_at: Option<i64> = field(row, 10)?;
    let state = NotificationState::parse(state).ok_or_else(|| StoreError::Corrupt {
        what: "state of a notification",
        id: state.to_owned(),
        detail: "unknown word".to_owned(),
    })?;
    Ok(NotificationRecord {
        notification: NewNotification {
            tenant_id: column::parse("tenant id", field(row, 0)?)?,
            notification_id: column::parse("notification id", field(row, 1)?)?,
            channel: column::parse("name of a channel", field(row, 2)?)?,
            topic: column::parse("topic of a notification", field(row, 3)?)?,
            digest: (!digest.is_empty()).then_some(digest),
            created_at: column::parse_micros(field(row, 6)?)?,
            due_at: column::parse_micros(field(row, 7)?)?,
            body: field(row, 12)?,
        },
        state,
        attempts: column::parse_integer("number of attempts", field(row, 8)?)?,
        message_id: field(row, 9)?,
        settled_at: settled_at.map(column::parse_micros).transpose()?,
        detail: field(row, 11)?,
    })
}

/// Moves the position, if it is the expected one.
async fn advance(tx: &mut Tx<'_>, from: Option<u64>, to: u64) -> Result<(), StoreError> {
    let to = column::integer("message id", to)?;
    let moved = match from {
        None => {
            let sql = "INSERT INTO notification_position (only_row, message_id) VALUES (1, $1)
                       ON CONFLICT DO NOTHING";
            execute(WRITING, tx, sql, params![to]).await?
        }
        Some(from) => {
            let sql = "UPDATE notification_position SET message_id = $2
                       WHERE only_row = 1 AND message_id = $1";
            let from = column::integer("message id", from)?;
            execute(WRITING, tx, sql, params![from, to]).await?
        }
    };
    if moved == 0 {
        return Err(StoreError::Refused {
            what: "position of notifications",
            id: to.to_string(),
            detail: "another process wrote the notifications of these messages".to_owned(),
        });
    }
    Ok(())
}

async fn put(
    tx: &mut Tx<'_>,
    (from, to): (Option<u64>, u64),
    new: &[NewNotification],
) -> Result<(), StoreError> {
    advance(tx, from, to).await?;
    let mut rows = Vec::with_capacity(new.len());
    for one in new {
        let values = params![
            one.tenant_id.as_str(),
            one.notification_id.as_str(),
            one.channel.as_str(),
            one.topic.as_str(),
            one.digest.as_deref().unwrap_or(""),
            column::micros(one.created_at),
            column::micros(one.due_at),
            &one.body
        ];
        rows.push(values.to_vec());
    }
    execute_many(
        WRITING,
        tx,
        "INSERT INTO notification
             (tenant_id, notification_id, channel, topic, digest, state, created_at, due_at, attempts, body)
         VALUES ($1, $2, $3, $4, $5, 'pending', $6, $7, 0, $8)
         ON CONFLICT (tenant_id, notification_id) DO NOTHING",
        &rows,
    )
    .await
    .map(|_| ())
}

/// The notification that has been due longest.
struct DueNotification {
    tenant: String,
    notification: String,
    channel: String,
    digest: String,
    message: Option<String>,
}

async fn due(
    tx: &mut Tx<'_>,
    claim: &NotificationClaim,
) -> Result<Option<DueNotification>, StoreError> {
    let (lock, of_tenants) = (
        tx.dialect().for_update_of_free_rows(),
        tx.dialect().one_of("?"),
    );
    let mut statement = StatementBuilder::new(
        "SELECT tenant_id, notification_id, channel, digest, message_id FROM notification WHERE "
            .to_owned(),
    );
    let now = column::micros(claim.now);
    statement.push("state = 'pending' AND due_at <= ?", [now.into()]);
    for busy in &claim.busy {
        let channel = busy.channel.as_str().into();
        match &busy.tenants {
            ChannelTenants::Only(tenant) => {
                let condition = "NOT (channel = ? AND tenant_id = ?)";
                statement.and(condition, [channel, tenant.as_str().into()]);
            }
            ChannelTenants::AllExcept(tenants) => {
                let tenants: Vec<&str> = tenants.iter().map(TenantId::as_str).collect();
                let condition = format!("NOT (channel = ? AND NOT (tenant_id {of_tenants}))");
                statement.and(&condition, [channel, tenants.into()]);
            }
        }
    }
    let order = format!(" ORDER BY due_at, tenant_id, notification_id LIMIT 1{lock}");
    statement.push(&order, []);
    let (sql, values) = statement.whole();
    row(READING, tx, &sql, &values, |row| {
        Ok(DueNotification {
            tenant: field(row, 0)?,
            notification: field(row, 1)?,
            channel: field(row, 2)?,
            digest: field(row, 3)?,
            message: field(row, 4)?,
        })
    })
    .await
}

/// Claims the rows of the message of a due notification, or makes the message.
async fn take(
    tx: &mut Tx<'_>,
    claim: &NotificationClaim,
    due: &DueNotification,
    message: &str,
) -> Result<u64, StoreError> {
    let (now, until) = (column::micros(claim.now), column::micros(claim.until));
    let (tenant, holder) = (due.tenant.as_str(), claim.holder.as_str());
    if due.message.is_some() {
        let sql = "UPDATE notification SET due_at = $4, claimed_by = $5
                   WHERE tenant_id = $1 AND message_id = $2 AND state = 'pending' AND due_at <= $3";
        let values = params![tenant, message, now, until, holder];
        return execute(WRITING, tx, sql, values).await;
    }
    if due.digest.is_empty() {
        let sql = "UPDATE notification SET due_at = $4, claimed_by = $5, message_id = $6
                   WHERE tenant_id = $1 AND notification_id = $2 AND state = 'pending' AND due_at <= $3
                     AND message_id IS NULL";
        let values = params![
            tenant,
            due.notification.as_str(),
            now,
            until,
            holder,
            message
        ];
        return execute(WRITING, tx, sql, values).await;
    }
    let sql = "UPDATE notification SET due_at = $5, claimed_by = $6, message_id = $7
               WHERE tenant_id = $1 AND notification_id IN (
                   SELECT notification_id FROM notification
                   WHERE tenant_id = $1 AND channel = $2 AND digest = $3 AND state = 'pending' AND due_at <= $4
                     AND message_id IS NULL
                   ORDER BY created_at, notification_id LIMIT $8)
                 AND state = 'pending' AND due_at <= $4 AND message_id IS NULL";
    let values = params![
        tenant,
        due.channel.as_str(),
        due.digest.as_str(),
        now,
        until,
        holder,
        message,
        column::limit(claim.most)
    ];
    execute(WRITING, tx, sql, values).await
}

async fn claim(
    tx: &mut Tx<'_>,
    claim: &NotificationClaim,
) -> Result<Option<ClaimedMessage>, StoreError> {
    let Some(due) = due(tx, claim).await? else {
        return Ok(None);
    };
    let message = due.message.as_deref().unwrap_or(&claim.message_id);
    if take(tx, claim, &due, message).await? == 0 {
        return Ok(None);
    }
    let sql = format!(
        "SELECT {RECORD} FROM notification WHERE tenant_id = $1 AND message_id = $2 AND claimed_by = $3
         ORDER BY created_at, notification_id"
    );
    let values = params![due.tenant.as_str(), message, claim.holder.as_str()];
    let notifications = rows(READING, tx, &sql, values, record).await?;
    Ok(Some(ClaimedMessage {
        message_id: message.to_owned(),
        tenant_id: column::parse("tenant id", &due.tenant)?,
        channel: column::parse("name of a channel", &due.channel)?,
        notifications,
    }))
}

#[async_trait]
impl<E: SqlEngine> Notifications for SqlStore<E> {
    async fn notification_position(&self) -> Result<Option<u64>, StoreError> {
        let found: Option<i64> = self
            .engine
            .row(
                RowScope::Everyone,
                READING,
                "SELECT message_id FROM notification_position WHERE only_row = 1",
                params![],
                |row| field(row, 0),
            )
            .await?;
        found
            .map(|id| column::parse_integer("message id", id))
            .transpose()
    }

    async fn put_notifications(
        &self,
        from: Option<u64>,
        to: u64,
        new: Vec<NewNotification>,
    ) -> Result<(), StoreError> {
        self.engine
            .run(Access::Write, RowScope::Everyone, new, move |tx, new| {
                Box::pin(put(tx, (from, to), new))
            })
            .await
    }

    async fn claim_message(
        &self,
        wanted: &NotificationClaim,
    ) -> Result<Option<ClaimedMessage>, StoreError> {
        self.engine
            .run(
                Access::Write,
                RowScope::Everyone,
                wanted.clone(),
                |tx, wanted| Box::pin(claim(tx, wanted)),
            )
            .await
    }

    async fn settle_message(
        &self,
        claimed: &ClaimedMessage,
        holder: &str,
        outcome: &MessageOutcome,
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        use NotificationState::{Delivered, Failed, Pending, Skipped};
        let (state, attempts, due_at, detail) = match outcome {
            MessageOutcome::Delivered => (Delivered, 1_i64, at, None),
            MessageOutcome::Skipped(why) => (Skipped, 0, at, Some(why.as_str())),
            MessageOutcome::Failed(why) => (Failed, 1, at, Some(why.as_str())),
            MessageOutcome::Retry(due_at, why) => (Pending, 1, *due_at, Some(why.as_str())),
            MessageOutcome::Postponed(due_at) => (Pending, 0, *due_at, None),
        };
        let settled_at = (state != Pending).then(|| column::micros(at));
        let changed = self
            .engine
            .execute(
                RowScope::Tenant(&claimed.tenant_id),
                WRITING,
                "UPDATE notification SET state = $4, attempts = attempts + $5, due_at = $6, settled_at = $7,
                     detail = $8, claimed_by = NULL
                 WHERE tenant_id = $1 AND message_id = $2 AND claimed_by = $3 AND state = 'pending'",
                params![
                    claimed.tenant_id.as_str(),
                    claimed.message_id.as_str(),
                    holder,
                    state.as_str(),
                    attempts,
                    column::micros(due_at),
                    settled_at,
                    detail
                ],
            )
            .await?;
        Ok(changed > 0)
    }

    async fn notifications(
        &self,
        tenant: &TenantId,
        filter: NotificationFilter<'_>,
        page: &PageRequest,
    ) -> Result<Page<NotificationRecord>, StoreError> {
        let (at, id) = column::after(page)?;
        let mut listing =
            StatementBuilder::new(format!("SELECT {RECORD} FROM notification WHERE "));
        listing.push("tenant_id = ?", [tenant.as_str().into()]);
        listing.and(
            "(created_at, notification_id) < (?, ?)",
            [at.into(), id.into()],
        );
        if let Some(state) = filter.state {
            listing.and("state = ?", [state.as_str().into()]);
        }
        if let Some(channel) = filter.channel.map(Label::as_str) {
            listing.and("channel = ?", [channel.into()]);
        }
        listing.push(
            " ORDER BY created_at DESC, notification_id DESC LIMIT ?",
            [column::limit(page.limit() + 1).into()],
        );
        let (sql, values) = listing.whole();
        let scope = RowScope::Tenant(tenant);
        let found = self
            .engine
            .rows_within(scope, "listing notifications", &sql, &values, record)
            .await?;
        Ok(found.page(page, |found| Cursor {
            at: column::micros(found.notification.created_at),
            id: found.notification.notification_id.to_string(),
        }))
    }

    async fn sweep_notifications(&self, before: Timestamp) -> Result<u64, StoreError> {
        sweep(
            &self.engine,
            "DELETE FROM notification WHERE (tenant_id, notification_id) IN
             (SELECT tenant_id, notification_id FROM notification
              WHERE settled_at < $1 ORDER BY settled_at LIMIT $2)",
            column::micros(before),
        )
        .await
    }

    async fn use_signature(
        &self,
        tenant: &TenantId,
        signature: &str,
        expires_at: Timestamp,
    ) -> Result<bool, StoreError> {
        let added = self
            .engine
            .execute(
                RowScope::Tenant(tenant),
                "writing a used signature",
                "INSERT INTO used_signature (tenant_id, signature, expires_at) VALUES ($1, $2, $3)
                 ON CONFLICT (tenant_id, signature) DO NOTHING",
                params![tenant.as_str(), signature, column::micros(expires_at)],
            )
            .await?;
        Ok(added > 0)
    }

    async fn sweep_signatures(&self, now: Timestamp) -> Result<u64, StoreError> {
        sweep(
            &self.engine,
            "DELETE FROM used_signature WHERE (tenant_id, signature) IN
             (SELECT tenant_id, signature FROM used_signature
              WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2)",
            column::micros(now),
        )
        .await
    }
}
