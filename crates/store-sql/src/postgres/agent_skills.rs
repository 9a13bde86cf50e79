//! Skills of the link graph in PostgreSQL.

mod change;

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
use deadpool_postgres::Transaction;

use super::PostgresStore;
use super::connection::{RowScope, in_snapshot, in_transaction};
use super::statement::{params, row, rows};
use crate::column;
use crate::record::skill::{self as record, by_skill, entry};
use crate::row::field;

const READING: &str = "reading skills";

/// Selects a skill with its vector; callers append conditions and order.
const SKILL: &str = "SELECT scope, skill_id, summary, is_folder, sub_skills,
     EXISTS (SELECT FROM agent_skill_file AS file
             WHERE file.scope = agent_skill.scope AND file.skill_id = agent_skill.skill_id),
     origin, summary_hash, bytes
     FROM agent_skill LEFT JOIN agent_skill_vector USING (scope, skill_id)";

async fn index(
    connection: &Transaction<'_>,
) -> Result<(SkillsRevision, Option<SkillsModel>), StoreError> {
    let sql = "SELECT revision, model, dims FROM agent_skill_index";
    let index = row(READING, connection, sql, params![], record::index).await?;
    index.ok_or_else(record::without_index)
}

async fn load(connection: &Transaction<'_>) -> Result<SkillsLoaded, StoreError> {
    let (revision, model) = index(connection).await?;
    let sql = format!("{SKILL} ORDER BY scope, skill_id");
    Ok(SkillsLoaded {
        revision,
        model,
        skills: rows(READING, connection, &sql, params![], record::record).await?,
    })
}

async fn some(
    connection: &Transaction<'_>,
    keys: &[(Scope, SkillId)],
) -> Result<SkillsLoaded, StoreError> {
    let (revision, model) = index(connection).await?;
    let scopes: Vec<&str> = keys.iter().map(|(scope, _)| column::scope(scope)).collect();
    let ids: Vec<&str> = keys.iter().map(|(_, id)| id.as_str()).collect();
    let sql = format!(
        "{SKILL} WHERE (scope, skill_id) IN (SELECT * FROM unnest($1::text[], $2::text[]))
         ORDER BY scope, skill_id"
    );
    let values = params![scopes, ids];
    Ok(SkillsLoaded {
        revision,
        model,
        skills: rows(READING, connection, &sql, values, record::record).await?,
    })
}

#[async_trait]
impl AgentSkills for PostgresStore {
    async fn load_skills(&self) -> Result<SkillsLoaded, StoreError> {
        in_snapshot!(self, RowScope::Everyone, tx => load(&tx))
    }

    async fn skills_of(&self, skills: &[(Scope, SkillId)]) -> Result<SkillsLoaded, StoreError> {
        in_snapshot!(self, RowScope::Everyone, tx => some(&tx, skills))
    }

    async fn skills_revision(&self) -> Result<SkillsRevision, StoreError> {
        let client = self.client(RowScope::Everyone).await?;
        let sql = "SELECT revision, model, dims FROM agent_skill_index";
        let index = row(READING, &client, sql, params![], record::index).await?;
        index
            .map(|(revision, _)| revision)
            .ok_or_else(record::without_index)
    }

    async fn change_skills(&self, write: SkillsWrite) -> Result<SkillsRevision, StoreError> {
        let reach = RowScope::of(&write.scope);
        let revision = in_transaction!(self, reach, tx => change::change(&tx, &write))?;
        self.announce(1);
        Ok(revision)
    }

    async fn index_skills(
        &self,
        model: &SkillsModel,
        expected: SkillsRevision,
        vectors: Vec<(Scope, SkillId, SkillVector)>,
        at: Timestamp,
    ) -> Result<SkillsRevision, StoreError> {
        let reach = RowScope::Everyone;
        let revision =
            in_transaction!(self, reach, tx => change::index(&tx, model, expected, &vectors, at))?;
        self.announce(1);
        Ok(revision)
    }

    async fn skill_instruction(
        &self,
        scope: &Scope,
        skill: &SkillId,
    ) -> Result<Option<String>, StoreError> {
        let client = self.client(RowScope::of(scope)).await?;
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
        let client = self.client(RowScope::of(scope)).await?;
        let sql = "SELECT path, sha256, bytes, executable FROM agent_skill_file
             WHERE scope = $1 AND skill_id = $2 ORDER BY path";
        let values = params![column::scope(scope), skill.as_str()];
        rows(READING, &client, sql, values, |row| entry(row, 0)).await
    }

    async fn all_skill_files(
        &self,
        scope: &Scope,
    ) -> Result<Vec<(SkillId, Vec<SkillFileEntry>)>, StoreError> {
        let client = self.client(RowScope::of(scope)).await?;
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
        let client = self.client(RowScope::of(scope)).await?;
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
