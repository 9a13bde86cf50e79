//! Writes skills: each call in one transaction of the write thread.

use charter_contract::ids::SkillId;
use charter_contract::scope::Scope;
use charter_contract::time::Timestamp;
use charter_domain::skill_folder::SkillFile;
use charter_store::StoreError;
use charter_store::agent_skills::{
    NewSkill, Part, SkillChange, SkillVector, SkillsModel, SkillsRevision, SkillsWrite,
};
use rusqlite::{Connection, params};
use sha2::{Digest, Sha256};

use super::super::outbox;
use super::super::statement::{execute, row, rows};
use crate::column;
use crate::record::skill as record;
use crate::row::field;

const WRITING: &str = "writing skills";

pub(super) fn change(
    connection: &Connection,
    write: &SkillsWrite,
) -> Result<SkillsRevision, StoreError> {
    let revision = raise(connection, write.expected)?;
    let scope = column::scope(&write.scope);
    for change in &write.changes {
        match change {
            SkillChange::Put(skill) => {
                upsert_skill(connection, scope, skill, column::micros(write.at))?;
            }
            SkillChange::Delete(skill) => delete(connection, scope, skill)?,
        }
    }
    outbox::insert(connection, &[record::changed(write, revision)])?;
    Ok(revision)
}

pub(super) fn index(
    connection: &Connection,
    model: &SkillsModel,
    expected: SkillsRevision,
    vectors: &[(Scope, SkillId, SkillVector)],
    at: Timestamp,
) -> Result<SkillsRevision, StoreError> {
    let (_, known) = super::index(connection)?;
    let revision = raise(connection, expected)?;
    if known.as_ref() != Some(model) {
        execute(WRITING, connection, "DELETE FROM agent_skill_vector", [])?;
        let dims = column::integer("dimensions", model.dims as u64)?;
        execute(
            WRITING,
            connection,
            "UPDATE agent_skill_index SET model = ?1, dims = ?2",
            params![model.name, dims],
        )?;
    }
    for (scope, skill, vector) in vectors {
        let key = row(
            WRITING,
            connection,
            "SELECT skill_key FROM agent_skill WHERE scope = ?1 AND skill_id = ?2",
            params![column::scope(scope), skill.as_str()],
            |row| field(row, 0),
        )?;
        if let Some(key) = key {
            put_vector(connection, key, Some(vector))?;
        }
    }
    outbox::insert(connection, &[record::everything_changed(revision, at)])?;
    Ok(revision)
}

/// Returns the next revision, if the current one is the expected one.
fn raise(connection: &Connection, expected: SkillsRevision) -> Result<SkillsRevision, StoreError> {
    let (found, _) = super::index(connection)?;
    let next = record::next_revision(found, expected)?;
    let raised = column::integer("skills revision", next.0)?;
    execute(
        WRITING,
        connection,
        "UPDATE agent_skill_index SET revision = ?1",
        [raised],
    )?;
    Ok(next)
}

fn upsert_skill(
    connection: &Connection,
    scope: &str,
    skill: &NewSkill,
    at: i64,
) -> Result<(), StoreError> {
    let id = skill.id.as_str();
    let key: Option<i64> = row(
        WRITING,
        connection,
        "INSERT INTO agent_skill (scope, skill_id, summary, is_folder, sub_skills, created_at, updated_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6)
         ON CONFLICT (scope, skill_id) DO UPDATE SET summary = excluded.summary,
         is_folder = excluded.is_folder, sub_skills = excluded.sub_skills,
         updated_at = excluded.updated_at
         RETURNING skill_key",
        params![
            scope,
            id,
            skill.summary,
            skill.is_folder,
            column::json("skill", id, &skill.sub_skills)?,
            at
        ],
        |row| field(row, 0),
    )?;
    let key = key.ok_or_else(|| StoreError::Refused {
        what: "skill",
        id: id.to_owned(),
        detail: "it has no place".to_owned(),
    })?;
    execute(
        WRITING,
        connection,
        "INSERT INTO agent_skill_instruction (skill_key, instruction) VALUES (?1, ?2)
         ON CONFLICT (skill_key) DO UPDATE SET instruction = excluded.instruction",
        params![key, skill.instruction],
    )?;
    if let Part::Replace(vector) = &skill.vector {
        put_vector(connection, key, vector.as_ref())?;
    }
    if let Part::Replace(files) = &skill.files {
        replace_files(connection, key, files)?;
    }
    Ok(())
}

fn put_vector(
    connection: &Connection,
    key: i64,
    vector: Option<&SkillVector>,
) -> Result<(), StoreError> {
    let Some(vector) = vector else {
        let sql = "DELETE FROM agent_skill_vector WHERE skill_key = ?1";
        return execute(WRITING, connection, sql, [key]).map(|_| ());
    };
    execute(
        WRITING,
        connection,
        "INSERT INTO agent_skill_vector (skill_key, origin, summary_hash, bytes)
         VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (skill_key) DO UPDATE SET origin = excluded.origin,
         summary_hash = excluded.summary_hash, bytes = excluded.bytes",
        params![
            key,
            record::origin(vector.origin),
            vector.summary.0,
            vector.bytes
        ],
    )
    .map(|_| ())
}

fn delete(connection: &Connection, scope: &str, skill: &SkillId) -> Result<(), StoreError> {
    let key: Option<i64> = row(
        WRITING,
        connection,
        "SELECT skill_key FROM agent_skill WHERE scope = ?1 AND skill_id = ?2",
        params![scope, skill.as_str()],
        |row| field(row, 0),
    )?;
    let Some(key) = key else {
        return Ok(());
    };
    replace_files(connection, key, &[])?;
    execute(
        WRITING,
        connection,
        "DELETE FROM agent_skill WHERE skill_key = ?1",
        [key],
    )
    .map(|_| ())
}

fn replace_files(connection: &Connection, key: i64, files: &[SkillFile]) -> Result<(), StoreError> {
    let before: Vec<Vec<u8>> = rows(
        WRITING,
        connection,
        "SELECT DISTINCT sha256 FROM agent_skill_file WHERE skill_key = ?1",
        [key],
        |row| field(row, 0),
    )?;
    execute(
        WRITING,
        connection,
        "DELETE FROM agent_skill_file WHERE skill_key = ?1",
        [key],
    )?;
    for file in files {
        let sha256: [u8; 32] = Sha256::digest(&file.content).into();
        execute(
            WRITING,
            connection,
            "INSERT INTO agent_skill_content (sha256, content) VALUES (?1, ?2)
             ON CONFLICT DO NOTHING",
            params![sha256, &*file.content],
        )?;
        let bytes = column::integer("size of a file", file.content.len() as u64)?;
        execute(
            WRITING,
            connection,
            "INSERT INTO agent_skill_file (skill_key, path, sha256, bytes, executable)
             VALUES (?1, ?2, ?3, ?4, ?5)",
            params![key, file.path, sha256, bytes, file.executable],
        )?;
    }
    for sha256 in before {
        execute(
            WRITING,
            connection,
            "DELETE FROM agent_skill_content WHERE sha256 = ?1
             AND NOT EXISTS (SELECT 1 FROM agent_skill_file WHERE sha256 = ?1)",
            [sha256],
        )?;
    }
    Ok(())
}
