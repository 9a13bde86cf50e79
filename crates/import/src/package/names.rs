//! Names and ids of documents: valid, unique, and the same each time a document is imported.

use std::collections::BTreeSet;

use charter_contract::hex;
use sha2::{Digest, Sha256};

use crate::api::Operation;
use crate::text::{snake, unpunctuated, words};

/// Longest part of an id that comes from the API, in bytes.
const MAX_NAME: usize = 100;
/// Longest prefix, in bytes.
const MAX_PREFIX: usize = 60;
/// Prefixes that mean something else: domains of Charter, imported tools, tools of agent skills, sources of values.
const RESERVED: [&str; 13] = [
    "agent_skills",
    "mcp",
    "charter",
    "user",
    "env",
    "platform",
    "security",
    "cost",
    "reliability",
    "compliance",
    "performance",
    "architecture",
    "general",
];

/// An operation with its names.
#[derive(Debug, Clone)]
pub(super) struct NamedOperation<'a> {
    pub(super) operation: &'a Operation,
    /// Its part of ids.
    pub(super) name: String,
    /// Its group's part of ids.
    pub(super) group: String,
    /// Its title: the summary, or words of its id.
    pub(super) title: String,
}

/// Returns the prefix of all ids of an import.
pub(super) fn prefix(package: &str) -> String {
    let prefix = snake(package, MAX_PREFIX);
    match prefix.as_str() {
        "" => "api".to_owned(),
        reserved if RESERVED.contains(&reserved) => format!("{reserved}_api"),
        _ => prefix,
    }
}

/// Returns the part of an id for a group of operations.
pub(super) fn group_name(group: &str) -> String {
    match snake(group, MAX_NAME).as_str() {
        "" => format!("group_{}", short_digest(group)),
        name => name.to_owned(),
    }
}

/// Names operations. An id that several operations have stays with the first by path and method; the others get their
/// method and path.
pub(super) fn named(operations: &[Operation]) -> Vec<NamedOperation<'_>> {
    let mut order: Vec<usize> = (0..operations.len()).collect();
    order.sort_by_key(|at| (&operations[*at].path, operations[*at].method));
    let mut names = vec![String::new(); operations.len()];
    let mut used = BTreeSet::new();
    for at in order {
        let operation = &operations[at];
        let by_path = format!("{} {}", operation.method, operation.path);
        let own = operation.operation_id.as_deref().unwrap_or(&by_path);
        let own = snake(own, MAX_NAME);
        let name = [own, snake(&by_path, MAX_NAME)]
            .into_iter()
            .find(|name| !name.is_empty() && !used.contains(name))
            .unwrap_or_else(|| unused(&by_path, &used));
        used.insert(name.clone());
        names[at] = name;
    }
    let named = operations.iter().zip(names);
    named
        .map(|(operation, name)| NamedOperation {
            group: group_name(operation.group()),
            title: title(operation),
            operation,
            name,
        })
        .collect()
}

/// Returns a name with a digest, which no operation has: another operation may have chosen a name with one.
fn unused(by_path: &str, used: &BTreeSet<String>) -> String {
    let name = snake(by_path, MAX_NAME - 20);
    let digests = (0_u64..).map(|number| match number {
        0 => short_digest(by_path),
        number => short_digest(&format!("{by_path} {number}")),
    });
    let mut names = digests.map(|digest| format!("{name}_{digest}"));
    names.find(|name| !used.contains(name)).unwrap_or_default()
}

fn short_digest(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    hex::encode(&digest)[..8].to_owned()
}

/// Returns the title of an operation in words.
fn title(operation: &Operation) -> String {
    let summary = unpunctuated(&operation.summary);
    if !summary.is_empty() {
        return summary.to_owned();
    }
    let words = match operation.operation_id.as_deref() {
        Some(id) if words(id).len() > 1 => words(id),
        Some(_) | None => words(&format!("{} {}", operation.method, operation.path)),
    };
    let title = words.join(" ");
    let mut letters = title.chars();
    match letters.next() {
        Some(first) => format!("{}{}", first.to_ascii_uppercase(), letters.as_str()),
        None => operation.heading(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::package::sample::operation;

    #[test]
    fn ids_are_valid_and_unique_and_do_not_depend_on_the_order() {
        let operations = [
            operation("GET", "/b", Some("list")),
            operation("GET", "/a", Some("list")),
            operation("POST", "/a", Some("List")),
            operation("GET", "/a/{id}.json", None),
            operation("GET", "/ü", Some("日本")),
        ];
        let names = |operations: &[Operation]| -> Vec<String> {
            named(operations)
                .into_iter()
                .map(|named| named.name)
                .collect()
        };
        assert_eq!(
            names(&operations),
            ["get_b", "list", "post_a", "get_a_id_json", "get"]
        );
        let mut turned = operations.to_vec();
        turned.reverse();
        let mut turned = names(&turned);
        turned.reverse();
        assert_eq!(turned, names(&operations));
    }

    #[test]
    fn a_name_with_a_digest_that_another_operation_chose_is_not_used_again() {
        let chosen = format!("get_c_{}", short_digest("GET /c"));
        let operations = [
            operation("GET", "/a", Some("get_c")),
            operation("GET", "/b", Some(&chosen)),
            operation("GET", "/c", Some("get_c")),
        ];
        let names: BTreeSet<String> = named(&operations)
            .into_iter()
            .map(|named| named.name)
            .collect();
        assert_eq!(names.len(), 3, "{names:?}");
        assert!(names.contains(&chosen), "{names:?}");
    }

    #[test]
    fn a_prefix_is_no_name_of_charters_own() {
        for (package, expected) in [
            ("petStore-v2", "pet_store_v2"),
            ("mcp", "mcp_api"),
            ("security", "security_api"),
            ("…", "api"),
        ] {
            assert_eq!(prefix(package), expected);
        }
    }

    #[test]
    fn a_title_is_the_summary_or_words() {
        let mut listed = operation("GET", "/pets", Some("listPets"));
        assert_eq!(title(&listed), "List pets");
        listed.summary = "Lists pets.".to_owned();
        assert_eq!(title(&listed), "Lists pets");
        assert_eq!(title(&operation("GET", "/pets", None)), "Get pets");
    }
}
