//! Passage search by pgvector: the contract suite of searching, on lenses with one passage for each of the suite's
//! entries; and tests specific to the database.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use charter_contract::catalogue::DocumentKind;
use charter_contract::ids::{LensId, SkillId, TenantId};
use charter_contract::scope::Scope;
use charter_store::catalogue::{Catalogue, CatalogueRevision, NewDocument};
use charter_store::lens::{
    LensChunk, LensGeneration, Lenses, NearPart, NearestPassages, NewLensIndex,
};
use charter_store::skill_index::{
    IndexChange, IndexedSkill, NearSkill, NearestSkills, SkillVisibility,
};
use charter_store_sql::postgres::PostgresStore;
use charter_testkit::postgres_server::Database;
use charter_testkit::search_suite::{Failed, Searched};
use charter_testkit::store_suite::{Fixture, Outcome, lens, sample};
use tokio::sync::Mutex;

use crate::postgres::database::{raw, store};
use crate::postgres::near::{padded, with_pgvector};

/// Lenses in a database; each entry of the suite with the corresponding lens.
struct Passages {
    store: PostgresStore,
    known: Mutex<ExpectedIndex>,
    _database: Database,
}

#[derive(Default)]
struct ExpectedIndex {
    entries: BTreeMap<(Scope, SkillId), (LensId, IndexedSkill)>,
    revision: u64,
    made: u64,
}

fn document(lens: &LensId) -> NewDocument {
    NewDocument {
        kind: DocumentKind::DomainLens,
        ..sample::skill(lens.as_ref(), "a lens")
    }
}

fn index(lens: &LensId, vectors: &[Vec<f32>]) -> NewLensIndex {
    let bytes = |vector: &Vec<f32>| vector.iter().flat_map(|c| c.to_le_bytes()).collect();
    NewLensIndex {
        lens_id: lens.clone(),
        body: "{}".to_owned(),
        chunks: vec![LensChunk {
            text: lens.to_string(),
            place: "{}".to_owned(),
            vectors: vectors.iter().map(bytes).collect(),
        }],
    }
}

async fn passages() -> Passages {
    let database = with_pgvector().await;
    Passages {
        store: store(&database).await,
        known: Mutex::default(),
        _database: database,
    }
}

impl Passages {
    /// Registers all lenses of a scope, some of them with new indexes.
    async fn register(
        &self,
        known: &mut ExpectedIndex,
        scope: &Scope,
        lenses: Vec<NewLensIndex>,
    ) -> Result<(), Failed> {
        let of_scope = known.entries.iter().filter(|((of, _), _)| of == scope);
        let documents = of_scope.map(|(_, (lens, _))| document(lens)).collect();
        let version = format!("0.0.{}", known.revision);
        let package = match scope {
            Scope::Global => "library",
            Scope::Tenant(_) => "own-library",
        };
        let mut registration =
            sample::registration(scope, package, &version, known.revision, documents)?;
        registration.lenses = lenses;
        let CatalogueRevision(revision) = self.store.register(registration).await?;
        known.revision = revision;
        Ok(())
    }
}

#[async_trait::async_trait]
impl Searched for Passages {
    async fn change(&self, changes: Vec<IndexChange>) -> Result<(), Failed> {
        let mut known = self.known.lock().await;
        let mut new: BTreeMap<Scope, Vec<NewLensIndex>> = BTreeMap::new();
        for change in changes {
            let (scope, id) = change.key();
            let key = (scope.clone(), id.clone());
            let of_scope = new.entry(scope.clone()).or_default();
            match change {
                IndexChange::Remove(..) => {
                    known.entries.remove(&key);
                }
                IndexChange::Put(skill) => {
                    known.made += 1;
                    let lens = LensId::parse(&format!("lens.n{}", known.made))?;
                    let vector = skill.vector.as_deref().map(padded);
                    of_scope.push(index(&lens, vector.as_slice()));
                    known.entries.insert(key, (lens, *skill));
                }
            }
        }
        for (scope, lenses) in new {
            self.register(&mut known, &scope, lenses).await?;
        }
        Ok(())
    }

    async fn nearest(&self, question: &NearestSkills) -> Result<Vec<NearSkill>, Failed> {
        let known = self.known.lock().await;
        let mut generations = BTreeMap::new();
        let records = self.store.lens_indexes().await?.into_iter();
        let by_lens: BTreeMap<(Scope, LensId), LensGeneration> = records
            .map(|record| ((record.scope, record.lens_id), record.generation))
            .collect();
        for ((scope, id), (lens, skill)) in &known.entries {
            let sight = match scope {
                Scope::Global => &question.global,
                Scope::Tenant(tenant) if *tenant == question.tenant => &question.own,
                Scope::Tenant(_) => continue,
            };
            let seen = match sight {
                SkillVisibility::Nothing => false,
                SkillVisibility::All => true,
                SkillVisibility::Only(ids) => ids.contains(id),
                SkillVisibility::AllBut(ids) => !ids.contains(id),
            };
            let of_kind = question.is_folder.is_none_or(|is| is == skill.is_folder);
            if seen && of_kind {
                let generation = by_lens[&(scope.clone(), lens.clone())];
                generations.insert(generation, (scope.clone(), id.clone()));
            }
        }
        let indexes: Vec<LensGeneration> = generations.keys().copied().collect();
        let vector = padded(&question.vector);
        let asked = NearestPassages {
            indexes: &indexes,
            vectors: &[&vector],
            most: question.most,
            also: &[],
        };
        let found = self
            .store
            .nearest_passages(&question.tenant, &asked)
            .await?;
        let mut found: Vec<NearSkill> = found
            .into_iter()
            .map(|NearPart { passage, cosines }| {
                let (scope, id) = generations[&passage.generation].clone();
                let cosine = cosines[0];
                NearSkill { scope, id, cosine }
            })
            .collect();
        found.sort_by(|a, b| {
            let by_name = || (&a.scope, &a.id).cmp(&(&b.scope, &b.id));
            b.cosine.total_cmp(&a.cosine).then_with(by_name)
        });
        Ok(found)
    }
}

