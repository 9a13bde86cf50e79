//! The span and the measure of one HTTP request, by OpenTelemetry's conventions. They contain the route and the status,
//! but never a path, query, header or body, which are client data.

use std::time::Duration;

use axum::extract::{MatchedPath, Request};
use axum::http::{HeaderMap, Method, StatusCode};
use charter_contract::ids::TenantId;
use charter_engine::TELEMETRY;
use tracing::{Level, Span, field};

/// Joins a span to the trace in a request's headers.
pub type JoinTrace = fn(&Span, &HeaderMap);

/// One request as telemetry describes it.
pub(crate) struct TracedRequest {
    pub(crate) method: Method,
    route: Option<MatchedPath>,
}

impl TracedRequest {
    pub(crate) fn from_request(request: &Request) -> Self {
        Self {
            method: request.method().clone(),
            route: request.extensions().get().cloned(),
        }
    }

    fn route(&self) -> Option<&str> {
        self.route.as_ref().map(MatchedPath::as_str)
    }

    /// Starts a span.
    pub(crate) fn span(&self) -> Span {
        let method = method_label(&self.method);
        tracing::info_span!(
            target: TELEMETRY,
            "http_request",
            otel.name = match (self.route(), method) {
                (Some(route), "_OTHER") => format!("HTTP {route}"),
                (Some(route), method) => format!("{method} {route}"),
                (None, "_OTHER") => "HTTP".to_owned(),
                (None, method) => method.to_owned(),
            },
            otel.kind = "server",
            otel.status_code = field::Empty,
            http.request.method = method,
            http.route = self.route(),
            http.response.status_code = field::Empty,
            url.scheme = "http",
            charter.tenant.id = field::Empty,
            error.type = field::Empty,
        )
    }

    /// Records the end of the request, and counts it.
    pub(crate) fn record_end(&self, span: &Span, status: StatusCode, elapsed: Duration) {
        // The layer of spans writes unsigned numbers as text.
        span.record("http.response.status_code", i64::from(status.as_u16()));
        let error = status.is_server_error().then(|| status.as_str().to_owned());
        if let Some(error) = &error {
            span.record("error.type", error);
            span.record("otel.status_code", "ERROR");
        }
        tracing::event!(
            target: TELEMETRY,
            Level::INFO,
            histogram.http.server.request.duration = elapsed.as_secs_f64(),
            http.request.method = method_label(&self.method),
            http.route = self.route(),
            http.response.status_code = status.as_u16(),
            url.scheme = "http",
            error.type = error.as_deref(),
        );
    }
}

/// Records the caller's tenant in the current span.
pub(crate) fn record_tenant(tenant: &TenantId) {
    Span::current().record("charter.tenant.id", tenant.as_str());
}

/// The method if the conventions define it; other texts are client data.
fn method_label(method: &Method) -> &str {
    match method.as_str() {
        known @ ("CONNECT" | "DELETE" | "GET" | "HEAD" | "OPTIONS" | "PATCH" | "POST" | "PUT"
        | "QUERY" | "TRACE") => known,
        _ => "_OTHER",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Client data is not a method.
    #[test]
    fn only_methods_of_the_conventions_are_recorded() {
        let named = ["GET", "POST", "QUERY", "get", "AMETHYST"].map(|method| {
            let method = Method::from_bytes(method.as_bytes()).ok();
            method.as_ref().map(method_label).map(str::to_owned)
        });
        let expected = ["GET", "POST", "QUERY", "_OTHER", "_OTHER"];
        assert_eq!(named, expected.map(|name| Some(name.to_owned())));
    }
}
