//! Modes, owners, times and attributes: those of files outside a call's folders do not change, and tools work in the
//! call's folders. With namespaces (read-only mounts), without (the server makes the changes), and without
//! notifications (changes fail).

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use charter_effects::CapabilityState;
use serde_json::{Map, Value, json};

use crate::support::{Fixture, both, output, python_call, without_notifications};

/// Tries each call that changes metadata, with each way to name the file: on files outside, and prints which worked; on
/// a file of its own, and prints which failed. Also tries to link the files outside into its folder.
const TRY: &str = r##"
import ctypes, errno, json, os, struct, sys
parameters = json.load(sys.stdin)["parameters"]
libc = ctypes.CDLL(None, use_errno=True)
home, here, follow_none, by_descriptor = os.environ["HOME"], -100, 0x100, 0x1000
two = ctypes.create_string_buffer(struct.pack("2q", 5, 7))
four = ctypes.create_string_buffer(struct.pack("4q", 5, 0, 7, 0))
value = ctypes.create_string_buffer(b"y")
xattr = ctypes.create_string_buffer(struct.pack("QII", ctypes.addressof(value), 1, 0))
flags = ctypes.create_string_buffer(struct.pack("l", 0x40))
attributes = ctypes.create_string_buffer(32)
def calls(path, fd):
    path, user, empty = path.encode(), os.getuid(), b""
    modes = {
        "chmod": (90, path, 0o640), "fchmod": (91, fd, 0o640), "fchmodat": (268, here, path, 0o640),
        "fchmodat2": (452, here, path, 0o640, 0), "fchmodat2 fd": (452, fd, empty, 0o640, by_descriptor),
    }
    times = {
        "utime": (132, path, two), "utimes": (235, path, four), "futimesat": (261, here, path, four),
        "futimesat fd": (261, fd, None, four), "utimensat": (280, here, path, four, 0), "utimensat fd": (280, fd, None, four, 0),
        "utimensat link": (280, here, path, four, follow_none), "now": (280, here, path, None, 0),
    }
    others = {
        "chown": (92, path, user, -1), "fchown": (93, fd, user, -1), "lchown": (94, path, user, -1),
        "fchownat": (260, here, path, user, -1, 0),
        "setxattr": (188, path, b"user.x", value, 1, 0), "lsetxattr": (189, path, b"user.x", value, 1, 0),
        "fsetxattr": (190, fd, b"user.x", value, 1, 0), "setxattrat": (463, here, path, 0, b"user.x", xattr, 16),
        "removexattr": (197, path, b"user.x"), "lremovexattr": (198, path, b"user.x"), "fremovexattr": (199, fd, b"user.x"),
        "removexattrat": (466, here, path, 0, b"user.x"), "file_setattr": (469, here, path, attributes, 32, 0),
        "flags": (16, fd, 0x40086602, flags), "fsxattr": (16, fd, 0x401c5820, attributes),
    }
    return modes, times, others
def work(call):
    ended = libc.syscall(*(ctypes.c_long(part) if isinstance(part, int) else part for part in call))
    return ended >= 0
def is_absent(): return ctypes.get_errno() == errno.ENOSYS
def opened(path):
    try: return os.open(path, os.O_RDONLY)
    except OSError: pass
    try: return os.open(path, os.O_PATH)
    except OSError: return -1
worked = []
for at, path in enumerate(parameters["outside"]):
    fd = opened(path)
    os.symlink(os.path.abspath(path), f"{home}/link{at}")
    for name in (path, os.path.relpath(path), f"{home}/link{at}", f"/proc/self/fd/{fd}", f"/dev/fd/{fd}", f"/proc/{os.getpid()}/fd/{fd}"):
        for kind in calls(name, fd):
            for call in kind:
                # The script may change its own link.
                if call in ("utimensat link", "lchown", "lsetxattr", "lremovexattr") and "/link" in name: continue
                if work(kind[call]): worked.append([call, name])
    source, descriptor = path.encode(), f"/proc/self/fd/{fd}".encode()
    ways = {
        "link": (86, source), "linkat": (265, here, source, here), "linkat fd": (265, here, descriptor, here),
        "linkat empty": (265, fd, b"", here), "rename": (82, source), "renameat2": (316, here, source, here),
    }
    for at_way, (way, call) in enumerate(ways.items()):
        made = f"{home}/made{at}-{at_way}"
        more = {"linkat": (0,), "linkat fd": (0x400,), "linkat empty": (0x1000,), "renameat2": (0,)}.get(way, ())
        if work((*call, made.encode(), *more)): worked.append([way, path])