mod postgres {
    use super::{Searched, passages};

    async fn fresh() -> Box<dyn Searched> {
        Box::new(passages().await)
    }

    charter_testkit::search_suite!(fresh);
}

/// The case of the storage contract, for a store that compares vectors.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b000_16_the_nearest_passages_are_those_of_the_indexes_named() -> Outcome {
    let database = with_pgvector().await;
    let fixture = Fixture {
        store: Arc::new(store(&database).await),
        keep: Box::new(database),
    };
    assert!(fixture.store.searches_passages().await?);
    lens::b000_16_the_nearest_passages_are_those_of_the_indexes_named(&*fixture.store).await
}

/// Passages that were stored before the extension was installed are found after a restart; replaced passages, and those
/// of a removed lens, are in no index.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_extension_that_comes_later_takes_passages_up() -> Outcome {
    let passages = passages().await;
    let database = &passages._database;
    let raw = raw(database).await;
    let dropped = "DROP TABLE lens_near, memory_near; DROP EXTENSION vector";
    raw.batch_execute(dropped).await?;
    let without = store(database).await;
    assert!(!without.searches_passages().await?);
    let lens = LensId::parse("security.manual")?;
    let two = vec![padded(&[1.0, 0.0]), padded(&[0.0, 1.0])];
    let mut registration =
        sample::registration(&Scope::Global, "library", "0.1.0", 0, vec![document(&lens)])?;
    registration.lenses = vec![index(&lens, &two)];
    without.register(registration).await?;
    database.install_pgvector();
    let with = store(database).await;
    let acme = TenantId::parse("acme")?;
    let found = async || {
        let generation = with.lens_indexes().await?[0].generation;
        let asked = NearestPassages {
            indexes: &[generation],
            vectors: &[&two[0]],
            most: 10,
            also: &[],
        };
        let found = with.nearest_passages(&acme, &asked).await?.into_iter();
        let mut cosines: Vec<f32> = found.map(|part| part.cosines[0]).collect();
        cosines.sort_by(f32::total_cmp);
        Ok::<_, Failed>((generation, cosines))
    };
    let (before, cosines) = found().await?;
    assert_eq!(cosines, [0.0, 1.0]);
    let other = index(&lens, &[padded(&[0.0, 1.0])]);
    with.replace_lens_index(&Scope::Global, other, Some(before))
        .await?;
    assert_eq!(found().await?.1, [0.0]);
    let left = raw.query_one("SELECT count(*) FROM lens_near", &[]).await?;
    assert_eq!(left.get::<_, i64>(0), 1);
    let gone = sample::registration(&Scope::Global, "library", "0.2.0", 1, Vec::new())?;
    with.register(gone).await?;
    let left = raw.query_one("SELECT count(*) FROM lens_near", &[]).await?;
    assert_eq!(left.get::<_, i64>(0), 0);
    Ok(())
}

/// Many vectors are searched by the HNSW index, not one by one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn passages_are_found_by_the_index() -> Outcome {
    let passages = passages().await;
    let lens = LensId::parse("security.manual")?;
    let mut registration =
        sample::registration(&Scope::Global, "library", "0.1.0", 0, vec![document(&lens)])?;
    let mut large = index(&lens, &[]);
    let chunk = large.chunks[0].clone();
    let angle = |number: u16| f32::from(number) / 1_000.0;
    large.chunks = (0..1_500)
        .map(|number| LensChunk {
            vectors: index(
                &lens,
                &[padded(&[angle(number).cos(), angle(number).sin()])],
            )
            .chunks[0]
                .vectors
                .clone(),
            ..chunk.clone()
        })
        .collect();
    registration.lenses = vec![large];
    passages.store.register(registration).await?;
    let raw = raw(&passages._database).await;
    raw.batch_execute("ANALYZE lens_near, lens_index").await?;
    let generation = passages.store.lens_indexes().await?[0].generation;
    let vector = padded(&[1.0, 0.0]);
    let asked = NearestPassages {
        indexes: &[generation],
        vectors: &[&vector],
        most: 5,
        also: &[],
    };
    let acme = TenantId::parse("acme")?;
    let found = passages.store.nearest_passages(&acme, &asked).await?;
    let mut ordinals: Vec<usize> = found.iter().map(|part| part.passage.ordinal).collect();
    ordinals.sort_unstable();
    assert_eq!(ordinals, [0, 1, 2, 3, 4]);
    // A connection reports its statistics after a quiet period, or when flushed explicitly.
    let scans = "SELECT pg_stat_force_next_flush(), (SELECT coalesce(sum(idx_scan), 0)::bigint
                 FROM pg_stat_all_indexes WHERE indexrelname = 'lens_near_384')";
    passages.store.close();
    drop(passages.store);
    let read = async {
        while raw.query_one(scans, &[]).await?.get::<_, i64>(1) == 0 {
            tokio::task::yield_now().await;
        }
        Ok::<_, Failed>(())
    };
    let read = tokio::time::timeout(Duration::from_secs(20), read).await;
    read.expect("the index was not read")
}
