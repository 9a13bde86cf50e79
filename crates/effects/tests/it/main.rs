//! The guarantees of the sandbox, with real interpreters, processes and servers.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod builtin;
mod channels;
mod confined;
mod egress;
mod http;
mod leftovers;
mod mcp;
mod metadata;
mod models;
mod processes;
mod scripts;
mod sources;
mod support;
mod tokens;
mod walls;
mod web_search;
mod webhooks;
