//! Cases of memories (B003-10).

use charter_contract::agentic::memory::{MemoryState, Visibility};
use charter_contract::ids::{AgentId, MemoryId, UserId};
use charter_store::memory::{
    MemoryDecision, MemoryRecord, MemoryVector, MemoryVerdict, MemoryVersion, NewMemory,
    NewVersion, Proposals, Removal,
};
use charter_store::page::PageRequest;
use charter_store::{Store, StoreError};
use serde_json::json;
use uuid::Uuid;

use super::Outcome;
use super::sample::{Made, at, tenant, user};
use crate::assert_refused;

/// A limit that no case reaches.
const MOST: u64 = 100;

fn memory(n: u128) -> MemoryId {
    MemoryId::from_uuid(Uuid::from_u128(n))
}

fn version(n: u128, content: &str, seconds: i64, state: MemoryState) -> Made<NewVersion> {
    Ok(NewVersion {
        state,
        at: at(seconds)?,
        author: user()?,
        agent: None,
        entry: serde_json::from_value(json!({
            "id": memory(n), "title": "Region", "content": content, "tags": ["region"],
            "created_at": at(0)?, "updated_at": at(seconds)?,
            "metadata": {"source": "user_statement", "importance": 7},
        }))?,
        vector: Some(MemoryVector {
            model: "test/f32".to_owned(),
            bytes: content.as_bytes().to_vec(),
        }),
        expires_at: Some(at(1_000)?),
    })
}

fn first(n: u128, state: MemoryState) -> Made<NewMemory> {
    Ok(NewMemory {
        tenant_id: tenant("acme")?,
        user_id: user()?,
        visibility: Visibility::Private,
        first: version(n, "eu-west-1", 0, state)?,
    })
}

fn accepted(version: u64, seconds: i64) -> Made<MemoryDecision> {
    Ok(MemoryDecision {
        version,
        verdict: MemoryVerdict::Accept {
            expires_at: Some(at(2_000)?),
        },
        by: UserId::parse("owner")?,
        at: at(seconds)?,
    })
}

fn read_back(new: &NewVersion, version: u64) -> MemoryVersion {
    MemoryVersion {
        version,
        state: new.state,
        at: new.at,
        author: new.author.clone(),
        agent: new.agent.clone(),
        based_on: None,
        decided: None,
        entry: Some(new.entry.clone()),
    }
}

/// All fields of the memory and of its version are kept.
///
/// # Errors
/// Any error of the store.
pub async fn b003_10_every_field_of_a_memory_is_stored(store: &dyn Store) -> Outcome {
    let acme = tenant("acme")?;
    let mut new = first(1, MemoryState::Proposed)?;
    new.first.agent = Some(AgentId::parse("domain.notes")?);
    new.visibility = Visibility::Shared;
    store.add_memory(&new, MOST).await?;
    let record = MemoryRecord {
        memory_id: memory(1),
        tenant_id: acme.clone(),
        user_id: user()?,
        visibility: Visibility::Shared,
        created_at: at(0)?,
        expires_at: Some(at(1_000)?),
        latest: 1,
        current: None,
        proposed: Some(1),
        removed: None,
    };
    assert_eq!(store.memory(&acme, &memory(1), at(1)?).await?, Some(record));
    let read = store.memory_version(&acme, &memory(1), 1).await?;
    assert_eq!(read, Some(read_back(&new.first, 1)));
    assert_eq!(store.memory(&acme, &memory(2), at(1)?).await?, None);
    assert_eq!(store.memory_version(&acme, &memory(1), 2).await?, None);
    Ok(())
}

/// A duplicate id is refused, and so is a memory beyond the tenant's limit.
///
/// # Errors
/// Any error of the store.
pub async fn a_duplicate_and_one_too_many_are_refused(store: &dyn Store) -> Outcome {
    let new = first(1, MemoryState::Accepted)?;
    store.add_memory(&new, 2).await?;
    let again = store.add_memory(&new, 2).await;
    assert_refused!(again, StoreError::AlreadyExists { .. });
    store
        .add_memory(&first(2, MemoryState::Accepted)?, 2)
        .await?;
    let third = store.add_memory(&first(3, MemoryState::Accepted)?, 2).await;
    assert_refused!(third, StoreError::Refused { .. });
    store
        .remove_memory(&new.tenant_id, &memory(1), &user()?, at(1)?)
        .await?;
    store
        .add_memory(&first(3, MemoryState::Accepted)?, 2)
        .await?;
    Ok(())
}

