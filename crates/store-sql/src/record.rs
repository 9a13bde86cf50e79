//! What every engine has in common besides its statements: rows as records, and what is checked of
//! a record before it is written.
//!
//! Nothing here knows an engine; who writes a statement sees to it that its columns come in the order
//! that is said here.

pub(crate) mod approval;
pub(crate) mod asked;
pub(crate) mod catalogue;
pub(crate) mod evidence;
pub(crate) mod evidence_log;
pub(crate) mod key;
pub(crate) mod lens;
pub(crate) mod memory;
pub(crate) mod mission;
pub(crate) mod outbox;
pub(crate) mod request;
pub(crate) mod route_example;
pub(crate) mod run;
pub(crate) mod session;
pub(crate) mod skill;
