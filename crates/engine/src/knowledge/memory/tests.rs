//! Memories over a real store: an index has the same hits as a fresh one, and expired memories are gone.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use charter_contract::agentic::memory::Visibility;
use charter_effects::NoModels;
use charter_store::SharedStore;
use charter_testkit::clock::SimulatedClock;
use charter_testkit::watched_store::{Side, WatchedStore, Watcher, Write};
use futures_util::future::join_all;
use serde_json::json;
use tokio::runtime::Handle;
use tokio::sync::Notify;

use super::*;
use crate::engine::tests::{engine_at, open, sandbox};
use crate::ground::ids::RandomIds;
use crate::identity::caller::tests::caller;
use crate::identity::keys::{GrantableSkills, KeySettings};
use crate::{Engine, Role, Settings, SkillGrants};

/// A directory with a store for successive engines.
struct StoreDirectory {
    dir: tempfile::TempDir,
    store: SharedStore,
    clock: Arc<SimulatedClock>,
}

impl StoreDirectory {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = open(dir.path());
        let start = Timestamp::parse("2026-04-14T12:00:00Z").unwrap();
        Self {
            dir,
            store,
            clock: Arc::new(SimulatedClock::at(start)),
        }
    }

    async fn engine(&self) -> Arc<Engine> {
        self.engine_over(Arc::clone(&self.store)).await
    }

    async fn engine_over(&self, store: SharedStore) -> Arc<Engine> {
        let tools = Arc::new(sandbox(self.dir.path()).await);
        let clock: Arc<SimulatedClock> = Arc::clone(&self.clock);
        engine_at(clock, store, tools, Arc::new(NoModels), Settings::default()).await
    }
}

fn draft(content: &str, importance: u8) -> MemoryDraft {
    serde_json::from_value(
        json!({"title": "A note", "content": content, "tags": ["note"],
        "metadata": {"source": "user_statement", "importance": importance}}),
    )
    .unwrap()
}

fn note(content: &str, visibility: Visibility) -> Remember {
    Remember {
        memory: draft(content, 5),
        visibility,
        agent_id: None,
    }
}

async fn contents(engine: &Engine, caller: &Caller, text: &str) -> Vec<(String, f32)> {
    let query = MemoryQuery {
        text: Some(text.to_owned()),
        proposed: true,
        limit: Some(50),
        ..MemoryQuery::default()
    };
    let found = engine.memories().find(caller, &query).await.unwrap();
    let content = |found: MemoryHit| (found.shown.memory.unwrap().content, found.fused);
    found.into_iter().map(content).collect()
}

/// A few words, the same for the same number.
fn words(seed: usize) -> String {
    const WORDS: [&str; 8] = [
        "backup", "region", "vault", "cost", "bucket", "alarm", "pager", "key",
    ];
    let word = |shift: usize| WORDS[(seed / shift) % WORDS.len()];
    format!("{} {} {} number{seed}", word(1), word(8), word(64))
}

