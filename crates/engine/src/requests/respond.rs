//! The answer in its wire form, and back.

use std::time::Duration;

use charter_contract::agentic::error::AgentError;
use charter_contract::agentic::response::{ActionType, AgentResponse};
use charter_contract::catalogue::tags::Flow;
use charter_contract::error_code::ErrorCode;
use charter_contract::finding::Finding;
use charter_contract::ids::{ErrorId, RequestId, ResponseId};
use charter_domain::run::ResultSource;
use serde_json::{Map, Value, json};

use super::Asked;
use super::analyse::Analysed;
use super::answer::SkillResult;
use super::classify::Classified;
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
    let mut done: Vec<(SkillSummary, Analysed)> = Vec::new();
    let mut failures: Vec<(SkillSummary, EngineError)> = Vec::new();
    for SkillResult {
        skill,
        run_id,
        outcome,
    } in results
    {
        let summary = SkillSummary {
            skill: skill.to_string(),
            run_id: run_id.to_string(),
        };
        match outcome {
            Ok(analysed) => done.push((summary, analysed)),
            Err(error) => failures.push((summary, error)),
        }
    }
    if done.is_empty() {
        return match failures.into_iter().next() {
            Some((_, error)) => Err(error),
            None => Err(EngineError::internal(
                "answering a request",
                "no skill was run",
            )),
        };
    }
    let mut warnings: Vec<String> = done
        .iter()
        .flat_map(|(_, analysed)| analysed.warnings.clone())
        .collect();
    warnings.extend(
        failures
            .iter()
            .map(|(of, error)| format!("`{}` failed: {error}", of.skill)),
    );
    warnings.sort();
    warnings.dedup();
    let content = content(classified, &done, &warnings);
    let findings: Vec<&Finding> = done
        .iter()
        .flat_map(|(_, analysed)| &analysed.findings)
        .collect();
    let evidence: Vec<Value> = done
        .iter()
        .flat_map(|(_, analysed)| &analysed.evidence)
        .map(|id| json!(id))
        .collect();
    let runs: Vec<&str> = done.iter().map(|(of, _)| of.run_id.as_str()).collect();
    let mut builder = AgentResponse::builder(
        ResponseId::from_uuid(engine.new_uuid()),
        asked.id().clone(),
        engine.now(),
        content,
    )
    .execution_time_ms(u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX))
    .metadata("flow", json!(classified.flow))
    .metadata("verdict", json!(classified.verdict))
    .metadata("findings", json!(findings))
    .metadata("evidence_ids", Value::Array(evidence))
    .metadata("run_ids", json!(runs))
    .metadata("warnings", json!(warnings));
    for (_, analysed) in &done {
        for call in &analysed.calls {
            let mut details = Map::new();
            details.insert("tool_id".to_owned(), json!(call.tool));
            details.insert("step_id".to_owned(), json!(call.step));
            details.insert("skill_id".to_owned(), json!(analysed.skill.skill_id));
            details.insert("duration_ms".to_owned(), json!(call.duration_ms));
            details.insert(
                "cached".to_owned(),
                json!(call.source == ResultSource::Cached),
            );
            builder = builder.tool_used(call.tool.to_string()).action(
                ActionType::CommandExecution,
                call.at,
                details,
            );
        }
    }
    Ok(builder.build())
}

struct SkillSummary {
    skill: String,
    run_id: String,
}

/// The answer for people: what was asked of whom, the findings, and what to be careful about.
fn content(
    classified: &Classified,
    done: &[(SkillSummary, Analysed)],
    warnings: &[String],
) -> String {
    let mut text = String::new();
    if classified.flow == Flow::ReadBroad {
        let names: Vec<&str> = done
            .iter()
            .map(|(_, analysed)| analysed.skill.display_name.as_str())
            .collect();
        text.push_str(&format!(
            "The question fits several skills; the best {} were run: {}.\n\n",
            names.len(),
            names.join(", ")
        ));
    }
    let parts: Vec<String> = done.iter().map(|(_, analysed)| part(analysed)).collect();
    text.push_str(&parts.join("\n\n"));
    for warning in warnings {
        text.push_str(&format!("\n\nWarning: {warning}"));
    }
    text
}

fn part(analysed: &Analysed) -> String {
    let findings = &analysed.findings;
    let mut lines = vec![analysed.summary.clone().unwrap_or_else(|| {
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
    serde_json::to_string(response)
        .map_err(|error| EngineError::internal("recording an answer", error))
}

pub(super) fn write_error(
    asked: &Asked,
    error: &EngineError,
    engine: &Engine,
) -> Result<String, EngineError> {
    let error = engine.agent_error(asked.id(), error);
    serde_json::to_string(&error)
        .map_err(|error| EngineError::internal("recording an answer", error))
}

/// A recorded answer, given again.
pub(super) fn recorded(text: &str) -> Result<AgentResponse, EngineError> {
    let value: Value = serde_json::from_str(text)
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
