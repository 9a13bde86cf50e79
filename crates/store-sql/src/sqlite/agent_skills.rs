//! Skills of the link graph in SQLite.

mod change;

use async_trait::async_trait;
use charter_contract::ids::SkillId;
use charter_contract::scope::Scope;
use charter_domain::skill_folder::SkillFile;
use charter_store::StoreError;
use charter_store::agent_skills::{
    AgentSkills, SkillFileEntry, SkillRecord, SkillVector, SkillsLoaded, SkillsModel,
    SkillsRevision, SkillsWrite, VectorOrigin,
};
use charter_store::catalogue::ContentHash;
use charter_store::vector::TextHash;
use rusqlite::{Connection, Row, params};

use super::SqliteStore;
use super::statement::{field, row, rows};
use crate::column;

const READING: &str = "reading skills";

/// The word of an origin.
fn origin(origin: VectorOrigin) -> &'static str {
    match origin {
        VectorOrigin::Embedded => "embedded",
        VectorOrigin::Supplied => "supplied",
    }
}

/// Revision and model of the index.
fn index(connection: &Connection) -> Result<(SkillsRevision, Option<SkillsModel>), StoreError> {
    let found = row(
        READING,
        connection,
        "SELECT revision, model, dims FROM agent_skill_index",
        [],
        |row| {
            let revision = column::parse_integer("skills revision", field(row, 0)?)?;
            let name: Option<String> = field(row, 1)?;
            let dims: Option<i64> = field(row, 2)?;
            let model = match (name, dims) {
                (Some(name), Some(dims)) => Some(SkillsModel {
                    name,
                    dims: dimensions(dims)?,
                }),
                _ => None,
            };
            Ok((SkillsRevision(revision), model))
        },
    )?;
    found.ok_or_else(|| StoreError::Corrupt {
        what: "index of skills",
        id: "agent_skill_index".to_owned(),
        detail: "its row is missing".to_owned(),
    })
}

fn dimensions(dims: i64) -> Result<usize, StoreError> {
    let dims = column::parse_integer("dimensions", dims)?;
    usize::try_from(dims).map_err(|error| StoreError::Corrupt {
        what: "index of skills",
        id: "dims".to_owned(),
        detail: error.to_string(),
    })
}

fn load(connection: &Connection) -> Result<SkillsLoaded, StoreError> {
    let (revision, model) = index(connection)?;
    let skills = rows(
        READING,
        connection,
        "SELECT scope, skill_id, summary, is_folder, sub_skills,
         EXISTS (SELECT 1 FROM agent_skill_file WHERE agent_skill_file.skill_key = agent_skill.skill_key),
         origin, summary_hash, bytes
         FROM agent_skill LEFT JOIN agent_skill_vector USING (skill_key)
         ORDER BY scope, skill_id",
        [],
        record,
    )?;
    Ok(SkillsLoaded {
        revision,
        model,
        skills,
    })
}

fn record(row: &Row<'_>) -> Result<SkillRecord, StoreError> {
    let (scope, id): (String, String) = (field(row, 0)?, field(row, 1)?);
    let sub_skills: String = field(row, 4)?;
    let vector = match field::<Option<String>>(row, 6)? {
        Some(word) => Some(vector(row, &word, &id)?),
        None => None,
    };
    Ok(SkillRecord {
        scope: column::parse_scope(&scope)?,
        sub_skills: column::parse_json("skill", &id, &sub_skills)?,
        id: column::parse("skill id", &id)?,
        summary: field(row, 2)?,
        is_folder: field(row, 3)?,
        has_files: field(row, 5)?,
        vector,
    })
}

fn vector(row: &Row<'_>, word: &str, id: &str) -> Result<SkillVector, StoreError> {
    let known = [VectorOrigin::Embedded, VectorOrigin::Supplied];
    let origin = known.into_iter().find(|known| origin(*known) == word);
    let hash: Vec<u8> = field(row, 7)?;
    Ok(SkillVector {
        origin: origin.ok_or_else(|| StoreError::Corrupt {
            what: "skill",
            id: id.to_owned(),
            detail: format!("its vector is from `{word}`"),
        })?,
        summary: TextHash(column::parse_hash("hash of a summary", &hash)?),
        bytes: field(row, 8)?,
    })
}

