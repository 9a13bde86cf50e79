//! Schedules and occurrences as their readers see them.

use charter_contract::catalogue::schedule::{OccurrenceState, Schedule, ScheduleState};
use charter_contract::ids::{MissionId, RequestId, RunId, ScheduleId, UserId};
use charter_contract::json::decode_stored;
use charter_contract::time::Timestamp;
use charter_domain::schedule::ScheduleReport;
use charter_store::schedule::{OccurrenceRecord, ScheduleRecord};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::definition_of;
use crate::EngineError;

/// A request to enable a schedule: the id of a registered one, or a definition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScheduleOrder {
    /// Id of a schedule in the catalogue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule_id: Option<ScheduleId>,
    /// A definition that is in no package.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<Map<String, Value>>,
}

/// An enabled schedule.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "EnabledSchedule")]
pub struct ScheduleView {
    /// Its id.
    pub schedule_id: ScheduleId,
    /// Its title.
    pub title: String,
    /// The user who enabled it, with whose rights it runs.
    pub user: UserId,
    /// Whether it fires.
    pub state: ScheduleState,
    /// The next occurrence by time, without its jitter.
    pub next_at: Option<Timestamp>,
    /// When it was enabled.
    pub enabled_at: Timestamp,
    /// Whether the catalogue has another definition now. It takes effect when a user enables the schedule again.
    pub is_outdated: bool,
    /// The path at which webhooks start it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hook_path: Option<String>,
    /// The definition, as it was enabled.
    pub definition: Schedule,
}

impl ScheduleView {
    /// Shows a record beside the definition in the catalogue, if there is one.
    pub(super) fn new(
        record: ScheduleRecord,
        registered: Option<&Schedule>,
    ) -> Result<Self, EngineError> {
        let definition = definition_of(&record)?;
        Ok(Self {
            title: definition.title.to_string(),
            is_outdated: registered.is_some_and(|found| !is_equal(found, &definition)),
            hook_path: record
                .hook
                .map(|hook| format!("/v1/hooks/{}", hook.hook_id)),
            schedule_id: record.schedule_id,
            user: record.user_id,
            state: record.state,
            next_at: record.next_at,
            enabled_at: record.enabled_at,
            definition,
        })
    }
}

/// Whether two definitions run the same work at the same times.
fn is_equal(one: &Schedule, other: &Schedule) -> bool {
    let plain = |schedule: &Schedule| Schedule {
        tenant_id: None,
        version: None,
        created_at: None,
        updated_at: None,
        ..schedule.clone()
    };
    plain(one) == plain(other)
}

/// An enabled schedule, with the secret of its webhooks.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct NewSchedule {
    /// The schedule.
    #[serde(flatten)]
    pub schedule: ScheduleView,
    /// The secret that signs its webhooks: `whsec_…`. It is shown once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
}

/// One page of schedules.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SchedulePage {
    /// Latest enabled first.
    pub entries: Vec<ScheduleView>,
    /// The cursor of the next page; absent on the last one.
    pub next: Option<String>,
}

/// The work that an occurrence started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StartedWork {
    /// A request that a skill answers.
    Request(RequestId),
    /// A run of a playbook or plan.
    Run(RunId),
    /// Runs of a playbook that findings propose, one for each object of parameters.
    Runs(Vec<RunId>),
    /// A mission.
    Mission(MissionId),
}

/// An occurrence of a schedule.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "ScheduleOccurrence")]
pub struct OccurrenceView {
    /// The schedule.
    pub schedule_id: ScheduleId,
    /// Its key within the schedule: its time, or the id of its event.
    pub occurrence: String,
    /// Its state.
    pub state: OccurrenceState,
    /// Its time, or that of its event.
    pub due_at: Timestamp,
    /// When it starts: its time with the jitter.
    pub start_at: Timestamp,
    /// The latest change.
    pub updated_at: Timestamp,
    /// The started work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work: Option<StartedWork>,
    /// Why it did not start, how its work ended, and the proposals that were left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Its findings, compared with the previous occurrence. Listings have the numbers without the items.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub report: Option<ScheduleReport>,
}

impl OccurrenceView {
    pub(super) fn new(record: OccurrenceRecord) -> Result<Self, EngineError> {
        let broken = |error| EngineError::internal("reading an occurrence", error);
        Ok(Self {
            work: work_of(&record)?,
            report: record
                .report
                .as_deref()
                .map(decode_stored)
                .transpose()
                .map_err(broken)?,
            schedule_id: record.schedule_id,
            occurrence: record.occurrence,
            state: record.state,
            due_at: record.due_at,
            start_at: record.start_at,
            updated_at: record.updated_at,
            note: record.note,
        })
    }
}

/// Returns the work that an occurrence started.
pub(super) fn work_of(record: &OccurrenceRecord) -> Result<Option<StartedWork>, EngineError> {
    let work = record.work.as_deref().map(decode_stored).transpose();
    work.map_err(|error| EngineError::internal("reading an occurrence", error))
}

/// One page of occurrences.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "ScheduleOccurrencePage")]
pub struct OccurrencePage {
    /// Latest first.
    pub entries: Vec<OccurrenceView>,
    /// The cursor of the next page; absent on the last one.
    pub next: Option<String>,
}
