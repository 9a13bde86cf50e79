//! The answer in its wire form, and back.

use std::time::Duration;

use charter_contract::agentic::error::AgentError;
use charter_contract::agentic::response::{ActionType, AgentResponse};
use charter_contract::catalogue::tags::Flow;
use charter_contract::error_code::ErrorCode;
use charter_contract::finding::Finding;
use charter_contract::ids::{ErrorId, EvidenceId, RequestId, ResponseId};
use charter_contract::json::{decode_stored, to_stored};
use charter_domain::run::ResultSource;
use serde_json::{Map, Value, json};

use super::Asked;
use super::analyse::{Analysed, Call};
use super::answer::SkillResult;
use super::classify::Classified;
use crate::routing::RoutedVerdict;
use crate::{Engine, EngineError};

/// Findings that are written out in the text; the rest are counted.
const LISTED: usize = 20;

/// The response to an answered request.
///
/// # Errors
/// The only skill's failure; of several, the first's when all failed.
pub(super) fn response(
    engine: &Engine,
    asked: &Asked,
    classified: &Classified,
    results: Vec<SkillResult>,
    elapsed: Duration,
) -> Result<AgentResponse, EngineError> {
    let Parted {
        done,
        runs,
        warnings,
    } = part(results)?;
    let content = content(classified, &done, &warnings);
    let findings: Vec<&Finding> = done
        .iter()
        .flat_map(|analysed| &analysed.findings)
        .collect();
    let evidence: Vec<&EvidenceId> = done
        .iter()
        .flat_map(|analysed| &analysed.evidence)
        .collect();
    let mut builder = AgentResponse::builder(
        ResponseId::from_uuid(engine.new_uuid()),
        asked.id().clone(),
        engine.now(),
        content,
    )
    .execution_time_ms(u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX))
    .metadata("flow", json!(classified.flow))
    .metadata("verdict", verdict(&classified.verdict)?)
    .metadata("findings", json!(findings))
    .metadata("evidence_ids", json!(evidence))
    .metadata("run_ids", json!(runs))
    .metadata("warnings", json!(warnings));
    for analysed in &done {
        for call in &analysed.calls {
            builder = builder.tool_used(call.tool.to_string());
            for (action_type, details) in actions(analysed, call) {
                builder = builder.action(action_type, call.at, details);
            }
        }
    }
    Ok(builder.build())
}

/// A verdict as its JSON text reads: its scores are single precision, and `json!` would widen them
/// to digits that nobody measured.
pub(super) fn verdict(verdict: &RoutedVerdict) -> Result<Value, EngineError> {
    to_stored(verdict)
        .and_then(|text| decode_stored(&text))
        .map_err(|error| EngineError::internal("writing a verdict", error))
}

/// What the skills came to, apart from those that failed.
struct Parted {
    done: Vec<Analysed>,
    runs: Vec<String>,
    warnings: Vec<String>,
}

fn part(results: Vec<SkillResult>) -> Result<Parted, EngineError> {
    let mut parted = Parted {
        done: Vec::new(),
        runs: Vec::new(),
        warnings: Vec::new(),
    };
    let mut first_failure = None;
    for result in results {
        match result.outcome {
            Ok(analysed) => {
                parted.runs.push(result.run_id.to_string());
                parted.warnings.extend(analysed.warnings.iter().cloned());
                parted.done.push(analysed);
            }
            Err(error) => {
                parted
                    .warnings
                    .push(format!("`{}` failed: {error}", result.skill));
                first_failure.get_or_insert(error);
            }
        }
    }
    if parted.done.is_empty() {
        let nothing = || EngineError::internal("answering a request", "no skill was run");
        return Err(first_failure.unwrap_or_else(nothing));
    }
    parted.warnings.sort();
    parted.warnings.dedup();
    Ok(parted)
}

/// What a call did: as a built-in tool tells it, and of any other that it was run.
fn actions(analysed: &Analysed, call: &Call) -> Vec<(ActionType, Map<String, Value>)> {
    let run = details(analysed, call);
    if call.actions.is_empty() {
        return vec![(ActionType::CommandExecution, run)];
    }
    let told = call.actions.iter().map(|told| {
        let mut details = run.clone();
        details.extend(told.details.clone());
        (told.action_type, details)
    });
    told.collect()
}

