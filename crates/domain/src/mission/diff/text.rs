//! Writes a comparison as plain text for people: the differences, and the size of the rest.

use std::fmt;

use charter_contract::shorten;
use serde_json::Value;

use super::{ArtifactKey, BudgetUse, FieldChange, MissionDiff, Pair, PartChange};

/// The maximum number of characters of a value.
const SHOWN: usize = 100;

impl fmt::Display for MissionDiff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mission = |id: &Option<_>| or_none(id.as_ref());
        let Pair { left, right } = &self.missions;
        writeln!(f, "missions: {} -> {}", mission(left), mission(right))?;
        writeln!(
            f,
            "outcome:  {} -> {}",
            self.outcome.left, self.outcome.right
        )?;
        writeln!(
            f,
            "time:     {} -> {}",
            spent(self.time_ms.left, " ms"),
            spent(self.time_ms.right, " ms")
        )?;
        writeln!(
            f,
            "tokens:   {} -> {}",
            spent(self.tokens.left, ""),
            spent(self.tokens.right, "")
        )?;
        write!(f, "goal:     ")?;
        match &self.goal {
            PartChange::Same => writeln!(f, "the same")?,
            PartChange::Added => writeln!(f, "only in the second")?,
            PartChange::Removed => writeln!(f, "only in the first")?,
            PartChange::Changed(fields) => {
                writeln!(f, "changed")?;
                write_fields(f, fields)?;
            }
        }
        writeln!(
            f,
            "tasks:    {}",
            counts(self.tasks.iter().map(|task| &task.change))
        )?;
        for task in &self.tasks {
            let role = task.role.map_or("", |role| role.as_str());
            let objective = shorten::to_chars(&task.objective, SHOWN);
            let what = format!("{role} {}: {objective}", both(&task.ids));
            write_change(f, &what, &task.change)?;
        }
        let changes = self.artifacts.iter().map(|artifact| &artifact.change);
        writeln!(f, "artifacts: {}", counts(changes))?;
        for artifact in &self.artifacts {
            let what = format!("{} ({})", artifact.key, both(&artifact.ids));
            write_change(f, &what, &artifact.change)?;
        }
        Ok(())
    }
}

impl fmt::Display for ArtifactKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.kind)?;
        if let Some(task) = &self.task {
            write!(f, " of {task}")?;
        }
        if let Some(subject) = &self.subject {
            write!(f, " on {subject}")?;
        }
        match self.number {
            1 => Ok(()),
            number => write!(f, " #{number}"),
        }
    }
}

fn write_change(f: &mut fmt::Formatter<'_>, what: &str, change: &PartChange) -> fmt::Result {
    match change {
        PartChange::Same => Ok(()),
        PartChange::Added => writeln!(f, "  + {what}"),
        PartChange::Removed => writeln!(f, "  - {what}"),
        PartChange::Changed(fields) => {
            writeln!(f, "  ~ {what}")?;
            write_fields(f, fields)
        }
    }
}

fn write_fields(f: &mut fmt::Formatter<'_>, fields: &[FieldChange]) -> fmt::Result {
    for field in fields {
        let (left, right) = (shown(field.left.as_ref()), shown(field.right.as_ref()));
        writeln!(f, "      {}: {left} -> {right}", field.pointer)?;
    }
    Ok(())
}

/// Returns the ids of both sides, or a single one if they are equal.
fn both(ids: &Pair<Option<String>>) -> String {
    match (&ids.left, &ids.right) {
        (Some(left), Some(right)) if left != right => format!("{left} -> {right}"),
        (Some(id), _) | (None, Some(id)) => id.clone(),
        (None, None) => String::new(),
    }
}

fn counts<'c>(changes: impl Iterator<Item = &'c PartChange>) -> String {
    let (mut added, mut removed, mut changed, mut same) = (0, 0, 0, 0);
    for change in changes {
        match change {
            PartChange::Added => added += 1,
            PartChange::Removed => removed += 1,
            PartChange::Changed(_) => changed += 1,
            PartChange::Same => same += 1,
        }
    }
    format!("{added} added, {removed} removed, {changed} changed, {same} unchanged")
}

fn spent(spent: BudgetUse, unit: &str) -> String {
    let used = spent
        .used
        .map_or("unknown".to_owned(), |used| format!("{used}{unit}"));
    match spent.budget {
        Some(budget) => format!("{used} of {budget}{unit}"),
        None => used,
    }
}

fn shown(value: Option<&Value>) -> String {
    or_none(value.map(|value| shorten::to_chars(&value.to_string(), SHOWN).into_owned()))
}

fn or_none(value: Option<impl fmt::Display>) -> String {
    value.map_or_else(|| "none".to_owned(), |value| value.to_string())
}
