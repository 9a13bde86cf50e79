//! The content of a tool's output: separates its bytes from the output, so that the output refers to them by digest. The
//! blocks are a server's words: bytes that cannot be kept leave a block with the reason.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use charter_contract::bounds::{CONTENT_BLOCKS, CONTENT_BYTES};
use charter_contract::content::{CONTENT_FIELD, ContentDigest, ToolContent};
use charter_contract::hex;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

/// The media type of bytes without a valid one.
const BYTES: &str = "application/octet-stream";
/// Most characters of a media type.
const MAX_MEDIA_TYPE: usize = 127;
/// The fields of a block with base64: of images and audio, and of resources.
const DATA_FIELDS: [&str; 2] = ["data", "blob"];

/// Removes the list of content from an output; none for an output without content. An output is checked against its
/// tool's declaration without it.
pub fn detach(output: &mut Value) -> Option<Value> {
    output.as_object_mut()?.remove(CONTENT_FIELD)
}

/// Adds the list of content to an output, if it is an object.
pub fn attach(output: &mut Value, blocks: Value) {
    if let Some(fields) = output.as_object_mut() {
        fields.insert(CONTENT_FIELD.to_owned(), blocks);
    }
}

/// Separates bytes from the blocks of an output; each is then referred to by digest.
#[must_use]
pub fn separate(blocks: Value) -> (Value, Vec<ToolContent>) {
    let mut contents = Vec::new();
    let Value::Array(mut blocks) = blocks else {
        return (json!([]), contents);
    };
    let total = blocks.len();
    blocks.truncate(CONTENT_BLOCKS);
    for block in &mut blocks {
        let resource = match block.get("resource") {
            Some(Value::Object(_)) => block.get_mut("resource"),
            Some(_) | None => Some(&mut *block),
        };
        if let Some(Value::Object(fields)) = resource {
            contents.extend(separate_block(fields));
        }
    }
    if total > CONTENT_BLOCKS {
        let more = total - CONTENT_BLOCKS;
        let reason = format!("{more} more blocks; the limit is {CONTENT_BLOCKS}");
        blocks.push(json!({"type": "left_out", "reason": reason}));
    }
    (Value::Array(blocks), contents)
}

/// Replaces the base64 of a block by the digest of its bytes.
fn separate_block(fields: &mut Map<String, Value>) -> Option<ToolContent> {
    let mut encoded = None;
    for field in DATA_FIELDS {
        encoded = encoded.or(fields.remove(field));
    }
    let Value::String(encoded) = encoded? else {
        fields.insert("left_out".to_owned(), json!("its data is not a text"));
        return None;
    };
    let bytes = match decoded(&encoded) {
        Ok(bytes) => bytes,
        Err(reason) => {
            fields.insert("left_out".to_owned(), Value::String(reason));
            return None;
        }
    };
    let digest = ContentDigest::parse(&format!("sha256:{}", hex::encode(&Sha256::digest(&bytes))));
    let digest = digest.ok()?;
    let media_type = fields.get("mimeType").and_then(Value::as_str);
    let media_type = media_type.filter(|named| is_media_type(named));
    let media_type = media_type.unwrap_or(BYTES).to_owned();
    fields.insert("digest".to_owned(), json!(digest));
    fields.insert("bytes".to_owned(), json!(bytes.len()));
    Some(ToolContent {
        digest,
        media_type,
        bytes,
    })
}

fn decoded(encoded: &str) -> Result<Vec<u8>, String> {
    let bytes = encoded.len() / 4 * 3;
    if bytes > CONTENT_BYTES {
        return Err(format!(
            "it has about {bytes} bytes; the limit is {CONTENT_BYTES}"
        ));
    }
    STANDARD
        .decode(encoded)
        .map_err(|error| format!("its data is not base64: {error}"))
}

/// Whether a text is a media type without parameters (RFC 9110, section 8.3.1).
fn is_media_type(text: &str) -> bool {
    let is_token = |part: &str| {
        let known = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        !part.is_empty() && part.bytes().all(known)
    };
    let parts = text.split_once('/');
    text.len() <= MAX_MEDIA_TYPE
        && parts.is_some_and(|(kind, subtype)| is_token(kind) && is_token(subtype))
}

#[cfg(test)]
mod tests {
    use charter_contract::content::references;

    use super::*;

    #[test]
    fn bytes_are_separated_and_referred_to_by_their_digest() {
        let mut output = json!({"text": "two", CONTENT_FIELD: [
            {"type": "text", "text": "two"},
            {"type": "image", "mimeType": "image/png", "data": "AAEC"},
            {"type": "resource", "resource": {"uri": "file:///x", "mimeType": "no type", "blob": "AAEC"}},
            {"type": "resource", "resource": {"uri": "file:///y", "text": "words"}},
            {"type": "resource_link", "uri": "https://example.com", "name": "x"},
        ]});
        let blocks = detach(&mut output).unwrap();
        assert_eq!(output, json!({"text": "two"}));
        let (blocks, contents) = separate(blocks);
        let digest = "sha256:ae4b3280e56e2faf83f414a6e3dabe9d5fbe18976544c05fed121accb85b53fc";
        assert_eq!(
            blocks,
            json!([
                {"type": "text", "text": "two"},
                {"type": "image", "mimeType": "image/png", "digest": digest, "bytes": 3},
                {"type": "resource", "resource": {
                    "uri": "file:///x", "mimeType": "no type", "digest": digest, "bytes": 3,
                }},
                {"type": "resource", "resource": {"uri": "file:///y", "text": "words"}},
                {"type": "resource_link", "uri": "https://example.com", "name": "x"},
            ])
        );
        let kept: Vec<(&str, &[u8])> = contents
            .iter()
            .map(|content| (&*content.media_type, &*content.bytes))
            .collect();
        let bytes: &[u8] = &[0, 1, 2];
        assert_eq!(kept, [("image/png", bytes), (BYTES, bytes)]);
        attach(&mut output, blocks);
        assert_eq!(references(&output).count(), 2);
    }

    #[test]
    fn content_that_cannot_be_kept_leaves_the_reason() {
        let large = "A".repeat(CONTENT_BYTES / 3 * 4 + 8);
        let blocks = json!([
            {"type": "image", "mimeType": "image/png", "data": "no base64"},
            {"type": "audio", "mimeType": "audio/wav", "data": large},
            {"type": "image", "data": 7},
        ]);
        let (blocks, contents) = separate(blocks);
        assert_eq!(contents, []);
        for block in blocks.as_array().unwrap() {
            assert!(block["left_out"].is_string(), "{block}");
            assert!(block.get("data").is_none());
        }
        let many = vec![json!({"type": "text", "text": "x"}); CONTENT_BLOCKS + 2];
        let (many, _) = separate(json!(many));
        let last = many.as_array().unwrap().last().unwrap();
        assert_eq!(
            *last,
            json!({"type": "left_out", "reason": "2 more blocks; the limit is 64"})
        );
        assert_eq!(separate(json!({"a": 1})), (json!([]), Vec::new()));
    }
}
