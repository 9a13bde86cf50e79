//! Generates the command line's reference from the `--help` of every command.
//!
//! Knows the format of the help, not the commands.

use std::path::Path;
use std::process::Command;

/// Line width of the help, in columns.
const WIDTH: &str = "100";

/// Beginning of the page.
const HEAD: &str = "\
<!-- Made from the commands' --help by `cargo run -p xtask -- codegen`. Do not edit. -->

# Command line

";

/// Generates the page.
///
/// # Errors
/// If a command does not print its help.
pub(crate) fn generate(charter: &Path) -> anyhow::Result<String> {
    let mut page = HEAD.to_owned();
    // Commands whose help is still to be read, next one last.
    let mut open: Vec<Vec<String>> = vec![Vec::new()];
    while let Some(command) = open.pop() {
        let help = help(charter, &command)?;
        page.push_str(&section(&command, &help));
        let below = subcommands(&help).into_iter().rev();
        open.extend(below.map(|name| [command.as_slice(), &[name.to_owned()]].concat()));
    }
    Ok(page.trim_end().to_owned() + "\n")
}

/// Returns the help, independent of the environment.
fn help(charter: &Path, command: &[String]) -> anyhow::Result<String> {
    let mut process = Command::new(charter);
    process
        .args(command)
        .arg("--help")
        .env_clear()
        .env("COLUMNS", WIDTH);
    super::stdout_of(&mut process)
}

fn section(command: &[String], help: &str) -> String {
    let mut name = vec!["charter"];
    name.extend(command.iter().map(String::as_str));
    let lines: Vec<&str> = help.trim_end().lines().map(str::trim_end).collect();
    format!(
        "## `{}`\n\n```text\n{}\n```\n\n",
        name.join(" "),
        lines.join("\n")
    )
}

/// Titles of the parts of a help that list no commands.
const OTHER_PARTS: [&str; 3] = ["Arguments:", "Options:", "Global options:"];

/// Returns the names of the commands that a help lists, except `help`. The commands are below one title, or in groups
/// below several.
fn subcommands(help: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut in_commands = false;
    for line in help.lines() {
        let title = line.ends_with(':') && !line.starts_with(' ');
        if title || line.is_empty() {
            in_commands = title && !OTHER_PARTS.contains(&line);
            continue;
        }
        let entry = line
            .strip_prefix("  ")
            .filter(|entry| in_commands && !entry.starts_with(' '));
        names.extend(entry.and_then(|entry| entry.split_whitespace().next()));
    }
    names.retain(|name| *name != "help");
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read_from_help() {
        let help = "About.\n\nUsage: x <COMMAND>\n\nCommands:\n  serve  Serve, with a text that is\n         wrapped\n  ask    Ask\n  help   Print this message\n\nOptions:\n  -h, --help  Print help\n";
        assert_eq!(subcommands(help), ["serve", "ask"]);
        let groups = "About.\n\nUsage: x [OPTIONS] <COMMAND>\n\nRuns and plans:\n  run  Run a plan\n\nServer:\n  serve  Serve\n\nGlobal options:\n  -h, --help  Print help\n";
        assert_eq!(subcommands(groups), ["run", "serve"]);
        let arguments = "About.\n\nArguments:\n  <FILE>  A file\n\nOptions:\n  -h\n";
        assert_eq!(subcommands(arguments), Vec::<&str>::new());
    }

    #[test]
    fn a_section_is_named_for_its_command() {
        let command = ["package".to_owned(), "list".to_owned()];
        assert_eq!(
            section(&command, "List.  \n\n"),
            "## `charter package list`\n\n```text\nList.\n```\n\n"
        );
    }
}
