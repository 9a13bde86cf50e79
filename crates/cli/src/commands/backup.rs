//! `charter backup` and `charter restore`.

use std::path::{Path, PathBuf};

use anyhow::Context;
use charter_contract::ids::UserId;
use charter_domain::clock::{Clock, SystemClock};
use charter_engine::Caller;
use charter_store_sql::backup::Manifest;
use charter_store_sql::{postgres, sqlite};
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::boot;
use crate::config::Config;
use crate::evidence_key;
use crate::failure::{EXIT_OK, ReportedFailure};
use crate::output::{self, Format};
use crate::platform;
use crate::terminal;

/// Back up the whole store to a directory while servers keep running.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct Backup {
    #[command(subcommand)]
    command: Option<BackupCommand>,
    /// The directory to write; it must not exist.
    #[arg(required = true)]
    target: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum BackupCommand {
    /// Read a whole backup and compare it with its manifest.
    Verify {
        /// The directory of the backup.
        backup: PathBuf,
    },
}

/// Restore a backup into an empty data directory or database.
#[derive(Debug, Args)]
pub(crate) struct Restore {
    /// The directory of the backup.
    backup: PathBuf,
    /// Resume runs from where the backup recorded them. Steps after that point are repeated under the same idempotency
    /// keys. Without this, runs are paused for an operator to resume or abort.
    #[arg(long)]
    resume_runs: bool,
}

pub(crate) async fn back_up(
    command: Backup,
    config: &Config,
    format: Format,
) -> anyhow::Result<u8> {
    let (manifest, place) = match (command.command, command.target) {
        (Some(BackupCommand::Verify { backup }), _) => {
            let of = backup.clone();
            let verified = tokio::task::spawn_blocking(move || Manifest::verified(&of)).await?;
            (verified.context("verifying the backup")?, backup)
        }
        (None, Some(target)) => {
            let bar = terminal::spinner("copying");
            let taken = take(config, &target).await;
            bar.finish_and_clear();
            (taken.context("taking a backup")?, target)
        }
        (None, None) => anyhow::bail!("name the directory to write"),
    };
    let mut report = shown(&manifest, &place);
    report["not_in_it"] = json!(keys(config));
    output::print(format, &report, output::fields)?;
    Ok(EXIT_OK)
}

/// Takes a backup, and reads it again from its directory.
async fn take(config: &Config, target: &Path) -> anyhow::Result<Manifest> {
    let at = SystemClock::start().context("reading the clock")?.now();
    let target = target.to_owned();
    match boot::postgres(config) {
        Some(options) => {
            postgres::back_up(&options, &target, at).await?;
        }
        None => {
            let (data, target) = (config.data_dir.clone(), target.clone());
            tokio::task::spawn_blocking(move || sqlite::back_up(&data, &target, at)).await??;
        }
    }
    Ok(tokio::task::spawn_blocking(move || Manifest::verified(&target)).await??)
}

pub(crate) async fn restore(
    command: Restore,
    config: &Config,
    format: Format,
) -> anyhow::Result<u8> {
    platform::require_engine_system()?;
    let bar = terminal::spinner("restoring");
    let restored = put_back(&command.backup, config).await;
    bar.finish_and_clear();
    let manifest = restored.context("restoring the backup")?;
    let mut report = shown(&manifest, &command.backup);
    if !command.resume_runs {
        let by: UserId = Caller::local()?.user;
        let running = boot::start_unloaded(config).await?;
        let paused = running.engine.run_recovery().pause_all(&by).await;
        running.stop().await?;
        report["paused_runs"] = json!(paused.map_err(ReportedFailure::from)?);
    }
    output::print(format, &report, output::fields)?;
    Ok(EXIT_OK)
}

async fn put_back(backup: &Path, config: &Config) -> anyhow::Result<Manifest> {
    if let Some(options) = boot::postgres(config) {
        return Ok(postgres::restore(backup, &options).await?);
    }
    let (backup, data) = (backup.to_owned(), config.data_dir.clone());
    let holder = format!("pid {}", std::process::id());
    let restoring = move || sqlite::restore(&backup, &data, &holder);
    let manifest = tokio::task::spawn_blocking(restoring).await??;
    // A backup has no signing key. Unless one was put here before, a new key signs from now on.
    evidence_key::make_anew(config)?;
    Ok(manifest)
}

fn shown(manifest: &Manifest, place: &Path) -> Value {
    let bytes: u64 = manifest.files.iter().map(|file| file.bytes).sum();
    json!({
        "backup": place, "engine": manifest.engine, "layout": manifest.layout,
        "charter": manifest.charter, "taken_at": manifest.taken_at, "files": manifest.files.len(),
        "bytes": bytes,
    })
}

/// The files of signing keys, which are to be kept apart from the data that they signed.
fn keys(config: &Config) -> Vec<PathBuf> {
    let keys = [
        config.evidence_key_file(),
        config.card_key_file(),
        config.credentials_key_file(),
    ];
    keys.into_iter().filter(|file| file.exists()).collect()
}
