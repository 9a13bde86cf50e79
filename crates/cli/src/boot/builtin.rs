//! The grants of the built-in tools, from the configuration. A root that does not exist or an invalid host stops the
//! start.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use charter_effects::{BuiltinGrants, CommandGrant, Root, RootAccess};

use crate::config::{AccessConfig, BuiltinConfig, Config};

/// The grants of the settings `builtin`, which are at `at` of the configuration.
pub(super) fn grants(
    config: &Config,
    builtin: &BuiltinConfig,
    at: &str,
) -> anyhow::Result<BuiltinGrants> {
    let roots = builtin.roots.iter().map(|(name, root)| {
        let key = format!("{at}.roots.{name}");
        let path = root_path(&key, &root.path, &config.data_dir)?;
        let access = match root.access {
            AccessConfig::Read => RootAccess::Read,
            AccessConfig::Write => RootAccess::Write,
        };
        Ok((name.clone(), Root { path, access }))
    });
    let hosts = builtin.hosts.iter().map(|host| {
        host.parse()
            .with_context(|| format!("{at}.hosts: {host:?}"))
    });
    let commands = builtin.commands.iter().map(|(name, command)| {
        if !command.program.is_absolute() {
            bail!("{at}.commands.{name}.program must be an absolute path");
        }
        let granted = CommandGrant {
            program: command.program.clone(),
            arguments: command.arguments.clone(),
        };
        Ok((name.clone(), granted))
    });
    let named = builtin.environment.iter();
    Ok(BuiltinGrants {
        roots: roots.collect::<anyhow::Result<_>>()?,
        environment: named
            .filter_map(|name| Some((name.clone(), std::env::var(name).ok()?.into())))
            .collect(),
        hosts: hosts.collect::<anyhow::Result<_>>()?,
        commands: commands.collect::<anyhow::Result<_>>()?,
        search: super::search(config)?,
    })
}

/// Checks that a root lies outside the server's own data directory, which no tool may read or change.
fn root_path(key: &str, path: &Path, data_dir: &Path) -> anyhow::Result<PathBuf> {
    let real = path
        .canonicalize()
        .with_context(|| format!("{key}.path = {path:?}"))?;
    if !real.is_dir() {
        bail!("{key}.path = {path:?} is not a directory");
    }
    // If the data directory does not exist yet, no root can lie in it.
    let data = data_dir
        .canonicalize()
        .unwrap_or_else(|_| data_dir.to_owned());
    if real.starts_with(&data) || data.starts_with(&real) {
        bail!("{key}.path = {path:?} overlaps the data directory");
    }
    Ok(real)
}
