//! Skills of the link graph. [`change`] writes them.

mod change;

use std::collections::BTreeMap;

use async_trait::async_trait;
use charter_contract::ids::SkillId;
use charter_contract::scope::Scope;
use charter_contract::time::Timestamp;
use charter_domain::skill_folder::SkillFile;
use charter_store::StoreError;
use charter_store::agent_skills::{
    AgentSkills, SkillFileEntry, SkillRecord, SkillVector, SkillsLoaded, SkillsModel,
    SkillsRevision, SkillsWrite, VectorOrigin,
};
use charter_store::catalogue::ContentHash;
use charter_store::vector::TextHash;

pub(crate) use change::everything_changed;

use crate::column;
use crate::row::{Columns, field};
use crate::store::{Access, RowScope, SqlEngine, SqlStore};
use crate::tx::{Tx, params, row, rows};

const READING: &str = "reading skills";

/// Selects a skill with its vector, for [`record`]; callers append conditions and order.
const SKILL: &str = "SELECT scope, skill_id, summary, is_folder, sub_skills,
     EXISTS (SELECT 1 FROM agent_skill_file AS file
             WHERE file.scope = agent_skill.scope AND file.skill_id = agent_skill.skill_id),
     origin, summary_hash, bytes
     FROM agent_skill LEFT JOIN agent_skill_vector USING (scope, skill_id)";

fn record(row: &dyn Columns) -> Result<SkillRecord, StoreError> {
    let id: &str = field(row, 1)?;
    let vector = match field::<Option<&str>>(row, 6)? {
        Some(origin) => Some(SkillVector {
            origin: parse_origin(id, origin)?,
            summary: TextHash(column::parse_hash("hash of a summary", field(row, 7)?)?),
            bytes: field(row, 8)?,
        }),
        None => None,
    };
    Ok(SkillRecord {
        scope: column::parse_scope(field(row, 0)?)?,
        id: column::parse("skill id", id)?,
        summary: field(row, 2)?,
        is_folder: field(row, 3)?,
        sub_skills: column::parse_json("skill", id, field(row, 4)?)?,
        has_files: field(row, 5)?,
        vector,
    })
}

/// Returns the word for an origin.
fn origin(origin: VectorOrigin) -> &'static str {
    match origin {
        VectorOrigin::Embedded => "embedded",
        VectorOrigin::Supplied => "supplied",
    }
}

fn parse_origin(skill: &str, word: &str) -> Result<VectorOrigin, StoreError> {
    [VectorOrigin::Embedded, VectorOrigin::Supplied]
        .into_iter()
        .find(|known| origin(*known) == word)
        .ok_or_else(|| StoreError::Corrupt {
            what: "skill",
            id: skill.to_owned(),
            detail: format!("its vector is from `{word}`"),
        })
}

/// Reads a file's columns, starting at `first`: path, hash, size, whether executable.
fn entry(row: &dyn Columns, first: usize) -> Result<SkillFileEntry, StoreError> {
    let hash = column::parse_hash("hash of a file", field(row, first + 1)?)?;
    Ok(SkillFileEntry {
        path: field(row, first)?,
        content: ContentHash(hash),
        bytes: column::parse_integer("size of a file", field(row, first + 2)?)?,
        executable: field(row, first + 3)?,
    })
}

/// Returns revision and model; `lock` is the end of the statement.
async fn index(
    tx: &mut Tx<'_>,
    lock: &str,
) -> Result<(SkillsRevision, Option<SkillsModel>), StoreError> {
    let corrupt = |id: &str, detail: String| StoreError::Corrupt {
        what: "index of skills",
        id: id.to_owned(),
        detail,
    };
    let sql = format!("SELECT revision, model, dims FROM agent_skill_index{lock}");
    let found = row(READING, tx, &sql, params![], |row| {
        let revision = column::parse_integer("skills revision", field(row, 0)?)?;
        let model = match field::<Option<String>>(row, 1)?.zip(field(row, 2)?) {
            Some((name, dims)) => Some(SkillsModel {
                name,
                dims: usize::try_from(column::parse_integer("dimensions", dims)?)
                    .map_err(|error| corrupt("dims", error.to_string()))?,
            }),
            None => None,
        };
        Ok((SkillsRevision(revision), model))
    })
    .await?;
    found.ok_or_else(|| corrupt("agent_skill_index", "its row is missing".to_owned()))
}

