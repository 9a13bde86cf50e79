//! `fs.write`, `fs.create`, `fs.edit`, `fs.make_directory`: operations that create or change content.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use charter_contract::agentic::error::ErrorType;
use charter_contract::agentic::file_system_operation::Encoding;
use charter_contract::agentic::response::ActionType;
use rustix::fs::{FileType, Mode, Stat};
use rustix::io::Errno;
use serde::Serialize;

use super::super::action::{Content, answer};
use super::super::parameters::input;
use super::beneath::{EntryLocation, kind};
use super::edit;
use super::read::text_of;
use super::replace::{ReplaceCondition, Staged, sync};
use super::{MAX_FILE_BYTES, Task};
use crate::outcome::{Failure, Success};

/// Answer of the operations of this file.
#[derive(Debug, Serialize)]
struct WriteResult {
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<Content>,
    after: Content,
}

/// Replaces the content of an existing file.
pub(super) fn write(task: &Task) -> Result<Success, Failure> {
    let bytes = content(task)?;
    let place = task.tree.place(&task.path)?;
    let (file, stat) = place.file()?;
    let before = task.digest(file, &place)?;
    task.check_hash(&place, &before)?;
    write_file(task, &place, &bytes, Some((before, stat)))
}

/// Creates a file; overwrites one only if the call requests that.
pub(super) fn create(task: &Task) -> Result<Success, Failure> {
    let bytes = content(task)?;
    let place = task.place_to_make(&task.path)?;
    let before = match place.stat()? {
        None => None,
        Some(_) if !task.operation.overwrite => return Err(place.fault(Errno::EXIST)),
        Some(_) => {
            let (file, stat) = place.file()?;
            Some((task.digest(file, &place)?, stat))
        }
    };
    match (&before, &task.operation.expected_hash) {
        (Some((content, _)), _) => task.check_hash(&place, content)?,
        (None, Some(_)) => return Err(place.fault(Errno::NOENT)),
        (None, None) => {}
    }
    write_file(task, &place, &bytes, before)
}

/// Replaces ranges of lines of a text file.
pub(super) fn edit(task: &Task) -> Result<Success, Failure> {
    let place = task.tree.place(&task.path)?;
    let (file, stat) = place.file()?;
    let bytes = task.whole(file, &place)?;
    let before = Content::from_bytes(&bytes);
    task.check_hash(&place, &before)?;
    let text =
        text_of(&bytes).ok_or_else(|| input(format!("`{}` is not UTF-8 text", place.shown)))?;
    let edits = task.operation.edits.as_deref().unwrap_or_default();
    let edited = edit::apply(text, edits)
        .map_err(|fault| Failure::new(ErrorType::ExecutionError, fault.to_string()))?;
    bounded(edited.as_bytes())?;
    write_file(task, &place, edited.as_bytes(), Some((before, stat)))
}

/// Makes a directory.
pub(super) fn make_directory(task: &Task) -> Result<Success, Failure> {
    let place = task.place_to_make(&task.path)?;
    let present = place.stat()?;
    let made = match present {
        Some(stat) if kind(&stat) == FileType::Directory => false,
        Some(_) => return Err(place.fault(Errno::EXIST)),
        None => {
            task.act(|| {
                rustix::fs::mkdirat(&place.directory, &place.name, Mode::from_raw_mode(0o777))
                    .map_err(|errno| place.fault(errno))?;
                sync(&place)
            })?;
            true
        }
    };
    let actions = if made {
        vec![task.action(ActionType::FileCreate, None, None)?]
    } else {
        Vec::new()
    };
    let answered = serde_json::json!({ "path": task.path.to_string(), "made": made });
    answer(&answered, &actions)
}

fn write_file(
    task: &Task,
    place: &EntryLocation,
    bytes: &[u8],
    before: Option<(Content, Stat)>,
) -> Result<Success, Failure> {
    let (before, stat) = before.unzip();
    task.act(|| {
        let mut staged = Staged::new(place, stat.as_ref())?;
        staged.write(bytes)?;
        task.budget.check()?;
        staged.settle(
            &stat
                .as_ref()
                .map_or(ReplaceCondition::Nothing, ReplaceCondition::Same),
        )
    })?;
    let after = Content::from_bytes(bytes);
    let action_type = match &before {
        Some(_) => ActionType::FileEdit,
        None => ActionType::FileCreate,
    };
    let action = task.action(action_type, before.as_ref(), Some(&after))?;
    let written = WriteResult {
        path: task.path.to_string(),
        before,
        after,
    };
    answer(&written, &[action])
}

fn content(task: &Task) -> Result<Vec<u8>, Failure> {
    let operation = &task.operation;
    let given = operation.content.as_deref().unwrap_or_default();
    let bytes = match operation.encoding.unwrap_or(Encoding::Utf8) {
        Encoding::Utf8 => given.as_bytes().to_vec(),
        Encoding::Base64 => STANDARD
            .decode(given)
            .map_err(|error| input(format!("`content` is not base 64: {error}")))?,
    };
    bounded(&bytes)?;
    Ok(bytes)
}

fn bounded(bytes: &[u8]) -> Result<(), Failure> {
    if bytes.len() as u64 > MAX_FILE_BYTES {
        let message = format!(
            "the content has {} bytes; the limit is {MAX_FILE_BYTES}",
            bytes.len()
        );
        return Err(Failure::new(ErrorType::ResourceError, message));
    }
    Ok(())
}
