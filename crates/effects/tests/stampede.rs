//! A fork bomb, in a separate test program: during the burst, the kernel may refuse processes to other programs.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test ends at the first surprise"
)]

use std::time::{Duration, Instant};

use charter_contract::agentic::error::ErrorType;
use charter_effects::ToolOutcome;
use serde_json::json;

use support::{bash_call, failure, sandbox};

#[path = "it/support.rs"]
#[allow(dead_code, unused_imports, reason = "shared with the other tests")]
mod support;

#[tokio::test]
async fn a_fork_bomb_is_stopped_and_its_processes_are_killed() {
    let fixture = sandbox().await;
    let mut call = bash_call(
        "exec -a bash bash -c 'bomb() { bomb | bomb & }; bomb; sleep 1000' charter-effects-bomb",
    );
    call.limits.timeout = Duration::from_secs(15);
    let (kind, message, ..) = failure(fixture.run(call).await);
    assert_eq!(
        (kind, message.as_str()),
        (
            ErrorType::ResourceError,
            "the script started more than 64 processes"
        )
    );
    // The machine recovers once the kernel has removed the processes, and the next call succeeds.
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        match fixture.run(bash_call("echo 1")).await {
            ToolOutcome::Succeeded { output, .. } => break assert_eq!(output, json!(1)),
            ToolOutcome::Failed { message, .. } => {
                assert!(Instant::now() < deadline, "{message}");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}
