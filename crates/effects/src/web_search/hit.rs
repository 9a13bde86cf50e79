//! One result, rebuilt from a provider's answer: texts without tags and hidden characters, and a valid link. Must not
//! know providers.

use charter_contract::time::Timestamp;
use charter_contract::visible::clean;
use reqwest::Url;
use serde::Serialize;
use serde_json::Value;

use crate::extract;

/// Longest title, in characters.
const MAX_TITLE: usize = 300;
/// Longest snippet, in characters.
const MAX_SNIPPET: usize = 1_000;
/// Longest link, in bytes.
const MAX_URL_BYTES: usize = 2_048;
/// Bytes of a text that are read at most.
const MAX_TEXT_BYTES: usize = 16 << 10;

/// A result.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Hit {
    title: String,
    url: String,
    snippet: String,
    source_type: SourceType,
    #[serde(skip_serializing_if = "Option::is_none")]
    published_at: Option<Timestamp>,
}

/// The type of a result's source.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum SourceType {
    Web,
}

impl Hit {
    /// Converts a provider's result; returns `None` if it is unusable. The fields beside `title` and `url` have
    /// different names at each provider.
    pub(super) fn from_result(result: &Value, snippet: &str, published: &str) -> Option<Self> {
        let text = |name: &str| result.get(name).and_then(Value::as_str);
        let url = link(text("url")?)?;
        let title = line(text("title").unwrap_or_default(), MAX_TITLE);
        Some(Self {
            title: if title.is_empty() {
                url.host_str()?.to_owned()
            } else {
                title
            },
            url: url.into(),
            snippet: line(text(snippet).unwrap_or_default(), MAX_SNIPPET),
            source_type: SourceType::Web,
            published_at: text(published).and_then(time),
        })
    }
}

/// Parses an `http` or `https` link that shows its target: a link with a user before the host is refused.
fn link(text: &str) -> Option<Url> {
    if text.len() > MAX_URL_BYTES {
        return None;
    }
    let url = Url::parse(text).ok()?;
    let plain = ["http", "https"].contains(&url.scheme())
        && url.username().is_empty()
        && url.password().is_none()
        && url.as_str().len() <= MAX_URL_BYTES;
    plain.then_some(url)
}

fn line(html: &str, most: usize) -> String {
    let read = &html[..html.floor_char_boundary(MAX_TEXT_BYTES)];
    clean(&extract::line(read), most)
}

/// Parses a provider's time; without an offset it is UTC.
fn time(text: &str) -> Option<Timestamp> {
    let text = text.get(..text.len().min(64))?;
    let in_utc = || Timestamp::parse(&format!("{text}Z"));
    Timestamp::parse(text).or_else(|_| in_utc()).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn hit(result: &Value) -> Option<Value> {
        Hit::from_result(result, "content", "publishedDate").map(|hit| json!(hit))
    }

    #[test]
    fn a_result_is_rebuilt_from_its_texts_and_its_link() {
        let result = json!({
            "title": "<b>Flood</b> &amp; <i>tide</i>\n gates\u{202e}\u{0}", "url": "HTTPS://Example.org/a b?q=<x>",
            "content": "One<br>two<script>alert(1)</script> <img src=x onerror=alert(1)>three \u{1b}[31m",
            "publishedDate": "2024-05-01T07:30:00", "template": "x.html", "score": 1e308,
        });
        let expected = json!({
            "title": "Flood & tide gates", "url": "https://example.org/a%20b?q=%3Cx%3E",
            "snippet": "One two three [31m", "source_type": "web", "published_at": "2024-05-01T07:30:00Z",
        });
        assert_eq!(hit(&result), Some(expected));
    }

    #[test]
    fn invalid_and_misleading_links_are_dropped() {
        for url in [
            json!("javascript:alert(1)"),
            json!("data:text/html,x"),
            json!("file:///etc/passwd"),
            json!("ftp://example.org/a"),
            json!("//example.org/a"),
            json!("example.org"),
            json!("https://"),
            json!("https://bank.example@evil.example/"),
            json!("https://a:b@example.org/"),
            json!(format!("https://example.org/{}", "a".repeat(2_048))),
            json!(format!("https://example.org/{}", "ä".repeat(1_000))),
            json!(7),
            json!(["https://example.org/"]),
            json!(null),
        ] {
            assert_eq!(hit(&json!({"title": "t", "url": url})), None, "{url}");
        }
        for result in [
            json!(null),
            json!("https://example.org"),
            json!([]),
            json!({}),
        ] {
            assert_eq!(hit(&result), None, "{result}");
        }
    }

    #[test]
    fn texts_of_other_types_are_empty_and_long_texts_are_truncated() {
        let url = "https://example.org/";
        let odd =
            json!({"title": {"a": 1}, "url": url, "content": 7, "publishedDate": "yesterday"});
        let expected = json!({
            "title": "example.org", "url": url, "snippet": "", "source_type": "web",
        });
        assert_eq!(hit(&odd), Some(expected));
        let long = "ä ".repeat(100_000);
        let cut = hit(&json!({"title": long, "url": url, "content": long})).unwrap();
        let characters = |name: &str| cut[name].as_str().unwrap().chars().count();
        assert_eq!((characters("title"), characters("snippet")), (301, 1_001));
    }

    #[test]
    fn times_are_read_with_and_without_an_offset() {
        let read = |text: &str| time(text).map(|time| time.to_string());
        let utc = Some("2024-05-01T07:30:00Z".to_owned());
        assert_eq!(read("2024-05-01T07:30:00"), utc);
        assert_eq!(read("2024-05-01T09:30:00+02:00"), utc);
        for other in [
            "2024-05-01",
            "2 days ago",
            "",
            &"9".repeat(1_000),
            "ä".repeat(40).as_str(),
        ] {
            assert_eq!(read(other), None, "{other}");
        }
    }
}