/// A later version replaces the one in force; both remain readable.
///
/// # Errors
/// Any error of the store.
pub async fn b003_10_a_version_is_superseded_and_never_overwritten(store: &dyn Store) -> Outcome {
    let acme = tenant("acme")?;
    let new = first(1, MemoryState::Accepted)?;
    store.add_memory(&new, MOST).await?;
    let second = version(1, "eu-north-1", 5, MemoryState::Accepted)?;
    let number = store
        .add_memory_version(&acme, &memory(1), Some(1), &second)
        .await?;
    assert_eq!(number, 2);
    let stale = store
        .add_memory_version(&acme, &memory(1), Some(1), &second)
        .await;
    assert_refused!(
        stale,
        StoreError::VersionConflict {
            expected: 1,
            found: 2,
            ..
        }
    );
    let history = store.memory_versions(&acme, &memory(1), 10).await?;
    let superseded = MemoryVersion {
        state: MemoryState::Superseded,
        ..read_back(&new.first, 1)
    };
    let in_force = MemoryVersion {
        based_on: Some(1),
        ..read_back(&second, 2)
    };
    assert_eq!(history, vec![in_force.clone(), superseded]);
    let newest = store.memory_versions(&acme, &memory(1), 1).await?;
    assert_eq!(newest, vec![in_force]);
    let record = store.memory(&acme, &memory(1), at(6)?).await?;
    let record = record.ok_or("the memory is there")?;
    assert_eq!((record.current, record.latest), (Some(2), 2));
    Ok(())
}

/// A memory has one open proposal at a time. Accepting it supersedes the version in force; rejecting it does not.
///
/// # Errors
/// Any error of the store.
pub async fn b003_10_a_proposal_takes_effect_when_a_person_approves_it(
    store: &dyn Store,
) -> Outcome {
    let acme = tenant("acme")?;
    store
        .add_memory(&first(1, MemoryState::Accepted)?, MOST)
        .await?;
    let proposal = version(1, "eu-north-1", 5, MemoryState::Proposed)?;
    store
        .add_memory_version(&acme, &memory(1), Some(1), &proposal)
        .await?;
    let another = store
        .add_memory_version(&acme, &memory(1), Some(1), &proposal)
        .await;
    assert_refused!(another, StoreError::Refused { .. });
    let not_proposed = store
        .decide_memory(&acme, &memory(1), &accepted(1, 6)?)
        .await;
    assert_refused!(not_proposed, StoreError::Refused { .. });
    let rejected = MemoryDecision {
        verdict: MemoryVerdict::Reject,
        ..accepted(2, 6)?
    };
    store.decide_memory(&acme, &memory(1), &rejected).await?;
    let again = store
        .decide_memory(&acme, &memory(1), &accepted(2, 7)?)
        .await;
    assert_refused!(again, StoreError::Refused { .. });
    store
        .add_memory_version(&acme, &memory(1), Some(1), &proposal)
        .await?;
    store
        .decide_memory(&acme, &memory(1), &accepted(3, 8)?)
        .await?;
    let states: Vec<MemoryState> = store
        .memory_versions(&acme, &memory(1), 10)
        .await?
        .iter()
        .map(|version| version.state)
        .collect();
    assert_eq!(
        states,
        [
            MemoryState::Accepted,
            MemoryState::Rejected,
            MemoryState::Superseded
        ]
    );
    let record = store.memory(&acme, &memory(1), at(9)?).await?;
    let record = record.ok_or("the memory is there")?;
    assert_eq!(
        (record.current, record.proposed, record.expires_at),
        (Some(3), None, Some(at(2_000)?))
    );
    let third = store.memory_version(&acme, &memory(1), 3).await?;
    let decided = third.and_then(|version| version.decided);
    assert_eq!(decided, Some((UserId::parse("owner")?, at(8)?)));
    Ok(())
}

/// Removal deletes content and embeddings; the memory's existence and the dates of its history remain.
///
/// # Errors
/// Any error of the store.
pub async fn b003_10_removal_deletes_the_content_and_keeps_the_record(
    store: &dyn Store,
) -> Outcome {
    let acme = tenant("acme")?;
    let new = first(1, MemoryState::Accepted)?;
    store.add_memory(&new, MOST).await?;
    let by = UserId::parse("owner")?;
    for seconds in [5, 6] {
        store
            .remove_memory(&acme, &memory(1), &by, at(seconds)?)
            .await?;
    }
    let unknown = store.remove_memory(&acme, &memory(2), &by, at(5)?).await;
    assert_refused!(unknown, StoreError::NotFound { .. });
    let record = store.memory(&acme, &memory(1), at(7)?).await?;
    let record = record.ok_or("that it existed is kept")?;
    let removal = Removal {
        at: at(5)?,
        by: Some(by),
    };
    assert_eq!((record.removed, record.current), (Some(removal), None));
    let left = store.memory_version(&acme, &memory(1), 1).await?;
    let without = MemoryVersion {
        entry: None,
        ..read_back(&new.first, 1)
    };
    assert_eq!(left, Some(without));
    let changes = store.memory_changes(&acme, 0, 10).await?;
    assert!(changes.iter().all(|change| change.versions.is_empty()));
    let later = version(1, "again", 8, MemoryState::Accepted)?;
    let gone = store
        .add_memory_version(&acme, &memory(1), Some(1), &later)
        .await;
    assert_refused!(gone, StoreError::NotFound { .. });
    Ok(())
}

