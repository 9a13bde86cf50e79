//! Limits of an answer, and of concurrent requests.

use std::time::Duration;

use charter_contract::error_code::ErrorCode;
use charter_effects::{ModelApi, ModelFault, ModelProviders, Models};
use charter_testkit::http_stub::{HttpStub, Reply};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{ask, ask_stubbed, lab, options, provider, recorded, request};

const OPEN_AI: ModelApi = ModelApi::OpenAi;

#[tokio::test]
async fn reading_stops_at_the_bound_of_an_answer() {
    for reply in [
        Reply::json(200, recorded!("openai/completion.json")),
        Reply::events(recorded!("openai/stream.sse")),
        Reply::events(recorded!("openai/stream_tool.sse")),
    ] {
        for (bytes, fits) in [(60, true), (20, false)] {
            let (answer, server) = ask_stubbed(OPEN_AI, vec![reply.clone()], |options| {
                lab(options).output_bytes = bytes;
            })
            .await;
            match answer {
                Ok(_) => assert!(fits),
                Err(failure) => {
                    assert!(!fits, "{failure}");
                    assert_eq!(failure.fault, ModelFault::TooMuchOutput);
                    assert_eq!(failure.code(), ErrorCode::ModelAnswerInvalid);
                    assert_eq!(server.seen().len(), 1);
                }
            }
        }
    }
    let endless = vec![b' '; 1 << 20];
    let (answer, _server) = ask_stubbed(OPEN_AI, vec![Reply::json(200, endless)], |options| {
        lab(options).output_bytes = 20;
    })
    .await;
    assert_eq!(answer.unwrap_err().fault, ModelFault::TooMuchOutput);
}

#[tokio::test]
async fn an_oversized_context_is_not_sent() {
    let server = HttpStub::answering(Vec::new()).unwrap();
    let models = ModelProviders::new(options(provider(OPEN_AI, &server))).unwrap();
    let mut request = request();
    request.context = json!({"text": "x".repeat(17 << 20)});
    let answer = models.complete(&request, &CancellationToken::new()).await;
    let failure = answer.unwrap_err();
    assert_eq!(
        (failure.fault, failure.attempts),
        (ModelFault::ContextTooLong, 0)
    );
    assert_eq!(server.seen().len(), 0);
}

#[tokio::test]
async fn concurrent_requests_to_a_provider_are_bounded() {
    let (tell, told) = tokio::sync::oneshot::channel();
    let tell = std::sync::Mutex::new(Some(tell));
    let server = HttpStub::start(move |_, _| {
        tell.lock().unwrap().take().unwrap().send(()).unwrap();
        Reply::never()
    })
    .unwrap();
    let mut options = options(provider(OPEN_AI, &server));
    lab(&mut options).concurrency = 1;
    let models = ModelProviders::new(options).unwrap();
    let first_over = CancellationToken::new();
    let request = request();
    let first = models.complete(&request, &first_over);
    let second = async {
        told.await.unwrap();
        let mut impatient = request.clone();
        impatient.timeout = Duration::from_millis(100);
        let answer = models.complete(&impatient, &CancellationToken::new()).await;
        first_over.cancel();
        answer
    };
    let (first, second) = tokio::join!(first, second);
    assert_eq!(first.unwrap_err().attempts, 1);
    let second = second.unwrap_err();
    assert_eq!((second.fault, second.attempts), (ModelFault::Timeout, 0));
    assert_eq!(server.seen().len(), 1);
}

/// One connection for many requests.
#[tokio::test]
async fn connections_are_reused() {
    let answer = recorded!("openai/completion.json");
    let server = HttpStub::start(move |_, _| Reply::json(200, answer)).unwrap();
    let models = ModelProviders::new(options(provider(OPEN_AI, &server))).unwrap();
    for _ in 0..5 {
        ask(&models).await.unwrap();
    }
    assert_eq!((server.seen().len(), server.connections()), (5, 1));
}
