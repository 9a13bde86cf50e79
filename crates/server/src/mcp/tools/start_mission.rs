//! `start_mission`: a goal that takes planning, several workers and a review, as `POST /v1/missions` does.

use charter_contract::error_code::ErrorCode;
use charter_contract::ids::MissionId;
use charter_contract::registry::read_typed;
use charter_engine::{Answerer, EngineError, MissionOrder};
use rmcp::model::ToolAnnotations;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::mcp::call::Call;
use crate::mcp::mission;
use crate::mcp::tool::{McpTool, ToolReply, arguments_of};
use crate::mcp::work::{WorkReport, WorkSubject};

pub(in crate::mcp) struct StartMission;

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::mcp) struct Input {
    /// The goal, in plain words.
    #[serde(skip_serializing_if = "Option::is_none")]
    goal: Option<String>,
    /// The mission type, by its exact id from `find`; a general one if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    mission_type: Option<String>,
    /// An id for it, so that a repeated start returns it; a new one if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    mission_id: Option<String>,
    /// `offline` for an answer without a language model; the configured models if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<Model>,
    /// Entities that the mission is about, by name.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    context_refs: Map<String, Value>,
    /// The token budget; that of the mission type if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    token_budget: Option<u64>,
    /// The time budget, in milliseconds; that of the mission type if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    time_budget_ms: Option<u64>,
    /// A `mission_envelope` in place of all other arguments but `model`. Risk and sensitivity may only be raised.
    #[serde(default, skip_serializing)]
    envelope: Option<Map<String, Value>>,
}

/// The models of the mission.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Model {
    /// The offline provider.
    Offline,
    /// The configured models.
    Routes,
}

impl McpTool for StartMission {
    const NAME: &'static str = "start_mission";
    const TITLE: &'static str = "Start a mission";
    const DESCRIPTION: &'static str = "Pursues a goal that needs more than one question: plans tasks, executes them, \
        aggregates the results and has them reviewed once. Usually runs longer than a call: `status` shows its \
        state, and its results are resources. Proposed changes wait for a person. Use `run` if one answer is enough.";
    type Input = Input;
    type Output = WorkReport;

    fn annotations() -> ToolAnnotations {
        let hints = ToolAnnotations::new().read_only(false).destructive(true);
        hints.idempotent(false).open_world(true)
    }

    async fn call(call: &Call, input: Input) -> Result<ToolReply<WorkReport>, EngineError> {
        if let Some((pending, applied)) = call.answered().await? {
            let subject = mission::of_run(call, pending.run()?).await?;
            return subject.resume(call, &applied).await;
        }
        let order = input.order()?;
        let started = call.engine().missions().start(&call.caller, &order).await?;
        let mission = started.mission().mission_id;
        let subject = WorkSubject::Mission(mission.clone());
        call.started(subject.clone());
        call.reporter_for(&mission, subject.run_until_settled(call))
            .await?
    }
}

impl Input {
    fn order(mut self) -> Result<MissionOrder, EngineError> {
        if let Some(envelope) = self.envelope.take() {
            return self.enveloped(envelope);
        }
        let new = || MissionId::from_uuid(Uuid::now_v7()).to_string();
        self.mission_id.get_or_insert_with(new);
        let mut order = json!(self);
        order["origin_surface"] = json!("mcp");
        read_typed(&order).map_err(|violations| {
            EngineError::unfit(&arguments_of(StartMission::NAME), &violations)
        })
    }

    /// Reads the order of an envelope.
    fn enveloped(self, envelope: Map<String, Value>) -> Result<MissionOrder, EngineError> {
        if self.goal.is_some() || self.mission_type.is_some() || self.mission_id.is_some() {
            let message = "`envelope` has the goal, the type and the id: omit `goal`, `mission_type` and `mission_id`";
            return Err(EngineError::new(ErrorCode::InvalidRequest, message));
        }
        let order = MissionOrder::read(&Value::Object(envelope)).map_err(|found| {
            let found = found.into_iter();
            let found: Vec<_> = found
                .map(|violation| violation.below("/envelope"))
                .collect();
            EngineError::unfit(&arguments_of(StartMission::NAME), &found)
        })?;
        Ok(MissionOrder {
            model: self.model.map(Answerer::from),
            ..order
        })
    }
}

impl From<Model> for Answerer {
    fn from(model: Model) -> Self {
        match model {
            Model::Offline => Self::Offline,
            Model::Routes => Self::Routes,
        }
    }
}
