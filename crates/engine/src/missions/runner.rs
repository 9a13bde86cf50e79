//! Missions as runs see them: their stages, and the calls of their tasks.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use charter_contract::catalogue::policy::MissionFacts;
use charter_contract::catalogue::stage::Stage;
use charter_contract::catalogue::tool::Tool;
use charter_contract::ids::{MissionId, StepId, TaskId, TenantId};
use charter_contract::mission::librarian_pass::LibrarianPass;
use charter_contract::mission::prompt_package::PromptPackage;
use charter_contract::time::Timestamp;
use charter_domain::graph::GraphError;
use charter_domain::mission::admit::Inventory;
use charter_domain::mission::{StageOutput, pass_step, prompt_step};
use charter_domain::run::{Run, StepFailure};
use charter_store::mission::ArtifactRecord;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::MissionStageService;
use super::begun::begun_of;
use super::desk::MissionContext;
use super::failures::{lost, unfit};
use super::stage::StageExecution;
use super::start::general;
use crate::EngineError;
use crate::execution::runs::{
    MissionDocuments, StageFailure, StageResult, StageRunner, StageRunnerFactory, StageWork,
};

#[async_trait]
impl StageRunnerFactory for MissionStageService {
    async fn stage_runner(
        self: Arc<Self>,
        tenant: &TenantId,
        mission: &MissionId,
        run: &Run,
        documents: MissionDocuments,
        unstored: &[ArtifactRecord],
    ) -> Result<Arc<dyn StageRunner>, EngineError> {
        let stored = self.views.stored_artifacts(tenant, mission).await?;
        let known: Vec<&ArtifactRecord> = match &*stored {
            [] => unstored.iter().collect(),
            stored => stored.iter().map(|stored| &stored.record).collect(),
        };
        let payloads = known.iter().map(|known| known.payload.as_str());
        let mut inventory = Inventory::restore(payloads)
            .map_err(|error| EngineError::internal("reading a mission's artifacts", error))?;
        for step in run
            .graph()
            .steps()
            .iter()
            .filter(|step| step.mandate.is_some())
        {
            if run.outputs().contains_key(&step.id) {
                inventory.know_call(step.id.as_str());
            }
        }
        let envelope = run
            .parameters()
            .get("envelope")
            .cloned()
            .unwrap_or_default();
        let envelope = serde_json::from_value(envelope)
            .map_err(|error| EngineError::internal("reading a mission's envelope", error))?;
        let begun = begun_of(run)?;
        let kind = match documents.kind {
            Some(kind) => kind,
            None => general()?,
        };
        let prompts: BTreeMap<_, _> = documents
            .prompts
            .into_iter()
            .map(|prompt| (prompt.role_type, prompt))
            .collect();
        let desk = MissionContext::new(self, envelope, kind, prompts, &begun, inventory);
        Ok(Arc::new(desk))
    }
}

#[async_trait]
impl StageRunner for MissionContext {
    fn kind_id(&self) -> &str {
        self.kind.mission_type.as_str()
    }

    fn facts(&self) -> MissionFacts {
        MissionFacts {
            risk_level: self.envelope.risk_level,
            sensitivity_class: self.envelope.sensitivity_class.clone(),
        }
    }

    fn prepare(
        self: Arc<Self>,
        run: &Run,
        stage: Stage,
        parameters: &Map<String, Value>,
        key: String,
    ) -> Result<Box<dyn StageWork>, StepFailure> {
        let work = StageExecution::new(&self, run, stage, parameters, key)?;
        Ok(Box::new(work))
    }

    fn refusal(
        &self,
        run: &Run,
        task: &TaskId,
        tool: &Tool,
        now: Timestamp,
    ) -> Result<Option<(String, String)>, StepFailure> {
        let output = |step: Result<StepId, GraphError>| {
            let step = step.map_err(|error| unfit(error.to_string()))?;
            Ok::<_, StepFailure>(run.outputs().get(&step).and_then(StageOutput::read))
        };
        let package: Option<PromptPackage> =
            output(prompt_step(task))?.and_then(|output| output.first());
        let package = package.ok_or_else(|| lost("prompt package for the task"))?;
        if !package.tool_scope.contains(&tool.tool_id) {
            let why = format!("the package does not name the tool `{}`", tool.tool_id);
            return Ok(Some((package.package_id.to_string(), why)));
        }
        let pass: Option<LibrarianPass> =
            output(pass_step(task))?.and_then(|output| output.first());
        // A researcher looks outside, where no pass leads.
        let Some(pass) = pass else {
            return Ok(None);
        };
        let id = pass.pass_id.to_string();
        if now >= pass.expires_at {
            return Ok(Some((
                id,
                format!("the pass expired at {}", pass.expires_at),
            )));
        }
        let family = self.family(tool);
        if !pass.allowed_resource_families.contains(&family) {
            let why = format!("the pass does not grant `{family}`, which the tool reads");
            return Ok(Some((id, why)));
        }
        Ok(None)
    }

    fn admit(
        &self,
        run: &Run,
        step: &StepId,
        output: &Value,
    ) -> Result<Vec<ArtifactRecord>, StepFailure> {
        let Some(of) = run.graph().step(step) else {
            return Ok(Vec::new());
        };
        if of.mandate.is_some() {
            self.inventory_mut().know_call(step.as_str());
            return Ok(Vec::new());
        }
        let is_stage = of
            .tool()
            .is_some_and(|tool| Stage::from_tool_id(tool).is_some());
        match StageOutput::read(output).filter(|_| is_stage) {
            Some(output) => self.take(&output.artifacts),
            None => Ok(Vec::new()),
        }
    }

    async fn stop_waiting(&self, tenant: &TenantId) -> Result<(), EngineError> {
        let assignments = &self.stages.assignments;
        assignments
            .close_all(tenant, &self.envelope.mission_id)
            .await
    }
}

#[async_trait]
impl StageWork for StageExecution {
    async fn run(self: Box<Self>, cancel: &CancellationToken) -> Result<StageResult, StageFailure> {
        let stages = Arc::clone(&self.desk.stages);
        stages.run_stage(*self, cancel).await
    }
}
