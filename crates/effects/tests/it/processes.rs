//! Limits of a call, and that none of its processes outlives it.

use charter_contract::agentic::error::ErrorType;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use charter_effects::{Limits, ToolOutcome, ToolRunner};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::support::{Fixture, bash_call, failure, is_alive, output, python_call, sandbox};

/// Starts children in every way that might leave the group, prints their ids on stderr, and never ends.
const STRAGGLERS: &str = r#"
(sleep 1000 & echo "pid $!" >&2; sleep 1000 & echo "pid $!" >&2)
setsid sleep 1001 2> /dev/null & echo "pid $!" >&2
nohup bash -c 'trap "" TERM HUP INT; sleep 1000' > /dev/null 2>&1 & echo "pid $!" >&2
echo "pid $$" >&2
"#;

fn pids(log: &str) -> Vec<i64> {
    log.lines()
        .filter_map(|line| line.strip_prefix("pid "))
        .map(|pid| pid.parse().unwrap())
        .collect()
}

fn assert_all_dead(log: &str) {
    let pids = pids(log);
    assert_eq!(pids.len(), 5, "{log}");
    // A killed process takes a moment to end; these would otherwise live for a quarter of an hour.
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let alive: Vec<i64> = pids.iter().copied().filter(|pid| is_alive(*pid)).collect();
        if alive.is_empty() {
            return;
        }
        assert!(Instant::now() < deadline, "still alive: {alive:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[tokio::test]
async fn b003_7_a_timeout_kills_the_script_and_its_grandchildren() {
    let fixture = sandbox().await;
    let mut call = bash_call(&format!("{STRAGGLERS}\nsleep 1000"));
    call.limits.timeout = Duration::from_millis(700);
    let started = Instant::now();
    let (kind, message, retryable, log) = failure(fixture.run(call).await);
    assert_eq!(
        (kind, message.as_str(), retryable),
        (
            ErrorType::TimeoutError,
            "the script did not end within 700 ms",
            true
        )
    );
    assert!(started.elapsed() < Duration::from_secs(5));
    assert_all_dead(&log);
}

#[tokio::test]
async fn remaining_children_of_an_ended_script_are_killed() {
    let fixture = sandbox().await;
    match fixture
        .run(bash_call(&format!("{STRAGGLERS}\necho 1")))
        .await
    {
        ToolOutcome::Succeeded {
            output,
            log,
            duration_ms,
        } => {
            assert_eq!(output, json!(1));
            assert!(duration_ms < 5_000);
            assert_all_dead(&log);
        }
        failed @ ToolOutcome::Failed { .. } => panic!("{failed:?}"),
    }
}

#[tokio::test]
async fn cancelling_kills_the_group() {
    let fixture = sandbox().await;
    let cancel = CancellationToken::new();
    let running = fixture.sandbox.run(
        bash_call(&format!("{STRAGGLERS}\n{READY}\nsleep 1000")),
        cancel.clone(),
    );
    let cancelling = async {
        has_started(&fixture).await;
        cancel.cancel();
    };
    let (outcome, ()) = tokio::join!(running, cancelling);
    let (kind, message, retryable, log) = failure(outcome);
    assert_eq!(
        (kind, message.as_str(), retryable),
        (ErrorType::ExecutionError, "the call was cancelled", true)
    );
    assert_all_dead(&log);

    let before_start = fixture.sandbox.run(bash_call("echo 1"), cancel).await;
    assert_eq!(failure(before_start).1, "the call was cancelled");
}

#[tokio::test]
async fn dropping_the_future_kills_the_group() {
    let fixture = sandbox().await;
    // A child of the leader; dropping the handle kills only the leader.
    let call = bash_call(&format!(
        "(exec -a charter-effects-dropped sleep 1000) & {READY}; wait"
    ));
    let running = fixture.sandbox.run(call, CancellationToken::new());
    tokio::select! {
        outcome = running => panic!("{outcome:?}"),
        _ = has_started(&fixture) => {}
    }
    let deadline = Instant::now() + Duration::from_secs(5);
    while is_running("charter-effects-dropped") {
        assert!(Instant::now() < deadline, "the child outlived its call");
        tokio::task::yield_now().await;
    }
}

/// The kernel ends a confined process with the thread that started it, so that must not be the caller's thread.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_script_outlives_the_thread_that_started_it() {
    let fixture = sandbox().await;
    let call = bash_call(&format!(
        "{READY}; until [ -e \"$TMPDIR/go\" ]; do sleep 0.01; done; echo 1"
    ));
    let mut running = fixture.sandbox.run(call, CancellationToken::new());
    let runtime = tokio::runtime::Handle::current();
    let folder = std::thread::scope(|scope| {
        let asking = scope.spawn(|| {
            runtime.block_on(async {
                tokio::select! {
                    outcome = &mut running => panic!("{outcome:?}"),
                    folder = has_started(&fixture) => folder,
                }
            })
        });
        asking.join().unwrap()
    });
    std::fs::write(folder.join("go"), "").unwrap();
    assert_eq!(output(running.await), json!(1));
}

/// A script runs this to report its progress.
const READY: &str = "touch \"$TMPDIR/ready\"";

/// Waits for `READY` in the private folder of the only running call, and returns that folder.
async fn has_started(fixture: &Fixture) -> PathBuf {
    let calls = fixture.directory.path().join("sandbox/calls");
    loop {
        let folders = std::fs::read_dir(&calls).unwrap().flatten();
        let mut folders = folders.map(|folder| folder.path());
        if let Some(folder) = folders.find(|folder| folder.join("ready").exists()) {
            return folder;
        }
        tokio::task::yield_now().await;
    }
}

fn is_running(name: &str) -> bool {
    std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .any(|process| {
            std::fs::read(process.path().join("cmdline"))
                .is_ok_and(|line| line.starts_with(name.as_bytes()))
        })
}

#[tokio::test]
async fn endless_output_is_cut_off() {
    let fixture = sandbox().await;
    let mut call = bash_call("exec yes");
    call.limits.output_bytes = 1 << 20;
    let (kind, message, ..) = failure(fixture.run(call).await);
    assert_eq!(
        (kind, message.as_str()),
        (
            ErrorType::ResourceError,
            "the script printed more than 1048576 bytes"
        )
    );
}

#[tokio::test]
async fn the_log_is_the_end_of_stderr_within_its_bound() {
    let fixture = sandbox().await;
    let call = python_call(
        "import sys\nfor i in range(200000): print('line', i, file=sys.stderr)\nprint(1)",
    );
    match fixture.run(call).await {
        ToolOutcome::Succeeded { log, .. } => {
            assert!(
                (Limits::LOG_BYTES - 16..=Limits::LOG_BYTES).contains(&log.len()),
                "{}",
                log.len()
            );
            assert!(log.ends_with("line 199998\nline 199999\n"));
        }
        failed @ ToolOutcome::Failed { .. } => panic!("{failed:?}"),
    }
}

#[tokio::test]
async fn memory_cpu_and_file_limits_are_resource_errors() {
    let fixture = sandbox().await;
    let mut memory = python_call("x = bytearray(600 << 20)");
    memory.limits.memory_bytes = 512 << 20;
    let mut cpu = bash_call("while :; do :; done");
    cpu.limits.cpu_seconds = 1;
    let mut file = bash_call("head -c 2000000 /dev/zero > \"$TMPDIR/x\"");
    file.limits.file_bytes = 1 << 20;
    let (memory, cpu, file) =
        tokio::join!(fixture.run(memory), fixture.run(cpu), fixture.run(file));
    let said = [memory, cpu, file].map(|outcome| {
        let (kind, message, ..) = failure(outcome);
        (kind, message)
    });
    assert_eq!(
        said,
        [
            (
                ErrorType::ResourceError,
                "the script ran out of its 536870912 bytes of memory".to_owned()
            ),
            (
                ErrorType::ResourceError,
                "the script exceeded its 1 s of CPU time".to_owned()
            ),
            (
                ErrorType::ResourceError,
                "the script wrote a file over 1048576 bytes".to_owned()
            ),
        ]
    );
}

#[tokio::test]
async fn open_files_and_core_dumps_are_limited() {
    let fixture = sandbox().await;
    let call = python_call(
        "import json, resource as r; print(json.dumps([r.getrlimit(x) for x in (r.RLIMIT_NOFILE, r.RLIMIT_CORE)]))",
    );
    assert_eq!(output(fixture.run(call).await), json!([[256, 256], [0, 0]]));
}

#[tokio::test]
async fn a_script_need_not_read_its_input() {
    let fixture = sandbox().await;
    let mut call = bash_call("exec <&-; echo 1");
    call.parameters
        .insert("big".into(), json!("x".repeat(1 << 20)));
    assert_eq!(output(fixture.run(call).await), json!(1));
}
