//! Listens, serves connections, and stops gracefully.
//!
//! The number of connections is limited. Each has timeouts for the head of a request, for idling between requests, and
//! for receiving an answer, so that a silent client cannot block others.

mod connections;
mod pace;

use std::convert::Infallible;
use std::future::Future;
use std::io::ErrorKind;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::response::Response;
use charter_contract::bounds::HEAD_BYTES;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::limits::Limits;
use crate::transfer::HeldBody;
use connections::{Connections, OpenConnection};
use pace::PacedStream;

/// How often connections are checked for timeouts.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// The pause after a failed accept, which means that the process has no descriptor left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves until `stop` resolves; then finishes the running requests and returns.
pub async fn serve(
    listener: TcpListener,
    routes: Router,
    limits: Limits,
    stop: impl Future<Output = ()>,
) {
    let connections = Arc::new(Connections::new(limits.connections, limits.head));
    let (stopping, serving) = (CancellationToken::new(), TaskTracker::new());
    let mut looking = interval(POLL_INTERVAL);
    looking.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut stop = pin!(stop);
    loop {
        tokio::select! {
            () = &mut stop => break,
            _ = looking.tick() => connections.close_overdue(Instant::now()),
            stream = accepted(&listener, &connections) => {
                if let Some(open) = connections.open(Instant::now()) {
                    let routes = routes.clone();
                    serving.spawn(served(stream, routes, open, stopping.clone()));
                }
            }
        }
    }
    drop(listener);
    stopping.cancel();
    serving.close();
    loop {
        tokio::select! {
            () = serving.wait() => return,
            _ = looking.tick() => connections.close_overdue(Instant::now()),
        }
    }
}

/// Accepts the next connection.
async fn accepted(listener: &TcpListener, connections: &Connections) -> TcpStream {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                // An answer is written at once, and an event must not wait for the acknowledgement of the one before.
                if let Err(error) = stream.set_nodelay(true) {
                    tracing::debug!(error = %error, "a connection keeps delaying small packets");
                }
                return stream;
            }
            // The client left before its connection was accepted.
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::ConnectionRefused
                        | ErrorKind::ConnectionAborted
                        | ErrorKind::ConnectionReset
                ) => {}
            Err(error) => {
                tracing::error!(error = %error, "a connection could not be accepted");
                connections.make_room();
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// Serves one connection to its end.
async fn served(
    stream: TcpStream,
    routes: Router,
    open: OpenConnection,
    stopping: CancellationToken,
) {
    let io = TokioIo::new(PacedStream::new(stream, Arc::clone(&open.pace)));
    let routes = TowerToHyperService::new(routes);
    let pace = Arc::clone(&open.pace);
    let service = service_fn(move |request: Request<Incoming>| {
        let serving = pace.serving();
        let answering = routes.call(request);
        async move {
            let response: Response = answering.await?;
            Ok::<_, Infallible>(response.map(|body| HeldBody::new(body, serving)))
        }
    });
    let connection = http1::Builder::new()
        .header_read_timeout(None::<Duration>)
        .max_header_size(HEAD_BYTES)
        .max_buf_size(HEAD_BYTES)
        .serve_connection(io, service);
    let mut connection = pin!(connection);
    let mut is_leaving = false;
    loop {
        tokio::select! {
            ended = connection.as_mut() => {
                if let Err(error) = ended {
                    tracing::debug!(error = %error, "a connection failed");
                }
                return;
            }
            () = open.closed.cancelled() => return,
            () = stopping.cancelled(), if !is_leaving => {
                is_leaving = true;
                connection.as_mut().graceful_shutdown();
            }
        }
    }
}

#[cfg(test)]
mod tests;
