//! What built-in tools may touch. Nothing that is not named here.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use charter_contract::agentic::environment_access::SecretText;
use charter_contract::agentic::error::ErrorType;
use charter_contract::catalogue::builtin::Builtin;

use crate::egress::HostPattern;
use crate::outcome::Failure;
use crate::web_search::WebSearch;

/// A tool that Charter carries out, and what it may touch.
#[derive(Debug, Clone)]
pub struct BuiltinTool {
    /// Which.
    pub name: Builtin,
    /// What it may touch.
    pub grants: Arc<BuiltinGrants>,
}

/// What built-in tools may touch; nothing by default.
#[derive(Debug, Clone, Default)]
pub struct BuiltinGrants {
    /// Directories by the name that calls use.
    pub roots: BTreeMap<String, Root>,
    /// Environment variables with their values. Whoever may call `env.get` sees them.
    pub environment: BTreeMap<String, SecretText>,
    /// Hosts; private and local addresses only where a pattern names them literally.
    pub hosts: Vec<HostPattern>,
    /// Programs by the name that calls use.
    pub commands: BTreeMap<String, CommandGrant>,
    /// Who searches the web.
    pub search: Option<Arc<WebSearch>>,
}

/// A directory that file tools work in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    /// Where it is. Links in this path are followed; it is the operator's.
    pub path: PathBuf,
    /// What may be done in it.
    pub access: RootAccess,
}

/// What may be done in a root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RootAccess {
    /// Look.
    Read,
    /// Also change.
    Write,
}

/// A program that may be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandGrant {
    /// The program's file.
    pub program: PathBuf,
    /// Arguments that come before those of the call.
    pub arguments: Vec<String>,
}

impl BuiltinGrants {
    /// The root of that name, or the only one there is.
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
