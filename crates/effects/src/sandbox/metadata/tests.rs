//! Each form of each call, on files in a call's folders and outside, as if this thread had made it.

use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, symlink};

use super::super::filter::MODES_AND_TIMES;
use super::*;

/// A folder of a call, and one beside it.
struct MetadataFixture {
    dir: tempfile::TempDir,
}

/// A file as it was before a call.
const BEFORE: (u32, i64) = (0o600, 1_000_000);
const MODE: u64 = 0o640;
/// Times of access and modification: with fractions, and without.
const TIMES: [i64; 4] = [5, 0, 9, 0];
const SECONDS: [i64; 2] = [5, 9];

fn here() -> u64 {
    i64::from(libc::AT_FDCWD).cast_unsigned()
}

fn address<T: ?Sized>(value: &T) -> u64 {
    u64::try_from(std::ptr::from_ref(value).addr()).unwrap()
}

fn text(path: &Path) -> CString {
    CString::new(path.as_os_str().as_bytes()).unwrap()
}

fn number(file: &File) -> u64 {
    u64::try_from(file.as_raw_fd()).unwrap()
}

impl MetadataFixture {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        for folder in ["in", "out", "in-too"] {
            fs::create_dir(dir.path().join(folder)).unwrap();
            fs::write(dir.path().join(folder).join("file"), "").unwrap();
        }
        Self { dir }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(path)
    }

    fn call(&self, call: i64, arguments: &[u64]) -> Result<(), Errno> {
        let notification = Notification::of_this_thread(call, arguments);
        change(&notification, &[self.path("in")], || true)
    }

    fn chmod(&self, path: &CStr) -> Result<(), Errno> {
        self.call(libc::SYS_fchmodat, &[here(), address(path), MODE])
    }
}

/// Resets mode and times of a file.
fn reset(path: &Path) {
    let file = File::open(path).unwrap();
    let times = Timestamps {
        last_access: timespec(BEFORE.1, 0),
        last_modification: timespec(BEFORE.1, 0),
    };
    rustix::fs::futimens(&file, &times).unwrap();
    rustix::fs::fchmod(&file, Mode::from_raw_mode(BEFORE.0)).unwrap();
}

fn state(path: &Path) -> (u32, i64) {
    let metadata = fs::symlink_metadata(path).unwrap();
    (metadata.mode() & 0o7777, metadata.mtime())
}

/// Calls that change the mode, and calls that change the times, of a file that is open too.
fn calls(path: &CStr, file: &File) -> [Vec<(i64, Vec<u64>)>; 2] {
    let (path, file) = (address(path), number(file));
    let (times, empty) = (address(&TIMES), address(c""));
    let by_descriptor = u64::try_from(libc::AT_EMPTY_PATH).unwrap();
    let mut modes = vec![
        (libc::SYS_fchmod, vec![file, MODE]),
        (libc::SYS_fchmodat, vec![here(), path, MODE]),
        (SYS_FCHMODAT2, vec![here(), path, MODE, 0]),
        (SYS_FCHMODAT2, vec![file, empty, MODE, by_descriptor]),
    ];
    let mut timed = vec![
        (libc::SYS_utimensat, vec![here(), path, times, 0]),
        (libc::SYS_utimensat, vec![file, 0, times, 0]),
        (libc::SYS_utimensat, vec![file, empty, times, by_descriptor]),
    ];
    #[cfg(target_arch = "x86_64")]
    {
        modes.push((libc::SYS_chmod, vec![path, MODE]));
        timed.extend([
            (libc::SYS_utime, vec![path, address(&SECONDS)]),
            (libc::SYS_utimes, vec![path, times]),
            (libc::SYS_futimesat, vec![here(), path, times]),
            (libc::SYS_futimesat, vec![file, 0, times]),
        ]);
    }
    [modes, timed]
}

#[test]
fn only_files_in_the_folders_are_changed() {
    let estate = MetadataFixture::new();
    for (folder, outcome) in [
        ("in", Ok(())),
        ("out", Err(Errno::PERM)),
        ("in-too", Err(Errno::PERM)),
    ] {
        let path = estate.path(folder).join("file");
        let file = File::open(&path).unwrap();
        let named = text(&path);
        let [modes, times] = calls(&named, &file);
        let mode = u32::try_from(MODE).unwrap();
        let changed = [(mode, BEFORE.1), (BEFORE.0, TIMES[2])];
        for (calls, changed) in [modes, times].into_iter().zip(changed) {
            for (call, arguments) in calls {
                reset(&path);
                assert_eq!(estate.call(call, &arguments), outcome, "{folder}: {call}");
                let expected = if outcome.is_ok() { changed } else { BEFORE };
                assert_eq!(state(&path), expected, "{folder}: {call}");
            }
        }
    }
}

