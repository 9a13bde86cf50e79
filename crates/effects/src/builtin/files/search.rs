//! `fs.search`: matching lines in text files below a directory. Binary and large files are counted, not searched.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;

use charter_contract::agentic::file_system_operation::PatternType;
use charter_contract::agentic::response::ActionType;
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use regex::{Regex, RegexBuilder};
use rustix::fs::{FileType, Mode, OFlags};
use serde::Serialize;

use super::super::action::answer;
use super::super::parameters::input;
use super::beneath::{EntryLocation, kind};
use super::read::{size, text_of};
use super::walk::{Entry, MAX_ENTRIES, Next, Walk};
use super::{MAX_FILE_BYTES, Task, most_results};
use crate::outcome::{Failure, Success};

/// Bytes that one search reads: 256 MiB.
const MAX_SEARCHED_BYTES: u64 = 256 << 20;
/// Largest compiled pattern, in bytes: 1 MiB.
const MAX_PATTERN_BYTES: usize = 1 << 20;
/// Bytes of a matching line that are returned.
const MAX_LINE_BYTES: usize = 500;
/// Most globs of one call.
const MAX_GLOBS: usize = 100;

/// A line that matches.
#[derive(Debug, Serialize)]
struct Match {
    path: String,
    line: usize,
    text: String,
}

/// Answer of `fs.search`.
#[derive(Debug, Default, Serialize)]
struct FileSearchResult {
    path: String,
    matches: Vec<Match>,
    files_searched: usize,
    /// Number of files that are not text.
    binary_files: usize,
    /// Number of files over the size limit, or without read permission.
    skipped_files: usize,
    /// Whether there may be more matches: a limit was reached.
    truncated: bool,
}

pub(super) fn run(task: &Task) -> Result<Success, Failure> {
    let mut search = Search {
        task,
        pattern: pattern(task)?,
        include: globs(task.operation.include.iter().map(|glob| glob.as_str()))?,
        most: most_results(&task.operation)?,
        read: 0,
        found: FileSearchResult {
            path: task.path.to_string(),
            ..FileSearchResult::default()
        },
    };
    search.everywhere()?;
    let details = task.action(ActionType::Search, None, None)?;
    answer(&search.found, &[details])
}

fn pattern(task: &Task) -> Result<Regex, Failure> {
    let given = task.operation.pattern.as_ref();
    let given = given.map_or("", |pattern| pattern.as_str());
    let written = match task.operation.pattern_type.unwrap_or(PatternType::Regex) {
        PatternType::Regex => given.to_owned(),
        PatternType::Literal => regex::escape(given),
    };
    RegexBuilder::new(&written)
        .size_limit(MAX_PATTERN_BYTES)
        .dfa_size_limit(MAX_PATTERN_BYTES)
        .build()
        .map_err(|error| input(format!("`pattern`: {error}")))
}

/// Builds the globs, in which `*` stays within a directory and `**` does not; absent if the call has none.
pub(super) fn globs<'g>(given: impl Iterator<Item = &'g str>) -> Result<Option<GlobSet>, Failure> {
    let wrong = |error: globset::Error| input(format!("a glob: {error}"));
    let mut set = GlobSetBuilder::new();
    let mut count = 0;
    for glob in given {
        count += 1;
        if count > MAX_GLOBS {
            return Err(input(format!("more than {MAX_GLOBS} globs")));
        }
        let built = GlobBuilder::new(glob).literal_separator(true).build();
        set.add(built.map_err(wrong)?);
    }
    if count == 0 {
        return Ok(None);
    }
    set.build().map(Some).map_err(wrong)
}

struct Search<'t> {
    task: &'t Task,
    pattern: Regex,
    include: Option<GlobSet>,
    most: usize,
    read: u64,
    found: FileSearchResult,
}

impl Search<'_> {
    fn everywhere(&mut self) -> Result<(), Failure> {
        let task = self.task;
        let place = task.tree.place(&task.path);
        if let Ok(place) = &place
            && kind(&place.existing()?) != FileType::Directory
        {
            let (file, _) = place.file()?;
            return self.file(&task.path.to_string(), file, place).map(|_| ());
        }
        let directory = task.tree.directory(&task.path)?;
        let shown = task.tree.shown(&task.path);
        let mut walk = Walk {
            budget: &task.budget,
            shown: &shown,
            most: MAX_ENTRIES,
            seen: 0,
        };
        walk.run(&directory, &mut |entry, directory| {
            self.entry(entry, directory)
        })
    }

    fn entry(&mut self, entry: &Entry, directory: &OwnedFd) -> Result<Next, Failure> {
        let deeper = match self.task.operation.recursive {
            true => Next::Enter,
            false => Next::Pass,
        };
        let wanted = self.include.as_ref();
        if kind(&entry.stat) != FileType::RegularFile
            || !entry.named_exactly
            || wanted.is_some_and(|wanted| !wanted.is_match(&entry.path))
        {
            return Ok(deeper);
        }
        if size(&entry.stat) > MAX_FILE_BYTES {
            self.found.skipped_files += 1;
            return Ok(deeper);
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let opened = rustix::fs::openat(directory, &entry.name, flags, Mode::empty());
        let is_file = |file: &OwnedFd| {
            rustix::fs::fstat(file).is_ok_and(|stat| kind(&stat) == FileType::RegularFile)
        };
        match opened {
            Ok(file) if is_file(&file) => {
                let place = EntryLocation {
                    directory: file
                        .try_clone()
                        .map_err(|error| super::beneath::io_fault(&entry.path, &error))?,
                    name: entry.path.clone(),
                    shown: format!("{}/{}", self.task.tree.shown(&self.task.path), entry.path),
                };
                self.file(&entry.path, File::from(file), &place)
            }
            Ok(_) | Err(_) => {
                self.found.skipped_files += 1;
                Ok(deeper)
            }
        }
    }

    fn file(
        &mut self,
        path: &str,
        file: impl Read,
        place: &EntryLocation,
    ) -> Result<Next, Failure> {
        let bytes = self.task.whole(file, place)?;
        self.read += bytes.len() as u64;
        let Some(text) = text_of(&bytes) else {
            self.found.binary_files += 1;
            return Ok(Next::Pass);
        };
        self.found.files_searched += 1;
        for (at, line) in text.lines().enumerate() {
            if !self.pattern.is_match(line) {
                continue;
            }
            if self.found.matches.len() == self.most {
                self.found.truncated = true;
                return Ok(Next::Stop);
            }
            self.found.matches.push(Match {
                path: path.to_owned(),
                line: at + 1,
                text: line[..line.floor_char_boundary(MAX_LINE_BYTES)].to_owned(),
            });
        }
        if self.read > MAX_SEARCHED_BYTES {
            self.found.truncated = true;
            return Ok(Next::Stop);
        }
        Ok(Next::Pass)
    }
}
