//! Content negotiation by the header `Accept` (RFC 9110, section 12.5.1). Must not know which forms an answer can have.

use axum::http::HeaderMap;
use axum::http::header::ACCEPT;

/// The highest quality, in thousandths.
const WANTED: u16 = 1_000;

/// A client's preference for a form of an answer; the form with the greater preference is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Preference {
    /// The quality in thousandths; zero for a form that is not accepted.
    quality: u16,
    exactness: Exactness,
}

/// How precisely a client names a form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Exactness {
    /// By `*/*`.
    Any,
    /// By the first half of its media type.
    Family,
    /// By its media type.
    Type,
    /// By parameters as well.
    Parameters,
}

/// One range of media types.
#[derive(Debug)]
struct Range<'h> {
    kind: &'h str,
    parameters: Vec<(&'h str, &'h str)>,
    quality: u16,
}

/// The client's preference for a media type with these parameters. Of the ranges that match it, the most precise one
/// counts.
pub(crate) fn preference(
    headers: &HeaderMap,
    kind: &str,
    parameters: &[(&str, &str)],
) -> Preference {
    if !headers.contains_key(ACCEPT) {
        return Preference {
            quality: WANTED,
            exactness: Exactness::Any,
        };
    }
    let lines = headers.get_all(ACCEPT).iter();
    let lines = lines.filter_map(|line| line.to_str().ok());
    let ranges = lines.flat_map(|line| line.split(',')).filter_map(range);
    let taken = ranges.filter_map(|range| Some((range.takes(kind, parameters)?, range.quality)));
    let (exactness, quality) = taken.max().unwrap_or((Exactness::Any, 0));
    Preference { quality, exactness }
}

/// Whether a client accepts a media type and names it.
pub(crate) fn names(headers: &HeaderMap, kind: &str) -> bool {
    let preference = preference(headers, kind, &[]);
    preference.quality > 0 && preference.exactness >= Exactness::Type
}

impl Range<'_> {
    /// How precisely the range names a media type, if it matches. Parameters that the type also has must agree.
    fn takes(&self, kind: &str, parameters: &[(&str, &str)]) -> Option<Exactness> {
        if self.kind == "*/*" {
            return Some(Exactness::Any);
        }
        if let Some(family) = self.kind.strip_suffix("/*") {
            let (first, _) = kind.split_once('/')?;
            return first
                .eq_ignore_ascii_case(family)
                .then_some(Exactness::Family);
        }
        if !self.kind.eq_ignore_ascii_case(kind) {
            return None;
        }
        let mut exactness = Exactness::Type;
        for (name, value) in parameters {
            let mut asked = self.parameters.iter();
            let asked = asked.find(|(asked, _)| asked.eq_ignore_ascii_case(name));
            if let Some((_, asked)) = asked {
                if !asked.eq_ignore_ascii_case(value) {
                    return None;
                }
                exactness = Exactness::Parameters;
            }
        }
        Some(exactness)
    }
}

fn range(text: &str) -> Option<Range<'_>> {
    let mut parts = text.split(';').map(str::trim);
    let kind = parts.next().filter(|kind| !kind.is_empty())?;
    let mut range = Range {
        kind,
        parameters: Vec::new(),
        quality: WANTED,
    };
    for part in parts {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        let (name, value) = (name.trim_end(), value.trim_start().trim_matches('"'));
        if name.eq_ignore_ascii_case("q") {
            range.quality = thousandths(value).unwrap_or_default();
        } else {
            range.parameters.push((name, value));
        }
    }
    Some(range)
}

/// Parses a quality: 0 to 1 with at most three decimals.
fn thousandths(text: &str) -> Option<u16> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if fraction.len() > 3 || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let fraction: u16 = format!("{fraction:0<3}").parse().ok()?;
    match whole {
        "0" => Some(fraction),
        "1" if fraction == 0 => Some(WANTED),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(lines: &[&str]) -> HeaderMap {
        let lines = lines.iter().map(|line| (ACCEPT, line.parse().unwrap()));
        lines.collect()
    }

    #[test]
    fn the_closest_range_counts() {
        let found = |line: &str| {
            let found = preference(&headers(&[line]), "text/plain", &[("version", "1")]);
            found.quality
        };
        for (line, expected) in [
            ("text/plain", 1_000),
            ("TEXT/Plain; Version=1; q=0.5", 500),
            ("text/plain;version=2", 0),
            ("text/plain;version=\"1\";q=0.25, text/plain", 250),
            ("text/*;q=0.5, */*;q=0.75", 500),
            ("*/*;q=0.1", 100),
            ("application/json", 0),
            ("text/plain;q=0, */*", 0),
            ("text/plain;charset=utf-8;q=1.000", 1_000),
            ("text/plain;q=1.5", 0),
            ("text/plain;q=0.1234", 0),
            (" , ,text/plain ;q=0.001", 1),
        ] {
            assert_eq!(found(line), expected, "{line}");
        }
    }

    #[test]
    fn without_a_header_every_type_is_accepted_and_header_lines_are_joined() {
        let none = preference(&headers(&[]), "text/plain", &[]);
        assert_eq!((none.quality, none.exactness), (1_000, Exactness::Any));
        let two = headers(&["text/html", "text/plain;q=0.3"]);
        assert_eq!(preference(&two, "text/plain", &[]).quality, 300);
    }

    #[test]
    fn a_type_is_named_only_by_itself() {
        for (line, expected) in [
            ("text/event-stream", true),
            ("application/json, text/event-stream;q=0.1", true),
            ("text/event-stream;q=0", false),
            ("text/*", false),
            ("*/*", false),
            ("text/event-streams", false),
        ] {
            assert_eq!(
                names(&headers(&[line]), "text/event-stream"),
                expected,
                "{line}"
            );
        }
        assert!(!names(&headers(&[]), "text/event-stream"));
    }
}
