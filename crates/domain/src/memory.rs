//! Rules for memories (B003-10): their limits, their visibility, the users that may put them in force, and their
//! retention.
//!
//! Every memory has an owner, the user that first wrote it. A private memory is visible only to its owner, not even to
//! operators. A shared memory is visible to the whole tenant, so an operator must accept its content. A memory that an
//! agent writes for a user is a proposal in both cases. Knows no storage and no time.

use std::time::Duration;

use charter_contract::agentic::memory::{Importance, MemoryEntry, MemoryState, Visibility};
use charter_contract::catalogue::vocabulary::Role;
use charter_contract::ids::UserId;
use charter_contract::violation::Report;

/// The maximum length of a title, in characters.
pub const MAX_TITLE: usize = 200;
/// The maximum length of the content, in bytes.
pub const MAX_CONTENT: usize = 32 << 10;
/// The maximum number of tags.
pub const MAX_TAGS: usize = 32;
/// The maximum length of a tag, in characters.
pub const MAX_TAG: usize = 100;
/// The maximum number of related memories.
pub const MAX_RELATED: usize = 50;
/// The maximum size of the metadata, in bytes of JSON.
pub const MAX_METADATA: usize = 16 << 10;

/// The default importance of a memory.
const USUAL: u8 = 5;
/// The importance of memories that never expire.
const PERMANENT_IMPORTANCE: u8 = 10;

/// Reports violations beyond the entry's contract: a missing source, and exceeded limits.
pub fn check(entry: &MemoryEntry, report: &mut Report) {
    let related = entry.related_memories.as_ref().map_or(0, Vec::len);
    let metadata = serde_json::to_vec(&entry.metadata).map_or(usize::MAX, |json| json.len());
    for (pointer, found, limit, unit) in [
        (
            "/title",
            entry.title.chars().count(),
            MAX_TITLE,
            "characters",
        ),
        ("/content", entry.content.len(), MAX_CONTENT, "bytes"),
        ("/tags", entry.tags.as_slice().len(), MAX_TAGS, "tags"),
        ("/related_memories", related, MAX_RELATED, "memories"),
        ("/metadata", metadata, MAX_METADATA, "bytes"),
    ] {
        if found > limit {
            let message = format!("{found} {unit}; the limit is {limit}");
            report.meaning(pointer, "too_long", message);
        }
    }
    for (at, tag) in entry.tags.as_slice().iter().enumerate() {
        if tag.chars().count() > MAX_TAG {
            let message = format!("a tag has at most {MAX_TAG} characters");
            report.meaning(format!("/tags/{at}"), "too_long", message);
        }
        if tag.trim().is_empty() {
            report.meaning(
                format!("/tags/{at}"),
                "empty",
                "a tag must not be empty".to_owned(),
            );
        }
    }
    for (pointer, text) in [("/title", &entry.title), ("/content", &entry.content)] {
        if text.trim().is_empty() {
            report.meaning(pointer, "empty", "it is empty".to_owned());
        }
    }
    let source = entry.metadata.as_ref().and_then(|of| of.source.as_deref());
    if source.is_none_or(|source| source.trim().is_empty()) {
        let message = "a memory needs a source, e.g. `user_statement`".to_owned();
        report.meaning("/metadata/source", "required", message);
    }
}

/// A user that reads or writes memories.
#[derive(Debug, Clone, Copy)]
pub struct MemoryReader<'a> {
    /// The user's id.
    pub user: &'a UserId,
    /// The user's level in the tenant.
    pub role: Role,
}

/// The ownership of a memory.
#[derive(Debug, Clone, Copy)]
pub struct MemoryOwnership<'a> {
    /// The owner.
    pub owner: &'a UserId,
    /// The visibility.
    pub visibility: Visibility,
}

impl MemoryOwnership<'_> {
    /// Returns whether a user may see versions that are or were in force.
    #[must_use]
    pub fn is_seen_by(self, person: MemoryReader<'_>) -> bool {
        match self.visibility {
            Visibility::Private => self.owner == person.user,
            Visibility::Shared => true,
        }
    }

    /// Returns whether a user may accept or reject a version.
    #[must_use]
    pub fn is_decided_by(self, person: MemoryReader<'_>) -> bool {
        match self.visibility {
            Visibility::Private => self.owner == person.user,
            Visibility::Shared => person.role >= Role::Operator,
        }
    }

    /// Returns whether a user may see a version of `author` that is proposed or was rejected.
    #[must_use]
    pub fn shows_proposal_to(self, author: &UserId, person: MemoryReader<'_>) -> bool {
        self.is_decided_by(person) || (author == person.user && self.is_seen_by(person))
    }

    /// Returns whether a user may remove the content.
    #[must_use]
    pub fn is_removed_by(self, person: MemoryReader<'_>) -> bool {
        self.owner == person.user || self.is_decided_by(person)
    }

    /// Returns the first state of a version that a user, or an agent for the user, writes.
    #[must_use]
    pub fn begins(self, person: MemoryReader<'_>, by_agent: bool) -> MemoryState {
        if !by_agent && self.is_decided_by(person) {
            MemoryState::Accepted
        } else {
            MemoryState::Proposed
        }
    }
}

