//! Checked texts that are not ids: non-empty text, URLs, versions. It knows no contract that uses them, and resolves
//! no URL.

use crate::ids::{MAX_ID_LENGTH, Shape};

string_newtype! { Shape::not_empty();
    /// Non-empty text for people or models.
    Text,
}

string_newtype! { Shape::short_text();
    /// A short text of 1 to 200 characters: a content hash, a version of an external thing.
    ShortText,
}

string_newtype! {
    Shape::pattern(
        |text| is_url(text, &["http://", "https://"]),
        "^https?://[!$-.0-;=@-\\[\\]_a-z~][!#-;=?-\\[\\]_a-z~]*$",
        "an http:// or https:// link",
    );
    /// An `http` or `https` URL, in the characters that RFC 3986 allows.
    HttpUrl,
}

string_newtype! {
    Shape::pattern(
        |text| is_url(text, &["https://"]),
        "^https://[!$-.0-;=@-\\[\\]_a-z~][!#-;=?-\\[\\]_a-z~]*$",
        "an https:// link",
    );
    /// An `https` URL, in the characters that RFC 3986 allows.
    HttpsUrl,
}

/// Whether the text has one of the schemes, a non-empty host, and only the visible ASCII characters that RFC 3986
/// allows in URLs.
fn is_url(text: &str, schemes: &[&str]) -> bool {
    let Some(rest) = schemes.iter().find_map(|scheme| text.strip_prefix(scheme)) else {
        return false;
    };
    !rest.starts_with(['/', '?', '#'])
        && !rest.is_empty()
        && rest.bytes().all(|byte| {
            byte.is_ascii_graphic()
                && !matches!(
                    byte,
                    b'"' | b'<' | b'>' | b'\\' | b'^' | b'`' | b'{' | b'|' | b'}'
                )
        })
}

string_newtype! {
    Shape::pattern(
        is_version,
        "^(0|[1-9][0-9]{0,8})\\.(0|[1-9][0-9]{0,8})\\.(0|[1-9][0-9]{0,8})(-[0-9A-Za-z][0-9A-Za-z.-]{0,63})?(\\+[0-9A-Za-z][0-9A-Za-z.-]{0,63})?$",
        "a version such as 0.1.0",
    );
    /// The version of a document or package: `MAJOR.MINOR.PATCH`, with an optional pre-release and build part (ruling
    /// 24: this family's own version type).
    Version,
}

impl Version {
    /// Returns the numeric part: major, minor, patch.
    #[must_use]
    pub fn numbers(&self) -> (u32, u32, u32) {
        let core = self.as_str().split(['-', '+']).next().unwrap_or_default();
        let mut parts = core.split('.').map(|part| part.parse().unwrap_or_default());
        let mut next = || parts.next().unwrap_or_default();
        (next(), next(), next())
    }
}

fn is_version(text: &str) -> bool {
    let (rest, build) = match text.split_once('+') {
        Some((rest, build)) => (rest, Some(build)),
        None => (text, None),
    };
    let (core, pre) = match rest.split_once('-') {
        Some((core, pre)) => (core, Some(pre)),
        None => (rest, None),
    };
    let mut parts = core.split('.');
    let numeric = parts
        .by_ref()
        .take(3)
        .filter(|part| is_version_number(part))
        .count()
        == 3;
    numeric && parts.next().is_none() && [pre, build].into_iter().flatten().all(is_version_label)
}

fn is_version_number(text: &str) -> bool {
    (1..=9).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_digit())
        && (text == "0" || !text.starts_with('0'))
}

fn is_version_label(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && text.as_bytes()[0].is_ascii_alphanumeric()
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-'))
}

const _: () = assert!(MAX_ID_LENGTH == 200, "ShortText states its length in words");
