//! Resources and prompts of MCP servers, under their own addresses and names. Reading one is a call of a readonly tool:
//! it passes the gate and is journaled. An address or name of this server counts first, then that of the first server
//! by name.

use std::collections::BTreeSet;
use std::sync::Arc;

use charter_contract::catalogue::tool::Tool;
use charter_contract::error_code::ErrorCode;
use charter_engine::{CallEnd, Caller, Engine, EngineError, InForce, OfferedServer};
use rmcp::ErrorData;
use rmcp::model::{
    CacheScope, GetPromptResponse, GetPromptResult, InputRequiredResult, JsonObject, Prompt,
    ReadResourceResponse, ReadResourceResult, Resource, ResourceTemplate,
};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::call::Call;
use super::failure::protocol_error;
use super::linked::{LinkedCall, LinkedOutcome};
use super::pinned::protocol_error_of;
use super::table::until_cancelled;
use super::work::WorkReport;
use crate::operations;

/// The prefix of the cursors of pages of these lists.
pub(super) const OFFERED_AFTER: &str = "offered ";

/// One page of a list, and the cursor of the next one.
pub(super) struct OfferedPage<T> {
    pub(super) entries: Vec<T>,
    pub(super) next: Option<String>,
}

/// Returns at most `limit` resources after `start`.
pub(super) fn resources(call: &Call, start: usize, limit: usize) -> OfferedPage<Resource> {
    let servers = call.engine().pins().offered(&call.caller);
    let listed = servers.iter().flat_map(|server| &server.offers.resources);
    page(distinct(listed, "uri"), start, limit)
}

/// Returns at most `limit` prompts after `start`, without those whose name is taken.
pub(super) fn prompts(
    call: &Call,
    start: usize,
    limit: usize,
    is_taken: impl Fn(&str) -> bool,
) -> OfferedPage<Prompt> {
    let servers = call.engine().pins().offered(&call.caller);
    let listed = servers.iter().flat_map(|server| &server.offers.prompts);
    let free = distinct(listed, "name").filter(|prompt| {
        let name = prompt["name"].as_str();
        name.is_some_and(|name| !is_taken(name))
    });
    page(free, start, limit)
}

/// The templates of further resources.
pub(super) fn templates(engine: &Arc<Engine>, caller: &Caller) -> Vec<ResourceTemplate> {
    let servers = engine.pins().offered(caller);
    let listed = servers.iter().flat_map(|server| &server.offers.templates);
    distinct(listed, "uriTemplate").filter_map(read).collect()
}

/// The entries, without those whose key an earlier entry has.
fn distinct<'e>(
    entries: impl Iterator<Item = &'e Value>,
    key: &'static str,
) -> impl Iterator<Item = &'e Value> {
    let mut seen = BTreeSet::new();
    entries.filter(move |entry| entry[key].as_str().is_some_and(|own| seen.insert(own)))
}

fn read<T: DeserializeOwned>(entry: &Value) -> Option<T> {
    T::deserialize(entry).ok()
}

fn page<'e, T: DeserializeOwned>(
    entries: impl Iterator<Item = &'e Value>,
    start: usize,
    limit: usize,
) -> OfferedPage<T> {
    let mut rest = entries.skip(start);
    let entries: Vec<T> = rest.by_ref().take(limit).filter_map(read).collect();
    let more = rest.next().is_some();
    OfferedPage {
        entries,
        next: more.then(|| format!("{OFFERED_AFTER}{}", start + limit)),
    }
}

/// Reads the position of a cursor.
pub(super) fn start_of(cursor: &str) -> Option<usize> {
    cursor.strip_prefix(OFFERED_AFTER)?.parse().ok()
}

/// Reads a resource; `None` if no server offers it.
pub(super) async fn resource(
    call: &Call,
    uri: &str,
) -> Result<Option<ReadResourceResponse>, ErrorData> {
    let servers = call.engine().pins().offered(&call.caller);
    let Some(server) = servers.iter().find(|server| offers_resource(server, uri)) else {
        return Ok(None);
    };
    let values = Map::from_iter([("uri".to_owned(), json!(uri))]);
    admit(call, "mcp:resources/read server")?;
    match document::<ReadResourceResult>(call, &server.resource_tool, values).await? {
        ReadOutcome::Done(mut read) => {
            // The gate decides anew for each caller and each time.
            (read.ttl_ms, read.cache_scope) = (Some(0), Some(CacheScope::Private));
            Ok(Some(read.into()))
        }
        ReadOutcome::Asks(asks) => Ok(Some(asks.into())),
    }
}

/// Gets a prompt; `None` if no server offers it.
pub(super) async fn prompt(
    call: &Call,
    name: &str,
    arguments: JsonObject,
) -> Result<Option<GetPromptResponse>, ErrorData> {
    let servers = call.engine().pins().offered(&call.caller);
    let Some(server) = servers.iter().find(|server| offers_prompt(server, name)) else {
        return Ok(None);
    };
    let values = Map::from_iter([
        ("name".to_owned(), json!(name)),
        ("arguments".to_owned(), Value::Object(arguments)),
    ]);
    admit(call, "mcp:prompts/get of a server")?;
    match document::<GetPromptResult>(call, &server.prompt_tool, values).await? {
        ReadOutcome::Done(prompt) => Ok(Some(prompt.into())),
        ReadOutcome::Asks(asks) => Ok(Some(asks.into())),
    }
}

/// Whether a server offers a prompt of this name to the caller.
pub(super) fn has_prompt(call: &Call, name: &str) -> bool {
    let servers = call.engine().pins().offered(&call.caller);
    servers.iter().any(|server| offers_prompt(server, name))
}

