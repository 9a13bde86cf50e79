//! The contract suite of vector search for skills: one named test for every guarantee of
//! [`SkillIndex::nearest`](charter_store::skill_index::SkillIndex::nearest). Every engine runs the whole suite on its
//! real index:
//!
//! ```ignore
//! charter_testkit::search_suite!(fresh_index);
//!
//! async fn fresh_index() -> Box<dyn charter_testkit::search_suite::Searched> { … }
//! ```
//!
//! It knows no engine. An approximate engine must find a given share of an exact search's results.

use std::collections::BTreeSet;

use async_trait::async_trait;
use charter_contract::ids::{SkillId, TenantId};
use charter_contract::scope::Scope;
use charter_store::skill_index::{
    IndexChange, IndexedSkill, NearSkill, NearestSkills, SkillVisibility,
};

use crate::store_suite::Outcome;

/// Dimensions of every vector in the suite.
pub const DIMS: usize = 32;

/// Maximum deviation of a cosine from the exact value: engines store components with fewer bits.
const CLOSE: f32 = 2e-3;

/// Error of a failed case.
pub type Failed = Box<dyn std::error::Error + Send + Sync>;

/// An empty index under test.
#[async_trait]
pub trait Searched: Send + Sync {
    /// Whether the index has global entries as well as tenants' entries; if not, the cases skip their parts about
    /// global entries.
    fn has_global(&self) -> bool {
        true
    }

    /// Changes entries; searches see all changes when this returns.
    async fn change(&self, changes: Vec<IndexChange>) -> Result<(), Failed>;

    /// Returns the nearest visible entries.
    async fn nearest(&self, question: &NearestSkills) -> Result<Vec<NearSkill>, Failed>;
}

/// The entries of a case, with an exact search over them.
#[derive(Debug, Default)]
struct Population(Vec<IndexedSkill>);

/// A generator of reproducible pseudo-random numbers.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f32 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 40) as f32 / (1_u64 << 23) as f32) - 1.0
    }

    fn vector(&mut self) -> Vec<f32> {
        unit((0..DIMS).map(|_| self.next()).collect())
    }
}

fn unit(mut vector: Vec<f32>) -> Vec<f32> {
    let length = vector.iter().map(|c| c * c).sum::<f32>().sqrt();
    vector.iter_mut().for_each(|c| *c /= length);
    vector
}

/// Returns a vector at an angle from the first axis, in degrees.
fn vector_at(degrees: f32) -> Vec<f32> {
    let mut vector = vec![0.0; DIMS];
    vector[0] = degrees.to_radians().cos();
    vector[1] = degrees.to_radians().sin();
    vector
}

fn id(text: &str) -> Result<SkillId, Failed> {
    Ok(SkillId::parse(text)?)
}

fn tenant(name: &str) -> Result<TenantId, Failed> {
    Ok(TenantId::parse(name)?)
}

fn own(name: &str) -> Result<Scope, Failed> {
    Ok(Scope::Tenant(tenant(name)?))
}

fn skill(scope: &Scope, name: &str, vector: Vec<f32>) -> Result<IndexedSkill, Failed> {
    Ok(IndexedSkill {
        scope: scope.clone(),
        id: id(name)?,
        summary: format!("what {name} is for"),
        is_folder: false,
        sub_skills: Vec::new(),
        instruction: format!("how to use {name}"),
        vector: Some(vector),
    })
}

fn put_change(skill: IndexedSkill) -> IndexChange {
    IndexChange::Put(Box::new(skill))
}

/// Returns a query of the tenant `acme` over all entries.
fn question(vector: Vec<f32>, most: usize) -> Result<NearestSkills, Failed> {
    Ok(NearestSkills {
        tenant: tenant("acme")?,
        own: SkillVisibility::All,
        global: SkillVisibility::All,
        is_folder: None,
        vector,
        most,
    })
}

fn ids(found: &[NearSkill]) -> Vec<&str> {
    found.iter().map(|hit| hit.id.as_str()).collect()
}

