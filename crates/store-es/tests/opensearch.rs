//! The index of skills on a real node, of OpenSearch or Elasticsearch: the contract suite of searching, and the
//! handling of indexes, positions and refused entries.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "tests"
)]

use std::sync::atomic::{AtomicU64, Ordering};

use charter_contract::ids::{SkillId, TenantId};
use charter_contract::scope::Scope;
use charter_store::agent_skills::{SkillsModel, SkillsRevision};
use charter_store::skill_index::{
    IndexChange, IndexName, IndexPosition, IndexedSkill, NearSkill, NearestSkills, SkillIndex,
    SkillIndexError, SkillVisibility,
};
use charter_store_es::{Credentials, EsOptions, EsSkillIndex};
use charter_testkit::search_server::{Gate, SearchServer};
use charter_testkit::search_suite::{DIMS, Failed, Searched};

fn model(dims: usize) -> SkillsModel {
    SkillsModel {
        name: "test/f32".to_owned(),
        dims,
    }
}

fn options(index: &str) -> EsOptions {
    drop(rustls::crypto::ring::default_provider().install_default());
    EsOptions {
        index: index.to_owned(),
        timeout: std::time::Duration::from_secs(30),
        ..EsOptions::new(SearchServer::shared().url())
    }
}

fn fresh() -> EsSkillIndex {
    EsSkillIndex::new(&options(&SearchServer::shared().index())).unwrap()
}

/// A searched index, with a revision for each change.
struct TestIndex {
    index: EsSkillIndex,
    name: IndexName,
    revision: AtomicU64,
}

async fn opened(dims: usize) -> TestIndex {
    let index = fresh();
    let name = index.begin(&model(dims), "one").await.unwrap();
    index.take(&name).await.unwrap();
    TestIndex {
        index,
        name,
        revision: AtomicU64::new(0),
    }
}

fn position(revision: u64) -> IndexPosition {
    IndexPosition {
        revision: SkillsRevision(revision),
        message: revision * 10,
    }
}

#[async_trait::async_trait]
impl Searched for TestIndex {
    async fn change(&self, changes: Vec<IndexChange>) -> Result<(), Failed> {
        let revision = self.revision.fetch_add(1, Ordering::SeqCst) + 1;
        let at = SkillsRevision(revision);
        // With several concurrent writers the latest position stays.
        let write = self
            .index
            .write(&self.name, &changes, at, position(revision));
        assert_eq!(write.await?, []);
        Ok(())
    }

    async fn nearest(&self, question: &NearestSkills) -> Result<Vec<NearSkill>, Failed> {
        Ok(self.index.nearest(question).await?)
    }
}

mod opensearch {
    use super::{DIMS, Searched, opened};

    async fn fresh() -> Box<dyn Searched> {
        Box::new(opened(DIMS).await)
    }

    charter_testkit::search_suite!(fresh);
}

fn skill(name: &str, vector: Option<Vec<f32>>) -> IndexedSkill {
    IndexedSkill {
        scope: Scope::Global,
        id: SkillId::parse(name).unwrap(),
        summary: name.to_owned(),
        is_folder: false,
        sub_skills: Vec::new(),
        instruction: format!("how to use {name}"),
        vector,
    }
}

fn put_entry(name: &str, vector: [f32; 4]) -> IndexChange {
    IndexChange::Put(Box::new(skill(name, Some(vector.to_vec()))))
}

async fn nearest_names(index: &EsSkillIndex) -> Result<Vec<String>, SkillIndexError> {
    let question = NearestSkills {
        tenant: TenantId::parse("acme").unwrap(),
        own: SkillVisibility::All,
        global: SkillVisibility::All,
        is_folder: None,
        vector: vec![1.0, 0.0, 0.0, 0.0],
        most: 10,
    };
    let found = index.nearest(&question).await?;
    Ok(found.into_iter().map(|hit| hit.id.to_string()).collect())
}

