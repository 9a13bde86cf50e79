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
    super::printed(&mut process)
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

/// Returns the names under `Commands:`, except `help`.
fn subcommands(help: &str) -> Vec<&str> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    lines
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.strip_prefix("  "))
        .filter(|line| !line.starts_with(' '))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read_from_help() {
        let help = "About.\n\nUsage: x <COMMAND>\n\nCommands:\n  serve  Serve, with a text that is\n         wrapped\n  ask    Ask\n  help   Print this message\n\nOptions:\n  -h, --help  Print help\n";
        assert_eq!(subcommands(help), ["serve", "ask"]);
        assert_eq!(
            subcommands("About.\n\nOptions:\n  -h\n"),
            Vec::<&str>::new()
        );
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
