//! Requests over the network. Seed 003 names this contract without specifying it: the form is this project's. The gate
//! decides whether the host may be reached.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::catalogue::tool::HttpMethod;
use crate::ids::{NetworkRequestId, RequestId};
use crate::number::Positive;
use crate::schema::SchemaName;
use crate::text::{HttpUrl, Text};
use crate::time::Timestamp;
use crate::validate::Contract;
use crate::violation::{Report, pointer_segment};

object_only!(NetworkRequest);

/// One request over the network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct NetworkRequest {
    /// Id of the network request.
    pub id: NetworkRequestId,
    /// Request that this network request serves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<RequestId>,
    /// Time of the request.
    pub timestamp: Timestamp,
    /// HTTP method.
    pub method: HttpMethod,
    /// Target URL.
    pub url: HttpUrl,
    /// HTTP headers.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// Query parameters, added to those of the URL.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub query: BTreeMap<String, String>,
    /// Request body, sent as JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Value>,
    /// Time limit, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<Positive>,
    /// Maximum number of response bytes to read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_response_bytes: Option<Positive>,
    /// Whether to follow redirects; each target is checked like the first.
    #[serde(default)]
    pub follow_redirects: bool,
    /// Reason for the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text>,
    /// Additional free-form data.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
}

impl Contract for NetworkRequest {
    const NAME: SchemaName = SchemaName::NetworkRequest;

    fn check(&self, report: &mut Report) {
        if matches!(self.method, HttpMethod::Get | HttpMethod::Head) && self.body.is_some() {
            let message = format!("a {} request cannot have a body", self.method);
            report.meaning("/body", "method", message);
        }
        let authority = self.url.as_str().split('/').nth(2).unwrap_or_default();
        if authority.contains('@') {
            let message = "credentials do not belong in a link".to_owned();
            report.meaning("/url", "credentials", message);
        }
        for (name, value) in &self.headers {
            let named = !name.is_empty()
                && name
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b));
            if !named || value.contains(['\r', '\n', '\0']) {
                let message = format!("`{name}` is not a header that can be sent");
                report.meaning(
                    format!("/headers/{}", pointer_segment(name)),
                    "header",
                    message,
                );
            }
        }
    }
}
