//! Writes skills: one, many at once, deletions.
//!
//! A write is decided on the state in memory and applied in one transaction at that state's revision. Writes run one at
//! a time, each in a task of its own: if the caller goes away, memory and storage still agree. Summaries are embedded
//! before that, outside the lock.

mod bulk;
mod decide;

use std::sync::Arc;

use charter_contract::error_code::ErrorCode;
use charter_contract::ids::SkillId;
use charter_contract::link_graph::{AgentSkill, SkillGrants};
use charter_contract::package::PackageScope;
use charter_contract::scope::Scope;
use charter_contract::validate::Contract;
use charter_contract::violation::{Report, Violation};
use charter_domain::skill_folder::SkillFile;
use charter_search::embed::{EmbeddingModel, Vector};
use charter_store::agent_skills::SkillsWrite;
use schemars::JsonSchema;
use serde::Serialize;

use super::AgentSkillService;
use super::load::{BySummary, stored_form};
use crate::{Caller, EngineError};

pub use bulk::{BulkItem, BulkWritten, MAX_BULK_ITEMS};

use decide::{Step, WritePlan, decide, missing_vectors};

/// Maximum skills of one scope.
const MAX_SKILLS: usize = 1 << 20;

/// Longest summary, in bytes: it is shown with every hit.
const MAX_SUMMARY_BYTES: usize = 8 << 10;

/// Longest instruction, in bytes.
const MAX_INSTRUCTION_BYTES: usize = 4 << 20;

/// Maximum skills that one folder points at.
const MAX_CHILDREN: usize = 10_000;

/// Maximum parents that a refusal names.
const NAMED_PARENTS: usize = 20;

/// How often a write is decided again because another process wrote in between.
const ATTEMPTS: usize = 3;

/// Whether to delete a skill that others point at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Force {
    /// No: that is refused.
    No,
    /// Yes: their links dangle afterwards.
    Yes,
}

/// The result of writing one skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "AgentSkillWriteResult")]
pub struct SkillWritten {
    /// The skill's id.
    pub skill_id: SkillId,
    /// Whether it is new in its scope.
    pub created: bool,
    /// Whether its summary was embedded.
    pub embedded: bool,
    /// Warnings about it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Violation>,
}

/// A skill to write, its vector checked.
#[derive(Debug, Clone)]
pub(super) struct Draft {
    pub(super) skill: AgentSkill,
    pub(super) supplied: Option<Vector>,
    /// Its files, if it is imported.
    pub(super) files: Option<Vec<SkillFile>>,
}

/// One action of a write.
#[derive(Debug, Clone)]
pub(super) enum Act {
    Put(Box<Draft>),
    Delete(SkillId, Force),
}

/// Whether valid actions are applied although others are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BatchMode {
    /// Each action succeeds or fails by itself.
    EachAlone,
    /// All or nothing.
    AllOrNothing,
}

impl AgentSkillService {
    /// Writes a skill, replacing any with the same id (B001-1).
    ///
    /// # Errors
    /// `permission_denied`; `invalid_document` with every violation: a cycle by its path, a vector that is not the
    /// index's, values that are too large; `illegal_transition` for a skill that was imported.
    pub async fn put_skill(
        self: &Arc<Self>,
        caller: &Caller,
        scope: PackageScope,
        skill: AgentSkill,
    ) -> Result<SkillWritten, EngineError> {
        let scope = self.may_write(caller, scope)?;
        let draft = self.draft(skill)?;
        let acts = vec![Act::Put(Box::new(draft))];
        let mut written = self.write(scope, acts, BatchMode::AllOrNothing).await?;
        written
            .pop()
            .unwrap_or_else(|| Err(EngineError::internal("writing a skill", "no answer")))
    }

    /// Deletes a skill of a scope.
    ///
    /// # Errors
    /// `permission_denied`; `not_found`; `still_referenced` naming its parents, unless forced.
    pub async fn delete_skill(
        self: &Arc<Self>,
        caller: &Caller,
        scope: PackageScope,
        id: &SkillId,
        force: Force,
    ) -> Result<(), EngineError> {
        let scope = self.may_write(caller, scope)?;
        let acts = vec![Act::Delete(id.clone(), force)];
        self.write(scope, acts, BatchMode::AllOrNothing).await?;
        Ok(())
    }

    /// Returns the scope that the caller may write to. A caller with grants to only a part of the graph may not change
    /// it: a link to a skill would grant its descendants, and refusals name skills.
    pub(super) fn may_write(
        &self,
        caller: &Caller,
        scope: PackageScope,
    ) -> Result<Scope, EngineError> {
        let scope = caller.scope_of(scope);
        caller.must_edit(&scope, "skills")?;
        match &caller.agent_skills {
            SkillGrants::All => Ok(scope),
            SkillGrants::Only(_) => Err(EngineError::new(
                ErrorCode::PermissionDenied,
                "changing skills needs the grant of all of them",
            )),
        }
    }

