//! `fs.move`, `fs.copy`, `fs.delete`: operations that change names.

use std::ffi::CString;
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;

use charter_contract::agentic::error::ErrorType;
use charter_contract::agentic::response::ActionType;
use rustix::fs::{AtFlags, FileType, Mode, Stat};
use rustix::io::Errno;
use serde_json::json;
use uuid::Uuid;

use super::super::action::{Content, answer};
use super::super::parameters::input;
use super::Task;
use super::beneath::{EntryLocation, io_fault, kind};
use super::read::size;
use super::replace::{ReplaceCondition, Staged, move_to_nothing, require_unchanged, sync};
use super::walk::{Next, Walk, open_directory};
use crate::outcome::{Failure, Success};

/// Most entries of a directory that can be copied or removed with its content.
const MAX_TREE_ENTRIES: usize = 10_000;
/// Most bytes that one call copies: 1 GiB.
const MAX_COPIED_BYTES: u64 = 1 << 30;
/// Bytes that are copied between two checks of the budget.
const CHUNK_BYTES: usize = 256 << 10;

/// Moves a file or directory to another path in the same root.
pub(super) fn relocate(task: &Task) -> Result<Success, Failure> {
    let (from, to) = ends(task)?;
    let stat = movable(&from)?;
    let before = task.known_content(&from, &stat)?;
    let over = task.occupant(&to, &stat)?;
    task.act(|| {
        match &over {
            None => move_to_nothing(&from.directory, &from.name, &to)?,
            Some(over) => {
                require_unchanged(&to, over)?;
                rustix::fs::renameat(&from.directory, &from.name, &to.directory, &to.name)
                    .map_err(|errno| misplaced(&to, errno))?;
            }
        }
        sync(&to)?;
        sync(&from)
    })?;
    let action = task.action(ActionType::FileEdit, before.as_ref(), before.as_ref())?;
    answer(&destinations(task), &[action])
}

/// Copies a file, or a directory with its content.
pub(super) fn copy(task: &Task) -> Result<Success, Failure> {
    let (from, to) = ends(task)?;
    let stat = movable(&from)?;
    let (action_type, content) = match kind(&stat) {
        FileType::Directory if task.operation.recursive => {
            (ActionType::FileCreate, copy_directory(task, &from, &to)?)
        }
        FileType::Directory => {
            return Err(input(format!(
                "`{}` is a directory; set `recursive`",
                from.shown
            )));
        }
        _ => {
            let (action_type, content) = copy_file(task, &from, &to, &stat)?;
            (action_type, Some(content))
        }
    };
    let action = task.action(action_type, content.as_ref(), content.as_ref())?;
    answer(&destinations(task), &[action])
}

/// Removes a file, a link or a directory; a directory with content only if the call requests that.
pub(super) fn delete(task: &Task) -> Result<Success, Failure> {
    let place = task.tree.place(&task.path)?;
    let stat = place.existing()?;
    let (before, removed) = match kind(&stat) {
        FileType::Directory => (None, delete_directory(task, &place)?),
        FileType::RegularFile | FileType::Symlink => {
            let before = task.known_content(&place, &stat)?;
            task.act(|| {
                require_unchanged(&place, &stat)?;
                remove(&place.directory, &place.name, AtFlags::empty(), &place)
            })?;
            (before, 1)
        }
        _ => {
            return Err(place
                .require_file(&stat)
                .err()
                .unwrap_or_else(|| place.fault(Errno::INVAL)));
        }
    };
    task.act(|| sync(&place))?;
    let action = task.action(ActionType::FileEdit, before.as_ref(), None)?;
    answer(
        &json!({ "path": task.path.to_string(), "removed": removed }),
        &[action],
    )
}

fn ends(task: &Task) -> Result<(EntryLocation, EntryLocation), Failure> {
    let destination = task
        .destination
        .as_ref()
        .ok_or_else(|| input("`destination` is missing".to_owned()))?;
    if destination.is_within(&task.path) {
        return Err(input("`destination` is `path` or inside it".to_owned()));
    }
    Ok((
        task.tree.place(&task.path)?,
        task.place_to_make(destination)?,
    ))
}

/// Refuses links and special files, which cannot be moved.
fn movable(from: &EntryLocation) -> Result<Stat, Failure> {
    let stat = from.existing()?;
    match kind(&stat) {
        FileType::Directory => Ok(stat),
        _ => from.require_file(&stat).map(|()| stat),
    }
}

fn destinations(task: &Task) -> serde_json::Value {
    let destination = task.destination.as_ref().map(ToString::to_string);
    json!({ "path": task.path.to_string(), "destination": destination })
}

fn misplaced(place: &EntryLocation, errno: Errno) -> Failure {
    match errno {
        Errno::NOTDIR | Errno::ISDIR | Errno::INVAL => input(format!(
            "a directory cannot replace a file, or a file a directory, at `{}`",
            place.shown
        )),
        other => place.fault(other),
    }
}

