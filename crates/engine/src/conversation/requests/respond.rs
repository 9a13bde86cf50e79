//! Converts an answer to its wire form, and back.

mod unanswered;
mod written;

use std::sync::Arc;
use std::time::Duration;

use charter_contract::agentic::error::AgentError;
use charter_contract::agentic::response::{ActionType, AgentResponse};
use charter_contract::catalogue::tags::Flow;
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{ErrorId, EvidenceId, RequestId, ResponseId, SkillId, TenantId};
use charter_contract::json::{decode_stored, to_stored};
use charter_domain::clock::Clock;
use charter_domain::run::{ResultSource, TokenUsage};
use serde_json::{Map, Value, json};

use super::ActiveRequest;
use super::analyse::{Call, SkillAnalysis, SkillResult};
use super::classification::Classification;
use super::parameters::ParameterView;
use super::words::{ModelAnalysis, ReadAnswer};
use crate::EngineError;
use crate::catalogue::live::CatalogueService;
use crate::execution::findings::FindingService;
use crate::ground::ids::IdSource;
use crate::registry::routing::RoutedVerdict;
use unanswered::UnansweredSkills;

/// Maximum findings in the text; the rest are counted.
const LISTED: usize = 20;

/// Builds the responses to requests.
pub struct ResponseService {
    pub(super) clock: Arc<dyn Clock>,
    pub(super) ids: Arc<dyn IdSource>,
    pub(super) catalogue: Arc<CatalogueService>,
    findings: Arc<FindingService>,
}

impl std::fmt::Debug for ResponseService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ResponseService").finish_non_exhaustive()
    }
}

impl ResponseService {
    pub(crate) fn new(
        clock: Arc<dyn Clock>,
        ids: Arc<dyn IdSource>,
        catalogue: Arc<CatalogueService>,
        findings: Arc<FindingService>,
    ) -> Self {
        Self {
            clock,
            ids,
            catalogue,
            findings,
        }
    }
}

/// Builds the response to an answered request.
///
/// # Errors
/// The only skill's failure. If several all failed, that of the first one that lacks parameters, or else of the first.
pub(super) fn response(
    responses: &ResponseService,
    asked: &ActiveRequest,
    classified: &Classification,
    reading: ReadAnswer,
    elapsed: Duration,
) -> Result<AgentResponse, EngineError> {
    let ReadAnswer {
        results,
        analysis,
        notice,
    } = reading;
    let PartitionedResults {
        mut done,
        mut runs,
        mut warnings,
        lacking,
    } = part(results)?;
    warnings.extend(notice);
    let view = responses.catalogue.live().view(&asked.caller.tenant);
    let unanswered = UnansweredSkills::new(&view, lacking);
    let heads: Vec<Head> = done.iter().map(Head::of).collect();
    let of_skills = done.iter_mut();
    let of_skills = of_skills.map(|analysed| std::mem::take(&mut analysed.findings));
    let found = written::CombinedFindings::of(of_skills.collect(), analysis.as_ref());
    let tokens = tokens_of(&done, &runs, analysis.as_ref());
    runs.extend(analysis.as_ref().map(|analysis| analysis.run.to_string()));
    runs.dedup();
    let mut content = content(classified, &done, &heads, &found);
    unanswered.add_to(&mut content);
    for warning in &warnings {
        content.push_str("\n\nWarning: ");
        content.push_str(warning);
    }
    let parameters = parameters_of(&done);
    content.push_str(&taken_from(&parameters));
    let evidence: Vec<&EvidenceId> = done
        .iter()
        .flat_map(|analysed| &analysed.evidence)
        .collect();
    let mut builder = AgentResponse::builder(
        ResponseId::from_uuid(responses.ids.uuid()),
        asked.id().clone(),
        responses.clock.now(),
        content,
    )
    .execution_time_ms(u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX))
    .metadata("flow", json!(classified.flow))
    .metadata("verdict", verdict(&classified.verdict)?)
    .metadata("findings", json!(found.findings))
    .metadata("evidence_ids", json!(evidence))
    .metadata("run_ids", json!(runs))
    .metadata("parameters", json!(parameters))
    .metadata("warnings", json!(warnings));
    builder = unanswered.described(builder);
    let hints = responses.rendering_hints(&asked.caller.tenant, &done);
    if !hints.is_empty() {
        builder = builder.metadata("rendering_hints", Value::Object(hints));
    }
    if !tokens.is_none() {
        builder = builder.metadata("tokens", json!(tokens));
    }
    if let Some(analysis) = &analysis {
        builder = builder
            .metadata("sentences", json!(found.sentences))
            .metadata("analysis", shown(analysis));
    }
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

