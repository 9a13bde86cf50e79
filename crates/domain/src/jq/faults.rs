//! Faults of filters, as messages with a location.

use jaq_core::compile::{Errors, Undefined};
use jaq_core::load::lex::Expect;

use charter_contract::validate::nearest;

/// The maximum number of reported faults of a filter.
const MOST_FAULTS: usize = 10;

/// The reason why a filter cannot be parsed.
pub(super) enum Fault<'s> {
    /// The lexer failed: the expected and the actual input.
    Lexed(Vec<(Expect<&'s str>, &'s str)>),
    /// The parser expected something other than this text.
    Expected(&'static str, &'s str),
    /// A part that is not allowed, and the reason.
    Refused(&'static str, &'s str),
    /// An invalid pattern in a call of this function.
    Pattern(String, &'s str),
}

impl Fault<'_> {
    /// Returns the message of the fault.
    pub(super) fn message(&self, source: &str) -> String {
        match self {
            Self::Lexed(faults) => {
                let faults = faults.iter().take(MOST_FAULTS);
                let faults = faults.map(|(wanted, found)| expected(source, wanted.as_str(), found));
                faults.collect::<Vec<_>>().join("; ")
            }
            Self::Expected(wanted, found) => expected(source, wanted, found),
            Self::Refused(reason, found) => {
                format!("`{}`: {reason} ({})", shown(found), place(source, found))
            }
            Self::Pattern(message, found) => {
                format!("`{}`: {message} ({})", shown(found), place(source, found))
            }
        }
    }
}

fn expected(source: &str, wanted: &str, found: &str) -> String {
    let instead = match shown(found).as_str() {
        "" => "the end of the filter".to_owned(),
        text => format!("`{text}`"),
    };
    format!(
        "expected {wanted}, found {instead} ({})",
        place(source, found)
    )
}

/// Returns the beginning of a part of the source.
fn shown(found: &str) -> String {
    let line = found.lines().next().unwrap_or_default();
    line.chars().take(20).collect()
}

/// Returns the location of a part of the source, as `line:column` of the filter. An empty part is the end.
fn place(source: &str, part: &str) -> String {
    let offset = (part.as_ptr() as usize).wrapping_sub(source.as_ptr() as usize);
    let before = source
        .get(..offset)
        .filter(|_| !part.is_empty())
        .unwrap_or(source);
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
    format!("{line}:{column}")
}

/// Functions and variables of jq that access anything outside a filter, with an alternative for each.
const OUTSIDE: [(&str, &str); 19] = [
    (
        "$ENV",
        "a filter has no environment: pass the value as a parameter of the tool",
    ),
    ("$__prog_args", "a filter has no arguments: use its input"),
    ("builtins", "the documentation lists the functions"),
    (
        "debug",
        "a filter has one output: emit the value while you try it",
    ),
    (
        "env",
        "a filter has no environment: pass the value as a parameter of the tool",
    ),
    ("get_jq_origin", "a filter cannot read files"),
    ("get_prog_origin", "a filter cannot read files"),
    ("get_search_list", "a filter cannot read files"),
    (
        "halt",
        "a filter ends with its outputs: use `empty`, or `error`",
    ),
    ("halt_error", "a filter ends with its outputs: use `error`"),
    ("input", "a filter has one input: use `.`"),
    ("input_filename", "a filter cannot read files"),
    ("input_line_number", "a filter cannot read files"),
    ("inputs", "a filter has one input: use `.`"),
    ("localtime", "a filter has no time zone: use `gmtime`"),
    ("modulemeta", "a filter cannot read files"),
    (
        "now",
        "a filter must be deterministic: take the time from its input",
    ),
    (
        "stderr",
        "a filter has one output: emit the value while you try it",
    ),
    ("strflocaltime", "a filter has no time zone: use `strftime`"),
];

/// Reports the undefined names of a filter. `known` holds the existing functions, with the number of their parameters.
pub(super) fn undefined(
    source: &str,
    errors: &Errors<&str, ()>,
    known: &[(&str, usize)],
) -> String {
    errors
        .iter()
        .flat_map(|(_, undefined)| undefined.iter())
        .take(MOST_FAULTS)
        .map(|(name, kind)| unknown(source, name, kind, known))
        .collect::<Vec<_>>()
        .join("; ")
}

fn unknown(source: &str, name: &str, kind: &Undefined, known: &[(&str, usize)]) -> String {
    let place = place(source, name);
    if let Some((_, instead)) = OUTSIDE.iter().find(|(outside, _)| *outside == name) {
        return format!("`{name}` is not available in filters ({place}): {instead}");
    }
    let what = kind.as_str();
    let Undefined::Filter(given) = kind else {
        return format!("the {what} `{name}` is not defined ({place})");
    };
    let mut counts: Vec<usize> = known
        .iter()
        .filter(|(other, _)| *other == name)
        .map(|(_, count)| *count)
        .collect();
    counts.sort_unstable();
    counts.dedup();
    if !counts.is_empty() {
        let counts: Vec<String> = counts.iter().map(usize::to_string).collect();
        let counts = counts.join(" or ");
        return format!(
            "the {what} `{name}` has {counts} arguments, and is called with {given} ({place})"
        );
    }
    let names = known.iter().map(|(name, _)| *name);
    match nearest(name, names) {
        Some(meant) => format!("the {what} `{name}` is not defined ({place}); {meant}"),
        None => format!("the {what} `{name}` is not defined ({place})"),
    }
}
