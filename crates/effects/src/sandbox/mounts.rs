//! A process's own view of the file system, where the kernel allows one: read-only but for the folders that the
//! process may write to, and with the server's data out of sight.
//!
//! Landlock has no right for the mode, owner, times and attributes of a file, so a process could change those of
//! all that its user owns; on a read-only mount nobody can. The plan is made in the parent, from the same reach as
//! the Landlock rules, so that the two walls do not differ. The child follows it.

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

use super::child::{self, Propagation};
use super::files::{self, Reach};

/// The empty folder in the place of a hidden one: room for the places where others are shown in it.
const EMPTY: &CStr = c"mode=0755,size=1m,nr_inodes=8k";
/// A file to hide others with: a device on a mount without devices, which nobody opens.
const NOTHING: &CStr = c"/dev/null";

/// What the child mounts, in this order, and where it starts.
#[derive(Debug)]
pub(super) struct MountPlan {
    steps: Vec<Step>,
    directory: CString,
}

#[derive(Debug)]
struct Step {
    path: CString,
    change: Change,
    /// What is mounted, once the child opened it.
    tree: Option<OwnedFd>,
}

#[derive(Debug)]
enum Change {
    /// An empty folder takes its place.
    HideFolder,
    /// A file that cannot be opened takes its place.
    HideFile,
    /// It is seen as it is.
    Show { access: Access, at: MountPoint },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Access {
    Read,
    Write,
}

/// Where something is shown.
#[derive(Debug)]
enum MountPoint {
    /// Where it is anyway.
    Itself,
    /// In a hidden folder, where these folders are made, from the outermost to the place itself.
    Folder(Vec<CString>),
    /// In a hidden folder, where these folders are made and a file in them.
    File(Vec<CString>),
}

/// What is wanted of a path. Of two for the same path the first is done first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Wanted {
    Hidden,
    Writable,
    Readable,
}

impl MountPlan {
    /// # Errors
    /// When a path that is there cannot be looked at.
    pub(super) fn new(reach: &Reach<'_>, hidden: &[PathBuf], directory: &Path) -> io::Result<Self> {
        let hidden = folders_to_hide(hidden)?;
        // What the system has to read is there anyway, but for what is beneath a hidden folder.
        let system = files::system().filter(|path| hidden.iter().any(|h| path.starts_with(h)));
        let interpreter = reach.interpreter.iter().map(PathBuf::as_path);
        let readable = reach.readable.iter().copied().chain(interpreter);
        let mut wanted: Vec<_> = reachable(system, Wanted::Readable).collect();
        wanted.extend(reachable(readable, Wanted::Readable));
        wanted.extend(reachable(reach.writable.iter().copied(), Wanted::Writable));
        wanted.extend(hidden.into_iter().map(|path| (path, Wanted::Hidden)));
        let steps = needed(wanted).into_iter().map(Step::new);
        Ok(Self {
            steps: steps.collect::<io::Result<_>>()?,
            directory: c_string(&directory.canonicalize()?)?,
        })
    }

    /// Makes the view this process's own. Runs between fork and exec, in a mount namespace of its own: must not
    /// allocate.
    pub(super) fn enter(&mut self) -> io::Result<()> {
        // Taken before anything changes: a mount stays as it was where it is shown.
        for step in &mut self.steps {
            step.open()?;
        }
        let read_only = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID;
        child::set_mount(CWD, c"/", AT_RECURSIVE, read_only, Propagation::Private)?;
        for step in &mut self.steps {
            step.mount()?;
        }
        for step in &self.steps {
            step.close()?;
        }
        // The directory that this process is in is still that of the server's view.
        rustix::process::chdir(self.directory.as_c_str())?;
        Ok(())
    }
}

/// As the kernel has them, but for those that are not there, and the root, which cannot be hidden.
fn folders_to_hide(paths: &[PathBuf]) -> io::Result<Vec<PathBuf>> {
    let found = paths.iter().filter_map(|path| match path.canonicalize() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Ok(path) if path.parent().is_none() => None,
        found => Some(found),
    });
    found.collect()
}

