//! Prepares spans for the collector: sampled, queued within limits, sent in batches, counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use opentelemetry::trace::TracerProvider;
use opentelemetry::{Context, InstrumentationScope};
use opentelemetry_otlp::{SpanExporter as OtlpSpans, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{
    BatchConfigBuilder, BatchSpanProcessor, Sampler, SdkTracer, SdkTracerProvider, Span, SpanData,
    SpanExporter, SpanProcessor,
};

use super::collector::{Collector, SEND_TIMEOUT};

/// Largest number of spans in the queue; further ones are dropped.
const MAX_QUEUED: usize = 4_096;
/// Spans of one batch.
const MAX_BATCH: usize = 512;

/// Counts of spans by outcome.
#[derive(Debug, Default)]
pub(super) struct SpanCounts {
    /// Spans that ended and were to be sent.
    ended: AtomicU64,
    /// Spans that the collector accepted.
    delivered: AtomicU64,
}

impl SpanCounts {
    pub(super) fn ended(&self) -> u64 {
        self.ended.load(Ordering::Relaxed)
    }

    pub(super) fn delivered(&self) -> u64 {
        self.delivered.load(Ordering::Relaxed)
    }

    /// Spans that were lost, or are not delivered yet.
    pub(super) fn lost(&self) -> u64 {
        self.ended().saturating_sub(self.delivered())
    }
}

pub(super) fn provider(
    collector: &Collector,
    resource: Resource,
    sample_ratio: f64,
    interval: Duration,
    ledger: &Arc<SpanCounts>,
) -> anyhow::Result<SdkTracerProvider> {
    let exporter = OtlpSpans::builder()
        .with_http()
        .with_http_client(collector.clone())
        .with_endpoint(collector.traces())
        .with_timeout(SEND_TIMEOUT)
        .build()?;
    let exporter = CountedExporter {
        exporter,
        ledger: Arc::clone(ledger),
    };
    let config = BatchConfigBuilder::default()
        .with_max_queue_size(MAX_QUEUED)
        .with_max_export_batch_size(MAX_BATCH)
        .with_scheduled_delay(interval)
        .build();
    let batches = BatchSpanProcessor::builder(exporter)
        .with_batch_config(config)
        .build();
    let sampler = Sampler::TraceIdRatioBased(sample_ratio);
    Ok(SdkTracerProvider::builder()
        .with_resource(resource)
        .with_sampler(Sampler::ParentBased(Box::new(sampler)))
        .with_span_processor(CountedQueue {
            batches,
            ledger: Arc::clone(ledger),
        })
        .build())
}

pub(super) fn tracer(provider: &SdkTracerProvider) -> SdkTracer {
    let scope = InstrumentationScope::builder("charter").with_version(env!("CARGO_PKG_VERSION"));
    provider.tracer_with_scope(scope.build())
}

/// Counts spans as they enter the queue.
#[derive(Debug)]
struct CountedQueue {
    batches: BatchSpanProcessor,
    ledger: Arc<SpanCounts>,
}

impl SpanProcessor for CountedQueue {
    fn on_start(&self, span: &mut Span, context: &Context) {
        self.batches.on_start(span, context);
    }

    fn on_end(&self, span: SpanData) {
        if span.span_context.is_sampled() {
            self.ledger.ended.fetch_add(1, Ordering::Relaxed);
        }
        self.batches.on_end(span);
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.batches.force_flush()
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.batches.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.batches.set_resource(resource);
    }
}

/// Counts spans as they are exported.
#[derive(Debug)]
struct CountedExporter {
    exporter: OtlpSpans,
    ledger: Arc<SpanCounts>,
}

impl SpanExporter for CountedExporter {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let spans = u64::try_from(batch.len()).unwrap_or(u64::MAX);
        self.exporter.export(batch).await?;
        self.ledger.delivered.fetch_add(spans, Ordering::Relaxed);
        Ok(())
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.exporter.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}
