//! Cases of the skill link graph.

use charter_contract::ids::{SkillId, TenantId};
use charter_contract::scope::Scope;
use charter_contract::time::Timestamp;
use charter_domain::skill_folder::SkillFile;
use charter_store::agent_skills::{
    CHANGED_TOPIC, NewSkill, Part, SkillChange, SkillFileEntry, SkillRecord, SkillVector,
    SkillsModel, SkillsRevision, SkillsWrite, VectorOrigin,
};
use charter_store::vector::TextHash;
use charter_store::{Store, StoreError};

use super::{Outcome, assert_one_winner};
use crate::assert_refused;

fn id(text: &str) -> Result<SkillId, charter_contract::ids::IdError> {
    SkillId::parse(text)
}

fn tenant(name: &str) -> Result<Scope, charter_contract::ids::IdError> {
    TenantId::parse(name).map(Scope::Tenant)
}

fn vector(component: f32) -> SkillVector {
    SkillVector {
        origin: VectorOrigin::Supplied,
        summary: TextHash([7; 32]),
        bytes: [component; 4]
            .iter()
            .flat_map(|c| c.to_le_bytes())
            .collect(),
    }
}

fn file(path: &str, content: &[u8]) -> SkillFile {
    SkillFile {
        path: path.to_owned(),
        content: content.into(),
        executable: path.ends_with(".sh"),
    }
}

fn skill(name: &str) -> Result<NewSkill, charter_contract::ids::IdError> {
    Ok(NewSkill {
        id: id(name)?,
        summary: format!("summary of {name}"),
        is_folder: false,
        sub_skills: Vec::new(),
        instruction: format!("instruction of {name}"),
        vector: Part::Replace(None),
        files: Part::Keep,
    })
}

fn record(scope: &Scope, skill: &NewSkill, vector: Option<SkillVector>) -> SkillRecord {
    SkillRecord {
        scope: scope.clone(),
        id: skill.id.clone(),
        summary: skill.summary.clone(),
        is_folder: skill.is_folder,
        sub_skills: skill.sub_skills.clone(),
        has_files: matches!(&skill.files, Part::Replace(files) if !files.is_empty()),
        vector,
    }
}

async fn change(
    store: &dyn Store,
    scope: &Scope,
    expected: SkillsRevision,
    changes: Vec<SkillChange>,
) -> Result<SkillsRevision, StoreError> {
    let write = SkillsWrite {
        scope: scope.clone(),
        expected,
        changes,
        at: sample_time()?,
    };
    store.change_skills(write).await
}

fn sample_time() -> Result<Timestamp, StoreError> {
    let at = Timestamp::from_micros(1_700_000_000_000_000);
    at.map_err(|error| StoreError::Engine {
        doing: "making a time",
        source: Box::new(error),
    })
}

fn put_change(skill: &NewSkill) -> SkillChange {
    SkillChange::Put(Box::new(skill.clone()))
}

/// A listing has all fields except the instruction, which a fetch of that skill returns.
///
/// # Errors
/// Any error of the store.
pub async fn b001_3_a_skill_reads_back_without_its_instruction(store: &dyn Store) -> Outcome {
    let scope = tenant("acme")?;
    let leaf = skill("leaf")?;
    let folder = NewSkill {
        is_folder: true,
        sub_skills: vec![id("leaf")?, id("gone")?],
        vector: Part::Replace(Some(vector(0.5))),
        ..skill("folder")?
    };
    let empty = store.load_skills().await?;
    assert_eq!((empty.model, empty.skills.len()), (None, 0));
    let changes = vec![put_change(&leaf), put_change(&folder)];
    let revision = change(store, &scope, empty.revision, changes).await?;
    let loaded = store.load_skills().await?;
    assert_eq!(loaded.revision, revision);
    let folder_record = record(&scope, &folder, Some(vector(0.5)));
    assert_eq!(loaded.skills, [folder_record, record(&scope, &leaf, None)]);
    let instruction = store.skill_instruction(&scope, &leaf.id).await?;
    assert_eq!(instruction.as_deref(), Some("instruction of leaf"));
    let other = store.skill_instruction(&Scope::Global, &leaf.id).await?;
    assert_eq!(other, None);
    let keys = [&scope, &Scope::Global].map(|scope| (scope.clone(), leaf.id.clone()));
    let found = store.skill_instructions(&keys).await?;
    let instruction = "instruction of leaf".to_owned();
    assert_eq!(found, [(scope, leaf.id, instruction)]);
    assert_eq!(store.skill_instructions(&[]).await?, []);
    Ok(())
}