impl Population {
    fn sees(question: &NearestSkills, skill: &IndexedSkill) -> bool {
        let sight = match &skill.scope {
            Scope::Global => &question.global,
            Scope::Tenant(tenant) if *tenant == question.tenant => &question.own,
            Scope::Tenant(_) => return false,
        };
        let seen = match sight {
            SkillVisibility::Nothing => false,
            SkillVisibility::All => true,
            SkillVisibility::Only(ids) => ids.contains(&skill.id),
            SkillVisibility::AllBut(ids) => !ids.contains(&skill.id),
        };
        seen && question
            .is_folder
            .is_none_or(|folder| folder == skill.is_folder)
    }

    fn exact(&self, question: &NearestSkills) -> Vec<(Scope, SkillId)> {
        let cosine = |skill: &IndexedSkill| -> f32 {
            let vector = skill.vector.as_deref().unwrap_or_default();
            vector
                .iter()
                .zip(&question.vector)
                .map(|(a, b)| a * b)
                .sum()
        };
        let mut seen: Vec<&IndexedSkill> = self
            .0
            .iter()
            .filter(|skill| skill.vector.is_some() && Self::sees(question, skill))
            .collect();
        seen.sort_by(|a, b| cosine(b).total_cmp(&cosine(a)));
        let found = seen.into_iter().take(question.most);
        found
            .map(|skill| (skill.scope.clone(), skill.id.clone()))
            .collect()
    }
}

/// Returns the share of an exact search's results that the engine finds.
async fn recall(
    engine: &dyn Searched,
    population: &Population,
    questions: &[NearestSkills],
) -> Result<f32, Failed> {
    let (mut hits, mut wanted) = (0, 0);
    for question in questions {
        let found = engine.nearest(question).await?;
        let found: BTreeSet<_> = found.into_iter().map(|hit| (hit.scope, hit.id)).collect();
        let exact = population.exact(question);
        wanted += exact.len();
        hits += exact.iter().filter(|key| found.contains(key)).count();
    }
    Ok(hits as f32 / wanted.max(1) as f32)
}

/// Results are ordered by cosine, include it, and are limited to the requested number.
///
/// # Errors
/// Any error of the engine.
pub async fn the_nearest_entries_come_first(engine: &dyn Searched) -> Outcome {
    let acme = own("acme")?;
    let mut changes = Vec::new();
    for (name, degrees) in [
        ("far", 90.0),
        ("near", 10.0),
        ("behind", 180.0),
        ("middle", 45.0),
    ] {
        changes.push(put_change(skill(&acme, name, vector_at(degrees))?));
    }
    engine.change(changes).await?;
    let found = engine.nearest(&question(vector_at(0.0), 10)?).await?;
    assert_eq!(ids(&found), ["near", "middle", "far", "behind"]);
    for (hit, degrees) in found.iter().zip([10.0_f32, 45.0, 90.0, 180.0]) {
        let exact = degrees.to_radians().cos();
        assert!((hit.cosine - exact).abs() < CLOSE, "{hit:?}, {exact}");
        assert_eq!(hit.scope, acme);
    }
    let found = engine.nearest(&question(vector_at(0.0), 2)?).await?;
    assert_eq!(ids(&found), ["near", "middle"]);
    Ok(())
}

/// An empty index returns nothing, and a request for more entries than exist returns all.
///
/// # Errors
/// Any error of the engine.
pub async fn a_limit_beyond_the_number_of_entries_returns_all(engine: &dyn Searched) -> Outcome {
    assert_eq!(engine.nearest(&question(vector_at(0.0), 10)?).await?, []);
    let acme = own("acme")?;
    engine
        .change(vec![put_change(skill(&acme, "a", vector_at(1.0))?)])
        .await?;
    let found = engine.nearest(&question(vector_at(0.0), 500)?).await?;
    assert_eq!(ids(&found), ["a"]);
    let mut without = skill(&acme, "b", vector_at(0.0))?;
    without.vector = None;
    engine.change(vec![put_change(without)]).await?;
    let found = engine.nearest(&question(vector_at(0.0), 500)?).await?;
    assert_eq!(ids(&found), ["a"], "what has no vector is not found by one");
    Ok(())
}

