//! The result that an agent submits: checked by its contracts, and stamped with the mission and the agent, before the
//! mission judges it.

use std::time::Duration;

use charter_contract::bounds::ASSIGNMENT_ARTIFACTS;
use charter_contract::ids::{LeaseId, ToolId, UserId};
use charter_contract::mission::{Artifact, ArtifactKind, MissionSchemaVersion};
use charter_contract::time::Timestamp;
use charter_contract::violation::{Report, Violation};
use charter_domain::mission::RequestedCall;
use charter_store::assignment::AssignmentRecord;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{AssignmentBrief, read};
use crate::EngineError;
use crate::ground::moments;
use crate::missions::draft::MAX_CALLS;

/// How far an agent's clock may be ahead.
const CLOCK_SKEW: Duration = Duration::from_secs(300);

/// The result of one turn: artifacts, or calls that the agent needs first.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AssignmentSubmission {
    /// The lease.
    pub lease_id: LeaseId,
    /// The artifacts of the role, in the form of their contracts. Absent root metadata is filled in; the producer is
    /// the user of the credential.
    #[serde(default)]
    pub artifacts: Vec<Map<String, Value>>,
    /// Calls of tools within the task's scope. Charter makes them under the pass, and offers the next turn with their
    /// outcomes.
    #[serde(default)]
    pub calls: Vec<AssignmentCall>,
}

/// A call that an agent needs.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AssignmentCall {
    /// The tool.
    pub tool: ToolId,
    /// Its parameters.
    #[serde(default)]
    pub parameters: Map<String, Value>,
}

/// A result as stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(in crate::missions) struct StoredSubmission {
    pub(in crate::missions) artifacts: Vec<Value>,
    pub(in crate::missions) calls: Vec<RequestedCall>,
}

impl AssignmentSubmission {
    /// Checks the result by its contracts.
    pub(super) fn checked(
        &self,
        record: &AssignmentRecord,
        agent: &UserId,
        now: Timestamp,
    ) -> Result<StoredSubmission, EngineError> {
        let brief: AssignmentBrief = read(&record.offer.brief)?;
        let mut report = Report::new();
        self.check_size(&brief, &mut report);
        let mut artifacts = Vec::with_capacity(self.artifacts.len());
        if report.violations.is_empty() {
            for (at, sent) in self.artifacts.iter().enumerate() {
                let stamped = stamped(sent, record, agent, now);
                match checked(stamped, record, &brief, agent, now) {
                    Ok(artifact) => artifacts.push(artifact),
                    Err(found) => {
                        for violation in found {
                            report.push(violation.below(&format!("/artifacts/{at}")));
                        }
                    }
                }
            }
        }
        EngineError::must_be_none("the submission", &report.violations)?;
        let calls = self.calls.iter().map(|call| RequestedCall {
            tool: call.tool.clone(),
            parameters: call.parameters.clone(),
        });
        Ok(StoredSubmission {
            artifacts,
            calls: calls.collect(),
        })
    }

    fn check_size(&self, brief: &AssignmentBrief, report: &mut Report) {
        match (self.artifacts.len(), self.calls.len()) {
            (0, 0) => {
                let message = "send `artifacts`, or `calls` that are needed first".to_owned();
                report.meaning("", "oneOf", message);
            }
            (1.., 1..) => {
                let message = "send `artifacts` or `calls`, not both".to_owned();
                report.meaning("", "oneOf", message);
            }
            (artifacts, _) if artifacts > ASSIGNMENT_ARTIFACTS => {
                let message = format!("{artifacts} artifacts; the limit is {ASSIGNMENT_ARTIFACTS}");
                report.meaning("/artifacts", "maxItems", message);
            }
            (_, calls) if calls > MAX_CALLS => {
                let message = format!("{calls} calls; the limit of a turn is {MAX_CALLS}");
                report.meaning("/calls", "maxItems", message);
            }
            (0, _) if !brief.may_call => {
                let message = "this turn cannot request calls; send `artifacts`".to_owned();
                report.meaning("/calls", "may_call", message);
            }
            (_, _) => {}
        }
    }
}

/// Fills in the absent root metadata of an artifact.
fn stamped(
    sent: &Map<String, Value>,
    record: &AssignmentRecord,
    agent: &UserId,
    now: Timestamp,
) -> Value {
    let mut artifact = sent.clone();
    let mut fill = |field: &str, value: Value| {
        artifact.entry(field.to_owned()).or_insert(value);
    };
    fill("schema_version", json!(MissionSchemaVersion::default()));
    fill("mission_id", json!(record.offer.mission_id));
    fill("created_at", json!(now));
    fill("producer", json!(agent));
    let kind = sent.get("schema_name").and_then(Value::as_str);
    let kind: Option<ArtifactKind> = kind.and_then(|kind| kind.parse().ok());
    if let (Some(task), Some(true)) = (&record.offer.task_id, kind.map(names_a_task)) {
        fill("task_id", json!(task));
    }
    Value::Object(artifact)
}

/// Returns whether artifacts of a kind name a task.
const fn names_a_task(kind: ArtifactKind) -> bool {
    match kind {
        ArtifactKind::PromptPackage
        | ArtifactKind::ResearchArtifact
        | ArtifactKind::LibrarianPass
        | ArtifactKind::WorkerResult => true,
        ArtifactKind::MissionEnvelope
        | ArtifactKind::MissionTaskGraph
        | ArtifactKind::AggregationPacket
        | ArtifactKind::ReviewPacket
        | ArtifactKind::PolicyDecision
        | ArtifactKind::WritebackProposal => false,
    }
}

/// Checks an artifact by its contract, and that it belongs to the assignment and its agent.
fn checked(
    stamped: Value,
    record: &AssignmentRecord,
    brief: &AssignmentBrief,
    agent: &UserId,
    now: Timestamp,
) -> Result<Value, Vec<Violation>> {
    let artifact = Artifact::from_value(&stamped)?;
    let mut report = Report::new();
    let kind = artifact.kind();
    if !brief.accepts.contains(&kind) {
        let accepted: Vec<String> = brief
            .accepts
            .iter()
            .map(|kind| format!("`{kind}`"))
            .collect();
        let (role, accepted) = (record.offer.role, accepted.join(" or "));
        let message = format!("the {role} makes a {accepted}, not a `{kind}`");
        report.consistency("/schema_name", "enum", message);
    }
    let task = stamped.get("task_id").and_then(Value::as_str);
    if let (Some(task), Some(wanted)) = (task, &record.offer.task_id)
        && task != wanted.as_str()
    {
        let message = format!("the assignment is for the task `{wanted}`, not for `{task}`");
        report.consistency("/task_id", "task", message);
    }
    let root = artifact.root();
    if root.producer.as_str() != agent.as_str() {
        let message = format!(
            "the producer is the user of the credential, `{agent}`; omit it or send `{agent}`"
        );
        report.consistency("/producer", "producer", message);
    }
    if root.created_at > moments::after(now, CLOCK_SKEW) {
        let message = format!("{} is in the future; omit it", root.created_at);
        report.consistency("/created_at", "order", message);
    }
    if !report.violations.is_empty() {
        return Err(report.violations);
    }
    // Canonical: with the spellings that are stored.
    Ok(serde_json::to_value(&artifact).unwrap_or(stamped))
}

#[cfg(test)]
mod tests;
