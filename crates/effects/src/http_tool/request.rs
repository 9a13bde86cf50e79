//! Turns an HTTP tool and a call into one request. Sends nothing.

use std::collections::BTreeMap;

use charter_contract::agentic::error::ErrorType;
use charter_contract::catalogue::tool::{BodyFormat, HttpMethod};
use charter_contract::http_header::is_of_client;
use reqwest::header::{HeaderName, HeaderValue};
use reqwest::{Method, Request, Url};
use serde_json::{Value, json};

use super::body::FormattedBody;
use super::template::{Values, scalar_text};
use crate::call::{DryRun, HttpTool, ToolCall};
use crate::http::{IDEMPOTENCY_KEY, MAX_BODY_BYTES};
use crate::outcome::{Failure, Success};
use crate::redact::Redactor;
use crate::telemetry::{TRACEPARENT, TraceContext};

/// A request that is ready to be sent, with its target.
#[derive(Debug)]
pub(super) struct PreparedRequest {
    request: Request,
    host: String,
    port: u16,
    body: Option<Value>,
}

/// A complete request, in parts.
#[derive(Debug)]
pub(crate) struct Exchange {
    pub(crate) method: HttpMethod,
    pub(crate) url: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) query: Vec<(String, String)>,
    pub(crate) body: Option<Value>,
    pub(crate) body_format: BodyFormat,
}

impl Exchange {
    /// Adds the trace header, unless the tool has one of its own.
    pub(super) fn add_trace_header(&mut self, trace: TraceContext) {
        let own = |(name, _): &(String, String)| name.eq_ignore_ascii_case(TRACEPARENT.as_str());
        if self.headers.iter().any(own) {
            return;
        }
        if let Some(value) = trace.here() {
            self.headers.push((TRACEPARENT.as_str().to_owned(), value));
        }
    }
}

/// Fills a tool's templates with the values of a call.
pub(super) fn fill(call: &ToolCall, tool: &HttpTool) -> Result<Exchange, Failure> {
    let mut values = Values::new(&call.parameters, &call.environment);
    Ok(Exchange {
        method: tool.method,
        url: values.url(&tool.url)?,
        query: filled_query(tool, &mut values)?,
        headers: filled_headers(&tool.headers, &mut values)?,
        body: match &tool.body {
            Some(template) => values.json(template)?,
            None => None,
        },
        body_format: tool.body_format,
    })
}

pub(super) fn prepare(
    exchange: &Exchange,
    idempotency_key: &str,
) -> Result<PreparedRequest, Failure> {
    let mut url = parse_url(&exchange.url)?;
    if !exchange.query.is_empty() {
        url.query_pairs_mut().extend_pairs(&exchange.query);
    }
    let (host, port) = target(&url)?;
    let mut request = Request::new(method(exchange.method), url);
    add_headers(&mut request, &exchange.headers)?;
    if !is_safe(exchange.method) && !request.headers().contains_key(IDEMPOTENCY_KEY) {
        let key = header_value(IDEMPOTENCY_KEY.as_str(), idempotency_key)?;
        request.headers_mut().insert(IDEMPOTENCY_KEY, key);
    }
    if let Some(body) = &exchange.body {
        add_body(
            &mut request,
            FormattedBody::new(exchange.body_format, body)?,
        )?;
    }
    Ok(PreparedRequest {
        request,
        host,
        port,
        body: exchange.body.clone(),
    })
}

impl PreparedRequest {
    /// Returns the host and port to connect to.
    pub(super) fn target(&self) -> (&str, u16) {
        (&self.host, self.port)
    }

    pub(super) fn into_request(self) -> Request {
        self.request
    }

    /// In a dry run of a method that is not safe, returns a preview of the request.
    pub(super) fn preview_instead(&self, dry_run: DryRun, redactor: &Redactor) -> Option<Success> {
        let acts = ![Method::GET, Method::HEAD].contains(self.request.method());
        (dry_run == DryRun::Yes && acts).then(|| {
            let preview = json!({
                "dry_run": true,
                "request": {
                    "method": self.request.method().as_str(),
                    "url": redactor.apply(self.request.url().as_str()),
                    "body": self.body.clone().map(|body| redactor.apply_to(body)),
                },
            });
            Success {
                output: preview,
                log: String::new(),
            }
        })
    }
}

