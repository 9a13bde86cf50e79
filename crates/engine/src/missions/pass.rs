//! The librarian's stage: the pass of one worker. By default asks no model: the task's scopes and policy determine its
//! families of resources. Its previews are in [`super::previews`].

use charter_contract::ids::{Label, LibrarianPassId};
use charter_contract::mission::MissionSchemaVersion;
use charter_contract::mission::librarian_pass::{CachedPreview, LibrarianPass, RecommendedQuery};
use charter_contract::mission::task_graph::{Role, Task};
use charter_domain::run::StepFailure;

use super::MissionStageService;
use super::failures::unfit;
use super::stage::{StageExecution, artifacts_of, held};
use crate::execution::runs::{StageFailure, StageResult};
use crate::ground::moments;

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
}
