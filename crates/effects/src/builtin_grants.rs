//! Grants of built-in tools. Access without a grant is denied.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use charter_contract::agentic::environment_access::SecretText;
use charter_contract::agentic::error::ErrorType;
use charter_contract::catalogue::builtin::Builtin;

use crate::egress::HostPattern;
use crate::outcome::Failure;
use crate::web_search::WebSearch;

/// A built-in tool with its grants.
#[derive(Debug, Clone)]
pub struct BuiltinTool {
    /// The tool.
    pub name: Builtin,
    /// The resources that it may access.
    pub grants: Arc<BuiltinGrants>,
}

/// The resources that built-in tools may access; none by default.
#[derive(Debug, Clone, Default)]
pub struct BuiltinGrants {
    /// Directories by the name that calls use.
    pub roots: BTreeMap<String, Root>,
    /// Environment variables with their values. Every caller of `env.get` can see them.
    pub environment: BTreeMap<String, SecretText>,
    /// Hosts; private and local addresses only if a pattern names them literally.
    pub hosts: Vec<HostPattern>,
    /// Programs by the name that calls use.
    pub commands: BTreeMap<String, CommandGrant>,
    /// The provider of web searches.
    pub search: Option<Arc<WebSearch>>,
}

/// A directory for file tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    /// Its path. Links in this path are followed, because the operator controls it.
    pub path: PathBuf,
    /// The allowed access.
    pub access: RootAccess,
}

/// Access to a root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RootAccess {
    /// Read.
    Read,
    /// Read and write.
    Write,
}

/// A program that calls may run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandGrant {
    /// The program's file.
    pub program: PathBuf,
    /// Arguments before those of the call.
    pub arguments: Vec<String>,
}

impl BuiltinGrants {
    /// Returns the root with that name, or the only root.
    pub(crate) fn root(
        &self,
        named: Option<&str>,
        needed: RootAccess,
    ) -> Result<(&str, &Root), Failure> {
        let (name, root) = match named {
            Some(name) => self
                .roots
                .get_key_value(name)
                .ok_or_else(|| unknown("root", name, self.roots.keys()))?,
            None => self.only_root()?,
        };
        if root.access < needed {
            return Err(denied(format!(
                "the root `{name}` is granted for reading only"
            )));
        }
        Ok((name, root))
    }

    fn only_root(&self) -> Result<(&String, &Root), Failure> {
        let mut roots = self.roots.iter();
        match (roots.next(), roots.next()) {
            (Some(only), None) => Ok(only),
            (None, _) => Err(denied("no root is granted to file tools".to_owned())),
            (Some(_), Some(_)) => {
                let message = format!("`root` must name one of {}", listed(self.roots.keys()));
                Err(Failure::new(ErrorType::InputError, message))
            }
        }
    }

    pub(crate) fn command(&self, name: &str) -> Result<&CommandGrant, Failure> {
        self.commands
            .get(name)
            .ok_or_else(|| unknown("command", name, self.commands.keys()))
    }
}

fn unknown<'a>(noun: &str, name: &str, known: impl Iterator<Item = &'a String>) -> Failure {
    denied(match listed(known) {
        none if none.is_empty() => format!("the {noun} `{name}` is not granted; no {noun} is"),
        known => format!("the {noun} `{name}` is not granted; these are: {known}"),
    })
}

pub(crate) fn denied(message: String) -> Failure {
    Failure::new(ErrorType::PermissionError, message)
}

pub(crate) fn listed<'a>(names: impl Iterator<Item = &'a String>) -> String {
    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    names.join(", ")
}
