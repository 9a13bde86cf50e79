//! Registers MCP servers in the configuration file: completes them by a recipe, appends them, and reports each with what
//! the operator still has to do. Must not know where the servers come from.

use std::path::Path;

use charter_contract::error_code::ErrorCode;
use charter_engine::DryRun;
use serde_json::{Value, json};

use super::recipe;
use crate::boot::find_on_path;
use crate::config::{Flags, McpServerConfig, ServerList};
use crate::failure::ReportedFailure;
use crate::output::{self, Format};

/// Parts of the names of variables that hold secrets.
const SECRET_WORDS: [&str; 8] = [
    "AUTH",
    "CREDENTIAL",
    "KEY",
    "PASSPHRASE",
    "PASSWD",
    "PASSWORD",
    "SECRET",
    "TOKEN",
];

/// A server to register.
pub(in crate::commands) struct Registration {
    pub(in crate::commands) server: McpServerConfig,
    /// Remarks for the operator.
    pub(in crate::commands) notes: Vec<String>,
}

/// Servers that are not registered, each with its reason.
pub(in crate::commands) type LeftOut = Vec<(String, String)>;

/// Whether a variable of this name probably holds a secret.
pub(in crate::commands) fn is_secret_name(name: &str) -> bool {
    let name = name.to_uppercase();
    SECRET_WORDS.iter().any(|word| name.contains(word)) || name.ends_with("_PAT")
}

impl Registration {
    /// Completes a server by the recipe of its program; `folder` is where relative paths begin.
    ///
    /// # Errors
    /// The reason why such a program cannot be registered.
    pub(in crate::commands) fn new(
        mut server: McpServerConfig,
        folder: &Path,
    ) -> Result<Self, String> {
        let mut notes = recipe::apply(&mut server, folder)?;
        if let Some(registry) = server.registry {
            notes.push(format!(
                "it may download from the registry in the settings of {}",
                registry.as_str()
            ));
        }
        let command = server.command.as_deref();
        let name = command.filter(|command| command.components().count() == 1);
        if let Some(name) = name.and_then(Path::to_str)
            && find_on_path(name).is_none()
        {
            notes.push(format!("PATH has no program `{name}` yet"));
        }
        let variables = server
            .environment
            .iter()
            .filter(|entry| !entry.contains('='));
        for variable in variables.chain(server.headers.values()) {
            if std::env::var_os(variable).is_none() {
                notes.push(format!("set the variable {variable} before Charter starts"));
            }
        }
        for (name, _) in server.environment.iter().filter_map(|e| e.split_once('=')) {
            if is_secret_name(name) {
                notes.push(format!(
                    "the value of {name} is in the configuration as plain text; `environment = [\"{name}\"]` takes \
                     it from the environment instead"
                ));
            }
        }
        Ok(Self { server, notes })
    }
}

/// Appends servers to the configuration file and reports them. A server whose name is in the file already is left out.
pub(in crate::commands) fn register(
    registrations: Vec<Registration>,
    mut left_out: LeftOut,
    flags: &Flags,
    mode: DryRun,
    format: Format,
) -> anyhow::Result<()> {
    let mut list = ServerList::read(&flags.file_to_write()?)?;
    let mut reports = Vec::new();
    let mut texts = Vec::new();
    for Registration { server, notes } in registrations {
        if list.contains(&server.name) {
            let reason = "the configuration has a server of this name, which stays as it is";
            left_out.push((server.name.clone(), reason.to_owned()));
            continue;
        }
        let lines = list.append(&server)?;
        let remarks = notes.iter().map(|note| format!("# {note}\n"));
        texts.push(lines + &remarks.collect::<String>());
        reports.push(json!({"server": server, "notes": notes}));
    }
    if reports.is_empty() {
        return refuse(&left_out, &list);
    }
    if mode == DryRun::No {
        list.write()?;
    }
    let skipped: Vec<Value> = left_out
        .iter()
        .map(|(name, reason)| json!({"server": name, "reason": reason}))
        .collect();
    let report = json!({
        "file": list.file(), "written": mode == DryRun::No, "servers": reports, "left_out": skipped,
    });
    output::print(format, &report, |_| summary(&texts, &left_out, &list, mode))
}

/// The failure if no server is registered.
fn refuse(left_out: &[(String, String)], list: &ServerList) -> anyhow::Result<()> {
    let reasons = left_out.iter();
    let reasons: Vec<String> = reasons
        .map(|(name, reason)| format!("{name}: {reason}"))
        .collect();
    let reasons = reasons.join("; ");
    let is_known = |(name, _): &(String, String)| list.contains(name);
    let failure = match left_out {
        [] => ReportedFailure::new(ErrorCode::InvalidDocument, "there is no server to register"),
        left_out if left_out.iter().all(is_known) => {
            let known = ReportedFailure::new(ErrorCode::AlreadyExists, reasons);
            known.with_hint("Choose another name, or change the server in the file.")
        }
        _ => ReportedFailure::new(ErrorCode::InvalidDocument, reasons),
    };
    Err(failure.into())
}

fn summary(
    texts: &[String],
    left_out: &[(String, String)],
    list: &ServerList,
    mode: DryRun,
) -> String {
    let mut lines = texts.to_vec();
    lines.extend(
        left_out
            .iter()
            .map(|(name, reason)| format!("left out: {name}: {reason}\n")),
    );
    let file = list.file().display();
    lines.push(match mode {
        DryRun::Yes => format!("nothing is written to {file}"),
        DryRun::No => {
            format!("written to {file}; `charter doctor` starts the servers and lists their tools")
        }
    });
    lines.join("\n")
}
