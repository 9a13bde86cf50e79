//! Starts missions: a goal becomes an envelope, and the envelope a run that opens with its planner.

use charter_contract::catalogue::DocumentKind;
use charter_contract::catalogue::mission_type::{MissionType, RolePerformer};
use charter_contract::catalogue::stage::Stage;
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{ActorId, Label, MissionId, MissionTypeId, RunId, TenantId};
use charter_contract::mission::envelope::{MissionEnvelope, RiskLevel};
use charter_contract::mission::task_graph::Role;
use charter_contract::number::Positive;
use charter_contract::text::Text;
use charter_contract::validate;
use charter_domain::mission::admit::Inventory;
use charter_domain::mission::opening;
use charter_domain::run::{DocumentPin, RunPrerequisites};
use charter_store::mission::{ArtifactRecord, MissionRecord};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::MissionService;
use super::begun::{FirstMessage, MissionStart};
use super::show::MissionView;
use crate::catalogue::documents::unseen;
use crate::execution::runs::{NewRun, pin};
use crate::{Caller, EngineError};

/// The type of a mission that names none.
pub(super) const GENERAL: &str = "general";

/// A request to start a mission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MissionOrder {
    /// The goal, in the user's words.
    pub goal: Text,
    /// The mission type; `general` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mission_type: Option<MissionTypeId>,
    /// The mission's id, so that a repeated request finds the mission (B002-15); a new one when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mission_id: Option<MissionId>,
    /// The surface that it comes from: `cli`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin_surface: Option<Label>,
    /// Time budget, in milliseconds; that of its type when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_budget_ms: Option<Positive>,
    /// Token budget; that of its type when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_budget: Option<Positive>,
    /// Entities of the mission, by name of the reference.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub context_refs: Map<String, Value>,
    /// Requested outputs: `reviewed_summary`, or kinds of artifacts; those of its type when absent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requested_outputs: Vec<Label>,
    /// The goal for the roles of the mission; made from `goal` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub normalized_goal: Option<Text>,
    /// Risk level, which may only be higher than that of its type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risk_level: Option<RiskLevel>,
    /// Data sensitivity, which may only be higher than that of its type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sensitivity_class: Option<Label>,
    /// The tenant, which must be the credential's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<TenantId>,
    /// The actor, which must be the credential's user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor_id: Option<ActorId>,
    /// The actor's role, which must be the credential's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor_role: Option<Label>,
    /// The answerer: `offline` for the offline provider; the routes of its prompts when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Answerer>,
}

/// The provider of the answers for the roles of a mission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Answerer {
    /// The offline provider: deterministic and extractive; asks no model.
    Offline,
    /// The models behind the prompts' routes.
    Routes,
}

/// The result of a request to start a mission.
#[derive(Debug, Clone, PartialEq)]
pub enum MissionStarted {
    /// This request started it.
    New(Box<MissionView>),
    /// An earlier identical request started it (B002-15).
    Repeat(Box<MissionView>),
}

impl MissionStarted {
    /// Returns the mission, new or not.
    #[must_use]
    pub fn mission(self) -> MissionView {
        match self {
            Self::New(mission) | Self::Repeat(mission) => *mission,
        }
    }
}

impl MissionService {
    /// Starts a mission; a repeated request with the same id finds the existing mission.
    ///
    /// # Errors
    /// `not_found` for an unknown type; `already_exists` if the id is another mission's; `invalid_request` if a model
    /// is needed and none is configured, for an unknown output, and for a lower risk or sensitivity than that of the
    /// type; `permission_denied` for a tenant, actor or role that is not the credential's; `rate_limited`
    /// if the tenant has reached its run quota.
    pub async fn start(
        &self,
        caller: &Caller,
        order: &MissionOrder,
    ) -> Result<MissionStarted, EngineError> {
        self.begin(caller, order, None).await
    }

    /// Starts a mission for a request that may come as another agent's message.
    pub(crate) async fn begin(
        &self,
        caller: &Caller,
        order: &MissionOrder,
        message: Option<FirstMessage>,
    ) -> Result<MissionStarted, EngineError> {
        order.check_claims(caller)?;
        let (kind, mut pins) = self.kind_of(caller, order.mission_type.as_ref())?;
        let begun = MissionStart {
            message,
            ..self.begun(caller, order, &kind)?
        };
        let envelope = self.envelope(caller, order, &kind)?;
        let mission = envelope.mission_id.clone();
        if let Some(known) = self.store.mission(&caller.tenant, &mission).await? {
            let mission = self.repeated(known, &envelope, &begun).await?;
            return Ok(MissionStarted::Repeat(Box::new(mission)));
        }
        self.quotas.check_room_for_run(&caller.tenant).await?;
        let view = self.catalogue.live().view(&caller.tenant);
        for stage in Stage::ALL {
            let id = stage.tool_id();
            let tool = view.tool(id.as_ref());
            let tool = tool.ok_or_else(|| EngineError::not_found("tool", &id))?;
            pins.push(pin(DocumentKind::Tool, id.as_ref(), &tool.entry));
        }
        let graph = opening(&envelope)
            .map_err(|error| EngineError::internal("planning a mission", error))?;
        let (_, admitted) = Inventory::open(envelope.clone())
            .map_err(|refusal| EngineError::internal("opening a mission", refusal))?;
        let run_id = run_of(&caller.tenant, &mission);
        let new = NewRun {
            run_id: run_id.clone(),
            tenant: caller.tenant.clone(),
            by: caller.user.clone(),
            askers: caller.makers.clone(),
            owner: caller.user.clone(),
            role: caller.role,
            title: format!("mission {}", envelope.mission_type),
            graph,
            parameters: parameters(&envelope, &begun)?,
            pins,
            dry_run: false,
            opening: RunPrerequisites::default(),
            tags: self.tags.of_request(caller, None, None)?,
            artifacts: vec![ArtifactRecord::from(&admitted)],
        };
        self.runs.start(new).await?;
        // Of two concurrent requests, storage accepts one; the other finds its mission.
        let known = self.store.mission(&caller.tenant, &mission).await?;
        let known = known.ok_or_else(|| EngineError::not_found("mission", &mission))?;
        let is_new = known.envelope == admitted.payload();
        let shown = Box::new(self.repeated(known, &envelope, &begun).await?);
        if is_new {
            Ok(MissionStarted::New(shown))
        } else {
            Ok(MissionStarted::Repeat(shown))
        }
    }

