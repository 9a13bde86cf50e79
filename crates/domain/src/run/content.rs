//! References of a journal to stored content: those of the results of MCP servers' tools. The output of a script, an
//! executor or a person could name content of another run by its digest, so its references do not count.

use std::collections::BTreeMap;

use charter_contract::catalogue::tool::IMPORTED_PREFIX;
use charter_contract::content::{ContentReference, references};
use charter_contract::ids::StepId;

use super::event::{ResultSource, RunEvent};
use crate::graph::{Step, StepAction};

/// Returns the references to content that was stored for results of the run, in the order of the results.
pub fn content_references<'e>(events: impl Iterator<Item = &'e RunEvent>) -> Vec<ContentReference> {
    let mut asks_server = BTreeMap::new();
    let mut found = Vec::new();
    for event in events {
        match event {
            RunEvent::Started(started) => note(&mut asks_server, started.graph.all_steps()),
            RunEvent::StepSucceeded {
                step,
                output,
                source,
                brings,
                ..
            } => {
                let is_stored = matches!(source, ResultSource::Fresh | ResultSource::Cached);
                if is_stored && asks_server.get(step) == Some(&true) {
                    found.extend(references(output));
                }
                note(&mut asks_server, brings.growth.steps.iter());
            }
            RunEvent::StepExpanded { growth, .. } => note(&mut asks_server, growth.steps.iter()),
            _ => {}
        }
    }
    found
}

/// Notes which steps call a tool of an MCP server. An id of several plans does so only if it does in each of them.
fn note<'e>(asks_server: &mut BTreeMap<&'e StepId, bool>, steps: impl Iterator<Item = &'e Step>) {
    for step in steps {
        let asks = match &step.action {
            StepAction::Call {
                tool, script: None, ..
            } => tool.as_str().starts_with(IMPORTED_PREFIX),
            // The items of a repeated step refer to their own content.
            StepAction::Call { .. }
            | StepAction::Choose { .. }
            | StepAction::Conclude { .. }
            | StepAction::ForEach { .. } => false,
        };
        *asks_server.entry(&step.id).or_insert(true) &= asks;
    }
}
