//! Following a request: its answer when it comes, and of a change its result when that comes.

use std::sync::Arc;
use std::time::Duration;

use charter_contract::ids::RequestId;
use charter_contract::json::decode_stored;
use futures_util::Stream;
use serde_json::Value;

use crate::{Caller, Engine, EngineError};

/// Time after which a request is looked at even if nobody in this process said that there is news.
const POLL_INTERVAL: Duration = Duration::from_secs(2);

/// Something that was recorded of a request.
#[derive(Debug, Clone, PartialEq)]
pub enum RequestEvent {
    /// It was answered.
    Response(Value),
    /// It failed.
    Error(Value),
    /// The change that it asked for has ended.
    Result(Value),
}

/// A follower's place.
struct Follower {
    engine: Arc<Engine>,
    caller: Caller,
    id: RequestId,
    answered: bool,
    ended: bool,
}

impl Engine {
    /// What is recorded of a request as it is recorded, until nothing more will be. Ends early when the engine stops or
    /// storage fails.
    ///
    /// # Errors
    /// `not_found`, also for a request that the caller does not see.
    pub async fn follow_request(
        self: &Arc<Self>,
        caller: &Caller,
        id: &RequestId,
    ) -> Result<impl Stream<Item = RequestEvent> + Send + use<>, EngineError> {
        self.request_of(caller, id).await?;
        let follower = Follower {
            engine: Arc::clone(self),
            caller: caller.clone(),
            id: id.clone(),
            answered: false,
            ended: false,
        };
        let next = |mut follower: Follower| async move {
            match follower.next().await {
                Ok(event) => event.map(|event| (event, follower)),
                Err(error) => {
                    let request = &follower.id;
                    tracing::warn!(request.id = %request, error = %error, "a stream of a request ends early");
                    None
                }
            }
        };
        Ok(futures_util::stream::unfold(follower, next))
    }
}

impl Follower {
    async fn next(&mut self) -> Result<Option<RequestEvent>, EngineError> {
        let engine = Arc::clone(&self.engine);
        while !self.ended {
            // Registered before looking, so that what comes meanwhile is not missed.
            let news = engine.change_notify().notified();
            let mut news = std::pin::pin!(news);
            news.as_mut().enable();
            let record = engine.request_of(&self.caller, &self.id).await?;
            let record = engine.with_result(record).await;
            if let (false, Some(answer)) = (self.answered, &record.answer) {
                self.answered = true;
                // Nothing follows the answer of what changes nothing.
                self.ended = record.run_id.is_none();
                let answer = decoded(answer)?;
                return Ok(Some(match answer.get("error_id") {
                    None => RequestEvent::Response(answer),
                    Some(_) => RequestEvent::Error(answer),
                }));
            }
            if let Some(result) = &record.result {
                self.ended = true;
                return Ok(Some(RequestEvent::Result(decoded(result)?)));
            }
            tokio::select! {
                () = engine.shutdown().cancelled() => return Ok(None),
                () = news => {}
                () = tokio::time::sleep(POLL_INTERVAL) => {}
            }
        }
        Ok(None)
    }
}

fn decoded(text: &str) -> Result<Value, EngineError> {
    decode_stored(text).map_err(|error| EngineError::internal("reading a recorded request", error))
}
