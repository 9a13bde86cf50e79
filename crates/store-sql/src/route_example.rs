//! Route examples. A trigger prevents an example from moving backwards.

use async_trait::async_trait;
use charter_contract::ids::{DocumentId, RequestId, RouteExampleId, TenantId};
use charter_contract::route_example::{ExampleStatus, RoutedKind};
use charter_store::StoreError;
use charter_store::outbox::NewMessage;
use charter_store::page::{Page, PageRequest};
use charter_store::route_example::{
    ExampleFilter, ExampleMove, ExampleRoom, OwnerDecision, RouteExampleRecord, RouteExamples,
    Suggested,
};

use crate::column::{self, Cursor};
use crate::outbox;
use crate::row::{Columns, field};
use crate::store::{Access, RowScope, SqlEngine, SqlStore};
use crate::tx::{Dialect, Tx, execute, params, row};

const READING: &str = "reading a route example";
const WRITING: &str = "writing a route example";

/// The columns of [`record`].
const RECORD: &str = "tenant_id, example_id, kind, document, text, words, source, request_id, status, \
     suggested_at, decided_at, decided_by";

fn record(row: &dyn Columns) -> Result<RouteExampleRecord, StoreError> {
    let request: Option<&str> = field(row, 7)?;
    let (at, by): (Option<i64>, Option<&str>) = (field(row, 10)?, field(row, 11)?);
    let decided = match (at, by) {
        (Some(at), Some(by)) => Some(OwnerDecision {
            by: column::parse("user id", by)?,
            at: column::parse_micros(at)?,
        }),
        (None, _) | (_, None) => None,
    };
    Ok(RouteExampleRecord {
        tenant_id: column::parse("tenant id", field(row, 0)?)?,
        example_id: column::parse("route example id", field(row, 1)?)?,
        kind: column::parse("kind of a route example", field(row, 2)?)?,
        document: column::parse("document of a route example", field(row, 3)?)?,
        text: field(row, 4)?,
        words: field(row, 5)?,
        source: column::parse("source of a route example", field(row, 6)?)?,
        request_id: request
            .map(|id| column::parse("request id", id))
            .transpose()?,
        status: column::parse("status of a route example", field(row, 8)?)?,
        suggested_at: column::parse_micros(field(row, 9)?)?,
        decided,
    })
}

async fn suggest(
    tx: &mut Tx<'_>,
    example: &RouteExampleRecord,
    room: ExampleRoom,
) -> Result<Suggested, StoreError> {
    let (tenant, document) = (example.tenant_id.as_str(), example.document.as_str());
    if tx.dialect() == Dialect::Postgres {
        // Serialises the suggestions of one tenant, so that concurrent ones keep to the limits.
        let lock = "SELECT pg_advisory_xact_lock(hashtextextended('route_example ' || CAST($1 AS text), 0))";
        execute(WRITING, tx, lock, params![tenant]).await?;
    }
    // Without an order SQLite would read all examples of the tenant.
    let full = row(
        READING,
        tx,
        "SELECT (SELECT count(*) FROM (SELECT 1 FROM route_example
                 WHERE tenant_id = $1 AND document = $2 AND kind = $3 AND status = 'suggested'
                 ORDER BY suggested_at LIMIT $4) AS of_document) >= $4,
                (SELECT count(*) FROM (SELECT 1 FROM route_example
                 WHERE tenant_id = $1 AND status = 'suggested' LIMIT $5) AS of_tenant) >= $5",
        params![
            tenant,
            document,
            example.kind.as_str(),
            column::limit(room.document),
            column::limit(room.tenant)
        ],
        |row| Ok((field::<bool>(row, 0)?, field::<bool>(row, 1)?)),
    )
    .await?;
    match full {
        Some((true, _)) => return Ok(Suggested::DocumentFull),
        Some((false, true)) => return Ok(Suggested::TenantFull),
        Some((false, false)) | None => {}
    }
    let added = execute(
        WRITING,
        tx,
        "INSERT INTO route_example (tenant_id, example_id, kind, document, text, words, source, request_id,
                                    status, suggested_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 'suggested', $9) ON CONFLICT DO NOTHING",
        params![
            tenant,
            example.example_id.as_str(),
            example.kind.as_str(),
            document,
            &example.text,
            &example.words,
            example.source.as_str(),
            example.request_id.as_ref().map(RequestId::as_str),
            column::micros(example.suggested_at)
        ],
    )
    .await?;
    Ok(match added {
        0 => Suggested::Known,
        _ => Suggested::Kept,
    })
}

async fn find(
    tx: &mut Tx<'_>,
    tenant: &TenantId,
    example: &RouteExampleId,
) -> Result<Option<RouteExampleRecord>, StoreError> {
    let sql =
        format!("SELECT {RECORD} FROM route_example WHERE tenant_id = $1 AND example_id = $2");
    let values = params![tenant.as_str(), example.as_str()];
    row(READING, tx, &sql, values, record).await
}

