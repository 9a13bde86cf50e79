//! Walks directories below an opened one: in order of names, to a depth, within a number of entries, and never through
//! a link. Must not know the purpose of the walk.

use std::ffi::CString;
use std::os::fd::OwnedFd;

use charter_contract::agentic::error::ErrorType;
use rustix::fs::{AtFlags, Dir, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::super::budget::Budget;
use super::beneath::{MAX_DEPTH, fault};
use crate::outcome::Failure;

/// Most entries that one call visits.
pub(super) const MAX_ENTRIES: usize = 100_000;

/// One entry of a directory.
pub(super) struct Entry {
    /// Relative to the root of the walk; parts that are not UTF-8 are replaced.
    pub(super) path: String,
    /// Its name in its directory.
    pub(super) name: CString,
    pub(super) stat: Stat,
    /// Whether `path` is exactly its name.
    pub(super) named_exactly: bool,
}

/// How the walk continues after an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// Continue; enter the entry if it is a directory.
    Enter,
    /// Continue without entering it.
    Pass,
    /// Stop the walk.
    Stop,
}

/// A walk and its counts.
pub(super) struct Walk<'a> {
    pub(super) budget: &'a Budget,
    /// The root of the walk, for display.
    pub(super) shown: &'a str,
    /// Most entries to visit.
    pub(super) most: usize,
    /// Number of visited entries.
    pub(super) seen: usize,
}

impl Walk<'_> {
    /// Passes every entry to `visit`, with the directory that contains it.
    pub(super) fn run(
        &mut self,
        directory: &OwnedFd,
        visit: &mut dyn FnMut(&Entry, &OwnedFd) -> Result<Next, Failure>,
    ) -> Result<(), Failure> {
        self.level(directory, "", true, 0, visit).map(|_| ())
    }

    fn level(
        &mut self,
        directory: &OwnedFd,
        prefix: &str,
        exact: bool,
        depth: usize,
        visit: &mut dyn FnMut(&Entry, &OwnedFd) -> Result<Next, Failure>,
    ) -> Result<Next, Failure> {
        if depth >= MAX_DEPTH {
            let message = format!("`{}` is deeper than {MAX_DEPTH} directories", self.shown);
            return Err(Failure::new(ErrorType::ResourceError, message));
        }
        for name in self.names(directory)? {
            self.budget.check()?;
            let stat = match rustix::fs::statat(directory, &name, AtFlags::SYMLINK_NOFOLLOW) {
                // Deleted since it was listed.
                Err(Errno::NOENT) => continue,
                stat => stat.map_err(|errno| fault(self.shown, errno))?,
            };
            let text = name.to_string_lossy();
            let entry = Entry {
                path: format!("{prefix}{text}"),
                named_exactly: exact && name.to_str().is_ok(),
                name,
                stat,
            };
            let next = visit(&entry, directory)?;
            let is_directory = super::beneath::kind(&stat) == rustix::fs::FileType::Directory;
            match next {
                Next::Stop => return Ok(Next::Stop),
                Next::Enter if is_directory => {
                    let Some(below) = self.enter(directory, &entry)? else {
                        continue;
                    };
                    let prefix = format!("{}/", entry.path);
                    let ended =
                        self.level(&below, &prefix, entry.named_exactly, depth + 1, visit)?;
                    if ended == Next::Stop {
                        return Ok(Next::Stop);
                    }
                }
                Next::Enter | Next::Pass => {}
            }
        }
        Ok(Next::Pass)
    }

    /// Opens a directory below; returns `None` if it was deleted, replaced, or is not readable.
    fn enter(&self, directory: &OwnedFd, entry: &Entry) -> Result<Option<OwnedFd>, Failure> {
        match open_directory(directory, &entry.name) {
            Ok(below) => Ok(Some(below)),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS) => Ok(None),
            Err(errno) => Err(fault(self.shown, errno)),
        }
    }

    fn names(&mut self, directory: &OwnedFd) -> Result<Vec<CString>, Failure> {
        let failed = |errno| fault(self.shown, errno);
        let mut names = Vec::new();
        for entry in Dir::read_from(directory).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            self.seen += 1;
            if self.seen > self.most {
                let message = format!("`{}` has over {} entries", self.shown, self.most);
                return Err(Failure::new(ErrorType::ResourceError, message));
            }
            names.push(name.to_owned());
        }
        names.sort();
        Ok(names)
    }
}

/// Opens a directory by its name in another, unless it is a link.
pub(super) fn open_directory(directory: &OwnedFd, name: &CString) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(directory, name, flags, Mode::empty())
}