impl Task {
    /// Returns the content of a file before it is moved or removed, checked against the expected content.
    fn known_content(
        &self,
        place: &EntryLocation,
        stat: &Stat,
    ) -> Result<Option<Content>, Failure> {
        if kind(stat) != FileType::RegularFile {
            return match &self.operation.expected_hash {
                None => Ok(None),
                Some(_) => Err(input(format!(
                    "`{}` is not a file and has no hash",
                    place.shown
                ))),
            };
        }
        let (file, _) = place.file()?;
        let content = self.digest(file, place)?;
        self.check_hash(place, &content)?;
        Ok(Some(content))
    }

    /// Returns the file at the destination, if the call requests overwriting.
    fn occupant(&self, to: &EntryLocation, from: &Stat) -> Result<Option<Stat>, Failure> {
        let Some(there) = to.stat()? else {
            return Ok(None);
        };
        if !self.operation.overwrite {
            return Err(to.fault(Errno::EXIST));
        }
        if kind(from) != FileType::RegularFile {
            let message = format!("`{}` exists; only a file can replace a file", to.shown);
            return Err(input(message));
        }
        to.require_file(&there)?;
        Ok(Some(there))
    }
}

/// Copies a file. Returns the action and the content.
fn copy_file(
    task: &Task,
    from: &EntryLocation,
    to: &EntryLocation,
    stat: &Stat,
) -> Result<(ActionType, Content), Failure> {
    let over = task.occupant(to, stat)?;
    let (file, stat) = from.file()?;
    if size(&stat) > MAX_COPIED_BYTES {
        return Err(too_much(from));
    }
    let content = task.known_content(from, &stat)?;
    let content = content.ok_or_else(|| from.fault(Errno::INVAL))?;
    task.act(|| {
        let mut staged = Staged::new(to, over.as_ref())?;
        let mut remaining = MAX_COPIED_BYTES;
        pour(task, file, from, &mut remaining, |bytes| {
            staged.write(bytes)
        })?;
        staged.settle(
            &over
                .as_ref()
                .map_or(ReplaceCondition::Nothing, ReplaceCondition::Same),
        )
    })?;
    let action_type = match over {
        Some(_) => ActionType::FileEdit,
        None => ActionType::FileCreate,
    };
    Ok((action_type, content))
}

/// Reads a file to its end, piece by piece, within the remaining copy limit.
fn pour(
    task: &Task,
    mut file: File,
    from: &EntryLocation,
    remaining: &mut u64,
    mut write: impl FnMut(&[u8]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        task.budget.check()?;
        let read = file
            .read(&mut chunk)
            .map_err(|error| io_fault(&from.shown, &error))?;
        if read == 0 {
            return Ok(());
        }
        *remaining = remaining
            .checked_sub(read as u64)
            .ok_or_else(|| too_much(from))?;
        write(&chunk[..read])?;
    }
}

fn too_much(from: &EntryLocation) -> Failure {
    let message = format!("`{}` has over {MAX_COPIED_BYTES} bytes", from.shown);
    Failure::new(ErrorType::ResourceError, message)
}

/// Copies into a directory beside the destination, and renames it when it is complete.
fn copy_directory(
    task: &Task,
    from: &EntryLocation,
    to: &EntryLocation,
) -> Result<Option<Content>, Failure> {
    if task.operation.expected_hash.is_some() {
        return Err(input(format!(
            "`{}` is not a file and has no hash",
            from.shown
        )));
    }
    if to.stat()?.is_some() {
        return Err(to.fault(Errno::EXIST));
    }
    let source =
        open_directory(&from.directory, &c_string(from)?).map_err(|errno| from.fault(errno))?;
    task.act(|| {
        let staging = EntryLocation {
            directory: to
                .directory
                .try_clone()
                .map_err(|error| io_fault(&to.shown, &error))?,
            name: format!(".charter-{}.tmp", Uuid::new_v4().simple()),
            shown: to.shown.clone(),
        };
        let copied = fill(task, from, &source, &staging)
            .and_then(|()| move_to_nothing(&staging.directory, &staging.name, to));
        if copied.is_err() {
            empty(task, &staging)?;
            remove(
                &staging.directory,
                &staging.name,
                AtFlags::REMOVEDIR,
                &staging,
            )?;
        }
        copied?;
        sync(to)
    })?;
    Ok(None)
}