fn parse_url(text: &str) -> Result<Url, Failure> {
    let url = Url::parse(text).map_err(|error| input(format!("{text:?} is not a URL: {error}")))?;
    if !["http", "https"].contains(&url.scheme())
        || !url.username().is_empty()
        || url.password().is_some()
    {
        return Err(input(format!("{text:?} is not a plain http or https URL")));
    }
    Ok(url)
}

fn target(url: &Url) -> Result<(String, u16), Failure> {
    let port = url.port_or_known_default();
    match (url.host_str(), port) {
        (Some(host), Some(port)) => {
            let bare = host.strip_prefix('[').and_then(|h| h.strip_suffix(']'));
            Ok((bare.unwrap_or(host).to_owned(), port))
        }
        (None, _) | (_, None) => Err(input(format!("{url} names no host"))),
    }
}

fn filled_query(
    tool: &HttpTool,
    values: &mut Values<'_>,
) -> Result<Vec<(String, String)>, Failure> {
    let mut pairs = Vec::new();
    for (name, template) in &tool.query {
        let single = match values.json(template)? {
            None | Some(Value::Null) => continue,
            Some(Value::Array(items)) => items,
            Some(value) => vec![value],
        };
        let texts = single.iter().map(|value| {
            scalar_text(value).ok_or_else(|| {
                input(format!(
                    "the query value {name:?} is not a single value or a list of them"
                ))
            })
        });
        let texts: Vec<String> = texts.collect::<Result<_, _>>()?;
        match separator(&tool.list_separators, name) {
            Some(_) if texts.is_empty() => {}
            Some(separator) => pairs.push((name.clone(), texts.join(separator))),
            None => pairs.extend(texts.into_iter().map(|text| (name.clone(), text))),
        }
    }
    Ok(pairs)
}

fn separator<'s>(separators: &'s BTreeMap<String, String>, name: &str) -> Option<&'s str> {
    separators.get(name).map(String::as_str)
}

fn filled_headers(
    headers: &[(String, String)],
    values: &mut Values<'_>,
) -> Result<Vec<(String, String)>, Failure> {
    let mut filled = Vec::new();
    for (name, template) in headers {
        let value = match values.json(&Value::from(template.as_str()))? {
            None | Some(Value::Null) => continue,
            Some(value) => scalar_text(&value)
                .ok_or_else(|| input(format!("the header {name:?} is not a single value")))?,
        };
        filled.push((name.clone(), value));
    }
    Ok(filled)
}

fn add_headers(request: &mut Request, headers: &[(String, String)]) -> Result<(), Failure> {
    for (name, value) in headers {
        let value = header_value(name, value)?;
        let name = HeaderName::try_from(name.as_str()).map_err(|error| {
            Failure::new(
                ErrorType::SystemError,
                format!("header name {name:?}: {error}"),
            )
        })?;
        if is_of_client(name.as_str()) {
            return Err(input(format!(
                "the header `{name}` cannot be set: the client sets the host and the length of a request"
            )));
        }
        request.headers_mut().append(name, value);
    }
    Ok(())
}

fn header_value(name: &str, text: &str) -> Result<HeaderValue, Failure> {
    HeaderValue::from_str(text).map_err(|_| {
        input(format!(
            "the value of header {name:?} has a character that is invalid in headers"
        ))
    })
}

fn add_body(request: &mut Request, body: FormattedBody) -> Result<(), Failure> {
    let FormattedBody {
        bytes,
        content_type: own_type,
        is_fixed,
    } = body;
    if bytes.len() > MAX_BODY_BYTES {
        return Err(input(format!(
            "the request body takes {} bytes, more than {MAX_BODY_BYTES}",
            bytes.len()
        )));
    }
    let content_type = reqwest::header::CONTENT_TYPE;
    if is_fixed || !request.headers().contains_key(&content_type) {
        let value = header_value(content_type.as_str(), &own_type)?;
        request.headers_mut().insert(content_type, value);
    }
    *request.body_mut() = Some(bytes.into());
    Ok(())
}

fn method(method: HttpMethod) -> Method {
    match method {
        HttpMethod::Get => Method::GET,
        HttpMethod::Head => Method::HEAD,
        HttpMethod::Post => Method::POST,
        HttpMethod::Put => Method::PUT,
        HttpMethod::Patch => Method::PATCH,
        HttpMethod::Delete => Method::DELETE,
    }
}

fn is_safe(method: HttpMethod) -> bool {
    matches!(method, HttpMethod::Get | HttpMethod::Head)
}

fn input(message: String) -> Failure {
    Failure::new(ErrorType::InputError, message)
}
