//! What is told of calls to models, and the header that joins what others do to a trace. Spans and
//! measures are `tracing`'s; who takes them, and where to, is the binary's business. Never told: prompts,
//! parameters, answers, keys.

use std::fmt;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

/// The target of every span and measure that is meant for telemetry. Logs leave it out.
pub const TELEMETRY: &str = "charter::telemetry";

/// The header of W3C Trace Context.
pub(crate) const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// Tells others which trace their work belongs to; tells nothing by default, because whoever is told
/// learns an id that this installation's own records have.
#[derive(Clone, Copy, Default)]
pub struct TraceContext(Option<fn() -> Option<String>>);

impl TraceContext {
    /// Tells what this gives: the `traceparent` of the span that is entered, if there is one.
    #[must_use]
    pub const fn told_by(traceparent: fn() -> Option<String>) -> Self {
        Self(Some(traceparent))
    }

    /// The value of `traceparent` here and now.
    pub(crate) fn here(self) -> Option<String> {
        self.0.and_then(|traceparent| traceparent())
    }

    /// Adds the header, unless there is one.
    pub(crate) fn add_to(self, headers: &mut HeaderMap) {
        let Some(value) = self.here() else { return };
        if let Ok(value) = HeaderValue::try_from(value) {
            headers.entry(TRACEPARENT).or_insert(value);
        }
    }
}

impl fmt::Debug for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Some(_) => "TraceContext(told)",
            None => "TraceContext(hidden)",
        })
    }
}