async fn change(
    tx: &mut Tx<'_>,
    tenant: &TenantId,
    step: &ExampleMove,
    messages: &[NewMessage],
) -> Result<(), StoreError> {
    if [step.from, step.to].contains(&ExampleStatus::Accepted) {
        // Locks in the order of registration and tenant erasure, to avoid deadlocks.
        let raise = "UPDATE catalogue SET revision = revision + 1";
        execute(WRITING, tx, raise, params![]).await?;
    }
    let moved = execute(
        WRITING,
        tx,
        "UPDATE route_example SET status = $4, decided_at = $5, decided_by = $6
         WHERE tenant_id = $1 AND example_id = $2 AND status = $3",
        params![
            tenant.as_str(),
            step.example_id.as_str(),
            step.from.as_str(),
            step.to.as_str(),
            column::micros(step.decided.at),
            step.decided.by.as_str()
        ],
    )
    .await?;
    if moved > 0 {
        return outbox::insert(tx, messages).await;
    }
    let (what, id) = ("route example", step.example_id.to_string());
    Err(match find(tx, tenant, &step.example_id).await? {
        Some(found) => StoreError::Refused {
            what,
            id,
            detail: format!("it is {}", found.status),
        },
        None => StoreError::NotFound { what, id },
    })
}

#[async_trait]
impl<E: SqlEngine> RouteExamples for SqlStore<E> {
    async fn suggest_example(
        &self,
        example: &RouteExampleRecord,
        room: ExampleRoom,
    ) -> Result<Suggested, StoreError> {
        let scope = RowScope::Tenant(&example.tenant_id);
        self.engine
            .run(Access::Write, scope, example.clone(), move |tx, example| {
                Box::pin(suggest(tx, example, room))
            })
            .await
    }

    async fn route_example(
        &self,
        tenant: &TenantId,
        example: &RouteExampleId,
    ) -> Result<Option<RouteExampleRecord>, StoreError> {
        let scope = RowScope::Tenant(tenant);
        let values = (tenant.clone(), example.clone());
        self.engine
            .run(Access::Read, scope, values, |tx, (tenant, example)| {
                Box::pin(find(tx, tenant, example))
            })
            .await
    }

    async fn route_examples(
        &self,
        tenant: &TenantId,
        filter: ExampleFilter<'_>,
        page: &PageRequest,
    ) -> Result<Page<RouteExampleRecord>, StoreError> {
        let (at, id) = column::after(page)?;
        // A separate statement for each filter, so that each uses its index.
        let of_status = match filter.status {
            Some(_) => "status = $2",
            None => "CAST($2 AS text) IS NULL",
        };
        let of_document = match filter.document {
            Some(_) => "document = $3",
            None => "CAST($3 AS text) IS NULL",
        };
        let found = self
            .engine
            .rows(
                RowScope::Tenant(tenant),
                "listing route examples",
                &format!(
                    "SELECT {RECORD} FROM route_example
                     WHERE tenant_id = $1 AND {of_status} AND {of_document}
                       AND (suggested_at, example_id) < ($4, $5)
                     ORDER BY suggested_at DESC, example_id DESC LIMIT $6"
                ),
                params![
                    tenant.as_str(),
                    filter.status.map(ExampleStatus::as_str),
                    filter.document.map(DocumentId::as_str),
                    at,
                    id,
                    column::limit(page.limit() + 1)
                ],
                record,
            )
            .await?;
        Ok(column::page(found, page, |example| Cursor {
            at: column::micros(example.suggested_at),
            id: example.example_id.to_string(),
        }))
    }

    async fn open_examples(
        &self,
        tenant: &TenantId,
        kind: RoutedKind,
        document: &DocumentId,
    ) -> Result<Vec<RouteExampleRecord>, StoreError> {
        self.engine
            .rows(
                RowScope::Tenant(tenant),
                "reading the route examples of a document",
                &format!(
                    "SELECT {RECORD} FROM route_example
                     WHERE tenant_id = $1 AND document = $2 AND kind = $3
                     AND status IN ('suggested', 'accepted') ORDER BY suggested_at, example_id"
                ),
                params![tenant.as_str(), document.as_str(), kind.as_str()],
                record,
            )
            .await
    }

    async fn move_example(
        &self,
        tenant: &TenantId,
        step: ExampleMove,
        messages: Vec<NewMessage>,
    ) -> Result<(), StoreError> {
        let count = messages.len();
        let scope = RowScope::Tenant(tenant);
        let values = (tenant.clone(), step, messages);
        self.engine
            .run(
                Access::Write,
                scope,
                values,
                |tx, (tenant, step, messages)| Box::pin(change(tx, tenant, step, messages)),
            )
            .await?;
        self.engine.announce(count);
        Ok(())
    }

    async fn accepted_examples(&self) -> Result<Vec<RouteExampleRecord>, StoreError> {
        self.engine
            .rows(
                RowScope::Everyone,
                "reading accepted route examples",
                &format!(
                    "SELECT {RECORD} FROM route_example WHERE status = 'accepted'
                     ORDER BY tenant_id, kind, document, suggested_at, example_id"
                ),
                params![],
                record,
            )
            .await
    }
}
