//! The events by their topics, and the data of each.

use charter_contract::catalogue::schedule::OccurrenceState;
use charter_contract::catalogue::vocabulary::Severity;
use charter_contract::ids::{
    ApprovalId, DomainId, PackageName, RequestId, ResponseId, RunId, ScheduleId, UserId,
};
use charter_contract::run_status::RunStatus;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::identity::credentials::AccountEventRef;
use crate::identity::keys::KeyEventRef;
use crate::registry::route_examples::RouteExampleEventRef;

/// The data of an event about an approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ApprovalEventRef")]
pub struct ApprovalEventRef {
    /// The approval.
    pub approval_id: ApprovalId,
    /// The run that waits for it.
    pub run_id: RunId,
}

/// The data of an event about a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RunEventRef")]
pub struct RunEventRef {
    /// The run.
    pub run_id: RunId,
    /// Its status now.
    pub status: RunStatus,
}

/// The data of an event about a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RequestEventRef")]
pub struct RequestEventRef {
    /// The request.
    pub request_id: RequestId,
    /// The run that made the request's change.
    pub run_id: RunId,
    /// The response with the run's result.
    pub response_id: ResponseId,
    /// How the run ended.
    pub status: RunStatus,
}

/// The data of an event about the catalogue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CatalogueEventRef")]
pub struct CatalogueEventRef {
    /// The catalogue's revision now.
    pub revision: u64,
    /// `global` for the layer under every tenant, `tenant` for the caller's own layer.
    #[schemars(extend("enum" = ["global", "tenant"]))]
    pub scope: String,
    /// The package.
    pub package: PackageName,
    /// Its version.
    pub version: String,
    /// The change.
    #[schemars(extend("enum" = ["registered", "rolled_back", "unregistered"]))]
    pub change: String,
}

/// The data of an event about a schedule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ScheduleEventRef")]
pub struct ScheduleEventRef {
    /// The schedule.
    pub schedule_id: ScheduleId,
    /// The user who changed it.
    pub by: UserId,
}

/// The data of an event about an occurrence of a schedule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "OccurrenceEventRef")]
pub struct OccurrenceEventRef {
    /// The schedule.
    pub schedule_id: ScheduleId,
    /// The occurrence.
    pub occurrence: String,
    /// Its state.
    pub state: OccurrenceState,
}

/// The data of an event about findings of a schedule that changed since the previous occurrence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "FindingEventRef")]
pub struct FindingEventRef {
    /// The schedule.
    pub schedule_id: ScheduleId,
    /// The occurrence, whose report has the findings.
    pub occurrence: String,
    /// The domain of the schedule.
    pub domain: Option<DomainId>,
    /// The highest severity among them.
    pub severity: Severity,
    /// Their number.
    pub count: u64,
}

/// An event by its topic, in the forms that this version writes. A newer replica may write others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "topic", content = "data")]
pub enum AnnouncedEvent {
    /// An approval is requested.
    #[serde(rename = "approval.requested")]
    ApprovalRequested(ApprovalEventRef),
    /// Its turn went to the next group of approvers.
    #[serde(rename = "approval.escalated")]
    ApprovalEscalated(ApprovalEventRef),
    /// A person approved.
    #[serde(rename = "approval.approved")]
    ApprovalApproved(ApprovalEventRef),
    /// A person rejected.
    #[serde(rename = "approval.rejected")]
    ApprovalRejected(ApprovalEventRef),
    /// A person reported that the call happened.
    #[serde(rename = "approval.reported")]
    ApprovalReported(ApprovalEventRef),
    /// The approval was used.
    #[serde(rename = "approval.consumed")]
    ApprovalConsumed(ApprovalEventRef),
    /// No decision in time, or the run ended first.
    #[serde(rename = "approval.lapsed")]
    ApprovalLapsed(ApprovalEventRef),
    /// A run's status changed.
    #[serde(rename = "run.status")]
    RunStatus(RunEventRef),
    /// A request's change has ended, and its result is recorded.
    #[serde(rename = "request.result")]
    RequestResult(RequestEventRef),
    /// A package was registered, rolled back or taken out of force.
    #[serde(rename = "catalogue.changed")]
    CatalogueChanged(CatalogueEventRef),
    /// An owner accepted a route example.
    #[serde(rename = "route_example.accepted")]
    RouteExampleAccepted(RouteExampleEventRef),
    /// An owner rejected a route example.
    #[serde(rename = "route_example.rejected")]
    RouteExampleRejected(RouteExampleEventRef),
    /// An owner withdrew a route example.
    #[serde(rename = "route_example.withdrawn")]
    RouteExampleWithdrawn(RouteExampleEventRef),
    /// A key was made.
    #[serde(rename = "key.created")]
    KeyCreated(KeyEventRef),
    /// Another key replaces a key.
    #[serde(rename = "key.rotated")]
    KeyRotated(KeyEventRef),
    /// A key was revoked.
    #[serde(rename = "key.revoked")]
    KeyRevoked(KeyEventRef),
    /// A user enabled a schedule.
    #[serde(rename = "schedule.enabled")]
    ScheduleEnabled(ScheduleEventRef),
    /// A user paused a schedule.
    #[serde(rename = "schedule.paused")]
    SchedulePaused(ScheduleEventRef),
    /// A user resumed a schedule.
    #[serde(rename = "schedule.resumed")]
    ScheduleResumed(ScheduleEventRef),
    /// A user deleted a schedule.
    #[serde(rename = "schedule.deleted")]
    ScheduleDeleted(ScheduleEventRef),
    /// The work of an occurrence has ended.
    #[serde(rename = "schedule.ended")]
    ScheduleEnded(OccurrenceEventRef),
    /// An occurrence could not start, or its work failed.
    #[serde(rename = "schedule.failed")]
    ScheduleFailed(OccurrenceEventRef),
    /// A trigger had too many unfinished occurrences, so that new findings did not start it.
    #[serde(rename = "schedule.skipped")]
    ScheduleSkipped(OccurrenceEventRef),
    /// An occurrence found what the previous one did not.
    #[serde(rename = "finding.new")]
    FindingNew(FindingEventRef),
    /// An occurrence no longer found what the previous one did.
    #[serde(rename = "finding.resolved")]
    FindingResolved(FindingEventRef),
    /// A user connected an account.
    #[serde(rename = "account.connected")]
    AccountConnected(AccountEventRef),
    /// An account was disconnected.
    #[serde(rename = "account.disconnected")]
    AccountDisconnected(AccountEventRef),
}
