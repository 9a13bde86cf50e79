//! Routing tests from summaries: each must reach its own operation, and none of another group.

use std::collections::{BTreeMap, BTreeSet};

use charter_contract::bounds::IMPORT_TESTS;
use serde_json::{Value, json};

use super::PackageIds;
use super::names::NamedOperation;
use crate::text::words;

/// Fewest words of a summary that is specific enough for a test.
const MIN_WORDS: usize = 3;
/// Words that do not distinguish operations.
const COMMON: [&str; 16] = [
    "a", "an", "all", "and", "by", "for", "from", "in", "of", "on", "or", "the", "this", "to",
    "with", "your",
];

/// Returns the routing tests of a package: the first operation that reads and the first that writes of each group, then
/// the second ones, and so on. A summary that two operations share is no test.
pub(super) fn routing_tests(ids: &PackageIds, named: &[NamedOperation<'_>]) -> Vec<Value> {
    let mut titles: BTreeMap<String, usize> = BTreeMap::new();
    for each in named {
        *titles.entry(each.title.to_lowercase()).or_default() += 1;
    }
    let mut counts: BTreeMap<(&str, bool), usize> = BTreeMap::new();
    let mut ranked: Vec<(usize, usize)> = Vec::new();
    for (at, each) in named.iter().enumerate() {
        let is_unique = titles.get(&each.title.to_lowercase()) == Some(&1);
        if !is_unique || each.operation.deprecated || content_words(each).len() < MIN_WORDS {
            continue;
        }
        let key = (each.group.as_str(), each.operation.is_readonly());
        let count = counts.entry(key).or_default();
        ranked.push((*count, at));
        *count += 1;
    }
    ranked.sort_unstable();
    let tested = ranked.into_iter().take(IMPORT_TESTS);
    tested.map(|(_, at)| test(ids, named, at)).collect()
}

fn test(ids: &PackageIds, named: &[NamedOperation<'_>], at: usize) -> Value {
    let own = &named[at];
    let own_words = content_words(own);
    let mut others = named.iter().filter(|other| other.group != own.group);
    let other = others.find(|other| content_words(other).is_disjoint(&own_words));
    let mut test = json!({ "query": own.title, "expect": ids.task(own) });
    if let Some(other) = other {
        test["expect_not"] = json!([ids.task(other)]);
    }
    test
}

fn content_words(named: &NamedOperation<'_>) -> BTreeSet<String> {
    let all = words(&named.title).into_iter();
    all.filter(|word| !COMMON.contains(&word.as_str()))
        .collect()
}
