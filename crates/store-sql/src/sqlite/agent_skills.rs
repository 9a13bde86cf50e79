//! Skills of the link graph in SQLite.

mod change;

use std::collections::BTreeSet;

use async_trait::async_trait;
use charter_contract::ids::SkillId;
use charter_contract::scope::Scope;
use charter_contract::time::Timestamp;
use charter_domain::skill_folder::SkillFile;
use charter_store::StoreError;
use charter_store::agent_skills::{
    AgentSkills, SkillFileEntry, SkillVector, SkillsLoaded, SkillsModel, SkillsRevision,
    SkillsWrite,
};
use rusqlite::{Connection, params};

use super::SqliteStore;
use super::statement::{row, rows};
use crate::column;
use crate::record::skill::{self as record, by_skill, entry};
use crate::row::field;

const READING: &str = "reading skills";

/// Returns revision and model of the index.
fn index(connection: &Connection) -> Result<(SkillsRevision, Option<SkillsModel>), StoreError> {
    row(
        READING,
        connection,
        "SELECT revision, model, dims FROM agent_skill_index",
        [],
        record::index,
    )?
    .ok_or_else(record::without_index)
}

/// Selects a skill with its vector; callers append conditions and order.
const SKILL: &str = "SELECT scope, skill_id, summary, is_folder, sub_skills,
     EXISTS (SELECT 1 FROM agent_skill_file WHERE agent_skill_file.skill_key = agent_skill.skill_key),
     origin, summary_hash, bytes
     FROM agent_skill LEFT JOIN agent_skill_vector USING (skill_key)";

fn load(connection: &Connection) -> Result<SkillsLoaded, StoreError> {
    let (revision, model) = index(connection)?;
    let sql = format!("{SKILL} ORDER BY scope, skill_id");
    let skills = rows(READING, connection, &sql, [], record::record)?;
    Ok(SkillsLoaded {
        revision,
        model,
        skills,
    })
}

fn some(
    connection: &Connection,
    keys: &BTreeSet<(Scope, SkillId)>,
) -> Result<SkillsLoaded, StoreError> {
    let (revision, model) = index(connection)?;
    let sql = format!("{SKILL} WHERE scope = ?1 AND skill_id = ?2");
    let mut skills = Vec::new();
    for (scope, id) in keys {
        let key = params![column::scope(scope), id.as_str()];
        skills.extend(row(READING, connection, &sql, key, record::record)?);
    }
    Ok(SkillsLoaded {
        revision,
        model,
        skills,
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
    by_skill(found)
}

#[async_trait]
impl AgentSkills for SqliteStore {
    async fn load_skills(&self) -> Result<SkillsLoaded, StoreError> {
        self.read(load).await
    }

    async fn skills_of(&self, skills: &[(Scope, SkillId)]) -> Result<SkillsLoaded, StoreError> {
        let keys: BTreeSet<_> = skills.iter().cloned().collect();
        self.read(move |connection| some(connection, &keys)).await
    }

    async fn skills_revision(&self) -> Result<SkillsRevision, StoreError> {
        self.read(|connection| Ok(index(connection)?.0)).await
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
        at: Timestamp,
    ) -> Result<SkillsRevision, StoreError> {
        let model = model.clone();
        self.write(move |connection| change::index(connection, &model, expected, &vectors, at))
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
