//! Walking directories below an opened one: in order of names, to a depth, within a number of
//! entries, and never through a link. Must not know what is looked for.

use std::ffi::CString;
use std::os::fd::OwnedFd;

use charter_contract::agentic::error::ErrorType;
use rustix::fs::{AtFlags, Dir, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::super::budget::Budget;
use super::beneath::{MAX_DEPTH, fault};
use crate::outcome::Failure;

/// Most entries that one call looks at.
pub(super) const MAX_ENTRIES: usize = 100_000;

/// One entry of a directory.
pub(super) struct Entry {
    /// Relative to where the walk began; what is not UTF-8 in it is replaced.
    pub(super) path: String,
    /// Its name in its directory.
    pub(super) name: CString,
    pub(super) stat: Stat,
    /// Whether `path` is exactly what it is called.
    pub(super) named_exactly: bool,
}

/// What to do after an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// Go on; into it, if it is a directory.
    Enter,
    /// Go on beside it.
    Pass,
    /// Enough.
    Stop,
}

/// A walk and what it has seen.
pub(super) struct Walk<'a> {
    pub(super) budget: &'a Budget,
    /// Where the walk begins, as people read it.
    pub(super) shown: &'a str,
    /// Most entries to look at.
    pub(super) most: usize,
    /// Entries looked at.
    pub(super) seen: usize,
}

impl Walk<'_> {
    /// Shows every entry to `visit`, with the directory that it is in.
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
                // Gone since it was listed.
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

    /// A directory below; none when it went away, became something else, or may not be read.
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
