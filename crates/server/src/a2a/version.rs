//! Checks the client's protocol version (section 3.6).

use axum::http::{HeaderMap, Uri};

use super::error::{A2aError, Kind};
use crate::agent_card::PROTOCOL;

/// The service parameter with the version, as a header or in the query.
const PARAMETER: &str = "A2A-Version";

/// The meaning of an absent or empty version (section 3.6.2).
const DEFAULT_VERSION: &str = "0.3";

/// Longest version that an error repeats, in characters.
const SHOWN: usize = 16;

/// Refuses a client of another version. The patch number is ignored (section 3.6).
pub(super) fn check(headers: &HeaderMap, uri: &Uri) -> Result<(), A2aError> {
    let header = headers.get(PARAMETER);
    let header = header.map(|value| value.to_str().unwrap_or("?").trim().to_owned());
    let version = header
        .or_else(|| in_query(uri))
        .filter(|version| !version.is_empty());
    let version = version.as_deref().unwrap_or(DEFAULT_VERSION);
    if major_minor(version) == Some(PROTOCOL) {
        return Ok(());
    }
    let shown: String = version.chars().take(SHOWN).collect();
    let message =
        format!("version {shown} of A2A is not supported; send `{PARAMETER}: {PROTOCOL}`");
    Err(A2aError::new(Kind::VersionNotSupported, message).about("supportedVersions", PROTOCOL))
}

fn in_query(uri: &Uri) -> Option<String> {
    let pairs = uri
        .query()?
        .split('&')
        .filter_map(|pair| pair.split_once('='));
    let mut named = pairs.filter(|(name, _)| name.eq_ignore_ascii_case(PARAMETER));
    named.next().map(|(_, value)| value.to_owned())
}

/// Returns `MAJOR.MINOR` of a version written `MAJOR.MINOR` or `MAJOR.MINOR.PATCH`.
fn major_minor(version: &str) -> Option<&str> {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let parts: Vec<&str> = version.split('.').collect();
    if !parts.iter().copied().all(is_number) {
        return None;
    }
    match parts.as_slice() {
        [_, _] => Some(version),
        [major, minor, _] => version.get(..major.len() + 1 + minor.len()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allows(header: Option<&str>, uri: &str) -> bool {
        let mut headers = HeaderMap::new();
        if let Some(version) = header {
            headers.insert(PARAMETER, version.parse().unwrap());
        }
        check(&headers, &uri.parse().unwrap()).is_ok()
    }

    /// A2A 1.0 section 3.6: `MAJOR.MINOR` decides, and an absent version means 0.3.
    #[test]
    fn only_version_1_0_is_supported_and_an_absent_header_means_0_3() {
        for (header, uri, allowed) in [
            (Some("1.0"), "/a2a", true),
            (Some(" 1.0 "), "/a2a", true),
            (Some("1.0.7"), "/a2a", true),
            (None, "/a2a?x=1&A2A-Version=1.0", true),
            (None, "/a2a?a2a-version=1.0", true),
            (None, "/a2a", false),
            (Some(""), "/a2a", false),
            (Some("0.3"), "/a2a", false),
            (Some("0.3"), "/a2a?A2A-Version=1.0", false),
            (Some("1"), "/a2a", false),
            (Some("1.1"), "/a2a", false),
            (Some("10.0"), "/a2a", false),
            (Some("1.0.0.0"), "/a2a", false),
            (Some("1.0.x"), "/a2a", false),
            (Some("v1.0"), "/a2a", false),
            (Some("2.0"), "/a2a", false),
        ] {
            assert_eq!(allows(header, uri), allowed, "{header:?} {uri}");
        }
    }
}
