//! A step that is repeated for each item of a list: its items are added when the list is known, and their outputs are
//! collected when all of them have ended.

use charter_contract::filling::FillBudget;
use charter_contract::ids::StepId;
use charter_contract::json::memory_of;
use serde_json::{Value, json};

use super::{decided, failed, memory_left, unresolved};
use crate::graph::Step;
use crate::reference::resolve;
use crate::run::Run;
use crate::run::event::{ErrorKind, RunEvent};
use crate::run::standing::StepState;

/// The items that a failure names.
const NAMED: usize = 5;

/// Adds the items of a list, or fails the step if there is no such list.
pub(super) fn expanded(run: &Run, step: &Step, items: &Value, max_items: usize) -> RunEvent {
    let refused =
        |message: String| failed(step, ErrorKind::InputError, "invalid_parameters", &message);
    let mut filling = FillBudget::with_limit(memory_left(run));
    let items = match resolve(items, run.bindings(), &mut filling) {
        Ok(Value::Array(items)) => items,
        Ok(_) => return refused("`for_each` needs a list, and its `items` is none".to_owned()),
        Err(error) => return unresolved(step, &error),
    };
    let count = items.len();
    if count > max_items {
        let message = format!("the list has {count} items, more than the limit of {max_items}");
        return refused(message);
    }
    if items.is_empty() {
        return decided(step, json!([]));
    }
    match run.graph().with_items(step, items) {
        Ok(growth) => RunEvent::StepExpanded {
            step: step.id.clone(),
            growth: Box::new(growth),
        },
        Err(error) => failed(step, ErrorKind::InputError, "too_large", &error),
    }
}

/// Returns the end of a step whose items have ended; `None` if the step has no items yet.
pub(super) fn collected(run: &Run, step: &Step) -> Option<RunEvent> {
    if !step.repeats() {
        return None;
    }
    let items = run.graph().items_of(step);
    if items.is_empty() {
        return None;
    }
    let has_failed = |item: &&&Step| {
        let state = run.steps().state_of(&item.id);
        matches!(state, Some(StepState::Failed { .. }))
    };
    let failures: Vec<&StepId> = items
        .iter()
        .filter(has_failed)
        .map(|item| &item.id)
        .collect();
    if !failures.is_empty() {
        let (count, all) = (failures.len(), items.len());
        let named = failures.iter().take(NAMED);
        let named: Vec<String> = named.map(|item| format!("`{item}`")).collect();
        let message = format!("{count} of {all} items failed: {}", named.join(", "));
        return Some(failed(
            step,
            ErrorKind::ExecutionError,
            "tool_failed",
            &message,
        ));
    }
    let outputs = items.iter().map(|item| run.outputs().get(&item.id));
    let outputs: Vec<&Value> = outputs
        .map(|output| output.unwrap_or(&Value::Null))
        .collect();
    let memory = outputs
        .iter()
        .map(|output| memory_of(output))
        .sum::<usize>();
    // The outputs are kept with the items, so the step need not fail.
    let collected = if memory > memory_left(run) {
        Value::Null
    } else {
        json!(outputs)
    };
    Some(decided(step, collected))
}
