//! Skills of the link graph in PostgreSQL.

mod change;

use async_trait::async_trait;
use charter_contract::ids::SkillId;
use charter_contract::scope::Scope;
use charter_domain::skill_folder::SkillFile;
use charter_store::StoreError;
use charter_store::agent_skills::{
    AgentSkills, SkillFileEntry, SkillVector, SkillsLoaded, SkillsModel, SkillsRevision,
    SkillsWrite,
};
use deadpool_postgres::Transaction;

use super::PostgresStore;
use super::connection::{in_snapshot, in_transaction};
use super::statement::{params, row, rows};
use crate::column;
use crate::record::skill::{self as record, by_skill, entry};
use crate::row::field;

const READING: &str = "reading skills";

async fn load(connection: &Transaction<'_>) -> Result<SkillsLoaded, StoreError> {
    let sql = "SELECT revision, model, dims FROM agent_skill_index";
    let index = row(READING, connection, sql, params![], record::index).await?;
    let (revision, model) = index.ok_or_else(record::without_index)?;
    let skills = rows(
        READING,
        connection,
        "SELECT scope, skill_id, summary, is_folder, sub_skills,
         EXISTS (SELECT FROM agent_skill_file AS file
                 WHERE file.scope = agent_skill.scope AND file.skill_id = agent_skill.skill_id),
         origin, summary_hash, bytes
         FROM agent_skill LEFT JOIN agent_skill_vector USING (scope, skill_id)
         ORDER BY scope, skill_id",
        params![],
        record::record,
    )
    .await?;
    Ok(SkillsLoaded {
        revision,
        model,
        skills,
    })
}

#[async_trait]
impl AgentSkills for PostgresStore {
    async fn load_skills(&self) -> Result<SkillsLoaded, StoreError> {
        in_snapshot!(self, tx => load(&tx))
    }

    async fn change_skills(&self, write: SkillsWrite) -> Result<SkillsRevision, StoreError> {
        in_transaction!(self, tx => change::change(&tx, &write))
    }

    async fn index_skills(
        &self,
        model: &SkillsModel,
        expected: SkillsRevision,
        vectors: Vec<(Scope, SkillId, SkillVector)>,
    ) -> Result<SkillsRevision, StoreError> {
        in_transaction!(self, tx => change::index(&tx, model, expected, &vectors))
    }

    async fn skill_instruction(
        &self,
        scope: &Scope,
        skill: &SkillId,
    ) -> Result<Option<String>, StoreError> {
        let client = self.client().await?;
        let sql =
            "SELECT instruction FROM agent_skill_instruction WHERE scope = $1 AND skill_id = $2";
        let values = params![column::scope(scope), skill.as_str()];
        row(READING, &client, sql, values, |row| field(row, 0)).await
    }

    async fn skill_files(
        &self,
        scope: &Scope,
        skill: &SkillId,
    ) -> Result<Vec<SkillFileEntry>, StoreError> {
        let client = self.client().await?;
        let sql = "SELECT path, sha256, bytes, executable FROM agent_skill_file
             WHERE scope = $1 AND skill_id = $2 ORDER BY path";
        let values = params![column::scope(scope), skill.as_str()];
        rows(READING, &client, sql, values, |row| entry(row, 0)).await
    }

    async fn all_skill_files(
        &self,
        scope: &Scope,
    ) -> Result<Vec<(SkillId, Vec<SkillFileEntry>)>, StoreError> {
        let client = self.client().await?;
        let found = rows(
            READING,
            &client,
            "SELECT skill_id, path, sha256, bytes, executable FROM agent_skill_file
             WHERE scope = $1 ORDER BY skill_id, path",
            params![column::scope(scope)],
            |row| Ok((field::<String>(row, 0)?, entry(row, 1)?)),
        )
        .await?;
        by_skill(found)
    }

    async fn skill_file(
        &self,
        scope: &Scope,
        skill: &SkillId,
        path: &str,
    ) -> Result<Option<SkillFile>, StoreError> {
        let client = self.client().await?;
        row(
            READING,
            &client,
            "SELECT content, executable
             FROM agent_skill_file JOIN agent_skill_content USING (scope, sha256)
             WHERE scope = $1 AND skill_id = $2 AND path = $3",
            params![column::scope(scope), skill.as_str(), path],
            |row| {
                Ok(SkillFile {
                    path: path.to_owned(),
                    content: field::<Vec<u8>>(row, 0)?.into(),
                    executable: field(row, 1)?,
                })
            },
        )
        .await
    }
}
