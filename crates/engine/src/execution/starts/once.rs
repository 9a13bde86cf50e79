//! Idempotent requests to start a run.
//!
//! A run's id is derived from the ids in its request, or from its `Idempotency-Key`. A repeated request finds the run;
//! one with other content is refused. A request with neither starts a new run each time.

use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{MissionId, RunId, TenantId};
use charter_contract::json::{decode_stored, memory_of_fields};
use charter_domain::graph::StepGraph;
use charter_domain::run::RunEvent;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use uuid::{Uuid, uuid};

use super::RunStartService;
use crate::execution::runs::{NewRun, RunView};
use crate::ground::apart;
use crate::{Caller, EngineError};

/// Longest id that a client may give to a message, a context or an order, in bytes.
pub(crate) const MAX_CLIENT_ID: usize = 256;

/// The UUID namespace of ids that are derived from clients' ids.
const NAMESPACE: Uuid = uuid!("6f2d4bb1-3c0e-5d37-9a4b-6f1f0c3a7e52");

/// Derives an id from a client's name for something. The caller is part of it, because two callers may use the same
/// name for different things.
pub(crate) fn derived(caller: &Caller, what: &str, name: &str) -> Uuid {
    let user = Uuid::new_v5(&NAMESPACE, caller.tenant.as_str().as_bytes());
    let user = Uuid::new_v5(&user, caller.user.as_str().as_bytes());
    Uuid::new_v5(&user, format!("{what}/{name}").as_bytes())
}

/// A client's name for a request, by which a repeat is recognised: the header `Idempotency-Key`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyKey(String);

impl IdempotencyKey {
    /// Parses a client's name for a request.
    ///
    /// # Errors
    /// `invalid_request` for a text that is empty, too long, or contains anything but visible ASCII.
    pub fn parse(text: &str) -> Result<Self, EngineError> {
        let is_visible = text.bytes().all(|byte| byte.is_ascii_graphic());
        if is_visible && (1..=MAX_CLIENT_ID).contains(&text.len()) {
            return Ok(Self(text.to_owned()));
        }
        let message = format!("an `Idempotency-Key` has 1 to {MAX_CLIENT_ID} visible characters");
        Err(EngineError::new(ErrorCode::InvalidRequest, message))
    }

    /// Returns the mission of a caller's request with this name.
    #[must_use]
    pub fn mission(&self, caller: &Caller) -> MissionId {
        MissionId::from_uuid(derived(caller, "start_mission", &self.0))
    }

    /// Derives the id of an operation's result from a caller's request with this name.
    pub(crate) fn id(&self, caller: &Caller, operation: &str) -> Uuid {
        derived(caller, operation, &self.0)
    }
}

/// The result of a request to start a run.
#[derive(Debug, Clone, PartialEq)]
pub enum RunStarted {
    /// This request started it.
    New(Box<RunView>),
    /// An earlier identical request started it.
    Repeat(Box<RunView>),
}

impl RunStarted {
    /// Returns the run, new or not.
    #[must_use]
    pub fn run(self) -> RunView {
        match self {
            Self::New(run) | Self::Repeat(run) => *run,
        }
    }
}

/// The run of an idempotent request.
#[derive(Debug)]
pub(super) struct IdempotentRun {
    pub(super) run_id: RunId,
    /// Whether the same request may come again.
    may_repeat: bool,
    /// Whether there is a run of this id.
    is_known: bool,
}

/// The content in which two requests of one name must agree.
#[derive(Debug, PartialEq, Deserialize)]
struct Content {
    graph: StepGraph,
    parameters: Map<String, Value>,
    dry_run: bool,
}

/// The content as text, which uses less memory while the run starts.
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

    /// The content as read from a journal, because text does not preserve every digit of a number.
    fn read(&self) -> Result<Content, EngineError> {
        apart::on_value(self.0.len(), || decode_stored(&self.0))
            .map_err(|error| EngineError::internal(COMPARING, error))
    }
}

const COMPARING: &str = "comparing orders";

impl RunStartService {
    /// Finds the run of a request: an existing one, or the id of a new one, for which the tenant must have quota.
    /// `named` is the id derived from the request; if absent, the run is new.
    ///
    /// # Errors
    /// `rate_limited` if the tenant has reached its run quota.
    pub(super) async fn ordered(
        &self,
        caller: &Caller,
        named: Option<Uuid>,
    ) -> Result<IdempotentRun, EngineError> {
        let run_id = RunId::from_uuid(named.unwrap_or_else(|| self.ids.uuid()));
        let may_repeat = named.is_some();
        let is_known = may_repeat && self.store.run(&caller.tenant, &run_id).await?.is_some();
        if !is_known {
            self.quotas.check_room_for_run(&caller.tenant).await?;
        }
        Ok(IdempotentRun {
            run_id,
            may_repeat,
            is_known,
        })
    }

    /// Starts the run of a request, unless an identical request did. Of identical concurrent requests, one starts it.
    ///
    /// # Errors
    /// `already_exists` if a request with other content started it.
    pub(super) async fn start_once(
        &self,
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
        if !is_known && self.runs.start(new).await? {
            let run = self.views.show(caller, &run_id).await?;
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
                "the run `{run_id}` was started with the same ids or `Idempotency-Key`, but other content"
            );
            let error = EngineError::new(ErrorCode::AlreadyExists, message);
            return Err(error.with_details(json!({"run_id": run_id})));
        }
        let run = self.views.show(caller, &run_id).await?;
        Ok(RunStarted::Repeat(Box::new(run)))
    }

    /// Returns the content of the request that started a run.
    async fn content_of(&self, tenant: &TenantId, run: &RunId) -> Result<Content, EngineError> {
        match self.journals.first_event(tenant, run).await? {
            Some(RunEvent::Started(started)) => Ok(Content {
                graph: started.graph,
                parameters: started.parameters,
                dry_run: started.dry_run,
            }),
            Some(_) | None => Err(EngineError::internal(
                COMPARING,
                format!("the journal of `{run}` does not begin with its start event"),
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