/// Opened again under its name, it is the same index with its position.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_index_is_reopened_with_its_position() {
    let index = fresh();
    assert_eq!(index.current(&model(4)).await.unwrap(), None);
    let missing = nearest_names(&index).await.unwrap_err();
    assert!(
        matches!(missing, SkillIndexError::Missing { .. }),
        "{missing}"
    );
    let name = index.begin(&model(4), "one").await.unwrap();
    assert_eq!(
        index.current(&model(4)).await.unwrap(),
        None,
        "not taken yet"
    );
    index.take(&name).await.unwrap();
    let current = index.current(&model(4)).await.unwrap().unwrap();
    assert_eq!(
        (current.name, current.position),
        (name.clone(), IndexPosition::default())
    );
    let changes = [put_entry("a", [1.0, 0.0, 0.0, 0.0])];
    index
        .write(&name, &changes, SkillsRevision(3), position(2))
        .await
        .unwrap();
    let current = index.current(&model(4)).await.unwrap().unwrap();
    assert_eq!(current.position, position(2));
    let description = index.server().await.unwrap();
    let product = SearchServer::shared().product();
    assert!(
        description.starts_with(&format!("{product} ")),
        "{description}"
    );
}

/// Late and duplicate writes change neither an entry, nor a removed one, nor the position.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn late_and_repeated_writes_are_ignored() {
    let opened = opened(4).await;
    let (index, name) = (&opened.index, &opened.name);
    let write = async |changes: &[IndexChange], revision: u64| {
        let at = SkillsRevision(revision);
        let failed = index.write(name, changes, at, position(revision)).await;
        assert_eq!(failed.unwrap(), []);
    };
    let (near, far) = ([1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]);
    write(
        &[put_entry("a", far), put_entry("b", [0.8, 0.6, 0.0, 0.0])],
        5,
    )
    .await;
    write(&[put_entry("a", near)], 4).await;
    assert_eq!(nearest_names(index).await.unwrap(), ["b", "a"]);
    let gone = [IndexChange::Remove(
        Scope::Global,
        SkillId::parse("b").unwrap(),
    )];
    write(&gone, 7).await;
    write(&gone, 7).await;
    write(&[put_entry("b", near)], 6).await;
    assert_eq!(nearest_names(index).await.unwrap(), ["a"]);
    let current = index.current(&model(4)).await.unwrap().unwrap();
    assert_eq!(current.position, position(7));
    write(&[put_entry("b", near)], 8).await;
    assert_eq!(nearest_names(index).await.unwrap(), ["b", "a"]);
}

/// Of two writers, the one with the earlier position also finds its entries.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn entries_beyond_the_stored_position_are_found() {
    let opened = opened(4).await;
    let (index, name) = (&opened.index, &opened.name);
    let vector = [1.0, 0.0, 0.0, 0.0];
    let write = async |entry: &str, revision: u64| {
        let (at, changes) = (SkillsRevision(revision), [put_entry(entry, vector)]);
        let failed = index.write(name, &changes, at, position(revision)).await;
        assert_eq!(failed.unwrap(), []);
    };
    write("late", 100).await;
    for revision in 1..20 {
        write(&format!("early{revision}"), revision).await;
        assert_eq!(
            nearest_names(index).await.unwrap().len(),
            10.min(1 + revision as usize)
        );
    }
}

/// A refused entry is reported; the others are written, and the position advances.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_entry_does_not_block_other_entries() {
    let opened = opened(4).await;
    let (index, name) = (&opened.index, &opened.name);
    let good = [0.5, 0.5, 0.5, 0.5];
    let changes = [
        put_entry("a", good),
        IndexChange::Put(Box::new(skill("b", Some(vec![1.0, 0.0])))),
        put_entry("c", good),
    ];
    let failed = index
        .write(name, &changes, SkillsRevision(1), position(1))
        .await
        .unwrap();
    assert_eq!(failed.len(), 1, "{failed:?}");
    assert_eq!(failed[0].id.as_str(), "b");
    assert!(failed[0].reason.contains("dimension"), "{failed:?}");
    assert_eq!(nearest_names(index).await.unwrap(), ["a", "c"]);
    let current = index.current(&model(4)).await.unwrap().unwrap();
    assert_eq!(current.position, position(1));
}

