//! The commands, one file each.

mod advice;
mod approvals;
mod ask;
mod backup;
mod call;
mod candidate;
mod catalogue;
mod completions;
mod config;
mod credential;
mod dev;
mod doctor;
mod events;
mod evidence;
mod executor;
mod gate;
mod graph;
mod health;
mod help;
mod import;
mod init;
mod key;
mod lens;
mod man;
mod mcp;
mod memory;
mod migrate;
mod missions;
mod model;
mod notify;
mod package;
mod playbook;
mod policy;
mod reindex;
mod resolve;
mod route;
mod runs;
mod schedule;
mod schema;
mod serve;
mod server_flag;
mod skills;
mod tenant;

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::Context as _;
use charter_contract::json::{JsonFault, JsonLimitExceeded, decode_stored};
use clap::{FromArgMatches, Parser, Subcommand};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::config::{CONFIG_VARIABLE, Config, Flags};
use crate::output::Format;
use crate::telemetry::Telemetry;
use advice::Advice;

/// The contract-first context engine and mission runtime for AI agents.
///
/// Exit codes: 0 yes or done, 1 no (invalid, different, or a check failed), 2 the command failed, 3 the work waits for a
/// person, 141 the reader of its output closed it. Output goes to standard output, notes and errors to standard error;
/// with `--output json` an error is a JSON object there.
#[derive(Debug, Parser)]
#[command(name = "charter", version, arg_required_else_help = true)]
pub(crate) struct Cli {
    /// Configuration file (TOML).
    #[arg(long, global = true, env = CONFIG_VARIABLE, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The data directory.
    #[arg(long, global = true, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// A PostgreSQL database to store everything in, e.g. postgres://charter@db.example.com/charter. Prefer
    /// CHARTER_STORE__URL for a URL with a password: other users of the machine cannot see it there.
    #[arg(long, global = true, value_name = "URL")]
    store: Option<String>,
    /// The server to send requests to, e.g. http://127.0.0.1:7407.
    #[arg(long, global = true, value_name = "URL")]
    server: Option<String>,
    /// Output format.
    #[arg(long, global = true, value_enum, default_value_t = Format::Table)]
    output: Format,
    #[command(subcommand)]
    command: Command,
}

impl Cli {
    /// Reads a command line.
    ///
    /// # Errors
    /// The report of a command line that cannot be parsed, and requested help.
    pub(crate) fn read<T: Into<OsString> + Clone>(
        arguments: impl IntoIterator<Item = T>,
    ) -> Result<Self, clap::Error> {
        let mut matches = help::command().try_get_matches_from(arguments)?;
        Self::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut help::command()))
    }
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve the API.
    Serve(serve::Serve),
    /// Run calls of client tools for a server.
    Executor(executor::Executor),
    /// Speak the Model Context Protocol over standard input and output.
    Mcp(mcp::Mcp),
    /// Ask a question and see the answer.
    Ask(ask::Ask),
    /// Route a query without acting, measure routing, or fit it.
    Route(route::Route),
    Init(init::Init),
    /// Import APIs as packages, and the servers of MCP clients.
    #[command(subcommand)]
    Import(import::Import),
    Dev(dev::Dev),
    /// Validate, compare, register and list packages.
    #[command(subcommand)]
    Package(package::Package),
    /// Test policies, and show the Cedar schema and the actions of tools.
    #[command(subcommand)]
    Policy(policy::PolicyCommand),
    /// Explain the gate's decisions.
    #[command(subcommand)]
    Gate(gate::Gate),
    /// Query the expert graph: neighbours, paths, risks and coverage.
    #[command(subcommand)]
    Graph(graph::Graph),
    /// List registered documents of one kind.
    List(catalogue::List),
    /// Show what is in force for a skill, agent, domain, tool or output.
    #[command(subcommand)]
    Resolve(resolve::Resolve),
    /// Search, list, show and reindex the reference library.
    #[command(subcommand)]
    Lens(lens::Lens),
    /// Start, show and control runs of plans.
    #[command(subcommand, visible_alias = "run")]
    Runs(runs::Runs),
    Call(call::Call),
    /// Start and watch missions, decide on proposals.
    #[command(subcommand, visible_alias = "missions")]
    Mission(missions::Mission),
    /// Run playbooks.
    #[command(subcommand)]
    Playbook(playbook::Playbook),
    /// Enable, list, pause and start schedules; show their reports.
    #[command(subcommand)]
    Schedule(schedule::Schedule),
    /// Promote skills and playbooks that were generated on a miss.
    #[command(subcommand)]
    Candidate(candidate::Candidate),
    Approvals(approvals::Approvals),
    /// List channels and what was sent to them, and test a channel.
    #[command(subcommand)]
    Notify(notify::Notify),
    /// Show the events of runs and approvals, or follow them.
    Events(events::Events),
    /// Add, find and delete memories, and decide on proposed ones.
    #[command(subcommand)]
    Memory(memory::Memory),
    /// Create, list, rotate and revoke API keys.
    Key(key::Keys),
    /// List the credentials of tools, connect and disconnect accounts.
    #[command(subcommand)]
    Credential(credential::Credential),
    /// Find, show, submit, export and verify evidence.
    #[command(subcommand)]
    Evidence(evidence::Evidence),
    /// Import, find, show, check, export and delete Agent Skills.
    #[command(subcommand)]
    Skills(skills::Skills),
    /// List, show and write the contracts' JSON Schemas.
    #[command(subcommand)]
    Schema(schema::Schema),
    /// List and test language models, and fetch the embedding model.
    #[command(subcommand)]
    Model(model::Model),
    /// Embed the catalogue again after a change of model.
    Reindex,
    /// Check this installation for problems.
    Doctor,
    /// Check whether a server is ready.
    ///
    /// The server is the one that --server names, or the one on this machine. Exit 0 when it is ready, 1 when it is not.
    Health,
    /// Migrate the data directory or database to this version's layout.
    Migrate(migrate::Migrate),
    /// Back up the whole store to a directory while servers keep running.
    Backup(backup::Backup),
    /// Restore a backup into an empty data directory or database.
    Restore(backup::Restore),
    /// Export or erase all data of a tenant.
    #[command(subcommand)]
    Tenant(tenant::TenantCommand),
    /// Show the configuration in force.
    #[command(subcommand)]
    Config(config::ConfigCommand),
    /// Write a completion script for a shell.
    Completions(completions::Completions),
    Man(man::Man),
}

