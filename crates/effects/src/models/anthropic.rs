//! Anthropic's messages ("Claude API reference: Create a Message"; "Streaming Messages"; "Stop
//! reasons and fallback"; "Structured outputs"; "Prompt caching"). Sends nothing.

use charter_contract::json::decode_text;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::complaint::Complaint;
use super::conversation::Conversation;
use super::options::{Delivery, StructuredOutput, Temperature};
use super::provider_request::{ANSWER, Progress, ProviderRequest};
use super::reply::{Reply, Stop};

/// The version of the API, sent with each request.
pub(super) const VERSION: &str = "2023-06-01";

/// Builds the body of a request.
pub(super) fn body(asked: &ProviderRequest<'_>, conversation: Conversation) -> Value {
    let mut body = Map::new();
    let mut set = |name: &str, value: Value| body.insert(name.to_owned(), value);
    set("model", asked.target.model.as_str().into());
    set("max_tokens", asked.request.max_output_tokens.into());
    if asked.provider.temperature == Temperature::Sent {
        set("temperature", asked.request.temperature.into());
    }
    if asked.provider.delivery == Delivery::Streamed {
        set("stream", true.into());
    }
    if !conversation.system.is_empty() {
        // The provider caches everything before the mark: tools and system prompt.
        set(
            "system",
            json!([{"type": "text", "text": conversation.system,
                "cache_control": {"type": "ephemeral"}}]),
        );
    }
    let name = asked.schema_name();
    let schema = asked.request.schema.schema.json();
    match asked.provider.structured {
        StructuredOutput::JsonSchema => {
            let format = json!({"type": "json_schema", "schema": schema});
            set("output_config", json!({"format": format}));
        }
        StructuredOutput::Tool => {
            let description = "Takes the answer as its parameters.";
            let tool = json!({"name": name, "description": description, "input_schema": schema});
            set("tools", json!([tool]));
            let choice = json!({"type": "tool", "name": name, "disable_parallel_tool_use": true});
            set("tool_choice", choice);
        }
        StructuredOutput::JsonObject | StructuredOutput::None => {}
    }
    set("messages", messages(conversation));
    Value::Object(body)
}

fn messages(conversation: Conversation) -> Value {
    let text = |text: String| json!({"type": "text", "text": text});
    let mut question = vec![text(conversation.task)];
    question.extend(conversation.data.map(text));
    let mut messages = vec![json!({"role": "user", "content": question})];
    for (answered, said) in conversation.turns {
        messages.push(json!({"role": "assistant", "content": answered}));
        messages.push(json!({"role": "user", "content": said}));
    }
    messages.into()
}

/// An event of a stream, or a whole message, distinguished by `type`. Other types may arrive at any time ("Streaming
/// Messages", section "Other events"), `ping` among them, and are ignored.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Event {
    Message(Message),
    MessageStart {
        message: Message,
    },
    ContentBlockStart {
        content_block: Block,
    },
    ContentBlockDelta {
        delta: Delta,
    },
    MessageDelta {
        delta: MessageDelta,
        usage: Option<Tokens>,
    },
    MessageStop,
    Error {
        error: Value,
    },
    #[serde(other)]
    Unknown,
}

#[derive(Deserialize)]
struct Message {
    model: Option<String>,
    #[serde(default)]
    content: Vec<Block>,
    stop_reason: Option<String>,
    usage: Option<Tokens>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block {
    Text {
        #[serde(default)]
        text: String,
    },
    ToolUse {
        #[serde(default)]
        input: Map<String, Value>,
    },
    #[serde(other)]
    Unknown,
}

#[derive(Deserialize)]
#[serde(tag = "type")]
enum Delta {
    #[serde(rename = "text_delta")]
    Text { text: String },
    #[serde(rename = "input_json_delta")]
    InputJson { partial_json: String },
    #[serde(other)]
    Unknown,
}

#[derive(Deserialize)]
struct MessageDelta {
    stop_reason: Option<String>,
}

/// Token counts so far; in a stream each is the newest total, not the difference.
#[derive(Deserialize)]
struct Tokens {
    input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    output_tokens: Option<u64>,
}

/// Processes a whole answer, or the data of one event of a stream.
pub(super) fn take(reply: &mut Reply, data: &str) -> Result<Progress, Complaint> {
    let event: Event = decode_text(data, ANSWER).map_err(|_| Complaint::nonsense(data))?;
    match event {
        Event::Message(message) | Event::MessageStart { message } => begin(reply, message),
        Event::ContentBlockStart { content_block } => match content_block {
            Block::Text { text } => reply.text.push_str(&text),
            // The block begins empty, and its text follows.
            Block::ToolUse { .. } => reply.give_tool(""),
            Block::Unknown => {}
        },
        Event::ContentBlockDelta { delta } => match delta {
            Delta::Text { text } => reply.text.push_str(&text),
            Delta::InputJson { partial_json } => reply.give_tool(&partial_json),
            Delta::Unknown => {}
        },
        Event::MessageDelta { delta, usage } => {
            stopped(reply, delta.stop_reason.as_deref());
            count(reply, usage);
        }
        Event::MessageStop => return Ok(Progress::Ended),
        Event::Error { error } => return Err(Complaint::inside(&error)),
        Event::Unknown => {}
    }
    Ok(Progress::Open)
}

fn begin(reply: &mut Reply, message: Message) {
    reply.model = message.model;
    for block in message.content {
        match block {
            Block::Text { text } => reply.text.push_str(&text),
            Block::ToolUse { input } => reply.give_tool(&Value::Object(input).to_string()),
            Block::Unknown => {}
        }
    }
    stopped(reply, message.stop_reason.as_deref());
    count(reply, message.usage);
}

fn stopped(reply: &mut Reply, reason: Option<&str>) {
    let Some(reason) = reason else { return };
    reply.stop = Some(match reason {
        "end_turn" | "stop_sequence" | "tool_use" => Stop::Done,
        "max_tokens" => Stop::Length,
        "model_context_window_exceeded" => Stop::ContextFull,
        "refusal" => Stop::Refused,
        _ => Stop::Other,
    });
}

/// The API counts tokens from and to its cache separately from other input.
fn count(reply: &mut Reply, tokens: Option<Tokens>) {
    let Some(tokens) = tokens else { return };
    let usage = &mut reply.usage;
    if let Some(read) = tokens.input_tokens {
        let cached = tokens.cache_read_input_tokens.unwrap_or_default();
        let written = tokens.cache_creation_input_tokens.unwrap_or_default();
        usage.cached_tokens = cached;
        usage.input_tokens = read.saturating_add(cached).saturating_add(written);
    }
    if let Some(written) = tokens.output_tokens {
        usage.output_tokens = written;
    }
}
