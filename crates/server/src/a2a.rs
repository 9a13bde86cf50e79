//! The A2A protocol, version 1.0 (<https://a2a-protocol.org/v1.0.0/specification/>), for agents that delegate work to
//! this installation: the signed agent card, the JSON-RPC binding (section 9) and the HTTP+JSON binding (section 11).
//!
//! The protocol's `Task` is the engine's task. This module reads messages, writes tasks and knows the protocol's names,
//! codes and headers. It makes no decisions, and fetches nothing that a message refers to.

mod assignment;
mod call;
mod card;
mod error;
mod message;
mod params;
mod rest;
mod rpc;
mod show;
mod stream;
mod version;

use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::state::AppState;

#[cfg(test)]
pub(crate) use call::METHODS;
pub(crate) use params::SendMessage as SentMessage;
pub(crate) use rpc::JsonRpcCall;

/// All routes of the protocol.
pub(crate) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(card::public))
        .routes(routes!(card::keys))
        .routes(routes!(rpc::call))
        .merge(rest::routes())
}
