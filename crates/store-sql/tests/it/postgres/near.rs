//! Memory search by pgvector: the contract suite of searching, on memories that carry the names of the suite's entries
//! as tags; and tests specific to the database.

use std::collections::BTreeMap;

use charter_contract::agentic::memory::{MemoryState, Visibility};
use charter_contract::ids::{MemoryId, SkillId, TenantId, UserId};
use charter_contract::scope::Scope;
use charter_contract::time::Timestamp;
use charter_store::memory::{Memories, MemoryVector, NearestMemories, NewMemory, NewVersion};
use charter_store::skill_index::{
    IndexChange, IndexedSkill, NearSkill, NearestSkills, SkillVisibility,
};
use charter_store_sql::postgres::PostgresStore;
use charter_testkit::postgres_server::Database;
use charter_testkit::search_suite::{Failed, Searched};
use serde_json::json;
use tokio::sync::Mutex;
use uuid::Uuid;

use crate::postgres::database::{migrated, raw, store};

/// Creates a migrated database with pgvector.
pub(crate) async fn with_pgvector() -> Database {
    let database = migrated().await;
    database.install_pgvector();
    store(&database).await.close();
    database
}

const MODEL: &str = "test/f32";

/// A limit that no case reaches.
const MOST: u64 = 100_000;

/// Memories in a database; each tenant's entries with the corresponding memory.
struct Near {
    store: PostgresStore,
    known: Mutex<BTreeMap<(TenantId, SkillId), (MemoryId, IndexedSkill)>>,
    database: Database,
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_micros(1_700_000_000_000_000 + seconds * 1_000_000).unwrap()
}

/// Pads a vector to the dimensions of the index; cosines do not change.
pub(crate) fn padded(vector: &[f32]) -> Vec<f32> {
    let mut vector = vector.to_vec();
    vector.resize(384, 0.0);
    vector
}

fn bytes(vector: &[f32]) -> Vec<u8> {
    let components = padded(vector).into_iter();
    components.flat_map(f32::to_le_bytes).collect()
}

fn user(name: &str) -> UserId {
    UserId::parse(name).unwrap()
}

fn version(id: &MemoryId, text: &str, tags: &[String], vector: Option<&[f32]>) -> NewVersion {
    let entry = json!({
        "id": id, "title": "t", "content": text, "tags": tags,
        "created_at": at(0), "updated_at": at(0), "metadata": {"source": "user_statement"},
    });
    NewVersion {
        state: MemoryState::Accepted,
        at: at(0),
        author: user("ann"),
        agent: None,
        entry: serde_json::from_value(entry).unwrap(),
        vector: vector.map(|vector| MemoryVector {
            model: MODEL.to_owned(),
            bytes: bytes(vector),
        }),
        expires_at: None,
    }
}

/// Returns the tags of an entry: its kind and its name.
fn tags(skill: &IndexedSkill) -> Vec<String> {
    let kind = match skill.is_folder {
        true => "folder",
        false => "leaf",
    };
    vec![kind.to_owned(), format!("id:{}", skill.id)]
}

async fn near() -> Near {
    let database = with_pgvector().await;
    Near {
        store: store(&database).await,
        known: Mutex::default(),
        database,
    }
}

fn asked<'a>(vector: &'a [f32], reader: &'a UserId) -> NearestMemories<'a> {
    NearestMemories {
        reader,
        now: at(1),
        tags_all: &[],
        tags_any: &[],
        from: None,
        until: None,
        min_importance: 0,
        unsaid_importance: 5,
        model: MODEL,
        vector,
        most: 10,
    }
}

#[async_trait::async_trait]
impl Searched for Near {
    fn has_global(&self) -> bool {
        false
    }

