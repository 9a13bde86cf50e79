//! Exports all data of one tenant.

use std::path::Path;

use charter_contract::ids::TenantId;
use charter_contract::time::Timestamp;
use charter_store::StoreError;
use futures_util::{StreamExt, pin_mut};

use super::backup::{connect, snapshot};
use super::layout;
use super::options::PostgresOptions;
use crate::backup::{self, BackupEngine, Manifest, Writing};
use crate::failure::postgres::during;

const EXPORTING: &str = "exporting a table";

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
    let sql = "SELECT set_config('charter.tenant', $1, true)";
    let reach = snapshot.query(sql, &[&tenant.as_str()]).await;
    reach.map_err(during(EXPORTING))?;
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