/// Few changes, which are applied, and then so many at once that everything is read again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b003_10_an_index_finds_what_a_fresh_one_would() {
    let place = StoreDirectory::new();
    let engine = place.engine().await;
    let ann = caller("ann", Role::Operator);
    let bob = caller("bob", Role::User);
    let mut ids: Vec<MemoryId> = Vec::new();
    for round in 0..6 {
        let visibility = |n: usize| match n % 3 {
            0 => Visibility::Shared,
            _ => Visibility::Private,
        };
        let adding = (0..260).map(|n| {
            let new = note(&words(round * 260 + n), visibility(n));
            let who = if n % 2 == 0 { &ann } else { &bob };
            engine.memories().remember(who, new)
        });
        for added in join_all(adding).await {
            ids.push(added.unwrap().memory_id);
        }
        for at in (round..ids.len()).step_by(97) {
            let shown = match engine.memories().show(&ann, &ids[at]).await {
                Ok(shown) => shown,
                Err(_) => continue,
            };
            let next = Supersede {
                memory: draft(&words(at * 31 + round), 5),
                expected_version: (shown.state == MemoryState::Accepted).then_some(shown.version),
                agent_id: None,
            };
            if at % 2 == 0 {
                // A proposal may be open, or the memory may be removed already.
                drop(engine.memories().supersede(&ann, &ids[at], next).await);
            } else {
                drop(engine.memories().remove(&ann, &ids[at]).await);
            }
        }
        if (2..5).contains(&round) {
            continue;
        }
        let fresh = place.engine().await;
        for who in [&ann, &bob] {
            for text in ["backup of the vault", "pager", "number17 region"] {
                let (found, expected) = (
                    contents(&engine, who, text).await,
                    contents(&fresh, who, text).await,
                );
                assert!(!expected.is_empty());
                // Equal scores are in order of ids, which both have the same.
                assert_eq!(found, expected, "round {round}, {text}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b003_10_what_has_expired_is_neither_found_nor_shown_nor_kept() {
    let place = StoreDirectory::new();
    let engine = place.engine().await;
    let ann = caller("ann", Role::User);
    let day = Duration::from_secs(24 * 3_600);
    let mut ids = Vec::new();
    for importance in [1, 10] {
        let mut new = note("the pager is mine", Visibility::Private);
        new.memory = draft("the pager is mine", importance);
        ids.push(
            engine
                .memories()
                .remember(&ann, new)
                .await
                .unwrap()
                .memory_id,
        );
    }
    assert_eq!(contents(&engine, &ann, "pager").await.len(), 2);
    place.clock.advance(74 * day).unwrap();
    assert_eq!(contents(&engine, &ann, "pager").await.len(), 1);
    // An expired memory uses no slot among the best.
    let best = MemoryQuery {
        text: Some("pager".to_owned()),
        limit: Some(1),
        ..MemoryQuery::default()
    };
    assert_eq!(engine.memories().find(&ann, &best).await.unwrap().len(), 1);
    let gone = engine.memories().show(&ann, &ids[0]).await.unwrap();
    assert_eq!((gone.memory, gone.removed_by), (None, None));
    assert_eq!(gone.removed_at, gone.expires_at);
    engine.maintenance().sweep().await.unwrap();
    let tenant = &ann.tenant;
    let left = place
        .store
        .memory_version(tenant, &ids[0], 1)
        .await
        .unwrap();
    assert_eq!(left.unwrap().entry, None);
    let kept = engine.memories().show(&ann, &ids[1]).await.unwrap();
    assert!(kept.memory.is_some() && kept.expires_at.is_none());
}

/// Writes the next version of the only memory as soon as `after` was written, before its writer gets the answer.
struct Overtaker {
    engine: Arc<Engine>,
    caller: Caller,
    after: Mutex<Option<&'static str>>,
}

impl Overtaker {
    async fn overtake(&self) {
        let page = PageRequest::new(None, 1);
        let listed = self
            .engine
            .memories()
            .list(&self.caller, ListedMemories::InForce, &page)
            .await;
        let found = listed.unwrap().entries.remove(0);
        let next = Supersede {
            memory: draft("overtaken", 5),
            expected_version: Some(found.version),
            agent_id: None,
        };
        let written = self
            .engine
            .memories()
            .supersede(&self.caller, &found.memory_id, next);
        written.await.unwrap();
    }
}

impl Watcher for Overtaker {
    fn at(&self, side: Side, write: Write<'_>) {
        let Write::Other(method) = write else { return };
        let mut after = self.after.lock().unwrap();
        if side == Side::After && *after == Some(method) {
            *after = None;
            tokio::task::block_in_place(|| Handle::current().block_on(self.overtake()));
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b003_10_a_write_returns_the_version_it_wrote() {
    let place = StoreDirectory::new();
    let ann = caller("ann", Role::Operator);
    let overtaker = Arc::new(Overtaker {
        engine: place.engine().await,
        caller: ann.clone(),
        after: Mutex::new(Some("add_memory")),
    });
    let watched = WatchedStore::new(
        Arc::clone(&place.store),
        Arc::<Overtaker>::clone(&overtaker),
    );
    let engine = place.engine_over(Arc::new(watched)).await;
    let content = |shown: MemoryView| (shown.version, shown.memory.unwrap().content);
    let next = |content: &str, expected_version, agent: Option<&str>| Supersede {
        memory: draft(content, 5),
        expected_version: Some(expected_version),
        agent_id: agent.map(|agent| AgentId::parse(agent).unwrap()),
    };
    let overtaken = || {
        let after = overtaker.after.lock().unwrap();
        assert_eq!(*after, None, "nobody wrote between");
    };

    let first = engine
        .memories()
        .remember(&ann, note("one", Visibility::Shared))
        .await;
    let first = first.unwrap();
    overtaken();
    let id = first.memory_id.clone();
    assert_eq!(content(first), (1, "one".to_owned()));

    *overtaker.after.lock().unwrap() = Some("add_memory_version");
    let third = engine
        .memories()
        .supersede(&ann, &id, next("three", 2, None))
        .await;
    overtaken();
    assert_eq!(content(third.unwrap()), (3, "three".to_owned()));

    let proposal = next("five", 4, Some("domain.notes"));
    let shown = engine
        .memories()
        .supersede(&ann, &id, proposal)
        .await
        .unwrap();
    assert_eq!((shown.version, shown.proposed), (4, Some(5)));
    *overtaker.after.lock().unwrap() = Some("decide_memory");
    let fifth = engine
        .memories()
        .decide(&ann, &id, 5, ProposalAnswer::Accept)
        .await;
    overtaken();
    assert_eq!(content(fifth.unwrap()), (5, "five".to_owned()));
    let left = engine.memories().show(&ann, &id).await.unwrap();
    assert_eq!(content(left), (6, "overtaken".to_owned()));
}

/// Adds a memory; returns its id, the memories that repeat it, those that contradict it, and the notice.
async fn added(
    engine: &Engine,
    caller: &Caller,
    content: &str,
    visibility: Visibility,
) -> (MemoryId, Vec<MemoryId>, Vec<MemoryId>, Option<String>) {
    let shown = engine
        .memories()
        .remember(caller, note(content, visibility))
        .await;
    let shown = shown.unwrap();
    let MemoryView {
        memory_id,
        similar_to,
        conflicts_with,
        notice,
        ..
    } = shown;
    (memory_id, similar_to, conflicts_with, notice)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b003_10_a_memory_that_repeats_or_contradicts_another_is_marked() {
    let place = StoreDirectory::new();
    let engine = place.engine().await;
    let ann = caller("ann", Role::User);
    let bob = caller("bob", Role::User);
    let private = Visibility::Private;
    let (relay, similar, conflicting, notice) =
        added(&engine, &ann, "The relay is Postfix.", private).await;
    assert_eq!((similar, conflicting, notice), (vec![], vec![], None));
    let (again, similar, conflicting, notice) =
        added(&engine, &ann, "the relay is  postfix", private).await;
    assert_eq!((similar, conflicting), (vec![relay.clone()], vec![]));
    let said = format!("duplicates {relay} (\"A note\")");
    assert_eq!(notice, Some(said));
    let (other, similar, mut conflicting, notice) =
        added(&engine, &ann, "The relay is Exim.", private).await;
    conflicting.sort();
    let mut both = vec![relay.clone(), again.clone()];
    both.sort();
    assert_eq!((similar, conflicting), (vec![], both));
    let notice = notice.unwrap();
    assert!(
        notice.contains(&format!("may contradict {relay}")),
        "{notice}"
    );
    // Other users' private memories are not mentioned.
    let (_, similar, conflicting, notice) =
        added(&engine, &bob, "The relay is Exim.", private).await;
    assert_eq!((similar, conflicting, notice), (vec![], vec![], None));
    // A search marks its hits, even if the resembling memories are not returned.
    let about = MemoryQuery {
        text: Some("which relay".to_owned()),
        limit: Some(1),
        ..MemoryQuery::default()
    };
    let found = engine.memories().find(&ann, &about).await.unwrap();
    let shown = &found[0].shown;
    let marks = shown.similar_to.len() + shown.conflicts_with.len();
    assert_eq!(marks, 2, "{shown:?}");
    // A shared proposal that repeats its writer's private memory is marked as well.
    let proposal = Remember {
        agent_id: Some(AgentId::parse("domain.notes").unwrap()),
        ..note("The relay is Exim.", Visibility::Shared)
    };
    let proposed = engine.memories().remember(&ann, proposal).await.unwrap();
    assert_eq!(proposed.state, MemoryState::Proposed);
    assert_eq!(proposed.similar_to, [other]);
}

async fn scores(engine: &Engine, caller: &Caller, text: &str) -> Vec<Option<f32>> {
    let query = MemoryQuery {
        text: Some(text.to_owned()),
        ..MemoryQuery::default()
    };
    let found = engine.memories().find(caller, &query).await.unwrap();
    found.iter().map(|found| found.score).collect()
}

/// The score of a memory for a question is independent of all other memories.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b003_10_a_score_means_the_same_in_every_answer() {
    let place = StoreDirectory::new();
    let engine = place.engine().await;
    let ann = caller("ann", Role::User);
    let score = |text| scores(&engine, &ann, text);
    let pager = note("The pager rests with Ann", Visibility::Private);
    engine.memories().remember(&ann, pager).await.unwrap();
    let alone = score("who carries the pager").await;
    let [Some(alone)] = alone.as_slice() else {
        panic!("{alone:?}")
    };
    assert!((0.4..0.8).contains(alone), "half of the words: {alone}");
    assert!(score("pager").await[0] > Some(0.9));
    assert_eq!(score("quantum lecture").await, []);
    for n in 0..30 {
        let other = note(&words(n * 7), Visibility::Private);
        engine.memories().remember(&ann, other).await.unwrap();
    }
    let among = score("who carries the pager").await;
    assert!(among.contains(&Some(*alone)), "{among:?}");
    // Without a question there is no score.
    let newest = engine.memories().find(&ann, &MemoryQuery::default()).await;
    assert_eq!(newest.unwrap()[0].score, None);
}

struct AnySkill;

impl GrantableSkills for AnySkill {
    fn must_know(&self, _: &Caller, _: &SkillGrants) -> Result<(), EngineError> {
        Ok(())
    }
}

/// The keys of an installation whose callers have credentials.
fn keys_of(ports: &CorePorts) -> KeyService {
    let settings = KeySettings {
        credentials: true,
        four_eyes: None,
    };
    KeyService::new(
        Arc::clone(&ports.store),
        Arc::clone(&ports.clock),
        Arc::clone(&ports.ids),
        Arc::new(Notify::new()),
        settings,
        Arc::new(AnySkill),
    )
}

/// Work that operators can read recalls a user's own memories: shared ones whole, private ones without their content.
#[tokio::test]
async fn b003_10_a_private_memory_is_recalled_without_its_content() {
    let place = StoreDirectory::new();
    let ports = CorePorts {
        store: Arc::clone(&place.store),
        clock: Arc::clone(&place.clock) as Arc<dyn Clock>,
        ids: Arc::new(RandomIds),
    };
    let vectors = Arc::new(TextVectors::new(Arc::clone(&place.store), None));
    let keys = Arc::new(keys_of(&ports));
    let memories = MemoryService::new(ports, keys, vectors, MemorySettings::default());
    let (ann, bob) = (caller("ann", Role::User), caller("bob", Role::Operator));
    let secret = note("The relay is Postfix.", Visibility::Private);
    let known = note("The relay runs in Paris.", Visibility::Shared);
    memories.remember(&ann, secret).await.unwrap();
    memories.remember(&bob, known).await.unwrap();
    let contents = |found: Vec<RecalledMemory>| {
        let mut contents: Vec<_> = found
            .into_iter()
            .map(|found| found.note.map(|note| note.content))
            .collect();
        contents.sort();
        contents
    };
    let paris = Some("The relay runs in Paris.".to_owned());
    let of_ann = memories.recall(&ann, "which relay").await.unwrap();
    assert_eq!(contents(of_ann), [None, paris.clone()]);
    let of_bob = memories.recall(&bob, "which relay").await.unwrap();
    assert_eq!(contents(of_bob), [paris]);
    let other = memories.recall(&ann, "lunch on Friday").await.unwrap();
    assert_eq!(contents(other), Vec::new());
}

/// Without the rest of the engine, a memory is written, found and removed.
#[tokio::test]
async fn memories_need_no_other_use_cases() {
    let place = StoreDirectory::new();
    let clock: Arc<SimulatedClock> = Arc::clone(&place.clock);
    let ports = CorePorts {
        store: Arc::clone(&place.store),
        clock,
        ids: Arc::new(RandomIds),
    };
    let vectors = Arc::new(TextVectors::new(Arc::clone(&place.store), None));
    let keys = Arc::new(keys_of(&ports));
    let memories = MemoryService::new(ports, keys, vectors, MemorySettings::default());
    let ann = caller("ann", Role::User);
    let written = memories.remember(&ann, note("The relay is Postfix.", Visibility::Private));
    let id = written.await.unwrap().memory_id;
    let query = MemoryQuery {
        text: Some("relay".to_owned()),
        proposed: true,
        ..MemoryQuery::default()
    };
    assert_eq!(memories.find(&ann, &query).await.unwrap().len(), 1);
    memories.remove(&ann, &id).await.unwrap();
    assert!(memories.find(&ann, &query).await.unwrap().is_empty());
}
