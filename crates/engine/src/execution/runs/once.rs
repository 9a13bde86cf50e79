//! Orders that start one run, however often they come.
//!
//! A run's id follows from the ids that its order carries, or from the `Idempotency-Key` that it came with. The same
//! order again finds the run; an order with other content is refused. An order that carries neither starts a run
//! each time.

use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{MissionId, RunId, TenantId};
use charter_contract::json::{decode_stored, memory_of_fields};
use charter_domain::graph::StepGraph;
use charter_domain::run::RunEvent;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use uuid::{Uuid, uuid};

use super::{NewRun, RunView};
use crate::ground::apart;
use crate::{Caller, Engine, EngineError};

/// Longest id that a client may give to a message, a context or an order, in bytes.
pub(crate) const MAX_CLIENT_ID: usize = 256;

/// What ids that follow from clients' ids are made in.
const NAMESPACE: Uuid = uuid!("6f2d4bb1-3c0e-5d37-9a4b-6f1f0c3a7e52");

/// An id that follows from what a client calls something. The caller is part of it: two of them may
/// call different things the same.
pub(crate) fn derived(caller: &Caller, what: &str, name: &str) -> Uuid {
    let user = Uuid::new_v5(&NAMESPACE, caller.tenant.as_str().as_bytes());
    let user = Uuid::new_v5(&user, caller.user.as_str().as_bytes());
    Uuid::new_v5(&user, format!("{what}/{name}").as_bytes())
}

/// A client's name for an order, by which the same order is known again: the header `Idempotency-Key`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyKey(String);

impl IdempotencyKey {
    /// Reads a client's name for an order.
    ///
    /// # Errors
    /// `invalid_request` for a text that is empty, too long, or has other characters than visible ASCII.
    pub fn parse(text: &str) -> Result<Self, EngineError> {
        let is_visible = text.bytes().all(|byte| byte.is_ascii_graphic());
        if is_visible && (1..=MAX_CLIENT_ID).contains(&text.len()) {
            return Ok(Self(text.to_owned()));
        }
        let message = format!("an `Idempotency-Key` has 1 to {MAX_CLIENT_ID} visible characters");
        Err(EngineError::new(ErrorCode::InvalidRequest, message))
    }

    /// The mission of a caller's order with this name.
    #[must_use]
    pub fn mission(&self, caller: &Caller) -> MissionId {
        MissionId::from_uuid(derived(caller, "start_mission", &self.0))
    }

    /// The id of what an operation makes of a caller's order with this name.
    pub(crate) fn id(&self, caller: &Caller, operation: &str) -> Uuid {
        derived(caller, operation, &self.0)
    }
}

/// What an order to start a run came to.
#[derive(Debug, Clone, PartialEq)]
pub enum RunStarted {
    /// It was started.
    New(Box<RunView>),
    /// An equal order started it before.
    Repeat(Box<RunView>),
}

impl RunStarted {
    /// The run, whatever started it.
    #[must_use]
    pub fn run(self) -> RunView {
        match self {
            Self::New(run) | Self::Repeat(run) => *run,
        }
    }
}

/// The run that an order leads to.
#[derive(Debug)]
pub(crate) struct IdempotentRun {
    pub(crate) run_id: RunId,
    /// Whether the same order may come again.
    may_repeat: bool,
    /// Whether there is a run of this id.
    is_known: bool,
}

/// In what two orders of one name are the same.
#[derive(Debug, PartialEq, Deserialize)]
struct Content {
    graph: StepGraph,
    parameters: Map<String, Value>,
    dry_run: bool,
}

/// The same as text, which takes less memory while the run is started.
struct WrittenContent(String);

