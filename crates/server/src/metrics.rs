//! Metrics for Prometheus, in the two formats that it reads.

mod exposition;

use std::sync::atomic::AtomicU64;
use std::time::Duration;

use axum::http::{Method, StatusCode};
use charter_engine::Engine;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

pub(crate) use exposition::Exposition;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    method: String,
    status: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RefusalLabels {
    places: String,
}

/// The server's metrics.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    answered: Family<RequestLabels, Counter>,
    refused: Family<RefusalLabels, Counter>,
    seconds: Histogram,
    documents: Gauge,
    revision: Gauge<u64, AtomicU64>,
    queued_tool_calls: Gauge,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let mut registry = Registry::with_prefix("charter");
        let answered = Family::<RequestLabels, Counter>::default();
        registry.register("http_requests", "HTTP requests answered", answered.clone());
        let refused = Family::<RefusalLabels, Counter>::default();
        registry.register(
            "overloaded",
            "Requests, streams, sessions and calls rejected with overloaded",
            refused.clone(),
        );
        let seconds = Histogram::new(exponential_buckets(0.001, 2.0, 16));
        registry.register(
            "http_request_duration_seconds",
            "Time to the response's head",
            seconds.clone(),
        );
        let documents = Gauge::default();
        registry.register(
            "catalogue_documents",
            "Documents in force, all scopes",
            documents.clone(),
        );
        let revision = Gauge::<u64, AtomicU64>::default();
        registry.register(
            "catalogue_revision",
            "Revision of the served catalogue",
            revision.clone(),
        );
        let queued_tool_calls = Gauge::default();
        registry.register(
            "tool_calls_queued",
            "Tool calls waiting for a slot (tools.concurrency), all tenants",
            queued_tool_calls.clone(),
        );
        Self {
            registry,
            answered,
            refused,
            seconds,
            documents,
            revision,
            queued_tool_calls,
        }
    }

    pub(crate) fn observe(&self, method: &Method, status: StatusCode, elapsed: Duration) {
        let labels = RequestLabels {
            method: method.as_str().to_owned(),
            status: status.as_u16(),
        };
        self.answered.get_or_create(&labels).inc();
        self.seconds.observe(elapsed.as_secs_f64());
    }

    /// The counter of requests without a free slot, by kind of slot.
    pub(crate) fn refused(&self, places: &str) -> Counter {
        let labels = RefusalLabels {
            places: places.to_owned(),
        };
        self.refused.get_or_create_owned(&labels)
    }

    /// Serializes the metrics, with the engine's current figures.
    pub(crate) fn text(
        &self,
        engine: &Engine,
        form: Exposition,
    ) -> Result<String, std::fmt::Error> {
        let number = |figure: usize| i64::try_from(figure).unwrap_or(i64::MAX);
        let live = engine.live();
        self.documents.set(number(live.documents()));
        self.revision.set(live.revision.0);
        self.queued_tool_calls
            .set(number(engine.queued_tool_calls()));
        let mut text = String::new();
        encode(&mut text, &self.registry)?;
        Ok(form.convert(text))
    }
}
