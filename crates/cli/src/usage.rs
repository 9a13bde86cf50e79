//! Reports a command line that cannot be parsed. As text, clap's own report with its suggestions; with `--output json`,
//! like every error.

use charter_contract::error_code::ErrorCode;
use clap::error::ErrorKind;
use serde_json::json;

use crate::failure::{self, EXIT_ERROR, ReportedFailure};
use crate::messages::{self, Form};

/// The hint if clap suggests nothing.
const HELP: &str = "`charter help` lists the commands; --help shows the usage of one.";

/// Reports the error and returns the exit code. Requested help and the version are output.
pub(crate) fn report(error: &clap::Error) -> u8 {
    if error.use_stderr() && messages::form() == Form::JsonLines {
        failure::print_failure(&reported(error).into());
    } else {
        // If the reader has gone, the output is not needed.
        error.print().ok();
    }
    u8::try_from(error.exit_code()).unwrap_or(EXIT_ERROR)
}

fn reported(error: &clap::Error) -> ReportedFailure {
    let text = error.render().to_string();
    let line_after = |start: &str| {
        let mut lines = text.lines();
        lines.find_map(|line| line.trim_start().strip_prefix(start))
    };
    let first = text.split("\n\n").next().unwrap_or_default();
    let words = first.strip_prefix("error: ").unwrap_or(first);
    let message = match error.kind() {
        // The rendered text is the help itself.
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            "a command or an argument is missing".to_owned()
        }
        _ => words.split_whitespace().collect::<Vec<_>>().join(" "),
    };
    let hint = line_after("tip: ").unwrap_or(HELP);
    ReportedFailure {
        details: json!({ "usage": line_after("Usage: ") }),
        ..ReportedFailure::new(ErrorCode::InvalidRequest, message).with_hint(hint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::Cli;

    /// The report for a command line: message, hint and usage.
    fn of(arguments: &[&str]) -> (String, String, String) {
        let line = std::iter::once(&"charter").chain(arguments);
        let error = Cli::read(line).unwrap_err();
        let reported = reported(&error);
        let usage = reported.details["usage"].as_str().unwrap_or_default();
        (reported.message, reported.hint.unwrap(), usage.to_owned())
    }

    #[test]
    fn the_error_and_the_suggestion_are_separate() {
        let (message, hint, usage) = of(&["runs", "lst"]);
        assert_eq!(message, "unrecognized subcommand 'lst'");
        assert_eq!(hint, "a similar subcommand exists: 'list'");
        assert_eq!(usage, "charter runs <COMMAND>");
        let (message, hint, _) = of(&["runs", "show"]);
        assert_eq!(
            message,
            "the following required arguments were not provided: <ID>"
        );
        assert_eq!(hint, HELP);
        let (message, hint, _) = of(&["schema", "list", "--output", "jsn"]);
        let values = "[possible values: table, json, yaml]";
        assert_eq!(
            message,
            format!("invalid value 'jsn' for '--output <OUTPUT>' {values}")
        );
        assert_eq!(hint, "a similar value exists: 'json'");
    }

    #[test]
    fn help_instead_of_a_command_is_reported_as_missing_command() {
        let (message, _, usage) = of(&["--output", "json", "runs"]);
        assert_eq!(message, "a command or an argument is missing");
        assert_eq!(usage, "charter runs <COMMAND>");
    }
}
