//! Commands of people for runs that another process drives.
//!
//! A run has one writer, in one process. A command for a driver elsewhere is published; the process with the driver
//! applies it and publishes the reply. A command carries the deadline of its sender: after that, no process applies it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{RunId, TenantId};
use charter_contract::json::{decode_stored, to_stored};
use charter_contract::time::Timestamp;
use charter_domain::run::RunOrder;
use charter_store::outbox::NewMessage;
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;
use uuid::Uuid;

use super::RunService;
use crate::EngineError;
use crate::ground::moments;

/// Topic of published commands.
const GIVEN: &str = "order.given";

/// Topic of replies.
const ANSWERED: &str = "order.answered";

/// How long another process has to reply.
const REPLY_TIMEOUT: Duration = Duration::from_secs(5);

/// A command as published.
#[derive(Debug, Serialize, Deserialize)]
struct PublishedOrder {
    id: Uuid,
    tenant: TenantId,
    run: RunId,
    until: Timestamp,
    what: RunOrder,
}

/// The reply to a command, as published.
#[derive(Debug, Serialize, Deserialize)]
struct OrderReply {
    id: Uuid,
    refused: Option<Refusal>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Refusal {
    code: ErrorCode,
    message: String,
}

/// Commands for which this process awaits replies.
#[derive(Debug, Default)]
pub(crate) struct Orders(Mutex<HashMap<Uuid, oneshot::Sender<Option<Refusal>>>>);

impl Orders {
    /// A panic of a lock holder leaves the map intact: every change is one step.
    fn with<T>(
        &self,
        change: impl FnOnce(&mut HashMap<Uuid, oneshot::Sender<Option<Refusal>>>) -> T,
    ) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl RunService {
    /// Has a command applied by the process that drives the run, if there is another one.
    ///
    /// # Errors
    /// The error of that process; `overloaded` if none replies, and the command is then void.
    pub(super) async fn order_elsewhere(
        &self,
        tenant: &TenantId,
        run: &RunId,
        what: &RunOrder,
    ) -> Result<(), EngineError> {
        let (now, id) = (self.clock.now(), self.ids.uuid());
        let given = PublishedOrder {
            id,
            tenant: tenant.clone(),
            run: run.clone(),
            until: moments::after(now, REPLY_TIMEOUT),
            what: what.clone(),
        };
        let (answer, answered) = oneshot::channel();
        self.orders.with(|waiting| waiting.insert(id, answer));
        let published = self.publish_order(GIVEN, &given).await;
        let answered = match published {
            Ok(()) => tokio::time::timeout(REPLY_TIMEOUT, answered).await,
            Err(error) => {
                self.orders.with(|waiting| waiting.remove(&id));
                return Err(error);
            }
        };
        self.orders.with(|waiting| waiting.remove(&id));
        match answered {
            Ok(Ok(None)) => Ok(()),
            Ok(Ok(Some(refusal))) => Err(EngineError::new(refusal.code, refusal.message)),
            Ok(Err(_)) | Err(_) => {
                let message = "another process drives the run and did not answer; retry";
                Err(EngineError::new(ErrorCode::Overloaded, message))
            }
        }
    }

    async fn publish_order<T: Serialize + Sync>(
        &self,
        topic: &str,
        what: &T,
    ) -> Result<(), EngineError> {
        let payload =
            to_stored(what).map_err(|error| EngineError::internal("writing an order", error))?;
        let message = NewMessage {
            topic: topic.to_owned(),
            tenant: None,
            user_id: None,
            payload,
            at: self.clock.now(),
        };
        self.store.publish(vec![message]).await?;
        Ok(())
    }

    /// Applies a command to a run that this process drives, and publishes the reply.
    async fn obey_for_another(self: Arc<Self>, given: PublishedOrder) {
        let PublishedOrder {
            id,
            run,
            until,
            what,
            ..
        } = given;
        if until <= self.clock.now() {
            return;
        }
        let Some(obeyed) = self.send_to_driver(&run, what.into()).await else {
            return;
        };
        let refused = obeyed.err().map(|error| Refusal {
            code: error.code,
            message: error.message,
        });
        if let Err(error) = self
            .publish_order(ANSWERED, &OrderReply { id, refused })
            .await
        {
            tracing::warn!(run.id = %run, error = %error, "the answer to an order was not published");
        }
    }
}

impl RunService {
    /// Handles a message that is a command for this process or the reply to one of its own.
    pub(crate) fn handle_message(self: &Arc<Self>, message: &NewMessage) {
        match message.topic.as_str() {
            GIVEN => {
                let given: Result<PublishedOrder, _> = decode_stored(&message.payload);
                if let Ok(given) = given
                    && self.drivers.driver(&given.run).is_some()
                {
                    self.spawn(Arc::clone(self).obey_for_another(given));
                }
            }
            ANSWERED => {
                if let Ok(answered) = decode_stored::<OrderReply>(&message.payload)
                    && let Some(waiting) = self.orders.with(|orders| orders.remove(&answered.id))
                {
                    // The sender may have gone.
                    drop(waiting.send(answered.refused));
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde::de::DeserializeOwned;
    use serde_json::{Value, json};

    use super::*;

    /// A process of another build reads the messages of this one.
    fn reads_and_writes<T: DeserializeOwned + Serialize>(written: &Value) {
        let read = T::deserialize(written).unwrap();
        assert_eq!(serde_json::to_value(&read).unwrap(), *written);
    }

    #[test]
    fn an_order_and_its_answer_are_published_as_they_always_were() {
        let id = "00000000-0000-0000-0000-000000000001";
        reads_and_writes::<PublishedOrder>(&json!({
            "id": id,
            "tenant": "acme",
            "run": "run-00000000-0000-0000-0000-000000000002",
            "until": "1970-01-01T00:00:00Z",
            "what": {"order": "pause", "by": "ann"},
        }));
        reads_and_writes::<OrderReply>(&json!({"id": id, "refused": null}));
        let refused = json!({"code": "illegal_transition", "message": "the run has ended"});
        reads_and_writes::<OrderReply>(&json!({"id": id, "refused": refused}));
    }
}
