//! Regular expressions of `matches`. CEL compiles a pattern at every call, without a size limit. Here, literal patterns
//! are compiled together with the expression, and all patterns are bounded.

use std::collections::BTreeMap;

use cel::IdedExpr;
use cel::common::ast::{CallExpr, EntryExpr, Expr, LiteralValue};
use charter_contract::bounds::{CEL_PATTERN_BYTES, CEL_PATTERN_MEMORY};
use regex::{Regex, RegexBuilder};

use super::{ExpressionError, shortened};

/// The work of matching a byte of text with a program of the maximum size.
const MATCHED_BYTE: u64 = 16;

/// The work of compiling a byte of a regular expression.
const COMPILED_BYTE: u64 = 200;

/// The work of case folding a class: each of its characters is visited.
const FOLDED_CLASS: u64 = 20_000;

/// The maximum work of compiling an accepted regular expression.
const COMPILED_ANY: u64 = 200_000;

/// The maximum number of classes in a case-insensitive pattern that may contain most of Unicode.
const MAX_FOLDED_CLASSES: u64 = 4;

/// The compiled literal patterns of an expression.
#[derive(Debug)]
pub(super) struct Patterns(BTreeMap<String, Regex>);

impl Patterns {
    /// Compiles the literal patterns of an expression.
    ///
    /// # Errors
    /// [`ExpressionError::Pattern`].
    pub(super) fn compile(expression: &IdedExpr) -> Result<Self, ExpressionError> {
        let mut patterns = BTreeMap::new();
        collect(expression, &mut patterns)?;
        Ok(Self(patterns))
    }

    /// Returns the number of patterns.
    pub(super) fn count(&self) -> usize {
        self.0.len()
    }

    /// Returns the work of compiling the patterns.
    pub(super) fn work(&self) -> u64 {
        let patterns = self.0.keys();
        let work = patterns.map(|pattern| {
            let classes = FOLDED_CLASS.saturating_mul(folded_classes(pattern));
            classes.saturating_add(COMPILED_BYTE.saturating_mul(pattern.len() as u64))
        });
        work.fold(0, u64::saturating_add)
    }

    /// Returns whether a text matches.
    ///
    /// # Errors
    /// [`ExpressionError::Pattern`].
    pub(super) fn matches(&self, text: &str, pattern: &str) -> Result<bool, ExpressionError> {
        match self.0.get(pattern) {
            Some(compiled) => Ok(compiled.is_match(text)),
            None => Ok(compile(pattern)?.is_match(text)),
        }
    }
}

/// Returns the work of matching a text; `literal` if the pattern is compiled already.
pub(super) fn work_on(bytes: u64, literal: bool) -> u64 {
    let compiling = if literal { MATCHED_BYTE } else { COMPILED_ANY };
    compiling.saturating_add(MATCHED_BYTE.saturating_mul(bytes))
}

fn compile(pattern: &str) -> Result<Regex, ExpressionError> {
    let refused = |reason: String| ExpressionError::Pattern {
        pattern: shortened(&pattern),
        reason,
    };
    if pattern.len() > CEL_PATTERN_BYTES {
        let reason = format!("it is longer than {CEL_PATTERN_BYTES} bytes; write a shorter one");
        return Err(refused(reason));
    }
    if folded_classes(pattern) > MAX_FOLDED_CLASSES {
        let reason = format!(
            "under `(?i)` it has more than {MAX_FOLDED_CLASSES} of `\\p`, `\\P` and of `\\w` and the like within \
             brackets; name the characters"
        );
        return Err(refused(reason));
    }
    RegexBuilder::new(pattern)
        .size_limit(CEL_PATTERN_MEMORY)
        .dfa_size_limit(CEL_PATTERN_MEMORY)
        .build()
        .map_err(|error| refused(shortened(&error)))
}

/// Counts the case-insensitive classes of a pattern that may contain most of Unicode, because case folding visits each
/// character. There are none in a pattern without `(?i)`.
fn folded_classes(pattern: &str) -> u64 {
    if !is_insensitive(pattern) {
        return 0;
    }
    let mut classes = 0;
    // The number of brackets around the current position. The first character after an opening bracket never closes it.
    let mut brackets: usize = 0;
    let mut first = false;
    let mut escaped = false;
    for character in pattern.chars() {
        let within = brackets > 0;
        match character {
            'p' | 'P' if escaped => classes += 1,
            letter if escaped => classes += u64::from(within && letter.is_alphanumeric()),
            '[' => brackets += 1,
            ']' if within && !first => brackets -= 1,
            other => classes += u64::from(within && !other.is_ascii()),
        }
        first = !escaped && (character == '[' || (first && character == '^'));
        escaped = !escaped && character == '\\';
    }
    classes
}

