//! The text that a listener receives while a draft arrives.

use std::sync::Mutex;

use charter_effects::{
    Delivery, ModelApi, ModelListener, ModelProviders, Models, StructuredOutput,
};
use charter_testkit::http_stub::{HttpStub, Pacing, Reply};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{draft, lab, options, provider, quick, recorded, request};

/// Records the pieces of each attempt.
#[derive(Default)]
struct PieceRecorder(Mutex<Vec<Vec<String>>>);

impl ModelListener for PieceRecorder {
    fn begins(&self) {
        self.0.lock().unwrap().push(Vec::new());
    }

    fn hears(&self, piece: &str) {
        let mut attempts = self.0.lock().unwrap();
        attempts.last_mut().unwrap().push(piece.to_owned());
    }
}

impl PieceRecorder {
    fn attempts(&self) -> Vec<Vec<String>> {
        self.0.lock().unwrap().clone()
    }

    /// Returns the draft of the last attempt.
    fn last(&self) -> Value {
        let last = self.attempts().pop().unwrap().concat();
        serde_json::from_str(&last).unwrap()
    }
}

async fn heard(
    api: ModelApi,
    structured: StructuredOutput,
    delivery: Delivery,
    replies: Vec<Reply>,
) -> PieceRecorder {
    let server = HttpStub::answering(replies).unwrap();
    let mut options = options(provider(api, &server));
    options.patience = quick(1);
    lab(&mut options).structured = structured;
    lab(&mut options).delivery = delivery;
    let models = ModelProviders::new(options).unwrap();
    let heard = PieceRecorder::default();
    let (request, never) = (request(), CancellationToken::new());
    let answer = models.complete_aloud(&request, &never, &heard);
    assert_eq!(answer.await.unwrap().draft, draft());
    heard
}

#[tokio::test]
async fn a_streamed_draft_is_reported_piece_by_piece() {
    for (api, structured, stream) in [
        (
            ModelApi::OpenAi,
            StructuredOutput::JsonSchema,
            recorded!("openai/stream.sse"),
        ),
        (
            ModelApi::OpenAi,
            StructuredOutput::Tool,
            recorded!("openai/stream_tool.sse"),
        ),
        (
            ModelApi::Anthropic,
            StructuredOutput::Tool,
            recorded!("anthropic/stream_tool.sse"),
        ),
    ] {
        let heard = heard(
            api,
            structured,
            Delivery::Streamed,
            vec![Reply::events(stream)],
        )
        .await;
        let pieces = heard.attempts().pop().unwrap();
        assert!(pieces.len() > 1, "{pieces:?}");
        assert_eq!(heard.last(), draft());
    }
}

#[tokio::test]
async fn an_unstreamed_draft_is_reported_once() {
    let whole = Reply::json(200, recorded!("openai/completion.json"));
    let structured = StructuredOutput::JsonSchema;
    let heard = heard(ModelApi::OpenAi, structured, Delivery::Whole, vec![whole]).await;
    assert_eq!(heard.attempts().len(), 1);
    assert_eq!(heard.last(), draft());
}

/// Text of an attempt that failed is discarded.
#[tokio::test]
async fn a_new_attempt_restarts_the_draft() {
    let stream = recorded!("openai/stream.sse");
    let broken = Reply::events(stream).paced(Pacing::BreakOffAfter(stream.len() / 2));
    let replies = vec![broken, Reply::events(stream)];
    let structured = StructuredOutput::JsonSchema;
    let heard = heard(ModelApi::OpenAi, structured, Delivery::Streamed, replies).await;
    assert_eq!(heard.attempts().len(), 2);
    assert_eq!(heard.last(), draft());
}
