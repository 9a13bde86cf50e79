//! Skills of the link graph.

use charter_contract::ids::SkillId;
use charter_contract::time::Timestamp;
use charter_store::StoreError;
use charter_store::agent_skills::{
    CHANGED_TOPIC, MAX_CHANGED_NAMED, SkillChange, SkillFileEntry, SkillRecord, SkillVector,
    SkillsModel, SkillsRevision, SkillsWrite, VectorOrigin,
};
use charter_store::catalogue::ContentHash;
use charter_store::outbox::NewMessage;
use charter_store::vector::TextHash;

use crate::column;
use crate::row::{Columns, field};

/// Returns the word for an origin.
pub(crate) fn origin(origin: VectorOrigin) -> &'static str {
    match origin {
        VectorOrigin::Embedded => "embedded",
        VectorOrigin::Supplied => "supplied",
    }
}

pub(crate) fn dimensions(dims: i64) -> Result<usize, StoreError> {
    let dims = column::parse_integer("dimensions", dims)?;
    usize::try_from(dims).map_err(|error| StoreError::Corrupt {
        what: "index of skills",
        id: "dims".to_owned(),
        detail: error.to_string(),
    })
}

pub(crate) fn record(row: &dyn Columns) -> Result<SkillRecord, StoreError> {
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

pub(crate) fn vector(row: &dyn Columns, word: &str, id: &str) -> Result<SkillVector, StoreError> {
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

/// Reads a file's columns, starting at `first`: path, hash, size, whether executable.
pub(crate) fn entry(row: &dyn Columns, first: usize) -> Result<SkillFileEntry, StoreError> {
    let hash: Vec<u8> = field(row, first + 1)?;
    Ok(SkillFileEntry {
        path: field(row, first)?,
        content: ContentHash(column::parse_hash("hash of a file", &hash)?),
        bytes: column::parse_integer("size of a file", field(row, first + 2)?)?,
        executable: field(row, first + 3)?,
    })
}

/// Reads `revision, model, dims`.
pub(crate) fn index(
    row: &dyn Columns,
) -> Result<(SkillsRevision, Option<SkillsModel>), StoreError> {
    let revision = column::parse_integer("skills revision", field(row, 0)?)?;
    let model = match (
        field::<Option<String>>(row, 1)?,
        field::<Option<i64>>(row, 2)?,
    ) {
        (Some(name), Some(dims)) => Some(SkillsModel {
            name,
            dims: dimensions(dims)?,
        }),
        (Some(_) | None, Some(_) | None) => None,
    };
    Ok((SkillsRevision(revision), model))
}

/// Returns the error for the missing row of the index.
pub(crate) fn without_index() -> StoreError {
    StoreError::Corrupt {
        what: "index of skills",
        id: "agent_skill_index".to_owned(),
        detail: "its row is missing".to_owned(),
    }
}

/// Returns the revision after `found`, if the caller expected `found`.
pub(crate) fn next_revision(
    found: SkillsRevision,
    expected: SkillsRevision,
) -> Result<SkillsRevision, StoreError> {
    if found != expected {
        return Err(StoreError::VersionConflict {
            what: "index of skills",
            id: "agent_skills".to_owned(),
            expected: expected.0,
            found: found.0,
        });
    }
    Ok(SkillsRevision(found.0 + 1))
}

/// Groups files by skill, keeping their order.
pub(crate) fn by_skill(
    found: Vec<(String, SkillFileEntry)>,
) -> Result<Vec<(SkillId, Vec<SkillFileEntry>)>, StoreError> {
    let mut skills: Vec<(SkillId, Vec<SkillFileEntry>)> = Vec::new();
    for (id, file) in found {
        match skills.last_mut() {
            Some((known, files)) if known.as_str() == id => files.push(file),
            Some(_) | None => skills.push((column::parse("skill id", &id)?, vec![file])),
        }
    }
    Ok(skills)
}

/// Returns the outbox message of a write. It belongs to the skills' tenant, so that the writer's connection may insert
/// it.
pub(crate) fn changed(write: &SkillsWrite, revision: SkillsRevision) -> NewMessage {
    if write.changes.len() > MAX_CHANGED_NAMED {
        let message = everything_changed(revision, write.at);
        let tenant = write.scope.tenant().map(ToString::to_string);
        return NewMessage { tenant, ..message };
    }
    let ids = write.changes.iter().map(|change| match change {
        SkillChange::Put(skill) => skill.id.as_str(),
        SkillChange::Delete(id) => id.as_str(),
    });
    let payload = serde_json::json!({
        "revision": revision.0,
        "scope": column::scope(&write.scope),
        "skills": ids.collect::<Vec<_>>(),
    });
    NewMessage {
        topic: CHANGED_TOPIC.to_owned(),
        tenant: write.scope.tenant().map(ToString::to_string),
        user_id: None,
        payload: payload.to_string(),
        at: write.at,
    }
}

/// Returns the outbox message for a change of all vectors.
pub(crate) fn everything_changed(revision: SkillsRevision, at: Timestamp) -> NewMessage {
    NewMessage {
        topic: CHANGED_TOPIC.to_owned(),
        tenant: None,
        user_id: None,
        payload: serde_json::json!({"revision": revision.0, "everything": true}).to_string(),
        at,
    }
}
