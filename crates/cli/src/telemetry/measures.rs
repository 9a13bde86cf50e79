//! Prepares metrics for the collector: the conventions' units and buckets, and gauges that are read only when they are
//! sent.

use std::sync::{Arc, Weak};
use std::time::Duration;

use charter_engine::Engine;
use opentelemetry::metrics::{Meter, MeterProvider};
use opentelemetry_otlp::{MetricExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::{
    Aggregation, Instrument, PeriodicReader, SdkMeterProvider, Stream,
};

use super::collector::{Collector, SEND_TIMEOUT};
use super::spans::SpanCounts;

/// A histogram as the conventions define it.
struct Histogram {
    name: &'static str,
    unit: &'static str,
    description: &'static str,
    buckets: &'static [f64],
}

/// The histograms that the crates measure.
const HISTOGRAMS: [Histogram; 3] = [
    Histogram {
        name: "http.server.request.duration",
        unit: "s",
        description: "Duration of HTTP server requests, to the head of the response.",
        buckets: &[
            0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0,
        ],
    },
    Histogram {
        name: "gen_ai.client.operation.duration",
        unit: "s",
        description: "Duration of requests to language models, attempts and repairs together.",
        buckets: &[
            0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92,
        ],
    },
    Histogram {
        name: "gen_ai.client.token.usage",
        unit: "{token}",
        description: "Tokens that language models read and wrote for a request.",
        buckets: &[
            1.0,
            4.0,
            16.0,
            64.0,
            256.0,
            1_024.0,
            4_096.0,
            16_384.0,
            65_536.0,
            262_144.0,
            1_048_576.0,
            4_194_304.0,
            16_777_216.0,
            67_108_864.0,
        ],
    },
];

pub(super) fn provider(
    collector: &Collector,
    resource: Resource,
    interval: Duration,
    ledger: &Arc<SpanCounts>,
) -> anyhow::Result<SdkMeterProvider> {
    let exporter = MetricExporter::builder()
        .with_http()
        .with_http_client(collector.clone())
        .with_endpoint(collector.metrics())
        .with_timeout(SEND_TIMEOUT)
        .build()?;
    let reader = PeriodicReader::builder(exporter)
        .with_interval(interval)
        .build();
    let provider = SdkMeterProvider::builder()
        .with_resource(resource)
        .with_reader(reader)
        .with_view(stream)
        .build();
    let meter = provider.meter("charter");
    let (ended, delivered) = (Arc::clone(ledger), Arc::clone(ledger));
    counter(
        &meter,
        "charter.telemetry.spans.ended",
        "Spans queued for export.",
        move || ended.ended(),
    );
    counter(
        &meter,
        "charter.telemetry.spans.delivered",
        "Spans accepted by the collector.",
        move || delivered.delivered(),
    );
    Ok(provider)
}

/// The stream of a known histogram; other instruments stay unchanged.
fn stream(instrument: &Instrument) -> Option<Stream> {
    let known = HISTOGRAMS
        .iter()
        .find(|known| known.name == instrument.name())?;
    let stream = Stream::builder()
        .with_unit(known.unit)
        .with_description(known.description)
        .with_aggregation(Aggregation::ExplicitBucketHistogram {
            boundaries: known.buckets.to_vec(),
            record_min_max: true,
        });
    stream.build().ok()
}

fn counter(
    meter: &Meter,
    name: &'static str,
    description: &'static str,
    count: impl Fn() -> u64 + Send + Sync + 'static,
) {
    meter
        .u64_observable_counter(name)
        .with_unit("{span}")
        .with_description(description)
        .with_callback(move |observer| observer.observe(count(), &[]))
        .build();
}

/// Gauges of the engine, which `/metrics` shows too.
pub(super) fn observe(provider: &SdkMeterProvider, engine: &Arc<Engine>) {
    let meter = provider.meter("charter");
    let number = |figure: usize| u64::try_from(figure).unwrap_or(u64::MAX);
    let name = "charter.catalogue.documents";
    gauge(
        &meter,
        name,
        "Documents in force, all scopes.",
        engine,
        move |engine| number(engine.live().documents()),
    );
    let name = "charter.catalogue.revision";
    gauge(
        &meter,
        name,
        "Revision of the served catalogue.",
        engine,
        |engine| engine.live().revision.0,
    );
    let name = "charter.tool_calls.queued";
    gauge(
        &meter,
        name,
        "Tool calls waiting for a slot, all tenants.",
        engine,
        move |engine| number(engine.queued_tool_calls()),
    );
}

fn gauge(
    meter: &Meter,
    name: &'static str,
    description: &'static str,
    engine: &Arc<Engine>,
    figure: impl Fn(&Engine) -> u64 + Send + Sync + 'static,
) {
    let engine: Weak<Engine> = Arc::downgrade(engine);
    meter
        .u64_observable_gauge(name)
        .with_description(description)
        .with_callback(move |observer| {
            if let Some(engine) = engine.upgrade() {
                observer.observe(figure(&engine), &[]);
            }
        })
        .build();
}
