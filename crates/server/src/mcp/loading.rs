//! An engine that loads while clients connect. Requests that need no engine, such as the handshake and the list of tools,
//! are answered at once. A call waits for the engine and reports that to a client that asks for progress.

use std::sync::Arc;
use std::time::Duration;

use charter_contract::error_code::ErrorCode;
use charter_engine::{Engine, EngineError};
use rmcp::RoleServer;
use rmcp::service::RequestContext;
use tokio::sync::watch;

use super::progress::ProgressReporter;

/// The time between two progress notifications to a client that waits.
const REPORT_EVERY: Duration = Duration::from_secs(2);

/// Why there is no engine.
#[derive(Clone)]
struct LoadFailure {
    code: ErrorCode,
    message: String,
}

/// The engine, or why there is none; `None` while it loads.
type Loaded = Option<Result<Arc<Engine>, LoadFailure>>;

/// The engine that calls wait for; cheap to clone.
#[derive(Clone)]
pub(super) struct LoadingEngine(watch::Receiver<Loaded>);

/// Ends the wait of all calls.
pub struct EngineLoader(watch::Sender<Loaded>);

impl EngineLoader {
    /// Continues all calls with the engine, or fails them with the reason why there is none.
    pub fn finish(self, loaded: Result<Arc<Engine>, EngineError>) {
        let loaded = loaded.map_err(|error| LoadFailure {
            code: error.code,
            message: error.to_string(),
        });
        self.0.send_replace(Some(loaded));
    }
}

impl LoadingEngine {
    /// An engine that is loading, and its loader.
    pub(super) fn begin() -> (Self, EngineLoader) {
        let (loader, loading) = watch::channel(None);
        (Self(loading), EngineLoader(loader))
    }

    /// An engine that is loaded.
    pub(super) fn ready(engine: Arc<Engine>) -> Self {
        let (loading, loader) = Self::begin();
        loader.finish(Ok(engine));
        loading
    }

    /// Returns the engine, if it is loaded.
    pub(super) fn now(&self) -> Option<Arc<Engine>> {
        let loaded = self.0.borrow();
        loaded.as_ref()?.as_ref().ok().map(Arc::clone)
    }

    /// Waits for the engine. Returns it with the number of progress notifications that the client has had.
    ///
    /// # Errors
    /// The reason why there is no engine; `cancelled` when the client cancels the request; `unavailable` when the process
    /// stops first.
    pub(super) async fn wait(
        &self,
        context: &RequestContext<RoleServer>,
    ) -> Result<(Arc<Engine>, f64), EngineError> {
        let mut reporter = ProgressReporter::for_client(context, 0.0);
        let mut patience = Duration::ZERO;
        loop {
            let waited = tokio::select! {
                waited = tokio::time::timeout(patience, self.loaded()) => waited,
                () = context.ct.cancelled() => {
                    let message = "the client cancelled the request";
                    return Err(EngineError::new(ErrorCode::Cancelled, message));
                }
            };
            if let Ok(loaded) = waited {
                let sent = reporter.as_ref().map_or(0.0, ProgressReporter::count);
                return loaded.map(|engine| (engine, sent));
            }
            if let Some(reporter) = &mut reporter {
                let message = "loading the embedding model and the catalogue";
                reporter.report(message.to_owned()).await;
            }
            patience = REPORT_EVERY;
        }
    }

    /// Returns the engine if it is loaded within this time.
    pub(super) async fn within(&self, patience: Duration) -> Option<Arc<Engine>> {
        let loaded = tokio::time::timeout(patience, self.loaded()).await;
        loaded.ok()?.ok()
    }

    async fn loaded(&self) -> Result<Arc<Engine>, EngineError> {
        let mut loading = self.0.clone();
        let loaded = loading.wait_for(Option::is_some).await;
        let loaded = loaded.ok().and_then(|loaded| loaded.clone());
        match loaded {
            Some(Ok(engine)) => Ok(engine),
            Some(Err(failure)) => Err(EngineError::new(failure.code, failure.message)),
            None => {
                let message = "the process stopped before the engine was loaded";
                Err(EngineError::new(ErrorCode::Unavailable, message))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn every_call_returns_the_reason_of_a_failed_load() {
        let (loading, loader) = LoadingEngine::begin();
        let waiting = tokio::spawn({
            let loading = loading.clone();
            async move { loading.loaded().await.map(drop) }
        });
        let missing = EngineError::new(ErrorCode::ModelMissing, "no model in /models");
        loader.finish(Err(missing));
        for refused in [waiting.await.unwrap(), loading.loaded().await.map(drop)] {
            let refused = refused.unwrap_err();
            assert_eq!(refused.code, ErrorCode::ModelMissing);
            assert_eq!(refused.to_string(), "no model in /models");
        }
    }

    #[tokio::test]
    async fn a_call_ends_when_the_process_stops() {
        let (loading, loader) = LoadingEngine::begin();
        drop(loader);
        let refused = loading.loaded().await.map(drop).unwrap_err();
        assert_eq!(refused.code, ErrorCode::Unavailable);
    }
}
