//! The A2A protocol, version 1.0 (<https://a2a-protocol.org/v1.0.0/specification/>), for agents that
//! delegate work to this installation: the agent card with its signature, the JSON-RPC binding
//! (section 9) and the HTTP+JSON binding (section 11).
//!
//! The protocol's `Task` is the engine's task; this module reads messages, writes tasks and knows the
//! protocol's names, codes and headers. Nothing is decided here, and nothing that a message points at
//! is fetched.

mod call;
mod card;
mod error;
mod message;
mod params;
mod rest;
mod rpc;
mod show;
mod sign;
mod stream;
mod version;

use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::state::AppState;

#[cfg(test)]
pub(crate) use call::METHODS;
pub use card::A2aIdentity;
pub(crate) use card::Publisher;
pub(crate) use params::SendMessage as SentMessage;
pub(crate) use rpc::JsonRpcCall;

/// The version that is spoken, as the protocol's header and the card write it.
pub(crate) const PROTOCOL: &str = "1.0";

/// Where the JSON-RPC binding is.
pub(crate) const RPC_PATH: &str = "/a2a";

/// Below which path the HTTP+JSON binding is.
pub(crate) const REST_PATH: &str = "/a2a/v1";

/// Where the keys are that card signatures name.
pub(crate) const KEYS_PATH: &str = "/.well-known/jwks.json";

/// Everything that the protocol asks for.
pub(crate) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(card::public))
        .routes(routes!(card::keys))
        .routes(routes!(rpc::call))
        .merge(rest::routes())
}
