//! Writes skills: each call in one transaction, whose first statement locks the index's row.

use charter_contract::ids::SkillId;
use charter_contract::scope::Scope;
use charter_contract::time::Timestamp;
use charter_domain::skill_folder::SkillFile;
use charter_store::StoreError;
use charter_store::agent_skills::{
    NewSkill, Part, SkillChange, SkillVector, SkillsModel, SkillsRevision, SkillsWrite,
};
use deadpool_postgres::Transaction;
use sha2::{Digest, Sha256};

use super::super::outbox;
use super::super::statement::{execute, params, row, rows};
use crate::column;
use crate::record::skill as record;
use crate::row::field;

const WRITING: &str = "writing skills";

/// Scope and id.
type Key<'a> = (&'a str, &'a str);

pub(super) async fn change(
    connection: &Transaction<'_>,
    write: &SkillsWrite,
) -> Result<SkillsRevision, StoreError> {
    let (revision, _) = raise(connection, write.expected).await?;
    let scope = column::scope(&write.scope);
    for change in &write.changes {
        match change {
            SkillChange::Put(skill) => {
                upsert_skill(connection, scope, skill, column::micros(write.at)).await?;
            }
            SkillChange::Delete(skill) => delete(connection, (scope, skill.as_str())).await?,
        }
    }
    outbox::insert(connection, &[record::changed(write, revision)]).await?;
    Ok(revision)
}

pub(super) async fn index(
    connection: &Transaction<'_>,
    model: &SkillsModel,
    expected: SkillsRevision,
    vectors: &[(Scope, SkillId, SkillVector)],
    at: Timestamp,
) -> Result<SkillsRevision, StoreError> {
    let (revision, known) = raise(connection, expected).await?;
    if known.as_ref() != Some(model) {
        execute(
            WRITING,
            connection,
            "DELETE FROM agent_skill_vector",
            params![],
        )
        .await?;
        let dims = column::integer("dimensions", model.dims as u64)?;
        let sql = "UPDATE agent_skill_index SET model = $1, dims = $2";
        execute(WRITING, connection, sql, params![model.name, dims]).await?;
    }
    for (scope, skill, vector) in vectors {
        let key = (column::scope(scope), skill.as_str());
        let sql = "SELECT FROM agent_skill WHERE scope = $1 AND skill_id = $2";
        let known = row(WRITING, connection, sql, params![key.0, key.1], |_| Ok(())).await?;
        if known.is_some() {
            put_vector(connection, key, Some(vector)).await?;
        }
    }
    outbox::insert(connection, &[record::everything_changed(revision, at)]).await?;
    Ok(revision)
}

/// Returns the next revision, if the current one is the expected one, and the current model.
async fn raise(
    connection: &Transaction<'_>,
    expected: SkillsRevision,
) -> Result<(SkillsRevision, Option<SkillsModel>), StoreError> {
    let sql = "SELECT revision, model, dims FROM agent_skill_index FOR UPDATE";
    let found = row(WRITING, connection, sql, params![], record::index).await?;
    let (found, model) = found.ok_or_else(record::without_index)?;
    let next = record::next_revision(found, expected)?;
    let raised = column::integer("skills revision", next.0)?;
    let sql = "UPDATE agent_skill_index SET revision = $1";
    execute(WRITING, connection, sql, params![raised]).await?;
    Ok((next, model))
}

