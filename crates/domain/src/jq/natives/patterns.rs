//! Regular expressions: jq's Oniguruma syntax, translated for `fancy-regex`. Matching ends with an error at a bound.

mod syntax;

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use fancy_regex::{Captures, Match, Regex, RegexBuilder};
use jaq_core::native::{bome, v};

use self::syntax::Part;
use super::Plain;
use super::values::object;
use crate::jq::value::{JqValue, Outcome, fault, unfit};

/// The maximum number of backtracking steps of one search.
const BACKTRACKS: usize = 1_000_000;

/// The estimated size of a compiled pattern, in bytes.
const COMPILED_BYTES: usize = 4 << 20;

/// The number of compiled patterns that are cached.
const KEPT: usize = 64;

/// The letters that change the interpretation of a pattern or the search.
const FLAGS: &str = "gimnpslx";

/// The flag that allows spaces and comments in a pattern.
const EXTENDED: char = 'x';

thread_local! {
    static COMPILED: RefCell<HashMap<(String, String), Rc<Regex>>> = RefCell::default();
}

pub(super) fn filters() -> Box<[Plain]> {
    Box::new([
        ("_test", v(2), |mut cv| {
            let flags = cv.0.pop_var();
            let pattern = cv.0.pop_var();
            bome(Search::read(&cv.1, &pattern, &flags).and_then(|search| search.test()))
        }),
        ("_matches", v(2), |mut cv| {
            let flags = cv.0.pop_var();
            let pattern = cv.0.pop_var();
            bome(Search::read(&cv.1, &pattern, &flags).and_then(|search| search.matches()))
        }),
        ("_pieces", v(2), |mut cv| {
            let flags = cv.0.pop_var();
            let pattern = cv.0.pop_var();
            bome(Search::read(&cv.1, &pattern, &flags).and_then(|search| search.pieces()))
        }),
    ])
}

/// Checks that a pattern is valid with these flags.
///
/// # Errors
/// The message of the fault.
pub(in crate::jq) fn check(pattern: &str, flags: &str) -> Result<(), String> {
    compile(pattern, flags).map(drop)
}

fn compile(pattern: &str, flags: &str) -> Result<Regex, String> {
    if !flags.chars().all(|flag| FLAGS.contains(flag)) {
        return Err(format!("{flags} is not a valid modifier string"));
    }
    let has = |flag: char| flags.contains(flag);
    let pattern = syntax::written(pattern, has(EXTENDED));
    let pattern = pattern.map_err(|fault| format!("Regex failure: {fault}"))?;
    let mut builder = RegexBuilder::new(&pattern);
    builder
        .oniguruma_mode(true)
        .case_insensitive(has('i'))
        .ignore_whitespace(has(EXTENDED))
        .dot_matches_new_line(has('m') || has('p'))
        .leftmost_longest(has('l'))
        .find_not_empty(has('n'))
        .backtrack_limit(BACKTRACKS)
        .delegate_size_limit(COMPILED_BYTES);
    builder
        .build()
        .map_err(|error| format!("Regex failure: {error}"))
}

/// A search for a pattern in a text.
struct Search<'v> {
    text: &'v str,
    flags: &'v str,
    regex: Rc<Regex>,
}

impl<'v> Search<'v> {
    fn read(text: &'v JqValue, pattern: &JqValue, flags: &'v JqValue) -> Outcome<Self> {
        let JqValue::Text(text) = text else {
            return Err(unfit(text, "cannot be matched, as it is not a string"));
        };
        let JqValue::Text(pattern) = pattern else {
            return Err(unfit(pattern, "is not a string"));
        };
        let flags = match flags {
            JqValue::Null => "",
            JqValue::Text(flags) => flags.as_str(),
            other => return Err(unfit(other, "is not a string")),
        };
        let regex = compiled(&ending_at_lines(pattern, flags, text), flags).map_err(fault)?;
        Ok(Self { text, flags, regex })
    }

    fn test(&self) -> Outcome {
        let found = self
            .regex
            .is_match(self.text)
            .map_err(|error| failed(&error))?;
        Ok(JqValue::Bool(found))
    }

    fn matches(&self) -> Outcome {
        let mut place = TextOffset::default();
        let found = self.found()?;
        Ok(found
            .iter()
            .map(|captures| self.described(captures, &mut place))
            .collect())
    }

