//! Paths beneath a granted root, and how to open them without leaving it.
//!
//! The kernel resolves them (openat2 with `RESOLVE_BENEATH`, no links, no magic links); if it cannot, each part is
//! opened separately and links are refused. A path is never checked first and opened later: all operations use the
//! opened descriptor. Must not know operations.

use std::fmt;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::Path;

use charter_contract::agentic::error::ErrorType;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;

use super::super::parameters::input;
use crate::builtin_grants::{Root, denied};
use crate::outcome::Failure;

/// Most parts of a path, and most levels of a walk.
pub(super) const MAX_DEPTH: usize = 64;
/// Longest name of a file, in bytes.
const MAX_NAME_BYTES: usize = 255;
/// How often a path is resolved again if directories move during its resolution.
const ATTEMPTS: usize = 8;

/// Flags of opened directories: readable, and never through a link.
const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// A relative path of plain parts; empty for the root itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RelativePath(Vec<String>);

impl RelativePath {
    pub(super) fn parse(text: &str) -> Result<Self, Failure> {
        if text == "." {
            return Ok(Self(Vec::new()));
        }
        let parts: Vec<String> = text.split('/').map(str::to_owned).collect();
        let plain =
            |part: &String| !part.is_empty() && part != "." && part != ".." && !part.contains('\0');
        if !parts.iter().all(plain) {
            return Err(input(format!("{text:?} leaves the root")));
        }
        if parts.len() > MAX_DEPTH {
            let message = format!(
                "the path has {} parts; the limit is {MAX_DEPTH}",
                parts.len()
            );
            return Err(input(message));
        }
        if parts.iter().any(|part| part.len() > MAX_NAME_BYTES) {
            return Err(input(format!(
                "a name in the path has over {MAX_NAME_BYTES} bytes"
            )));
        }
        Ok(Self(parts))
    }

    /// Whether this path equals the other one, or is below it.
    pub(super) fn is_within(&self, other: &Self) -> bool {
        self.0.starts_with(&other.0)
    }
}

impl fmt::Display for RelativePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_slice() {
            [] => f.write_str("."),
            parts => f.write_str(&parts.join("/")),
        }
    }
}

/// The mechanism that keeps a path beneath its root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Resolver {
    /// openat2 (Linux 5.6).
    Kernel,
    /// A separate open for each part.
    Parts,
}

/// A granted root, opened.
#[derive(Debug)]
pub(super) struct Tree {
    name: String,
    root: OwnedFd,
    resolver: Resolver,
}

/// A name in an opened directory; the entry need not exist.
#[derive(Debug)]
pub(super) struct EntryLocation {
    pub(super) directory: OwnedFd,
    pub(super) name: String,
    /// For display: `root:path`.
    pub(super) shown: String,
}

impl Tree {
    pub(super) fn open(name: &str, root: &Root) -> Result<Self, Failure> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let opened = rustix::fs::open(&root.path, flags, Mode::empty());
        let root = opened.map_err(|errno| {
            let message = format!("the root `{name}` cannot be opened: {errno}");
            Failure::new(ErrorType::ResourceError, message)
        })?;
        let mut tree = Self {
            name: name.to_owned(),
            root,
            resolver: Resolver::Kernel,
        };
        // EPERM: a filter around this process does not know openat2.
        if let Err(Errno::NOSYS | Errno::PERM) = tree.resolve(Path::new(".")) {
            tree.resolver = Resolver::Parts;
        }
        Ok(tree)
    }

    #[cfg(test)]
    pub(super) fn resolving_by(mut self, resolver: Resolver) -> Self {
        self.resolver = resolver;
        self
    }

    /// Formats a path for display.
    pub(super) fn shown(&self, path: &RelativePath) -> String {
        format!("{}:{path}", self.name)
    }

    /// Opens a directory.
    pub(super) fn directory(&self, path: &RelativePath) -> Result<OwnedFd, Failure> {
        self.descend(&path.0)
            .map_err(|errno| fault(&self.shown(path), errno))
    }

    /// Returns the location of a path. The root itself has none.
    pub(super) fn place(&self, path: &RelativePath) -> Result<EntryLocation, Failure> {
        self.place_in(path, |above| self.descend(above))
    }

    /// Returns the location of a path, and creates missing parent directories.
    pub(super) fn place_with_parents(&self, path: &RelativePath) -> Result<EntryLocation, Failure> {
        self.place_in(path, |above| self.descend_by_parts(above, Missing::Make))
    }

    fn place_in(
        &self,
        path: &RelativePath,
        open: impl Fn(&[String]) -> Result<OwnedFd, Errno>,
    ) -> Result<EntryLocation, Failure> {
        let shown = self.shown(path);
        let Some((name, above)) = path.0.split_last() else {
            return Err(input(format!("`{shown}` is the root itself")));
        };
        Ok(EntryLocation {
            directory: open(above).map_err(|errno| fault(&shown, errno))?,
            name: name.clone(),
            shown,
        })
    }

    fn descend(&self, parts: &[String]) -> Result<OwnedFd, Errno> {
        match self.resolver {
            Resolver::Parts => self.descend_by_parts(parts, Missing::Fail),
            Resolver::Kernel if parts.is_empty() => self.resolve(Path::new(".")),
            Resolver::Kernel => self.resolve(Path::new(&parts.join("/"))),
        }
    }

    fn resolve(&self, path: &Path) -> Result<OwnedFd, Errno> {
        let stay = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        // The resolve flags refuse links here; with `NOFOLLOW` the kernel would report a link at the end as "not a
        // directory".
        let flags = DIRECTORY.difference(OFlags::NOFOLLOW);
        let mut outcome = Err(Errno::AGAIN);
        for _ in 0..ATTEMPTS {
            outcome = rustix::fs::openat2(&self.root, path, flags, Mode::empty(), stay);
            if !matches!(outcome, Err(Errno::AGAIN)) {
                break;
            }
        }
        outcome
    }

    fn descend_by_parts(&self, parts: &[String], missing: Missing) -> Result<OwnedFd, Errno> {
        let mut at = rustix::fs::openat(&self.root, ".", DIRECTORY, Mode::empty())?;
        for part in parts {
            at = match rustix::fs::openat(&at, part, DIRECTORY, Mode::empty()) {
                Err(Errno::NOENT) if missing == Missing::Make => {
                    match rustix::fs::mkdirat(&at, part, Mode::from_raw_mode(0o777)) {
                        Ok(()) | Err(Errno::EXIST) => {}
                        Err(errno) => return Err(errno),
                    }
                    rustix::fs::openat(&at, part, DIRECTORY, Mode::empty())?
                }
                Err(Errno::NOTDIR) if is_link(&at, part) => return Err(Errno::LOOP),
                opened => opened?,
            };
        }
        Ok(at)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Missing {
    Fail,
    Make,
}

fn is_link(directory: &OwnedFd, name: &str) -> bool {
    rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|stat| kind(&stat) == FileType::Symlink)
}