async fn upsert_skill(
    connection: &Transaction<'_>,
    scope: &str,
    skill: &NewSkill,
    at: i64,
) -> Result<(), StoreError> {
    let id = skill.id.as_str();
    execute(
        WRITING,
        connection,
        "INSERT INTO agent_skill (scope, skill_id, summary, is_folder, sub_skills, created_at, updated_at)
         VALUES ($1, $2, $3, $4, $5, $6, $6)
         ON CONFLICT (scope, skill_id) DO UPDATE SET summary = excluded.summary,
         is_folder = excluded.is_folder, sub_skills = excluded.sub_skills,
         updated_at = excluded.updated_at",
        params![
            scope,
            id,
            skill.summary,
            skill.is_folder,
            column::json("skill", id, &skill.sub_skills)?,
            at
        ],
    )
    .await?;
    execute(
        WRITING,
        connection,
        "INSERT INTO agent_skill_instruction (scope, skill_id, instruction) VALUES ($1, $2, $3)
         ON CONFLICT (scope, skill_id) DO UPDATE SET instruction = excluded.instruction",
        params![scope, id, skill.instruction],
    )
    .await?;
    if let Part::Replace(vector) = &skill.vector {
        put_vector(connection, (scope, id), vector.as_ref()).await?;
    }
    if let Part::Replace(files) = &skill.files {
        replace_files(connection, (scope, id), files).await?;
    }
    Ok(())
}

async fn put_vector(
    connection: &Transaction<'_>,
    (scope, id): Key<'_>,
    vector: Option<&SkillVector>,
) -> Result<(), StoreError> {
    let Some(vector) = vector else {
        let sql = "DELETE FROM agent_skill_vector WHERE scope = $1 AND skill_id = $2";
        let deleted = execute(WRITING, connection, sql, params![scope, id]).await;
        return deleted.map(|_| ());
    };
    execute(
        WRITING,
        connection,
        "INSERT INTO agent_skill_vector (scope, skill_id, origin, summary_hash, bytes)
         VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (scope, skill_id) DO UPDATE SET origin = excluded.origin,
         summary_hash = excluded.summary_hash, bytes = excluded.bytes",
        params![
            scope,
            id,
            record::origin(vector.origin),
            vector.summary.0.as_slice(),
            vector.bytes
        ],
    )
    .await
    .map(|_| ())
}

async fn delete(connection: &Transaction<'_>, key: Key<'_>) -> Result<(), StoreError> {
    replace_files(connection, key, &[]).await?;
    let sql = "DELETE FROM agent_skill WHERE scope = $1 AND skill_id = $2";
    let deleted = execute(WRITING, connection, sql, params![key.0, key.1]).await;
    deleted.map(|_| ())
}

async fn replace_files(
    connection: &Transaction<'_>,
    (scope, id): Key<'_>,
    files: &[SkillFile],
) -> Result<(), StoreError> {
    let before: Vec<Vec<u8>> = rows(
        WRITING,
        connection,
        "SELECT DISTINCT sha256 FROM agent_skill_file WHERE scope = $1 AND skill_id = $2",
        params![scope, id],
        |row| field(row, 0),
    )
    .await?;
    let sql = "DELETE FROM agent_skill_file WHERE scope = $1 AND skill_id = $2";
    execute(WRITING, connection, sql, params![scope, id]).await?;
    for file in files {
        let sha256: [u8; 32] = Sha256::digest(&file.content).into();
        let sha256 = sha256.as_slice();
        execute(
            WRITING,
            connection,
            "INSERT INTO agent_skill_content (scope, sha256, content) VALUES ($1, $2, $3)
             ON CONFLICT DO NOTHING",
            params![scope, sha256, &*file.content],
        )
        .await?;
        let bytes = column::integer("size of a file", file.content.len() as u64)?;
        execute(
            WRITING,
            connection,
            "INSERT INTO agent_skill_file (scope, skill_id, path, sha256, bytes, executable)
             VALUES ($1, $2, $3, $4, $5, $6)",
            params![scope, id, file.path, sha256, bytes, file.executable],
        )
        .await?;
    }
    execute(
        WRITING,
        connection,
        "DELETE FROM agent_skill_content AS content WHERE scope = $1 AND sha256 = ANY ($2)
         AND NOT EXISTS (SELECT FROM agent_skill_file AS file
                         WHERE file.scope = $1 AND file.sha256 = content.sha256)",
        params![scope, before],
    )
    .await
    .map(|_| ())
}
