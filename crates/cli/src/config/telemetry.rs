//! Traces and metrics for an OpenTelemetry collector, in the configuration, which names where secrets are and never
//! holds them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::remote::{PlainHttpConfig, SecretConfig};

/// Traces and metrics over OTLP.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct TelemetryConfig {
    /// The collector's base URL, e.g. `http://127.0.0.1:4318`; `/v1/traces` and `/v1/metrics` are under it. If absent,
    /// nothing is collected or sent.
    pub(crate) otlp_endpoint: Option<String>,
    /// Where the values of HTTP headers for the collector are, by the header's name.
    pub(crate) headers: BTreeMap<String, SecretConfig>,
    /// The hosts to which plain HTTP is allowed.
    pub(crate) plain_http: PlainHttpConfig,
    /// The share of traces to keep, from 0 to 1, among those that begin here. A client's trace is kept if the client
    /// keeps it.
    pub(crate) sample_ratio: f64,
    /// The export interval, in seconds.
    pub(crate) export_interval_s: u64,
    /// The service name in the exports.
    pub(crate) service_name: String,
    /// Whether the trace context is sent to HTTP tools, MCP servers and language models.
    pub(crate) propagate: bool,
}

impl Default for TelemetryConfig {
    fn default() -> Self {
        Self {
            otlp_endpoint: None,
            headers: BTreeMap::new(),
            plain_http: PlainHttpConfig::default(),
            sample_ratio: 1.0,
            export_interval_s: 10,
            service_name: "charter".to_owned(),
            propagate: false,
        }
    }
}
