//! Requests over the network. Seed 003 names this contract and gives no text: the
//! form is this project's. Whether the host may be reached is the gate's business.

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
    /// Its id.
    pub id: NetworkRequestId,
    /// The request it serves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<RequestId>,
    /// When it was asked for.
    pub timestamp: Timestamp,
    /// The method.
    pub method: HttpMethod,
    /// The link.
    pub url: HttpUrl,
    /// Headers.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// Query parameters, added to the link's own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub query: BTreeMap<String, String>,
    /// The body, sent as JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Value>,
    /// Time limit, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<Positive>,
    /// Most bytes of the answer that are read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_response_bytes: Option<Positive>,
    /// Whether redirections are followed; each is checked like the first.
    #[serde(default)]
    pub follow_redirects: bool,
    /// Why it is needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text>,
    /// Anything else about it.
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