/// As the kernel has them, but for those that cannot be reached; Landlock leaves these out, too.
fn reachable<'a>(
    paths: impl Iterator<Item = &'a Path>,
    wanted: Wanted,
) -> impl Iterator<Item = (PathBuf, Wanted)> {
    paths.filter_map(move |path| Some((path.canonicalize().ok()?, wanted)))
}

/// The changes that make a difference, those nearer the root first, each with the hidden folder that it is shown in.
fn needed(mut wanted: Vec<(PathBuf, Wanted)>) -> Vec<(PathBuf, Wanted, Option<PathBuf>)> {
    wanted.sort_by_cached_key(|(path, wanted)| (path.components().count(), *wanted));
    let mut steps: Vec<(PathBuf, Wanted, Option<PathBuf>)> = Vec::new();
    for (path, wanted) in wanted {
        let around = steps.iter().rfind(|(above, ..)| path.starts_with(above));
        let around = around.map(|(above, state, _)| (above, *state));
        let hidden_in = match (wanted, around) {
            (Wanted::Hidden, Some((_, Wanted::Hidden)))
            | (Wanted::Writable, Some((_, Wanted::Writable)))
            | (Wanted::Readable, None | Some((_, Wanted::Writable | Wanted::Readable))) => continue,
            (Wanted::Hidden, None | Some((_, Wanted::Writable | Wanted::Readable)))
            | (Wanted::Writable, None | Some((_, Wanted::Readable))) => None,
            (Wanted::Writable | Wanted::Readable, Some((above, Wanted::Hidden))) => {
                Some(above.clone())
            }
        };
        steps.push((path, wanted, hidden_in));
    }
    steps
}

