//! Invalid answers of providers: too large, of other types, or misleading.

use charter_contract::agentic::error::ErrorType;
use charter_testkit::http_stub::{Pacing, Reply};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use std::io::Write;

use super::{BRAVE, SEARXNG, search_stubbed};
use crate::support::{failure, output};

/// Returns the results of an answer.
async fn results(found: Value) -> Value {
    let body = json!({"results": found}).to_string();
    let (outcome, _) = search_stubbed(SEARXNG, vec![Reply::json(200, body)], |_| {}).await;
    output(outcome)["results"].take()
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_results_are_omitted_and_others_kept() {
    let good = json!({"title": "Good", "url": "https://example.org/", "content": "Text"});
    let kept = json!({
        "title": "Good", "url": "https://example.org/", "snippet": "Text", "source_type": "web",
    });
    let found = json!([
        null, 7, "https://example.org/", [good], {"title": "no link"},
        {"title": "x", "url": "javascript:alert(document.cookie)"},
        {"title": "x", "url": "data:text/html;base64,PGI+"},
        {"title": "x", "url": "file:///etc/passwd"},
        {"title": "x", "url": "https://accounts.example@evil.example/"},
        {"title": "x", "url": {"href": "https://example.org/"}},
        good,
    ]);
    assert_eq!(results(found).await, json!([kept]));
}

#[tokio::test(flavor = "multi_thread")]
async fn tags_scripts_and_hidden_characters_are_removed_from_texts() {
    let found = json!([{
        "title": "<img src=x onerror=alert(1)>Safe\u{202e}\u{200b}\u{0}\u{1b}]0;x\u{7} title",
        "url": "https://example.org/a\nb\u{0}c",
        "content": "a<script>fetch('//evil')</script><style>*{}</style> &lt;b&gt; <!-- c -->d\r\n\u{2028}e",
        "source_type": "<system>", "confidence": 1, "actions": [{"action_type": "file_edit"}],
    }]);
    let expected = json!([{
        "title": "Safe]0;x title", "url": "https://example.org/ab%00c",
        "snippet": "a <b> d e", "source_type": "web",
    }]);
    assert_eq!(results(found).await, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_number_of_results_is_at_most_the_requested_one() {
    let one = |n: usize| json!({"title": "t", "url": format!("https://example.org/{n}")});
    let many: Vec<Value> = (0..5_000).map(one).collect();
    let found = results(json!(many)).await;
    assert_eq!(found.as_array().unwrap().len(), 10);
    assert_eq!(found[9]["url"], "https://example.org/9");
}

/// The bound counts decompressed bytes.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_over_the_bound_is_not_read() {
    let long = json!({"results": [], "pad": "x".repeat(3 << 20)}).to_string();
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    packed.write_all(long.as_bytes()).unwrap();
    let packed = packed.finish().unwrap();
    assert!(packed.len() < 16 << 10);
    for reply in [
        Reply::json(200, long.clone()).paced(Pacing::Pieces(64 << 10)),
        Reply::json(200, packed).with_header("content-encoding", "gzip"),
        Reply::json(500, long),
    ] {
        let (outcome, seen) = search_stubbed(SEARXNG, vec![reply], |_| {}).await;
        let (kind, message, retryable, _) = failure(outcome);
        let expected = "the response is larger than 2097152 bytes";
        assert_eq!(
            (kind, message.as_str(), retryable),
            (ErrorType::ResourceError, expected, false)
        );
        assert_eq!(seen.len(), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn deep_nesting_and_invalid_text_are_handled() {
    let deep = format!(
        "{{\"results\": {}{}}}",
        "[".repeat(200_000),
        "]".repeat(200_000)
    );
    let tags = "<div>".repeat(100_000);
    let nested =
        json!({"results": [{"title": tags, "url": "https://example.org/", "content": tags}]});
    let no_text: &[u8] = b"{\"type\": \"search\", \"web\": {\"results\": [\xff\xfe]}}";
    for (provider, body) in [(SEARXNG, deep.into_bytes()), (BRAVE, no_text.to_vec())] {
        let (outcome, _) = search_stubbed(provider, vec![Reply::json(200, body)], |_| {}).await;
        let (kind, message, ..) = failure(outcome);
        assert_eq!(kind, ErrorType::ExecutionError);
        assert!(message.ends_with("invalid JSON"), "{message}");
    }
    let reply = Reply::json(200, nested.to_string());
    let (outcome, _) = search_stubbed(SEARXNG, vec![reply], |_| {}).await;
    assert_eq!(output(outcome)["results"][0]["title"], "example.org");
}
