//! The guarantees of the sandbox, with real interpreters, processes and servers.

mod egress;
mod http;
mod processes;
mod scripts;
mod support;
