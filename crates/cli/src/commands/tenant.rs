//! `charter tenant export` and `charter tenant erase`: for operators with direct access to the store, without a server.

use std::path::{Path, PathBuf};

use anyhow::Context;
use charter_contract::ids::TenantId;
use charter_contract::time::Timestamp;
use charter_domain::clock::{Clock, SystemClock};
use charter_engine::DryRun;
use charter_store::tenant::{Erased, RowCounts, Tenants};
use charter_store_sql::backup::Manifest;
use charter_store_sql::postgres::{self, PostgresStore};
use charter_store_sql::sqlite;
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::boot::{self, OpenStore};
use crate::config::Config;
use crate::failure::{EXIT_NEGATIVE, EXIT_OK};
use crate::output::{self, Format};
use crate::terminal;

#[derive(Debug, Subcommand)]
pub(crate) enum TenantCommand {
    /// Export all data of a tenant to a directory while servers keep running.
    Export(Export),
    /// Erase all data of a tenant, for good.
    Erase(Erase),
}

#[derive(Debug, Args)]
pub(crate) struct Export {
    /// The tenant.
    tenant: TenantId,
    /// The directory to write; it must not exist.
    target: PathBuf,
}

/// Hashes of its evidence log and issued checkpoints remain, so that proofs of its evidence stay valid. Backups, logs
/// and traces are not touched. First revoke the tenant's keys in the configuration and its tokens. A store in a data
/// directory must not be in use.
#[derive(Debug, Args)]
pub(crate) struct Erase {
    /// The tenant.
    tenant: TenantId,
    /// The tenant's name again. Without it, only shows what would be erased; exit 1 when there is anything.
    #[arg(long, value_name = "TENANT")]
    confirm: Option<TenantId>,
}

pub(crate) async fn run(
    command: TenantCommand,
    config: &Config,
    format: Format,
) -> anyhow::Result<u8> {
    match command {
        TenantCommand::Export(command) => export(command, config, format).await,
        TenantCommand::Erase(command) => erase(command, config, format).await,
    }
}

async fn export(command: Export, config: &Config, format: Format) -> anyhow::Result<u8> {
    let Export { tenant, target } = command;
    let bar = terminal::spinner("exporting");
    let written = write(config, &tenant, &target).await;
    bar.finish_and_clear();
    let manifest = written.with_context(|| format!("exporting the tenant `{tenant}`"))?;
    let rows: u64 = manifest.files.iter().filter_map(|file| file.rows).sum();
    let report = json!({
        "tenant": tenant, "export": target, "engine": manifest.engine, "layout": manifest.layout,
        "taken_at": manifest.taken_at, "files": manifest.files.len(), "rows": rows,
    });
    output::print(format, &report, output::fields)?;
    Ok(EXIT_OK)
}

async fn write(config: &Config, tenant: &TenantId, target: &Path) -> anyhow::Result<Manifest> {
    let at = SystemClock::start().context("reading the clock")?.now();
    if let Some(options) = boot::postgres(config) {
        return Ok(postgres::export_tenant(&options, tenant, target, at).await?);
    }
    let (data, tenant, target) = (config.data_dir.clone(), tenant.clone(), target.to_owned());
    let exporting = move || sqlite::export_tenant(&data, &tenant, &target, at);
    Ok(tokio::task::spawn_blocking(exporting).await??)
}

async fn erase(command: Erase, config: &Config, format: Format) -> anyhow::Result<u8> {
    let Erase { tenant, confirm } = command;
    if confirm.as_ref().is_some_and(|again| *again != tenant) {
        anyhow::bail!("--confirm names a tenant other than `{tenant}`: nothing was erased");
    }
    let dry_run = DryRun::from(confirm.is_none());
    let at = SystemClock::start().context("reading the clock")?.now();
    let doing = || format!("erasing the tenant `{tenant}`");
    // Works beside running servers, which hold their data directories.
    if let Some(options) = boot::postgres(config) {
        let store = PostgresStore::connect(&options).await.with_context(doing)?;
        let done = erase_in_store(&store, &tenant, dry_run, at).await;
        store.close();
        return print_report(&done.with_context(doing)?, format);
    }
    let store = OpenStore::open(config).await?;
    let done = erase_in_store(&*store.shared(), &tenant, dry_run, at).await;
    store.close().await?;
    print_report(&done.with_context(doing)?, format)
}

/// The erased rows, or those that would be erased.
enum ErasureReport {
    Would(RowCounts),
    Did(Erased),
}

async fn erase_in_store<S: Tenants + ?Sized>(
    store: &S,
    tenant: &TenantId,
    dry_run: DryRun,
    at: Timestamp,
) -> anyhow::Result<ErasureReport> {
    Ok(match dry_run {
        DryRun::No => ErasureReport::Did(store.erase_tenant(tenant, at).await?),
        DryRun::Yes => ErasureReport::Would(store.rows_of_tenant(tenant).await?),
    })
}

fn print_report(done: &ErasureReport, format: Format) -> anyhow::Result<u8> {
    let (report, went_well) = match done {
        ErasureReport::Would(rows) => {
            let report = json!({
                "would_erase": rows, "erased": Value::Null,
                "hint": "nothing was erased: repeat the command with --confirm and the tenant's name",
            });
            (report, rows.is_empty())
        }
        ErasureReport::Did(erased) => {
            let mut report = json!({
                "tenant": erased.tenant_id, "at": erased.at, "erased": erased.erased,
                "kept": erased.kept, "log_size": erased.log.size, "log_root": erased.log.root,
            });
            let rest = !erased.came_meanwhile.is_empty();
            report["hint"] = match rest {
                true => {
                    report["came_meanwhile"] = json!(erased.came_meanwhile);
                    "data of this tenant is still being written: revoke its keys and tokens, and erase again"
                }
                false => "`charter reindex` removes the vectors of deleted texts",
            }
            .into();
            (report, !rest)
        }
    };
    output::print(format, &report, output::fields)?;
    Ok(if went_well { EXIT_OK } else { EXIT_NEGATIVE })
}