def attempt(change, *arguments):
    try: change(*arguments)
    except PermissionError: pass
own = f"{home}/file"
open(own, "w").close()
fd, failed = os.open(own, os.O_RDONLY), []
os.chdir(home)
for name in (own, "file", f"/proc/self/fd/{fd}", f"/dev/fd/{fd}"):
    modes, times, _ = calls(name, fd)
    for call in modes:
        attempt(os.fchmod, fd, 0o600)
        if not work(modes[call]):
            if not is_absent(): failed.append([call, name])
        elif os.stat(own).st_mode & 0o777 != 0o640: failed.append([call, name])
    for call in times:
        # These names are links in /proc.
        if call == "utimensat link" and "/fd/" in name: continue
        attempt(os.utime, fd, (1, 1))
        if not work(times[call]) or (os.stat(own).st_mtime != 7) != (call == "now"): failed.append([call, name])
print(json.dumps({"worked": worked, "failed": failed}))
"##;

/// Returns mode, owner, group and time of modification.
fn state(path: &Path) -> (u32, u32, u32, i64) {
    let metadata = fs::metadata(path).unwrap();
    let (mode, user, group) = (metadata.mode(), metadata.uid(), metadata.gid());
    (mode, user, group, metadata.mtime())
}

/// Returns the output of [`TRY`], and asserts that its files outside are unchanged.
async fn tried(fixture: &Fixture) -> Value {
    let folder = fixture.directory.path();
    let (victim, granted) = (folder.join("victim"), folder.join("granted"));
    for file in [&victim, &granted] {
        fs::write(file, "text").unwrap();
    }
    let sandbox = folder.join("sandbox");
    let paths = [
        victim.as_path(),
        granted.as_path(),
        folder,
        sandbox.as_path(),
    ];
    let states = || paths.map(state);
    let before = states();
    let mut call = python_call(TRY);
    let outside = json!([victim, granted, "scripts/tool", folder, sandbox, "."]);
    call.parameters = Map::from_iter([("outside".to_owned(), outside)]);
    call.readable = vec![granted.clone()];
    let printed = output(fixture.run(call).await);
    assert_eq!(states(), before);
    printed
}

#[tokio::test]
async fn metadata_outside_the_private_folder_is_unchanged() {
    if cfg!(not(target_arch = "x86_64")) {
        // The script has the system call numbers of this architecture only.
        return;
    }
    for fixture in both().await {
        assert_eq!(tried(&fixture).await, json!({"worked": [], "failed": []}));
    }
    let refusing = without_notifications().await;
    assert_eq!(tried(&refusing).await["worked"], json!([]));
}

/// Changes its own file, and prints the error numbers and the file's content.
const OWN: &str = r#"
import json, os
def error_of(change, *arguments):
    try: change(*arguments)
    except OSError as error: return error.errno
os.chdir(os.environ["HOME"])
open("file", "w").write("x"); os.rename("file", "renamed")
changes = {"chmod": error_of(os.chmod, "renamed", 0o640), "utime": error_of(os.utime, "renamed", (5, 7))}
print(json.dumps({**changes, "text": open("renamed").read()}))
"#;

