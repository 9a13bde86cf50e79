//! Content of tool results that is not JSON: images, audio, and the bytes of embedded resources. A result refers to its
//! content by digest; the bytes are stored apart from it. It knows neither a protocol nor a store.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::shape::Shape;

/// The field of a tool's output that lists its content.
pub const CONTENT_FIELD: &str = "mcp_content";

/// Letters of a digest before its digits, and its number of digits.
const ALGORITHM: &str = "sha256:";
const DIGITS: usize = 64;

const DIGEST: Shape = Shape::pattern(
    is_digest,
    "^sha256:[0-9a-f]{64}$",
    "`sha256:` and 64 lower-case hexadecimal digits",
);

fn is_digest(text: &str) -> bool {
    text.strip_prefix(ALGORITHM).is_some_and(|digits| {
        digits.len() == DIGITS
            && digits
                .bytes()
                .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    })
}

string_newtype! { DIGEST;
    /// SHA-256 of the bytes of content: `sha256:` and 64 digits (this project).
    ContentDigest,
}

/// Content with its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolContent {
    /// SHA-256 of the bytes.
    pub digest: ContentDigest,
    /// The media type that the tool named, such as `image/png`.
    pub media_type: String,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// A reference of an output to stored content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContentReference {
    /// SHA-256 of the bytes.
    pub digest: ContentDigest,
    /// The media type that the tool named.
    #[serde(rename = "mimeType", default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
}

/// Returns the references of a tool's output to stored content.
pub fn references(output: &Value) -> impl Iterator<Item = ContentReference> {
    let blocks = output.get(CONTENT_FIELD).and_then(Value::as_array);
    let blocks = blocks.into_iter().flatten();
    blocks.filter_map(|block| {
        // Bytes of a resource are one level further in.
        let resource = block.get("resource").unwrap_or(block);
        ContentReference::deserialize(resource).ok()
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn references_are_found_in_blocks_and_in_their_resources() {
        let digest = |digit: &str| format!("{ALGORITHM}{}", digit.repeat(DIGITS));
        let output = json!({"text": "x", CONTENT_FIELD: [
            {"type": "text", "text": "x"},
            {"type": "image", "mimeType": "image/png", "digest": digest("a"), "bytes": 3},
            {"type": "resource", "resource": {"uri": "file:///x", "digest": digest("0")}},
            {"type": "audio", "digest": "sha256:short"},
        ]});
        let found: Vec<(String, Option<String>)> = references(&output)
            .map(|found| (found.digest.to_string(), found.media_type))
            .collect();
        assert_eq!(
            found,
            [
                (digest("a"), Some("image/png".to_owned())),
                (digest("0"), None)
            ]
        );
        assert_eq!(references(&json!([1])).count(), 0);
    }
}
