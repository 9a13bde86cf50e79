//! Recorded answers that are drafts.

use charter_effects::{Delivery, ModelAnswer, ModelApi, StructuredOutput, Usage};
use charter_testkit::http_stub::{Pacing, Reply};

use super::{ask_stubbed, draft, lab, recorded};

const OPEN_AI: ModelApi = ModelApi::OpenAi;
const ANTHROPIC: ModelApi = ModelApi::Anthropic;

struct Case {
    api: ModelApi,
    structured: StructuredOutput,
    delivery: Delivery,
    answer: &'static str,
    model: &'static str,
    /// Input, output, cached.
    tokens: [u64; 3],
}

const fn case(
    api: ModelApi,
    structured: StructuredOutput,
    delivery: Delivery,
    answer: &'static str,
    model: &'static str,
    tokens: [u64; 3],
) -> Case {
    Case {
        api,
        structured,
        delivery,
        answer,
        model,
        tokens,
    }
}

const CASES: [Case; 10] = [
    case(
        OPEN_AI,
        StructuredOutput::JsonSchema,
        Delivery::Whole,
        recorded!("openai/completion.json"),
        "gpt-4o-2024-08-06",
        [1_117, 46, 1_024],
    ),
    case(
        OPEN_AI,
        StructuredOutput::JsonObject,
        Delivery::Whole,
        recorded!("openai/completion.json"),
        "gpt-4o-2024-08-06",
        [1_117, 46, 1_024],
    ),
    case(
        OPEN_AI,
        StructuredOutput::JsonSchema,
        Delivery::Streamed,
        recorded!("openai/stream.sse"),
        "gpt-4o-mini",
        [1_117, 46, 1_024],
    ),
    case(
        OPEN_AI,
        StructuredOutput::Tool,
        Delivery::Whole,
        recorded!("openai/completion_tool.json"),
        "gpt-4o-mini",
        [82, 17, 0],
    ),
    case(
        OPEN_AI,
        StructuredOutput::Tool,
        Delivery::Streamed,
        recorded!("openai/stream_tool.sse"),
        "gpt-4o-mini",
        [82, 17, 0],
    ),
    case(
        OPEN_AI,
        StructuredOutput::None,
        Delivery::Whole,
        recorded!("openai/completion_fenced.json"),
        "smollm2-instruct",
        [82, 17, 0],
    ),
    case(
        ANTHROPIC,
        StructuredOutput::Tool,
        Delivery::Whole,
        recorded!("anthropic/message_tool.json"),
        "claude-sonnet-4-5-20250929",
        [1_117, 46, 1_024],
    ),
    case(
        ANTHROPIC,
        StructuredOutput::Tool,
        Delivery::Streamed,
        recorded!("anthropic/stream_tool.sse"),
        "claude-sonnet-4-5-20250929",
        [1_117, 46, 1_024],
    ),
    case(
        ANTHROPIC,
        StructuredOutput::JsonSchema,
        Delivery::Whole,
        recorded!("anthropic/message_text.json"),
        "claude-sonnet-4-5-20250929",
        [188_107, 393, 0],
    ),
    case(
        ANTHROPIC,
        StructuredOutput::JsonSchema,
        Delivery::Streamed,
        recorded!("anthropic/stream_text.sse"),
        "claude-sonnet-4-5-20250929",
        [188_107, 393, 0],
    ),
];

fn served(case: &Case, pacing: Pacing) -> Reply {
    let reply = match case.delivery {
        Delivery::Whole => Reply::json(200, case.answer),
        Delivery::Streamed => Reply::events(case.answer),
    };
    reply.paced(pacing)
}

/// In one piece, and in pieces that end in the middle of lines, events and letters.
#[tokio::test]
async fn recorded_answers_become_drafts_in_pieces_of_any_size() {
    for case in &CASES {
        for pacing in [
            Pacing::AtOnce,
            Pacing::Pieces(1),
            Pacing::Pieces(7),
            Pacing::Pieces(1_000),
        ] {
            let (answer, _server) = ask_stubbed(case.api, vec![served(case, pacing)], |options| {
                lab(options).structured = case.structured;
                lab(options).delivery = case.delivery;
            })
            .await;
            let answer = answer.unwrap();
            let [input_tokens, output_tokens, cached_tokens] = case.tokens;
            let expected = ModelAnswer {
                draft: draft(),
                model: format!("lab/{}", case.model),
                usage: Usage {
                    input_tokens,
                    output_tokens,
                    cached_tokens,
                },
                attempts: 1,
                repairs: 0,
                duration_ms: answer.duration_ms,
            };
            assert_eq!(answer, expected, "{pacing:?} of {}", case.answer);
        }
    }
}

/// Some servers do not stream although the request asks for it.
#[tokio::test]
async fn an_answer_is_read_by_its_form_and_not_the_requested_one() {
    for case in &CASES {
        let (answer, _server) =
            ask_stubbed(case.api, vec![served(case, Pacing::AtOnce)], |options| {
                lab(options).structured = case.structured;
                lab(options).delivery = match case.delivery {
                    Delivery::Whole => Delivery::Streamed,
                    Delivery::Streamed => Delivery::Whole,
                };
            })
            .await;
        assert_eq!(answer.unwrap().draft, draft());
    }
}

/// A stream that ends after the model's stop reason is complete, even without the end mark.
#[tokio::test]
async fn a_stream_without_its_end_mark_is_complete_after_the_stop_reason() {
    for (api, answer, last) in [
        (OPEN_AI, recorded!("openai/stream.sse"), "data: [DONE]"),
        (
            ANTHROPIC,
            recorded!("anthropic/stream_tool.sse"),
            "event: message_stop",
        ),
    ] {
        let (before, _) = answer.split_once(last).unwrap();
        let (answer, _server) = ask_stubbed(api, vec![Reply::events(before)], |_| {}).await;
        assert_eq!(answer.unwrap().draft, draft());
    }
}
