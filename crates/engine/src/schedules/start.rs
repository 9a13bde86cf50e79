//! Starts the work of an occurrence as the schedule's user. The ids of the work follow from the occurrence, so that a
//! repeat finds it.

use charter_contract::agentic::request::AgentRequest;
use charter_contract::catalogue::schedule::{MissionWork, Schedule, ScheduleTiming, ScheduledWork};
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{MissionId, PlaybookId, RequestId, SkillId};
use charter_contract::json::decode_stored;
use charter_contract::plan::ExecutionPlan;
use charter_contract::validate::read_value;
use charter_store::schedule::{OccurrenceRecord, ScheduleRecord};
use serde_json::{Map, Value, json};
use uuid::{Uuid, uuid};

use super::form::StartedWork;
use super::identity::ScheduleIdentity;
use super::{ScheduleService, name_of};
use crate::conversation::requests::ActiveRequest;
use crate::execution::runs::Progress;
use crate::{Answerer, Caller, DryRun, EngineError, IdempotencyKey, MissionOrder, SubmittedPlan};

/// The UUID namespace of ids that are derived from occurrences.
const NAMESPACE: Uuid = uuid!("0d3c6a52-7a35-5b0e-8c0f-2f1f7d8f4a61");

/// The field of a mission's references that has the event of a trigger.
const EVENT: &str = "event";

impl ScheduleService {
    /// Starts the work of an occurrence, or finds it. Returns the work, and a note about the parts of it that did not
    /// start. An event only proposes a playbook.
    ///
    /// # Errors
    /// Those of the start, and `permission_denied` if the user's key has ended.
    pub(super) async fn start_work(
        &self,
        record: &ScheduleRecord,
        schedule: &Schedule,
        one: &OccurrenceRecord,
    ) -> Result<(StartedWork, Option<String>), EngineError> {
        let identity = ScheduleIdentity::read(record)?;
        self.must_be_live(&record.tenant_id, &identity).await?;
        let caller = identity.caller(&record.tenant_id);
        let event = event_of(one)?;
        let parameters = parameters(schedule, event.as_ref())?;
        let id = id_of(record, one);
        let work = match &schedule.run {
            ScheduledWork::Skill(skill) => {
                self.start_skill(&caller, skill, parameters, one, id)
                    .await?
            }
            ScheduledWork::Playbook(playbook) => {
                if let (ScheduleTiming::Finding(_), Some(event)) = (&schedule.when, &event) {
                    let proposed =
                        self.propose_for_findings(&caller, playbook, &parameters, (one, event), id);
                    return proposed.await;
                }
                if schedule.when.is_trigger() {
                    let run = self.propose(&caller, playbook, &parameters, id).await?;
                    StartedWork::Run(run)
                } else {
                    self.start_playbook(&caller, playbook, &parameters, id)
                        .await?
                }
            }
            ScheduledWork::Plan(plan) => self.start_plan(&caller, plan, parameters, id).await?,
            ScheduledWork::Mission(work) => self.start_mission(&caller, work, event, id).await?,
        };
        Ok((work, None))
    }

    /// Starts a request that names its skill, so that nothing in it is routed.
    async fn start_skill(
        &self,
        caller: &Caller,
        skill: &SkillId,
        parameters: Map<String, Value>,
        one: &OccurrenceRecord,
        id: Uuid,
    ) -> Result<StartedWork, EngineError> {
        let request_id = RequestId::from_uuid(id);
        let request = json!({
            "id": request_id, "timestamp": one.due_at, "input": format!("run {skill}"),
            "metadata": {"skill_id": skill, "parameters": parameters},
        });
        let (request, _) = read_value::<AgentRequest>(&request)
            .map_err(|found| EngineError::violations("scheduled request", &found))?;
        let asked = ActiveRequest::new(caller, request)?;
        self.parts
            .requests
            .submit(asked, Progress::silent())
            .await?;
        Ok(StartedWork::Request(request_id))
    }

