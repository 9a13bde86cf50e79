//! A mission's contents without its own data: no ids, no times, references replaced by their targets' names.

use std::collections::BTreeMap;

use charter_contract::ids::TaskId;
use charter_contract::mission::task_graph::Task;
use charter_contract::mission::{Artifact, ArtifactKind};
use serde_json::Value;

use super::ArtifactKey;

/// Fields for the mission, its actor and its times.
const OF_THE_MISSION: [&str; 7] = [
    "mission_id",
    "tenant_id",
    "actor_id",
    "created_at",
    "expires_at",
    "retrieved_at",
    "task_id",
];

/// Fields with the artifacts' own ids.
const OWN_IDS: [&str; 7] = [
    "package_id",
    "artifact_id",
    "pass_id",
    "result_id",
    "packet_id",
    "decision_id",
    "proposal_id",
];

/// Fields whose texts refer to other artifacts or to tasks.
const REFERENCES: [&str; 4] = ["ref", "refs", "support_refs", "depends_on"];

/// Fields whose contents are arbitrary, defined by the seed or by Charter.
const OPAQUE: [&str; 5] = [
    "context_refs",
    "structured_output",
    "recommended_output",
    "approved_output",
    "payload",
];

/// An artifact in comparable form.
pub(super) struct ComparedArtifact {
    pub(super) id: String,
    pub(super) value: Value,
}

/// A mission in comparable form.
pub(super) struct Comparable {
    pub(super) goal: Option<Value>,
    pub(super) tasks: BTreeMap<TaskId, Value>,
    pub(super) artifacts: BTreeMap<ArtifactKey, ComparedArtifact>,
}

impl Comparable {
    /// Creates the comparable form. `task_names` holds the common names of the tasks in both missions.
    pub(super) fn new(
        artifacts: &[Artifact],
        tasks: &[Task],
        task_names: &BTreeMap<TaskId, String>,
    ) -> Self {
        let keyed = keyed(artifacts, tasks, task_names);
        let mut names: BTreeMap<&str, String> = keyed
            .iter()
            .map(|(key, artifact)| (artifact.id(), key.to_string()))
            .collect();
        names.extend(
            task_names
                .iter()
                .map(|(id, name)| (id.as_str(), name.clone())),
        );
        let value = |artifact: &Artifact| stripped(serde_json::to_value(artifact), &names);
        let goal = artifacts
            .iter()
            .find(|artifact| artifact.kind() == ArtifactKind::MissionEnvelope);
        Self {
            goal: goal.map(value),
            tasks: tasks
                .iter()
                .map(|task| {
                    (
                        task.task_id.clone(),
                        stripped(serde_json::to_value(task), &names),
                    )
                })
                .collect(),
            artifacts: keyed
                .iter()
                .map(|(key, artifact)| {
                    let compared = ComparedArtifact {
                        id: artifact.id().to_owned(),
                        value: value(artifact),
                    };
                    (key.clone(), compared)
                })
                .collect(),
        }
    }
}

/// Returns every artifact except the envelope and the task graph, under its key.
fn keyed<'m>(
    artifacts: &'m [Artifact],
    tasks: &[Task],
    task_names: &BTreeMap<TaskId, String>,
) -> Vec<(ArtifactKey, &'m Artifact)> {
    let mut numbers: BTreeMap<ArtifactKey, usize> = BTreeMap::new();
    let own = |kind| {
        matches!(
            kind,
            ArtifactKind::MissionEnvelope | ArtifactKind::MissionTaskGraph
        )
    };
    let compared = artifacts.iter().filter(|artifact| !own(artifact.kind()));
    compared
        .map(|artifact| {
            let task = artifact.task_id();
            let role = task.and_then(|id| tasks.iter().find(|task| task.task_id == *id));
            let first = ArtifactKey {
                kind: artifact.kind(),
                role: role.map(|task| task.role_type),
                task: task.and_then(|id| task_names.get(id).cloned()),
                subject: subject(artifact),
                number: 1,
            };
            let number = numbers.entry(first.clone()).or_default();
            *number += 1;
            let number = *number;
            (ArtifactKey { number, ..first }, artifact)
        })
        .collect()
}

/// Returns the subject of an artifact without a task.
fn subject(artifact: &Artifact) -> Option<String> {
    match artifact {
        Artifact::PolicyDecision(decided) => {
            Some(format!("{} {}", decided.decision_type, decided.subject))
        }
        Artifact::WritebackProposal(proposal) => Some(format!(
            "{} of {} {}",
            proposal.action_type, proposal.target_entity_type, proposal.target_entity_id
        )),
        Artifact::MissionEnvelope(_)
        | Artifact::MissionTaskGraph(_)
        | Artifact::PromptPackage(_)
        | Artifact::ResearchArtifact(_)
        | Artifact::LibrarianPass(_)
        | Artifact::WorkerResult(_)
        | Artifact::AggregationPacket(_)
        | Artifact::ReviewPacket(_) => None,
    }
}

/// Returns a value without data specific to the mission. A value that cannot be written as JSON becomes null; artifacts
/// of a contract always can.
fn stripped(value: Result<Value, serde_json::Error>, names: &BTreeMap<&str, String>) -> Value {
    let mut value = value.unwrap_or_default();
    strip(&mut value, names);
    value
}

fn strip(value: &mut Value, names: &BTreeMap<&str, String>) {
    match value {
        Value::Object(fields) => {
            fields.retain(|field, _| {
                let field = field.as_str();
                !OF_THE_MISSION.contains(&field) && !OWN_IDS.contains(&field)
            });
            for (field, value) in fields {
                if REFERENCES.contains(&field.as_str()) {
                    rename(value, names);
                } else if !OPAQUE.contains(&field.as_str()) {
                    strip(value, names);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| strip(item, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Replaces ids by the names of their targets.
fn rename(value: &mut Value, names: &BTreeMap<&str, String>) {
    match value {
        Value::String(text) => {
            if let Some(name) = names.get(text.as_str()) {
                text.clone_from(name);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| rename(item, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {}
    }
}
