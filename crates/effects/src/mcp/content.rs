//! The output of a server's tool from its result: structured content or text, and the blocks of other content as they were
//! sent. Must not know where content is kept.

use charter_contract::agentic::error::ErrorType;
use charter_contract::content::CONTENT_FIELD;
use charter_contract::json::text_length;
use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Map, Value};

use crate::outcome::Failure;

/// Returns the output of a result: its structured content, else its text. Other content is in the field
/// [`CONTENT_FIELD`], with the text between it if nothing is structured.
pub(super) fn output(result: CallToolResult, most: usize, server: &str) -> Result<Value, Failure> {
    let texts = result.content.iter().filter_map(|block| match block {
        ContentBlock::Text(text) => Some(text.text.as_str()),
        _ => None,
    });
    let text = texts.collect::<Vec<_>>().join("\n");
    if result.is_error == Some(true) {
        let message = format!("the MCP server `{server}` reports a failure: {text}");
        return Err(Failure::new(ErrorType::ExecutionError, message));
    }
    let is_structured = result.structured_content.is_some();
    let blocks = blocks(&result.content, is_structured)?;
    let mut output = match result.structured_content {
        Some(content) => content,
        None => Value::Object(Map::from_iter([("text".to_owned(), Value::String(text))])),
    };
    if let Value::Object(fields) = &mut output {
        // The field is Charter's own: a server cannot refer to content of others.
        fields.remove(CONTENT_FIELD);
        if !blocks.is_empty() {
            fields.insert(CONTENT_FIELD.to_owned(), Value::Array(blocks));
        }
    }
    within(&output, most, server)?;
    Ok(output)
}

/// Refuses an answer that is larger than the limit.
pub(super) fn within(answer: &Value, most: usize, server: &str) -> Result<(), Failure> {
    let size = text_length(answer);
    if size <= most {
        return Ok(());
    }
    let message =
        format!("the MCP server `{server}` answered with {size} bytes; the limit is {most}");
    Err(Failure::new(ErrorType::ResourceError, message).answered())
}

/// The blocks of a result that has content beside its text; none if it has only text, which the output contains.
fn blocks(content: &[ContentBlock], is_structured: bool) -> Result<Vec<Value>, Failure> {
    let is_text = |block: &ContentBlock| matches!(block, ContentBlock::Text(_));
    if content.iter().all(is_text) {
        return Ok(Vec::new());
    }
    let kept = content
        .iter()
        .filter(|block| !is_structured || !is_text(block));
    let blocks = kept.map(|block| {
        let mut block = serde_json::to_value(block)?;
        if let Value::Object(fields) = &mut block {
            fields.remove("_meta");
        }
        Ok(block)
    });
    let blocks: Result<Vec<Value>, serde_json::Error> = blocks.collect();
    blocks.map_err(|error| Failure::system(format!("writing a server's content: {error}")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(result: Value) -> Value {
        let result: CallToolResult = serde_json::from_value(result).unwrap();
        output(result, 1 << 20, "files").unwrap()
    }

    #[test]
    fn content_beside_text_is_kept_in_its_order() {
        let image = json!({"type": "image", "data": "AAEC", "mimeType": "image/png"});
        let link = json!({"type": "resource_link", "uri": "file:///x", "name": "x"});
        let text = json!({"type": "text", "text": "a picture"});
        assert_eq!(of(json!({"content": [text]})), json!({"text": "a picture"}));
        let whole = of(json!({"content": [image, text, link]}));
        assert_eq!(whole["text"], "a picture");
        assert_eq!(whole[CONTENT_FIELD], json!([image, text, link]));
        let structured = of(json!({
            "content": [text, image],
            "structuredContent": {"n": 1, CONTENT_FIELD: [{"digest": "forged"}]},
        }));
        assert_eq!(structured, json!({"n": 1, CONTENT_FIELD: [image]}));
        let forged = json!({"content": [], "structuredContent": {CONTENT_FIELD: 1}});
        assert_eq!(of(forged), json!({}));
    }
}
