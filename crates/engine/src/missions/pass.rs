//! The librarian's stage: the pass of one worker. By default asks no model: the task's scopes and policy determine its families of
//! resources. The previews come from the mission's lenses and the tenant's memory.

use std::collections::BTreeSet;

use charter_contract::ids::{Label, LensId, LibrarianPassId};
use charter_contract::mission::MissionSchemaVersion;
use charter_contract::mission::librarian_pass::{CachedPreview, LibrarianPass, RecommendedQuery};
use charter_contract::mission::task_graph::{Role, Task};
use charter_contract::text::{ShortText, Text};
use charter_domain::run::StepFailure;

use super::MissionStageService;
use super::desk::MissionContext;
use super::failures::unfit;
use super::stage::{StageExecution, artifacts_of, held};
use crate::EngineError;
use crate::execution::runs::{StageFailure, StageResult};
use crate::ground::moments;
use crate::identity::caller::Tier;
use crate::knowledge::lenses::LensFilter;

/// Maximum passages of lenses in a pass.
const PREVIEWS: usize = 6;

impl MissionStageService {
    pub(super) async fn make_pass(
        &self,
        work: &StageExecution,
        task: &Task,
    ) -> Result<StageResult, StageFailure> {
        let tools = work.desk.tool_scope(task).into_iter();
        let queries = tools.map(|tool| RecommendedQuery {
            tool,
            query: task.objective.clone(),
        });
        let previews = self.previews(work, task).await?;
        let families = task.required_data_scopes.clone();
        let pass = self.pass(work, task, families, queries.collect(), previews)?;
        Ok(artifacts_of(held(pass)?))
    }

    /// Builds the pass of a task.
    pub(super) fn pass(
        &self,
        work: &StageExecution,
        task: &Task,
        allowed_resource_families: Vec<Label>,
        recommended_queries: Vec<RecommendedQuery>,
        cached_previews: Vec<CachedPreview>,
    ) -> Result<LibrarianPass, StepFailure> {
        let desk = &work.desk;
        let now = self.clock.now();
        let id = LibrarianPassId::parse(&format!("pass.{}", task.task_id));
        Ok(LibrarianPass {
            schema_name: Default::default(),
            schema_version: MissionSchemaVersion::default(),
            mission_id: desk.envelope.mission_id.clone(),
            tenant_id: Some(desk.envelope.tenant_id.clone()),
            actor_id: Some(desk.envelope.actor_id.clone()),
            task_id: task.task_id.clone(),
            pass_id: id.map_err(|error| unfit(error.to_string()))?,
            allowed_resource_families,
            recommended_queries,
            cached_previews,
            expires_at: moments::after(now, self.pass_ttl),
            created_at: now,
            producer: desk.producer(Role::Librarian),
        })
    }

    /// Returns passages on the task's subject, from the lenses of its families.
    pub(super) async fn previews(
        &self,
        work: &StageExecution,
        task: &Task,
    ) -> Result<Vec<CachedPreview>, EngineError> {
        let lenses = lenses_of(&work.desk, task);
        if lenses.is_empty() || work.caller.tier < Tier::Advanced {
            return Ok(Vec::new());
        }
        let filter = LensFilter {
            lens_ids: lenses.into_iter().collect(),
            top_k: Some(PREVIEWS),
            ..LensFilter::default()
        };
        let objective = task.objective.as_str();
        let answer = self
            .lenses
            .ask_lenses(&work.caller, objective, &filter)
            .await?;
        let previews = answer.passages.into_iter().filter_map(|passage| {
            let place = format!("{}#{}", passage.lens_id, passage.position.start);
            Some(CachedPreview {
                label: Text::parse(&passage.title).ok()?,
                entity_type: Label::parse("lens_passage").ok()?,
                entity_id: ShortText::parse(&place).ok()?,
                preview: Text::parse(&passage.text).ok()?,
            })
        });
        Ok(previews.collect())
    }
}

/// Returns the lenses of the families that the task may read.
fn lenses_of(desk: &MissionContext, task: &Task) -> BTreeSet<LensId> {
    let scopes = task.required_data_scopes.iter();
    let families = scopes.filter_map(|scope| desk.kind.resource_families.get(scope));
    families
        .flat_map(|family| family.lenses.iter().cloned())
        .collect()
}