    /// Returns the text before the first match, the match, the text up to the next match, and so on, and the text after
    /// the last match.
    fn pieces(&self) -> Outcome {
        let mut place = TextOffset::default();
        let mut pieces = Vec::new();
        let mut rest = 0;
        for captures in self.found()? {
            let Some(whole) = captures.get(0) else {
                continue;
            };
            let between = self.text.get(rest..whole.start()).unwrap_or_default();
            pieces.push(JqValue::text(between));
            pieces.push(self.described(&captures, &mut place));
            rest = whole.end();
        }
        let after = self.text.get(rest..).unwrap_or_default();
        pieces.push(JqValue::text(after));
        Ok(JqValue::list(pieces))
    }

    /// Returns the first match, or all matches.
    fn found(&self) -> Outcome<Vec<Captures<'v, str>>> {
        let mut found = Vec::new();
        let mut from = 0;
        while from <= self.text.len() {
            let next = self.regex.captures_from_pos(self.text, from);
            let Some(captures) = next.map_err(|error| failed(&error))? else {
                break;
            };
            let Some(whole) = captures.get(0) else {
                break;
            };
            from = self.after(&whole, from);
            found.push(captures);
            if !self.flags.contains('g') {
                break;
            }
        }
        Ok(found)
    }

    /// Returns the position at which the search continues after a match; `from` is the position where the previous
    /// search began.
    fn after(&self, found: &Match<'_>, from: usize) -> usize {
        let end = found.end();
        if end > from && end > found.start() {
            return end;
        }
        let end = end.max(from);
        let rest = self.text.get(end..).unwrap_or_default();
        rest.chars()
            .next()
            .map_or(self.text.len() + 1, |c| end + c.len_utf8())
    }

    fn described(&self, captures: &Captures<'v, str>, place: &mut TextOffset) -> JqValue {
        let [offset, length, string] = self.part(captures.get(0), place);
        let names = self.regex.capture_names().enumerate().skip(1);
        let captures = names.map(|(group, name)| {
            let [offset, length, string] = self.part(captures.get(group), place);
            let name = name.map_or(JqValue::Null, JqValue::text);
            object([
                ("offset", offset),
                ("length", length),
                ("string", string),
                ("name", name),
            ])
        });
        let captures: JqValue = captures.collect();
        object([
            ("offset", offset),
            ("length", length),
            ("string", string),
            ("captures", captures),
        ])
    }

    /// Returns the offset and the length of a part, in characters, and its text.
    fn part(&self, found: Option<Match<'_>>, place: &mut TextOffset) -> [JqValue; 3] {
        let Some(found) = found else {
            return [JqValue::number(-1_i64), JqValue::count(0), JqValue::Null];
        };
        let text = found.as_str();
        [
            JqValue::count(place.reach(self.text, found.start())),
            JqValue::count(text.chars().count()),
            JqValue::text(text),
        ]
    }
}

/// A position in a text, in bytes and in characters.
#[derive(Default)]
struct TextOffset {
    byte: usize,
    character: usize,
}

impl TextOffset {
    /// Moves to a byte position, and returns the number of the character there.
    fn reach(&mut self, text: &str, byte: usize) -> usize {
        if byte < self.byte {
            *self = Self::default();
        }
        let between = text.get(self.byte..byte).unwrap_or_default();
        self.character += between.chars().count();
        self.byte = byte;
        self.character
    }
}

fn failed(error: &fancy_regex::Error) -> crate::jq::value::Error {
    fault(format!("Regex failure: {error}"))
}

fn compiled(pattern: &str, flags: &str) -> Result<Rc<Regex>, String> {
    COMPILED.with_borrow_mut(|kept| {
        let key = (pattern.to_owned(), flags.to_owned());
        if let Some(regex) = kept.get(&key) {
            return Ok(regex.clone());
        }
        let regex = Rc::new(compile(pattern, flags)?);
        if kept.len() == KEPT {
            kept.clear();
        }
        kept.insert(key, regex.clone());
        Ok(regex)
    })
}

/// Adapts a pattern to a text, so that its `$` also matches before a line end at the end of the text.
fn ending_at_lines<'p>(pattern: &'p str, flags: &str, text: &str) -> Cow<'p, str> {
    let sets_lines = |options: &str| {
        let letters = options.chars();
        let mut letters = letters.take_while(|c| c.is_ascii_alphabetic() || *c == '-');
        letters.any(|c| c == 'm')
    };
    let lines = pattern.split("(?").skip(1).any(sets_lines);
    if lines || !text.ends_with('\n') || !pattern.contains('$') {
        return Cow::Borrowed(pattern);
    }
    let parts = syntax::parts(pattern, flags.contains(EXTENDED));
    let parts = parts.into_iter().map(|part| match part {
        Part::Plain("$") => r"(?=\n?\z)",
        Part::Escape(text) | Part::Class(text) | Part::Interval(text) | Part::Plain(text) => text,
    });
    Cow::Owned(parts.collect())
}
