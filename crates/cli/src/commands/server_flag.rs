//! Refuses `--server` for commands that use no server, because the caller expects the command to work on that server. A
//! configured server is for the commands that use one, and does not stop the others.

use charter_contract::error_code::ErrorCode;

use super::Command;
use super::evidence::Evidence;
use super::missions::Mission;
use super::package::Package;
use crate::failure::ReportedFailure;

/// The target that a command works on in place of a server.
#[derive(Debug, Clone, Copy)]
enum LocalTarget {
    /// The store of the data directory, or the database.
    Store,
    /// The files that it reads or writes.
    Files,
    /// The configuration of this machine.
    Configuration,
    /// Data that is built into the program.
    Program,
}

/// Refuses `--server` for a command that uses no server.
///
/// # Errors
/// `invalid_request`, with the target of the command.
pub(super) fn refuse(command: &Command) -> anyhow::Result<()> {
    let Some((words, place)) = serverless(command) else {
        return Ok(());
    };
    let (works_on, hint) = match place {
        LocalTarget::Store => (
            "the store of the data directory, or the database",
            "Omit --server. To work on the data of a server, name its --data-dir or --store.",
        ),
        LocalTarget::Files => ("files of this machine", "Omit --server."),
        LocalTarget::Configuration => (
            "the configuration of this machine",
            "Omit --server. To see a server's configuration, run this on the server's machine.",
        ),
        LocalTarget::Program => ("this program alone", "Omit --server."),
    };
    let message = format!("`charter {words}` does not use a server: it works on {works_on}");
    Err(ReportedFailure::new(ErrorCode::InvalidRequest, message)
        .with_hint(hint)
        .into())
}

/// The words of a command that uses no server, and its target.
fn serverless(command: &Command) -> Option<(&'static str, LocalTarget)> {
    Some(match command {
        Command::Serve(_) => ("serve", LocalTarget::Store),
        Command::Route(command) => (command.serverless()?, LocalTarget::Store),
        Command::Reindex => ("reindex", LocalTarget::Store),
        Command::Migrate(_) => ("migrate", LocalTarget::Store),
        Command::Backup(_) => ("backup", LocalTarget::Store),
        Command::Restore(_) => ("restore", LocalTarget::Store),
        Command::Tenant(_) => ("tenant", LocalTarget::Store),
        Command::Init(_) => ("init", LocalTarget::Files),
        Command::Import(_) => ("import", LocalTarget::Files),
        Command::Policy(_) => ("policy", LocalTarget::Files),
        Command::Package(Package::Validate(command)) if command.names_file() => {
            ("package validate FILE", LocalTarget::Files)
        }
        Command::Evidence(Evidence::Verify(_)) => ("evidence verify", LocalTarget::Files),
        Command::Mission(Mission::Verify(_)) => ("mission verify", LocalTarget::Files),
        Command::Mcp(command) => (command.serverless()?, LocalTarget::Configuration),
        Command::Model(_) => ("model", LocalTarget::Configuration),
        Command::Doctor => ("doctor", LocalTarget::Configuration),
        Command::Schema(_) => ("schema", LocalTarget::Program),
        Command::Completions(_) => ("completions", LocalTarget::Program),
        Command::Man(_) => ("man", LocalTarget::Program),
        Command::Executor(_)
        | Command::Ask(_)
        | Command::Dev(_)
        | Command::Package(_)
        | Command::Gate(_)
        | Command::Graph(_)
        | Command::List(_)
        | Command::Resolve(_)
        | Command::Lens(_)
        | Command::Runs(_)
        | Command::Call(_)
        | Command::Mission(_)
        | Command::Playbook(_)
        | Command::Candidate(_)
        | Command::Schedule(_)
        | Command::Approvals(_)
        | Command::Events(_)
        | Command::Notify(_)
        | Command::Memory(_)
        | Command::Key(_)
        | Command::Credential(_)
        | Command::Evidence(_)
        | Command::Skills(_)
        | Command::Health
        | Command::Config(_) => return None,
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::commands::Cli;

    /// The message and the hint of a refusal.
    fn refused(line: &str) -> Option<(String, String)> {
        let words = ["charter", "--server", "http://127.0.0.1:1"].into_iter();
        let cli = Cli::try_parse_from(words.chain(line.split(' '))).unwrap();
        let refused: ReportedFailure = refuse(&cli.command).err()?.downcast().unwrap();
        Some((refused.message, refused.hint.unwrap()))
    }

    #[test]
    fn a_command_that_uses_no_server_refuses_one() {
        for (line, words, place) in [
            ("serve", "serve", "the store"),
            ("route eval --queries q", "route eval", "the store"),
            ("route eval --intent q", "route eval", "the store"),
            (
                "route calibrate --queries q",
                "route calibrate",
                "the store",
            ),
            ("reindex", "reindex", "the store"),
            ("migrate --check", "migrate", "the store"),
            ("backup to", "backup", "the store"),
            ("restore from", "restore", "the store"),
            ("tenant erase acme", "tenant", "the store"),
            ("init new", "init", "files"),
            ("import openapi a.yaml --package a", "import", "files"),
            ("policy schema", "policy", "files"),
            (
                "package validate Cargo.toml",
                "package validate FILE",
                "files",
            ),
            ("evidence verify log", "evidence verify", "files"),
            ("mission verify bundle", "mission verify", "files"),
            ("model fetch", "model", "the configuration"),
            ("model list", "model", "the configuration"),
            ("doctor", "doctor", "the configuration"),
            ("schema list", "schema", "this program"),
            ("completions zsh", "completions", "this program"),
            ("man to", "man", "this program"),
        ] {
            let (message, hint) = refused(line).unwrap_or_else(|| panic!("{line}"));
            let start = format!("`charter {words}` does not use a server: it works on {place}");
            assert!(message.starts_with(&start), "{line}: {message}");
            assert!(hint.starts_with("Omit --server."), "{line}: {hint}");
        }
    }

    #[test]
    fn a_command_that_uses_a_server_takes_one() {
        for line in [
            "ask x",
            "route x",
            "dev dir",
            "mcp",
            "health",
            "package list",
            "package validate src",
            "package validate missing",
            "evidence list",
            "evidence export to",
            "mission list",
            "config show",
        ] {
            assert_eq!(refused(line), None, "{line}");
        }
    }
}
