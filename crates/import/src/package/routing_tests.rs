//! Routing tests from summaries: each must reach its own operation, and none of another group.

use std::collections::{BTreeMap, BTreeSet};

use charter_contract::bounds::IMPORT_TESTS;
use serde_json::{Value, json};

use super::PackageIds;
use super::names::NamedOperation;
use crate::text::{shortened, words};

/// Fewest words of a summary that is specific enough for a test.
const MIN_WORDS: usize = 3;
/// Shortest word, in bytes, whose final `s` is that of a plural.
const MIN_STEM: usize = 3;
/// Characters of a summary in a note.
const NOTED: usize = 100;
/// Words that do not distinguish operations.
const COMMON: [&str; 16] = [
    "a", "an", "all", "and", "by", "for", "from", "in", "of", "on", "or", "the", "this", "to",
    "with", "your",
];

/// The routing tests of a package.
pub(super) struct SummaryTests {
    pub(super) tests: Vec<Value>,
    /// A note on the summaries that are no test, if there are any.
    pub(super) note: Option<String>,
}

/// Returns the routing tests of a package: the first operation that reads and the first that writes of each group, then
/// the second ones, and so on. A summary is no test if another one has the same words but for order, number and words
/// that do not distinguish operations. The others are advisory: a router may still take two for the same.
pub(super) fn routing_tests(ids: &PackageIds, named: &[NamedOperation<'_>]) -> SummaryTests {
    let mut titles: BTreeMap<BTreeSet<String>, usize> = BTreeMap::new();
    for each in named {
        *titles.entry(content_words(each)).or_default() += 1;
    }
    let mut counts: BTreeMap<(&str, bool), usize> = BTreeMap::new();
    let mut ranked: Vec<(usize, usize)> = Vec::new();
    let mut shared: Vec<&str> = Vec::new();
    for (at, each) in named.iter().enumerate() {
        let own = content_words(each);
        if each.operation.deprecated || own.len() < MIN_WORDS {
            continue;
        }
        if titles.get(&own) != Some(&1) {
            shared.push(each.title.as_str());
            continue;
        }
        let key = (each.group.as_str(), each.operation.is_readonly());
        let count = counts.entry(key).or_default();
        ranked.push((*count, at));
        *count += 1;
    }
    ranked.sort_unstable();
    let tested = ranked.into_iter().take(IMPORT_TESTS);
    SummaryTests {
        tests: tested.map(|(_, at)| test(ids, named, at)).collect(),
        note: note(&shared),
    }
}

/// Returns the note on operations whose summaries have the words of others.
fn note(shared: &[&str]) -> Option<String> {
    let first = shared.first()?;
    Some(format!(
        "{} operations have no routing test, because their summaries have the words of others, such as `{}`",
        shared.len(),
        shortened(first, NOTED).replace('`', "'")
    ))
}

fn test(ids: &PackageIds, named: &[NamedOperation<'_>], at: usize) -> Value {
    let own = &named[at];
    let own_words = content_words(own);
    let mut others = named.iter().filter(|other| other.group != own.group);
    let other = others.find(|other| content_words(other).is_disjoint(&own_words));
    let mut test = json!({ "query": own.title, "expect": ids.task(own), "advisory": true });
    if let Some(other) = other {
        test["expect_not"] = json!([ids.task(other)]);
    }
    test
}

/// Returns the words of a title that distinguish it, in the singular.
fn content_words(named: &NamedOperation<'_>) -> BTreeSet<String> {
    let all = words(&named.title).into_iter();
    let distinct = all.filter(|word| !COMMON.contains(&word.as_str()));
    distinct
        .map(|word| match word.strip_suffix('s') {
            Some(singular) if singular.len() >= MIN_STEM && !singular.ends_with('s') => {
                singular.to_owned()
            }
            Some(_) | None => word,
        })
        .collect()
}