fn details(analysed: &Analysed, call: &Call) -> Map<String, Value> {
    let details = json!({
        "tool_id": call.tool, "step_id": call.step, "skill_id": analysed.skill.skill_id,
        "duration_ms": call.duration_ms, "cached": call.source == ResultSource::Cached,
    });
    match details {
        Value::Object(details) => details,
        _ => Map::new(),
    }
}

/// The answer for people: what was asked of whom, the findings, and what to be careful about.
fn content(classified: &Classified, done: &[Analysed], warnings: &[String]) -> String {
    let mut text = String::new();
    if classified.flow == Flow::ReadBroad {
        let names: Vec<&str> = done
            .iter()
            .map(|analysed| analysed.skill.display_name.as_str())
            .collect();
        text.push_str(&format!(
            "The question fits several skills; the best {} were run: {}.\n\n",
            names.len(),
            names.join(", ")
        ));
    }
    let parts: Vec<String> = done.iter().map(written).collect();
    text.push_str(&parts.join("\n\n"));
    for warning in warnings {
        text.push_str(&format!("\n\nWarning: {warning}"));
    }
    text
}

fn written(analysed: &Analysed) -> String {
    let findings = &analysed.findings;
    let mut lines = vec![analysed.summary.clone().unwrap_or_else(|| {
        if analysed.skill.analysis.is_none() {
            return format!(
                "{}: {} tool call(s) answered. The skill has no rules that make findings of them; \
                 the results are in its run and evidence.",
                analysed.skill.display_name,
                analysed.calls.len()
            );
        }
        format!(
            "{}: {} finding(s).",
            analysed.skill.display_name,
            findings.len()
        )
    })];
    lines.extend(findings.iter().take(LISTED).map(|finding| {
        let rendered = finding.rendered.as_ref();
        let text = |field: &str| {
            rendered
                .and_then(|rendered| rendered.get(field))
                .and_then(Value::as_str)
        };
        let said = text("summary").or_else(|| text("title")).map(str::to_owned);
        let said =
            said.unwrap_or_else(|| format!("{} {}", finding.resource_type, finding.resource_id));
        format!("- [{}] {said}", finding.severity)
    }));
    if findings.len() > LISTED {
        lines.push(format!("- and {} more", findings.len() - LISTED));
    }
    lines.join("\n")
}

impl Engine {
    /// A failure as the client sees it (B003-3): one of the six types, and nothing internal.
    #[must_use]
    pub fn agent_error(&self, request: &RequestId, error: &EngineError) -> AgentError {
        let mut builder = AgentError::builder(
            ErrorId::from_uuid(self.new_uuid()),
            request.clone(),
            self.now(),
            error.code,
        )
        .user_message(error.to_string());
        if let Some(Value::Object(details)) = &error.details {
            for (field, value) in details {
                builder = builder.detail(field.clone(), value.clone());
            }
        }
        builder.build()
    }
}

pub(super) fn write(response: &AgentResponse) -> Result<String, EngineError> {
    to_stored(response).map_err(|error| EngineError::internal("recording an answer", error))
}

pub(super) fn write_error(
    asked: &Asked,
    error: &EngineError,
    engine: &Engine,
) -> Result<String, EngineError> {
    let error = engine.agent_error(asked.id(), error);
    to_stored(&error).map_err(|error| EngineError::internal("recording an answer", error))
}

/// A recorded answer, given again.
pub(super) fn recorded(text: &str) -> Result<AgentResponse, EngineError> {
    let value: Value = decode_stored(text)
        .map_err(|error| EngineError::internal("reading a recorded answer", error))?;
    if value.get("error_id").is_none() {
        return serde_json::from_value(value)
            .map_err(|error| EngineError::internal("reading a recorded answer", error));
    }
    let error: AgentError = serde_json::from_value(value)
        .map_err(|error| EngineError::internal("reading a recorded answer", error))?;
    let code = error
        .error_code
        .as_deref()
        .and_then(|code| code.parse().ok());
    let details = error.technical_details.map(Value::Object);
    let again = EngineError::new(code.unwrap_or(ErrorCode::Internal), error.user_message);
    Err(match details {
        Some(details) => again.with_details(details),
        None => again,
    })
}
