//! Selects the most informative columns of a list of objects: those that name a thing, show its state, differ between
//! rows and are short.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::brief::brief;
use super::says;
use crate::answer::claims::words;

/// The maximum number of rows that are analysed.
const JUDGED: usize = 500;
/// The maximum number of columns that are analysed.
const KNOWN: usize = 200;
/// The maximum number of columns of a table.
const SHOWN: usize = 6;
/// The maximum number of constant columns that are shown.
const COMMON: usize = 5;
/// The number of characters of a value that are compared.
const COMPARED: usize = 80;
/// The length from which a text counts as long, in characters.
const LONG: usize = 60;

/// Last words of column names that identify a thing.
const NAMING: &[&str] = &[
    "id", "name", "arn", "key", "title", "number", "order", "email", "host", "hostname", "path",
    "url",
];
/// Last words of column names that describe a thing's state.
const STANDING: &[&str] = &[
    "severity", "status", "state", "stage", "type", "kind", "level", "score", "result", "priority",
];

/// The columns of a list.
pub(super) struct Columns<'v> {
    /// The most informative columns, in display order.
    pub(super) telling: Vec<&'v str>,
    /// Constant columns, with their value.
    pub(super) common: Vec<(&'v str, String)>,
    /// The number of other columns.
    pub(super) others: usize,
}

/// Statistics of one column.
#[derive(Default)]
struct Column {
    place: usize,
    /// The number of rows with a value that carries information.
    filled: usize,
    values: BTreeSet<String>,
    letters: usize,
    nested: usize,
}

impl<'v> Columns<'v> {
    pub(super) fn from_rows(
        rows: &[&'v Map<String, Value>],
        schema: Option<&Map<String, Value>>,
    ) -> Self {
        let known = known(rows);
        let rows = rows.len().min(JUDGED);
        let is_common =
            |column: &Column| rows > 1 && column.filled == rows && column.values.len() == 1;
        let (common, differing): (Vec<_>, Vec<_>) =
            known.into_iter().partition(|(_, column)| is_common(column));
        let mut scored: Vec<(i64, usize, &str)> = differing
            .iter()
            .filter(|(_, column)| column.filled > 0)
            .map(|(name, column)| (column.score(name, rows, schema), column.place, *name))
            .collect();
        let all = scored.len();
        scored.sort_by_key(|(score, place, _)| (-score, *place));
        scored.truncate(SHOWN);
        // Identifying columns come first; the others keep the order of the rows.
        scored.sort_by_key(|(_, place, name)| (!names(name, NAMING), *place));
        let telling: Vec<&str> = scored.into_iter().map(|(.., name)| name).collect();
        let others = all - telling.len() + common.len().saturating_sub(COMMON);
        let common = common.into_iter().take(COMMON);
        let common =
            common.filter_map(|(name, column)| Some((name, column.values.first()?.clone())));
        Self {
            common: common.collect(),
            telling,
            others,
        }
    }
}

fn known<'v>(rows: &[&'v Map<String, Value>]) -> BTreeMap<&'v str, Column> {
    let mut known: BTreeMap<&str, Column> = BTreeMap::new();
    for row in rows.iter().take(JUDGED) {
        for (name, value) in *row {
            let count = known.len();
            if count >= KNOWN && !known.contains_key(name.as_str()) {
                continue;
            }
            let column = known.entry(name).or_insert_with(|| Column {
                place: count,
                ..Column::default()
            });
            column.take(value);
        }
    }
    known
}

impl Column {
    fn take(&mut self, value: &Value) {
        if !says(value) {
            return;
        }
        let shown = brief(value, COMPARED);
        self.filled += 1;
        self.letters += shown.chars().count();
        self.nested += usize::from(value.is_object() || value.is_array());
        self.values.insert(shown);
    }

    /// Returns how informative the column is; larger is better.
    fn score(&self, name: &str, rows: usize, schema: Option<&Map<String, Value>>) -> i64 {
        let share = |part: usize| i64::try_from(part * 100 / rows.max(1)).unwrap_or(100);
        let differs = self.values.len() > 1;
        let mut score = share(self.filled);
        score += if differs { 50 } else { -50 };
        if names(name, NAMING) {
            score += share(self.values.len()) * 2;
        }
        if names(name, STANDING) {
            score += 120;
        }
        if self.nested > 0 {
            score -= 40;
        }
        if self.letters > self.filled * LONG {
            score -= 80;
        }
        score + declared(name, schema)
    }
}

/// Returns the score that a schema adds to a column that it declares or requires.
fn declared(name: &str, schema: Option<&Map<String, Value>>) -> i64 {
    let Some(schema) = schema else {
        return 0;
    };
    let is_declared = schema
        .get("properties")
        .and_then(|all| all.get(name))
        .is_some();
    let required = schema.get("required").and_then(Value::as_array);
    let mut required = required.into_iter().flatten();
    let is_required = required.any(|one| one.as_str() == Some(name));
    30 * i64::from(is_declared) + 30 * i64::from(is_required)
}

/// Returns whether the last word of a column's name is one of these.
fn names(name: &str, words_of: &[&str]) -> bool {
    let last = words(name).pop();
    last.is_some_and(|last| words_of.contains(&last.as_str()))
}
