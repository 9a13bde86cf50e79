//! The librarian's stage: the pass of one worker. Asks no model: the task's scopes and policy determine its families of
//! resources. Its previews are in [`super::previews`].

use charter_contract::ids::LibrarianPassId;
use charter_contract::mission::MissionSchemaVersion;
use charter_contract::mission::librarian_pass::{LibrarianPass, RecommendedQuery};
use charter_contract::mission::task_graph::Task;
use charter_domain::mission::StageOutput;

use super::MissionStageService;
use super::failures::unfit;
use super::stage::{StageExecution, held};
use crate::execution::runs::{StageFailure, StageResult};
use crate::ground::moments;

impl MissionStageService {
    pub(super) async fn make_pass(
        &self,
        work: &StageExecution,
        task: &Task,
    ) -> Result<StageResult, StageFailure> {
        let desk = &work.desk;
        let now = self.clock.now();
        let id = LibrarianPassId::parse(&format!("pass.{}", task.task_id));
        let query = task.objective.clone();
        let pass = LibrarianPass {
            schema_name: Default::default(),
            schema_version: MissionSchemaVersion::default(),
            mission_id: desk.envelope.mission_id.clone(),
            tenant_id: Some(desk.envelope.tenant_id.clone()),
            actor_id: Some(desk.envelope.actor_id.clone()),
            task_id: task.task_id.clone(),
            pass_id: id.map_err(|error| unfit(error.to_string()))?,
            allowed_resource_families: task.required_data_scopes.clone(),
            recommended_queries: desk
                .tool_scope(task)
                .into_iter()
                .map(|tool| RecommendedQuery {
                    tool,
                    query: query.clone(),
                })
                .collect(),
            cached_previews: self.previews(work, task).await?,
            expires_at: moments::after(now, self.pass_ttl),
            created_at: now,
            producer: desk.producer("librarian_agent"),
        };
        Ok(StageResult {
            output: StageOutput {
                artifacts: vec![held(pass)?],
                ..StageOutput::default()
            },
            ..StageResult::default()
        })
    }
}