/// Runs a command and returns the exit code. Adds the hint for the command line to a failure.
pub(crate) async fn run(cli: Cli) -> anyhow::Result<u8> {
    let advice = Advice::for_command(&cli.command);
    let ran = run_command(cli).await;
    ran.map_err(|error| advice.give(error))
}

async fn run_command(cli: Cli) -> anyhow::Result<u8> {
    if cli.server.is_some() {
        server_flag::refuse(&cli.command)?;
    }
    let (listen, role) = match &cli.command {
        Command::Serve(serve) => (serve.listen, serve.role),
        Command::Dev(dev) => (dev.listen, None),
        _ => (None, None),
    };
    let flags = Flags {
        file: cli.config,
        data_dir: cli.data_dir,
        store: cli.store,
        role,
        listen,
        server: cli.server,
    };
    let format = cli.output;
    // These need no configuration, so a broken one does not stop them.
    let command = match cli.command {
        Command::Schema(command) => return schema::run(&command, format),
        Command::Policy(command) => return policy::run(&command, format),
        Command::Completions(command) => return completions::run(&command),
        Command::Init(command) => return init::run(&command, format),
        Command::Package(package::Package::Validate(command)) if command.is_of_files() => {
            return package::validate::check_files(&command, format);
        }
        Command::Man(command) => return man::run(&command),
        Command::Import(import::Import::Mcp(command)) => {
            return import::mcp::run(&command, &flags, format);
        }
        Command::Mcp(command) if command.is_addition() => return command.add(&flags, format),
        Command::Evidence(evidence::Evidence::Verify(command)) => {
            return evidence::verify(&command, format);
        }
        Command::Mission(missions::Mission::Verify(command)) => {
            return missions::verify(&command, format);
        }
        other => other,
    };
    let config = Config::load(&flags)?;
    // Only processes that serve others export telemetry; other commands are short.
    let telemetry = match &command {
        Command::Serve(_) | Command::Dev(_) => Telemetry::start(&config)?,
        Command::Mcp(command) if command.is_service() => Telemetry::start(&config)?,
        _ => None,
    };
    crate::terminal::start_log(&config.log, telemetry.as_ref());
    let ran = dispatch(command, &config, format, telemetry.as_ref()).await;
    if let Some(telemetry) = telemetry {
        telemetry.stop().await;
    }
    ran
}

