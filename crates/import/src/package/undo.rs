//! Pairs of operations of which one takes back the other: create and delete, enable and disable, add and remove.
//!
//! They are proposals: names and paths suggest them, and the reviewer of the package decides.

use std::collections::BTreeMap;

use charter_contract::catalogue::tool::HttpMethod;
use serde_json::{Map, Value};

use super::names::NamedOperation;
use super::tool::{output_schema, placeholder};
use super::{PackageIds, STEP};
use crate::api::{Argument, ArgumentLocation, Operation};
use crate::text::words;

/// Verbs, each with one that takes it back.
const VERBS: [(&str, &str); 24] = [
    ("enable", "disable"),
    ("activate", "deactivate"),
    ("add", "remove"),
    ("lock", "unlock"),
    ("start", "stop"),
    ("open", "close"),
    ("archive", "unarchive"),
    ("suspend", "unsuspend"),
    ("suspend", "resume"),
    ("pause", "resume"),
    ("publish", "unpublish"),
    ("attach", "detach"),
    ("assign", "unassign"),
    ("follow", "unfollow"),
    ("block", "unblock"),
    ("subscribe", "unsubscribe"),
    ("pin", "unpin"),
    ("mute", "unmute"),
    ("star", "unstar"),
    ("grant", "revoke"),
    ("link", "unlink"),
    ("join", "leave"),
    ("register", "unregister"),
    ("connect", "disconnect"),
];

/// The call that takes an operation back.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Reversal {
    /// Id of the tool.
    pub(super) tool: String,
    /// Its arguments.
    pub(super) parameters: Map<String, Value>,
}

/// Returns the reversals of the operations of one package, by index.
pub(super) fn reversals(
    ids: &PackageIds,
    named: &[NamedOperation<'_>],
) -> BTreeMap<usize, Reversal> {
    let by_words = by_words(named);
    let deletions = deletions(named);
    let mut found = BTreeMap::new();
    for (at, forward) in named.iter().enumerate() {
        if forward.operation.is_readonly() {
            continue;
        }
        let reversal =
            created(ids, forward, &deletions).or_else(|| opposite(ids, forward, named, &by_words));
        if let Some(reversal) = reversal {
            found.insert(at, reversal);
        }
    }
    found
}

/// The deletions of single entries, by the path of the list and of its only further parameter.
type Deletions<'n, 'a> = BTreeMap<&'a str, (&'a str, &'n NamedOperation<'a>)>;

fn deletions<'n, 'a>(named: &'n [NamedOperation<'a>]) -> Deletions<'n, 'a> {
    let deletions = named
        .iter()
        .filter(|named| named.operation.method == HttpMethod::Delete);
    deletions
        .filter_map(|named| {
            let (list, last) = named
                .operation
                .path
                .trim_end_matches('/')
                .rsplit_once('/')?;
            let parameter = last.strip_prefix('{')?.strip_suffix('}')?;
            Some((list, (parameter, named)))
        })
        .collect()
}

/// Returns the deletion of the entry that an operation creates, if the created entry has its id.
fn created(
    ids: &PackageIds,
    forward: &NamedOperation<'_>,
    deletions: &Deletions<'_, '_>,
) -> Option<Reversal> {
    if forward.operation.method != HttpMethod::Post {
        return None;
    }
    let list = forward.operation.path.trim_end_matches('/');
    let (id, backward) = deletions.get(list)?;
    let field = id_field(forward.operation, id)?;
    let parameters = arguments_of(backward.operation, |argument| {
        if argument.location == ArgumentLocation::Path && argument.wire_name == *id {
            return Some(format!("${{{STEP}.{field}}}"));
        }
        same_argument(forward.operation, argument)
    })?;
    Some(Reversal {
        tool: ids.tool(backward),
        parameters,
    })
}

/// Returns the field of an operation's output that is the value of a path parameter.
fn id_field(operation: &Operation, parameter: &str) -> Option<String> {
    let output = output_schema(operation)?;
    let fields = output.get("properties")?.as_object()?;
    let last_word = words(parameter).pop()?;
    let candidates = [parameter.to_owned(), words(parameter).join("_"), last_word];
    let is_plain = |name: &String| {
        name.bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
    };
    candidates
        .into_iter()
        .find(|name| fields.contains_key(name) && is_plain(name))
}

/// The writes, by the words of their ids.
fn by_words(named: &[NamedOperation<'_>]) -> BTreeMap<String, usize> {
    let writes = named.iter().enumerate();
    writes
        .filter(|(_, named)| !named.operation.is_readonly())
        .map(|(at, named)| (named.name.clone(), at))
        .collect()
}

/// Returns the operation whose name differs in one verb that takes back the other's.
fn opposite(
    ids: &PackageIds,
    forward: &NamedOperation<'_>,
    named: &[NamedOperation<'_>],
    by_words: &BTreeMap<String, usize>,
) -> Option<Reversal> {
    let own: Vec<&str> = forward.name.split('_').collect();
    for (at, word) in own.iter().enumerate() {
        for other in opposites(word) {
            let mut turned = own.clone();
            turned[at] = other;
            let backward = by_words
                .get(&turned.join("_"))
                .and_then(|at| named.get(*at));
            let Some(backward) =
                backward.filter(|other| is_sibling(forward.operation, other.operation))
            else {
                continue;
            };
            let parameters = arguments_of(backward.operation, |argument| {
                same_argument(forward.operation, argument)
            });
            if let Some(parameters) = parameters {
                return Some(Reversal {
                    tool: ids.tool(backward),
                    parameters,
                });
            }
        }
    }
    None
}

fn opposites(word: &str) -> impl Iterator<Item = &'static str> {
    VERBS.iter().filter_map(move |(verb, opposite)| {
        if *verb == word {
            Some(*opposite)
        } else if *opposite == word {
            Some(*verb)
        } else {
            None
        }
    })
}

/// Whether two paths are equal, or differ in their last part only.
fn is_sibling(one: &Operation, other: &Operation) -> bool {
    let folder = |path: &str| {
        let path = path.trim_end_matches('/');
        path.rsplit_once('/')
            .map_or(String::new(), |(folder, _)| folder.to_owned())
    };
    one.path == other.path || folder(&one.path) == folder(&other.path)
}

/// Returns the arguments of a call, if all required ones have a value.
fn arguments_of(
    operation: &Operation,
    value: impl Fn(&Argument) -> Option<String>,
) -> Option<Map<String, Value>> {
    let required = operation
        .arguments
        .iter()
        .filter(|argument| argument.required);
    required
        .map(|argument| Some((argument.name.clone(), Value::from(value(argument)?))))
        .collect()
}

/// Returns the value of an argument that the forward call must have too.
fn same_argument(forward: &Operation, wanted: &Argument) -> Option<String> {
    let mut arguments = forward.arguments.iter();
    let same = arguments.find(|argument| {
        argument.required
            && argument.wire_name == wanted.wire_name
            && argument.location == wanted.location
    })?;
    Some(placeholder(&same.name))
}
