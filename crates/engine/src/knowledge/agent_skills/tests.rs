//! Skills over a real store, with an embedder that counts its calls.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::SkillId;
use charter_contract::link_graph::AgentSkill;
use charter_contract::package::PackageScope;
use charter_search::embed::{EmbedError, Embedder, EmbeddingModel, Quantisation, Vector};
use charter_store::SharedStore;
use charter_store::agent_skills::{SkillVector, VectorOrigin};
use charter_store_sql::sqlite::SqliteStore;
use serde_json::{Value, json};

use super::{SkillSearch, SkillWritten};
use crate::catalogue::live::text_hash;
use crate::engine::tests::{open as store_in, ports as plain_ports, sandbox};
use crate::{Caller, Engine, EngineError, Ports, Settings};

/// Counts letters: texts of the same letters are near each other.
struct Letters {
    model: EmbeddingModel,
    embedded: AtomicUsize,
}

impl Letters {
    fn new(dims: usize) -> Arc<Self> {
        Arc::new(Self {
            model: EmbeddingModel {
                name: format!("letters-{dims}"),
                dims,
                quantisation: Quantisation::F32,
            },
            embedded: AtomicUsize::new(0),
        })
    }

    fn embedded(&self) -> usize {
        self.embedded.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl Embedder for Letters {
    fn model(&self) -> &EmbeddingModel {
        &self.model
    }

    async fn embed(&self, texts: Vec<String>) -> Result<Vec<Vector>, EmbedError> {
        self.embedded.fetch_add(texts.len(), Ordering::SeqCst);
        let vectors = texts.iter().map(|text| {
            let mut counts = vec![0.01; self.model.dims];
            for byte in text.bytes() {
                counts[usize::from(byte) % self.model.dims] += 1.0;
            }
            Vector::new(counts).map_err(|source| EmbedError::Vector { source })
        });
        vectors.collect()
    }

    fn count_tokens(&self, _: &str) -> Option<usize> {
        None
    }

    fn token_spans(&self, _: &str) -> Option<Vec<std::ops::Range<usize>>> {
        None
    }
}

/// An engine over a directory that no other process has open.
struct Opened {
    engine: Arc<Engine>,
    store: Arc<SqliteStore>,
    caller: Caller,
}

impl Opened {
    async fn close(self) {
        self.engine.stop().await;
        self.store.close().await.unwrap();
    }

    async fn put(&self, skill: Value) -> Result<SkillWritten, EngineError> {
        let skill: AgentSkill = serde_json::from_value(skill).unwrap();
        let put = self
            .engine
            .agent_skills()
            .put_skill(&self.caller, PackageScope::Tenant, skill);
        put.await
    }

    async fn found(&self, query: &str) -> Vec<String> {
        let search = SkillSearch {
            query: Some(query.to_owned()),
            ..SkillSearch::default()
        };
        let found = self
            .engine
            .agent_skills()
            .discover_skills(&self.caller, &search)
            .await;
        let ids = found
            .unwrap()
            .into_iter()
            .map(|hit| hit.skill.skill_id.to_string());
        ids.collect()
    }
}

async fn ports(dir: &Path, embedder: Option<Arc<Letters>>) -> (Ports, Arc<SqliteStore>) {
    let store = store_in(&dir.join("data"));
    let shared: SharedStore = Arc::<SqliteStore>::clone(&store);
    let tools = Arc::new(sandbox(dir).await);
    let ports = Ports {
        embedder: embedder.map(|embedder| embedder as Arc<dyn Embedder>),
        ..plain_ports(shared, tools)
    };
    (ports, store)
}

async fn open(dir: &Path, embedder: Option<Arc<Letters>>) -> Result<Opened, EngineError> {
    let (ports, store) = ports(dir, embedder).await;
    match Engine::start(ports, Settings::default()).await {
        Ok(engine) => Ok(Opened {
            engine,
            store,
            caller: Caller::local().unwrap(),
        }),
        Err(error) => {
            store.close().await.unwrap();
            Err(error)
        }
    }
}

fn leaf(id: &str, summary: &str) -> Value {
    json!({"skill_id": id, "summary": summary, "is_folder": false})
}

/// B001-8
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b001_8_only_a_new_summary_is_embedded() {
    let dir = tempfile::tempdir().unwrap();
    let letters = Letters::new(8);
    let opened = open(dir.path(), Some(Arc::clone(&letters))).await.unwrap();
    for (summary, texts) in [("first", 1), ("first", 1), ("second", 2), ("second", 2)] {
        let mut skill = leaf("a", summary);
        skill["instruction"] = json!(format!("instruction at {texts}"));
        opened.put(skill).await.unwrap();
        assert_eq!(letters.embedded(), texts, "{summary}");
    }
    // A supplied vector is not computed, and one that is no longer supplied is.
    let mut supplied = leaf("a", "second");
    supplied["skill_desc_vector"] = json!([1, 0, 0, 0, 0, 0, 0, 0]);
    opened.put(supplied).await.unwrap();
    assert_eq!(letters.embedded(), 2);
    opened.put(leaf("a", "second")).await.unwrap();
    assert_eq!(letters.embedded(), 3);
    // A repeated summary of a batch is embedded once, and a known one not at all.
    let batch = [leaf("a", "second"), leaf("b", "both"), leaf("c", "both")];
    let caller = &opened.caller;
    let written = opened
        .engine
        .agent_skills()
        .bulk_skills(caller, PackageScope::Tenant, &batch);
    assert_eq!(written.await.unwrap().written, 3);
    assert_eq!(letters.embedded(), 4);
    opened.close().await;
    let opened = open(dir.path(), Some(Arc::clone(&letters))).await.unwrap();
    assert_eq!(letters.embedded(), 4, "a start embeds nothing");
    assert_eq!(opened.found("htob both").await[..2], ["b", "c"]);
    opened.close().await;
}

/// As in the vector of a package's skill, a phrase counts half as much as the description.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn phrases_that_a_summary_quotes_count_in_its_vector() {
    let dir = tempfile::tempdir().unwrap();
    let letters = Letters::new(8);
    let (summary, phrase) = (r#"Ships apps. Use for "push it live"."#, "push it live");
    let opened = open(dir.path(), Some(Arc::clone(&letters))).await.unwrap();
    opened.put(leaf("a", summary)).await.unwrap();
    assert_eq!(letters.embedded(), 2);
    let alone = [summary, phrase].map(str::to_owned).to_vec();
    let alone = letters.embed(alone).await.unwrap();
    let pairs = alone[0].as_slice().iter().zip(alone[1].as_slice());
    let mixed: Vec<f32> = pairs.map(|(own, phrase)| own + 0.5 * phrase).collect();
    let mixed = Vector::new(mixed).unwrap();
    let loaded = opened.engine.store().load_skills().await.unwrap();
    let stored = loaded.skills[0].vector.clone().unwrap();
    let made = Vector::from_bytes(&stored.bytes).unwrap();
    assert!(made.dot(&mixed) > 0.999_999);
    assert!(made.dot(&mixed) > made.dot(&alone[0]));
    assert_eq!(opened.found("live").await, ["a"]);

    // A vector from before phrases counted is recomputed.
    let old = SkillVector {
        origin: VectorOrigin::Embedded,
        summary: text_hash(summary),
        bytes: alone[0].to_bytes(),
    };
    let skill = &loaded.skills[0];
    let old = vec![(skill.scope.clone(), skill.id.clone(), old)];
    let model = loaded.model.as_ref().unwrap();
    let store = opened.engine.store();
    let now = opened.engine.now();
    let indexed = store.index_skills(model, loaded.revision, old, now).await;
    indexed.unwrap();
    let embedded = letters.embedded();
    opened.close().await;
    let opened = open(dir.path(), Some(Arc::clone(&letters))).await.unwrap();
    assert_eq!(letters.embedded(), embedded + 2);
    let loaded = opened.engine.store().load_skills().await.unwrap();
    assert_eq!(loaded.skills[0].vector, Some(stored));
    opened.close().await;
}

/// B001-2, ruling 4
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b001_2_another_model_is_refused_until_the_index_is_made_anew() {
    let dir = tempfile::tempdir().unwrap();
    // Written without a model, then found by words; embedded once there is a model.
    let opened = open(dir.path(), None).await.unwrap();
    opened.put(leaf("a", "aaaa")).await.unwrap();
    assert_eq!(opened.found("aaaa").await, ["a"]);
    assert_eq!(opened.found("bbbb").await, [""; 0]);
    opened.close().await;
    let letters = Letters::new(8);
    let opened = open(dir.path(), Some(Arc::clone(&letters))).await.unwrap();
    assert_eq!(letters.embedded(), 1);
    let mut supplied = leaf("b", "bbbb");
    supplied["skill_desc_vector"] = json!([0, 0, 0, 0, 0, 0, 0, 9]);
    opened.put(supplied).await.unwrap();
    opened.close().await;
    let other = Letters::new(16);
    let refused = open(dir.path(), Some(Arc::clone(&other)))
        .await
        .err()
        .unwrap();
    assert_eq!(refused.code, ErrorCode::ModelMismatch);
    assert!(refused.message.contains("charter reindex"), "{refused}");
    let (again, store) = ports(dir.path(), Some(Arc::clone(&other))).await;
    let engine = Engine::unloaded(again, Settings::default());
    assert_eq!(engine.indexes().reindex().await.unwrap(), 2);
    engine.stop().await;
    store.close().await.unwrap();
    let opened = open(dir.path(), Some(Arc::clone(&other))).await.unwrap();
    assert_eq!(other.embedded(), 2);
    assert_eq!(opened.found("bbbbbb").await, ["b", "a"]);
    opened.close().await;
}

/// B001-4: two links that close a cycle together, written at the same time: one is refused.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn b001_4_links_written_at_the_same_time_close_no_cycle() {
    let dir = tempfile::tempdir().unwrap();
    let opened = open(dir.path(), None).await.unwrap();
    let link = |from: String, to: String| json!({"skill_id": from, "summary": "s", "is_folder": true, "sub_skills": [to]});
    for round in 0..20 {
        let (a, b) = (format!("a{round}"), format!("b{round}"));
        let (one, other) = tokio::join!(
            opened.put(link(a.clone(), b.clone())),
            opened.put(link(b.clone(), a.clone()))
        );
        assert_eq!(usize::from(one.is_ok()) + usize::from(other.is_ok()), 1);
    }
    // The refused link is neither in memory nor in storage.
    let findings = opened
        .engine
        .agent_skills()
        .lint_skills(&opened.caller)
        .unwrap();
    assert!(
        findings
            .iter()
            .all(|finding| finding.rule == "dangling_child")
    );
    assert_eq!(findings.len(), 20);
    opened.close().await;
    let opened = open(dir.path(), None).await.unwrap();
    assert_eq!(
        opened
            .engine
            .agent_skills()
            .lint_skills(&opened.caller)
            .unwrap(),
        findings
    );
    let id = SkillId::parse("missing").unwrap();
    let missing = opened
        .engine
        .agent_skills()
        .show_skill(&opened.caller, &id)
        .unwrap_err();
    assert_eq!(missing.code, ErrorCode::NotFound);
    opened.close().await;
}
