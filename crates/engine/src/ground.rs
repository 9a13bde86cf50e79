//! The base of every use case: errors, settings, deadlines, spans, what the operator grants, and slots for long work.
//! Must not know any use case.

pub(crate) mod apart;
pub(crate) mod change_wait;
pub(crate) mod checks;
pub(crate) mod confined;
pub(crate) mod core_ports;
pub(crate) mod credentials;
pub(crate) mod error;
pub(crate) mod fair_slots;
pub(crate) mod grants;
pub(crate) mod ids;
pub(crate) mod moments;
pub(crate) mod notifications;
pub(crate) mod peers;
pub(crate) mod questions;
pub(crate) mod servers;
pub(crate) mod settings;
pub(crate) mod telemetry;
pub(crate) mod vault;