/// A second write of an id replaces the first, including vector and files where the write sets them.
///
/// # Errors
/// Any error of the store.
pub async fn b001_1_a_put_writes_over(store: &dyn Store) -> Outcome {
    let scope = Scope::Global;
    let first = NewSkill {
        vector: Part::Replace(Some(vector(0.5))),
        files: Part::Replace(vec![file("SKILL.md", b"x")]),
        ..skill("a")?
    };
    let second = NewSkill {
        summary: "another".to_owned(),
        instruction: "another instruction".to_owned(),
        vector: Part::Keep,
        ..skill("a")?
    };
    let start = store.load_skills().await?.revision;
    let next = change(store, &scope, start, vec![put_change(&first)]).await?;
    let next = change(store, &scope, next, vec![put_change(&second)]).await?;
    let kept = SkillRecord {
        has_files: true,
        ..record(&scope, &second, Some(vector(0.5)))
    };
    assert_eq!(store.load_skills().await?.skills, [kept]);
    assert_eq!(store.skill_files(&scope, &first.id).await?.len(), 1);
    let instruction = store.skill_instruction(&scope, &first.id).await?;
    assert_eq!(instruction.as_deref(), Some("another instruction"));
    let bare = NewSkill {
        files: Part::Replace(Vec::new()),
        ..skill("a")?
    };
    change(store, &scope, next, vec![put_change(&bare)]).await?;
    let bare_record = record(&scope, &bare, None);
    assert_eq!(store.load_skills().await?.skills, [bare_record]);
    assert_eq!(store.skill_files(&scope, &first.id).await?, []);
    Ok(())
}

/// A write based on an older revision changes nothing; of concurrent writes, one succeeds.
///
/// # Errors
/// Any error of the store.
pub async fn b001_7_a_write_on_a_stale_revision_writes_nothing(store: &dyn Store) -> Outcome {
    let (scope, a, b) = (tenant("acme")?, skill("a")?, skill("b")?);
    let start = store.load_skills().await?.revision;
    change(store, &scope, start, vec![put_change(&a)]).await?;
    let stale = change(store, &scope, start, vec![put_change(&b)]).await;
    assert_refused!(stale, StoreError::VersionConflict { .. });
    let model = SkillsModel {
        name: "m".to_owned(),
        dims: 4,
    };
    let stale = store
        .index_skills(&model, start, Vec::new(), sample_time()?)
        .await;
    assert_refused!(stale, StoreError::VersionConflict { .. });
    let loaded = store.load_skills().await?;
    assert_eq!((loaded.model, loaded.skills.len()), (None, 1));
    let racing = (0..8).map(|_| change(store, &scope, loaded.revision, vec![put_change(&b)]));
    assert_one_winner(&futures_util::future::join_all(racing).await);
    Ok(())
}

/// Scopes are separate, even with equal ids.
///
/// # Errors
/// Any error of the store.
pub async fn scopes_are_separate(store: &dyn Store) -> Outcome {
    let (acme, umbrella) = (tenant("acme")?, tenant("umbrella")?);
    let a = NewSkill {
        files: Part::Replace(vec![file("SKILL.md", b"same")]),
        ..skill("a")?
    };
    let mut revision = store.load_skills().await?.revision;
    for scope in [&acme, &umbrella, &Scope::Global] {
        revision = change(store, scope, revision, vec![put_change(&a)]).await?;
    }
    let delete = SkillChange::Delete(a.id.clone());
    let missing = SkillChange::Delete(id("missing")?);
    change(store, &umbrella, revision, vec![missing, delete]).await?;
    let left = store.load_skills().await?.skills;
    let scopes: Vec<&Scope> = left.iter().map(|skill| &skill.scope).collect();
    assert_eq!(scopes, [&Scope::Global, &acme]);
    assert_eq!(store.skill_instruction(&umbrella, &a.id).await?, None);
    assert_eq!(store.all_skill_files(&umbrella).await?, []);
    // The content still exists for the other scopes that use it.
    let found = store.skill_file(&acme, &a.id, "SKILL.md").await?;
    assert_eq!(found, Some(file("SKILL.md", b"same")));
    Ok(())
}

/// Files are stored byte for byte, with the executable bit.
///
/// # Errors
/// Any error of the store.
pub async fn b001_9_files_read_back_byte_for_byte(store: &dyn Store) -> Outcome {
    let scope = tenant("acme")?;
    let binary: Vec<u8> = (0..=255).collect();
    let files = vec![
        file("SKILL.md", b"---\r\n"),
        file("assets/é.bin", &binary),
        file("scripts/run.sh", b""),
    ];
    let a = NewSkill {
        files: Part::Replace(files.clone()),
        ..skill("a")?
    };
    let start = store.load_skills().await?.revision;
    change(
        store,
        &scope,
        start,
        vec![put_change(&a), put_change(&skill("b")?)],
    )
    .await?;
    for file in &files {
        let found = store.skill_file(&scope, &a.id, &file.path).await?;
        assert_eq!(found.as_ref(), Some(file));
    }
    let listed = store.skill_files(&scope, &a.id).await?;
    let shown: Vec<(&str, u64, bool)> = listed
        .iter()
        .map(|file| (file.path.as_str(), file.bytes, file.executable))
        .collect();
    let expected = [
        ("SKILL.md", 5, false),
        ("assets/é.bin", 256, false),
        ("scripts/run.sh", 0, true),
    ];
    assert_eq!(shown, expected);
    let all: Vec<(SkillId, Vec<SkillFileEntry>)> = store.all_skill_files(&scope).await?;
    assert_eq!(all, [(a.id.clone(), listed)]);
    assert_eq!(store.skill_file(&scope, &a.id, "missing").await?, None);
    Ok(())
}

