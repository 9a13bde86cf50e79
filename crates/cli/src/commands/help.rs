//! The help of the program: its commands in groups, and the global options once.
//!
//! Must not know how a command works. Completions and manual pages are made without this layout: each lists the global
//! options at every command.

use clap::{Arg, Command, CommandFactory};

use super::Cli;

/// The groups of commands, in the order of the help.
const GROUPS: [(&str, &[&str]); 7] = [
    (
        "Ask and look up",
        &["ask", "route", "list", "resolve", "lens", "graph", "memory"],
    ),
    (
        "Runs, missions and approvals",
        &[
            "call",
            "runs",
            "playbook",
            "mission",
            "schedule",
            "approvals",
            "gate",
            "events",
            "evidence",
        ],
    ),
    (
        "Catalogue and packages",
        &[
            "init",
            "import",
            "dev",
            "package",
            "policy",
            "skills",
            "candidate",
            "schema",
        ],
    ),
    ("Models", &["model", "reindex"]),
    (
        "Server and access",
        &[
            "serve",
            "executor",
            "mcp",
            "key",
            "credential",
            "notify",
            "health",
            "doctor",
            "config",
        ],
    ),
    ("Data", &["backup", "restore", "migrate", "tenant"]),
    ("Command line", &["completions", "man"]),
];

/// The width of the column of names.
const NAME_WIDTH: usize = 11;

/// The last line of the help of each command below the program.
const GLOBAL_OPTIONS: &str = "Global options: charter --help";

/// The command line, as it is parsed and as its help is shown.
pub(super) fn command() -> Command {
    let command = Cli::command();
    let template = template(&command);
    let hidden: Vec<Arg> = command
        .get_arguments()
        .filter(|argument| argument.is_global_set())
        .map(|argument| argument.clone().hide(true))
        .collect();
    // A subcommand that already has a global argument does not get that of its parent.
    command
        .help_template(template)
        .mut_subcommands(|subcommand| with_reference(subcommand.args(&hidden)))
}

/// A command whose help, like that of the commands below it, refers to the global options.
fn with_reference(command: Command) -> Command {
    command
        .after_help(GLOBAL_OPTIONS)
        .mut_subcommands(with_reference)
}

/// The template of the program's help.
fn template(command: &Command) -> String {
    let header = command.get_styles().get_header();
    let groups = groups(command);
    format!(
        "{{before-help}}{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}\
         {header}Global options:{header:#}\n{{options}}\n\n\
         `charter help COMMAND` shows the arguments and options of a command.{{after-help}}"
    )
}

/// The groups, each with its title and a line for each of its commands.
fn groups(command: &Command) -> String {
    let styles = command.get_styles();
    let (header, literal) = (styles.get_header(), styles.get_literal());
    let mut text = String::new();
    for (title, names) in GROUPS {
        text.push_str(&format!("{header}{title}:{header:#}\n"));
        for name in names {
            let summary = command.find_subcommand(name).map(summary);
            let summary = summary.unwrap_or_default();
            text.push_str(&format!(
                "  {literal}{name:<NAME_WIDTH$}{literal:#}  {summary}\n"
            ));
        }
        text.push('\n');
    }
    text
}

/// The first sentence of a command's help, and its aliases.
fn summary(command: &Command) -> String {
    let about = command.get_about().map(ToString::to_string);
    let about = about.unwrap_or_default();
    let aliases: Vec<&str> = command.get_visible_aliases().collect();
    if aliases.is_empty() {
        about
    } else {
        format!("{about} [alias: {}]", aliases.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// The width of a terminal that shows each command in one line.
    const COLUMNS: usize = 80;

    /// The help that a command line asks for.
    fn help(line: &str) -> String {
        let asked = command().try_get_matches_from(line.split(' '));
        asked.unwrap_err().to_string()
    }

    #[test]
    fn each_command_is_in_one_group() {
        let names = GROUPS.iter().flat_map(|(_, names)| names.iter().copied());
        let mut grouped: Vec<&str> = names.collect();
        grouped.sort_unstable();
        let command = Cli::command();
        let mut existing: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
        existing.sort_unstable();
        assert_eq!(grouped, existing);
    }

    #[test]
    fn each_command_has_one_line() {
        let command = Cli::command();
        for (title, names) in GROUPS {
            for name in names {
                let summary = summary(command.find_subcommand(name).unwrap());
                let line = format!("  {name:<NAME_WIDTH$}  {summary}");
                let columns = line.chars().count();
                assert!(
                    !summary.is_empty() && !line.contains(['\n', '{']) && columns <= COLUMNS,
                    "{title}: {columns} columns: {line}"
                );
                assert!(name.len() <= NAME_WIDTH, "{name}");
            }
        }
    }

    #[test]
    fn global_options_are_shown_once() {
        let global = ["--config", "--data-dir", "--store", "--server", "--output"];
        let program = help("charter --help");
        for option in global {
            assert!(program.contains(&format!("      {option} <")), "{program}");
        }
        for line in [
            "charter ask --help",
            "charter package list --help",
            "charter graph query paths -h",
            "charter help runs show",
        ] {
            let help = help(line);
            assert!(help.ends_with(&format!("\n{GLOBAL_OPTIONS}\n")), "{help}");
            for option in global {
                assert!(!help.contains(&format!(" {option} <")), "{line}: {help}");
            }
        }
    }

    #[test]
    fn a_global_option_is_read_at_each_command() {
        for line in [
            "charter --data-dir x package list",
            "charter package --data-dir x list",
            "charter package list --data-dir x",
        ] {
            let cli = Cli::read(line.split(' ')).unwrap();
            assert_eq!(cli.data_dir.as_deref(), Some(Path::new("x")), "{line}");
        }
    }
}
