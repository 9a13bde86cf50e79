//! Probes and metrics.

use axum::extract::State;
use axum::http::header::{CONTENT_TYPE, VARY};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use crate::json::Json;
use crate::metrics::Exposition;
use crate::state::AppState;

/// Reports that the process is alive.
pub(crate) async fn alive() -> Json<Value> {
    Json(json!({"status": "ok"}))
}

/// Reports whether the server can answer requests: storage answers, and the server is not stopping. Also shows the
/// model of routing and the state of the skill index, which do not affect readiness.
pub(crate) async fn ready(State(state): State<AppState>) -> Response {
    let routing = match state.engine.embedder() {
        Some(embedder) => {
            json!({"compares": "words and meaning", "model": embedder.model().to_string()})
        }
        None => json!({"compares": "words only", "model": null}),
    };
    let with = |status: &str| {
        let mut body = json!({"status": status, "routing": routing});
        if let Some(index) = state.engine.agent_skills().skill_index_state() {
            body["skill_index"] = json!(index);
        }
        Json(body)
    };
    if state.engine.run_recovery().is_draining() {
        return (StatusCode::SERVICE_UNAVAILABLE, with("stopping")).into_response();
    }
    if state.readiness.storage_answers(&state.engine).await {
        return with("ready").into_response();
    }
    let body = with("storage does not answer");
    (StatusCode::SERVICE_UNAVAILABLE, body).into_response()
}

/// Metrics in the client's preferred format: OpenMetrics, or the text format of Prometheus.
pub(crate) async fn metrics(State(state): State<AppState>, headers: HeaderMap) -> Response {
    let form = Exposition::negotiate(&headers);
    match state.metrics.text(&state.engine, form) {
        Ok(text) => {
            let kind = [(CONTENT_TYPE, form.content_type()), (VARY, "accept")];
            (kind, text).into_response()
        }
        Err(error) => {
            tracing::error!(error = %error, "metrics could not be written");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}
