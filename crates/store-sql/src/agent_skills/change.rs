//! Writes skills: each call in one transaction that first locks the index's row.

use charter_contract::ids::SkillId;
use charter_contract::scope::Scope;
use charter_contract::time::Timestamp;
use charter_domain::skill_folder::SkillFile;
use charter_store::StoreError;
use charter_store::agent_skills::{
    CHANGED_TOPIC, MAX_CHANGED_NAMED, NewSkill, Part, SkillChange, SkillVector, SkillsModel,
    SkillsRevision, SkillsWrite,
};
use charter_store::outbox::NewMessage;
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::row::field;
use crate::tx::{SqlValue, Tx, execute, execute_many, params, rows};
use crate::{column, outbox};

const WRITING: &str = "writing skills";

/// Sets the vector of a skill that exists.
const PUT_VECTOR: &str =
    "INSERT INTO agent_skill_vector (scope, skill_id, origin, summary_hash, bytes)
     SELECT scope, skill_id, $3, $4, $5 FROM agent_skill WHERE scope = $1 AND skill_id = $2
     ON CONFLICT (scope, skill_id) DO UPDATE SET origin = excluded.origin,
     summary_hash = excluded.summary_hash, bytes = excluded.bytes";

/// Returns the values of [`PUT_VECTOR`].
fn vector_values<'v>(
    scope: &'v str,
    skill: &'v SkillId,
    vector: &'v SkillVector,
) -> Vec<SqlValue<'v>> {
    params![
        scope,
        skill.as_str(),
        super::origin(vector.origin),
        vector.summary.0.as_slice(),
        vector.bytes.as_slice()
    ]
    .to_vec()
}

/// Implements `AgentSkills::change_skills`.
pub(super) async fn change(
    tx: &mut Tx<'_>,
    write: &SkillsWrite,
) -> Result<SkillsRevision, StoreError> {
    let (revision, _) = raise(tx, write.expected).await?;
    let scope = column::scope(&write.scope);
    for change in &write.changes {
        match change {
            SkillChange::Put(skill) => {
                upsert_skill(tx, scope, skill, column::micros(write.at)).await?;
            }
            SkillChange::Delete(skill) => {
                replace_files(tx, scope, skill, &[]).await?;
                let sql = "DELETE FROM agent_skill WHERE scope = $1 AND skill_id = $2";
                execute(WRITING, tx, sql, params![scope, skill.as_str()]).await?;
            }
        }
    }
    outbox::insert(tx, &[changed(write, revision)]).await?;
    Ok(revision)
}

/// Implements `AgentSkills::index_skills`.
pub(super) async fn index(
    tx: &mut Tx<'_>,
    model: &SkillsModel,
    expected: SkillsRevision,
    vectors: &[(Scope, SkillId, SkillVector)],
    at: Timestamp,
) -> Result<SkillsRevision, StoreError> {
    let (revision, known) = raise(tx, expected).await?;
    if known.as_ref() != Some(model) {
        execute(WRITING, tx, "DELETE FROM agent_skill_vector", params![]).await?;
        let dims = column::integer("dimensions", model.dims as u64)?;
        let sql = "UPDATE agent_skill_index SET model = $1, dims = $2";
        execute(WRITING, tx, sql, params![&model.name, dims]).await?;
    }
    let vectors: Vec<_> = vectors
        .iter()
        .map(|(scope, skill, vector)| vector_values(column::scope(scope), skill, vector))
        .collect();
    execute_many(WRITING, tx, PUT_VECTOR, &vectors).await?;
    outbox::insert(tx, &[everything_changed(revision, at)]).await?;
    Ok(revision)
}

/// Increments the revision, if the current one is the expected one; returns it and the current model.
async fn raise(
    tx: &mut Tx<'_>,
    expected: SkillsRevision,
) -> Result<(SkillsRevision, Option<SkillsModel>), StoreError> {
    let lock = tx.dialect().for_update();
    let (found, model) = super::index(tx, lock).await?;
    if found != expected {
        return Err(StoreError::VersionConflict {
            what: "index of skills",
            id: "agent_skills".to_owned(),
            expected: expected.0,
            found: found.0,
        });
    }
    let next = found.0 + 1;
    let raised = column::integer("skills revision", next)?;
    let sql = "UPDATE agent_skill_index SET revision = $1";
    execute(WRITING, tx, sql, params![raised]).await?;
    Ok((SkillsRevision(next), model))
}

