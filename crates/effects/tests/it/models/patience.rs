//! Retried failures, the pauses before retries, and their usage.

use std::time::{Duration, Instant};

use charter_effects::{ModelApi, ModelFault, ModelProviders, Models, Usage};
use charter_testkit::http_stub::{HttpStub, Pacing, Reply};
use tokio_util::sync::CancellationToken;

use super::{ask, ask_stubbed, draft, lab, options, provider, quick, recorded, request};

const OPEN_AI: ModelApi = ModelApi::OpenAi;

fn good() -> Reply {
    Reply::json(200, recorded!("openai/completion.json"))
}

/// Permanent failures are not retried.
#[tokio::test]
async fn only_retryable_failures_are_retried() {
    for status in [429, 500, 502, 503, 504, 529] {
        let replies = vec![Reply::json(status, "{}"), Reply::json(status, ""), good()];
        let (answer, server) =
            ask_stubbed(OPEN_AI, replies, |options| options.patience = quick(2)).await;
        let answer = answer.unwrap();
        assert_eq!((answer.attempts, server.seen().len()), (3, 3), "{status}");
        let first = &server.seen()[0];
        assert!(server.seen().iter().all(|seen| seen == first), "{status}");
    }
    for status in [400, 401, 402, 403, 404, 413, 422] {
        let replies = vec![Reply::json(status, "{}"), good()];
        let (answer, server) =
            ask_stubbed(OPEN_AI, replies, |options| options.patience = quick(2)).await;
        assert_eq!(answer.unwrap_err().attempts, 1, "{status}");
        assert_eq!(server.seen().len(), 1, "{status}");
    }
}

#[tokio::test]
async fn attempts_are_bounded_over_all_repairs_together() {
    let wrong = recorded!("openai/completion.json").replace("score", "points");
    let failed = || Reply::json(500, "{}");
    let replies = vec![
        failed(),
        Reply::json(200, wrong),
        failed(),
        failed(),
        good(),
    ];
    let (answer, server) =
        ask_stubbed(OPEN_AI, replies, |options| options.patience = quick(2)).await;
    let failure = answer.unwrap_err();
    assert_eq!(failure.fault, ModelFault::Broken);
    assert_eq!((failure.attempts, server.seen().len()), (4, 4));
    assert_eq!(failure.usage.input_tokens, 1_117);
}

/// The usage of a stream before it broke off counts.
#[tokio::test]
async fn tokens_of_a_failed_attempt_count() {
    let answer = recorded!("anthropic/stream_tool.sse");
    let broken = Reply::events(answer).paced(Pacing::BreakOffAfter(answer.len() / 2));
    let replies = vec![broken, Reply::events(answer)];
    let (answer, _server) = ask_stubbed(ModelApi::Anthropic, replies, |options| {
        options.patience = quick(1);
    })
    .await;
    let answer = answer.unwrap();
    assert_eq!(answer.draft, draft());
    let expected = Usage {
        input_tokens: 2 * 1_117,
        output_tokens: 2 + 46,
        cached_tokens: 2 * 1_024,
    };
    assert_eq!((answer.usage, answer.attempts), (expected, 2));
}

#[tokio::test]
async fn retry_after_of_a_provider_is_respected() {
    let busy = Reply::json(429, "{}").with_header("retry-after-ms", "300");
    let started = Instant::now();
    let (answer, _server) = ask_stubbed(OPEN_AI, vec![busy, good()], |options| {
        options.patience = quick(1);
    })
    .await;
    assert_eq!(answer.unwrap().attempts, 2);
    assert!(started.elapsed() >= Duration::from_millis(300));
}

/// If the pause exceeds the longest one, or the remaining time, the error contains it.
#[tokio::test]
async fn a_retry_after_beyond_the_limit_is_not_waited_for() {
    let busy = |seconds: &str| Reply::json(529, "{}").with_header("retry-after", seconds);
    let (answer, server) = ask_stubbed(OPEN_AI, vec![busy("3600"), good()], |options| {
        options.patience = quick(3);
    })
    .await;
    let failure = answer.unwrap_err();
    assert_eq!(failure.fault, ModelFault::Overloaded);
    assert_eq!(failure.retry_after, Some(Duration::from_secs(3_600)));
    assert_eq!(server.seen().len(), 1);

    let server = HttpStub::answering(vec![busy("2"), good()]).unwrap();
    let mut options = options(provider(OPEN_AI, &server));
    options.patience = quick(3);
    let models = ModelProviders::new(options).unwrap();
    let mut request = request();
    request.timeout = Duration::from_secs(1);
    let started = Instant::now();
    let failure = models.complete(&request, &CancellationToken::new()).await;
    assert_eq!(failure.unwrap_err().fault, ModelFault::Overloaded);
    assert!(started.elapsed() < Duration::from_secs(1));
}

#[tokio::test]
async fn an_unreachable_provider_is_retried_and_then_reported_by_name() {
    let server = HttpStub::answering(Vec::new()).unwrap();
    let mut options = options(provider(OPEN_AI, &server));
    // A port without a listener.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    lab(&mut options).base_url = format!("http://{address}/v1");
    options.patience = quick(2);
    let failure = ask(&ModelProviders::new(options).unwrap())
        .await
        .unwrap_err();
    assert_eq!(failure.fault, ModelFault::Unreachable);
    assert_eq!(failure.attempts, 3);
    assert!(!failure.message.contains("127.0.0.1"), "{failure}");
}

/// An attempt has its own timeout, within that of the request.
#[tokio::test]
async fn an_attempt_that_hangs_times_out_and_is_retried() {
    let (answer, server) = ask_stubbed(OPEN_AI, vec![Reply::never(), good()], |options| {
        options.patience = quick(1);
        lab(options).attempt_timeout = Duration::from_millis(200);
    })
    .await;
    assert_eq!(answer.unwrap().attempts, 2);
    assert_eq!(server.seen().len(), 2);
}

#[tokio::test]
async fn attempts_and_pauses_end_at_the_timeout_of_the_request() {
    let server = HttpStub::start(|_, _| Reply::never()).unwrap();
    let models = ModelProviders::new(options(provider(OPEN_AI, &server))).unwrap();
    let mut request = request();
    request.timeout = Duration::from_millis(200);
    let answer = models.complete(&request, &CancellationToken::new()).await;
    let failure = answer.unwrap_err();
    assert_eq!((failure.fault, failure.attempts), (ModelFault::Timeout, 1));
}

/// Cancelling closes the connection, and reports the usage until then.
#[tokio::test]
async fn an_abandoned_request_is_cancelled_immediately() {
    let (tell, told) = tokio::sync::oneshot::channel();
    let tell = std::sync::Mutex::new(Some(tell));
    let server = HttpStub::start(move |_, _| {
        tell.lock().unwrap().take().unwrap().send(()).unwrap();
        Reply::never()
    })
    .unwrap();
    let models = ModelProviders::new(options(provider(OPEN_AI, &server))).unwrap();
    let cancel = CancellationToken::new();
    let stop = async {
        told.await.unwrap();
        cancel.cancel();
    };
    let request = request();
    let (answer, ()) = tokio::join!(models.complete(&request, &cancel), stop);
    let failure = answer.unwrap_err();
    assert_eq!(
        (failure.fault, failure.attempts),
        (ModelFault::Cancelled, 1)
    );
    let failure = models.complete(&request, &cancel).await.unwrap_err();
    assert_eq!(
        (failure.fault, failure.attempts),
        (ModelFault::Cancelled, 0)
    );
}
