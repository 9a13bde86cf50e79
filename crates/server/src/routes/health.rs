//! Probes and metrics.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use crate::state::AppState;

/// The process answers.
pub(crate) async fn alive() -> Json<Value> {
    Json(json!({"status": "ok"}))
}

/// The server can answer requests: storage reads, and routing says what it compares by.
pub(crate) async fn ready(State(state): State<AppState>) -> Response {
    let routing = match state.engine.embedder() {
        Some(embedder) => {
            json!({"compares": "words and meaning", "model": embedder.model().to_string()})
        }
        None => json!({"compares": "words only", "model": null}),
    };
    match state.engine.check_storage().await {
        Ok(()) => Json(json!({"status": "ready", "routing": routing})).into_response(),
        Err(error) => {
            tracing::error!(error = %error, "not ready");
            let body = Json(json!({"status": "storage does not answer", "routing": routing}));
            (StatusCode::SERVICE_UNAVAILABLE, body).into_response()
        }
    }
}

/// Metrics in Prometheus' text form.
pub(crate) async fn metrics(State(state): State<AppState>) -> Response {
    match state.metrics.text(&state.engine.live()) {
        Ok(text) => {
            let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
            ([(CONTENT_TYPE, kind)], text).into_response()
        }
        Err(error) => {
            tracing::error!(error = %error, "metrics could not be written");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}
