//! Changes many entries: in bounded requests, with a separate result for each entry.

use std::time::Duration;

use charter_contract::ids::SkillId;
use charter_contract::scope::Scope;
use charter_store::agent_skills::SkillsRevision;
use charter_store::skill_index::{FailedEntry, IndexChange, IndexPosition, SkillIndexError};
use reqwest::Method;
use serde_json::{Value, json};

use crate::client::{Node, NodeAnswer, NodeRequest, shortened};
use crate::mapping::VECTOR;
use crate::names;

/// Entries and bytes of one request.
const MAX_ENTRIES: usize = 500;
const MAX_BYTES: usize = 8 << 20;

/// Maximum number of attempts for an entry that the node could not accept.
const ATTEMPTS: u32 = 5;

/// The pause before the first retry of an entry; it doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_millis(200);

/// The only entry of a state index, and its field.
pub(crate) const POSITION: &str = "position";

const DOING: &str = "writing skills";

/// An entry's scope and id; absent for the position.
type Entry = Option<(Scope, SkillId)>;

/// One or two lines of a request.
struct BulkEntry {
    of: Entry,
    text: String,
}

impl BulkEntry {
    fn from_change(change: &IndexChange, generation: &str, revision: SkillsRevision) -> Self {
        let (scope, id) = change.key();
        let index = names::of_scope(generation, scope);
        let head = json!({
            "_index": names::writes(&index), "_id": id,
            "version": revision.0, "version_type": "external_gte",
        });
        let text = match change {
            IndexChange::Remove(..) => format!("{}\n", json!({"delete": head})),
            IndexChange::Put(skill) => {
                let mut entry = json!({
                    "skill_id": skill.id,
                    "summary": skill.summary,
                    "is_folder": skill.is_folder,
                    "sub_skills": skill.sub_skills,
                    "instruction": skill.instruction,
                });
                if let Some(vector) = &skill.vector {
                    entry[VECTOR] = json!(vector);
                }
                format!("{}\n{entry}\n", json!({"index": head}))
            }
        };
        Self {
            of: Some((scope.clone(), id.clone())),
            text,
        }
    }

    fn position(position: IndexPosition, generation: &str) -> Self {
        let head = json!({"index": {
            "_index": names::writes(generation), "_id": POSITION,
            "version": position.revision.0, "version_type": "external_gte",
        }});
        let entry = json!({POSITION: {
            "revision": position.revision.0, "message": position.message,
        }});
        Self {
            of: None,
            text: format!("{head}\n{entry}\n"),
        }
    }
}

/// The result of writing an entry.
enum EntryOutcome {
    Written,
    /// A retry may succeed.
    Later(String),
    Refused(String),
}

/// Writes entries to the indexes of their scopes, which exist, then the position.
pub(crate) async fn write(
    node: &Node,
    generation: &str,
    changes: &[&IndexChange],
    revision: SkillsRevision,
    position: IndexPosition,
) -> Result<Vec<FailedEntry>, SkillIndexError> {
    let mut failed = Vec::new();
    let mut rest = changes;
    while !rest.is_empty() {
        let mut lines = Vec::new();
        let mut bytes = 0;
        while let Some((change, after)) = rest.split_first() {
            let line = BulkEntry::from_change(change, generation, revision);
            if !lines.is_empty() && bytes + line.text.len() > MAX_BYTES {
                break;
            }
            bytes += line.text.len();
            lines.push(line);
            rest = after;
            if lines.len() == MAX_ENTRIES {
                break;
            }
        }
        let refused = send(node, generation, lines).await?;
        failed.extend(refused.into_iter().filter_map(|(of, reason)| {
            let (scope, id) = of?;
            Some(FailedEntry { scope, id, reason })
        }));
    }
    // Last, so that the position never exceeds the written entries.
    let position = BulkEntry::position(position, generation);
    let refused = send(node, generation, vec![position]).await?;
    if let Some((_, reason)) = refused.first() {
        return Err(node.invalid_answer(DOING, format!("the position: {reason}")));
    }
    refresh(node, generation).await?;
    Ok(failed)
}

/// Makes written entries visible to searches. This is a separate request: a node need not refresh after a request whose
/// only line was a conflict, which the position is when another writer's is later.
async fn refresh(node: &Node, generation: &str) -> Result<(), SkillIndexError> {
    let scopes = names::every_scope(generation);
    let path = format!("{generation},{scopes}/_refresh");
    match node
        .answer::<Value>(NodeRequest::new(DOING, Method::POST, &path).with_long_timeout())
        .await?
    {
        NodeAnswer::Found(_) => Ok(()),
        NodeAnswer::Missing(_) => Err(missing_index(node, generation)),
    }
}

