//! `net.get` and `net.request`: requests to granted hosts (seed 003, Network Request Schema), through the client of
//! HTTP tools. Must not know sockets.

use std::time::Duration;

use charter_contract::agentic::network_request::NetworkRequest;
use charter_contract::agentic::response::ActionType;
use charter_contract::catalogue::builtin::Builtin;
use charter_contract::catalogue::tool::{BodyFormat, HttpMethod};
use charter_contract::ids::NetworkRequestId;
use serde_json::{Map, json};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::action::{Action, Content, answer, answered};
use super::parameters::{self, input};
use crate::builtin_grants::{BuiltinTool, denied};
use crate::call::{DryRun, Limits, ToolCall};
use crate::http::{HttpRunner, Redirects};
use crate::http_tool::Exchange;
use crate::outcome::{Failure, Success};
use crate::redact::Redactor;

/// Sends one request.
pub(crate) async fn request(
    http: &HttpRunner,
    call: &ToolCall,
    tool: &BuiltinTool,
    redactor: &Redactor,
    cancel: &CancellationToken,
) -> Result<Success, Failure> {
    let request = parse(call, tool.name)?;
    if tool.grants.hosts.is_empty() {
        return Err(denied("no host is granted to network tools".to_owned()));
    }
    let bounded = ToolCall {
        egress: tool.grants.hosts.clone(),
        limits: limits(&call.limits, &request),
        ..call.clone()
    };
    let redirects = match request.follow_redirects {
        true => Redirects::SameOrigin,
        false => Redirects::None,
    };
    let exchange = exchange(&request);
    let sent = http.send(&bounded, &exchange, redirects, redactor, cancel);
    let response = sent.await?.output;
    if call.dry_run == DryRun::Yes && response["dry_run"] == true {
        return answer(&response, &[]);
    }
    // The query may contain secrets; logs get the link without it.
    let link = request.url.as_str().split(['?', '#']).next();
    let details = json!({
        "operation": tool.name, "operation_id": request.id, "method": request.method,
        "url": link, "after": Content::of_json(&response)?,
    });
    let action = Action::new(ActionType::CommandExecution, &details)?;
    let output = Map::from_iter([("response".to_owned(), response)]);
    answered(output, &[action])
}

fn parse(call: &ToolCall, builtin: Builtin) -> Result<NetworkRequest, Failure> {
    let id = NetworkRequestId::from_uuid(Uuid::new_v4()).to_string();
    let mut fixed = vec![("id", id.into())];
    if !call.parameters.contains_key("method") {
        fixed.push(("method", HttpMethod::Get.as_str().into()));
    }
    let request: NetworkRequest = parameters::document(builtin, &call.parameters, &fixed)?;
    let safe = matches!(request.method, HttpMethod::Get | HttpMethod::Head);
    if builtin == Builtin::NetGet && !safe {
        return Err(input(format!(
            "`net.get` does not support the method {}",
            request.method
        )));
    }
    Ok(request)
}

fn limits(limits: &Limits, request: &NetworkRequest) -> Limits {
    let timeout = request
        .timeout_ms
        .map(|limit| Duration::from_millis(limit.get()));
    let bytes = request.max_response_bytes;
    let bytes = bytes.and_then(|limit| usize::try_from(limit.get()).ok());
    Limits {
        timeout: timeout.unwrap_or(limits.timeout).min(limits.timeout),
        output_bytes: bytes
            .unwrap_or(limits.output_bytes)
            .min(limits.output_bytes),
        ..limits.clone()
    }
}

fn exchange(request: &NetworkRequest) -> Exchange {
    let pairs = |map: &std::collections::BTreeMap<String, String>| {
        map.iter()
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    };
    Exchange {
        method: request.method,
        url: request.url.to_string(),
        headers: pairs(&request.headers),
        query: pairs(&request.query),
        body: request.body.clone(),
        body_format: BodyFormat::Json,
    }
}