/// Returns whether any part of a pattern is case-insensitive: `(?i)`, `(?s-i:…)` and similar flags.
fn is_insensitive(pattern: &str) -> bool {
    pattern.split("(?").skip(1).any(|group| {
        let flags = group.trim_start_matches(|c: char| c.is_ascii_alphabetic() || c == '-');
        let flags = group.strip_suffix(flags).unwrap_or_default();
        flags.contains('i')
    })
}

fn collect(
    expression: &IdedExpr,
    patterns: &mut BTreeMap<String, Regex>,
) -> Result<(), ExpressionError> {
    if let Expr::Call(call) = &expression.expr {
        written(call, patterns)?;
    }
    let mut parts = parts(expression).into_iter();
    parts.try_for_each(|part| collect(part, patterns))
}

/// Returns the direct subexpressions.
pub(super) fn parts(expression: &IdedExpr) -> Vec<&IdedExpr> {
    match &expression.expr {
        Expr::Unspecified | Expr::Literal(_) | Expr::Ident(_) => Vec::new(),
        Expr::Select(select) => vec![&*select.operand],
        Expr::Call(call) => {
            let target = call.target.iter().map(AsRef::as_ref);
            target.chain(&call.args).collect()
        }
        Expr::List(list) => list.elements.iter().collect(),
        Expr::Map(map) => map.entries.iter().flat_map(|e| fields(&e.expr)).collect(),
        Expr::Struct(made) => made.entries.iter().flat_map(|e| fields(&e.expr)).collect(),
        Expr::Comprehension(looped) => vec![
            &looped.iter_range,
            &looped.accu_init,
            &looped.loop_cond,
            &looped.loop_step,
            &looped.result,
        ],
    }
}

fn fields(entry: &EntryExpr) -> Vec<&IdedExpr> {
    match entry {
        EntryExpr::StructField(field) => vec![&field.value],
        EntryExpr::MapEntry(entry) => vec![&entry.key, &entry.value],
    }
}

/// Compiles the pattern of a `matches` call, if it is a literal.
fn written(call: &CallExpr, patterns: &mut BTreeMap<String, Regex>) -> Result<(), ExpressionError> {
    let Some(Expr::Literal(LiteralValue::String(pattern))) =
        call.args.last().map(|pattern| &pattern.expr)
    else {
        return Ok(());
    };
    if call.func_name == "matches" && !patterns.contains_key(pattern.inner()) {
        patterns.insert(pattern.inner().to_owned(), compile(pattern.inner())?);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_count_where_each_of_their_characters_is_made_insensitive_to_case() {
        let cases = [
            (r"\p{L}[\w\d]", 0),
            (r"(?P<i>\p{L})", 0),
            (r"(?i)\w+\d[a-z]", 0),
            (r"(?i)\p{L}\PL", 2),
            (r"(?s-i:a)[\w]", 1),
            (r"(?i)[\w.-]+@[^\s]", 2),
            (r"(?i)[]\w]", 1),
            (r"(?i)[^]\w]\w", 1),
            (r"(?i)\[\w]", 0),
            ("(?i)[\u{1}-\u{10ffff}]", 1),
            (r"(?i)[[:alpha:]\w]", 1),
        ];
        for (pattern, classes) in cases {
            assert_eq!(folded_classes(pattern), classes, "{pattern}");
        }
    }

    #[test]
    fn a_pattern_that_is_long_large_or_folds_much_is_refused_and_a_usual_one_is_not() {
        let usual = [
            r"^sg-[0-9a-f]{8,17}$",
            r"(?i)^[\w.+-]+@[\w-]+\.[a-z]{2,}$",
            r"^\w+/\w+$",
        ];
        for pattern in usual {
            assert!(compile(pattern).is_ok(), "{pattern}");
        }
        let folding = format!("(?i){}", r"[\w\W]".repeat(80));
        let refused = [
            (
                "a".repeat(CEL_PATTERN_BYTES + 1),
                "it is longer than 512 bytes",
            ),
            (
                r"(\w{500}){500}".to_owned(),
                "Compiled regex exceeds size limit",
            ),
            (folding, "under `(?i)` it has more than 4"),
            ("(".to_owned(), "regex parse error"),
        ];
        for (pattern, reason) in refused {
            let error = compile(&pattern).unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
    }
}
