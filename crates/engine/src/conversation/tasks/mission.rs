//! Missions as tasks: an agent's message starts one, whose id follows from the message's. Its state is the stored state
//! of the mission; nothing else is stored.

use charter_contract::error_code::ErrorCode;

use charter_contract::ids::{Label, MissionId, RequestId, UserId};
use charter_contract::mission::envelope::MissionEnvelope;
use charter_contract::mission::{ArtifactKind, MissionState, MissionTaskState};
use charter_contract::registry::read_typed;
use charter_contract::validate::{self, pointer_segment};
use charter_contract::violation::{Report, Violation};
use charter_store::mission::{ArtifactFilter, MissionRecord};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::begin::used;
use super::{MISSION, Task, TaskInput, TaskKey, TaskMessage, TaskService, TaskState};
use crate::missions::{FirstMessage, MissionStart};
use crate::{ArtifactView, Caller, EngineError, MissionOrder, MissionView, ProposalView};

/// Its pointer in a message's options.
const MISSION_PLACE: &str = "/mission";

/// The origin surface of these missions.
const SURFACE: &str = "a2a";

/// The artifacts that are a mission's results; the others document how they were made.
const RESULTS: [ArtifactKind; 5] = [
    ArtifactKind::ResearchArtifact,
    ArtifactKind::WorkerResult,
    ArtifactKind::AggregationPacket,
    ArtifactKind::ReviewPacket,
    ArtifactKind::WritebackProposal,
];

/// Maximum artifacts of one kind that a task shows.
const MAX_OF_A_KIND: usize = 100;

impl TaskService {
    /// Starts the mission that a message requests; a repeat of the message finds it.
    pub(super) async fn begin_mission_task(
        &self,
        caller: &Caller,
        uuid: Uuid,
        message: &TaskMessage,
    ) -> Result<TaskKey, EngineError> {
        let id = MissionId::from_uuid(uuid);
        let order = order(&id, message)?;
        let conversation = RequestId::from_uuid(uuid);
        let context = message.context.as_deref();
        let (context, _) = self.conversation(caller, &conversation, context).await?;
        let first = FirstMessage {
            message_id: message.message_id.clone(),
            context,
            wishes: message.wishes.clone(),
        };
        let started = self.missions.begin(caller, &order, Some(first)).await;
        match started {
            Ok(_) => Ok(TaskKey::Mission(id)),
            Err(error) if error.code == ErrorCode::AlreadyExists => Err(used(message)),
            // The task itself exists.
            Err(error) if error.code == ErrorCode::NotFound => Err(EngineError::new(
                ErrorCode::InvalidRequest,
                error.to_string(),
            )),
            Err(error) => Err(error),
        }
    }

    /// Returns a mission that is a task and is visible to the caller.
    pub(super) async fn seen_mission(
        &self,
        caller: &Caller,
        id: &MissionId,
    ) -> Result<MissionRecord, EngineError> {
        let record = self.store.mission(&caller.tenant, id).await?;
        match record.filter(|record| is_seen(caller, record)) {
            Some(record) => Ok(record),
            None => Err(self.no_task(caller, id.as_str()).await?),
        }
    }

    /// Collects the details of a mission as a task.
    pub(super) async fn mission_task(
        &self,
        caller: &Caller,
        record: MissionRecord,
    ) -> Result<Task, EngineError> {
        let (mission, begun) = self.mission_views.show_with_start(record).await?;
        Ok(Task {
            id: TaskKey::Mission(mission.mission_id.clone()),
            context: context_of(&mission, &begun),
            state: state_of(mission.state),
            since: mission.updated_at,
            words: words(&mission),
            asks: asks(&mission),
            said: vec![task_input(&mission, begun.message)],
            answer: None,
            result: None,
            artifacts: self.results_of(caller, &mission.mission_id).await?,
            contents: Vec::new(),
            failure: None,
            runs: vec![mission.run_id],
        })
    }

    /// Returns the conversation that a mission belongs to.
    pub(super) async fn conversation_of_mission(
        &self,
        record: MissionRecord,
    ) -> Result<String, EngineError> {
        let (mission, begun) = self.mission_views.show_with_start(record).await?;
        Ok(context_of(&mission, &begun))
    }

    /// Returns the results of a mission so far.
    async fn results_of(
        &self,
        caller: &Caller,
        id: &MissionId,
    ) -> Result<Vec<ArtifactView>, EngineError> {
        let mut results = Vec::new();
        for kind in RESULTS {
            let filter = ArtifactFilter {
                kind: Some(kind),
                task_id: None,
            };
            let found = self
                .mission_views
                .artifacts(caller, id, filter, 0, MAX_OF_A_KIND);
            results.extend(found.await?.entries);
        }
        results.sort_unstable_by_key(|shown| shown.place);
        Ok(results)
    }
}

/// Returns whether a mission is a task that is visible to the caller. An imported mission is no task.
pub(super) fn is_seen(caller: &Caller, record: &MissionRecord) -> bool {
    let began = |user: &UserId| {
        let envelope: Result<MissionEnvelope, _> = validate::parse_stored(&record.envelope);
        envelope.is_ok_and(|envelope| envelope.actor_id.as_str() == user.as_str())
    };
    record.imported_at.is_none() && caller.only_own().is_none_or(began)
}