    /// Returns the start data; fails if no model could answer.
    fn begun(
        &self,
        caller: &Caller,
        order: &MissionOrder,
        kind: &MissionType,
    ) -> Result<MissionStart, EngineError> {
        let offline = order.model == Some(Answerer::Offline);
        let mut performers = Role::ALL.iter().map(|role| kind.performer(*role));
        let asks_models = performers.any(|by| by == RolePerformer::Model);
        if asks_models && !offline && self.models.routes(&caller.tenant).is_empty() {
            let message = "no model is configured: set `models` in the configuration, or start the mission with the \
                           model `offline`";
            return Err(EngineError::new(ErrorCode::InvalidRequest, message));
        }
        Ok(MissionStart {
            offline,
            tier: caller.tier,
            message: None,
        })
    }

    /// Returns the type of a mission and its pins: the document and its prompt templates.
    fn kind_of(
        &self,
        caller: &Caller,
        wanted: Option<&MissionTypeId>,
    ) -> Result<(MissionType, Vec<DocumentPin>), EngineError> {
        let view = self.catalogue.live().view(&caller.tenant);
        let Some(wanted) = wanted else {
            return Ok((general()?, Vec::new()));
        };
        let found = view.mission_type(wanted.as_ref());
        let found =
            found.ok_or_else(|| unseen(&view, DocumentKind::MissionType, wanted.as_ref()))?;
        let kind = found.document().clone();
        let mut pins = vec![pin(
            DocumentKind::MissionType,
            wanted.as_ref(),
            &found.entry,
        )];
        for prompt in kind.prompts.values() {
            let found = view.prompt_template(prompt.as_ref());
            let found = found.ok_or_else(|| EngineError::not_found("prompt template", prompt))?;
            pins.push(pin(
                DocumentKind::PromptTemplate,
                prompt.as_ref(),
                &found.entry,
            ));
        }
        Ok((kind, pins))
    }

    /// Returns the mission that an identical request started; a different request is a conflict (B002-15).
    async fn repeated(
        &self,
        known: MissionRecord,
        envelope: &MissionEnvelope,
        begun: &MissionStart,
    ) -> Result<MissionView, EngineError> {
        let stored: MissionEnvelope = validate::parse_stored(&known.envelope)
            .map_err(|found| EngineError::violations("stored mission_envelope", &found))?;
        let mut again = envelope.clone();
        again.created_at = stored.created_at;
        let message = format!("a different mission `{}` already exists", known.mission_id);
        let (shown, _) = self.views.show_with_start(known).await?;
        if again != stored || shown.offline != begun.offline {
            return Err(EngineError::new(ErrorCode::AlreadyExists, message));
        }
        Ok(shown)
    }
}

/// Derives the run id of a mission.
pub(super) fn run_of(tenant: &TenantId, mission: &MissionId) -> RunId {
    let tenant = Uuid::new_v5(&Uuid::NAMESPACE_OID, tenant.as_str().as_bytes());
    RunId::from_uuid(Uuid::new_v5(
        &tenant,
        format!("mission/{mission}").as_bytes(),
    ))
}

fn parameters(
    envelope: &MissionEnvelope,
    begun: &MissionStart,
) -> Result<Map<String, Value>, EngineError> {
    match json!({"envelope": envelope, "begun": begun}) {
        Value::Object(parameters) => Ok(parameters),
        _ => Err(EngineError::internal("starting a mission", "no object")),
    }
}

/// The type of missions that name none: it presets nothing.
pub(super) fn general() -> Result<MissionType, EngineError> {
    let document = json!({
        "mission_type": GENERAL, "domain": "platform", "title": "General mission",
        "description": "A goal, reached with the skills and tools that the caller has.",
        "sensitivity_class": "internal", "requested_outputs": ["reviewed_summary"],
    });
    let read = validate::read_value::<MissionType>(&document);
    let (kind, _) =
        read.map_err(|found| EngineError::violations("built-in mission_type", &found))?;
    Ok(kind)
}