/// Ruling 4: all vectors of an index are from one model; another model replaces them.
///
/// # Errors
/// Any error of the store.
pub async fn b001_2_an_index_has_one_model(store: &dyn Store) -> Outcome {
    let scope = tenant("acme")?;
    let (a, b) = (skill("a")?, skill("b")?);
    let start = store.load_skills().await?.revision;
    let next = change(store, &scope, start, vec![put_change(&a), put_change(&b)]).await?;
    let model = |name: &str| SkillsModel {
        name: name.to_owned(),
        dims: 4,
    };
    let both = [&a, &b].map(|skill| (scope.clone(), skill.id.clone(), vector(0.5)));
    let next = store
        .index_skills(&model("m"), next, both.to_vec(), sample_time()?)
        .await?;
    let one = vec![(scope.clone(), a.id.clone(), vector(1.0))];
    let next = store
        .index_skills(&model("m"), next, one, sample_time()?)
        .await?;
    let vectors = |loaded: &[SkillRecord]| -> Vec<Option<SkillVector>> {
        loaded.iter().map(|skill| skill.vector.clone()).collect()
    };
    let loaded = store.load_skills().await?;
    assert_eq!(loaded.model, Some(model("m")));
    assert_eq!(
        vectors(&loaded.skills),
        [Some(vector(1.0)), Some(vector(0.5))]
    );
    let fresh = vec![
        (scope.clone(), b.id.clone(), vector(2.0)),
        (scope.clone(), id("missing")?, vector(2.0)),
    ];
    store
        .index_skills(&model("other"), next, fresh, sample_time()?)
        .await?;
    let loaded = store.load_skills().await?;
    assert_eq!(loaded.model, Some(model("other")));
    assert_eq!(vectors(&loaded.skills), [None, Some(vector(2.0))]);
    Ok(())
}

/// Readers of the outbox receive every change in order and without a gap, and can read the result.
///
/// # Errors
/// Any error of the store.
pub async fn every_change_of_skills_is_published_with_it(store: &dyn Store) -> Outcome {
    let (acme, model) = (
        tenant("acme")?,
        SkillsModel {
            name: "m".to_owned(),
            dims: 4,
        },
    );
    let (a, b) = (skill("a")?, skill("b")?);
    let start = store.load_skills().await?.revision;
    let both = change(store, &acme, start, vec![put_change(&a), put_change(&b)]).await?;
    let refused = change(store, &acme, start, vec![put_change(&a)]).await;
    assert_refused!(refused, StoreError::VersionConflict { .. });
    let global = change(store, &Scope::Global, both, vec![put_change(&b)]).await?;
    let gone = vec![SkillChange::Delete(a.id.clone())];
    let deleted = change(store, &acme, global, gone).await?;
    let vectors = vec![(acme.clone(), b.id.clone(), vector(0.5))];
    let indexed = store
        .index_skills(&model, deleted, vectors, sample_time()?)
        .await?;
    let published: Vec<(String, Option<String>, String)> = store
        .messages(0, 10)
        .await?
        .into_iter()
        .map(|message| message.message)
        .map(|message| (message.topic, message.tenant, message.payload))
        .collect();
    let of = |tenant: Option<&str>, payload: String| {
        let tenant = tenant.map(str::to_owned);
        (CHANGED_TOPIC.to_owned(), tenant, payload)
    };
    let named = |revision: SkillsRevision, scope: &str, ids: &str| {
        format!(
            r#"{{"revision":{},"scope":"{scope}","skills":[{ids}]}}"#,
            revision.0
        )
    };
    let everything = format!(r#"{{"revision":{},"everything":true}}"#, indexed.0);
    let expected = [
        of(Some("acme"), named(both, "acme", r#""a","b""#)),
        of(None, named(global, "", r#""b""#)),
        of(Some("acme"), named(deleted, "acme", r#""a""#)),
        of(None, everything),
    ];
    assert_eq!(published, expected);
    let keys = [&a, &b, &b].map(|skill| (acme.clone(), skill.id.clone()));
    let read = store.skills_of(&keys).await?;
    assert_eq!((read.revision, read.model), (indexed, Some(model)));
    assert_eq!(read.skills, [record(&acme, &b, Some(vector(0.5)))]);
    assert_eq!(store.skills_of(&[]).await?.skills, []);
    Ok(())
}