    async fn change(&self, changes: Vec<IndexChange>) -> Result<(), Failed> {
        for change in changes {
            let (scope, id) = change.key();
            let tenant = scope.tenant().expect("a tenant's entry").clone();
            let key = (tenant.clone(), id.clone());
            let known = self.known.lock().await.get(&key).cloned();
            let skill = match change {
                IndexChange::Put(skill) => *skill,
                IndexChange::Remove(..) => {
                    if let Some((memory, _)) = self.known.lock().await.remove(&key) {
                        let ann = user("ann");
                        self.store
                            .remove_memory(&tenant, &memory, &ann, at(0))
                            .await?;
                    }
                    continue;
                }
            };
            let vector = skill.vector.as_deref();
            if let Some((memory, _)) = known {
                let next = version(&memory, &skill.summary, &tags(&skill), vector);
                let record = self.store.memory(&tenant, &memory, at(0)).await?;
                let expected = record.and_then(|record| record.current);
                let write = self
                    .store
                    .add_memory_version(&tenant, &memory, expected, &next);
                write.await?;
                self.known.lock().await.insert(key, (memory, skill));
                continue;
            }
            let memory = MemoryId::from_uuid(Uuid::new_v4());
            let new = NewMemory {
                tenant_id: tenant,
                user_id: user("ann"),
                visibility: Visibility::Private,
                first: version(&memory, &skill.summary, &tags(&skill), vector),
            };
            self.store.add_memory(&new, MOST).await?;
            self.known.lock().await.insert(key, (memory, skill));
        }
        Ok(())
    }

    async fn nearest(&self, question: &NearestSkills) -> Result<Vec<NearSkill>, Failed> {
        let known = self.known.lock().await;
        let of = known
            .iter()
            .filter(|((tenant, _), _)| *tenant == question.tenant);
        let names: BTreeMap<MemoryId, SkillId> = of
            .map(|((_, id), (memory, _))| (memory.clone(), id.clone()))
            .collect();
        drop(known);
        let tag = |id: &SkillId| format!("id:{id}");
        let tags_any: Vec<String> = match &question.own {
            SkillVisibility::Nothing => return Ok(Vec::new()),
            SkillVisibility::Only(ids) if ids.is_empty() => return Ok(Vec::new()),
            SkillVisibility::All => Vec::new(),
            SkillVisibility::Only(ids) => ids.iter().map(tag).collect(),
            SkillVisibility::AllBut(ids) => {
                let seen = names.values().filter(|id| !ids.contains(id));
                seen.map(tag).collect()
            }
        };
        let tags_all: Vec<String> = match question.is_folder {
            None => Vec::new(),
            Some(true) => vec!["folder".to_owned()],
            Some(false) => vec!["leaf".to_owned()],
        };
        let reader = user("ann");
        let vector = padded(&question.vector);
        let asked = NearestMemories {
            tags_all: &tags_all,
            tags_any: &tags_any,
            most: question.most,
            ..asked(&vector, &reader)
        };
        let found = self
            .store
            .nearest_memories(&question.tenant, &asked)
            .await?;
        let found = found.expect("the test server has pgvector");
        let mut found: Vec<NearSkill> = found
            .into_iter()
            .filter_map(|near| {
                Some(NearSkill {
                    scope: Scope::Tenant(question.tenant.clone()),
                    id: names.get(&near.change.record.memory_id)?.clone(),
                    cosine: near.cosine,
                })
            })
            .collect();
        found.sort_by(|a, b| b.cosine.total_cmp(&a.cosine).then_with(|| a.id.cmp(&b.id)));
        Ok(found)
    }
}

mod postgres {
    use super::{Searched, near};

    async fn fresh() -> Box<dyn Searched> {
        Box::new(near().await)
    }

    charter_testkit::search_suite!(fresh);
}