async fn dispatch(
    command: Command,
    config: &Config,
    format: Format,
    telemetry: Option<&Telemetry>,
) -> anyhow::Result<u8> {
    match command {
        Command::Serve(_) => serve::run(config, telemetry).await,
        Command::Dev(command) => dev::run(&command, config, telemetry, format).await,
        Command::Import(command) => import::run(&command, config, format).await,
        Command::Executor(command) => executor::run(&command, config).await,
        Command::Mcp(command) => mcp::run(&command, config, format).await,
        Command::Ask(command) => ask::run(&command, config, format).await,
        Command::Route(command) => route::run(&command, config, format).await,
        Command::Package(command) => package::run(&command, config, format).await,
        Command::Gate(command) => gate::run(&command, config, format).await,
        Command::Graph(command) => graph::run(&command, config, format).await,
        Command::List(command) => catalogue::run(&command, config, format).await,
        Command::Resolve(command) => resolve::run(&command, config, format).await,
        Command::Lens(command) => lens::run(&command, config, format).await,
        Command::Runs(command) => runs::run(&command, config, format).await,
        Command::Call(command) => call::run(&command, config, format).await,
        Command::Mission(command) => missions::run(&command, config, format).await,
        Command::Playbook(command) => playbook::run(&command, config, format).await,
        Command::Schedule(command) => schedule::run(&command, config, format).await,
        Command::Candidate(command) => candidate::run(&command, config, format).await,
        Command::Approvals(command) => approvals::run(&command, config, format).await,
        Command::Notify(command) => notify::run(&command, config, format).await,
        Command::Events(command) => events::run(&command, config, format).await,
        Command::Key(command) => key::run(&command, config, format).await,
        Command::Credential(command) => credential::run(&command, config, format).await,
        Command::Memory(command) => memory::run(&command, config, format).await,
        Command::Evidence(command) => evidence::run(&command, config, format).await,
        Command::Skills(command) => skills::run(&command, config, format).await,
        Command::Model(command) => model::run(&command, config, format).await,
        Command::Reindex => reindex::run(config, format).await,
        Command::Doctor => doctor::run(config, format).await,
        Command::Health => health::run(config, format).await,
        Command::Migrate(command) => migrate::run(&command, config, format).await,
        Command::Backup(command) => backup::back_up(command, config, format).await,
        Command::Restore(command) => backup::restore(command, config, format).await,
        Command::Tenant(command) => tenant::run(command, config, format).await,
        Command::Config(command) => config::run(&command, config, format),
        Command::Schema(_)
        | Command::Policy(_)
        | Command::Completions(_)
        | Command::Init(_)
        | Command::Man(_) => Ok(crate::failure::EXIT_OK),
    }
}

/// Parses `NAME=VALUE`, with the value as JSON if it is valid JSON. Refuses a number that would be rounded.
fn parameter(text: &str) -> Result<(String, Value), String> {
    let (name, written) = text.split_once('=').ok_or("write NAME=VALUE")?;
    let value = match decode_stored(written) {
        Ok(value) => value,
        Err(JsonFault::TooMuch(rounded @ JsonLimitExceeded::Number { .. })) => {
            return Err(format!("the value of `{name}` {rounded}: '{name}=\"…\"'"));
        }
        Err(_) => Value::String(written.to_owned()),
    };
    Ok((name.to_owned(), value))
}

/// Reads a field of a server's answer as a value of its type.
fn read_field<T: DeserializeOwned>(answer: &Value, field: &str) -> anyhow::Result<T> {
    T::deserialize(&answer[field])
        .with_context(|| format!("reading `{field}` of the server's answer"))
}

/// Percent-encodes a path segment or query value.
fn encoded(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                char::from(byte).to_string()
            }
            other => format!("%{other:02X}"),
        })
        .collect()
}

/// Builds `?a=1&b=2` from the pairs that have a value.
fn query(pairs: &[(&str, Option<&str>)]) -> String {
    let given = pairs
        .iter()
        .filter_map(|(name, value)| Some(format!("{name}={}", encoded((*value)?))));
    let given: Vec<String> = given.collect();
    if given.is_empty() {
        String::new()
    } else {
        format!("?{}", given.join("&"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_value_of_a_parameter_is_json_or_text_and_no_number_is_rounded() {
        let read = |text| parameter(text).map(|(_, value)| value);
        assert_eq!(read("n=7"), Ok(json!(7)));
        assert_eq!(read("n=seven"), Ok(json!("seven")));
        assert_eq!(
            read(r#"n="18446744073709551616""#),
            Ok(json!("18446744073709551616"))
        );
        let refused = read("n=18446744073709551616").unwrap_err();
        assert!(
            refused.starts_with("the value of `n` has the number 18446744073709551616"),
            "{refused}"
        );
    }
}
