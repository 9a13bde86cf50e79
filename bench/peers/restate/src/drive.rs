//! The client: as many kept-alive connections to the ingress as runs may be in flight, each with one
//! request under way. It must not know what the service does.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Answers each scenario of standard input with its figures, one line of JSON each.
pub async fn scenarios(ingress: SocketAddr) -> Result<(), Failure> {
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Some(line) = lines.next_line().await? {
        let scenario: Value = serde_json::from_str(&line)?;
        let number = |name: &str| -> Result<u32, Failure> {
            let given = scenario[name]
                .as_u64()
                .and_then(|number| number.try_into().ok());
            given.ok_or_else(|| format!("`{name}` is not a number in {line}").into())
        };
        let (runs, steps) = (number("runs")?, number("steps")?);
        println!("{}", run(ingress, runs, steps, number("in_flight")?).await?);
    }
    Ok(())
}

async fn run(ingress: SocketAddr, runs: u32, steps: u32, in_flight: u32) -> Result<Value, Failure> {
    let mut connections = Vec::new();
    for _ in 0..in_flight.min(runs) {
        connections.push(connect(ingress).await?);
    }
    let left = Arc::new(AtomicU32::new(runs));
    let mut workers = JoinSet::new();
    let started = Instant::now();
    for connection in connections {
        workers.spawn(work(connection, Arc::clone(&left), steps));
    }
    let mut times_ms = Vec::with_capacity(runs as usize);
    while let Some(worked) = workers.join_next().await {
        times_ms.extend(worked??);
    }
    Ok(json!({"seconds": started.elapsed().as_secs_f64(), "times_ms": times_ms}))
}

async fn connect(ingress: SocketAddr) -> Result<SendRequest<Full<Bytes>>, Failure> {
    let stream = TcpStream::connect(ingress).await?;
    stream.set_nodelay(true)?;
    let (sender, connection) = handshake(TokioIo::new(stream)).await?;
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            eprintln!("a connection to the ingress ended: {error}");
        }
    });
    Ok(sender)
}

/// Takes runs while any are left; how long each took.
async fn work(
    mut connection: SendRequest<Full<Bytes>>,
    left: Arc<AtomicU32>,
    steps: u32,
) -> Result<Vec<f64>, Failure> {
    let mut times_ms = Vec::new();
    let take = |left: u32| left.checked_sub(1);
    while left
        .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take)
        .is_ok()
    {
        let started = Instant::now();
        let request = Request::post("/Steps/take")
            .header("host", "localhost")
            .header("content-type", "application/json")
            .body(Full::from(steps.to_string()))?;
        connection.ready().await?;
        let answer = connection.send_request(request).await?;
        let status = answer.status();
        let body = answer.into_body().collect().await?.to_bytes();
        if !status.is_success() || *body != *steps.to_string().as_bytes() {
            let body = String::from_utf8_lossy(&body);
            return Err(format!("the ingress answered {status}: {body}").into());
        }
        times_ms.push(started.elapsed().as_secs_f64() * 1e3);
    }
    Ok(times_ms)
}