pub(crate) fn missing_index(node: &Node, index: &str) -> SkillIndexError {
    SkillIndexError::Missing {
        place: node.place(),
        index: index.to_owned(),
    }
}

/// Sends lines, and retries those that the node could not accept.
async fn send(
    node: &Node,
    generation: &str,
    mut lines: Vec<BulkEntry>,
) -> Result<Vec<(Entry, String)>, SkillIndexError> {
    let mut failed = Vec::new();
    let mut pause = FIRST_PAUSE;
    for attempt in 1..=ATTEMPTS {
        let fates = attempt_all(node, generation, &lines).await?;
        let mut again = Vec::new();
        for (line, fate) in lines.into_iter().zip(fates) {
            match fate {
                EntryOutcome::Written => {}
                EntryOutcome::Later(_) if attempt < ATTEMPTS => again.push(line),
                EntryOutcome::Later(reason) | EntryOutcome::Refused(reason) => {
                    failed.push((line.of, reason));
                }
            }
        }
        if again.is_empty() {
            break;
        }
        tracing::warn!(
            entries = again.len(),
            "the search node throttled some entries; retrying"
        );
        tokio::time::sleep(pause).await;
        pause *= 2;
        lines = again;
    }
    Ok(failed)
}

async fn attempt_all(
    node: &Node,
    generation: &str,
    lines: &[BulkEntry],
) -> Result<Vec<EntryOutcome>, SkillIndexError> {
    // An alias for writes is deleted with its index: a write must not create an index.
    let path = "_bulk?require_alias=true";
    let body: String = lines.iter().map(|line| line.text.as_str()).collect();
    let ask = NodeRequest::new(DOING, Method::POST, path)
        .lines(body)
        .with_long_timeout();
    let answer = node.ask(ask).await?;
    let items = answer["items"].as_array().map(Vec::as_slice);
    let items = items.unwrap_or_default();
    if items.len() != lines.len() {
        let detail = format!("{} answers to {} entries", items.len(), lines.len());
        return Err(node.invalid_answer(DOING, detail));
    }
    let gone = items.iter().filter_map(outcome).any(is_gone);
    if gone {
        return Err(missing_index(node, generation));
    }
    Ok(items.iter().map(entry_outcome).collect())
}

/// Returns the result within an item, for every action.
fn outcome(item: &Value) -> Option<&Value> {
    item.as_object()?.values().next()
}

fn is_gone(outcome: &Value) -> bool {
    outcome["status"] == 404 && outcome["error"]["type"] == "index_not_found_exception"
}

fn entry_outcome(item: &Value) -> EntryOutcome {
    let Some(outcome) = outcome(item) else {
        return EntryOutcome::Refused("an empty answer".to_owned());
    };
    let reason = || {
        let error = &outcome["error"];
        // `caused_by` describes the fault of the entry; the outer reason only its location.
        let reason = error["caused_by"]["reason"].as_str();
        let reason = reason.or(error["reason"].as_str()).unwrap_or_default();
        let kind = error["type"].as_str().unwrap_or("refused");
        shortened(&format!("{kind}: {reason}"))
    };
    match outcome["status"].as_u64() {
        // Conflict: the stored entry is newer. Not found: the entry to remove is already absent.
        Some(200..=299 | 404 | 409) => EntryOutcome::Written,
        Some(429 | 500..) => EntryOutcome::Later(reason()),
        Some(_) | None => EntryOutcome::Refused(reason()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bulk_entry_has_its_own_outcome() {
        let word = |item: Value| match entry_outcome(&item) {
            EntryOutcome::Written => "written".to_owned(),
            EntryOutcome::Later(reason) => format!("later, {reason}"),
            EntryOutcome::Refused(reason) => format!("refused, {reason}"),
        };
        let error = json!({"type": "t", "reason": "r"});
        let table = [
            (json!({"index": {"status": 201}}), "written"),
            (
                json!({"delete": {"status": 404, "result": "not_found"}}),
                "written",
            ),
            (json!({"index": {"status": 409, "error": error}}), "written"),
            (
                json!({"index": {"status": 429, "error": error}}),
                "later, t: r",
            ),
            (
                json!({"index": {"status": 503, "error": error}}),
                "later, t: r",
            ),
            (
                json!({"index": {"status": 400, "error": error}}),
                "refused, t: r",
            ),
            (json!({}), "refused, an empty answer"),
        ];
        for (item, expected) in table {
            assert_eq!(word(item), expected);
        }
    }
}