async fn load(tx: &mut Tx<'_>) -> Result<SkillsLoaded, StoreError> {
    let (revision, model) = index(tx, "").await?;
    let sql = format!("{SKILL} ORDER BY scope, skill_id");
    Ok(SkillsLoaded {
        revision,
        model,
        skills: rows(READING, tx, &sql, params![], record).await?,
    })
}

/// Groups skills by the stored form of their scopes.
fn by_scope(keys: &[(Scope, SkillId)]) -> BTreeMap<&str, Vec<&str>> {
    let mut ids_by_scope = BTreeMap::<&str, Vec<&str>>::new();
    for (scope, id) in keys {
        let ids = ids_by_scope.entry(column::scope(scope)).or_default();
        ids.push(id.as_str());
    }
    ids_by_scope
}

async fn load_instructions(
    tx: &mut Tx<'_>,
    keys: &[(Scope, SkillId)],
) -> Result<Vec<(Scope, SkillId, String)>, StoreError> {
    let one_of = tx.dialect().one_of("$2");
    let sql = format!(
        "SELECT scope, skill_id, instruction FROM agent_skill_instruction
         WHERE scope = $1 AND skill_id {one_of}"
    );
    let mut found = Vec::with_capacity(keys.len());
    for (scope, ids) in by_scope(keys) {
        found.extend(rows(READING, tx, &sql, params![scope, ids], instruction).await?);
    }
    Ok(found)
}

fn instruction(row: &dyn Columns) -> Result<(Scope, SkillId, String), StoreError> {
    let scope = column::parse_scope(field(row, 0)?)?;
    let id = column::parse("skill id", field(row, 1)?)?;
    Ok((scope, id, field(row, 2)?))
}

async fn load_some(tx: &mut Tx<'_>, keys: &[(Scope, SkillId)]) -> Result<SkillsLoaded, StoreError> {
    let (revision, model) = index(tx, "").await?;
    let one_of = tx.dialect().one_of("$2");
    let sql = format!("{SKILL} WHERE scope = $1 AND skill_id {one_of} ORDER BY skill_id");
    let mut skills = Vec::with_capacity(keys.len());
    for (scope, ids) in by_scope(keys) {
        skills.extend(rows(READING, tx, &sql, params![scope, ids], record).await?);
    }
    Ok(SkillsLoaded {
        revision,
        model,
        skills,
    })
}

