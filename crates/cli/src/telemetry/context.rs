//! W3C Trace Context: from the headers of a request into its span, and from a span into outgoing calls.

use std::collections::HashMap;

use axum::http::HeaderMap;
use opentelemetry::propagation::TextMapPropagator;
use opentelemetry::trace::TraceContextExt;
use opentelemetry_http::HeaderExtractor;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt;

/// Makes a span a child of the one in the headers. Without a readable trace context in the headers, it stays the root
/// of its own trace.
pub(super) fn join(span: &Span, headers: &HeaderMap) {
    let named = TraceContextPropagator::new().extract(&HeaderExtractor(headers));
    if !named.span().span_context().is_valid() {
        return;
    }
    if let Err(error) = span.set_parent(named) {
        tracing::debug!(error = %error, "a request does not join its client's trace");
    }
}

/// The `traceparent` of the current span.
pub(super) fn here() -> Option<String> {
    let mut headers = HashMap::new();
    TraceContextPropagator::new().inject_context(&Span::current().context(), &mut headers);
    headers.remove("traceparent")
}
