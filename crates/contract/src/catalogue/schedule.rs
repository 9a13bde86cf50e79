//! Schedules and triggers (this project; no collection of the seeds): when a skill, a playbook, a plan or a mission
//! runs without a person who asks. The domain crate computes times; a tenant's user enables a schedule before it runs.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::vocabulary::Status;
use crate::bounds::{SCHEDULE_BYTES, SCHEDULE_INTERVAL_S, SCHEDULE_JITTER_S, SCHEDULE_PARAMETERS};
use crate::ids::{
    DomainId, Label, MissionTypeId, PlaybookId, RuleId, ScheduleId, SkillId, TenantId,
};
use crate::number::Positive;
use crate::plan::ExecutionPlan;
use crate::schema::SchemaName;
use crate::severity::Severity;
use crate::text::{ShortText, Text, Version};
use crate::time::Timestamp;
use crate::validate::{Contract, read_value};
use crate::violation::Report;

object_only!(
    Schedule,
    CronTiming,
    WebhookTrigger,
    FindingTrigger,
    MissionWork
);

/// A schedule, or a trigger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct Schedule {
    /// Id of the schedule.
    pub schedule_id: ScheduleId,
    /// Domain of the schedule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<DomainId>,
    /// Title.
    pub title: Text,
    /// Purpose of the schedule.
    #[serde(default)]
    pub description: String,
    /// When it fires.
    pub when: ScheduleTiming,
    /// The work that it starts.
    pub run: ScheduledWork,
    /// Values of parameters, exact: they contain no placeholders.
    #[serde(default)]
    pub parameters: Map<String, Value>,
    /// Parameters whose values are in the event of a trigger, each with a JSON pointer into it: `/data/bucket`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters_from: BTreeMap<Label, ShortText>,
    /// The treatment of occurrences that passed while no server was running.
    #[serde(default)]
    pub missed: MissedPolicy,
    /// The treatment of an occurrence while work of an earlier one is unfinished.
    #[serde(default)]
    pub overlap: OverlapPolicy,
    /// Longest random delay of a start, in seconds. The delay of an occurrence is the same on each server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter_s: Option<Positive>,
    /// Tenant of the schedule; absent for a global one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<TenantId>,
    /// Status in the catalogue.
    #[serde(default)]
    pub status: Status,
    /// Version of the document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    /// Time of the first registration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
    /// Time of the last registration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<Timestamp>,
}

/// When a schedule fires: exactly one of five.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ScheduleTiming {
    /// At the times of a cron expression.
    Cron(CronTiming),
    /// At a fixed interval in seconds, counted from the time when the schedule was enabled.
    EveryS(Positive),
    /// Once.
    At(Timestamp),
    /// When a signed webhook arrives.
    Webhook(WebhookTrigger),
    /// When a schedule of the tenant finds something new that matches.
    Finding(FindingTrigger),
}

impl ScheduleTiming {
    /// Whether an event starts it, rather than the time.
    #[must_use]
    pub const fn is_trigger(&self) -> bool {
        match self {
            Self::Webhook(_) | Self::Finding(_) => true,
            Self::Cron(_) | Self::EveryS(_) | Self::At(_) => false,
        }
    }
}

/// The times of a cron expression.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct CronTiming {
    /// Five fields: minute, hour, day of the month, month, day of the week: `0 2 * * MON-FRI`.
    pub expression: ShortText,
    /// Time zone of the expression, by its IANA name: `Europe/Paris`.
    pub time_zone: ShortText,
}

/// A trigger by signed webhooks (Standard Webhooks).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct WebhookTrigger {
    /// Accepted values of the body's `type`; any body when empty.
    #[serde(default)]
    pub types: Vec<ShortText>,
}

/// A trigger by new findings.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct FindingTrigger {
    /// Only findings of at least this severity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_severity: Option<Severity>,
    /// Only findings of skills of this domain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<DomainId>,
    /// Only findings of this skill.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skill: Option<SkillId>,
    /// Only findings of this rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<RuleId>,
    /// Only findings about resources of this type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_type: Option<ShortText>,
    /// Only findings of this schedule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<ScheduleId>,
}

/// The work of a schedule: exactly one of four.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ScheduledWork {
    /// A registered skill.
    Skill(SkillId),
    /// A registered playbook. A trigger only proposes it: its run waits for a person's confirmation.
    Playbook(PlaybookId),
    /// An execution plan (003 Execution Plan Schema). Each occurrence is a request of its own.
    Plan(Map<String, Value>),
    /// A mission.
    Mission(MissionWork),
}

/// A mission that a schedule starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct MissionWork {
    /// The goal.
    pub goal: Text,
    /// The mission type; `general` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mission_type: Option<MissionTypeId>,
    /// Requested outputs; those of its type when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requested_outputs: Vec<Label>,
    /// Whether the offline provider answers for the roles, so that no model is asked.
    #[serde(default)]
    pub offline: bool,
}