/// Returns the tokens that models used in the runs of an answer: of its skills, and of a separate analysis run.
fn tokens_of(
    done: &[SkillAnalysis],
    runs: &[String],
    analysis: Option<&ModelAnalysis>,
) -> TokenUsage {
    let of_skills = done.iter().map(|analysed| analysed.tokens);
    let joint = analysis.filter(|analysis| !runs.contains(&analysis.run.to_string()));
    let of_joint = joint.map(|analysis| analysis.tokens);
    of_skills
        .chain(of_joint)
        .fold(TokenUsage::default(), TokenUsage::and)
}

/// Describes a model's contribution to an answer: the model, its tokens, and how much of its text was dropped.
fn shown(analysis: &ModelAnalysis) -> Value {
    let result = &analysis.result;
    json!({
        "run_id": analysis.run, "model": result.model, "skills": analysis.skills,
        "tokens": analysis.tokens, "dropped": result.dropped, "stated_findings":
            result.findings.iter().map(|finding| &finding.finding_id).collect::<Vec<_>>(),
    })
}

impl ResponseService {
    /// Returns the rendering hints of the findings' templates. If templates disagree, the first counts.
    fn rendering_hints(&self, tenant: &TenantId, done: &[SkillAnalysis]) -> Map<String, Value> {
        let mut hints = Map::new();
        for analysed in done {
            let template = self
                .findings
                .template(tenant, &analysed.tags, &analysed.skill);
            let of_template = template.and_then(|found| found.document().rendering_hints.clone());
            for (name, hint) in of_template.into_iter().flatten() {
                hints.entry(name).or_insert(hint);
            }
        }
        hints
    }
}

/// Converts a verdict through its JSON text: its scores are single precision, and `json!` would widen them to
/// meaningless digits.
pub(super) fn verdict(verdict: &RoutedVerdict) -> Result<Value, EngineError> {
    to_stored(verdict)
        .and_then(|text| decode_stored(&text))
        .map_err(|error| EngineError::internal("writing a verdict", error))
}

/// Returns the parameters of all runs, each value with its source once.
fn parameters_of(done: &[SkillAnalysis]) -> Vec<&ParameterView> {
    let mut parameters: Vec<&ParameterView> = Vec::new();
    for shown in done.iter().flat_map(|analysed| &analysed.parameters) {
        if !parameters.contains(&shown) {
            parameters.push(shown);
        }
    }
    parameters
}

/// Returns a line about the values that neither came from the caller nor are defaults.
fn taken_from(parameters: &[&ParameterView]) -> String {
    let taken = parameters.iter().filter(|shown| !shown.is_plain());
    let taken: Vec<String> = taken.map(|shown| shown.in_words()).collect();
    match taken.as_slice() {
        [] => String::new(),
        taken => format!("\n\nParameters: {}.", taken.join("; ")),
    }
}

/// The results of the skills, without those that failed.
struct PartitionedResults {
    done: Vec<SkillAnalysis>,
    runs: Vec<String>,
    warnings: Vec<String>,
    /// Skills that lack parameters, with the failure that names them.
    lacking: Vec<(SkillId, EngineError)>,
}

