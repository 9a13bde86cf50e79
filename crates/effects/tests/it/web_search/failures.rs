//! Failed answers: the classification of each, and whether there is a retry.

use std::time::{Duration, Instant};

use charter_contract::agentic::error::ErrorType::{
    self, ExecutionError, InputError, PermissionError, ResourceError, TimeoutError,
};
use charter_effects::{Limits, SearchProvider, ToolCall, ToolOutcome, ToolRunner};
use charter_testkit::http_stub::{HttpStub, Pacing, Reply};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{BRAVE, KEY, QUESTION, SEARXNG, options, recorded, search, search_stubbed};
use crate::support::{failure, output, sandbox};

/// Provider, status, answer, and expected failure: kind, whether a retry may help, message.
type Case = (
    SearchProvider,
    u16,
    &'static str,
    ErrorType,
    bool,
    &'static str,
);

const TOKEN: &str = recorded!("brave/error_422_token.json");
const NO_SUBSCRIPTION: &str = recorded!("brave/error_404_subscription.json");
const FORBIDDEN: &str = recorded!("brave/error_403.json");
const QUERY: &str = recorded!("brave/error_422_query.json");
const RATE: &str = recorded!("brave/error_429.json");
const QUOTA: &str = recorded!("brave/error_429_quota.json");
const BROKEN: &str = recorded!("brave/error_500.json");
const NO_JSON_ALLOWED: &str = recorded!("searxng/error_403.html");
const NO_LANGUAGE: &str = recorded!("searxng/error_400.json");
const LIMITED: &str = recorded!("searxng/error_429.html");
const SILENT: &str = recorded!("searxng/engines_silent.json");
const PAGE: &str = recorded!("searxng/page.html");
const BRAVE_FOUND: &str = recorded!("brave/success.json");
const SEARXNG_FOUND: &str = recorded!("searxng/success.json");

const NO_JSON: &str = "answered with invalid JSON";