impl EntryLocation {
    /// Returns the metadata of the entry, if it exists; links are not followed.
    pub(super) fn stat(&self) -> Result<Option<Stat>, Failure> {
        match rustix::fs::statat(&self.directory, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(self.fault(errno)),
        }
    }

    /// Returns the metadata of the entry.
    pub(super) fn existing(&self) -> Result<Stat, Failure> {
        self.stat()?.ok_or_else(|| self.fault(Errno::NOENT))
    }

    /// Opens a regular file for reading. Links, pipes, sockets and devices are refused; they are not opened if they
    /// existed at the check, and opening one that appears later does not block.
    pub(super) fn file(&self) -> Result<(File, Stat), Failure> {
        self.require_file(&self.existing()?)?;
        let flags =
            OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let opened = rustix::fs::openat(&self.directory, &self.name, flags, Mode::empty());
        let opened = opened.map_err(|errno| self.fault(errno))?;
        let stat = rustix::fs::fstat(&opened).map_err(|errno| self.fault(errno))?;
        self.require_file(&stat)?;
        Ok((File::from(opened), stat))
    }

    pub(super) fn require_file(&self, stat: &Stat) -> Result<(), Failure> {
        let message = match kind(stat) {
            FileType::RegularFile => return Ok(()),
            FileType::Symlink => return Err(self.fault(Errno::LOOP)),
            FileType::Directory => format!("`{}` is a directory", self.shown),
            _ => format!("`{}` is neither a file nor a directory", self.shown),
        };
        Err(input(message))
    }

    pub(super) fn fault(&self, errno: Errno) -> Failure {
        fault(&self.shown, errno)
    }
}

pub(super) fn kind(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

/// Converts a failed system call to a failure of the call.
pub(super) fn fault(shown: &str, errno: Errno) -> Failure {
    let failed = |message| Failure::new(ErrorType::ExecutionError, message);
    let resource = |message| Failure::new(ErrorType::ResourceError, message);
    match errno {
        Errno::NOENT => input(format!("there is no `{shown}`")),
        Errno::NOTDIR => input(format!("a part of `{shown}` is not a directory")),
        Errno::ISDIR => input(format!("`{shown}` is a directory")),
        Errno::NAMETOOLONG => input(format!("the path `{shown}` is too long")),
        Errno::LOOP => denied(format!("`{shown}` contains a link; links are not followed")),
        Errno::XDEV => denied(format!(
            "`{shown}` is on another file system or outside the root"
        )),
        Errno::ACCESS | Errno::PERM | Errno::ROFS => {
            denied(format!("the system denies access to `{shown}`: {errno}"))
        }
        Errno::EXIST => failed(format!("`{shown}` already exists")),
        Errno::NOTEMPTY => failed(format!("the directory `{shown}` is not empty")),
        Errno::NOSPC | Errno::DQUOT | Errno::FBIG | Errno::MFILE | Errno::NFILE => {
            resource(format!("no space for `{shown}`: {errno}"))
        }
        other => failed(format!("`{shown}`: {other}")),
    }
}

pub(super) fn io_fault(shown: &str, error: &std::io::Error) -> Failure {
    match Errno::from_io_error(error) {
        Some(errno) => fault(shown, errno),
        None => Failure::new(ErrorType::ExecutionError, format!("`{shown}`: {error}")),
    }
}