impl WrittenContent {
    fn from_new_run(new: &NewRun) -> Result<Self, EngineError> {
        #[derive(Serialize)]
        struct FingerprintWriter<'n> {
            graph: &'n StepGraph,
            parameters: &'n Map<String, Value>,
            dry_run: bool,
        }
        let content = FingerprintWriter {
            graph: &new.graph,
            parameters: &new.parameters,
            dry_run: new.dry_run,
        };
        let memory = memory_of_fields(&new.parameters);
        let text = apart::on_value(memory, || serde_json::to_string(&content));
        text.map(Self)
            .map_err(|error| EngineError::internal(COMPARING, error))
    }

    /// The content as a journal would give it back: text does not keep every number to its last digit.
    fn read(&self) -> Result<Content, EngineError> {
        apart::on_value(self.0.len(), || decode_stored(&self.0))
            .map_err(|error| EngineError::internal(COMPARING, error))
    }
}

const COMPARING: &str = "comparing orders";

impl Engine {
    /// Finds the run that an order leads to: one that is there, or the id of a new one, for which the tenant must
    /// have room. `named` is the id that follows from the order; absent, the run is a new one.
    ///
    /// # Errors
    /// `rate_limited` where the tenant has as many runs as it may.
    pub(crate) async fn ordered(
        &self,
        caller: &Caller,
        named: Option<Uuid>,
    ) -> Result<IdempotentRun, EngineError> {
        let run_id = RunId::from_uuid(named.unwrap_or_else(|| self.new_uuid()));
        let may_repeat = named.is_some();
        let is_known = may_repeat && self.store().run(&caller.tenant, &run_id).await?.is_some();
        if !is_known {
            self.quotas().check_room_for_run(&caller.tenant).await?;
        }
        Ok(IdempotentRun {
            run_id,
            may_repeat,
            is_known,
        })
    }

    /// Starts the run of an order, unless an equal order did. Of equal orders at the same time one starts it.
    ///
    /// # Errors
    /// `already_exists` when an order with other content started it.
    pub(crate) async fn start_once(
        self: &Arc<Self>,
        caller: &Caller,
        ordered: IdempotentRun,
        new: NewRun,
    ) -> Result<RunStarted, EngineError> {
        let IdempotentRun {
            run_id,
            may_repeat,
            is_known,
        } = ordered;
        let content = if may_repeat {
            Some(WrittenContent::from_new_run(&new)?)
        } else {
            None
        };
        if !is_known && self.start_run(new).await? {
            let run = self.show_run(caller, &run_id).await?;
            return Ok(RunStarted::New(Box::new(run)));
        }
        let earlier = self.content_of(&caller.tenant, &run_id).await?;
        let is_equal = match content {
            Some(content) => content.read()? == earlier,
            None => false,
        };
        drop(earlier);
        if !is_equal {
            let message = format!(
                "the run `{run_id}` was started under the same ids, or the same `Idempotency-Key`, with other content"
            );
            let error = EngineError::new(ErrorCode::AlreadyExists, message);
            return Err(error.with_details(json!({"run_id": run_id})));
        }
        let run = self.show_run(caller, &run_id).await?;
        Ok(RunStarted::Repeat(Box::new(run)))
    }

    /// The content of the order that started a run.
    async fn content_of(&self, tenant: &TenantId, run: &RunId) -> Result<Content, EngineError> {
        match self.beginning(tenant, run).await? {
            Some(RunEvent::Started(started)) => Ok(Content {
                graph: started.graph,
                parameters: started.parameters,
                dry_run: started.dry_run,
            }),
            Some(_) | None => Err(EngineError::internal(
                COMPARING,
                format!("the journal of `{run}` does not begin with its start"),
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_of_an_order_is_bounded_and_visible() {
        let longest = "k".repeat(MAX_CLIENT_ID);
        let longer = format!("{longest}k");
        let uuid = "8e03978e-40d5-43dd-bc93-6894a57f9324";
        for text in ["1", uuid, "\"a\"", longest.as_str()] {
            assert!(IdempotencyKey::parse(text).is_ok(), "{text}");
        }
        for text in ["", " ", "a b", "a\tb", "ä", longer.as_str()] {
            let refused = IdempotencyKey::parse(text).map_err(|error| error.code);
            assert_eq!(refused, Err(ErrorCode::InvalidRequest), "{text}");
        }
    }
}
