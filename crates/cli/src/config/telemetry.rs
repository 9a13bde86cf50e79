//! Traces and metrics for an OpenTelemetry collector, as an operator writes them. Secrets are named here and
//! never written.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::remote::{PlainHttpConfig, SecretConfig};

/// Traces and metrics by OTLP.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct TelemetryConfig {
    /// The collector's base URL, e.g. `http://127.0.0.1:4318`; `/v1/traces` and `/v1/metrics` are under it.
    /// Without it nothing is gathered or sent.
    pub(crate) otlp_endpoint: Option<String>,
    /// Where the values of headers are that the collector wants, by the header's name.
    pub(crate) headers: BTreeMap<String, SecretConfig>,
    /// Where the collector may be spoken to without TLS.
    pub(crate) plain_http: PlainHttpConfig,
    /// How many of the traces that begin here are kept, from 0 to 1. A trace that a client began is kept
    /// when the client keeps it.
    pub(crate) sample_ratio: f64,
    /// How often what was gathered is sent, in seconds.
    pub(crate) export_interval_s: u64,
    /// What the collector knows this service by.
    pub(crate) service_name: String,
    /// Whether HTTP tools, MCP servers and language models are told which trace a call belongs to.
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
