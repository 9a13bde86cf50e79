//! The mount namespace of a process, where the kernel allows one: read-only except for the folders that the process may
//! write to, and without the server's data.
//!
//! Landlock has no right for the mode, owner, times and attributes of a file, so a process could change those of all
//! files of its user. A read-only mount prevents it. The parent plans the mounts from the same reach as the Landlock
//! rules, so that both grant the same. The child executes the plan.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use libc::{
    AT_EMPTY_PATH, AT_RECURSIVE, MOUNT_ATTR_NODEV, MOUNT_ATTR_NOEXEC, MOUNT_ATTR_NOSUID,
    MOUNT_ATTR_RDONLY,
};
use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::{MountFlags, MoveMountFlags, OpenTreeFlags};

use super::super::files::{self, Reach};
use super::{Propagation, set_mount};

/// Options of the empty file system over a hidden folder: room for the mount points in it.
const EMPTY: &CStr = c"mode=0755,size=1m,nr_inodes=8k";
/// Mounted over hidden files: a device, which cannot be opened on a mount without devices.
const COVER: &CStr = c"/dev/null";

/// The mounts in order, and the working directory.
#[derive(Debug)]
pub(in crate::sandbox) struct MountPlan {
    steps: Vec<MountStep>,
    directory: CString,
}

#[derive(Debug)]
struct MountStep {
    path: CString,
    change: MountChange,
    /// The mount, once the child has opened it.
    tree: Option<OwnedFd>,
}

#[derive(Debug)]
enum MountChange {
    /// Covered by an empty folder.
    HideFolder,
    /// Covered by a file that cannot be opened.
    HideFile,
    /// Visible.
    Show { access: MountAccess, at: MountPoint },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MountAccess {
    Read,
    Write,
}

/// The mount point of a visible path.
#[derive(Debug)]
enum MountPoint {
    /// The path exists.
    Existing,
    /// In a hidden folder: these folders are created, from the outermost to the mount point.
    Folder(Vec<CString>),
    /// In a hidden folder: these folders are created, and the file.
    File(Vec<CString>),
}

/// Visibility of a path. For the same path the first variant is mounted first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Visibility {
    Hidden,
    Writable,
    Readable,
}

impl MountPlan {
    /// Plans the mounts of a process that starts in `directory`.
    ///
    /// # Errors
    /// When the metadata of an existing path cannot be read.
    pub(in crate::sandbox) fn new(
        reach: &Reach<'_>,
        hidden: &[PathBuf],
        directory: &Path,
    ) -> io::Result<Self> {
        let hidden = folders_to_hide(hidden)?;
        // Paths of the system are visible anyway, except beneath a hidden folder.
        let system = files::system().filter(|path| hidden.iter().any(|h| path.starts_with(h)));
        let interpreter = reach.interpreter.iter().map(PathBuf::as_path);
        let readable = reach.readable.iter().copied().chain(interpreter);
        let mut requested: Vec<_> = reachable(system, Visibility::Readable).collect();
        requested.extend(reachable(readable, Visibility::Readable));
        requested.extend(reachable(
            reach.writable.iter().copied(),
            Visibility::Writable,
        ));
        requested.extend(hidden.into_iter().map(|path| (path, Visibility::Hidden)));
        let steps = changes_needed(requested).into_iter().map(MountStep::new);
        Ok(Self {
            steps: steps.collect::<io::Result<_>>()?,
            directory: c_string(&directory.canonicalize()?)?,
        })
    }

    /// Mounts everything. Runs between fork and exec, in a new mount namespace: must not allocate.
    pub(super) fn enter(&mut self) -> io::Result<()> {
        // All are opened first, while the paths still lead to the server's mounts.
        for step in &mut self.steps {
            step.open()?;
        }
        let read_only = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID;
        set_mount(CWD, c"/", AT_RECURSIVE, read_only, Propagation::Private)?;
        for step in &mut self.steps {
            step.mount()?;
        }
        for step in &self.steps {
            step.close()?;
        }
        // The current directory still belongs to the covered mounts.
        rustix::process::chdir(self.directory.as_c_str())?;
        Ok(())
    }
}

/// Returns the canonical paths of those that exist. The root cannot be hidden.
fn folders_to_hide(paths: &[PathBuf]) -> io::Result<Vec<PathBuf>> {
    let found = paths.iter().filter_map(|path| match path.canonicalize() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Ok(path) if path.parent().is_none() => None,
        found => Some(found),
    });
    found.collect()
}

