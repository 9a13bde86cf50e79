//! Recorded failures, and the classification of each.

use charter_contract::agentic::error::{AgentError, ErrorType};
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{ErrorId, RequestId};
use charter_contract::time::Timestamp;
use charter_contract::validate;
use charter_effects::{Delivery, ModelApi, ModelFailure, ModelFault, StructuredOutput};
use charter_testkit::http_stub::{Pacing, Reply};
use serde_json::{Value, json};

use super::{KEY, ask_stubbed, lab, recorded};

const OPEN_AI: ModelApi = ModelApi::OpenAi;
const ANTHROPIC: ModelApi = ModelApi::Anthropic;

/// The expected fault, its type and code, and whether a retry helps.
type Expected = (ModelFault, ErrorType, ErrorCode, bool);

const ROUTE: Expected = (
    ModelFault::UnknownModel,
    ErrorType::InputError,
    ErrorCode::ModelRouteUnknown,
    false,
);
const INVALID: Expected = (
    ModelFault::InvalidRequest,
    ErrorType::InputError,
    ErrorCode::InvalidRequest,
    false,
);
const TOO_LONG: Expected = (
    ModelFault::ContextTooLong,
    ErrorType::InputError,
    ErrorCode::TooLarge,
    false,
);
const KEY_REFUSED: Expected = (
    ModelFault::Authentication,
    ErrorType::PermissionError,
    ErrorCode::ModelAccessDenied,
    false,
);
const FORBIDDEN: Expected = (
    ModelFault::Permission,
    ErrorType::PermissionError,
    ErrorCode::ModelAccessDenied,
    false,
);
const NO_CREDIT: Expected = (
    ModelFault::Billing,
    ErrorType::PermissionError,
    ErrorCode::ModelAccessDenied,
    false,
);
const RATE: Expected = (
    ModelFault::RateLimited,
    ErrorType::ResourceError,
    ErrorCode::RateLimited,
    true,
);
const BUSY: Expected = (
    ModelFault::Overloaded,
    ErrorType::ResourceError,
    ErrorCode::Overloaded,
    true,
);
const LATE: Expected = (
    ModelFault::Timeout,
    ErrorType::TimeoutError,
    ErrorCode::RequestTimeout,
    true,
);
const BROKEN: Expected = (
    ModelFault::Broken,
    ErrorType::ExecutionError,
    ErrorCode::ModelFailed,
    true,
);
const REFUSED: Expected = (
    ModelFault::Refused,
    ErrorType::ExecutionError,
    ErrorCode::ModelRefused,
    false,
);
const FILTERED: Expected = (
    ModelFault::Filtered,
    ErrorType::ExecutionError,
    ErrorCode::ModelRefused,
    false,
);
const NO_JSON: Expected = (
    ModelFault::Malformed,
    ErrorType::ExecutionError,
    ErrorCode::ModelAnswerInvalid,
    false,
);
const CUT_OFF: Expected = (
    ModelFault::CutOff,
    ErrorType::ExecutionError,
    ErrorCode::ModelAnswerInvalid,
    false,
);