fn fill(
    task: &Task,
    from: &EntryLocation,
    source: &OwnedFd,
    staging: &EntryLocation,
) -> Result<(), Failure> {
    make_directory(staging)?;
    let mut remaining = MAX_COPIED_BYTES;
    let base = open_directory(&staging.directory, &c_string(staging)?)
        .map_err(|errno| staging.fault(errno))?;
    let mut walk = Walk {
        budget: &task.budget,
        shown: &from.shown,
        most: MAX_TREE_ENTRIES,
        seen: 0,
    };
    walk.run(source, &mut |entry, directory| {
        if !entry.named_exactly {
            let message = format!(
                "`{}/{}` has a name that is not UTF-8",
                from.shown, entry.path
            );
            return Err(input(message));
        }
        let inner = |directory: &OwnedFd, name: &str| -> Result<EntryLocation, Failure> {
            Ok(EntryLocation {
                directory: directory
                    .try_clone()
                    .map_err(|error| io_fault(&from.shown, &error))?,
                name: name.to_owned(),
                shown: format!("{}/{}", from.shown, entry.path),
            })
        };
        let (above, name) = entry.path.rsplit_once('/').unwrap_or(("", &entry.path));
        let target = inner(&descend(&base, above, staging)?, name)?;
        if kind(&entry.stat) == FileType::Directory {
            make_directory(&target)?;
            return Ok(Next::Enter);
        }
        let (file, stat) = inner(directory, name)?.file()?;
        let mut staged = Staged::new(&target, Some(&stat))?;
        pour(task, file, &target, &mut remaining, |bytes| {
            staged.write(bytes)
        })?;
        staged.settle(&ReplaceCondition::Nothing)?;
        Ok(Next::Enter)
    })
}

/// Opens a directory that this call created, below another; still without following links.
fn descend(base: &OwnedFd, path: &str, staging: &EntryLocation) -> Result<OwnedFd, Failure> {
    let mut at = base
        .try_clone()
        .map_err(|error| io_fault(&staging.shown, &error))?;
    for part in path.split('/').filter(|part| !part.is_empty()) {
        let name = CString::new(part).map_err(|_| staging.fault(Errno::INVAL))?;
        at = open_directory(&at, &name).map_err(|errno| staging.fault(errno))?;
    }
    Ok(at)
}

fn make_directory(place: &EntryLocation) -> Result<(), Failure> {
    let mode = Mode::from_raw_mode(0o777);
    rustix::fs::mkdirat(&place.directory, &place.name, mode).map_err(|errno| place.fault(errno))
}

/// Removes a directory; returns the number of removed entries.
fn delete_directory(task: &Task, place: &EntryLocation) -> Result<usize, Failure> {
    if task.operation.expected_hash.is_some() {
        return Err(input(format!(
            "`{}` is not a file and has no hash",
            place.shown
        )));
    }
    let mut removed = 1;
    if task.operation.recursive {
        let entries = count(task, place)?;
        task.act(|| empty(task, place))?;
        removed += entries;
    }
    task.act(|| remove(&place.directory, &place.name, AtFlags::REMOVEDIR, place))?;
    Ok(removed)
}

/// Counts the entries to remove, so that a call over the limit removes nothing.
fn count(task: &Task, place: &EntryLocation) -> Result<usize, Failure> {
    let directory =
        open_directory(&place.directory, &c_string(place)?).map_err(|errno| place.fault(errno))?;
    let mut walk = Walk {
        budget: &task.budget,
        shown: &place.shown,
        most: MAX_TREE_ENTRIES,
        seen: 0,
    };
    walk.run(&directory, &mut |_, _| Ok(Next::Enter))?;
    Ok(walk.seen)
}

/// Removes the content of a directory: files on the way down, directories on the way up.
fn empty(task: &Task, place: &EntryLocation) -> Result<(), Failure> {
    let directory = match open_directory(&place.directory, &c_string(place)?) {
        Err(Errno::NOENT) => return Ok(()),
        opened => opened.map_err(|errno| place.fault(errno))?,
    };
    let mut directories: Vec<String> = Vec::new();
    let mut walk = Walk {
        budget: &task.budget,
        shown: &place.shown,
        most: MAX_TREE_ENTRIES,
        seen: 0,
    };
    walk.run(&directory, &mut |entry, inside| {
        if kind(&entry.stat) == FileType::Directory {
            if !entry.named_exactly {
                let message = format!(
                    "`{}/{}` has a name that is not UTF-8",
                    place.shown, entry.path
                );
                return Err(input(message));
            }
            directories.push(entry.path.clone());
        } else {
            remove(inside, &entry.name, AtFlags::empty(), place)?;
        }
        Ok(Next::Enter)
    })?;
    for path in directories.iter().rev() {
        let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
        let above = descend(&directory, above, place)?;
        remove(&above, name, AtFlags::REMOVEDIR, place)?;
    }
    Ok(())
}

fn remove(
    directory: &OwnedFd,
    name: impl rustix::path::Arg,
    what: AtFlags,
    place: &EntryLocation,
) -> Result<(), Failure> {
    rustix::fs::unlinkat(directory, name, what).map_err(|errno| place.fault(errno))
}

fn c_string(place: &EntryLocation) -> Result<CString, Failure> {
    CString::new(place.name.as_str()).map_err(|_| place.fault(Errno::INVAL))
}