/// Returns the canonical paths of those that are reachable; the Landlock rules also skip the others.
fn reachable<'a>(
    paths: impl Iterator<Item = &'a Path>,
    requested: Visibility,
) -> impl Iterator<Item = (PathBuf, Visibility)> {
    paths.filter_map(move |path| Some((path.canonicalize().ok()?, requested)))
}

/// Returns the paths that need a mount, those nearer the root first, each with the hidden folder around it.
fn changes_needed(
    mut requested: Vec<(PathBuf, Visibility)>,
) -> Vec<(PathBuf, Visibility, Option<PathBuf>)> {
    requested.sort_by_cached_key(|(path, requested)| (path.components().count(), *requested));
    let mut steps: Vec<(PathBuf, Visibility, Option<PathBuf>)> = Vec::new();
    for (path, requested) in requested {
        let around = steps.iter().rfind(|(above, ..)| path.starts_with(above));
        let around = around.map(|(above, state, _)| (above, *state));
        let hidden_in = match (requested, around) {
            (Visibility::Hidden, Some((_, Visibility::Hidden)))
            | (Visibility::Writable, Some((_, Visibility::Writable)))
            | (
                Visibility::Readable,
                None | Some((_, Visibility::Writable | Visibility::Readable)),
            ) => continue,
            (Visibility::Hidden, None | Some((_, Visibility::Writable | Visibility::Readable)))
            | (Visibility::Writable, None | Some((_, Visibility::Readable))) => None,
            (Visibility::Writable | Visibility::Readable, Some((above, Visibility::Hidden))) => {
                Some(above.clone())
            }
        };
        steps.push((path, requested, hidden_in));
    }
    steps
}

impl MountStep {
    fn new(
        (path, requested, hidden_in): (PathBuf, Visibility, Option<PathBuf>),
    ) -> io::Result<Self> {
        let is_file = !path.metadata()?.is_dir();
        let at = |hidden_in: Option<PathBuf>| {
            Ok::<_, io::Error>(match hidden_in {
                None => MountPoint::Existing,
                Some(hidden) if hidden == path => MountPoint::Existing,
                Some(hidden) if is_file => {
                    MountPoint::File(folders_between(&hidden, path.parent())?)
                }
                Some(hidden) => MountPoint::Folder(folders_between(&hidden, Some(&path))?),
            })
        };
        let change = match requested {
            Visibility::Hidden if is_file => MountChange::HideFile,
            Visibility::Hidden => MountChange::HideFolder,
            Visibility::Writable => MountChange::Show {
                access: MountAccess::Write,
                at: at(hidden_in)?,
            },
            Visibility::Readable => MountChange::Show {
                access: MountAccess::Read,
                at: at(hidden_in)?,
            },
        };
        Ok(Self {
            path: c_string(&path)?,
            change,
            tree: None,
        })
    }

    fn open(&mut self) -> io::Result<()> {
        let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
        self.tree = match self.change {
            MountChange::HideFolder => None,
            MountChange::HideFile => Some(rustix::mount::open_tree(CWD, COVER, flags)?),
            MountChange::Show { .. } => {
                let flags = flags | OpenTreeFlags::AT_RECURSIVE;
                Some(rustix::mount::open_tree(CWD, self.path.as_c_str(), flags)?)
            }
        };
        Ok(())
    }

    fn mount(&mut self) -> io::Result<()> {
        let plain = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
        let attributes = match &self.change {
            MountChange::HideFolder => return self.mount_empty(),
            MountChange::HideFile => plain | MOUNT_ATTR_RDONLY,
            MountChange::Show { access, at } => {
                at.make(&self.path)?;
                match access {
                    MountAccess::Read => plain | MOUNT_ATTR_RDONLY,
                    MountAccess::Write => plain,
                }
            }
        };
        let Some(tree) = &self.tree else {
            return Ok(());
        };
        let whole = AT_EMPTY_PATH | AT_RECURSIVE;
        set_mount(tree.as_fd(), c"", whole, attributes, Propagation::Unchanged)?;
        let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
        rustix::mount::move_mount(tree, c"", CWD, self.path.as_c_str(), flags)?;
        Ok(())
    }

    fn mount_empty(&mut self) -> io::Result<()> {
        let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
        let path = self.path.as_c_str();
        rustix::mount::mount(c"tmpfs", path, c"tmpfs", flags, EMPTY)?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        self.tree = Some(rustix::fs::open(path, flags, Mode::empty())?);
        Ok(())
    }