/// Reads the files of a scope, grouped by skill.
async fn all_files(
    tx: &mut Tx<'_>,
    scope: &Scope,
) -> Result<Vec<(SkillId, Vec<SkillFileEntry>)>, StoreError> {
    let found = rows(
        READING,
        tx,
        "SELECT skill_id, path, sha256, bytes, executable FROM agent_skill_file
         WHERE scope = $1 ORDER BY skill_id, path",
        params![column::scope(scope)],
        |row| Ok((field::<String>(row, 0)?, entry(row, 1)?)),
    )
    .await?;
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
impl<E: SqlEngine> AgentSkills for SqlStore<E> {
    async fn load_skills(&self) -> Result<SkillsLoaded, StoreError> {
        self.engine
            .run(Access::Snapshot, RowScope::Everyone, (), |tx, ()| {
                Box::pin(load(tx))
            })
            .await
    }

    async fn skills_of(&self, skills: &[(Scope, SkillId)]) -> Result<SkillsLoaded, StoreError> {
        let keys = skills.to_vec();
        self.engine
            .run(Access::Snapshot, RowScope::Everyone, keys, |tx, keys| {
                Box::pin(load_some(tx, keys))
            })
            .await
    }

    async fn skills_revision(&self) -> Result<SkillsRevision, StoreError> {
        self.engine
            .run(Access::Read, RowScope::Everyone, (), |tx, ()| {
                Box::pin(async move { index(tx, "").await.map(|(revision, _)| revision) })
            })
            .await
    }

    async fn change_skills(&self, write: SkillsWrite) -> Result<SkillsRevision, StoreError> {
        let scope = write.scope.clone();
        let reach = RowScope::of(&scope);
        let changed = self.engine.run(Access::Write, reach, write, |tx, write| {
            Box::pin(change::change(tx, write))
        });
        let revision = changed.await?;
        self.engine.announce(1);
        Ok(revision)
    }

    async fn index_skills(
        &self,
        model: &SkillsModel,
        expected: SkillsRevision,
        vectors: Vec<(Scope, SkillId, SkillVector)>,
        at: Timestamp,
    ) -> Result<SkillsRevision, StoreError> {
        let changed = self.engine.run(
            Access::Write,
            RowScope::Everyone,
            (model.clone(), vectors),
            move |tx, (model, vectors)| Box::pin(change::index(tx, model, expected, vectors, at)),
        );
        let revision = changed.await?;
        self.engine.announce(1);
        Ok(revision)
    }

    async fn skill_instruction(
        &self,
        scope: &Scope,
        skill: &SkillId,
    ) -> Result<Option<String>, StoreError> {
        let reach = RowScope::of(scope);
        let values = (scope.clone(), skill.clone());
        self.engine
            .run(Access::Read, reach, values, |tx, (scope, skill)| {
                Box::pin(async move {
                    let sql = "SELECT instruction FROM agent_skill_instruction
                               WHERE scope = $1 AND skill_id = $2";
                    let values = params![column::scope(scope), skill.as_str()];
                    row(READING, tx, sql, values, |row| field::<String>(row, 0)).await
                })
            })
            .await
    }

    async fn skill_instructions(
        &self,
        skills: &[(Scope, SkillId)],
    ) -> Result<Vec<(Scope, SkillId, String)>, StoreError> {
        let keys = skills.to_vec();
        self.engine
            .run(Access::Read, RowScope::Everyone, keys, |tx, keys| {
                Box::pin(load_instructions(tx, keys))
            })
            .await
    }

    async fn skill_files(
        &self,
        scope: &Scope,
        skill: &SkillId,
    ) -> Result<Vec<SkillFileEntry>, StoreError> {
        let reach = RowScope::of(scope);
        let values = (scope.clone(), skill.clone());
        self.engine
            .run(Access::Read, reach, values, |tx, (scope, skill)| {
                Box::pin(async move {
                    let sql = "SELECT path, sha256, bytes, executable FROM agent_skill_file
                               WHERE scope = $1 AND skill_id = $2 ORDER BY path";
                    let values = params![column::scope(scope), skill.as_str()];
                    rows(READING, tx, sql, values, |row| entry(row, 0)).await
                })
            })
            .await
    }

    async fn all_skill_files(
        &self,
        scope: &Scope,
    ) -> Result<Vec<(SkillId, Vec<SkillFileEntry>)>, StoreError> {
        let reach = RowScope::of(scope);
        self.engine
            .run(Access::Read, reach, scope.clone(), |tx, scope| {
                Box::pin(all_files(tx, scope))
            })
            .await
    }

    async fn skill_file(
        &self,
        scope: &Scope,
        skill: &SkillId,
        path: &str,
    ) -> Result<Option<SkillFile>, StoreError> {
        let reach = RowScope::of(scope);
        let values = (scope.clone(), skill.clone(), path.to_owned());
        self.engine
            .run(Access::Read, reach, values, |tx, (scope, skill, path)| {
                Box::pin(async move {
                    let sql = "SELECT content, executable
                               FROM agent_skill_file JOIN agent_skill_content USING (scope, sha256)
                               WHERE scope = $1 AND skill_id = $2 AND path = $3";
                    let values = params![column::scope(scope), skill.as_str(), path];
                    row(READING, tx, sql, values, |row| {
                        Ok(SkillFile {
                            path: path.clone(),
                            content: field::<&[u8]>(row, 0)?.into(),
                            executable: field(row, 1)?,
                        })
                    })
                    .await
                })
            })
            .await
    }
}