/// API, status, answer, expected failure, tokens that were used (input, output).
type Case = (ModelApi, u16, &'static str, Expected, [u64; 2]);

const WHOLE: [Case; 25] = [
    (
        OPEN_AI,
        400,
        recorded!("openai/error_400.json"),
        INVALID,
        [0, 0],
    ),
    (
        OPEN_AI,
        400,
        recorded!("openai/error_400_context.json"),
        TOO_LONG,
        [0, 0],
    ),
    (
        OPEN_AI,
        401,
        recorded!("openai/error_401.json"),
        KEY_REFUSED,
        [0, 0],
    ),
    (
        OPEN_AI,
        403,
        recorded!("openai/error_403.json"),
        FORBIDDEN,
        [0, 0],
    ),
    (
        OPEN_AI,
        404,
        recorded!("openai/error_404.json"),
        ROUTE,
        [0, 0],
    ),
    (
        OPEN_AI,
        429,
        recorded!("openai/error_429.json"),
        RATE,
        [0, 0],
    ),
    (
        OPEN_AI,
        429,
        recorded!("openai/error_429_quota.json"),
        NO_CREDIT,
        [0, 0],
    ),
    (
        OPEN_AI,
        500,
        recorded!("openai/error_500.json"),
        BROKEN,
        [0, 0],
    ),
    (
        OPEN_AI,
        503,
        recorded!("openai/error_503.json"),
        BUSY,
        [0, 0],
    ),
    (
        OPEN_AI,
        200,
        recorded!("openai/refusal.json"),
        REFUSED,
        [81, 11],
    ),
    (
        OPEN_AI,
        200,
        recorded!("openai/content_filter.json"),
        FILTERED,
        [81, 5],
    ),
    (
        OPEN_AI,
        200,
        recorded!("openai/length.json"),
        CUT_OFF,
        [81, 64],
    ),
    (
        OPEN_AI,
        200,
        recorded!("openai/malformed.json"),
        NO_JSON,
        [0, 0],
    ),
    (
        ANTHROPIC,
        400,
        recorded!("anthropic/error_400.json"),
        INVALID,
        [0, 0],
    ),
    (
        ANTHROPIC,
        400,
        recorded!("anthropic/error_400_context.json"),
        TOO_LONG,
        [0, 0],
    ),
    (
        ANTHROPIC,
        401,
        recorded!("anthropic/error_401.json"),
        KEY_REFUSED,
        [0, 0],
    ),
    (
        ANTHROPIC,
        402,
        recorded!("anthropic/error_402.json"),
        NO_CREDIT,
        [0, 0],
    ),
    (
        ANTHROPIC,
        403,
        recorded!("anthropic/error_403.json"),
        FORBIDDEN,
        [0, 0],
    ),
    (
        ANTHROPIC,
        413,
        recorded!("anthropic/error_413.json"),
        TOO_LONG,
        [0, 0],
    ),
    (
        ANTHROPIC,
        429,
        recorded!("anthropic/error_429.json"),
        RATE,
        [0, 0],
    ),
    (
        ANTHROPIC,
        500,
        recorded!("anthropic/error_500.json"),
        BROKEN,
        [0, 0],
    ),
    (
        ANTHROPIC,
        504,
        recorded!("anthropic/error_504.json"),
        LATE,
        [0, 0],
    ),
    (
        ANTHROPIC,
        529,
        recorded!("anthropic/error_529.json"),
        BUSY,
        [0, 0],
    ),
    (
        ANTHROPIC,
        200,
        recorded!("anthropic/refusal.json"),
        REFUSED,
        [564, 22],
    ),
    (
        ANTHROPIC,
        200,
        recorded!("anthropic/max_tokens.json"),
        CUT_OFF,
        [564, 64],
    ),
];

const MORE_WHOLE: [Case; 2] = [
    (
        ANTHROPIC,
        404,
        recorded!("anthropic/error_404.json"),
        ROUTE,
        [0, 0],
    ),
    (
        ANTHROPIC,
        200,
        recorded!("anthropic/context_window.json"),
        TOO_LONG,
        [199_990, 10],
    ),
];

const STREAMED: [Case; 4] = [
    (
        OPEN_AI,
        200,
        recorded!("openai/stream_refusal.sse"),
        REFUSED,
        [81, 11],
    ),
    (
        OPEN_AI,
        200,
        recorded!("openai/stream_error.sse"),
        BROKEN,
        [0, 0],
    ),
    (
        ANTHROPIC,
        200,
        recorded!("anthropic/stream_refusal.sse"),
        REFUSED,
        [564, 22],
    ),
    (
        ANTHROPIC,
        200,
        recorded!("anthropic/stream_error.sse"),
        BUSY,
        [472, 2],
    ),
];

/// B003-3: each has one of the six types, a code and the usage, and contains no secret.
#[tokio::test]
async fn b003_3_each_recorded_failure_is_classified() {
    for case in WHOLE.iter().chain(&MORE_WHOLE) {
        check(case, Reply::json(case.1, case.2)).await;
    }
}

/// B003-3: a stream that began successfully can still fail in every way.
#[tokio::test]
async fn b003_3_each_recorded_stream_failure_is_classified() {
    for case in &STREAMED {
        check(case, Reply::events(case.2)).await;
        let slowly = Reply::events(case.2).paced(Pacing::Pieces(5));
        check(case, slowly).await;
    }
}

async fn check(case: &Case, reply: Reply) {
    let (api, _, body, (fault, error_type, code, retryable), [input, output]) = *case;
    let (answer, server) = ask_stubbed(api, vec![reply], |_| {}).await;
    let failure = answer.unwrap_err();
    assert_eq!(failure.fault, fault, "{body}");
    assert_eq!(failure.fault.error_type(), error_type, "{body}");
    assert_eq!(failure.code(), code, "{body}");
    assert_eq!(failure.retryable(), retryable, "{body}");
    let usage = failure.usage;
    assert_eq!(
        [usage.input_tokens, usage.output_tokens],
        [input, output],
        "{body}"
    );
    assert_eq!((failure.attempts, server.seen().len()), (1, 1), "{body}");
    assert_public(&failure);
}

/// Asserts that the client's error is an `AgentError` that satisfies its contract, in Charter's own words.
fn assert_public(failure: &ModelFailure) {
    assert!(
        failure.message.starts_with("the model lab/the-model "),
        "{failure:?}"
    );
    let shown = format!("{failure:?}");
    for secret in [KEY, "sk-test-", "127.0.0.1"] {
        assert!(!shown.contains(secret), "{shown}");
    }
    for account in ["org-AbCdEf", "organization", "https://"] {
        assert!(!failure.message.contains(account), "{shown}");
    }
    let mut error = AgentError::builder(
        ErrorId::parse("err-00000000-0000-4000-8000-000000000000").unwrap(),
        RequestId::parse("req-00000000-0000-4000-8000-000000000000").unwrap(),
        Timestamp::parse("2026-04-14T12:00:00Z").unwrap(),
        failure.code(),
    )
    .build();
    error.user_message = failure.message.clone();
    let bytes = serde_json::to_vec(&error).unwrap();
    assert_eq!(validate::parse::<AgentError>(&bytes).unwrap(), error);
}

/// A provider whose error message repeats the key.
#[tokio::test]
async fn b003_3_an_echoed_key_is_redacted() {
    let body = json!({"error": {"message": format!("header {KEY} is wrong"), "code": KEY}});
    for (status, detail) in [
        (
            400,
            Some("400 Bad Request: header [redacted:environment variable PROVIDER_KEY] is wrong"),
        ),
        (401, None),
        (403, None),
    ] {
        let reply = Reply::json(status, body.to_string());
        let (answer, _server) = ask_stubbed(OPEN_AI, vec![reply], |_| {}).await;
        let failure = answer.unwrap_err();
        assert_eq!(failure.detail.as_deref(), detail);
        assert!(!format!("{failure:?}").contains(KEY));
    }
}

/// A stream that ends early is never treated as complete, at every possible point: the events before the one with the
/// stop reason are not an answer.
#[tokio::test]
async fn a_truncated_stream_is_a_failure() {
    for (api, answer, end) in [
        (
            OPEN_AI,
            recorded!("openai/stream.sse"),
            "\"finish_reason\":\"stop\"",
        ),
        (
            ANTHROPIC,
            recorded!("anthropic/stream_tool.sse"),
            "\"stop_reason\":\"tool_use\"",
        ),
    ] {
        let last = answer.find(end).unwrap();
        for cut in (0..last).step_by(37).chain([last]) {
            for pacing in [Pacing::BreakOffAfter(cut), Pacing::AtOnce] {
                let body = match pacing {
                    Pacing::AtOnce => &answer.as_bytes()[..cut],
                    _ => answer.as_bytes(),
                };
                let reply = Reply::events(body).paced(pacing);
                let (result, _server) = ask_stubbed(api, vec![reply], |_| {}).await;
                let failure = result.unwrap_err();
                assert_eq!(
                    failure.fault,
                    ModelFault::Truncated,
                    "{cut} bytes of {answer}"
                );
                assert_eq!(failure.fault.error_type(), ErrorType::ExecutionError);
                assert!(failure.retryable());
            }
        }
    }
}

#[tokio::test]
async fn a_truncated_answer_is_a_failure() {
    let answer = recorded!("openai/completion.json");
    for cut in [0, 1, 400, answer.len() - 1] {
        let reply = Reply::json(200, answer).paced(Pacing::BreakOffAfter(cut));
        let (result, _server) = ask_stubbed(OPEN_AI, vec![reply], super::whole).await;
        assert_eq!(result.unwrap_err().fault, ModelFault::Truncated, "{cut}");
    }
}

/// An answer that still violates the schema after repairs. Each repair lists the faults, and the usage of all attempts
/// counts.
#[tokio::test]
async fn an_answer_that_violates_the_schema_is_returned_with_the_violations() {
    let wrong = recorded!("openai/completion.json")
        .replace("\\\"score\\\":7", "\\\"score\\\":\\\"seven\\\"");
    let replies = vec![
        Reply::json(200, wrong.clone()),
        Reply::json(200, recorded!("openai/completion.json")),
    ];
    let (answer, server) = ask_stubbed(OPEN_AI, replies, |_| {}).await;
    let answer = answer.unwrap();
    assert_eq!((answer.attempts, answer.repairs), (2, 1));
    assert_eq!(
        (answer.usage.input_tokens, answer.usage.cached_tokens),
        (2_234, 2_048)
    );
    assert_eq!(answer.draft, super::draft());
    let seen = server.seen();
    let messages = |n: usize| seen[n].body["messages"].as_array().unwrap().clone();
    assert_eq!(messages(1)[..2], messages(0)[..]);
    let said = |text: &Value| text["content"].as_str().unwrap().to_owned();
    assert_eq!(messages(1)[2]["role"], "assistant");
    assert_eq!(
        said(&messages(1)[2]),
        "{\"title\":\"Grüße aus Zürich – naïve ☕\",\"score\":\"seven\"}"
    );
    assert_eq!(messages(1)[3]["role"], "user");
    let complaint = said(&messages(1)[3]);
    let (instruction, data) = complaint.split_once("<data>\n").unwrap();
    assert!(
        instruction.starts_with("This answer is invalid.") && !instruction.contains("/score"),
        "{complaint}"
    );
    assert!(data.starts_with("{\"wrong\":[\"/score: "), "{complaint}");
    let keys: Vec<&str> = seen
        .iter()
        .map(|seen| seen.headers["idempotency-key"].as_str())
        .collect();
    assert_eq!(keys, ["run-1.step-2-0", "run-1.step-2-1"]);

    let (answer, server) = ask_stubbed(OPEN_AI, vec![Reply::json(200, wrong); 9], |_| {}).await;
    let failure = answer.unwrap_err();
    assert_eq!(failure.fault, ModelFault::SchemaViolated);
    assert_eq!(failure.code(), ErrorCode::ModelAnswerInvalid);
    assert_eq!(failure.fault.error_type(), ErrorType::ExecutionError);
    assert_eq!((failure.attempts, server.seen().len()), (3, 3));
    assert_eq!(
        (failure.usage.input_tokens, failure.usage.output_tokens),
        (3 * 1_117, 3 * 46)
    );
}

/// Output that is not JSON is sent back too: no draft is guessed from it.
#[tokio::test]
async fn prose_is_returned_to_the_model_and_finally_fails() {
    let prose = recorded!("openai/completion_fenced.json").replace("```json\\n", "Here it is: ");
    let (answer, server) = ask_stubbed(OPEN_AI, vec![Reply::json(200, prose); 9], |options| {
        lab(options).structured = StructuredOutput::None;
        lab(options).delivery = Delivery::Whole;
        options.repairs = charter_effects::Repairs(1);
    })
    .await;
    let failure = answer.unwrap_err();
    assert_eq!(failure.fault, ModelFault::Malformed);
    assert_eq!(failure.code(), ErrorCode::ModelAnswerInvalid);
    assert_eq!((failure.attempts, server.seen().len()), (2, 2));
}