/// An expired memory reads as removed before any sweep; the sweep deletes the content.
///
/// # Errors
/// Any error of the store.
pub async fn expired_memories_are_absent_and_swept(store: &dyn Store) -> Outcome {
    let acme = tenant("acme")?;
    let (short, mut long) = (
        first(1, MemoryState::Accepted)?,
        first(2, MemoryState::Accepted)?,
    );
    long.first.expires_at = None;
    store.add_memory(&short, MOST).await?;
    store.add_memory(&long, MOST).await?;
    let removal = Removal {
        at: at(1_000)?,
        by: None,
    };
    let later = version(1, "again", 1_000, MemoryState::Accepted)?;
    let gone = store
        .add_memory_version(&acme, &memory(1), Some(1), &later)
        .await;
    assert_refused!(gone, StoreError::NotFound { .. });
    for swept in [1, 0] {
        let read = store.memory(&acme, &memory(1), at(1_000)?).await?;
        let read = read.ok_or("that it existed is kept")?;
        assert_eq!(read.removed, Some(removal.clone()));
        assert_eq!(store.sweep_memories(at(999)?).await?, 0);
        assert_eq!(store.sweep_memories(at(1_000)?).await?, swept);
    }
    let content = store.memory_version(&acme, &memory(1), 1).await?;
    assert_eq!(content.map(|version| version.entry), Some(None));
    let kept = store.memory(&acme, &memory(2), at(1_000)?).await?;
    assert_eq!(kept.map(|record| record.removed), Some(None));
    Ok(())
}

/// Another tenant's memory is absent for every call.
///
/// # Errors
/// Any error of the store.
pub async fn tenants_are_isolated(store: &dyn Store) -> Outcome {
    let umbra = tenant("umbra")?;
    store
        .add_memory(&first(1, MemoryState::Proposed)?, MOST)
        .await?;
    assert_eq!(store.memory(&umbra, &memory(1), at(1)?).await?, None);
    assert_eq!(store.memory_version(&umbra, &memory(1), 1).await?, None);
    assert_eq!(store.memory_versions(&umbra, &memory(1), 9).await?, vec![]);
    assert_eq!(store.memory_changes(&umbra, 0, 10).await?, vec![]);
    let decided = store
        .decide_memory(&umbra, &memory(1), &accepted(1, 2)?)
        .await;
    assert_refused!(decided, StoreError::NotFound { .. });
    let removed = store
        .remove_memory(&umbra, &memory(1), &user()?, at(2)?)
        .await;
    assert_refused!(removed, StoreError::NotFound { .. });
    // The same id is available in another tenant.
    let mut own = first(1, MemoryState::Accepted)?;
    own.tenant_id = umbra.clone();
    store.add_memory(&own, MOST).await?;
    Ok(())
}

/// Memories are listed newest first, in pages: the reader's own and shared ones; proposals separately.
///
/// # Errors
/// Any error of the store.
pub async fn listings_show_only_visible_memories(store: &dyn Store) -> Outcome {
    let acme = tenant("acme")?;
    let other = UserId::parse("other")?;
    for (n, visibility, state) in [
        (1, Visibility::Private, MemoryState::Accepted),
        (2, Visibility::Shared, MemoryState::Accepted),
        (3, Visibility::Private, MemoryState::Proposed),
        (4, Visibility::Shared, MemoryState::Proposed),
    ] {
        let mut new = first(n, state)?;
        new.visibility = visibility;
        store.add_memory(&new, MOST).await?;
    }
    let page = PageRequest::new(None, 10);
    let own = user()?;
    for (reader, proposals, wanted) in [
        (&own, Proposals::Without, vec![2, 1]),
        (&other, Proposals::Without, vec![2]),
        (&own, Proposals::Own, vec![4, 3]),
        (&other, Proposals::Own, vec![]),
        (&other, Proposals::Shared, vec![4]),
    ] {
        let listed = store
            .memories(&acme, reader, proposals, at(1)?, &page)
            .await?;
        let ids: Vec<MemoryId> = listed
            .entries
            .into_iter()
            .map(|record| record.memory_id)
            .collect();
        let wanted: Vec<MemoryId> = wanted.into_iter().map(memory).collect();
        assert_eq!((ids, listed.next), (wanted, None));
    }
    let one = PageRequest::new(None, 1);
    let first_page = store
        .memories(&acme, &own, Proposals::Without, at(1)?, &one)
        .await?;
    let next = PageRequest::new(first_page.next, 1);
    let second = store
        .memories(&acme, &own, Proposals::Without, at(1)?, &next)
        .await?;
    assert_eq!(second.entries[0].memory_id, memory(1));
    let late = store
        .memories(&acme, &own, Proposals::Without, at(1_000)?, &page)
        .await?;
    assert_eq!(late.entries, vec![]);
    Ok(())
}