#[test]
fn every_filtered_system_call_is_handled() {
    for call in MODES_AND_TIMES {
        let understood = read_call(&Notification::of_this_thread(*call, &[]));
        assert_ne!(understood.err(), Some(Errno::PERM), "{call}");
    }
    let other = read_call(&Notification::of_this_thread(libc::SYS_fchown, &[]));
    assert_eq!(other.err(), Some(Errno::PERM));
}

#[test]
fn the_location_of_the_file_decides_and_not_its_path() {
    let estate = MetadataFixture::new();
    let (inside, outside) = (estate.path("in/file"), estate.path("out/file"));
    symlink(&outside, estate.path("in/link")).unwrap();
    symlink("../in/file", estate.path("out/link")).unwrap();
    symlink(estate.path("out"), estate.path("in/folder")).unwrap();
    let open = File::open(&outside).unwrap();
    let own = File::open(&inside).unwrap();
    let fd = |file: &File| PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
    symlink(fd(&open), estate.path("in/descriptor")).unwrap();
    for (path, outcome) in [
        (estate.path("in/file"), Ok(())),
        (estate.path("out/link"), Ok(())),
        (estate.path("out/../in/./file"), Ok(())),
        (fd(&own), Ok(())),
        (
            PathBuf::from(format!("/dev/fd/{}", own.as_raw_fd())),
            Ok(()),
        ),
        (estate.path("in/link"), Err(Errno::PERM)),
        (estate.path("in/folder/file"), Err(Errno::PERM)),
        (estate.path("in/../out/file"), Err(Errno::PERM)),
        (estate.path("in/descriptor"), Err(Errno::PERM)),
        (fd(&open), Err(Errno::PERM)),
        (estate.path("in/absent"), Err(Errno::NOENT)),
        (estate.path("in/file/file"), Err(Errno::NOTDIR)),
    ] {
        reset(&inside);
        reset(&outside);
        assert_eq!(estate.chmod(&text(&path)), outcome, "{}", path.display());
        let changed = (u32::try_from(MODE).unwrap(), BEFORE.1);
        let expected = if outcome.is_ok() { changed } else { BEFORE };
        assert_eq!(state(&inside), expected, "{}", path.display());
        assert_eq!(state(&outside), BEFORE, "{}", path.display());
    }
}

#[test]
fn names_relative_to_an_open_folder_and_links_are_resolved() {
    let estate = MetadataFixture::new();
    symlink("../out/file", estate.path("in/link")).unwrap();
    let folder = File::open(estate.path("in")).unwrap();
    let file = estate.path("in/file");
    reset(&file);
    let arguments = [number(&folder), address(c"file"), MODE];
    assert_eq!(estate.call(libc::SYS_fchmodat, &arguments), Ok(()));
    assert_eq!(state(&file), (0o640, BEFORE.1));
    reset(&estate.path("out/file"));
    let keep = u64::try_from(libc::AT_SYMLINK_NOFOLLOW).unwrap();
    let arguments = [number(&folder), address(c"link"), address(&TIMES), keep];
    assert_eq!(estate.call(libc::SYS_utimensat, &arguments), Ok(()));
    assert_eq!(state(&estate.path("in/link")).1, TIMES[2]);
    assert_eq!(state(&estate.path("out/file")), BEFORE);
}

#[test]
fn invalid_arguments_fail_with_kernel_errors() {
    let estate = MetadataFixture::new();
    let path = text(&estate.path("in/file"));
    let path = address(&*path);
    let long = CString::new(vec![b'x'; 2 * PATH_BYTES]).unwrap();
    let micros = [1, 1_000_000, 1, 0];
    let cases = [
        (libc::SYS_fchmod, vec![9_999, MODE], Errno::BADF),
        (
            libc::SYS_fchmodat,
            vec![9_999, address(c"file"), MODE],
            Errno::BADF,
        ),
        (libc::SYS_fchmodat, vec![here(), 0, MODE], Errno::FAULT),
        (
            libc::SYS_fchmodat,
            vec![here(), address(c""), MODE],
            Errno::NOENT,
        ),
        (
            libc::SYS_fchmodat,
            vec![here(), address(&*long), MODE],
            Errno::NAMETOOLONG,
        ),
        (SYS_FCHMODAT2, vec![here(), path, MODE, 1], Errno::INVAL),
        (libc::SYS_utimensat, vec![here(), path, 8, 0], Errno::FAULT),
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_utimes, vec![path, address(&micros)], Errno::INVAL),
    ];
    for (call, arguments, errno) in cases {
        assert_eq!(
            estate.call(call, &arguments),
            Err(errno),
            "{call} {arguments:?}"
        );
    }
}

#[test]
fn a_call_of_an_ended_thread_changes_nothing() {
    let estate = MetadataFixture::new();
    let path = estate.path("in/file");
    reset(&path);
    let named = text(&path);
    let arguments = [here(), address(&*named), MODE];
    let notification = Notification::of_this_thread(libc::SYS_fchmodat, &arguments);
    let outcome = change(&notification, &[estate.path("in")], || false);
    assert_eq!((outcome, state(&path)), (Err(Errno::SRCH), BEFORE));
}