/// A tenant finds its own and global entries, never another tenant's; scopes may use the same ids.
///
/// # Errors
/// Any error of the engine.
pub async fn tenants_are_isolated(engine: &dyn Searched) -> Outcome {
    let (acme, other) = (own("acme")?, own("other")?);
    let mut changes = vec![put_change(skill(&acme, "same", vector_at(20.0))?)];
    let everybodys = engine.has_global();
    if everybodys {
        changes.push(put_change(skill(&Scope::Global, "same", vector_at(30.0))?));
    }
    // Nearer than all that acme may see, and more than it requests.
    for number in 0..30 {
        changes.push(put_change(skill(
            &other,
            &format!("other{number}"),
            vector_at(0.1 * number as f32),
        )?));
    }
    changes.push(put_change(skill(&other, "same", vector_at(5.0))?));
    engine.change(changes).await?;
    let found = engine.nearest(&question(vector_at(0.0), 2)?).await?;
    let places: Vec<_> = found
        .iter()
        .map(|hit| (&hit.scope, hit.id.as_str()))
        .collect();
    let global = everybodys.then_some((&Scope::Global, "same"));
    let expected: Vec<_> = std::iter::once((&acme, "same")).chain(global).collect();
    assert_eq!(places, expected);
    let mut stranger = question(vector_at(0.0), 50)?;
    stranger.tenant = tenant("nobody")?;
    let shared: Vec<Scope> = everybodys.then_some(Scope::Global).into_iter().collect();
    let found = engine.nearest(&stranger).await?.into_iter();
    assert_eq!(found.map(|hit| hit.scope).collect::<Vec<_>>(), shared);
    let gone = vec![IndexChange::Remove(acme.clone(), id("same")?)];
    engine.change(gone).await?;
    let found = engine
        .nearest(&question(vector_at(0.0), 2)?)
        .await?
        .into_iter();
    assert_eq!(found.map(|hit| hit.scope).collect::<Vec<_>>(), shared);
    Ok(())
}

/// B001-6: inaccessible entries take no result slot, however near they are.
///
/// # Errors
/// Any error of the engine.
pub async fn b001_6_denied_entries_do_not_count_towards_the_limit(
    engine: &dyn Searched,
) -> Outcome {
    let acme = own("acme")?;
    let mut changes = Vec::new();
    for number in 0..300 {
        changes.push(put_change(skill(
            &acme,
            &format!("near{number}"),
            vector_at(0.1 * number as f32),
        )?));
    }
    for number in 0..3 {
        changes.push(put_change(skill(
            &acme,
            &format!("granted{number}"),
            vector_at(120.0 + number as f32),
        )?));
    }
    engine.change(changes).await?;
    let granted = ["granted0", "granted1", "granted2"].map(id);
    let granted = granted.into_iter().collect::<Result<Vec<_>, _>>()?;
    let sees = |own: SkillVisibility| -> Result<NearestSkills, Failed> {
        Ok(NearestSkills {
            own,
            ..question(vector_at(0.0), 3)?
        })
    };
    let found = engine
        .nearest(&sees(SkillVisibility::Only(granted))?)
        .await?;
    assert_eq!(ids(&found), ["granted0", "granted1", "granted2"]);
    let denied = (0..298).map(|number| id(&format!("near{number}")));
    let denied = denied.collect::<Result<Vec<_>, _>>()?;
    let found = engine
        .nearest(&sees(SkillVisibility::AllBut(denied))?)
        .await?;
    assert_eq!(ids(&found), ["near298", "near299", "granted0"]);
    for nothing in [SkillVisibility::Nothing, SkillVisibility::Only(Vec::new())] {
        assert_eq!(engine.nearest(&sees(nothing)?).await?, []);
    }
    Ok(())
}

