//! Whether storage answers, for probes.

use std::time::{Duration, Instant};

use charter_contract::error_code::ErrorCode;
use charter_engine::{Engine, EngineError};
use tokio::sync::Mutex;

/// How long storage has to answer a probe.
const STORAGE_PROBE_TIMEOUT: Duration = Duration::from_secs(1);

/// Whether storage answers: looked at once for all probes that ask at the same time.
#[derive(Debug, Default)]
pub(crate) struct Readiness(Mutex<Option<LastProbe>>);

/// The result of the last probe of storage.
#[derive(Debug, Clone, Copy)]
struct LastProbe {
    ended: Instant,
    answers: bool,
}

impl Readiness {
    /// Whether storage answers now.
    pub(crate) async fn storage_answers(&self, engine: &Engine) -> bool {
        let asked = Instant::now();
        let mut last = self.0.lock().await;
        if let Some(looked) = *last
            && looked.ended >= asked
        {
            return looked.answers;
        }
        let looked = tokio::time::timeout(STORAGE_PROBE_TIMEOUT, engine.check_storage()).await;
        let looked = looked.unwrap_or_else(|_| {
            let message = "storage did not answer a probe in time";
            Err(EngineError::new(ErrorCode::Unavailable, message))
        });
        if let Err(error) = &looked {
            tracing::error!(error = %error, "not ready");
        }
        let answers = looked.is_ok();
        *last = Some(LastProbe {
            ended: Instant::now(),
            answers,
        });
        answers
    }
}