    async fn start_playbook(
        &self,
        caller: &Caller,
        playbook: &PlaybookId,
        parameters: &Map<String, Value>,
        id: Uuid,
    ) -> Result<StartedWork, EngineError> {
        let key = IdempotencyKey::parse(&id.to_string())?;
        let started = self.parts.run_starts.start_playbook(
            caller,
            playbook,
            parameters,
            DryRun::No,
            Some(&key),
        );
        Ok(StartedWork::Run(started.await?.run().summary.run_id))
    }

    /// Starts a plan. Each occurrence is a request of its own, because a plan's ids name one run.
    async fn start_plan(
        &self,
        caller: &Caller,
        plan: &Map<String, Value>,
        parameters: Map<String, Value>,
        id: Uuid,
    ) -> Result<StartedWork, EngineError> {
        let (plan, _) = read_value::<ExecutionPlan>(&Value::Object(plan.clone()))
            .map_err(|found| EngineError::violations("scheduled plan", &found))?;
        let plan = ExecutionPlan {
            request_id: RequestId::from_uuid(id),
            ..plan
        };
        let sent = SubmittedPlan::ExecutionPlan {
            plan: Box::new(plan),
            fallbacks: Vec::new(),
        };
        let started = self
            .parts
            .run_starts
            .start_plan(caller, &sent, parameters, DryRun::No, None);
        Ok(StartedWork::Run(started.await?.run().summary.run_id))
    }

    async fn start_mission(
        &self,
        caller: &Caller,
        work: &MissionWork,
        event: Option<Value>,
        id: Uuid,
    ) -> Result<StartedWork, EngineError> {
        let mission_id = MissionId::from_uuid(id);
        let event = event.map(|event| (EVENT.to_owned(), event));
        let order = MissionOrder {
            goal: work.goal.clone(),
            mission_type: work.mission_type.clone(),
            mission_id: Some(mission_id.clone()),
            origin_surface: None,
            time_budget_ms: None,
            token_budget: None,
            context_refs: event.into_iter().collect(),
            requested_outputs: work.requested_outputs.clone(),
            normalized_goal: None,
            risk_level: None,
            sensitivity_class: None,
            tenant_id: None,
            actor_id: None,
            actor_role: None,
            model: work.offline.then_some(Answerer::Offline),
        };
        self.parts.missions.start(caller, &order).await?;
        Ok(StartedWork::Mission(mission_id))
    }
}

/// Derives the id of an occurrence's work. The secret of the schedule makes it unpredictable, so that no client can use
/// the id first.
fn id_of(record: &ScheduleRecord, one: &OccurrenceRecord) -> Uuid {
    let schedule = name_of(&one.tenant_id, &one.schedule_id);
    let schedule = format!("{} {schedule}", record.id_secret);
    let schedule = Uuid::new_v5(&NAMESPACE, schedule.as_bytes());
    Uuid::new_v5(&schedule, one.occurrence.as_bytes())
}

fn event_of(one: &OccurrenceRecord) -> Result<Option<Value>, EngineError> {
    let event = one.event.as_deref().map(decode_stored).transpose();
    event.map_err(|error| EngineError::internal("reading the event of an occurrence", error))
}

/// Returns the values of the parameters: those of the definition, and those from the event.
fn parameters(
    schedule: &Schedule,
    event: Option<&Value>,
) -> Result<Map<String, Value>, EngineError> {
    let mut parameters = schedule.parameters.clone();
    for (name, pointer) in &schedule.parameters_from {
        let value = event.and_then(|event| event.pointer(pointer.as_str()));
        let value = value.ok_or_else(|| {
            let message =
                format!("the event has no value at `{pointer}` for the parameter `{name}`");
            EngineError::new(ErrorCode::InvalidParameters, message)
        })?;
        parameters.insert(name.to_string(), value.clone());
    }
    Ok(parameters)
}
