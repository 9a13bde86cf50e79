//! Folders and processes that scripts leave behind: they are removed and reaped, and prevent neither calls nor a start.

use std::fs;
use std::os::unix::fs::chown;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

use charter_effects::{Sandbox, SandboxOptions, ToolRunner};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::support::{USER, as_ordinary_user, bash_call, is_emptied, output, python_call, sandbox};

/// Nests folders deeper than a path or a stack can be: chains of 400 levels, each moved into the end of the next.
const DEEP: &str = r#"
import os
home = os.environ["HOME"]
for chain in range(50):
    os.chdir(home); os.mkdir(f"c{chain}"); os.chdir(f"c{chain}")
    for _ in range(400): os.mkdir("d"); os.chdir("d")
    if chain: os.rename(f"{home}/c{chain - 1}", "d")
print(50 * 400)
"#;

#[tokio::test]
async fn a_folder_of_twenty_thousand_levels_is_removed() {
    let fixture = sandbox().await;
    assert_eq!(output(fixture.run(python_call(DEEP)).await), json!(20_000));
    let folder = fixture.directory.path().join("sandbox");
    assert_eq!(fs::read_dir(folder.join("calls")).unwrap().count(), 0);
    is_emptied(&folder.join("rubbish")).await;
    assert_eq!(output(fixture.run(bash_call("echo 1")).await), json!(1));
}

async fn runs_a_script(sandbox: &Sandbox, source: &str) {
    let outcome = sandbox.run(bash_call(source), CancellationToken::new());
    assert_eq!(output(outcome.await), json!(1));
}

#[test]
fn a_folder_without_write_permission_is_removed() {
    as_ordinary_user(|| async {
        let dir = tempfile::tempdir().unwrap();
        let options = SandboxOptions::new(dir.path().join("sandbox"));
        let sandbox = Sandbox::new(options).await.unwrap();
        let source = r#"cd "$HOME"; mkdir -p ro/in; touch ro/f ro/in/f; chmod 0 ro/in; chmod 555 ro; chmod 0 . ; echo 1"#;
        runs_a_script(&sandbox, source).await;
        let folder = dir.path().join("sandbox");
        assert_eq!(fs::read_dir(folder.join("calls")).unwrap().count(), 0);
        is_emptied(&folder.join("rubbish")).await;
    });
}

/// Creates an old folder of a call, with a file in it.
fn call_of_long_ago(sandbox: &Path, name: &str) {
    let folder = sandbox.join("calls").join(name);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("file"), "").unwrap();
    let opened = fs::File::open(&folder).unwrap();
    opened.set_modified(SystemTime::UNIX_EPOCH).unwrap();
}

#[test]
fn leftovers_that_cannot_be_removed_do_not_stop_the_start() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("not run: only root can make a folder that this user cannot remove");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("sandbox");
    call_of_long_ago(&folder, "call-foreign");
    call_of_long_ago(&folder, "call-own");
    let own = folder.join("calls/call-own");
    let file = own.join("file");
    let paths: [&Path; 5] = [dir.path(), &folder, own.parent().unwrap(), &own, &file];
    for path in paths {
        chown(path, Some(USER), Some(USER)).unwrap();
    }
    as_ordinary_user(|| async {
        let sandbox = Sandbox::new(SandboxOptions::new(&folder)).await.unwrap();
        assert!(!own.exists());
        assert!(folder.join("calls/call-foreign").exists());
        is_emptied(&folder.join("rubbish")).await;
        runs_a_script(&sandbox, "echo 1").await;
    });
}

/// Returns the number of processes in a group, zombies included.
fn members(group: i64) -> usize {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let stats =
        processes.filter_map(|process| fs::read_to_string(process.path().join("stat")).ok());
    let groups = stats.filter_map(|stat| {
        let after_name = stat.rsplit(')').next()?.to_owned();
        after_name.split_whitespace().nth(2)?.parse::<i64>().ok()
    });
    groups.filter(|found| *found == group).count()
}

/// As required of the first process of a container, where no other process reaps orphans.
#[tokio::test]
async fn every_ended_process_is_reaped() {
    let fixture = sandbox().await;
    let source =
        "for i in 1 2 3 4 5 6 7 8; do (sleep 1000 & sleep 1000 &) ; done; sleep 1000 & echo $$";
    let group = output(fixture.run(bash_call(source)).await)
        .as_i64()
        .unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    while members(group) > 0 {
        assert!(Instant::now() < deadline, "{} are left", members(group));
        tokio::task::yield_now().await;
    }
}

/// Zombies count as processes of a call.
#[tokio::test]
async fn orphans_are_reaped_while_their_script_runs() {
    let fixture = sandbox().await;
    let mut call = python_call(
        r#"
import os, time
for _ in range(100):
    child = os.fork()
    if child == 0:
        if os.fork() == 0: os._exit(0)
        os._exit(0)
    os.waitpid(child, 0)
    time.sleep(0.02)
print(1)
"#,
    );
    call.limits.processes = 48;
    assert_eq!(output(fixture.run(call).await), json!(1));
}

/// The path of a test of this file, for the program itself.
const ORPHAN_TEST: &str = "leftovers::an_orphan_of_another_process_is_reaped";

/// As when `docker exec` leaves a process behind: only the first process can reap it.
#[test]
fn the_first_process_reaps_every_orphan() {
    let within = |command: &[&str]| {
        let mut unshare = Command::new("unshare");
        unshare.args([
            "--user",
            "--map-root-user",
            "--pid",
            "--fork",
            "--mount-proc",
        ]);
        unshare.args(command).output()
    };
    match within(&["true"]) {
        Ok(probe) if probe.status.success() => {}
        refused => {
            eprintln!("not run: no namespace of processes can be made: {refused:?}");
            return;
        }
    }
    let own = std::env::current_exe().unwrap();
    for test in [ORPHAN_TEST, "leftovers::every_ended_process_is_reaped"] {
        let ran = within(&[own.to_str().unwrap(), "--exact", test, "--include-ignored"]).unwrap();
        let said = String::from_utf8_lossy(&ran.stdout);
        assert!(said.contains("1 passed"), "{said}{ran:?}");
    }
}

#[test]
#[ignore = "started by the_first_process_reaps_every_orphan"]
fn an_orphan_of_another_process_is_reaped() {
    assert_eq!(std::process::id(), 1);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let _fixture = runtime.block_on(sandbox());
    let leaving = "setsid sleep 0 & echo $!";
    let left = Command::new("sh").args(["-c", leaving]).output().unwrap();
    let orphan = String::from_utf8(left.stdout).unwrap();
    let entry = Path::new("/proc").join(orphan.trim());
    let deadline = Instant::now() + Duration::from_secs(60);
    while entry.exists() {
        assert!(Instant::now() < deadline, "{orphan} is left");
        std::thread::yield_now();
    }
}
