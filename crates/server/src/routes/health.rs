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

/// The server can answer requests: storage reads, and routing says what it compares by. How the index of
/// skills on a search node stands is told, and no reason to be passed by.
pub(crate) async fn ready(State(state): State<AppState>) -> Response {
    let routing = match state.engine.embedder() {
        Some(embedder) => {
            json!({"compares": "words and meaning", "model": embedder.model().to_string()})
        }
        None => json!({"compares": "words only", "model": null}),
    };
    let with = |status: &str| {
        let mut body = json!({"status": status, "routing": routing});
        if let Some(index) = state.engine.skill_index_state() {
            body["skill_index"] = json!(index);
        }
        Json(body)
    };
    if state.engine.is_draining() {
        return (StatusCode::SERVICE_UNAVAILABLE, with("stopping")).into_response();
    }
    match state.engine.check_storage().await {
        Ok(()) => with("ready").into_response(),
        Err(error) => {
            tracing::error!(error = %error, "not ready");
            let body = with("storage does not answer");
            (StatusCode::SERVICE_UNAVAILABLE, body).into_response()
        }
    }
}

/// Metrics in Prometheus' text form.
pub(crate) async fn metrics(State(state): State<AppState>) -> Response {
    match state.metrics.text(&state.engine) {
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
