//! Spans and measures of calls to models, and the header that joins remote work to a trace. They go through `tracing`;
//! the binary decides where they are exported. Never recorded: prompts, parameters, answers, keys.

use std::fmt;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

/// The target of every span and measure for telemetry. Logs omit it.
pub const TELEMETRY: &str = "charter::telemetry";

/// The header of W3C Trace Context.
pub(crate) const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// Propagates the current trace to remote hosts. By default it sends nothing, because the receiver learns an id that
/// this installation's own records contain.
#[derive(Clone, Copy, Default)]
pub struct TraceContext(Option<fn() -> Option<String>>);

impl TraceContext {
    /// Sends the result of `traceparent`: the value for the span that is entered, if there is one.
    #[must_use]
    pub const fn told_by(traceparent: fn() -> Option<String>) -> Self {
        Self(Some(traceparent))
    }

    /// Returns the current value of `traceparent`.
    pub(crate) fn here(self) -> Option<String> {
        self.0.and_then(|traceparent| traceparent())
    }

    /// Adds the header, unless it is present.
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