/// Without mounts or notifications, the kernel refuses a change; files can still be written.
#[tokio::test]
async fn without_confinement_metadata_changes_are_refused_everywhere() {
    let fixture = without_notifications().await;
    let refused = rustix::io::Errno::PERM.raw_os_error();
    assert_eq!(
        output(fixture.run(python_call(OWN)).await),
        json!({"chmod": refused, "utime": refused, "text": "x"})
    );
    let capabilities = fixture.sandbox.capabilities().await.into_iter();
    let mut named = capabilities.filter(|capability| capability.name == "metadata");
    let metadata = named.next().unwrap();
    let CapabilityState::Partial { gap } = &metadata.state else {
        panic!("{metadata:?}");
    };
    let told = "they also fail in a call's own folders, where git, tar, pip and others need them";
    assert!(gap.starts_with(told), "{gap}");
}

#[tokio::test]
async fn the_sandbox_reports_how_metadata_is_protected() {
    for fixture in both().await {
        let capabilities = fixture.sandbox.capabilities().await.into_iter();
        let mut named = capabilities.filter(|capability| capability.name == "metadata");
        let metadata = named.next().unwrap();
        assert_eq!(metadata.state, CapabilityState::Enforced, "{metadata:?}");
    }
}

/// Copies with modes and times, packs and unpacks, commits and clones, installs.
const TOOLS: &str = r#"
import importlib.util, json, os, shutil, subprocess, sys, zipfile
os.chdir(os.environ["HOME"])
def run(*command): return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
def kept(path): return [oct(os.stat(path).st_mode & 0o777), os.stat(path).st_mtime]
def is_program(path): return os.stat(path).st_mode & 0o100 != 0
os.mkdir("from"); open("from/file", "w").write("x"); os.symlink("file", "from/link")
os.chmod("from/file", 0o750); os.utime("from/file", (5, 7)); os.utime("from/link", (5, 7), follow_symlinks=False)
shutil.copytree("from", "copied", symlinks=True)
run("tar", "cf", "from.tar", "from"); os.mkdir("out"); run("tar", "xpf", "from.tar", "-C", "out")
run("git", "init", "-q", "made")
run("git", "-C", "made", "config", "user.name", "n"); run("git", "-C", "made", "config", "user.email", "e@example.com")
shutil.copy2("from/file", "made/file"); run("git", "-C", "made", "add", "file"); run("git", "-C", "made", "commit", "-qm", "one")
run("git", "clone", "-q", "made", "cloned")
done = {"python": kept("copied/file"), "tar": kept("out/from/file"), "git": is_program("cloned/file")}
with zipfile.ZipFile("tiny-1.0-py3-none-any.whl", "w") as wheel:
    info = "tiny-1.0.dist-info/"
    wheel.writestr("tiny.py", "def main(): print('tiny')\n")
    wheel.writestr(info + "METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n")
    wheel.writestr(info + "WHEEL", "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    wheel.writestr(info + "entry_points.txt", "[console_scripts]\ntiny = tiny:main\n")
    wheel.writestr(info + "RECORD", "".join(f"{name},,\n" for name in ["tiny.py", *(info + x for x in ("METADATA", "WHEEL", "entry_points.txt", "RECORD"))]))
done["pip"] = True
if importlib.util.find_spec("pip"):
    run(sys.executable, "-m", "pip", "install", "-q", "--no-index", "--no-deps", "--disable-pip-version-check", "--target", "installed", "tiny-1.0-py3-none-any.whl")
    done["pip"] = is_program("installed/bin/tiny")
done["node"] = "0o750"
if os.path.exists("/usr/bin/node"):
    run("/usr/bin/node", "-e", "const fs = require('fs'); fs.writeFileSync('n', ''); fs.chmodSync('n', 0o750); fs.utimesSync('n', 5, 7); fs.cpSync('from', 'noded', {recursive: true, preserveTimestamps: true})")
    done["node"] = kept("n")[0]
print(json.dumps(done))
"#;

#[tokio::test]
async fn python_git_tar_pip_and_node_work_in_the_private_folder() {
    for fixture in both().await {
        assert_eq!(
            output(fixture.run(python_call(TOOLS)).await),
            json!({"python": ["0o750", 7.0], "tar": ["0o750", 7.0], "git": true, "pip": true, "node": "0o750"})
        );
    }
}
