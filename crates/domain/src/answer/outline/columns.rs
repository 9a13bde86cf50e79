//! Which columns of a list of objects tell most: those that name a thing, say how it stands, differ from row to row and
//! are short.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::brief::brief;
use super::says;
use crate::answer::claims::words;

/// Rows that columns are judged by.
const JUDGED: usize = 500;
/// Columns that are judged.
const KNOWN: usize = 200;
/// Columns of a table.
const SHOWN: usize = 6;
/// Columns with one value in all rows that are written out.
const COMMON: usize = 5;
/// Characters of a value that is compared.
const COMPARED: usize = 80;
/// Characters from which a text is long.
const LONG: usize = 60;

/// Last words of the names of columns that name a thing.
const NAMING: &[&str] = &[
    "id", "name", "arn", "key", "title", "number", "order", "email", "host", "hostname", "path",
    "url",
];
/// Last words of the names of columns that say how a thing stands.
const STANDING: &[&str] = &[
    "severity", "status", "state", "stage", "type", "kind", "level", "score", "result", "priority",
];

/// The columns of a list.
pub(super) struct Columns<'v> {
    /// Those that tell most, in the order in which they are shown.
    pub(super) telling: Vec<&'v str>,
    /// Those with one value in all rows, with it.
    pub(super) common: Vec<(&'v str, String)>,
    /// How many others there are.
    pub(super) others: usize,
}

/// What is known of one column.
#[derive(Default)]
struct Column {
    place: usize,
    /// Rows in which it says something.
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
        // What names the thing comes first; the rest stands as in the rows.
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

    /// How much it tells. Larger is more.
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

/// What a schema says for a column: that it is there, and that it always is.
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

/// Whether the last word of a column's name is one of these.
fn names(name: &str, words_of: &[&str]) -> bool {
    let last = words(name).pop();
    last.is_some_and(|last| words_of.contains(&last.as_str()))
}
