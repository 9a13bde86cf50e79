//! Follows a request: its answer once recorded, and the result of a change once recorded.

use std::sync::Arc;

use charter_contract::ids::RequestId;
use charter_contract::json::decode_stored;
use futures_util::Stream;
use serde_json::Value;

use super::view::RequestViewService;
use crate::ground::change_wait::{ChangeWait, POLL_INTERVAL, WaitEnd};
use crate::{Caller, EngineError};

/// A recorded event of a request.
#[derive(Debug, Clone, PartialEq)]
pub enum RequestEvent {
    /// It was answered.
    Response(Value),
    /// It failed.
    Error(Value),
    /// The requested change has ended.
    Result(Value),
}

/// The position of a follower.
struct Follower {
    views: Arc<RequestViewService>,
    caller: Caller,
    id: RequestId,
    answered: bool,
    ended: bool,
}

impl RequestViewService {
    /// Streams the recorded events of a request until no more can follow. Ends early if the engine stops or storage
    /// fails.
    ///
    /// # Errors
    /// `not_found`, also for a request that is not visible to the caller.
    pub async fn follow_request(
        self: &Arc<Self>,
        caller: &Caller,
        id: &RequestId,
    ) -> Result<impl Stream<Item = RequestEvent> + Send + use<>, EngineError> {
        self.request_of(caller, id).await?;
        let follower = Follower {
            views: Arc::clone(self),
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
                    tracing::warn!(request.id = %request, error = %error, "ending a request's stream early");
                    None
                }
            }
        };
        Ok(futures_util::stream::unfold(follower, next))
    }
}

impl Follower {
    async fn next(&mut self) -> Result<Option<RequestEvent>, EngineError> {
        let views = Arc::clone(&self.views);
        while !self.ended {
            // Registered before looking, so that no notification in between is missed.
            let change = ChangeWait::register(&views.news);
            let record = views.request_of(&self.caller, &self.id).await?;
            let record = views.request_results.with_result(record).await;
            if let (false, Some(answer)) = (self.answered, &record.answer) {
                self.answered = true;
                // A request that changes nothing has no event after its answer.
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
            match change.wait(POLL_INTERVAL, &views.shutdown).await {
                WaitEnd::LookAgain => {}
                WaitEnd::Stopped => return Ok(None),
            }
        }
        Ok(None)
    }
}

fn decoded(text: &str) -> Result<Value, EngineError> {
    decode_stored(text).map_err(|error| EngineError::internal("reading a recorded request", error))
}