    /// Checks the limits of a skill, and its vector (B001-2).
    pub(super) fn draft(&self, mut skill: AgentSkill) -> Result<Draft, EngineError> {
        let mut violations = Vec::new();
        let mut report = Report::new();
        let over = |found: usize, most: usize| format!("{found} of them; the limit is {most}");
        for (pointer, found, most) in [
            ("/summary", skill.summary.as_str().len(), MAX_SUMMARY_BYTES),
            (
                "/instruction",
                skill.instruction.len(),
                MAX_INSTRUCTION_BYTES,
            ),
            ("/sub_skills", skill.sub_skills.len(), MAX_CHILDREN),
        ] {
            if found > most {
                report.meaning(pointer, "too_large", over(found, most));
            }
        }
        let mut supplied = None;
        if let Some(vector) = skill.skill_desc_vector.take() {
            match (self.vectors.embedder(), vector.as_slice()) {
                (None, _) => {
                    let message =
                        "no embedding model is configured, so vectors are not accepted".to_owned();
                    report.meaning("/skill_desc_vector", "model", message);
                }
                (Some(embedder), components) => {
                    match Vector::with_dims(components.to_vec(), embedder.model().dims) {
                        Ok(vector) => supplied = Some(vector),
                        Err(error) => {
                            report.meaning("/skill_desc_vector", "vector", error.to_string());
                        }
                    }
                }
            }
        }
        violations.append(&mut report.violations);
        if !violations.is_empty() {
            return Err(EngineError::violations(
                AgentSkill::NAME.as_str(),
                &violations,
            ));
        }
        Ok(Draft {
            skill,
            supplied,
            files: None,
        })
    }

    /// Applies actions, one result for each.
    pub(super) async fn write(
        self: &Arc<Self>,
        scope: Scope,
        acts: Vec<Act>,
        promise: BatchMode,
    ) -> Result<Vec<Result<SkillWritten, EngineError>>, EngineError> {
        let service = Arc::clone(self);
        let writing = self
            .tasks
            .spawn(async move { service.write_all(&scope, &acts, promise).await });
        writing
            .await
            .map_err(|error| EngineError::internal("writing skills", error))?
    }

    async fn write_all(
        &self,
        scope: &Scope,
        acts: &[Act],
        promise: BatchMode,
    ) -> Result<Vec<Result<SkillWritten, EngineError>>, EngineError> {
        let mut vectors = BySummary::new();
        let mut attempts = 0;
        loop {
            let one_at_a_time = self.skills.writing.lock().await;
            let model = self
                .vectors
                .embedder()
                .map(|embedder| embedder.model().clone());
            let decided = self.skills.look(|indexes| {
                let missing = missing_vectors(indexes, scope, acts, &vectors, model.as_ref());
                match missing.is_empty() {
                    true => Ok(decide(indexes, scope, acts, &vectors, model.as_ref())),
                    false => Err(missing),
                }
            });
            let decided = match decided {
                Ok(decided) => decided,
                Err(missing) => {
                    drop(one_at_a_time);
                    vectors.extend(self.embed_summaries(missing).await?);
                    continue;
                }
            };
            let failed = decided.answers.iter().position(Result::is_err);
            if let (BatchMode::AllOrNothing, Some(at)) = (promise, failed) {
                let mut answers = decided.answers;
                return answers.swap_remove(at).map(|written| vec![Ok(written)]);
            }
            let changes = !decided.steps.is_empty();
            match self.apply_skill_write(scope, decided, model.as_ref()).await {
                Ok(answers) => {
                    drop(one_at_a_time);
                    if changes {
                        self.mirror.wake();
                    }
                    return Ok(answers);
                }
                Err(error) if is_stale(&error) && attempts < ATTEMPTS => {
                    attempts += 1;
                    self.load_skills().await?;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Writes to storage first, then to memory, which then matches storage.
    async fn apply_skill_write(
        &self,
        scope: &Scope,
        decided: WritePlan,
        model: Option<&EmbeddingModel>,
    ) -> Result<Vec<Result<SkillWritten, EngineError>>, EngineError> {
        if decided.steps.is_empty() {
            return Ok(decided.answers);
        }
        let mut expected = decided.revision;
        if let (Some(model), false) = (model, decided.model_is_stored) {
            let stored = stored_form(model);
            expected = self
                .store
                .index_skills(&stored, expected, Vec::new(), self.clock.now())
                .await?;
            self.skills.change(|indexes| {
                indexes.revision = expected;
                indexes.model_is_stored = true;
            });
        }
        let (changes, steps) = decided.steps.into_iter().unzip();
        let write = SkillsWrite {
            scope: scope.clone(),
            expected,
            changes,
            at: self.clock.now(),
        };
        let revision = self.store.change_skills(write).await?;
        let steps: Vec<Step> = steps;
        self.skills.change(|indexes| {
            indexes.revision = revision;
            let index = indexes.scope_mut(scope);
            for step in steps {
                match step {
                    Step::Put(node, vector, files) => index
                        .upsert(node, vector, files)
                        .map_err(|error| EngineError::internal("indexing a skill", error))?,
                    Step::Remove(id) => index.remove(&id),
                }
            }
            Ok(decided.answers)
        })
    }
}

fn is_stale(error: &EngineError) -> bool {
    error.code == ErrorCode::VersionConflict
}