/// Folders and leaves can be searched separately.
///
/// # Errors
/// Any error of the engine.
pub async fn folders_and_leaves_are_searched_separately(engine: &dyn Searched) -> Outcome {
    let acme = own("acme")?;
    let leaf = skill(&acme, "leaf", vector_at(1.0))?;
    let folder = IndexedSkill {
        is_folder: true,
        sub_skills: vec![leaf.id.clone()],
        ..skill(&acme, "folder", vector_at(2.0))?
    };
    engine
        .change(vec![put_change(leaf), put_change(folder)])
        .await?;
    for (is_folder, expected) in [
        (None, vec!["leaf", "folder"]),
        (Some(true), vec!["folder"]),
        (Some(false), vec!["leaf"]),
    ] {
        let asked = NearestSkills {
            is_folder,
            ..question(vector_at(0.0), 9)?
        };
        assert_eq!(ids(&engine.nearest(&asked).await?), expected);
    }
    Ok(())
}

/// A rewritten entry has only its new content; a removed entry is gone, and may be added again.
///
/// # Errors
/// Any error of the engine.
pub async fn the_latest_write_is_found(engine: &dyn Searched) -> Outcome {
    let acme = own("acme")?;
    let others = [("b", 40.0), ("c", 60.0)];
    let mut changes = vec![put_change(skill(&acme, "a", vector_at(10.0))?)];
    for (name, degrees) in others {
        changes.push(put_change(skill(&acme, name, vector_at(degrees))?));
    }
    engine.change(changes).await?;
    let found = |degrees: f32| -> Result<NearestSkills, Failed> { question(vector_at(degrees), 9) };
    assert_eq!(ids(&engine.nearest(&found(0.0)?).await?), ["a", "b", "c"]);
    engine
        .change(vec![put_change(skill(&acme, "a", vector_at(50.0))?)])
        .await?;
    assert_eq!(ids(&engine.nearest(&found(0.0)?).await?), ["b", "a", "c"]);
    let gone = vec![
        IndexChange::Remove(acme.clone(), id("a")?),
        IndexChange::Remove(acme.clone(), id("never")?),
    ];
    engine.change(gone).await?;
    assert_eq!(ids(&engine.nearest(&found(0.0)?).await?), ["b", "c"]);
    engine
        .change(vec![put_change(skill(&acme, "a", vector_at(1.0))?)])
        .await?;
    assert_eq!(ids(&engine.nearest(&found(0.0)?).await?), ["a", "b", "c"]);
    Ok(())
}

/// Entries with equal cosines are always ordered by scope and id.
///
/// # Errors
/// Any error of the engine.
pub async fn equally_near_entries_have_a_stable_order(engine: &dyn Searched) -> Outcome {
    let acme = own("acme")?;
    let mut changes = Vec::new();
    for name in ["d", "b", "c", "a"] {
        changes.push(put_change(skill(&acme, name, vector_at(30.0))?));
    }
    changes.push(put_change(skill(&acme, "best", vector_at(0.0))?));
    engine.change(changes).await?;
    for _ in 0..3 {
        let found = engine.nearest(&question(vector_at(0.0), 5)?).await?;
        assert_eq!(ids(&found), ["best", "a", "b", "c", "d"]);
        let found = engine.nearest(&question(vector_at(0.0), 3)?).await?;
        assert_eq!((found.len(), found[0].id.as_str()), (3, "best"));
    }
    Ok(())
}

/// Names are matched exactly, and texts in any script are safe.
///
/// # Errors
/// Any error of the engine.
pub async fn names_and_texts_of_any_script_are_kept(engine: &dyn Searched) -> Outcome {
    let text = "Größe \"五\" \\ 🦀\u{200d} İ\n\t{{x}}";
    let mut changes = Vec::new();
    for (scope, name, degrees) in [
        ("acme", "sql.Skill_1", 0.0),
        ("Acme", "sql.Skill_1", 10.0),
        ("Acme", "sql.skill_1", 20.0),
        ("Acme", "sql-skill_1", 30.0),
    ] {
        let mut entry = skill(&own(scope)?, name, vector_at(degrees))?;
        entry.summary = text.to_owned();
        changes.push(put_change(entry));
    }
    engine.change(changes).await?;
    let asked = NearestSkills {
        tenant: tenant("Acme")?,
        ..question(vector_at(0.0), 5)?
    };
    let found = engine.nearest(&asked).await?;
    assert_eq!(ids(&found), ["sql.Skill_1", "sql.skill_1", "sql-skill_1"]);
    let own = SkillVisibility::Only(vec![id("sql.skill_1")?]);
    let found = engine.nearest(&NearestSkills { own, ..asked }).await?;
    assert_eq!(ids(&found), ["sql.skill_1"]);
    Ok(())
}