#[rustfmt::skip]
const ONCE: [Case; 27] = [
    (BRAVE, 401, "{}", PermissionError, false, "rejected the key (401)"),
    (BRAVE, 403, FORBIDDEN, PermissionError, false, "rejected the key (403)"),
    (BRAVE, 422, TOKEN, PermissionError, false, "rejected the key (422)"),
    (BRAVE, 404, NO_SUBSCRIPTION, PermissionError, false, "rejected the key (404)"),
    (BRAVE, 402, "{}", ResourceError, false, "reported that the account's quota is exhausted (402)"),
    (BRAVE, 429, QUOTA, ResourceError, false, "reported that the account's quota is exhausted (429)"),
    (BRAVE, 422, QUERY, InputError, false, "rejected the query (422)"),
    (BRAVE, 400, "{}", InputError, false, "rejected the query (400)"),
    (BRAVE, 404, "<html>", ExecutionError, false, "was not found at its address (404)"),
    (BRAVE, 302, "", ExecutionError, false, "answered with a redirect, which is not followed (302)"),
    (BRAVE, 418, "{}", ExecutionError, false, "failed (418)"),
    (SEARXNG, 401, "", PermissionError, false, "denied this: add `json` to its `search.formats` (401)"),
    (SEARXNG, 403, NO_JSON_ALLOWED, PermissionError, false, "denied this: add `json` to its `search.formats` (403)"),
    (SEARXNG, 400, NO_LANGUAGE, InputError, false, "rejected the query (400)"),
    (SEARXNG, 404, "", ExecutionError, false, "was not found at its address (404)"),
    (SEARXNG, 200, SILENT, ExecutionError, true, "found nothing, and 3 of its engines did not answer"),
    (SEARXNG, 200, PAGE, ExecutionError, false, NO_JSON),
    (SEARXNG, 200, "", ExecutionError, false, NO_JSON),
    (SEARXNG, 200, r#"{"results": {"a": 1}}"#, ExecutionError, false, NO_JSON),
    (SEARXNG, 200, r#"{"query": "q"}"#, ExecutionError, false, NO_JSON),
    (SEARXNG, 200, "[]", ExecutionError, false, NO_JSON),
    (SEARXNG, 200, r#"{"results": [{"url": "https://example.org/", "title": "#, ExecutionError, false, NO_JSON),
    (BRAVE, 200, PAGE, ExecutionError, false, NO_JSON),
    (BRAVE, 200, r#"{"type": "search", "web": []}"#, ExecutionError, false, NO_JSON),
    (BRAVE, 200, r#"{"type": "search", "web": {"results": "none"}}"#, ExecutionError, false, NO_JSON),
    // One provider's answer is invalid for the other.
    (BRAVE, 200, SEARXNG_FOUND, ExecutionError, false, NO_JSON),
    (SEARXNG, 200, BRAVE_FOUND, ExecutionError, false, NO_JSON),
];

fn reply(status: u16, body: &str) -> Reply {
    Reply::json(status, body).with_header("location", "http://127.0.0.1:9/elsewhere")
}

#[tokio::test(flavor = "multi_thread")]
async fn b003_3_each_failed_answer_is_classified() {
    for (provider, status, body, kind, retryable, happened) in ONCE {
        let (outcome, seen) = search_stubbed(provider, vec![reply(status, body)], |_| {}).await;
        let message = format!("the search provider `{}` {happened}", provider.as_str());
        let failed = failure(outcome);
        assert_eq!(
            (failed.0, failed.1.as_str(), failed.2),
            (kind, message.as_str(), retryable)
        );
        assert_eq!(seen.len(), 1, "{provider:?} {status} is not asked again");
    }
}

#[rustfmt::skip]
const AGAIN: [Case; 8] = [
    (BRAVE, 429, RATE, ResourceError, true, "reported a rate limit (429)"),
    (BRAVE, 500, BROKEN, ExecutionError, true, "failed (500)"),
    (BRAVE, 502, "<html>", ExecutionError, true, "failed (502)"),
    (BRAVE, 503, "", ResourceError, true, "is overloaded (503)"),
    (BRAVE, 504, "", TimeoutError, true, "did not answer in time (504)"),
    (SEARXNG, 408, "", TimeoutError, true, "did not answer in time (408)"),
    (SEARXNG, 429, LIMITED, ResourceError, true, "reported a rate limit (429)"),
    (SEARXNG, 500, "", ExecutionError, true, "failed (500)"),
];

#[tokio::test(flavor = "multi_thread")]
async fn a_retryable_failure_is_retried_once() {
    for (provider, status, body, kind, retryable, happened) in AGAIN {
        let replies = vec![reply(status, body); 3];
        let (outcome, seen) = search_stubbed(provider, replies, |_| {}).await;
        let message = format!("the search provider `{}` {happened}", provider.as_str());
        let failed = failure(outcome);
        assert_eq!(
            (failed.0, failed.1.as_str(), failed.2),
            (kind, message.as_str(), retryable)
        );
        assert_eq!(seen.len(), 2, "{provider:?} {status}");
        let found = if provider == BRAVE {
            BRAVE_FOUND
        } else {
            SEARXNG_FOUND
        };
        let replies = vec![reply(status, body), Reply::json(200, found)];
        let (outcome, seen) = search_stubbed(provider, replies, |_| {}).await;
        assert_eq!(output(outcome)["results"].as_array().unwrap().len(), 3);
        assert_eq!(seen.len(), 2, "{provider:?} {status}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn retry_after_is_respected_within_the_timeout_of_the_call() {
    let found = || Reply::json(200, BRAVE_FOUND);
    let limited = |after: &str| reply(429, RATE).with_header("retry-after", after);
    let started = Instant::now();
    let (outcome, _) = search_stubbed(BRAVE, vec![limited("1"), found()], |_| {}).await;
    output(outcome);
    assert!(started.elapsed() >= Duration::from_secs(1));
    // The pause exceeds the longest one, or the call's remaining time.
    let server = HttpStub::answering(vec![limited("3"), found()]).unwrap();
    let call = search(options(BRAVE, &server), json!({"query": QUESTION}));
    let (kind, ..) = failure(sandbox().await.run(call).await);
    assert_eq!((kind, server.seen().len()), (ResourceError, 1));
    let server = HttpStub::answering(vec![limited("1"), found()]).unwrap();
    let call = brief(
        search(options(BRAVE, &server), json!({"query": QUESTION})),
        Duration::from_millis(900),
    );
    let (kind, ..) = failure(sandbox().await.run(call).await);
    assert_eq!((kind, server.seen().len()), (ResourceError, 1));
}

fn brief(call: ToolCall, timeout: Duration) -> ToolCall {
    ToolCall {
        limits: Limits {
            timeout,
            ..Limits::default()
        },
        ..call
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unanswering_provider_times_out() {
    let (outcome, seen) = search_stubbed(SEARXNG, vec![Reply::never()], |options| {
        options.attempt_timeout = Duration::from_millis(200);
    })
    .await;
    let (kind, message, retryable, _) = failure(outcome);
    let late = "the search provider `searxng` did not answer within 200 ms";
    assert_eq!(
        (kind, message.as_str(), retryable),
        (TimeoutError, late, true)
    );
    assert_eq!(seen.len(), 1);
    // The call's own timeout applies if it is shorter.
    let server = HttpStub::answering(vec![Reply::never()]).unwrap();
    let call = search(options(SEARXNG, &server), json!({"query": QUESTION}));
    let outcome = sandbox()
        .await
        .run(brief(call, Duration::from_millis(150)))
        .await;
    assert!(failure(outcome).1.ends_with("within 150 ms"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_abandoned_search_ends() {
    let server = HttpStub::answering(vec![Reply::never()]).unwrap();
    let call = search(options(SEARXNG, &server), json!({"query": QUESTION}));
    let fixture = sandbox().await;
    let cancel = CancellationToken::new();
    let (outcome, ()) = tokio::join!(fixture.sandbox.run(call, cancel.clone()), async {
        while server.seen().is_empty() {
            tokio::task::yield_now().await;
        }
        cancel.cancel();
    });
    let (kind, message, ..) = failure(outcome);
    assert_eq!(
        (kind, message.as_str()),
        (ExecutionError, "the call was cancelled")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn truncated_and_missing_answers_are_retryable() {
    let broken = Reply::json(200, BRAVE_FOUND).paced(Pacing::BreakOffAfter(100));
    let (outcome, _) = search_stubbed(BRAVE, vec![broken], |_| {}).await;
    let (kind, message, retryable, _) = failure(outcome);
    assert_eq!((kind, retryable), (ExecutionError, true));
    assert!(message.contains("was interrupted"), "{message}");
    let (outcome, _) = search_stubbed(BRAVE, Vec::new(), |options| {
        options.url = Some("http://127.0.0.1:9".to_owned());
    })
    .await;
    let (kind, message, retryable, _) = failure(outcome);
    assert_eq!((kind, retryable), (ExecutionError, true));
    assert!(
        !message.contains(KEY) && !message.contains("Thames"),
        "{message}"
    );
}

/// B003-3: the key stays secret if a provider repeats it.
#[tokio::test(flavor = "multi_thread")]
async fn b003_3_no_failure_and_no_result_contains_the_key() {
    let body = json!({"error": {"code": "X", "detail": KEY}}).to_string();
    for status in [400, 401, 404, 422, 500] {
        let (outcome, _) = search_stubbed(BRAVE, vec![reply(status, &body); 2], |_| {}).await;
        let shown = format!("{outcome:?}");
        assert!(
            matches!(outcome, ToolOutcome::Failed { .. }) && !shown.contains(KEY),
            "{shown}"
        );
    }
    let url = format!("https://example.org/?k={KEY}");
    let found = json!({"type": "search", "web": {"results": [
        {"title": KEY, "url": url, "description": format!("<b>{KEY}</b>")},
    ]}});
    let (outcome, _) =
        search_stubbed(BRAVE, vec![Reply::json(200, found.to_string())], |_| {}).await;
    let shown = format!("{outcome:?}");
    assert!(
        shown.contains("[redacted:environment variable SEARCH_KEY]"),
        "{shown}"
    );
    assert!(!shown.contains(KEY), "{shown}");
}

/// A redirect to another origin is not followed, so it does not receive the key.
#[tokio::test(flavor = "multi_thread")]
async fn the_key_is_not_sent_to_the_origin_of_a_redirect() {
    let other = HttpStub::answering(vec![Reply::json(200, BRAVE_FOUND)]).unwrap();
    let away = Reply::json(307, "").with_header("location", &other.url("/res/v1/web/search"));
    let (outcome, _) = search_stubbed(BRAVE, vec![away], |_| {}).await;
    let (kind, message, ..) = failure(outcome);
    assert_eq!(kind, ExecutionError);
    assert!(
        message.ends_with("which is not followed (307)"),
        "{message}"
    );
    assert_eq!(other.seen().len(), 0);
}
