//! The peer of `bench/run.py` for resolving and of `bench/answers.py` for requests, and the latter's instant tool: an
//! axum server that answers every request with the JSON of a file, serialised each time, and does nothing else. It must
//! know nothing of Charter.
//!
//! `cargo run --release -p charter-server --example bare_route -- BODY.json`; prints the port.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::{Json, Router};
use serde_json::Value;
use tokio::net::TcpListener;

async fn answer(State(body): State<Arc<Value>>) -> Response {
    Json(&*body).into_response()
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::args()
        .nth(1)
        .ok_or("usage: bare_route BODY.json")?;
    let body: Value = serde_json::from_slice(&std::fs::read(file)?)?;
    let router = Router::new().fallback(answer).with_state(Arc::new(body));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", listener.local_addr()?.port());
    axum::serve(listener, router).await?;
    Ok(())
}
