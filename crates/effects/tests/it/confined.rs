//! Readers of sources, filters and templates: each runs in a process that ends at its limits and with its caller.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use charter_contract::agentic::error::ErrorType;
use charter_effects::{Language, Media, RawSource, SourceFault, Sources, ToolRunner};
use tokio_util::sync::CancellationToken;

use crate::support::{Fixture, failure, sandbox_of, script_call};

/// Builds a program that never ends, and has `mark` in its command line.
fn endless(mark: &str) -> Option<(PathBuf, Vec<String>)> {
    let script = format!(": {mark}; while :; do :; done");
    Some(("/bin/sh".into(), vec!["-c".to_owned(), script]))
}

/// Whether a process has `mark` in its command line. Zombies have none.
fn is_running(mark: &str) -> bool {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let mut lines =
        processes.filter_map(|process| fs::read_to_string(process.path().join("cmdline")).ok());
    lines.any(|line| line.contains(mark))
}

async fn appears(mark: &str) {
    wait_for(|| is_running(mark)).await;
}

async fn disappears(mark: &str) {
    wait_for(|| !is_running(mark)).await;
}

async fn wait_for(condition: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !condition() {
        assert!(Instant::now() < deadline, "it did not come to that");
        tokio::task::yield_now().await;
    }
}

/// Creates a sandbox whose readers, filters and templates never end.
async fn endless_sandbox(mark: &str) -> Fixture {
    sandbox_of(|options| {
        options.extractor = endless(mark);
        options.filter = endless(mark);
        options.renderer = endless(mark);
    })
    .await
}

fn mark(test: &str) -> String {
    format!("{test}-{}", std::process::id())
}

fn page() -> RawSource {
    RawSource {
        bytes: b"# A page".to_vec(),
        media: Media::of_file("page.md"),
    }
}

#[tokio::test]
async fn a_filter_and_a_template_that_hang_time_out() {
    let mark = mark("late");
    let fixture = endless_sandbox(&mark).await;
    for language in [Language::Filter, Language::Template] {
        let mut call = script_call(language, ".");
        call.limits.timeout = Duration::from_millis(300);
        let (kind, message, _, _) = failure(fixture.run(call).await);
        assert_eq!(
            (kind, message.as_str()),
            (
                ErrorType::TimeoutError,
                "the script did not end within 300 ms"
            )
        );
        disappears(&mark).await;
    }
}

#[tokio::test]
async fn a_filter_and_a_template_that_use_up_their_processor_time_are_ended() {
    let mark = mark("busy");
    let fixture = endless_sandbox(&mark).await;
    for language in [Language::Filter, Language::Template] {
        let mut call = script_call(language, ".");
        call.limits.timeout = Duration::from_secs(120);
        call.limits.cpu_seconds = 1;
        let (kind, _, _, _) = failure(fixture.run(call).await);
        assert_eq!(kind, ErrorType::ResourceError);
        disappears(&mark).await;
    }
}

/// The call may be cancelled by its token, or dropped because its caller's connection closed.
#[tokio::test]
async fn a_reader_a_filter_and_a_template_end_with_their_caller() {
    let mark = mark("left");
    let fixture = endless_sandbox(&mark).await;
    let sandbox = &fixture.sandbox;
    let cancel = CancellationToken::new();
    let cancelled = async {
        appears(&mark).await;
        cancel.cancel();
    };
    let (read, ()) = tokio::join!(sandbox.extract(page(), &cancel), cancelled);
    assert_eq!(read.unwrap_err().kind, SourceFault::Unreachable);
    disappears(&mark).await;

    let never = CancellationToken::new();
    tokio::select! {
        read = sandbox.extract(page(), &never) => panic!("{read:?}"),
        () = appears(&mark) => {}
    }
    disappears(&mark).await;

    for language in [Language::Filter, Language::Template] {
        let mut call = script_call(language, ".");
        call.limits.timeout = Duration::from_secs(120);
        call.limits.cpu_seconds = 120;
        tokio::select! {
            outcome = sandbox.run(call, CancellationToken::new()) => panic!("{outcome:?}"),
            () = appears(&mark) => {}
        }
        disappears(&mark).await;
    }
}
