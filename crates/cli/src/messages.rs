//! Writes to standard error: notes, errors, the log. With `--output json` each line is a JSON object. If the reader of
//! standard error has gone, the command or server continues.

use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::sync::OnceLock;

use serde_json::{Value, json};

use crate::output;

/// Longest line on a wide terminal: longer ones are hard to read.
const MOST_COLUMNS: usize = 100;

/// The variable with the width of lines where there is no terminal.
const COLUMNS: &str = "COLUMNS";

/// The indentation of a continuation line.
const CONTINUED: usize = 2;

static FORM: OnceLock<Form> = OnceLock::new();

/// The form of standard error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Form {
    /// For people; broken between words where a terminal is narrower.
    #[default]
    Text,
    /// A JSON object on each line.
    JsonLines,
}

impl Form {
    /// The form that a command line selects, even if the rest of it cannot be parsed.
    pub(crate) fn asked(arguments: impl IntoIterator<Item = OsString>) -> Self {
        let mut form = Self::Text;
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            let output = match argument.to_str() {
                Some("--") => break,
                Some("--output") => arguments.next(),
                Some(argument) => argument.strip_prefix("--output=").map(OsString::from),
                None => None,
            };
            form = match output {
                Some(output) if output == "json" => Self::JsonLines,
                Some(_) => Self::Text,
                None => form,
            };
        }
        form
    }
}

/// Sets the form, once, before anything is written.
pub(crate) fn set_form(form: Form) {
    FORM.get_or_init(|| form);
}

/// The form in use.
pub(crate) fn form() -> Form {
    FORM.get().copied().unwrap_or_default()
}

/// Writes a note beside the output.
pub(crate) fn note(text: &str) {
    line(&match form() {
        Form::Text => wrapped(text),
        Form::JsonLines => json!({ "message": text }).to_string(),
    });
}

/// Writes a note with its facts, which are an object: for people only the facts as a table, in JSON both.
pub(crate) fn note_facts(note: &str, mut facts: Value) {
    line(&match form() {
        Form::Text => wrapped(&output::fields(&facts)),
        Form::JsonLines => {
            facts["message"] = note.into();
            facts.to_string()
        }
    });
}

/// Writes a line unchanged. The line is lost if standard error is closed.
pub(crate) fn line(text: &str) {
    let whole = format!("{text}\n");
    std::io::stderr().lock().write_all(whole.as_bytes()).ok();
}

/// Wraps a text to the terminal's width; returns it unchanged if the width is unknown.
pub(crate) fn wrapped(text: &str) -> String {
    match columns() {
        Some(columns) => filled(text, columns.min(MOST_COLUMNS)),
        None => text.to_owned(),
    }
}

/// The terminal's width in columns. If standard error is not a terminal, COLUMNS sets the width, as for the help.
fn columns() -> Option<usize> {
    let stderr = std::io::stderr();
    let columns = if stderr.is_terminal() {
        usize::from(terminal_size::terminal_size_of(&stderr)?.0.0)
    } else {
        std::env::var(COLUMNS).ok()?.parse().ok()?
    };
    Some(columns).filter(|columns| *columns > 0)
}

/// Breaks each line of a text between words if it is longer than `most`.
fn filled(text: &str, most: usize) -> String {
    let lines = text.lines().map(|line| filled_line(line, most));
    lines.collect::<Vec<_>>().join("\n")
}

fn filled_line(line: &str, most: usize) -> String {
    if line.chars().count() <= most {
        return line.to_owned();
    }
    let words = line.trim_start_matches(' ');
    let margin = line.len() - words.len();
    let mut filled = " ".repeat(margin);
    let mut used = margin;
    for (at, word) in words.split(' ').enumerate() {
        let length = word.chars().count();
        if at > 0 && used + 1 + length > most {
            used = margin + CONTINUED;
            filled.push('\n');
            filled.push_str(&" ".repeat(used));
        } else if at > 0 {
            filled.push(' ');
            used += 1;
        }
        filled.push_str(word);
        used += length;
    }
    filled
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(arguments: &[&str]) -> Form {
        Form::asked(arguments.iter().map(OsString::from))
    }

    #[test]
    fn the_form_follows_the_last_output_that_is_asked_for() {
        for arguments in [
            &["list", "skill", "--output", "json"][..],
            &["--output=json", "no-such-command"],
            &["--output", "yaml", "list", "--output", "json"],
        ] {
            assert_eq!(asked(arguments), Form::JsonLines, "{arguments:?}");
        }
        for arguments in [
            &["list", "skill"][..],
            &["--output", "table", "json"],
            &["--output", "json", "--output=yaml"],
            &["ask", "--", "--output", "json"],
            &["--output"],
        ] {
            assert_eq!(asked(arguments), Form::Text, "{arguments:?}");
        }
    }

    #[test]
    fn a_long_line_is_broken_between_words_and_continues_further_in() {
        let text = "error: the file cannot be read\n  hint: name another file or make this one";
        let shown = "error: the file\n  cannot be read\n  hint: name another\n    file or make\n    this one";
        assert_eq!(filled(text, 20), shown);
        let path = "/a/path/that/is/longer/than/any/line";
        assert_eq!(filled(path, 10), path);
        assert_eq!(filled("short\n\n  as it is", 80), "short\n\n  as it is");
    }

    #[test]
    fn no_word_is_lost_or_split_at_any_width() {
        let text = "error[not_found]: there is no skill `café`; did you mean `cafés`? It has several words";
        for most in 18..100 {
            let shown = filled(text, most);
            let longest = shown.lines().map(|line| line.chars().count()).max();
            assert!(longest <= Some(most), "{most}: {shown}");
            let found: Vec<&str> = shown.split_whitespace().collect();
            assert_eq!(found.join(" "), text, "{most}");
        }
    }
}