fn admit(call: &Call, operation: &str) -> Result<(), ErrorData> {
    operations::admit(operation, &call.caller).map_err(|error| protocol_error(&error))
}

fn offers_prompt(server: &OfferedServer, name: &str) -> bool {
    let mut prompts = server.offers.prompts.iter();
    prompts.any(|prompt| prompt["name"] == name)
}

fn offers_resource(server: &OfferedServer, uri: &str) -> bool {
    let (mut listed, mut templates) = (
        server.offers.resources.iter(),
        server.offers.templates.iter(),
    );
    listed.any(|resource| resource["uri"] == uri)
        || templates.any(|template| {
            let template = template["uriTemplate"].as_str();
            template.is_some_and(|template| matches(template, uri))
        })
}

/// Whether an address may be one of a template (RFC 6570): its literal parts occur in their order, with a value for
/// each expression. The server decides on the values.
fn matches(template: &str, uri: &str) -> bool {
    let Some((first, mut rest)) = template.split_once('{') else {
        return template == uri;
    };
    let Some(mut left) = uri.strip_prefix(first) else {
        return false;
    };
    // An expression alone would match every address.
    if first.is_empty() {
        return false;
    }
    loop {
        let Some((_, after)) = rest.split_once('}') else {
            return false;
        };
        let (literal, next) = match after.split_once('{') {
            Some((literal, next)) => (literal, Some(next)),
            None => (after, None),
        };
        let Some(next) = next else {
            return left.len() > literal.len() && left.ends_with(literal);
        };
        // The value has at least one character.
        let Some(at) = left.char_indices().nth(1).map(|(at, _)| at) else {
            return false;
        };
        let Some(found) = left[at..].find(literal) else {
            return false;
        };
        left = &left[at + found + literal.len()..];
        rest = next;
    }
}

/// The outcome of reading something.
enum ReadOutcome<T> {
    Done(T),
    Asks(InputRequiredResult),
}

/// Calls the tool that reads something.
async fn document<T: DeserializeOwned>(
    call: &Call,
    tool: &InForce<Tool>,
    values: Map<String, Value>,
) -> Result<ReadOutcome<T>, ErrorData> {
    let reading = async {
        match LinkedCall::start_or_resume(call, tool.document(), values).await? {
            Ok(linked) => linked.follow(call).await,
            Err(declined) => Ok(LinkedOutcome::Report(Box::new(declined))),
        }
    };
    let outcome = until_cancelled(call, reading).await;
    let internal = |error| EngineError::internal("reading an answer of an MCP server", error);
    let read = match outcome.map_err(|error| protocol_error(&error))? {
        LinkedOutcome::Ended(CallEnd::Result(mut result)) => {
            // A server of an older revision leaves it out.
            result
                .entry("resultType")
                .or_insert_with(|| json!("complete"));
            T::deserialize(Value::Object(result)).map_err(internal)
        }
        LinkedOutcome::Ended(CallEnd::Error(error)) => {
            return Err(protocol_error_of(error).unwrap_or_else(|error| protocol_error(&error)));
        }
        LinkedOutcome::Asks(asks) => return Ok(ReadOutcome::Asks(asks)),
        LinkedOutcome::Report(work) => match work.output.clone() {
            Some(output) if !work.has_failed() => T::deserialize(output).map_err(internal),
            Some(_) | None => Err(unread(&work)),
        },
        LinkedOutcome::Task(task) => Err(goes_on(&task.task.task_id)),
    };
    read.map(ReadOutcome::Done)
        .map_err(|error| protocol_error(&error))
}

/// The error for work that has no result yet, or failed.
fn unread(work: &WorkReport) -> EngineError {
    match (&work.failure, &work.waits_for) {
        (Some(failure), _) => match &work.account {
            Some(account) => {
                EngineError::new(ErrorCode::CredentialRequired, failure.clone()).lacking(account)
            }
            None => EngineError::new(ErrorCode::ToolFailed, failure.clone()),
        },
        (None, Some(waits)) => EngineError::new(ErrorCode::ApprovalRequired, waits.hint.clone()),
        (None, None) => goes_on(&work.id),
    }
}

fn goes_on(id: &str) -> EngineError {
    let message = format!("the MCP server has not answered yet; call `status` with {id}");
    EngineError::new(ErrorCode::RequestTimeout, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_matches_a_template_with_a_value_for_each_expression() {
        let two = "files://{name}/versions/{number}";
        for (template, uri, fits) in [
            (
                "test://template/{id}/data",
                "test://template/123/data",
                true,
            ),
            ("test://template/{id}/data", "test://template//data", false),
            (
                "test://template/{id}/data",
                "test://template/123/more",
                false,
            ),
            ("test://template/{id}/data", "evidence://ev-1", false),
            (two, "files://a/versions/2", true),
            (two, "files://a/versions/", false),
            (two, "files://a", false),
            ("test://plain", "test://plain", true),
            ("{+uri}", "evidence://ev-1", false),
            ("test://{", "test://a", false),
        ] {
            assert_eq!(matches(template, uri), fits, "{template} {uri}");
        }
    }

    #[test]
    fn of_two_entries_with_one_address_the_first_counts_and_pages_continue() {
        let entries = [
            json!({"uri": "a://1", "name": "one"}),
            json!({"uri": "a://1", "name": "two"}),
            json!({"uri": "a://2", "name": "three"}),
        ];
        let first: OfferedPage<Resource> = page(distinct(entries.iter(), "uri"), 0, 1);
        assert_eq!(first.entries[0].name, "one");
        let next = start_of(&first.next.unwrap()).unwrap();
        let second: OfferedPage<Resource> = page(distinct(entries.iter(), "uri"), next, 1);
        assert_eq!(second.entries[0].name, "three");
        assert_eq!(second.next, None);
    }
}