/// A file's columns from the first on: path, hash, size, whether executable.
fn entry(row: &Row<'_>, first: usize) -> Result<SkillFileEntry, StoreError> {
    let hash: Vec<u8> = field(row, first + 1)?;
    Ok(SkillFileEntry {
        path: field(row, first)?,
        content: ContentHash(column::parse_hash("hash of a file", &hash)?),
        bytes: column::parse_integer("size of a file", field(row, first + 2)?)?,
        executable: field(row, first + 3)?,
    })
}

fn all_files(
    connection: &Connection,
    scope: &Scope,
) -> Result<Vec<(SkillId, Vec<SkillFileEntry>)>, StoreError> {
    let found = rows(
        READING,
        connection,
        "SELECT skill_id, path, sha256, bytes, executable
         FROM agent_skill JOIN agent_skill_file USING (skill_key)
         WHERE scope = ?1 ORDER BY skill_id, path",
        [column::scope(scope)],
        |row| Ok((field::<String>(row, 0)?, entry(row, 1)?)),
    )?;
    let mut skills: Vec<(SkillId, Vec<SkillFileEntry>)> = Vec::new();
    for (id, file) in found {
        match skills.last_mut() {
            Some((known, files)) if known.as_str() == id => files.push(file),
            Some(_) | None => skills.push((column::parse("skill id", &id)?, vec![file])),
        }
    }
    Ok(skills)
}

#[async_trait]
impl AgentSkills for SqliteStore {
    async fn load_skills(&self) -> Result<SkillsLoaded, StoreError> {
        self.read(load).await
    }

    async fn change_skills(&self, write: SkillsWrite) -> Result<SkillsRevision, StoreError> {
        self.write(move |connection| change::change(connection, &write))
            .await
    }

    async fn index_skills(
        &self,
        model: &SkillsModel,
        expected: SkillsRevision,
        vectors: Vec<(Scope, SkillId, SkillVector)>,
    ) -> Result<SkillsRevision, StoreError> {
        let model = model.clone();
        self.write(move |connection| change::index(connection, &model, expected, &vectors))
            .await
    }

    async fn skill_instruction(
        &self,
        scope: &Scope,
        skill: &SkillId,
    ) -> Result<Option<String>, StoreError> {
        let (scope, skill) = (scope.clone(), skill.clone());
        self.read(move |connection| {
            row(
                READING,
                connection,
                "SELECT instruction FROM agent_skill JOIN agent_skill_instruction USING (skill_key)
                 WHERE scope = ?1 AND skill_id = ?2",
                params![column::scope(&scope), skill.as_str()],
                |row| field(row, 0),
            )
        })
        .await
    }

    async fn skill_files(
        &self,
        scope: &Scope,
        skill: &SkillId,
    ) -> Result<Vec<SkillFileEntry>, StoreError> {
        let (scope, skill) = (scope.clone(), skill.clone());
        self.read(move |connection| {
            rows(
                READING,
                connection,
                "SELECT path, sha256, bytes, executable
                 FROM agent_skill JOIN agent_skill_file USING (skill_key)
                 WHERE scope = ?1 AND skill_id = ?2 ORDER BY path",
                params![column::scope(&scope), skill.as_str()],
                |row| entry(row, 0),
            )
        })
        .await
    }

    async fn all_skill_files(
        &self,
        scope: &Scope,
    ) -> Result<Vec<(SkillId, Vec<SkillFileEntry>)>, StoreError> {
        let scope = scope.clone();
        self.read(move |connection| all_files(connection, &scope))
            .await
    }

    async fn skill_file(
        &self,
        scope: &Scope,
        skill: &SkillId,
        path: &str,
    ) -> Result<Option<SkillFile>, StoreError> {
        let (scope, skill, path) = (scope.clone(), skill.clone(), path.to_owned());
        self.read(move |connection| {
            row(
                READING,
                connection,
                "SELECT content, executable
                 FROM agent_skill JOIN agent_skill_file USING (skill_key)
                 JOIN agent_skill_content USING (sha256)
                 WHERE scope = ?1 AND skill_id = ?2 AND path = ?3",
                params![column::scope(&scope), skill.as_str(), path],
                |row| {
                    Ok(SkillFile {
                        path: path.clone(),
                        content: field::<Vec<u8>>(row, 0)?.into(),
                        executable: field(row, 1)?,
                    })
                },
            )
        })
        .await
    }
}