/// Returns the mission request of a message: its goal is the text. The pointers of violations lead into the message's
/// options.
fn order(id: &MissionId, message: &TaskMessage) -> Result<MissionOrder, EngineError> {
    let mut report = Report::new();
    for field in message.wishes.keys().filter(|field| *field != MISSION) {
        let said = format!("`{field}` cannot be combined with `mission`");
        report.consistency(format!("/{}", pointer_segment(field)), "alone", said);
    }
    let read = match message.wishes.get(MISSION) {
        Some(Value::Object(wished)) if wished.contains_key("schema_name") => {
            enveloped(id, message, wished, &mut report)
        }
        Some(Value::Object(wished)) => {
            let order = completed(id, message, wished.clone(), &mut report);
            read_typed(&Value::Object(order))
        }
        _ => {
            report.meaning(MISSION_PLACE, "type", "must be an object".to_owned());
            Err(Vec::new())
        }
    };
    match read {
        Ok(order) if report.violations.is_empty() => return Ok(order),
        Ok(_) => {}
        Err(violations) => {
            for violation in violations {
                report.push(violation.below(MISSION_PLACE));
            }
        }
    }
    Err(EngineError::unfit("the data", &report.violations))
}

/// Reads the mission request of an envelope. The mission's id follows from the message, as for every task.
fn enveloped(
    id: &MissionId,
    message: &TaskMessage,
    envelope: &Map<String, Value>,
    report: &mut Report,
) -> Result<MissionOrder, Vec<Violation>> {
    let order = MissionOrder::read(&Value::Object(envelope.clone()))?;
    if !message.text.is_empty() && message.text != order.goal.as_str() {
        let said = "the text is the goal, but `user_goal` differs".to_owned();
        report.consistency(format!("{MISSION_PLACE}/user_goal"), "alone", said);
    }
    Ok(MissionOrder {
        mission_id: Some(id.clone()),
        origin_surface: Label::parse(SURFACE).ok(),
        ..order
    })
}

/// Completes the mission request with the other fields of the message.
fn completed(
    id: &MissionId,
    message: &TaskMessage,
    mut order: Map<String, Value>,
    report: &mut Report,
) -> Map<String, Value> {
    for (field, value) in [
        ("mission_id", json!(id)),
        ("origin_surface", json!(SURFACE)),
    ] {
        if order.insert(field.to_owned(), value).is_some() {
            let said = format!("the server sets `{field}`; omit it");
            report.meaning(format!("{MISSION_PLACE}/{field}"), "not_given", said);
        }
    }
    if !message.text.is_empty()
        && order
            .insert("goal".to_owned(), json!(message.text))
            .is_some()
    {
        let said = "the text is the goal, but `goal` differs".to_owned();
        report.consistency(format!("{MISSION_PLACE}/goal"), "alone", said);
    }
    order
}

/// Converts a mission's state into a task's.
pub(super) fn state_of(state: MissionState) -> TaskState {
    match state {
        MissionState::Created => TaskState::Submitted,
        MissionState::Planned
        | MissionState::Prompted
        | MissionState::Running
        | MissionState::Aggregating
        | MissionState::Reviewing => TaskState::Working,
        MissionState::AwaitingApproval => TaskState::AuthorizationRequired,
        MissionState::Completed => TaskState::Completed,
        MissionState::Cancelled => TaskState::Canceled,
        MissionState::Rejected | MissionState::Failed | MissionState::BudgetExceeded => {
            TaskState::Failed
        }
    }
}

/// Returns the conversation of a mission: the one that its message named or received, else the mission's id.
fn context_of(mission: &MissionView, begun: &MissionStart) -> String {
    let message = begun.message.as_ref();
    message.map_or_else(
        || mission.mission_id.to_string(),
        |message| message.context.clone(),
    )
}

fn task_input(mission: &MissionView, message: Option<FirstMessage>) -> TaskInput {
    let (message_id, wishes) = match message {
        Some(first) => (first.message_id, first.wishes),
        None => {
            let ordered = json!({"mission_type": mission.mission_type});
            let wishes = Map::from_iter([(MISSION.to_owned(), ordered)]);
            (mission.mission_id.to_string(), wishes)
        }
    };
    TaskInput {
        message_id,
        text: mission.goal.clone(),
        wishes,
    }
}

/// Describes the state of a mission; empty for one that is done.
fn words(mission: &MissionView) -> String {
    let done = mission
        .tasks
        .iter()
        .filter(|task| task.state == MissionTaskState::Succeeded);
    let (done, all) = (done.count(), mission.tasks.len());
    let state = mission.state.as_str().replace('_', " ");
    match (mission.state, &mission.reason) {
        (MissionState::Completed, _) => String::new(),
        (MissionState::Rejected, _) => "The review rejected the mission's output.".to_owned(),
        (MissionState::AwaitingApproval, _) => {
            let waiting = mission.proposals.iter().filter(|shown| is_open(shown));
            format!(
                "An approver has to decide on {} proposal(s) of the mission.",
                waiting.count()
            )
        }
        (_, Some(reason)) => format!("The mission is {state}: {reason}"),
        (_, None) if all == 0 => format!("The mission is {state}."),
        (_, None) => format!("The mission is {state}: {done} of {all} tasks are done."),
    }
}

fn is_open(shown: &ProposalView) -> bool {
    shown.approval_id.is_some()
}

/// Returns the input that a mission waits for.
fn asks(mission: &MissionView) -> Option<Value> {
    let open = mission.proposals.iter().filter(|shown| is_open(shown));
    let approvals = open.map(|shown| {
        let proposal = &shown.proposal;
        json!({
            "approval_id": shown.approval_id, "proposal_id": proposal.proposal_id,
            "action_type": proposal.action_type, "target_entity_type": proposal.target_entity_type,
            "target_entity_id": proposal.target_entity_id,
        })
    });
    let approvals: Vec<Value> = approvals.collect();
    let waits = mission.state == MissionState::AwaitingApproval;
    waits.then(|| json!({"run_id": mission.run_id, "approvals": approvals}))
}
