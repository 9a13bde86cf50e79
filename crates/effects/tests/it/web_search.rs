//! Web search against a real server, with recorded answers in the forms of the providers' public documentation
//! (`web_search/brave`, `web_search/searxng`). Failures are also compared as a client sees them (B003-3).

mod failures;
mod hostile;
mod setup;

use std::sync::Arc;
use std::time::Duration;

use charter_contract::catalogue::builtin::Builtin;
use charter_effects::{
    BuiltinGrants, BuiltinTool, DryRun, RetryPolicy, SearchOptions, SearchProvider, Secret,
    SecretSource, ToolCall, ToolImplementation, ToolOutcome, WebSearch,
};
use charter_testkit::http_stub::{HttpStub, Reply, Request};
use serde_json::{Value, json};

use crate::support::{call, output, sandbox};

/// A key that must appear only in requests.
const KEY: &str = "BSA-the-secret-key-of-the-tests";
const BRAVE: SearchProvider = SearchProvider::Brave;
const SEARXNG: SearchProvider = SearchProvider::SearxNg;
const QUESTION: &str = "flood barriers of the Thames";

/// A recorded answer.
macro_rules! recorded {
    ($file:literal) => {
        include_str!(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/it/web_search/",
            $file
        ))
    };
}
use recorded;

/// Returns a provider at the server, with retry pauses that do not slow a test.
fn options(provider: SearchProvider, server: &HttpStub) -> SearchOptions {
    let source = SecretSource::Variable("SEARCH_KEY".to_owned());
    SearchOptions {
        url: Some(server.url("/")),
        key: (provider == BRAVE).then(|| Secret::new(KEY, source)),
        patience: RetryPolicy {
            first_pause: Duration::from_millis(1),
            longest_pause: Duration::from_secs(2),
            jitter: Arc::new(|| 1.0),
            ..SearchOptions::new(provider).patience
        },
        ..SearchOptions::new(provider)
    }
}

#[allow(
    clippy::needless_pass_by_value,
    reason = "literals read better by value"
)]
fn search(options: SearchOptions, parameters: Value) -> ToolCall {
    let search = Arc::new(WebSearch::new(options).unwrap());
    granted(Some(search), &parameters)
}

fn granted(search: Option<Arc<WebSearch>>, parameters: &Value) -> ToolCall {
    let grants = BuiltinGrants {
        search,
        ..BuiltinGrants::default()
    };
    let tool = BuiltinTool {
        name: Builtin::WebSearch,
        grants: Arc::new(grants),
    };
    ToolCall {
        parameters: parameters.as_object().unwrap().clone(),
        ..call(ToolImplementation::Builtin(tool))
    }
}

/// Sends a request to a server with a sequence of answers.
async fn search_stubbed(
    provider: SearchProvider,
    replies: Vec<Reply>,
    change: impl FnOnce(&mut SearchOptions),
) -> (ToolOutcome, Vec<Request>) {
    let server = HttpStub::answering(replies).unwrap();
    let mut options = options(provider, &server);
    change(&mut options);
    let outcome = sandbox()
        .await
        .run(search(options, json!({"query": QUESTION})))
        .await;
    (outcome, server.seen())
}

/// Returns the content of both recorded answers.
fn expected(provider: &str) -> Value {
    json!({"provider": provider, "query": QUESTION, "results": [
        {
            "title": "The Thames Barrier - GOV.UK",
            "url": "https://www.gov.uk/guidance/the-thames-barrier",
            "snippet": "Find out about the Thames Barrier's flood defences & how it works.",
            "source_type": "web",
            "published_at": "2024-10-03T11:20:00Z",
        },
        {
            "title": "Thames Barrier - Wikipedia",
            "url": "https://en.wikipedia.org/wiki/Thames_Barrier",
            "snippet": "The Thames Barrier is a retractable barrier system built to protect the \
                        floodplain of most of Greater London.",
            "source_type": "web",
        },
        {
            "title": "Thames tidal defences",
            "url": "https://example.org/tidal",
            "snippet": "",
            "source_type": "web",
        },
    ]})
}

/// Both providers yield equal results, with their actions.
#[tokio::test(flavor = "multi_thread")]
async fn answers_of_both_providers_give_the_same_results() {
    for (provider, body) in [
        (BRAVE, recorded!("brave/success.json")),
        (SEARXNG, recorded!("searxng/success.json")),
    ] {
        let (outcome, _) = search_stubbed(provider, vec![Reply::json(200, body)], |_| {}).await;
        let mut found = output(outcome);
        let actions = found.as_object_mut().unwrap().remove("actions").unwrap();
        assert_eq!(found, expected(provider.as_str()));
        let details = &actions[0]["details"];
        let told = json!([
            actions[0]["action_type"],
            details["operation"],
            details["provider"],
            details["query"],
            details["results"]
        ]);
        let as_done = json!(["search", "web.search", provider.as_str(), QUESTION, 3]);
        assert_eq!(told, as_done);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_without_results_is_valid() {
    for (provider, body) in [
        (BRAVE, recorded!("brave/empty.json")),
        (SEARXNG, recorded!("searxng/empty.json")),
    ] {
        let (outcome, seen) = search_stubbed(provider, vec![Reply::json(200, body)], |_| {}).await;
        assert_eq!(output(outcome)["results"], json!([]));
        assert_eq!(seen.len(), 1);
    }
}

/// The key goes to Brave in its header, and the query is data in the address.
#[tokio::test(flavor = "multi_thread")]
async fn a_request_contains_only_supported_parameters() {
    let given = json!({
        "query": "a&count=99#ä +b", "count": 3, "freshness": "week", "language": "ja",
    });
    let fixture = sandbox().await;
    let sent = async |provider, body: &str, given: &Value| {
        let server = HttpStub::answering(vec![Reply::json(200, body)]).unwrap();
        let found = output(
            fixture
                .run(search(options(provider, &server), given.clone()))
                .await,
        );
        let seen = server.seen().remove(0);
        assert_eq!(seen.method, "GET");
        assert!(seen.headers["user-agent"].starts_with("charter/"));
        (found, seen)
    };
    let brave = recorded!("brave/success.json");
    let (_, seen) = sent(BRAVE, brave, &given).await;
    assert_eq!(
        seen.path,
        "/res/v1/web/search?q=a%26count%3D99%23%C3%A4+%2Bb&count=3&result_filter=web\
         &text_decorations=false&extra_snippets=false&freshness=pw&search_lang=jp"
    );
    assert_eq!(seen.headers["x-subscription-token"], KEY);
    let searxng = recorded!("searxng/success.json");
    let (_, seen) = sent(SEARXNG, searxng, &given).await;
    assert_eq!(
        seen.path,
        "/search?q=a%26count%3D99%23%C3%A4+%2Bb&format=json&categories=general&time_range=week\
         &language=ja"
    );
    assert!(!seen.headers.contains_key("x-subscription-token"));
    // SearxNG has no parameter for the number of results, and returns more.
    let few = json!({"query": QUESTION, "count": 2});
    let (found, _) = sent(SEARXNG, searxng, &few).await;
    assert_eq!(found["results"].as_array().unwrap().len(), 2);
}

/// A dry run also searches, because it only reads.
#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_performs_the_search() {
    let body = recorded!("searxng/success.json");
    let server = HttpStub::answering(vec![Reply::json(200, body)]).unwrap();
    let call = ToolCall {
        dry_run: DryRun::Yes,
        ..search(options(SEARXNG, &server), json!({"query": QUESTION}))
    };
    let found = output(sandbox().await.run(call).await);
    assert_eq!(found["results"].as_array().unwrap().len(), 3);
}