string_enum! {
    /// The treatment of occurrences that passed while no server was running.
    #[derive(Default)]
    pub enum MissedPolicy {
        /// The latest one is started, late; those before it are recorded as missed.
        #[default]
        RunOnce = "run_once",
        /// They are recorded as missed, and the next one starts on time.
        Skip = "skip",
        /// Each is started, oldest first, within the bound `SCHEDULE_CATCH_UP`.
        RunAll = "run_all",
    }
}

string_enum! {
    /// The treatment of an occurrence while work of an earlier one is unfinished.
    #[derive(Default)]
    pub enum OverlapPolicy {
        /// It is recorded as skipped.
        #[default]
        Skip = "skip",
        /// It starts when the earlier work has ended.
        Queue = "queue",
        /// It starts beside the earlier work.
        Allow = "allow",
    }
}

impl Contract for Schedule {
    const NAME: SchemaName = SchemaName::Schedule;

    fn check(&self, report: &mut Report) {
        self.check_size(report);
        self.check_times(report);
        self.check_parameters(report);
        if let ScheduledWork::Plan(plan) = &self.run {
            let read = read_value::<ExecutionPlan>(&Value::Object(plan.clone()));
            let violations = read.err().into_iter().flatten();
            for violation in violations {
                report.push(violation.below("/run/plan"));
            }
        }
    }
}

impl Schedule {
    fn check_size(&self, report: &mut Report) {
        // A schedule without a serialised form cannot be stored either; its writer reports that.
        let bytes = serde_json::to_vec(self).map_or(0, |text| text.len());
        if bytes > SCHEDULE_BYTES {
            let message = format!(
                "the definition has {bytes} bytes; the limit is {SCHEDULE_BYTES} (SCHEDULE_BYTES)"
            );
            report.meaning("", "maxLength", message);
        }
    }

    fn check_times(&self, report: &mut Report) {
        if let ScheduleTiming::EveryS(every) = &self.when
            && !(SCHEDULE_INTERVAL_S as u64..=LONGEST_INTERVAL_S).contains(&every.get())
        {
            let message = format!(
                "an interval is {SCHEDULE_INTERVAL_S} to {LONGEST_INTERVAL_S} seconds; {} was given",
                every.get()
            );
            report.meaning("/when/every_s", "range", message);
        }
        let jitter = self.jitter_s.map_or(0, Positive::get);
        if jitter > SCHEDULE_JITTER_S as u64 {
            let message = format!("a jitter is at most {SCHEDULE_JITTER_S} seconds");
            report.meaning("/jitter_s", "maximum", message);
        }
        if self.missed == MissedPolicy::RunAll && self.overlap == OverlapPolicy::Skip {
            let message = "`missed: run_all` starts several occurrences at once, which `overlap: skip` would skip: \
                           write `overlap: queue` or `allow`"
                .to_owned();
            report.meaning("/overlap", "conflict", message);
        }
    }

    fn check_parameters(&self, report: &mut Report) {
        let count = self.parameters.len() + self.parameters_from.len();
        if count > SCHEDULE_PARAMETERS {
            let message = format!("{count} parameters; at most {SCHEDULE_PARAMETERS}");
            report.meaning("/parameters", "maxProperties", message);
        }
        let has_parameters = matches!(
            &self.run,
            ScheduledWork::Skill(_) | ScheduledWork::Playbook(_) | ScheduledWork::Plan(_)
        );
        if count > 0 && !has_parameters {
            let message = "a mission has no parameters; write its goal".to_owned();
            report.meaning("/parameters", "unexpected", message);
        }
        if !self.parameters_from.is_empty() && !self.when.is_trigger() {
            let message = "only a trigger has an event that parameters could come from".to_owned();
            report.meaning("/parameters_from", "unexpected", message);
        }
        for (name, pointer) in &self.parameters_from {
            if !pointer.as_str().starts_with('/') {
                let message = "a JSON pointer begins with `/`, such as `/data/bucket`".to_owned();
                report.meaning(format!("/parameters_from/{name}"), "pointer", message);
            }
            if self.parameters.contains_key(name.as_str()) {
                let message = format!("`{name}` is in `parameters` too");
                report.meaning(format!("/parameters_from/{name}"), "unique", message);
            }
        }
    }
}

/// Longest interval, in seconds: a year.
const LONGEST_INTERVAL_S: u64 = 366 * 24 * 3_600;

string_enum! {
    /// Whether an enabled schedule fires.
    pub enum ScheduleState {
        /// It fires.
        Active = "active",
        /// It does not fire until it is resumed.
        Paused = "paused",
    }
}

string_enum! {
    /// The state of one occurrence of a schedule.
    pub enum OccurrenceState {
        /// It will start.
        Waiting = "waiting",
        /// Its work has started and is unfinished.
        Started = "started",
        /// Its work has ended.
        Ended = "ended",
        /// It did not start; its note has the reason.
        Skipped = "skipped",
        /// It passed while no server was running.
        Missed = "missed",
        /// It could not start, or its work failed.
        Failed = "failed",
    }
}