/// Concurrent writes are all kept, and concurrent searches find only complete entries.
///
/// # Errors
/// Any error of the engine.
pub async fn concurrent_writes_are_all_stored(engine: &dyn Searched) -> Outcome {
    let acme = own("acme")?;
    let mut writes = Vec::new();
    for writer in 0..8 {
        let mut changes = Vec::new();
        for number in 0..20 {
            let name = format!("w{writer}n{number}");
            let degrees = (writer * 20 + number) as f32;
            changes.push(put_change(skill(&acme, &name, vector_at(degrees))?));
        }
        writes.push(engine.change(changes));
    }
    let asked = question(vector_at(0.0), 500)?;
    let searches = (0..8).map(|_| engine.nearest(&asked));
    let (written, found) = futures_util::future::join(
        futures_util::future::join_all(writes),
        futures_util::future::join_all(searches),
    )
    .await;
    written.into_iter().collect::<Result<Vec<()>, _>>()?;
    for found in found {
        let found = found?;
        let nearer = |pair: &[NearSkill]| pair[0].cosine >= pair[1].cosine;
        assert!(found.windows(2).all(nearer));
    }
    assert_eq!(engine.nearest(&asked).await?.len(), 160);
    Ok(())
}

/// At least 95 % of the ten results of an exact search are found: without a filter, and with filters that match a
/// tenth and a hundredth of the entries.
///
/// # Errors
/// Any error of the engine.
pub async fn recall_at_ten_is_that_of_an_exact_search(engine: &dyn Searched) -> Outcome {
    const ENTRIES: usize = 3_000;
    const ASKED: usize = 40;
    let acme = own("acme")?;
    let mut numbers = Numbers(7);
    let mut population = Population::default();
    for number in 0..ENTRIES {
        let scope = match number % 3 {
            0 if engine.has_global() => Scope::Global,
            _ => acme.clone(),
        };
        let entry = skill(&scope, &format!("s{number}"), numbers.vector())?;
        population.0.push(entry);
    }
    for entries in population.0.chunks(1_000) {
        engine
            .change(entries.iter().cloned().map(put_change).collect())
            .await?;
    }
    for every in [1, 10, 100] {
        let seen: Vec<SkillId> = (0..ENTRIES)
            .step_by(every)
            .map(|number| id(&format!("s{number}")))
            .collect::<Result<_, _>>()?;
        let mut questions = Vec::new();
        for _ in 0..ASKED {
            let whole = question(numbers.vector(), 10)?;
            questions.push(match every {
                1 => whole,
                _ => NearestSkills {
                    own: SkillVisibility::Only(seen.clone()),
                    global: SkillVisibility::Only(seen.clone()),
                    ..whole
                },
            });
        }
        let recall = recall(engine, &population, &questions).await?;
        assert!(recall >= 0.95, "{recall} where every {every}th is in sight");
    }
    Ok(())
}

/// Creates a test for every case. `fresh` is an `async fn() -> Box<dyn Searched>`.
#[macro_export]
macro_rules! search_suite {
    ($fresh:path) => {
        $crate::search_suite! { $fresh;
            the_nearest_entries_come_first,
            a_limit_beyond_the_number_of_entries_returns_all,
            tenants_are_isolated,
            b001_6_denied_entries_do_not_count_towards_the_limit,
            folders_and_leaves_are_searched_separately,
            the_latest_write_is_found,
            equally_near_entries_have_a_stable_order,
            names_and_texts_of_any_script_are_kept,
            concurrent_writes_are_all_stored,
            recall_at_ten_is_that_of_an_exact_search,
        }
    };
    ($fresh:path; $($case:ident),* $(,)?) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() -> $crate::store_suite::Outcome {
                let engine = $fresh().await;
                $crate::search_suite::$case(engine.as_ref()).await
            }
        )*
    };
}
