//! Counts, exports and erases all data of one tenant in PostgreSQL.

use std::path::Path;

use async_trait::async_trait;
use charter_contract::ids::TenantId;
use charter_contract::time::Timestamp;
use charter_store::StoreError;
use charter_store::agent_skills::SkillsRevision;
use charter_store::journal::Journal;
use charter_store::tenant::{Erased, RowCounts, Tenants};
use deadpool_postgres::Transaction;
use futures_util::{StreamExt, pin_mut};
use tokio_postgres::GenericClient;

use super::backup::{connect, snapshot};
use super::connection::{RowScope, in_snapshot, in_transaction};
use super::failure::during;
use super::layout::{self, Table};
use super::options::ALL_TENANTS;
use super::options::PostgresOptions;
use super::{PostgresStore, outbox};
use crate::backup::{self, BackupEngine, Manifest, Writing};
use crate::column;
use crate::evidence_log;
use crate::
agent_skills::everything_changed;
use crate::tenant::{self, deletions, is_kept};
use crate::
tx::Tx;

const COUNTING: &str = "counting a tenant's rows";
const EXPORTING: &str = "exporting a table";
const ERASING: &str = "erasing a tenant";

/// Writes the rows of a tenant into the new directory `target`, from one snapshot. The database stays in use.
///
/// # Errors
/// As [`super::back_up`].
pub async fn export_tenant(
    options: &PostgresOptions,
    tenant: &TenantId,
    target: &Path,
    at: Timestamp,
) -> Result<Manifest, StoreError> {
    let (mut client, place) = connect(options).await?;
    let (snapshot, layout) = snapshot(&mut client, &place).await?;
    backup::create(target)?;
    reach(&snapshot, tenant.as_str()).await?;
    let mut files = Vec::new();
    for table in layout::tables(&snapshot).await? {
        let Some(owner) = &table.owner else { continue };
        let mut file = Writing::create(target, format!("{}.jsonl", table.name))?;
        let sql = format!(
            "SELECT row_to_json(of_tenant)::text FROM
             (SELECT {} FROM {} WHERE {owner} = $1) AS of_tenant",
            table.quoted_columns(),
            table.name
        );
        let rows = snapshot.query_raw(&sql, [tenant.as_str()]).await;
        let rows = rows.map_err(during(EXPORTING))?;
        pin_mut!(rows);
        let mut count = 0;
        while let Some(row) = rows.next().await {
            let row: &str = &row.map_err(during(EXPORTING))?.get::<_, String>(0);
            file.write(row.as_bytes())?;
            file.write(b"\n")?;
            count += 1;
        }
        files.push(file.end(count)?);
    }
    let manifest = Manifest::new(BackupEngine::Postgres, layout, at, files).of(tenant);
    manifest.write(target)?;
    Ok(manifest)
}

/// Restricts the rest of a transaction to the rows of a tenant, or extends it to all rows.
async fn reach(transaction: &impl GenericClient, tenant: &str) -> Result<(), StoreError> {
    let sql = "SELECT set_config('charter.tenant', $1, true)";
    let set = transaction.query(sql, &[&tenant]).await;
    set.map(|_| ()).map_err(during(ERASING))
}

/// Returns the tables with an owner column, each with that column.
async fn owned(client: &impl GenericClient) -> Result<Vec<(Table, String)>, StoreError> {
    let tables = layout::tables(client).await?.into_iter();
    let owned = tables.filter_map(|table| table.owner.clone().map(|owner| (table, owner)));
    Ok(owned.collect())
}

async fn count(
    client: &impl GenericClient,
    tenant: &TenantId,
    tables: &[(Table, String)],
) -> Result<RowCounts, StoreError> {
    let mut counts = RowCounts::new();
    for (table, owner) in tables {
        let sql = format!("SELECT count(*) FROM {} WHERE {owner} = $1", table.name);
        let found = client.query_one(&sql, &[&tenant.as_str()]).await;
        let rows = column::parse_integer(COUNTING, found.map_err(during(COUNTING))?.get(0))?;
        if rows > 0 {
            counts.insert(table.name.clone(), rows);
        }
    }
    Ok(counts)
}

