//! OpenAI's chat completions ("OpenAI API reference: Create chat completion" and "The chat
//! completion chunk object"; "Structured model outputs"; "Prompt caching"). Sends nothing.

use charter_contract::json::decode_text;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::complaint::Complaint;
use super::conversation::Conversation;
use super::options::{Delivery, StructuredOutput, Temperature, TokenLimit};
use super::provider_request::{ANSWER, Progress, ProviderRequest};
use super::reply::{Reply, Stop};
use super::{Usage, strict};

/// The end mark of a stream.
const DONE: &str = "[DONE]";

/// Builds the body of a request.
pub(super) fn body(asked: &ProviderRequest<'_>, conversation: Conversation) -> Value {
    let mut body = Map::new();
    let mut set = |name: &str, value: Value| body.insert(name.to_owned(), value);
    set("model", asked.target.model.as_str().into());
    set("messages", messages(conversation));
    let limit = match asked.provider.token_limit {
        TokenLimit::MaxCompletionTokens => "max_completion_tokens",
        TokenLimit::MaxTokens => "max_tokens",
    };
    set(limit, asked.request.max_output_tokens.into());
    if asked.provider.temperature == Temperature::Sent {
        set("temperature", asked.request.temperature.into());
    }
    if asked.provider.delivery == Delivery::Streamed {
        set("stream", true.into());
        set("stream_options", json!({"include_usage": true}));
    }
    let name = asked.schema_name();
    let schema = asked.request.schema.schema.json();
    match asked.provider.structured {
        StructuredOutput::JsonSchema => {
            let json_schema =
                json!({"name": name, "schema": schema, "strict": strict::takes(schema)});
            let format = json!({"type": "json_schema", "json_schema": json_schema});
            set("response_format", format);
        }
        StructuredOutput::JsonObject => {
            set("response_format", json!({"type": "json_object"}));
        }
        StructuredOutput::Tool => {
            let function =
                json!({"name": name, "parameters": schema, "strict": strict::takes(schema)});
            set("tools", json!([{"type": "function", "function": function}]));
            let choice = json!({"type": "function", "function": {"name": name}});
            set("tool_choice", choice);
        }
        StructuredOutput::None => {}
    }
    Value::Object(body)
}

fn messages(conversation: Conversation) -> Value {
    let mut messages = Vec::new();
    let mut say =
        |role: &str, content: String| messages.push(json!({"role": role, "content": content}));
    if !conversation.system.is_empty() {
        say("system", conversation.system);
    }
    let question = match conversation.data {
        Some(data) => format!("{}\n\n{data}", conversation.task),
        None => conversation.task,
    };
    say("user", question);
    for (answered, said) in conversation.turns {
        say("assistant", answered);
        say("user", said);
    }
    messages.into()
}

/// A completion, or one chunk of it: a completion has `message`, a chunk `delta`.
#[derive(Deserialize)]
struct Completion {
    model: Option<String>,
    #[serde(default)]
    choices: Vec<Choice>,
    usage: Option<Tokens>,
    /// Present inside a stream instead of a chunk.
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(alias = "delta")]
    message: Option<Message>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Message {
    content: Option<String>,
    refusal: Option<String>,
    tool_calls: Option<Vec<ToolCall>>,
}

#[derive(Deserialize)]
struct ToolCall {
    function: Option<Function>,
}

#[derive(Deserialize)]
struct Function {
    arguments: Option<String>,
}

#[derive(Deserialize)]
struct Tokens {
    #[serde(default)]
    prompt_tokens: u64,
    #[serde(default)]
    completion_tokens: u64,
    prompt_tokens_details: Option<PromptTokens>,
}

#[derive(Deserialize)]
struct PromptTokens {
    cached_tokens: Option<u64>,
}

/// Processes a whole answer, or the data of one event of a stream.
pub(super) fn take(reply: &mut Reply, data: &str) -> Result<Progress, Complaint> {
    if data.trim() == DONE {
        return Ok(Progress::Ended);
    }
    let completion: Completion =
        decode_text(data, ANSWER).map_err(|_| Complaint::nonsense(data))?;
    if let Some(error) = completion.error {
        return Err(Complaint::inside(&error));
    }
    if let Some(tokens) = completion.usage {
        let details = tokens.prompt_tokens_details;
        reply.usage = Usage {
            input_tokens: tokens.prompt_tokens,
            output_tokens: tokens.completion_tokens,
            cached_tokens: details.and_then(|of| of.cached_tokens).unwrap_or_default(),
        };
    }
    if completion.model.is_some() {
        reply.model = completion.model;
    }
    // Requests never ask for more than one.
    if let Some(choice) = completion.choices.into_iter().next() {
        if let Some(message) = choice.message {
            add(reply, message);
        }
        if let Some(reason) = choice.finish_reason {
            reply.stop = Some(stop(&reason));
        }
    }
    Ok(Progress::Open)
}

fn add(reply: &mut Reply, message: Message) {
    reply
        .text
        .push_str(message.content.as_deref().unwrap_or_default());
    reply.declined |= message.refusal.is_some_and(|refusal| !refusal.is_empty());
    for call in message.tool_calls.into_iter().flatten() {
        let arguments = call.function.and_then(|function| function.arguments);
        reply.give_tool(arguments.as_deref().unwrap_or_default());
    }
}

fn stop(reason: &str) -> Stop {
    match reason {
        "stop" | "tool_calls" | "function_call" => Stop::Done,
        "length" => Stop::Length,
        "content_filter" => Stop::Filtered,
        _ => Stop::Other,
    }
}
