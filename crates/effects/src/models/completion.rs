//! The span and the measures of one request to a model. They never contain prompts, parameters, answers or keys.

use tracing::{Level, Span, field};

use super::{ModelAnswer, ModelApi, ModelFailure, ModelTarget};
use crate::telemetry::TELEMETRY;

/// One request to a model, with its attempts and repairs.
pub(super) struct Completion<'a> {
    target: &'a ModelTarget,
    provider: &'static str,
    span: Span,
}

impl<'a> Completion<'a> {
    pub(super) fn begins(
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

    pub(super) fn span(&self) -> Span {
        self.span.clone()
    }

    /// Records the result on the span, and counts it.
    pub(super) fn ends(&self, result: &Result<ModelAnswer, ModelFailure>, seconds: f64) {
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
        // The span layer writes unsigned numbers as text.
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
