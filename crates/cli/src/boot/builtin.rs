//! What the built-in tools may touch, from the configuration. Whatever is written there must hold:
//! a root that is not there or a host that is none stops the start.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use charter_effects::{BuiltinGrants, CommandGrant, Root, RootAccess};

use crate::config::{AccessConfig, Config};

pub(super) fn grants(config: &Config) -> anyhow::Result<BuiltinGrants> {
    let builtin = &config.tools.builtin;
    let roots = builtin.roots.iter().map(|(name, root)| {
        let key = format!("tools.builtin.roots.{name}");
        let path = root_path(&key, &root.path, &config.data_dir)?;
        let access = match root.access {
            AccessConfig::Read => RootAccess::Read,
            AccessConfig::Write => RootAccess::Write,
        };
        Ok((name.clone(), Root { path, access }))
    });
    let hosts = builtin.hosts.iter().map(|host| {
        host.parse()
            .with_context(|| format!("tools.builtin.hosts: {host:?}"))
    });
    let commands = builtin.commands.iter().map(|(name, command)| {
        if !command.program.is_absolute() {
            bail!("tools.builtin.commands.{name}.program must be an absolute path");
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

/// A directory apart from the server's own data, which no tool may read or change.
pub(super) fn root_path(key: &str, path: &Path, data_dir: &Path) -> anyhow::Result<PathBuf> {
    let real = path
        .canonicalize()
        .with_context(|| format!("{key}.path = {path:?}"))?;
    if !real.is_dir() {
        bail!("{key}.path = {path:?} is not a directory");
    }
    // The data directory may not be there yet; then nothing can lie in it.
    let data = data_dir
        .canonicalize()
        .unwrap_or_else(|_| data_dir.to_owned());
    if real.starts_with(&data) || data.starts_with(&real) {
        bail!("{key}.path = {path:?} overlaps the data directory");
    }
    Ok(real)
}