/// Filters on owner, expiry, model and importance apply before the nearest entries are selected.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn filtered_entries_do_not_use_up_the_limit() {
    let near = near().await;
    let acme = TenantId::parse("acme").unwrap();
    let (axis, off) = (padded(&[1.0, 0.0]), padded(&[0.6, 0.8]));
    let add = async |change: &dyn Fn(&mut NewMemory)| {
        let id = MemoryId::from_uuid(Uuid::new_v4());
        let mut new = NewMemory {
            tenant_id: acme.clone(),
            user_id: user("bob"),
            visibility: Visibility::Shared,
            first: version(&id, "x", &["tag".to_owned()], Some(&axis)),
        };
        change(&mut new);
        near.store.add_memory(&new, MOST).await.unwrap();
        id
    };
    let shared = add(&|new| new.first.vector.as_mut().unwrap().bytes = bytes(&off)).await;
    for _ in 0..20 {
        add(&|new| new.visibility = Visibility::Private).await;
        add(&|new| new.first.expires_at = Some(at(1))).await;
        add(&|new| new.first.state = MemoryState::Proposed).await;
        add(&|new| new.first.vector.as_mut().unwrap().model = "other".to_owned()).await;
        add(&|new| new.first.vector = None).await;
        add(&|new| new.tenant_id = TenantId::parse("other").unwrap()).await;
    }
    let ann = user("ann");
    let found = async |asked: &NearestMemories<'_>| -> Vec<MemoryId> {
        let found = near
            .store
            .nearest_memories(&acme, asked)
            .await
            .unwrap()
            .unwrap();
        let found = found.into_iter();
        found.map(|near| near.change.record.memory_id).collect()
    };
    let plain = NearestMemories {
        most: 1,
        ..asked(&axis, &ann)
    };
    assert_eq!(found(&plain).await, std::slice::from_ref(&shared));
    let more = ["tag", "more"].map(str::to_owned);
    let excluded: [NearestMemories<'_>; 4] = [
        NearestMemories {
            min_importance: 6,
            ..plain.clone()
        },
        NearestMemories {
            from: Some(at(1)),
            ..plain.clone()
        },
        NearestMemories {
            until: Some(at(0)),
            ..plain.clone()
        },
        NearestMemories {
            tags_all: &more,
            ..plain.clone()
        },
    ];
    for asked in &excluded {
        assert_eq!(found(asked).await, []);
    }
    let bob = user("bob");
    let own = NearestMemories {
        most: 50,
        ..asked(&axis, &bob)
    };
    assert_eq!(found(&own).await.len(), 21);
}

/// Memories that were stored before the extension was installed are found after a restart; removed content is in no
/// index.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_extension_that_comes_later_is_taken_up() {
    let near = near().await;
    let acme = TenantId::parse("acme").unwrap();
    let raw = raw(&near.database).await;
    let dropped = "DROP TABLE lens_near, memory_near; DROP EXTENSION vector";
    raw.batch_execute(dropped).await.unwrap();
    let without = store(&near.database).await;
    let axis = padded(&[1.0, 0.0]);
    let ann = user("ann");
    for number in 0..3 {
        let id = MemoryId::from_uuid(Uuid::from_u128(number));
        let new = NewMemory {
            tenant_id: acme.clone(),
            user_id: ann.clone(),
            visibility: Visibility::Private,
            first: version(&id, "x", &["tag".to_owned()], Some(&axis)),
        };
        without.add_memory(&new, MOST).await.unwrap();
    }
    assert_eq!(
        without
            .nearest_memories(&acme, &asked(&axis, &ann))
            .await
            .unwrap(),
        None
    );
    near.database.install_pgvector();
    let with = store(&near.database).await;
    let found = with
        .nearest_memories(&acme, &asked(&axis, &ann))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(found.len(), 3);
    let first = MemoryId::from_uuid(Uuid::from_u128(0));
    with.remove_memory(&acme, &first, &ann, at(1))
        .await
        .unwrap();
    let found = with
        .nearest_memories(&acme, &asked(&axis, &ann))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(found.len(), 2);
    let left = raw
        .query_one("SELECT count(*) FROM memory_near", &[])
        .await
        .unwrap();
    assert_eq!(left.get::<_, i64>(0), 2);
}
