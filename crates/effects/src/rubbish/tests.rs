//! Trees on which a plain recursive removal overflows the stack, fails, or leaves entries.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{chown, symlink};
use std::time::{Duration, Instant};

use rustix::process::{Gid, Uid, geteuid};

use super::*;

/// An ordinary user.
const USER: u32 = 10_001;

/// Runs `work` as an ordinary user. If the tests run as root, that is on a thread that changes its user.
fn as_ordinary_user(work: impl FnOnce() + Send) {
    thread::scope(|scope| {
        let done = scope.spawn(|| {
            if geteuid().is_root() {
                let (user, group) = (Uid::from_raw(USER), Gid::from_raw(USER));
                rustix::thread::set_thread_groups(&[]).unwrap();
                rustix::thread::set_thread_res_gid(group, group, group).unwrap();
                rustix::thread::set_thread_res_uid(user, user, user).unwrap();
            }
            work();
        });
        done.join().unwrap();
    });
}

fn opened(folder: &Path) -> OwnedFd {
    rustix::fs::open(folder, LISTED, Mode::empty()).unwrap()
}

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).unwrap().next().is_none()
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_tree_deeper_than_any_path_or_stack_is_removed() {
    let dir = tempfile::tempdir().unwrap();
    let bin = opened(dir.path());
    let mut at = opened(dir.path());
    for _ in 0..20_000 {
        rustix::fs::mkdirat(&at, c"d", Mode::RWXU).unwrap();
        at = rustix::fs::openat(&at, c"d", NAMED, Mode::empty()).unwrap();
    }
    empty_bin(bin.as_fd()).unwrap();
    assert!(is_empty(dir.path()));
}

#[test]
fn a_tree_is_removed_completely_and_links_are_not_followed() {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("kept"), "kept").unwrap();
    let dir = tempfile::tempdir().unwrap();
    let call = dir.path().join("call");
    for level in ["a", "a/b", "a/b/c"] {
        let folder = call.join(level);
        fs::create_dir_all(&folder).unwrap();
        for number in 0..500 {
            fs::write(folder.join(number.to_string()), "").unwrap();
            fs::create_dir(folder.join(format!("d{number}"))).unwrap();
        }
        symlink(outside.path(), folder.join("folder")).unwrap();
        symlink(outside.path().join("kept"), folder.join("file")).unwrap();
        symlink("nowhere", folder.join("dangling")).unwrap();
        for name in [&b"\xff\xfe\n"[..], b" ", b"-rf", b"*", &[b'n'; 255]] {
            let folder = folder.join(OsStr::from_bytes(name));
            fs::create_dir(&folder).unwrap();
            fs::write(folder.join(OsStr::from_bytes(name)), "").unwrap();
        }
    }
    symlink(outside.path(), dir.path().join("link")).unwrap();
    empty_bin(opened(dir.path()).as_fd()).unwrap();
    assert!(is_empty(dir.path()));
    let kept = fs::read_to_string(outside.path().join("kept")).unwrap();
    assert_eq!(kept, "kept");
}

#[test]
fn folders_without_write_permission_are_removed() {
    as_ordinary_user(|| {
        let dir = tempfile::tempdir().unwrap();
        for (at, mode) in [0o555, 0o000, 0o300, 0o500, 0o666].into_iter().enumerate() {
            let folder = dir.path().join(at.to_string());
            fs::create_dir_all(folder.join("in/deeper")).unwrap();
            fs::write(folder.join("file"), "").unwrap();
            fs::write(folder.join("in/deeper/file"), "").unwrap();
            set_mode(&folder.join("in/deeper"), mode);
            set_mode(&folder.join("in"), mode);
            set_mode(&folder, mode);
        }
        empty_bin(opened(dir.path()).as_fd()).unwrap();
        assert!(is_empty(dir.path()));
    });
}

#[test]
fn only_the_folder_of_another_user_is_kept() {
    if !geteuid().is_root() {
        // Only root can make such a folder.
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    chown(dir.path(), Some(USER), Some(USER)).unwrap();
    fs::create_dir(dir.path().join("foreign")).unwrap();
    fs::write(dir.path().join("foreign/file"), "").unwrap();
    as_ordinary_user(|| {
        fs::create_dir_all(dir.path().join("own/deeper/still")).unwrap();
        let left = empty_bin(opened(dir.path()).as_fd()).unwrap_err();
        assert_eq!(left.kind(), io::ErrorKind::PermissionDenied);
        let left: Vec<_> = fs::read_dir(dir.path()).unwrap().flatten().collect();
        assert_eq!(left.len(), 1);
        assert_eq!(left[0].file_name(), "foreign");
    });
}

#[test]
fn a_temporary_folder_disappears_immediately_and_is_removed_later() {
    as_ordinary_user(|| {
        let dir = tempfile::tempdir().unwrap();
        let bin = TrashFolder::new(dir.path().join("rubbish")).unwrap();
        let folder = bin.folder_in(dir.path(), "call-").unwrap();
        let path = folder.path().to_path_buf();
        fs::create_dir_all(path.join("a/b/c")).unwrap();
        set_mode(&path, 0o000);
        drop(folder);
        assert!(fs::symlink_metadata(path).is_err());
        let deadline = Instant::now() + Duration::from_secs(20);
        while !is_empty(&dir.path().join("rubbish")) {
            assert!(Instant::now() < deadline, "the folder is not removed");
            thread::yield_now();
        }
    });
}

#[test]
fn folders_discarded_by_an_earlier_process_are_removed_at_the_start() {
    let dir = tempfile::tempdir().unwrap();
    let rubbish = dir.path().join("rubbish");
    fs::create_dir_all(rubbish.join("a/b")).unwrap();
    set_mode(&rubbish, 0o000);
    let _bin = TrashFolder::new(rubbish.clone()).unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    while !is_empty(&rubbish) {
        assert!(Instant::now() < deadline, "the folder is not removed");
        thread::yield_now();
    }
}
