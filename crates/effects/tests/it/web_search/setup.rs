//! Web search is disabled without a configuration, and an invalid configuration is refused.

use charter_contract::agentic::error::ErrorType;
use charter_effects::{PlainHttp, SearchOptions, SearchProvider, Secret, SecretSource, WebSearch};
use serde_json::json;

use super::{BRAVE, KEY, QUESTION, SEARXNG, granted};
use crate::support::{failure, sandbox};

#[tokio::test(flavor = "multi_thread")]
async fn without_a_provider_a_search_is_refused_with_a_hint() {
    let refused = sandbox()
        .await
        .run(granted(None, &json!({"query": QUESTION})))
        .await;
    let (kind, message, retryable, _) = failure(refused);
    let hint = "web search is disabled on this server: no search provider is configured (`search.provider`)";
    assert_eq!(
        (kind, message.as_str(), retryable),
        (ErrorType::PermissionError, hint, false)
    );
}

fn key(value: &str) -> Option<Secret> {
    let source = SecretSource::Variable("SEARCH_KEY".to_owned());
    Some(Secret::new(value, source))
}

fn set_up(
    provider: SearchProvider,
    url: Option<&str>,
    key: Option<Secret>,
    plain_http: PlainHttp,
) -> Result<String, String> {
    let options = SearchOptions {
        url: url.map(str::to_owned),
        key,
        plain_http,
        ..SearchOptions::new(provider)
    };
    let search = WebSearch::new(options).map_err(|error| error.to_string())?;
    Ok(search.address().to_owned())
}

#[test]
fn invalid_setup_is_refused_before_any_request() {
    let here = PlainHttp::Loopback;
    let said = |provider, url, key, plain| set_up(provider, url, key, plain).unwrap_err();
    assert_eq!(said(BRAVE, None, None, here), "Brave needs a `key`");
    for broken in ["", "a\nb"] {
        assert_eq!(
            said(BRAVE, None, key(broken), here),
            "the `key` is empty or has a character that is invalid in headers"
        );
    }
    assert_eq!(
        said(SEARXNG, None, None, here),
        "SearxNG needs a `url`: the address of an instance"
    );
    let url = Some("https://search.example");
    assert_eq!(said(SEARXNG, url, key(KEY), here), "SearxNG has no `key`");
    for (url, why) in [
        ("search.example", "not a URL"),
        ("ftp://search.example", "neither https nor http"),
        ("http://search.example", "remote without TLS"),
        (
            "https://u:p@search.example",
            "a URL with a user or password",
        ),
        (
            "https://search.example?a=b",
            "a URL with a query or fragment",
        ),
    ] {
        let expected = format!("`url` is {why}");
        assert_eq!(said(SEARXNG, Some(url), None, here), expected, "{url}");
    }
}

#[test]
fn the_base_url_prefixes_the_path_of_the_provider() {
    let here = PlainHttp::Loopback;
    assert_eq!(
        set_up(BRAVE, None, key(KEY), here).as_deref(),
        Ok("https://api.search.brave.com/res/v1/web/search")
    );
    for (url, plain) in [
        ("https://search.example/searxng/", here),
        ("https://search.example/searxng", here),
        ("http://127.0.0.1:8080", here),
        ("http://searxng:8080/", PlainHttp::Anywhere),
    ] {
        let address = set_up(SEARXNG, Some(url), None, plain).unwrap();
        assert_eq!(address, format!("{}/search", url.trim_end_matches('/')));
    }
}

#[test]
fn a_displayed_provider_contains_no_key() {
    let options = SearchOptions {
        key: key(KEY),
        ..SearchOptions::new(BRAVE)
    };
    let shown = format!("{:?}", WebSearch::new(options).unwrap());
    assert!(
        shown.contains("environment variable SEARCH_KEY") && !shown.contains(KEY),
        "{shown}"
    );
}