impl Step {
    fn new((path, wanted, hidden_in): (PathBuf, Wanted, Option<PathBuf>)) -> io::Result<Self> {
        let is_file = !path.metadata()?.is_dir();
        let at = |hidden_in: Option<PathBuf>| {
            Ok::<_, io::Error>(match hidden_in {
                None => MountPoint::Itself,
                Some(hidden) if hidden == path => MountPoint::Itself,
                Some(hidden) if is_file => MountPoint::File(between(&hidden, path.parent())?),
                Some(hidden) => MountPoint::Folder(between(&hidden, Some(&path))?),
            })
        };
        let change = match wanted {
            Wanted::Hidden if is_file => Change::HideFile,
            Wanted::Hidden => Change::HideFolder,
            Wanted::Writable => Change::Show {
                access: Access::Write,
                at: at(hidden_in)?,
            },
            Wanted::Readable => Change::Show {
                access: Access::Read,
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
            Change::HideFolder => None,
            Change::HideFile => Some(rustix::mount::open_tree(CWD, NOTHING, flags)?),
            Change::Show { .. } => {
                let flags = flags | OpenTreeFlags::AT_RECURSIVE;
                Some(rustix::mount::open_tree(CWD, self.path.as_c_str(), flags)?)
            }
        };
        Ok(())
    }

    fn mount(&mut self) -> io::Result<()> {
        let plain = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
        let attributes = match &self.change {
            Change::HideFolder => return self.mount_empty(),
            Change::HideFile => plain | MOUNT_ATTR_RDONLY,
            Change::Show { access, at } => {
                at.make(&self.path)?;
                match access {
                    Access::Read => plain | MOUNT_ATTR_RDONLY,
                    Access::Write => plain,
                }
            }
        };
        let Some(tree) = &self.tree else {
            return Ok(());
        };
        let whole = AT_EMPTY_PATH | AT_RECURSIVE;
        child::set_mount(tree.as_fd(), c"", whole, attributes, Propagation::Unchanged)?;
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

    /// Makes an empty folder read-only, once all that is shown in it has its place.
    fn close(&self) -> io::Result<()> {
        match (&self.change, &self.tree) {
            (Change::HideFolder, Some(tree)) => {
                let attributes =
                    MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;
                child::set_mount(
                    tree.as_fd(),
                    c"",
                    AT_EMPTY_PATH,
                    attributes,
                    Propagation::Unchanged,
                )
            }
            (Change::HideFolder | Change::HideFile | Change::Show { .. }, _) => Ok(()),
        }
    }
}

impl MountPoint {
    fn make(&self, path: &CStr) -> io::Result<()> {
        let (folders, is_file) = match self {
            Self::Itself => return Ok(()),
            Self::Folder(folders) => (folders, false),
            Self::File(folders) => (folders, true),
        };
        for folder in folders {
            match rustix::fs::mkdir(folder.as_c_str(), Mode::from_raw_mode(0o755)) {
                // For another one that is shown beside it.
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

/// The folders from beneath `hidden` to `last`, the outermost first.
fn between(hidden: &Path, last: Option<&Path>) -> io::Result<Vec<CString>> {
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
    use super::Wanted::{Hidden, Readable, Writable};
    use super::*;

    fn decided(wanted: &[(&str, Wanted)]) -> Vec<(String, Wanted, Option<String>)> {
        let wanted = wanted.iter();
        let wanted = wanted.map(|(path, wanted)| (PathBuf::from(path), *wanted));
        let shown = |path: PathBuf| path.display().to_string();
        let steps = needed(wanted.collect()).into_iter();
        steps
            .map(|(path, wanted, hidden_in)| (shown(path), wanted, hidden_in.map(shown)))
            .collect()
    }

    fn step(
        path: &str,
        wanted: Wanted,
        hidden_in: Option<&str>,
    ) -> (String, Wanted, Option<String>) {
        (path.to_owned(), wanted, hidden_in.map(str::to_owned))
    }

    #[test]
    fn a_call_sees_its_own_folders_in_the_hidden_data() {
        let wanted = [
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
            decided(&wanted),
            [
                step("/data", Hidden, None),
                step("/keys/evidence.key", Hidden, None),
                step("/data/sandbox/calls/c", Writable, Some("/data")),
                step("/data/sandbox/packages/p", Readable, Some("/data")),
            ]
        );
    }

    #[test]
    fn data_in_a_folder_that_is_granted_is_hidden_in_it() {
        let wanted = [
            ("/home", Writable),
            ("/home/work", Writable),
            ("/home/data", Hidden),
            ("/home/data/sandbox/calls/c", Writable),
            ("/srv", Readable),
            ("/srv/out", Writable),
        ];
        assert_eq!(
            decided(&wanted),
            [
                step("/home", Writable, None),
                step("/home/data", Hidden, None),
                step("/srv/out", Writable, None),
                step("/home/data/sandbox/calls/c", Writable, Some("/home/data")),
            ]
        );
    }

    #[test]
    fn what_is_shown_in_a_shown_folder_needs_nothing_of_its_own() {
        let wanted = [
            ("/data", Hidden),
            ("/data/venv", Readable),
            ("/data/venv/bin", Readable),
            ("/data/venv/cache", Writable),
            ("/data/venv/cache/x", Readable),
        ];
        assert_eq!(
            decided(&wanted),
            [
                step("/data", Hidden, None),
                step("/data/venv", Readable, Some("/data")),
                step("/data/venv/cache", Writable, None),
            ]
        );
    }

    #[test]
    fn folders_are_made_from_the_outermost() {
        let made = between(Path::new("/data"), Some(Path::new("/data/a/b"))).unwrap();
        assert_eq!(made, [c"/data/a".to_owned(), c"/data/a/b".to_owned()]);
        let made = between(Path::new("/data"), Some(Path::new("/data"))).unwrap();
        assert_eq!(made, Vec::<CString>::new());
    }
}