fn part(results: Vec<SkillResult>) -> Result<PartitionedResults, EngineError> {
    let mut parted = PartitionedResults {
        done: Vec::new(),
        runs: Vec::new(),
        warnings: Vec::new(),
        lacking: Vec::new(),
    };
    let mut first_failure = None;
    for result in results {
        match result.outcome {
            Ok(analysed) => {
                parted.runs.push(result.run_id.to_string());
                parted.warnings.extend(analysed.warnings.iter().cloned());
                parted.done.push(analysed);
            }
            Err(error) if error.code == ErrorCode::MissingParameters => {
                parted.lacking.push((result.skill, error));
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
        let lacking = parted.lacking.into_iter().next().map(|(_, error)| error);
        let nothing = || EngineError::internal("answering a request", "no skill was run");
        return Err(lacking.or(first_failure).unwrap_or_else(nothing));
    }
    parted.warnings.sort();
    parted.warnings.dedup();
    Ok(parted)
}

/// Returns the actions of a call: as a built-in tool reports them, and for any other tool the call itself.
fn actions(analysed: &SkillAnalysis, call: &Call) -> Vec<(ActionType, Map<String, Value>)> {
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

fn details(analysed: &SkillAnalysis, call: &Call) -> Map<String, Value> {
    let details = json!({
        "tool_id": call.tool, "step_id": call.step, "skill_id": analysed.skill.skill_id,
        "duration_ms": call.duration_ms, "cached": call.source == ResultSource::Cached,
    });
    match details {
        Value::Object(details) => details,
        _ => Map::new(),
    }
}

/// Formats the answer as text: the skills that ran, a model's sentences, the findings, and other results under the
/// title of their skill.
fn content(
    classified: &Classification,
    done: &[SkillAnalysis],
    heads: &[Head],
    found: &written::CombinedFindings,
) -> String {
    let mut parts: Vec<String> = Vec::new();
    if classified.flow == Flow::ReadBroad {
        let names: Vec<&str> = done
            .iter()
            .map(|analysed| analysed.skill.display_name.as_str())
            .collect();
        parts.push(match names.as_slice() {
            [alone] => {
                format!("The question matches several skills; one of them answered: {alone}.")
            }
            names => format!(
                "The question matches several skills; the best {} were run: {}.",
                names.len(),
                names.join(", ")
            ),
        });
    }
    parts.extend(found.words());
    let mut lines: Vec<String> = Vec::new();
    for head in heads {
        if let Head::Line(line) = head
            && !lines.contains(line)
        {
            lines.push(line.clone());
        }
    }
    lines.extend(found.lines(LISTED));
    if !lines.is_empty() {
        parts.push(lines.join("\n"));
    }
    for (analysed, head) in done.iter().zip(heads) {
        if let Head::Title(title) = head {
            parts.push(title.clone());
        }
        parts.extend(analysed.outlines.iter().cloned());
    }
    parts.extend(found.cited());
    parts.join("\n\n")
}

/// A skill's result, in a line.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Head {
    /// A line before the findings.
    Line(String),
    /// The title of results that are not findings.
    Title(String),
}

impl Head {
    fn of(analysed: &SkillAnalysis) -> Self {
        let name = &analysed.skill.display_name;
        match &analysed.summary {
            Some(summary) => Self::Line(summary.clone()),
            None if analysed.skill.has_rules() || !analysed.findings.is_empty() => {
                Self::Line(format!("{name}: {} finding(s).", analysed.findings.len()))
            }
            None if analysed.outlines.is_empty() => {
                Self::Line(format!("{name}: no tool answered."))
            }
            None => Self::Title(format!("{name}:")),
        }
    }
}

impl ResponseService {
    /// Converts a failure for the client (B003-3): one of the six types, and nothing internal.
    #[must_use]
    pub fn agent_error(&self, request: &RequestId, error: &EngineError) -> AgentError {
        let mut builder = AgentError::builder(
            ErrorId::from_uuid(self.ids.uuid()),
            request.clone(),
            self.clock.now(),
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
    asked: &ActiveRequest,
    error: &EngineError,
    responses: &ResponseService,
) -> Result<String, EngineError> {
    let error = responses.agent_error(asked.id(), error);
    to_stored(&error).map_err(|error| EngineError::internal("recording an answer", error))
}

/// Reads a recorded answer.
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