/// Returns the importance of a memory, 1 to 10; the default is 5.
#[must_use]
pub fn weight(importance: Option<Importance>) -> u8 {
    importance.map_or(USUAL, Importance::get)
}

/// Returns the retention of a memory in force after its last version: a tenth of `longest` per point of [`weight`].
/// `None` at 10: such a memory never expires.
#[must_use]
pub fn kept_for(importance: Option<Importance>, longest: Duration) -> Option<Duration> {
    let weight = weight(importance);
    (weight < PERMANENT_IMPORTANCE)
        .then(|| longest / u32::from(PERMANENT_IMPORTANCE) * u32::from(weight))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn user(name: &str) -> UserId {
        UserId::parse(name).unwrap()
    }

    /// Visibility, user, level: sees, decides, sees bob's proposal, removes, first state.
    #[test]
    fn b003_10_a_private_memory_is_its_owners_and_a_shared_one_an_operators_to_decide() {
        let (ann, bob) = (user("ann"), user("bob"));
        let accepted = MemoryState::Accepted;
        let proposed = MemoryState::Proposed;
        for (visibility, person, role, expected) in [
            (
                Visibility::Private,
                &ann,
                Role::User,
                (true, true, true, true, accepted),
            ),
            (
                Visibility::Private,
                &bob,
                Role::Admin,
                (false, false, false, false, proposed),
            ),
            (
                Visibility::Shared,
                &ann,
                Role::User,
                (true, false, false, true, proposed),
            ),
            (
                Visibility::Shared,
                &bob,
                Role::User,
                (true, false, true, false, proposed),
            ),
            (
                Visibility::Shared,
                &bob,
                Role::Operator,
                (true, true, true, true, accepted),
            ),
        ] {
            let holding = MemoryOwnership {
                owner: &ann,
                visibility,
            };
            let person = MemoryReader { user: person, role };
            let found = (
                holding.is_seen_by(person),
                holding.is_decided_by(person),
                holding.shows_proposal_to(&bob, person),
                holding.is_removed_by(person),
                holding.begins(person, false),
            );
            assert_eq!(found, expected, "{visibility} {person:?}");
            assert_eq!(
                holding.begins(person, true),
                proposed,
                "an agent only proposes"
            );
        }
    }

    #[test]
    fn b003_10_what_matters_more_is_kept_longer() {
        let year = Duration::from_secs(1_000);
        let kept = |importance: Option<u8>| {
            kept_for(importance.and_then(Importance::new), year).map(|kept| kept.as_secs())
        };
        let found = [None, Some(1), Some(5), Some(9), Some(10)].map(kept);
        assert_eq!(found, [Some(500), Some(100), Some(500), Some(900), None]);
    }

    #[test]
    fn b003_10_a_memory_has_a_source_and_bounds() {
        let entry = |title: &str, tags: Vec<String>, source: serde_json::Value| -> MemoryEntry {
            serde_json::from_value(json!({
                "id": "mem-00000000-0000-0000-0000-000000000001", "title": title, "content": "c",
                "tags": tags, "created_at": "2026-04-14T12:00:00Z", "metadata": source,
            }))
            .unwrap()
        };
        let one = || vec!["t".to_owned()];
        let said = json!({"source": "user_statement"});
        for (entry, expected) in [
            (entry("t", one(), said.clone()), vec![]),
            (entry("t", one(), json!({})), vec!["/metadata/source"]),
            (
                entry("t", one(), json!({"source": " "})),
                vec!["/metadata/source"],
            ),
            (entry(" ", one(), said.clone()), vec!["/title"]),
            (
                entry(&"t".repeat(MAX_TITLE + 1), one(), said.clone()),
                vec!["/title"],
            ),
            (
                entry("t", vec!["t".to_owned(); MAX_TAGS + 1], said.clone()),
                vec!["/tags"],
            ),
            (entry("t", vec![String::new()], said), vec!["/tags/0"]),
        ] {
            let mut report = Report::new();
            check(&entry, &mut report);
            let found: Vec<&str> = report
                .violations
                .iter()
                .map(|v| v.pointer.as_str())
                .collect();
            assert_eq!(found, expected);
        }
    }
}
