//! Listening, and stopping in good order.

use std::future::Future;

use axum::Router;
use tokio::net::TcpListener;

/// A server that stopped by itself.
#[derive(Debug, thiserror::Error)]
#[error("serving HTTP")]
pub struct ServeError(#[from] std::io::Error);

/// Serves until `stop` resolves; then finishes the requests under way and returns.
///
/// # Errors
/// [`ServeError`] when the listener fails.
pub async fn serve(
    listener: TcpListener,
    routes: Router,
    stop: impl Future<Output = ()> + Send + 'static,
) -> Result<(), ServeError> {
    axum::serve(listener, routes)
        .with_graceful_shutdown(stop)
        .await?;
    Ok(())
}
