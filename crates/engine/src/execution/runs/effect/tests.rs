use charter_contract::catalogue::{Document, DocumentKind};
use serde_json::json;

use super::*;

/// A stored tool with this output schema.
fn stored(output_schema: &Value) -> Tool {
    let body = json!({
        "tool_id": "demo.list", "name": "list", "provider": "demo", "tool_class": "readonly",
        "domain": "security", "description": "Lists things.", "language": "python",
        "implementation": {"type": "script", "path": "scripts/list.py"},
        "output_schema": output_schema,
    });
    match Document::from_stored(DocumentKind::Tool, &body.to_string()).unwrap() {
        Document::Tool(tool) => tool,
        other => panic!("{other:?}"),
    }
}

async fn refused(tool: &Tool, output: Value) -> String {
    let failed = check_output(tool, output).await.unwrap_err();
    assert_eq!(failed.code, ErrorCode::ToolResultInvalid.as_str());
    assert!(!failed.retryable);
    failed.message
}

#[tokio::test]
async fn b003_4_a_result_is_taken_when_it_is_what_the_tool_declares() {
    let tool = stored(&json!({"type": "object", "properties": {"id": {"type": "integer"}}}));
    let output = json!({"id": 1});
    assert_eq!(check_output(&tool, output.clone()).await, Ok(output));
    let message = refused(&tool, json!({"id": "a"})).await;
    assert!(
        message.starts_with("the result of the tool `demo.list` violates its output schema: /id: "),
        "{message}"
    );
}

/// The tool was registered before the limits existed, and the catalogue still has it.
#[tokio::test]
async fn a_result_whose_schema_cannot_be_used_is_refused_with_the_reason() {
    let to = |at: usize| json!({"$ref": format!("#/$defs/a{at}")});
    let mut parts: Map<String, Value> = (0..40).map(|at| (format!("a{at}"), to(at + 1))).collect();
    parts.insert("a40".to_owned(), json!({"type": "string"}));
    let schema = json!({"$defs": parts, "items": to(0)});
    let message = refused(&stored(&schema), json!(["a"])).await;
    assert!(
        message.contains("its schema cannot be used") && message.contains("SCHEMA_CHAIN of 32"),
        "{message}"
    );
}

/// Each element is compared with all others.
#[tokio::test]
async fn a_result_that_takes_too_much_work_is_refused_with_the_limit() {
    let listed: Vec<Value> = (0..2_000).map(|at| json!([at])).collect();
    let tool = stored(&json!({"items": {"enum": listed}}));
    let message = refused(&tool, Value::Array(vec![json!([1_999]); 50_000])).await;
    assert!(message.contains("limit SCHEMA_STEPS"), "{message}");
}
