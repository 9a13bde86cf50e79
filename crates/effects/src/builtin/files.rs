//! File tools: operations beneath granted roots (seed 003, File System Operation Schema).
//!
//! A call is converted to a [`FileSystemOperation`] on one root. Everything is opened beneath that root, and the opened
//! descriptor is used; files are replaced atomically; reads, walks and copies are bounded. The functions block, so run
//! them on a thread that may block. Must not know environment, network or processes.

mod beneath;
mod edit;
mod look;
mod read;
mod relocate;
mod replace;
mod search;
mod walk;
mod write;

#[cfg(test)]
mod tests;

use std::cell::Cell;

use charter_contract::agentic::error::ErrorType;
use charter_contract::agentic::file_system_operation::{FileOperation, FileSystemOperation};
use charter_contract::agentic::response::ActionType;
use charter_contract::catalogue::builtin::Builtin;
use charter_contract::catalogue::tool::ToolClass;
use charter_contract::ids::FileOperationId;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::action::{Action, Content, answer};
use super::budget::Budget;
use super::parameters::{self, input};
use crate::builtin_grants::{BuiltinGrants, RootAccess};
use crate::call::DryRun;
use crate::outcome::{Failure, Success};
use beneath::{EntryLocation, RelativePath, Tree};

/// Largest file that can be read whole, edited or written: 8 MiB.
pub(super) const MAX_FILE_BYTES: u64 = 8 << 20;
/// Default number of results.
const RESULTS: usize = 1_000;
/// Largest number of results that a call may request.
const MAX_RESULTS: u64 = 10_000;

/// One operation, ready to run.
struct Task {
    operation: FileSystemOperation,
    root: String,
    tree: Tree,
    path: RelativePath,
    destination: Option<RelativePath>,
    budget: Budget,
    dry_run: DryRun,
    /// Whether the dry run skipped a change.
    held_back: Cell<bool>,
}

/// Runs one call of a file tool.
pub(crate) fn run(
    builtin: Builtin,
    given: &Map<String, Value>,
    grants: &BuiltinGrants,
    budget: Budget,
    dry_run: DryRun,
) -> Result<Success, Failure> {
    Task::new(builtin, given, grants, budget, dry_run)?.run()
}

impl Task {
    fn new(
        builtin: Builtin,
        given: &Map<String, Value>,
        grants: &BuiltinGrants,
        budget: Budget,
        dry_run: DryRun,
    ) -> Result<Self, Failure> {
        let name = builtin.as_str().strip_prefix("fs.").unwrap_or_default();
        let id = FileOperationId::from_uuid(Uuid::new_v4()).to_string();
        let fixed = [("id", id.into()), ("operation", name.into())];
        let operation: FileSystemOperation = parameters::document(builtin, given, &fixed)?;
        let needed = match builtin.tool_class() {
            ToolClass::Readonly => RootAccess::Read,
            ToolClass::Write | ToolClass::Internal => RootAccess::Write,
        };
        let named = operation.root.as_ref().map(|root| root.as_str());
        let (root, granted) = grants.root(named, needed)?;
        let destination = operation.destination.as_ref();
        Ok(Self {
            tree: Tree::open(root, granted)?,
            root: root.to_owned(),
            path: RelativePath::parse(operation.path.as_str())?,
            destination: destination
                .map(|path| RelativePath::parse(path.as_str()))
                .transpose()?,
            operation,
            budget,
            dry_run,
            held_back: Cell::new(false),
        })
    }

    fn run(&self) -> Result<Success, Failure> {
        let success = match self.operation.operation {
            FileOperation::Read => read::run(self),
            FileOperation::Write => write::write(self),
            FileOperation::Create => write::create(self),
            FileOperation::Edit => write::edit(self),
            FileOperation::Move => relocate::relocate(self),
            FileOperation::Copy => relocate::copy(self),
            FileOperation::Delete => relocate::delete(self),
            FileOperation::List => look::list(self),
            FileOperation::Search => search::run(self),
            FileOperation::Stat => look::stat(self),
            FileOperation::MakeDirectory => write::make_directory(self),
        }?;
        if self.held_back.get() {
            let preview = json!({ "dry_run": true, "operation": self.details(None, None) });
            return answer(&preview, &[]);
        }
        Ok(success)
    }

    /// Runs `change` unless the call is a dry run. Every change goes through here.
    fn act(&self, change: impl FnOnce() -> Result<(), Failure>) -> Result<(), Failure> {
        match self.dry_run {
            DryRun::No => change(),
            DryRun::Yes => {
                self.held_back.set(true);
                Ok(())
            }
        }
    }

    /// Returns the location of a new entry. A dry run creates no directories for it.
    fn place_to_make(&self, path: &RelativePath) -> Result<EntryLocation, Failure> {
        match self.dry_run {
            DryRun::No if self.operation.create_parents => self.tree.place_with_parents(path),
            DryRun::No | DryRun::Yes => self.tree.place(path),
        }
    }

    /// Fails unless a file has the expected content.
    fn check_hash(&self, place: &EntryLocation, found: &Content) -> Result<(), Failure> {
        match &self.operation.expected_hash {
            Some(expected) if expected.as_str() != found.hash => {
                let message = format!(
                    "`{}` changed: expected {expected}, found {}",
                    place.shown, found.hash
                );
                Err(Failure::new(ErrorType::ExecutionError, message))
            }
            Some(_) | None => Ok(()),
        }
    }

    fn action(
        &self,
        action_type: ActionType,
        before: Option<&Content>,
        after: Option<&Content>,
    ) -> Result<Action, Failure> {
        Action::new(action_type, &self.details(before, after))
    }

    /// Returns the details of the action.
    fn details(&self, before: Option<&Content>, after: Option<&Content>) -> Value {
        let mut details = Map::from_iter([
            ("operation".to_owned(), json!(self.operation.operation)),
            ("operation_id".to_owned(), json!(self.operation.id)),
            ("root".to_owned(), json!(self.root)),
            ("path".to_owned(), json!(self.operation.path)),
        ]);
        let optional = [
            ("destination", json!(self.operation.destination)),
            ("pattern", json!(self.operation.pattern)),
            ("before", json!(before)),
            ("after", json!(after)),
        ];
        for (name, value) in optional {
            if !value.is_null() {
                details.insert(name.to_owned(), value);
            }
        }
        Value::Object(details)
    }
}

/// Returns the largest number of results of a call.
fn most_results(operation: &FileSystemOperation) -> Result<usize, Failure> {
    let most = match operation.max_results {
        None => return Ok(RESULTS),
        Some(most) => most.get(),
    };
    usize::try_from(most)
        .ok()
        .filter(|_| most <= MAX_RESULTS)
        .ok_or_else(|| {
            input(format!(
                "`max_results` is {most}; the limit is {MAX_RESULTS}"
            ))
        })
}