async fn rows_of(connection: &Transaction<'_>, tenant: &TenantId) -> Result<RowCounts, StoreError> {
    let client: &tokio_postgres::Transaction<'_> = connection;
    let (rows, _kept) = tenant::parted(count(client, tenant, &owned(client).await?).await?);
    Ok(rows)
}

/// Raises the revisions of catalogue and skills; returns that of the skills.
async fn raise(client: &impl GenericClient) -> Result<SkillsRevision, StoreError> {
    let sql = "UPDATE catalogue SET revision = revision + 1";
    client.execute(sql, &[]).await.map_err(during(ERASING))?;
    let sql = "UPDATE agent_skill_index SET revision = revision + 1 RETURNING revision";
    let raised = client.query_one(sql, &[]).await.map_err(during(ERASING))?;
    column::parse_integer("skills revision", raised.get(0)).map(SkillsRevision)
}

async fn erase(
    connection: &Transaction<'_>,
    tenant: &TenantId,
    at: Timestamp,
) -> Result<Erased, StoreError> {
    let client: &tokio_postgres::Transaction<'_> = connection;
    let of_tenant = async |sql: &str| {
        let done = client.query(sql, &[&tenant.as_str()]).await;
        done.map_err(during(ERASING))
    };
    // It may take longer than a request.
    let begun = client.batch_execute("SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0");
    begun.await.map_err(during(ERASING))?;
    of_tenant("SELECT set_config('charter.erasing', $1, true)").await?;
    // In the lock order of registrations, skill writes and evidence writes, which wait until this ends.
    let skills = raise(client).await?;
    of_tenant("SELECT FROM evidence_log WHERE tenant_id = $1 FOR UPDATE").await?;
    of_tenant("DELETE FROM lease WHERE resource IN (SELECT run_id FROM run WHERE tenant_id = $1)")
        .await?;
    let tables = owned(client).await?;
    let (erased, kept) = tenant::parted(count(client, tenant, &tables).await?);
    let names = tables.iter().map(|(table, _)| table.name.clone());
    let ordered = deletions(names, &layout::references(client).await?)?;
    for name in ordered.iter().filter(|name| !is_kept(name)) {
        for (table, owner) in tables.iter().filter(|(table, _)| table.name == *name) {
            of_tenant(&format!("DELETE FROM {} WHERE {owner} = $1", table.name)).await?;
        }
    }
    let log = evidence_log::head(&mut Tx::of_transaction(connection), tenant).await?;
    reach(client, ALL_TENANTS).await?;
    let messages = [everything_changed(skills, at), tenant::erased(tenant, at)];
    outbox::insert(connection, &messages).await?;
    Ok(Erased {
        tenant_id: tenant.clone(),
        at,
        erased,
        kept,
        log,
        came_meanwhile: RowCounts::new(),
    })
}

#[async_trait]
impl Tenants for PostgresStore {
    async fn rows_of_tenant(&self, tenant: &TenantId) -> Result<RowCounts, StoreError> {
        in_snapshot!(self, RowScope::Tenant(tenant), tx => rows_of(&tx, tenant))
    }

    async fn erase_tenant(&self, tenant: &TenantId, at: Timestamp) -> Result<Erased, StoreError> {
        tenant::must_rest(
            tenant,
            self.count_unfinished_runs(tenant, tenant::MOST_RUNS)
                .await?,
        )?;
        let erased = in_transaction!(self, RowScope::Tenant(tenant), tx => erase(&tx, tenant, at))?;
        self.announce(2);
        let came_meanwhile = self.rows_of_tenant(tenant).await?;
        Ok(Erased {
            came_meanwhile,
            ..erased
        })
    }
}
