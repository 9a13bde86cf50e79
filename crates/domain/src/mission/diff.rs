//! The differences of two missions: goal, tasks, artifacts, outcome, and usage.
//!
//! Ids and times are specific to one mission, so they are not used for matching or comparison. Tasks are matched by
//! name, objective or role; artifacts by kind and task. A reference is compared by its target. This file knows no
//! storage.

mod comparable;
mod fields;
mod tasks;
mod text;

use std::collections::BTreeSet;

use charter_contract::ids::MissionId;
use charter_contract::mission::envelope::MissionEnvelope;
use charter_contract::mission::task_graph::{Role, Task};
use charter_contract::mission::{Artifact, ArtifactKind, MissionState};
use charter_contract::number::Positive;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

pub use fields::FieldChange;

use comparable::Comparable;
use fields::changes;
use tasks::Matching;

/// One of the two missions.
#[derive(Debug, Clone, Copy)]
pub struct Side<'m> {
    /// All its artifacts in the order of storing, in the current form.
    pub artifacts: &'m [Artifact],
    /// The mission's state.
    pub state: MissionState,
    /// The mission's usage.
    pub used: Used,
}

/// The budget usage of a mission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Used {
    /// The duration, in milliseconds.
    pub time_ms: u64,
    /// The number of tokens, if its models reported them.
    pub tokens: Option<u64>,
}

/// A value of each of the two missions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "PairOf{T}")]
pub struct Pair<T> {
    /// The value of the first mission.
    pub left: T,
    /// The value of the second mission.
    pub right: T,
}

/// The change of a part from the first mission to the second.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "PartChange")]
#[serde(tag = "change", content = "fields", rename_all = "snake_case")]
pub enum PartChange {
    /// Only the second has it.
    Added,
    /// Only the first has it.
    Removed,
    /// Both missions have it, with different contents.
    Changed(Vec<FieldChange>),
    /// Both missions have it, with equal contents.
    Same,
}

/// A budget and its usage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "BudgetUsage")]
pub struct BudgetUse {
    /// The usage; absent if it was not reported.
    pub used: Option<u64>,
    /// The limit; absent if there is none.
    pub budget: Option<u64>,
}

/// A task of either mission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "MissionTaskChange")]
pub struct TaskChange {
    /// The mission role that executes the task.
    pub role: Option<Role>,
    /// Its id in each mission that has it.
    pub ids: Pair<Option<String>>,
    /// The objective, from the second mission if it has the task.
    pub objective: String,
    /// The change.
    #[serde(flatten)]
    pub change: PartChange,
}

/// The key that distinguishes the artifacts of one mission without their ids.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[schemars(rename = "MissionArtifactKey")]
pub struct ArtifactKey {
    /// Its kind.
    pub kind: ArtifactKind,
    /// The mission role of its task.
    pub role: Option<Role>,
    /// Its task, by the name in the first mission if that has it.
    pub task: Option<String>,
    /// Its subject: a decision's type and subject, a proposal's target and action.
    pub subject: Option<String>,
    /// Its number among artifacts with the same other fields, from 1, in the order of storing.
    pub number: usize,
}

/// An artifact of either mission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "MissionArtifactChange")]
pub struct ArtifactChange {
    /// The key by which it is matched.
    pub key: ArtifactKey,
    /// Its id in each mission that has it.
    pub ids: Pair<Option<String>>,
    /// The change.
    #[serde(flatten)]
    pub change: PartChange,
}

/// The differences of two missions. `Display` writes them as text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "MissionDifferences")]
pub struct MissionDiff {
    /// The missions' ids.
    pub missions: Pair<Option<MissionId>>,
    /// The state of each mission.
    pub outcome: Pair<MissionState>,
    /// Usage of time, in milliseconds.
    pub time_ms: Pair<BudgetUse>,
    /// Usage of tokens.
    pub tokens: Pair<BudgetUse>,
    /// The change of the envelope.
    pub goal: PartChange,
    /// The tasks: those of the first mission in its order, then those that only the second has.
    pub tasks: Vec<TaskChange>,
    /// All other artifacts, by key.
    pub artifacts: Vec<ArtifactChange>,
}

impl MissionDiff {
    /// Returns whether both missions have equal contents and outcomes, regardless of their duration.
    #[must_use]
    pub fn is_same(&self) -> bool {
        let parts = self.tasks.iter().map(|task| &task.change);
        let parts = parts.chain(self.artifacts.iter().map(|artifact| &artifact.change));
        self.outcome.left == self.outcome.right
            && parts
                .chain([&self.goal])
                .all(|change| *change == PartChange::Same)
    }
}

