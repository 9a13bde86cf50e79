//! Deep links from evidence to the cloud console that shows the original (seed 000 §2.14).
//!
//! A link is a pure function of evidence type, source and native id, for AWS, Azure and Google
//! Cloud. The type determines the view of the console that shows the original: a trail, a bill, a metric. An original
//! without such a view is shown as the resource that it describes. For any other system, the tool declares the page
//! that shows the original, and the native id is inserted into its link. Every inserted value is percent-encoded, so it
//! cannot change the target of the link. `docs/reference/evidence.md` has the table, which a test compares.

mod aws;
mod azure;
mod google;

use charter_contract::bounds::FILLED_BYTES;
use charter_contract::catalogue::evidence::{EvidenceSource, EvidenceType};
use charter_contract::catalogue::tool::{ConsolePage, NATIVE_ID_PLACEHOLDER};
use charter_contract::text::ShortText;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// The characters to encode in a URL component: all except the unreserved ones of RFC 3986 §2.3.
const COMPONENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// A link with its label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// The label, which describes the target.
    pub label: String,
    /// An https URL.
    pub href: String,
}

/// Returns whether Charter knows the console of a system: its name has the form `aws.…`, `azure.…` or `gcp.…`.
#[must_use]
pub fn is_known(system: &str) -> bool {
    Cloud::from_system(system).is_some()
}

/// Returns the link to the source of the evidence: in the console of its cloud, or else on the page that the tool
/// names. Returns `None` if there is neither.
#[must_use]
pub fn link(
    kind: EvidenceType,
    source: &EvidenceSource,
    page: Option<&ConsolePage>,
) -> Option<Link> {
    let Some((cloud, service)) = Cloud::from_system(source.system.as_ref()) else {
        return page.map(|page| own(page, source.native_id.as_str()));
    };
    Some(match cloud {
        Cloud::Aws => aws::link(kind, service, source),
        Cloud::Azure => azure::link(kind, source),
        Cloud::Google => google::link(kind, service, source),
    })
}

/// Inserts the native id into the page's link. Slashes are kept, so that `owner/name/pull/12` is a path, unless a part
/// is empty, `.` or `..`, which a browser would resolve. An id that consists only of such a part is left out, because
/// no encoding keeps a browser from resolving it. So is an id that would make the link longer than [`FILLED_BYTES`].
fn own(page: &ConsolePage, native_id: &str) -> Link {
    let is_path = native_id
        .split('/')
        .all(|part| !matches!(part, "" | "." | ".."));
    let encoded = match native_id {
        "." | ".." => String::new(),
        _ if is_path => encode_path(native_id),
        _ => encode(native_id),
    };
    let written = page.href.as_str();
    let times = written.matches(NATIVE_ID_PLACEHOLDER).count();
    let fits = encoded.len().saturating_mul(times) <= FILLED_BYTES;
    let encoded = if fits { encoded.as_str() } else { "" };
    let href = written.replace(NATIVE_ID_PLACEHOLDER, encoded);
    Link::new(page.label.as_str(), href)
}

impl Link {
    fn new(label: impl Into<String>, href: String) -> Self {
        let label = label.into();
        Self { label, href }
    }
}

#[derive(Debug, Clone, Copy)]
enum Cloud {
    Aws,
    Azure,
    Google,
}

impl Cloud {
    fn from_system(system: &str) -> Option<(Self, &str)> {
        let (cloud, service) = system.split_once('.').unwrap_or((system, ""));
        match cloud {
            "aws" => Some((Self::Aws, service)),
            "azure" => Some((Self::Azure, service)),
            "gcp" => Some((Self::Google, service)),
            _ => None,
        }
    }
}

fn text(field: &Option<ShortText>) -> Option<&str> {
    field.as_ref().map(ShortText::as_str)
}

fn encode(text: &str) -> String {
    utf8_percent_encode(text, COMPONENT).to_string()
}

/// Encodes the parts of a path, and keeps the slashes between them.
fn encode_path(path: &str) -> String {
    let parts: Vec<String> = path.trim_matches('/').split('/').map(encode).collect();
    parts.join("/")
}

#[cfg(test)]
mod tests;