    /// Makes an empty folder read-only, after all its mount points exist.
    fn close(&self) -> io::Result<()> {
        match (&self.change, &self.tree) {
            (MountChange::HideFolder, Some(tree)) => {
                let attributes =
                    MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;
                set_mount(
                    tree.as_fd(),
                    c"",
                    AT_EMPTY_PATH,
                    attributes,
                    Propagation::Unchanged,
                )
            }
            (MountChange::HideFolder | MountChange::HideFile | MountChange::Show { .. }, _) => {
                Ok(())
            }
        }
    }
}

impl MountPoint {
    fn make(&self, path: &CStr) -> io::Result<()> {
        let (folders, is_file) = match self {
            Self::Existing => return Ok(()),
            Self::Folder(folders) => (folders, false),
            Self::File(folders) => (folders, true),
        };
        for folder in folders {
            match rustix::fs::mkdir(folder.as_c_str(), Mode::from_raw_mode(0o755)) {
                // Created for another path.
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        if is_file {
            let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC;
            drop(rustix::fs::open(path, flags, Mode::from_raw_mode(0o644))?);
        }
        Ok(())
    }
}

/// Returns the folders from beneath `hidden` to `last`, the outermost first.
fn folders_between(hidden: &Path, last: Option<&Path>) -> io::Result<Vec<CString>> {
    let folders = last.into_iter().flat_map(Path::ancestors);
    let inner = folders.take_while(|folder| *folder != hidden);
    let mut folders = inner.map(c_string).collect::<io::Result<Vec<_>>>()?;
    folders.reverse();
    Ok(folders)
}

fn c_string(path: &Path) -> io::Result<CString> {
    Ok(CString::new(path.as_os_str().as_bytes())?)
}

#[cfg(test)]
mod tests {
    use super::Visibility::{Hidden, Readable, Writable};
    use super::*;

    fn needed(requested: &[(&str, Visibility)]) -> Vec<(String, Visibility, Option<String>)> {
        let requested = requested.iter();
        let requested = requested.map(|(path, requested)| (PathBuf::from(path), *requested));
        let shown = |path: PathBuf| path.display().to_string();
        let steps = changes_needed(requested.collect()).into_iter();
        steps
            .map(|(path, requested, hidden_in)| (shown(path), requested, hidden_in.map(shown)))
            .collect()
    }

    fn step(
        path: &str,
        requested: Visibility,
        hidden_in: Option<&str>,
    ) -> (String, Visibility, Option<String>) {
        (path.to_owned(), requested, hidden_in.map(str::to_owned))
    }

    #[test]
    fn a_call_sees_only_its_own_folders_of_the_hidden_data() {
        let requested = [
            ("/usr", Readable),
            ("/data/sandbox/packages/p", Readable),
            ("/data/sandbox/calls/c", Readable),
            ("/data/sandbox/calls/c", Writable),
            ("/data/sandbox", Hidden),
            ("/data", Hidden),
            ("/keys/evidence.key", Hidden),
            ("/database", Readable),
        ];
        assert_eq!(
            needed(&requested),
            [
                step("/data", Hidden, None),
                step("/keys/evidence.key", Hidden, None),
                step("/data/sandbox/calls/c", Writable, Some("/data")),
                step("/data/sandbox/packages/p", Readable, Some("/data")),
            ]
        );
    }

    #[test]
    fn data_within_a_granted_folder_is_hidden() {
        let requested = [
            ("/home", Writable),
            ("/home/work", Writable),
            ("/home/data", Hidden),
            ("/home/data/sandbox/calls/c", Writable),
            ("/srv", Readable),
            ("/srv/out", Writable),
        ];
        assert_eq!(
            needed(&requested),
            [
                step("/home", Writable, None),
                step("/home/data", Hidden, None),
                step("/srv/out", Writable, None),
                step("/home/data/sandbox/calls/c", Writable, Some("/home/data")),
            ]
        );
    }

    #[test]
    fn a_path_in_a_visible_folder_needs_no_further_mount() {
        let requested = [
            ("/data", Hidden),
            ("/data/venv", Readable),
            ("/data/venv/bin", Readable),
            ("/data/venv/cache", Writable),
            ("/data/venv/cache/x", Readable),
        ];
        assert_eq!(
            needed(&requested),
            [
                step("/data", Hidden, None),
                step("/data/venv", Readable, Some("/data")),
                step("/data/venv/cache", Writable, None),
            ]
        );
    }

    #[test]
    fn folders_are_created_from_the_outermost() {
        let made = folders_between(Path::new("/data"), Some(Path::new("/data/a/b"))).unwrap();
        assert_eq!(made, [c"/data/a".to_owned(), c"/data/a/b".to_owned()]);
        let made = folders_between(Path::new("/data"), Some(Path::new("/data"))).unwrap();
        assert_eq!(made, Vec::<CString>::new());
    }
}
