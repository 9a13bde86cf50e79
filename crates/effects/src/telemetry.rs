//! What is told of calls to models, and the header that joins what others do to a trace. Spans and
//! measures are `tracing`'s; who takes them, and where to, is the binary's business. Never told: prompts,
//! parameters, answers, keys.

use std::fmt;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use tracing::{Level, Span, field};

use crate::models::{ModelAnswer, ModelApi, ModelFailure, ModelTarget};

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
            None => "TraceContext(not told)",
        })
    }
}

/// One request to a model, with its attempts and repairs.
pub(crate) struct Completion<'a> {
    target: &'a ModelTarget,
    provider: &'static str,
    span: Span,
}

impl<'a> Completion<'a> {
    pub(crate) fn begins(
        target: &'a ModelTarget,
        api: ModelApi,
        stage: &str,
        tenant: &str,
    ) -> Self {
        let provider = match api {
            ModelApi::OpenAi => "openai",
            ModelApi::Anthropic => "anthropic",
        };
        let span = tracing::info_span!(
            target: TELEMETRY,
            "chat",
            otel.name = format!("chat {}", target.model),
            otel.kind = "client",
            otel.status_code = field::Empty,
            gen_ai.operation.name = "chat",
            gen_ai.provider.name = provider,
            gen_ai.request.model = target.model,
            gen_ai.response.model = field::Empty,
            gen_ai.usage.input_tokens = field::Empty,
            gen_ai.usage.output_tokens = field::Empty,
            charter.model.provider = target.provider.as_str(),
            charter.model.stage = stage,
            charter.model.attempts = field::Empty,
            charter.tenant.id = tenant,
            error.type = field::Empty,
        );
        Self {
            target,
            provider,
            span,
        }
    }

    pub(crate) fn span(&self) -> Span {
        self.span.clone()
    }

    /// Says what came of it, and counts it.
    pub(crate) fn ends(&self, result: &Result<ModelAnswer, ModelFailure>, seconds: f64) {
        let (usage, attempts, model, fault) = match result {
            Ok(answer) => {
                let answered_by = answer.model.split_once('/').map(|(_, model)| model);
                (answer.usage, answer.attempts, answered_by, None)
            }
            Err(failure) => {
                let fault = failure.fault.as_str();
                (failure.usage, failure.attempts, None, Some(fault))
            }
        };
        if let Some(fault) = fault {
            self.span.record("error.type", fault);
            self.span.record("otel.status_code", "ERROR");
        }
        if let Some(model) = model {
            self.span.record("gen_ai.response.model", model);
        }
        // The layer of spans writes unsigned numbers as text.
        let counted = |tokens: u64| i64::try_from(tokens).unwrap_or(i64::MAX);
        let (read, written) = (counted(usage.input_tokens), counted(usage.output_tokens));
        self.span.record("gen_ai.usage.input_tokens", read);
        self.span.record("gen_ai.usage.output_tokens", written);
        self.span
            .record("charter.model.attempts", i64::from(attempts));
        tracing::event!(
            target: TELEMETRY,
            Level::INFO,
            histogram.gen_ai.client.operation.duration = seconds,
            gen_ai.operation.name = "chat",
            gen_ai.provider.name = self.provider,
            gen_ai.request.model = self.target.model,
            gen_ai.response.model = model,
            error.type = fault,
        );
        for (kind, tokens) in [
            ("input", usage.input_tokens),
            ("output", usage.output_tokens),
        ] {
            if tokens == 0 {
                continue;
            }
            tracing::event!(
                target: TELEMETRY,
                Level::INFO,
                histogram.gen_ai.client.token.usage = tokens,
                gen_ai.operation.name = "chat",
                gen_ai.provider.name = self.provider,
                gen_ai.request.model = self.target.model,
                gen_ai.response.model = model,
                gen_ai.token.type = kind,
            );
        }
    }
}