/// Each changed memory is listed once, in its current state, with its searchable fields.
///
/// # Errors
/// Any error of the store.
pub async fn changes_come_in_order_and_once(store: &dyn Store) -> Outcome {
    let acme = tenant("acme")?;
    for n in [1, 2, 3] {
        store
            .add_memory(&first(n, MemoryState::Accepted)?, MOST)
            .await?;
    }
    let seen = store.memory_changes(&acme, 0, 2).await?;
    let ids: Vec<&MemoryId> = seen.iter().map(|change| &change.record.memory_id).collect();
    assert_eq!(ids, [&memory(1), &memory(2)]);
    let vector = seen[0].versions[0].1.clone();
    assert_eq!(
        vector,
        version(1, "eu-west-1", 0, MemoryState::Accepted)?.vector
    );
    let after = seen[1].revision;
    let proposal = version(1, "eu-north-1", 5, MemoryState::Proposed)?;
    store
        .add_memory_version(&acme, &memory(1), Some(1), &proposal)
        .await?;
    store
        .remove_memory(&acme, &memory(2), &user()?, at(6)?)
        .await?;
    let changed = store.memory_changes(&acme, after, 10).await?;
    let found: Vec<(&MemoryId, Vec<u64>)> = changed
        .iter()
        .map(|change| {
            let versions = change.versions.iter().map(|(version, _)| version.version);
            (&change.record.memory_id, versions.collect())
        })
        .collect();
    assert_eq!(
        found,
        [
            (&memory(3), vec![1]),
            (&memory(1), vec![1, 2]),
            (&memory(2), vec![])
        ]
    );
    let last = changed.last().map_or(0, |change| change.revision);
    assert_eq!(store.memory_changes(&acme, last, 10).await?, vec![]);
    Ok(())
}

/// Exactly one of several concurrent decisions on one proposal counts.
///
/// # Errors
/// Any error of the store.
pub async fn decisions_at_the_same_time_have_one_winner(store: &dyn Store) -> Outcome {
    let acme = tenant("acme")?;
    store
        .add_memory(&first(1, MemoryState::Proposed)?, MOST)
        .await?;
    let no = MemoryDecision {
        verdict: MemoryVerdict::Reject,
        ..accepted(1, 2)?
    };
    let (id, words) = (memory(1), [accepted(1, 2)?, no]);
    let deciding = words
        .iter()
        .map(|word| store.decide_memory(&acme, &id, word));
    let decided = futures_util::future::join_all(deciding).await;
    assert_eq!(decided.iter().filter(|decided| decided.is_ok()).count(), 1);
    Ok(())
}

/// Versions without an embedding of the model are listed, and a new embedding replaces the old one.
///
/// # Errors
/// Any error of the store.
pub async fn ruling_4_embeddings_of_another_model_are_replaced(store: &dyn Store) -> Outcome {
    let acme = tenant("acme")?;
    let new = first(1, MemoryState::Accepted)?;
    store.add_memory(&new, MOST).await?;
    assert_eq!(store.memories_without_vector("test/f32", 9).await?, vec![]);
    let missing = store.memories_without_vector("other/f32", 9).await?;
    assert_eq!(missing, [(acme.clone(), read_back(&new.first, 1))]);
    let seen = store.memory_changes(&acme, 0, 9).await?[0].revision;
    let vector = MemoryVector {
        model: "other/f32".to_owned(),
        bytes: vec![1, 2, 3],
    };
    let fresh = |n, version| (acme.clone(), memory(n), version, vector.clone());
    store
        .put_memory_vectors(&[fresh(1, 1), fresh(1, 7), fresh(2, 1)])
        .await?;
    assert_eq!(store.memories_without_vector("other/f32", 9).await?, vec![]);
    let changed = store.memory_changes(&acme, seen, 9).await?;
    assert_eq!(changed[0].versions[0].1, Some(vector));
    Ok(())
}