/// A second tenant's skill of the same id is another entry, and each scope is found through its own alias.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scopes_have_indexes_of_their_own() {
    let opened = opened(4).await;
    let (index, name) = (&opened.index, &opened.name);
    let vector = vec![1.0, 0.0, 0.0, 0.0];
    let of_tenant = |tenant: &str| IndexedSkill {
        scope: Scope::Tenant(TenantId::parse(tenant).unwrap()),
        ..skill("same", Some(vector.clone()))
    };
    let changes = ["acme", "Umbra.1"].map(|tenant| IndexChange::Put(Box::new(of_tenant(tenant))));
    let failed = index.write(name, &changes, SkillsRevision(1), position(1));
    assert_eq!(failed.await.unwrap(), []);
    let removed = [IndexChange::Remove(
        Scope::Global,
        SkillId::parse("same").unwrap(),
    )];
    // A scope without skills has no index.
    let failed = index.write(name, &removed, SkillsRevision(2), position(2));
    assert_eq!(failed.await.unwrap(), []);
    assert_eq!(nearest_names(index).await.unwrap(), ["same"]);
    let current = index.current(&model(4)).await.unwrap().unwrap();
    assert_eq!(current.position, position(2));
}

/// An index of another kind or origin is not changed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_index_with_different_settings_is_refused() {
    let opened = opened(4).await;
    for other in [
        model(8),
        SkillsModel {
            name: "other".to_owned(),
            dims: 4,
        },
    ] {
        let refused = opened.index.current(&other).await.unwrap_err();
        assert!(
            matches!(refused, SkillIndexError::Mismatch { .. }),
            "{refused}"
        );
        assert!(refused.to_string().contains("charter reindex"), "{refused}");
    }
    assert!(opened.index.current(&model(4)).await.unwrap().is_some());
}

/// Searches switch to a rebuilt index atomically; later writes to the previous one are refused, and an abandoned one is
/// deleted.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rebuilt_index_replaces_the_old_one_atomically() {
    let opened = opened(4).await;
    let (index, before) = (&opened.index, &opened.name);
    let near = [1.0, 0.0, 0.0, 0.0];
    let write = async |name: &IndexName, entry: &str, revision: u64| {
        let changes = [put_entry(entry, near)];
        let at = SkillsRevision(revision);
        index.write(name, &changes, at, position(revision)).await
    };
    write(before, "old", 1).await.unwrap();
    let left = index.begin(&model(4), "left").await.unwrap();
    let next = index.begin(&model(4), "two").await.unwrap();
    let gone = write(&left, "x", 9).await.unwrap_err();
    assert!(matches!(gone, SkillIndexError::Missing { .. }), "{gone}");
    write(&next, "new", 2).await.unwrap();
    assert_eq!(nearest_names(index).await.unwrap(), ["old"]);
    index.take(&next).await.unwrap();
    assert_eq!(nearest_names(index).await.unwrap(), ["new"]);
    let late = write(before, "late", 3).await.unwrap_err();
    assert!(matches!(late, SkillIndexError::Missing { .. }), "{late}");
    assert_eq!(
        nearest_names(index).await.unwrap(),
        ["new"],
        "nothing came into being"
    );
    let current = index.current(&model(4)).await.unwrap().unwrap();
    assert_eq!((current.name, current.position), (next, position(2)));
}

/// An unreachable node is distinguished from a refusal; no call hangs, and no message contains credentials.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unreachable_node_is_reported_within_the_timeout() {
    let opened = opened(4).await;
    let gate = Gate::to(SearchServer::shared().address());
    let index = EsSkillIndex::new(&EsOptions {
        url: gate.url(),
        credentials: Some(Credentials::Basic {
            user: "ann".to_owned(),
            password: "s3cret".to_owned(),
        }),
        timeout: std::time::Duration::from_secs(5),
        ..options(opened.index.place().rsplit('/').next().unwrap())
    })
    .unwrap();
    assert_eq!(nearest_names(&index).await.unwrap(), [""; 0]);
    gate.close();
    let away = nearest_names(&index).await.unwrap_err();
    assert!(
        matches!(away, SkillIndexError::Unreachable { .. }),
        "{away}"
    );
    for description in [format!("{away:?}"), format!("{index:?}"), index.place()] {
        assert!(!description.contains("s3cret"), "{description}");
    }
    gate.open();
    assert_eq!(nearest_names(&index).await.unwrap(), [""; 0]);
}