impl<'m> Side<'m> {
    fn envelope(&self) -> Option<&'m MissionEnvelope> {
        self.artifacts.iter().find_map(|artifact| {
            if let Artifact::MissionEnvelope(envelope) = artifact {
                Some(envelope)
            } else {
                None
            }
        })
    }

    fn tasks(&self) -> &'m [Task] {
        let graph = self.artifacts.iter().find_map(|artifact| {
            if let Artifact::MissionTaskGraph(graph) = artifact {
                Some(graph.tasks.as_slice())
            } else {
                None
            }
        });
        graph.unwrap_or_default()
    }

    fn time(&self) -> BudgetUse {
        let budget = self.envelope().and_then(|envelope| envelope.time_budget_ms);
        BudgetUse {
            used: Some(self.used.time_ms),
            budget: budget.map(Positive::get),
        }
    }

    fn tokens(&self) -> BudgetUse {
        let budget = self.envelope().and_then(|envelope| envelope.token_budget);
        BudgetUse {
            used: self.used.tokens,
            budget: budget.map(Positive::get),
        }
    }
}

/// Compares two missions.
#[must_use]
pub fn diff(left: &Side<'_>, right: &Side<'_>) -> MissionDiff {
    let matching = Matching::match_tasks(left.tasks(), right.tasks());
    let lefts = Comparable::new(left.artifacts, left.tasks(), &matching.left);
    let rights = Comparable::new(right.artifacts, right.tasks(), &matching.right);
    MissionDiff {
        missions: Pair {
            left: left.envelope().map(|envelope| envelope.mission_id.clone()),
            right: right.envelope().map(|envelope| envelope.mission_id.clone()),
        },
        outcome: Pair {
            left: left.state,
            right: right.state,
        },
        time_ms: Pair {
            left: left.time(),
            right: right.time(),
        },
        tokens: Pair {
            left: left.tokens(),
            right: right.tokens(),
        },
        goal: change(lefts.goal.as_ref(), rights.goal.as_ref()),
        tasks: matching
            .pairs
            .iter()
            .map(|pair| task(pair, &lefts, &rights))
            .collect(),
        artifacts: artifacts(&lefts, &rights),
    }
}

/// Returns the change of one part.
fn change(left: Option<&Value>, right: Option<&Value>) -> PartChange {
    match (left, right) {
        (None, Some(_)) => PartChange::Added,
        (Some(_), None) => PartChange::Removed,
        (None, None) => PartChange::Same,
        (Some(left), Some(right)) => match changes(left, right) {
            fields if fields.is_empty() => PartChange::Same,
            fields => PartChange::Changed(fields),
        },
    }
}

fn task(pair: &Pair<Option<&Task>>, lefts: &Comparable, rights: &Comparable) -> TaskChange {
    let value = |side: &Comparable, task: Option<&Task>| {
        task.and_then(|task| side.tasks.get(&task.task_id).cloned())
    };
    let id = |task: Option<&Task>| task.map(|task| task.task_id.to_string());
    let shown = pair.right.or(pair.left);
    TaskChange {
        role: shown.map(|task| task.role_type),
        ids: Pair {
            left: id(pair.left),
            right: id(pair.right),
        },
        objective: shown
            .map(|task| task.objective.to_string())
            .unwrap_or_default(),
        change: change(
            value(lefts, pair.left).as_ref(),
            value(rights, pair.right).as_ref(),
        ),
    }
}

fn artifacts(lefts: &Comparable, rights: &Comparable) -> Vec<ArtifactChange> {
    let keys: BTreeSet<&ArtifactKey> = lefts
        .artifacts
        .keys()
        .chain(rights.artifacts.keys())
        .collect();
    let changes = keys.into_iter().map(|key| {
        let (left, right) = (lefts.artifacts.get(key), rights.artifacts.get(key));
        ArtifactChange {
            key: key.clone(),
            ids: Pair {
                left: left.map(|artifact| artifact.id.clone()),
                right: right.map(|artifact| artifact.id.clone()),
            },
            change: change(
                left.map(|artifact| &artifact.value),
                right.map(|artifact| &artifact.value),
            ),
        }
    });
    changes.collect()
}

#[cfg(test)]
mod tests;
