//! Traces and metrics for an OpenTelemetry collector, by OTLP over HTTP. The crates below make spans and measures with
//! `tracing` and know nothing of this module, which converts and sends them. Sending never delays or fails the work
//! that it reports: queues are bounded, and excess is dropped and counted.

mod collector;
mod context;
mod measures;
mod spans;

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::Context;
use charter_effects::{TELEMETRY, TraceContext};
use charter_engine::Engine;
use charter_server::JoinTrace;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::SdkMeterProvider;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tokio::sync::oneshot;
use tracing::Metadata;
use tracing::level_filters::LevelFilter;
use tracing_opentelemetry::MetricsLayer;
use tracing_subscriber::filter::{FilterFn, filter_fn};
use tracing_subscriber::{Layer, Registry};

use crate::config::Config;

pub(crate) use collector::Collector;
use spans::SpanCounts;

/// How long the end of the process waits for the last export.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(5);

/// Any layer over the registry.
type AnyLayer = Box<dyn Layer<Registry> + Send + Sync>;

/// The exporters, which run as long as the process serves.
pub(crate) struct Telemetry {
    traces: SdkTracerProvider,
    metrics: SdkMeterProvider,
    ledger: Arc<SpanCounts>,
}

impl Telemetry {
    /// Sets up the configured exporters; `None` without a collector. No request is sent.
    pub(crate) fn start(config: &Config) -> anyhow::Result<Option<Self>> {
        let Some(collector) = Collector::configured(config)? else {
            return Ok(None);
        };
        let telemetry = &config.telemetry;
        let resource = Resource::builder()
            .with_service_name(telemetry.service_name.clone())
            .with_attribute(opentelemetry::KeyValue::new(
                "service.version",
                env!("CARGO_PKG_VERSION"),
            ))
            .build();
        let interval = Duration::from_secs(telemetry.export_interval_s);
        let ledger = Arc::new(SpanCounts::default());
        let started = || {
            anyhow::Ok(Self {
                traces: spans::provider(
                    &collector,
                    resource.clone(),
                    telemetry.sample_ratio,
                    interval,
                    &ledger,
                )?,
                metrics: measures::provider(&collector, resource.clone(), interval, &ledger)?,
                ledger: Arc::clone(&ledger),
            })
        };
        started().context("setting up `telemetry`").map(Some)
    }

    /// The layers that convert spans and measures of `tracing` to OpenTelemetry's.
    pub(crate) fn layers(&self) -> [AnyLayer; 2] {
        let spans = tracing_opentelemetry::layer()
            .with_tracer(spans::tracer(&self.traces))
            .with_location(false)
            .with_threads(false)
            .with_target(false)
            .with_level(false)
            .with_tracked_inactivity(false)
            .with_context_activation(false)
            .with_filter(only(|about| about.is_span()));
        let measures =
            MetricsLayer::new(self.metrics.clone()).with_filter(only(|about| about.is_event()));
        [spans.boxed(), measures.boxed()]
    }

    /// Reports the catalogue's sizes, as long as the engine exists.
    pub(crate) fn observe(&self, engine: &Arc<Engine>) {
        measures::observe(&self.metrics, engine);
    }

    /// Sends the rest within a timeout, and reports losses.
    pub(crate) async fn stop(self) {
        let Self {
            traces,
            metrics,
            ledger,
        } = self;
        // Separate threads: one that hangs is abandoned when the process ends.
        let traces = apart(move || traces.shutdown_with_timeout(FLUSH_TIMEOUT).is_ok());
        let metrics = apart(move || metrics.shutdown_with_timeout(FLUSH_TIMEOUT).is_ok());
        let both = async { matches!((traces.await, metrics.await), (Ok(true), Ok(true))) };
        let sent = tokio::time::timeout(FLUSH_TIMEOUT, both).await;
        let lost = ledger.lost();
        if lost > 0 || !matches!(sent, Ok(true)) {
            tracing::warn!(spans.lost = lost, "not all telemetry reached the collector");
        }
    }
}

fn apart(work: impl FnOnce() -> bool + Send + 'static) -> oneshot::Receiver<bool> {
    let (done, waited) = oneshot::channel();
    thread::spawn(move || {
        if done.send(work()).is_err() {
            tracing::debug!("telemetry was sent after its deadline");
        }
    });
    waited
}

/// A filter for telemetry of one kind.
fn only(kind: fn(&Metadata<'_>) -> bool) -> FilterFn<impl Fn(&Metadata<'_>) -> bool + Clone> {
    let filter = filter_fn(move |about| about.target() == TELEMETRY && kind(about));
    filter.with_max_level_hint(LevelFilter::INFO)
}

/// The function that joins requests to their clients' traces, if traces are kept.
pub(crate) fn join_trace(config: &Config) -> Option<JoinTrace> {
    let on = config.telemetry.otlp_endpoint.is_some();
    on.then_some(context::join as JoinTrace)
}

/// The trace context that outgoing calls carry, according to the configuration.
pub(crate) fn trace_context(config: &Config) -> TraceContext {
    let telemetry = &config.telemetry;
    match telemetry.propagate && telemetry.otlp_endpoint.is_some() {
        true => TraceContext::told_by(context::here),
        false => TraceContext::default(),
    }
}
