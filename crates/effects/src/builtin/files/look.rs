//! `fs.list` and `fs.stat`: directory entries and their metadata.

use charter_contract::agentic::response::ActionType;
use charter_contract::time::Timestamp;
use rustix::fs::{AtFlags, FileType, Stat};
use serde::Serialize;

use super::super::action::answer;
use super::beneath::kind;
use super::read::size;
use super::search::globs;
use super::walk::{MAX_ENTRIES, Next, Walk};
use super::{Task, most_results};
use crate::outcome::{Failure, Success};

/// One entry of a listing.
#[derive(Debug, Serialize)]
struct DirectoryEntry {
    path: String,
    kind: &'static str,
    size: u64,
    modified: Option<Timestamp>,
    /// Whether `path` can be used in a call: some names are not UTF-8, or contain characters that the contract forbids
    /// in paths.
    usable: bool,
}

#[derive(Debug, Serialize)]
struct Listing {
    path: String,
    entries: Vec<DirectoryEntry>,
    /// Whether there are more entries than requested.
    truncated: bool,
}

#[derive(Debug, Serialize)]
struct Status {
    path: String,
    kind: &'static str,
    size: u64,
    modified: Option<Timestamp>,
    /// Permission bits, octal.
    mode: String,
    /// Number of hard links; the others may be anywhere on its file system.
    links: u64,
}

pub(super) fn list(task: &Task) -> Result<Success, Failure> {
    let directory = task.tree.directory(&task.path)?;
    let pattern = task.operation.pattern.iter();
    let named = globs(pattern.map(|glob| glob.as_str()))?;
    let most = most_results(&task.operation)?;
    let (mut entries, mut truncated) = (Vec::new(), false);
    let shown = task.tree.shown(&task.path);
    let mut walk = Walk {
        budget: &task.budget,
        shown: &shown,
        most: MAX_ENTRIES,
        seen: 0,
    };
    walk.run(&directory, &mut |entry, _| {
        let name = entry.path.rsplit('/').next().unwrap_or_default();
        if named.as_ref().is_none_or(|named| named.is_match(name)) {
            if entries.len() == most {
                truncated = true;
                return Ok(Next::Stop);
            }
            entries.push(DirectoryEntry {
                path: entry.path.clone(),
                kind: noun(&entry.stat),
                size: size(&entry.stat),
                modified: modified(&entry.stat),
                usable: entry.named_exactly && !entry.path.contains([':', '\\']),
            });
        }
        Ok(match task.operation.recursive {
            true => Next::Enter,
            false => Next::Pass,
        })
    })?;
    let listing = Listing {
        path: task.path.to_string(),
        entries,
        truncated,
    };
    answer(&listing, &[task.action(ActionType::Search, None, None)?])
}

pub(super) fn stat(task: &Task) -> Result<Success, Failure> {
    // A directory may be the root itself, which has no location.
    let stat = match task.tree.place(&task.path) {
        Ok(place) => place.existing()?,
        Err(failure) => match task.tree.directory(&task.path) {
            Ok(directory) => rustix::fs::statat(&directory, "", AtFlags::EMPTY_PATH)
                .map_err(|errno| super::beneath::fault(&task.tree.shown(&task.path), errno))?,
            Err(_) => return Err(failure),
        },
    };
    let status = Status {
        path: task.path.to_string(),
        kind: noun(&stat),
        size: size(&stat),
        modified: modified(&stat),
        mode: format!("{:o}", stat.st_mode & 0o7777),
        links: links(&stat),
    };
    answer(
        &status,
        &[task.action(ActionType::CommandExecution, None, None)?],
    )
}

#[allow(
    clippy::unnecessary_cast,
    clippy::useless_conversion,
    reason = "its width differs by architecture"
)]
fn links(stat: &Stat) -> u64 {
    u64::from(stat.st_nlink)
}

pub(super) fn noun(stat: &Stat) -> &'static str {
    match kind(stat) {
        FileType::RegularFile => "file",
        FileType::Directory => "directory",
        FileType::Symlink => "link",
        _ => "other",
    }
}

fn modified(stat: &Stat) -> Option<Timestamp> {
    let micros = i64::try_from(stat.st_mtime_nsec).ok()? / 1_000;
    let seconds = stat.st_mtime.checked_mul(1_000_000)?;
    Timestamp::from_micros(seconds.checked_add(micros)?).ok()
}
