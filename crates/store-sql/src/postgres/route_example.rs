//! Route examples in PostgreSQL. A trigger prevents an example from moving backwards
//! (`migrations/V1__initial.sql`).

use async_trait::async_trait;
use charter_contract::ids::{DocumentId, RequestId, RouteExampleId, TenantId};
use charter_contract::route_example::RoutedKind;
use charter_store::StoreError;
use charter_store::outbox::NewMessage;
use charter_store::page::{Page, PageRequest};
use charter_store::route_example::{
    ExampleFilter, ExampleMove, ExampleRoom, RouteExampleRecord, RouteExamples, Suggested,
};
use deadpool_postgres::{GenericClient, Transaction};

use super::connection::{RowScope, in_transaction};
use super::statement::{bound, execute, params, row, rows};
use super::{PostgresStore, outbox};
use crate::column;
use crate::record::route_example::{
    RECORD, changes_routing, elsewhere, full, listing, place, record, unknown,
};

const READING: &str = "reading a route example";
const WRITING: &str = "writing a route example";

async fn suggest(
    connection: &Transaction<'_>,
    example: &RouteExampleRecord,
    room: ExampleRoom,
) -> Result<Suggested, StoreError> {
    let (tenant, document) = (example.tenant_id.as_str(), example.document.as_str());
    // Serialises the suggestions of one tenant, so that concurrent ones keep to the limits.
    let lock = "SELECT pg_advisory_xact_lock(hashtextextended('route_example ' || $1::text, 0))";
    execute(WRITING, connection, lock, params![tenant]).await?;
    let full = row(
        READING,
        connection,
        "SELECT (SELECT count(*) FROM (SELECT FROM route_example
                 WHERE tenant_id = $1 AND document = $2 AND kind = $3 AND status = 'suggested'
                 LIMIT $4) AS of_document) >= $4,
                (SELECT count(*) FROM (SELECT FROM route_example
                 WHERE tenant_id = $1 AND status = 'suggested' LIMIT $5) AS of_tenant) >= $5",
        params![
            tenant,
            document,
            example.kind.as_str(),
            column::limit(room.document),
            column::limit(room.tenant)
        ],
        full,
    )
    .await?;
    if let Some(full) = full.flatten() {
        return Ok(full);
    }
    let added = execute(
        WRITING,
        connection,
        "INSERT INTO route_example (tenant_id, example_id, kind, document, text, words, source, request_id,
                                    status, suggested_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 'suggested', $9) ON CONFLICT DO NOTHING",
        params![
            tenant,
            example.example_id.as_str(),
            example.kind.as_str(),
            document,
            example.text,
            example.words,
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
    connection: &impl GenericClient,
    tenant: &TenantId,
    example: &RouteExampleId,
) -> Result<Option<RouteExampleRecord>, StoreError> {
    let sql =
        format!("SELECT {RECORD} FROM route_example WHERE tenant_id = $1 AND example_id = $2");
    let values = params![tenant.as_str(), example.as_str()];
    row(READING, connection, &sql, values, record).await
}

async fn change(
    connection: &Transaction<'_>,
    tenant: &TenantId,
    step: &ExampleMove,
    messages: &[NewMessage],
) -> Result<(), StoreError> {
    if changes_routing(step) {
        // Locks in the order of registration and tenant erasure, to avoid deadlocks.
        let raise = "UPDATE catalogue SET revision = revision + 1";
        execute(WRITING, connection, raise, params![]).await?;
    }
    let moved = execute(
        WRITING,
        connection,
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
    if moved == 0 {
        let found = find(connection, tenant, &step.example_id).await?;
        return Err(found.map_or_else(|| unknown(&step.example_id), |found| elsewhere(&found)));
    }
    outbox::insert(connection, messages).await
}

#[async_trait]
impl RouteExamples for PostgresStore {
    async fn suggest_example(
        &self,
        example: &RouteExampleRecord,
        room: ExampleRoom,
    ) -> Result<Suggested, StoreError> {
        let tenant = &example.tenant_id;
        in_transaction!(self, RowScope::Tenant(tenant), tx => suggest(&tx, example, room))
    }

    async fn route_example(
        &self,
        tenant: &TenantId,
        example: &RouteExampleId,
    ) -> Result<Option<RouteExampleRecord>, StoreError> {
        let client = self.client(RowScope::Tenant(tenant)).await?;
        find(&client, tenant, example).await
    }

    async fn route_examples(
        &self,
        tenant: &TenantId,
        filter: ExampleFilter<'_>,
        page: &PageRequest,
    ) -> Result<Page<RouteExampleRecord>, StoreError> {
        let (sql, values) = listing('$', tenant, filter, page)?;
        let client = self.client(RowScope::Tenant(tenant)).await?;
        let doing = "listing route examples";
        let found = rows(doing, &client, &sql, &bound(&values), record).await?;
        Ok(column::page(found, page, place))
    }

    async fn open_examples(
        &self,
        tenant: &TenantId,
        kind: RoutedKind,
        document: &DocumentId,
    ) -> Result<Vec<RouteExampleRecord>, StoreError> {
        let client = self.client(RowScope::Tenant(tenant)).await?;
        rows(
            "reading the route examples of a document",
            &client,
            &format!(
                "SELECT {RECORD} FROM route_example
                 WHERE tenant_id = $1 AND document = $2 AND kind = $3 AND status IN ('suggested', 'accepted')
                 ORDER BY suggested_at, example_id"
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
        in_transaction!(self, RowScope::Tenant(tenant), tx => change(&tx, tenant, &step, &messages))?;
        self.announce(messages.len());
        Ok(())
    }

    async fn accepted_examples(&self) -> Result<Vec<RouteExampleRecord>, StoreError> {
        let client = self.client(RowScope::Everyone).await?;
        rows(
            "reading accepted route examples",
            &client,
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
