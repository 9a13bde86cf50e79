//! Route examples in SQLite. A trigger prevents an example from moving backwards
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
use rusqlite::{Connection, params};

use super::statement::{bound, execute, row, rows};
use super::{SqliteStore, outbox};
use crate::column;
use crate::record::route_example::{
    RECORD, changes_routing, elsewhere, full, listing, place, record, unknown,
};

const READING: &str = "reading a route example";
const WRITING: &str = "writing a route example";

fn suggest(
    connection: &Connection,
    example: &RouteExampleRecord,
    room: ExampleRoom,
) -> Result<Suggested, StoreError> {
    let (tenant, document) = (example.tenant_id.as_str(), example.document.as_str());
    let full = row(
        READING,
        connection,
        "SELECT (SELECT count(*) FROM (SELECT 1 FROM route_example
                 WHERE tenant_id = ?1 AND document = ?2 AND kind = ?3 AND status = 'suggested' LIMIT ?4)) >= ?4,
                (SELECT count(*) FROM (SELECT 1 FROM route_example
                 WHERE tenant_id = ?1 AND status = 'suggested' LIMIT ?5)) >= ?5",
        params![
            tenant,
            document,
            example.kind.as_str(),
            column::limit(room.document),
            column::limit(room.tenant)
        ],
        full,
    )?;
    if let Some(full) = full.flatten() {
        return Ok(full);
    }
    let added = execute(
        WRITING,
        connection,
        "INSERT INTO route_example (tenant_id, example_id, kind, document, text, words, source, request_id,
                                    status, suggested_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 'suggested', ?9) ON CONFLICT DO NOTHING",
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
    )?;
    Ok(match added {
        0 => Suggested::Known,
        _ => Suggested::Kept,
    })
}

fn find(
    connection: &Connection,
    tenant: &TenantId,
    example: &RouteExampleId,
) -> Result<Option<RouteExampleRecord>, StoreError> {
    row(
        READING,
        connection,
        &format!("SELECT {RECORD} FROM route_example WHERE tenant_id = ?1 AND example_id = ?2"),
        [tenant.as_str(), example.as_str()],
        record,
    )
}

fn change(
    connection: &Connection,
    tenant: &TenantId,
    step: &ExampleMove,
    messages: &[NewMessage],
) -> Result<(), StoreError> {
    let moved = execute(
        WRITING,
        connection,
        "UPDATE route_example SET status = ?4, decided_at = ?5, decided_by = ?6
         WHERE tenant_id = ?1 AND example_id = ?2 AND status = ?3",
        params![
            tenant.as_str(),
            step.example_id.as_str(),
            step.from.as_str(),
            step.to.as_str(),
            column::micros(step.decided.at),
            step.decided.by.as_str()
        ],
    )?;
    if moved == 0 {
        let found = find(connection, tenant, &step.example_id)?;
        return Err(found.map_or_else(|| unknown(&step.example_id), |found| elsewhere(&found)));
    }
    if changes_routing(step) {
        let raise = "UPDATE catalogue SET revision = revision + 1";
        execute(WRITING, connection, raise, [])?;
    }
    outbox::insert(connection, messages)
}

#[async_trait]
impl RouteExamples for SqliteStore {
    async fn suggest_example(
        &self,
        example: &RouteExampleRecord,
        room: ExampleRoom,
    ) -> Result<Suggested, StoreError> {
        let example = example.clone();
        self.write(move |connection| suggest(connection, &example, room))
            .await
    }

    async fn route_example(
        &self,
        tenant: &TenantId,
        example: &RouteExampleId,
    ) -> Result<Option<RouteExampleRecord>, StoreError> {
        let (tenant, example) = (tenant.clone(), example.clone());
        self.read(move |connection| find(connection, &tenant, &example))
            .await
    }

    async fn route_examples(
        &self,
        tenant: &TenantId,
        filter: ExampleFilter<'_>,
        page: &PageRequest,
    ) -> Result<Page<RouteExampleRecord>, StoreError> {
        let (sql, values) = listing('?', tenant, filter, page)?;
        let page = page.clone();
        self.read(move |connection| {
            let doing = "listing route examples";
            let found = rows(doing, connection, &sql, bound(values), record)?;
            Ok(column::page(found, &page, place))
        })
        .await
    }

    async fn open_examples(
        &self,
        tenant: &TenantId,
        kind: RoutedKind,
        document: &DocumentId,
    ) -> Result<Vec<RouteExampleRecord>, StoreError> {
        let (tenant, document) = (tenant.clone(), document.clone());
        self.read(move |connection| {
            rows(
                "reading the route examples of a document",
                connection,
                &format!(
                    "SELECT {RECORD} FROM route_example
                     WHERE tenant_id = ?1 AND document = ?2 AND kind = ?3 AND status IN ('suggested', 'accepted')
                     ORDER BY suggested_at, example_id"
                ),
                [tenant.as_str(), document.as_str(), kind.as_str()],
                record,
            )
        })
        .await
    }

    async fn move_example(
        &self,
        tenant: &TenantId,
        step: ExampleMove,
        messages: Vec<NewMessage>,
    ) -> Result<(), StoreError> {
        let tenant = tenant.clone();
        self.write(move |connection| change(connection, &tenant, &step, &messages))
            .await
    }

    async fn accepted_examples(&self) -> Result<Vec<RouteExampleRecord>, StoreError> {
        self.read(|connection| {
            rows(
                "reading accepted route examples",
                connection,
                &format!(
                    "SELECT {RECORD} FROM route_example WHERE status = 'accepted'
                     ORDER BY tenant_id, kind, document, suggested_at, example_id"
                ),
                [],
                record,
            )
        })
        .await
    }
}