async fn upsert_skill(
    tx: &mut Tx<'_>,
    scope: &str,
    skill: &NewSkill,
    at: i64,
) -> Result<(), StoreError> {
    let id = skill.id.as_str();
    execute(
        WRITING,
        tx,
        "INSERT INTO agent_skill (scope, skill_id, summary, is_folder, sub_skills, created_at, updated_at)
         VALUES ($1, $2, $3, $4, $5, $6, $6)
         ON CONFLICT (scope, skill_id) DO UPDATE SET summary = excluded.summary,
         is_folder = excluded.is_folder, sub_skills = excluded.sub_skills,
         updated_at = excluded.updated_at",
        params![
            scope,
            id,
            &skill.summary,
            skill.is_folder,
            column::json("skill", id, &skill.sub_skills)?,
            at
        ],
    )
    .await?;
    execute(
        WRITING,
        tx,
        "INSERT INTO agent_skill_instruction (scope, skill_id, instruction) VALUES ($1, $2, $3)
         ON CONFLICT (scope, skill_id) DO UPDATE SET instruction = excluded.instruction",
        params![scope, id, &skill.instruction],
    )
    .await?;
    match &skill.vector {
        Part::Keep => {}
        Part::Replace(Some(vector)) => {
            let values = vector_values(scope, &skill.id, vector);
            execute(WRITING, tx, PUT_VECTOR, &values).await?;
        }
        Part::Replace(None) => {
            let sql = "DELETE FROM agent_skill_vector WHERE scope = $1 AND skill_id = $2";
            execute(WRITING, tx, sql, params![scope, id]).await?;
        }
    }
    if let Part::Replace(files) = &skill.files {
        replace_files(tx, scope, &skill.id, files).await?;
    }
    Ok(())
}

/// Replaces a skill's files, and deletes the content that no file of the scope has any more.
async fn replace_files(
    tx: &mut Tx<'_>,
    scope: &str,
    skill: &SkillId,
    files: &[SkillFile],
) -> Result<(), StoreError> {
    let key = params![scope, skill.as_str()];
    let sql = "SELECT sha256 FROM agent_skill_file WHERE scope = $1 AND skill_id = $2";
    let before: Vec<Vec<u8>> = rows(WRITING, tx, sql, key, |row| field(row, 0)).await?;
    let sql = "DELETE FROM agent_skill_file WHERE scope = $1 AND skill_id = $2";
    execute(WRITING, tx, sql, key).await?;
    for file in files {
        let (path, content) = (&file.path, &*file.content);
        let bytes = column::integer("size of a file", content.len() as u64)?;
        let sha256: [u8; 32] = Sha256::digest(content).into();
        let sha256 = sha256.as_slice();
        let sql = "INSERT INTO agent_skill_content (scope, sha256, content) VALUES ($1, $2, $3)
                   ON CONFLICT DO NOTHING";
        execute(WRITING, tx, sql, params![scope, sha256, content]).await?;
        execute(
            WRITING,
            tx,
            "INSERT INTO agent_skill_file (scope, skill_id, path, sha256, bytes, executable)
             VALUES ($1, $2, $3, $4, $5, $6)",
            params![scope, skill.as_str(), path, sha256, bytes, file.executable],
        )
        .await?;
    }
    let before = before.iter();
    let before: Vec<_> = before
        .map(|sha256| params![scope, sha256.as_slice()].to_vec())
        .collect();
    execute_many(
        WRITING,
        tx,
        "DELETE FROM agent_skill_content WHERE scope = $1 AND sha256 = $2
         AND NOT EXISTS (SELECT 1 FROM agent_skill_file WHERE scope = $1 AND sha256 = $2)",
        &before,
    )
    .await
    .map(|_| ())
}

/// Returns the outbox message of a write. It belongs to the skills' tenant, so that the writer's connection may insert
/// it.
fn changed(write: &SkillsWrite, revision: SkillsRevision) -> NewMessage {
    let message = NewMessage {
        tenant: write.scope.tenant().map(ToString::to_string),
        ..everything_changed(revision, write.at)
    };
    if write.changes.len() > MAX_CHANGED_NAMED {
        return message;
    }
    let ids = write.changes.iter().map(|change| match change {
        SkillChange::Put(skill) => skill.id.as_str(),
        SkillChange::Delete(id) => id.as_str(),
    });
    let payload = json!({
        "revision": revision.0,
        "scope": column::scope(&write.scope),
        "skills": ids.collect::<Vec<_>>(),
    });
    NewMessage {
        payload: payload.to_string(),
        ..message
    }
}

/// Returns the outbox message for a change of all vectors.
pub(crate) fn everything_changed(revision: SkillsRevision, at: Timestamp) -> NewMessage {
    NewMessage {
        topic: CHANGED_TOPIC.to_owned(),
        tenant: None,
        user_id: None,
        payload: json!({"revision": revision.0, "everything": true}).to_string(),
        at,
    }
}
