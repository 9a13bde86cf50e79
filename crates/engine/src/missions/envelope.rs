//! The envelope of a mission (002 §4): made from an order, or accepted as one. The type of the mission sets the least
//! risk and sensitivity, and the credential the tenant and the actor.

use charter_contract::catalogue::mission_type::MissionType;
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{ActorId, IdError, Label, MissionId, MissionTypeId, TenantId};
use charter_contract::mission::envelope::MissionEnvelope;
use charter_contract::mission::{MissionSchemaVersion, Sensitivity};
use charter_contract::registry::read_typed;
use charter_contract::text::Text;
use charter_contract::validate;
use charter_contract::violation::{Report, Violation};
use charter_domain::mission::unknown_outputs;
use serde_json::{Value, json};

use super::start::GENERAL;
use super::{MissionOrder, MissionService};
use crate::{Caller, EngineError};

/// The field that distinguishes an envelope from an order.
const SCHEMA_NAME: &str = "schema_name";

impl MissionOrder {
    /// Reads an order in its own form, or as the envelope of a mission.
    ///
    /// # Errors
    /// Every violation.
    pub fn read(document: &Value) -> Result<Self, Vec<Violation>> {
        if document.get(SCHEMA_NAME).is_some() {
            let (envelope, _) = validate::read_value::<MissionEnvelope>(document)?;
            return Ok(Self::from(envelope));
        }
        read_typed(document)
    }

    /// Refuses a tenant, an actor or a role that is not the credential's.
    pub(super) fn check_claims(&self, caller: &Caller) -> Result<(), EngineError> {
        let claims = [
            ("tenant_id", self.tenant_id.as_ref().map(TenantId::as_str)),
            ("actor_id", self.actor_id.as_ref().map(ActorId::as_str)),
            ("actor_role", self.actor_role.as_ref().map(Label::as_str)),
        ];
        let own = [
            caller.tenant.as_str(),
            caller.user.as_str(),
            caller.role.as_str(),
        ];
        for ((field, claimed), own) in claims.into_iter().zip(own) {
            if let Some(claimed) = claimed.filter(|claimed| *claimed != own) {
                let message = format!(
                    "`{field}` is `{claimed}`, but the credential's is `{own}`; omit the field or send `{own}`"
                );
                let denied = EngineError::new(ErrorCode::PermissionDenied, message);
                return Err(denied.with_details(json!({"field": field})));
            }
        }
        Ok(())
    }

    /// Reports the fields that a mission type does not allow.
    fn check_against(&self, kind: &MissionType) -> Result<(), EngineError> {
        let mut report = Report::new();
        if let Some(risk) = self.risk_level.filter(|risk| *risk < kind.risk_level) {
            let message = format!(
                "`{risk}` is below the risk level of the mission type, `{}`; it may only be raised",
                kind.risk_level
            );
            report.meaning("/risk_level", "minimum", message);
        }
        let class = self.sensitivity_class.as_ref();
        let not_raised = |class: &&Label| {
            Sensitivity::of(class, &kind.sensitivity_class) == Sensitivity::NotRaised
        };
        if let Some(class) = class.filter(not_raised) {
            let message = format!(
                "`{class}` is not above the sensitivity of the mission type, `{}`; it may only be raised, to a class \
                 that begins with a higher level (public, internal, confidential, restricted, secret)",
                kind.sensitivity_class
            );
            report.meaning("/sensitivity_class", "minimum", message);
        }
        for (at, message) in unknown_outputs(&self.requested_outputs) {
            report.meaning(format!("/requested_outputs/{at}"), "enum", message);
        }
        EngineError::must_be_none("the mission request", &report.violations)
    }
}

impl From<MissionEnvelope> for MissionOrder {
    fn from(envelope: MissionEnvelope) -> Self {
        let general = envelope.mission_type.as_str() == GENERAL;
        // Both ids have one alphabet.
        let mission_type = MissionTypeId::parse(envelope.mission_type.as_str()).ok();
        Self {
            goal: envelope.user_goal,
            mission_type: mission_type.filter(|_| !general),
            mission_id: Some(envelope.mission_id),
            origin_surface: Some(envelope.origin_surface),
            time_budget_ms: envelope.time_budget_ms,
            token_budget: envelope.token_budget,
            context_refs: envelope.context_refs,
            requested_outputs: envelope.requested_outputs,
            normalized_goal: Some(envelope.normalized_goal),
            risk_level: Some(envelope.risk_level),
            sensitivity_class: Some(envelope.sensitivity_class),
            tenant_id: Some(envelope.tenant_id),
            actor_id: Some(envelope.actor_id),
            actor_role: envelope.actor_role,
            model: None,
        }
    }
}

impl MissionService {
    /// Makes the envelope of a new mission. Its time and producer are Charter's, also for an accepted envelope.
    pub(super) fn envelope(
        &self,
        caller: &Caller,
        order: &MissionOrder,
        kind: &MissionType,
    ) -> Result<MissionEnvelope, EngineError> {
        let internal = |error: IdError| EngineError::internal("writing an envelope", error);
        order.check_against(kind)?;
        let outputs = if order.requested_outputs.is_empty() {
            kind.requested_outputs.clone()
        } else {
            order.requested_outputs.clone()
        };
        let mission_id = order.mission_id.clone();
        let class = order.sensitivity_class.as_ref();
        Ok(MissionEnvelope {
            schema_name: Default::default(),
            schema_version: MissionSchemaVersion::default(),
            mission_id: mission_id.unwrap_or_else(|| MissionId::from_uuid(self.ids.uuid())),
            mission_type: Label::parse(kind.mission_type.as_str()).map_err(internal)?,
            origin_surface: match &order.origin_surface {
                Some(surface) => surface.clone(),
                None => Label::parse("api").map_err(internal)?,
            },
            tenant_id: caller.tenant.clone(),
            actor_id: ActorId::parse(caller.user.as_str()).map_err(internal)?,
            actor_role: Label::parse(caller.role.as_str()).ok(),
            user_goal: order.goal.clone(),
            normalized_goal: normalized(order),
            risk_level: order.risk_level.unwrap_or(kind.risk_level),
            sensitivity_class: class.unwrap_or(&kind.sensitivity_class).clone(),
            time_budget_ms: order.time_budget_ms.or(kind.time_budget_ms),
            token_budget: order.token_budget.or(kind.token_budget),
            requested_outputs: outputs,
            context_refs: order.context_refs.clone(),
            created_at: self.clock.now(),
            producer: Label::parse("charter").map_err(internal)?,
        })
    }
}

/// Returns the goal for the roles: the given one, or the user's words in one line.
fn normalized(order: &MissionOrder) -> Text {
    let goal = order.normalized_goal.as_ref().unwrap_or(&order.goal);
    let words: Vec<&str> = goal.as_str().split_whitespace().collect();
    Text::parse(&words.join(" ")).unwrap_or_else(|_| goal.clone())
}
