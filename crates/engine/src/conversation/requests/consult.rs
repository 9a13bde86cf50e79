//! Answers requests from the reference library (seed 000 §2.10: `rag_search`, `knowledge`): quotes the closest passages
//! with their sources. No model writes anything.

use std::time::Duration;

use charter_contract::agentic::response::{ActionType, AgentResponse};
use charter_contract::catalogue::vocabulary::Tier;
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::ResponseId;
use charter_contract::json::{decode_stored, to_stored};
use serde_json::{Map, Value, json};

use super::ActiveRequest;
use super::classification::Classification;
use super::explanation_service::ExplanationService;
use super::respond::{ResponseService, verdict};
use crate::{EngineError, LensSearchResult, PassageView};

/// Maximum sections of a passage that its citation names.
const NAMED_SECTIONS: usize = 4;

impl ExplanationService {
    /// Returns the passages closest to a request.
    ///
    /// # Errors
    /// `permission_denied` on the basic tier (B000-16); `no_match` if no passage is close.
    pub(super) async fn consult(
        &self,
        asked: &ActiveRequest,
    ) -> Result<LensSearchResult, EngineError> {
        if asked.tier() < Tier::Advanced {
            let message = "the reference library needs the advanced tier";
            return Err(EngineError::new(ErrorCode::PermissionDenied, message));
        }
        let question = asked.request.input.as_str();
        let answer = self
            .lenses
            .ask_lenses(&asked.caller, question, &asked.wishes.rag_params)
            .await
            .map_err(|error| error.as_sent("the request", place_in_request))?;
        if answer.passages.is_empty() {
            let message = "no passage of the reference library is close enough to this question";
            return Err(EngineError::new(ErrorCode::NoMatch, message));
        }
        Ok(answer)
    }
}

/// Maps a pointer into a lens query to the request's field.
fn place_in_request(pointer: &str) -> String {
    match pointer {
        "/query" => "/input".to_owned(),
        other => format!("/metadata/rag_params{other}"),
    }
}

/// Builds the response that quotes passages.
pub(super) fn response(
    responses: &ResponseService,
    asked: &ActiveRequest,
    classified: &Classification,
    answer: &LensSearchResult,
    elapsed: Duration,
) -> Result<AgentResponse, EngineError> {
    let at = responses.clock.now();
    let mut searched = Map::new();
    searched.insert("lens_ids".to_owned(), json!(answer.lenses));
    searched.insert("passages".to_owned(), json!(answer.passages.len()));
    // As text first: widening single precision would add meaningless digits.
    let passages: Value = to_stored(&answer.passages)
        .and_then(|text| decode_stored(&text))
        .map_err(|error| EngineError::internal("writing passages", error))?;
    let builder = AgentResponse::builder(
        ResponseId::from_uuid(responses.ids.uuid()),
        asked.id().clone(),
        at,
        content(answer),
    )
    .execution_time_ms(u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX))
    .action(ActionType::Search, at, searched)
    .metadata("flow", json!(classified.flow))
    .metadata("verdict", verdict(&classified.verdict)?)
    .metadata("extractive", json!(true))
    .metadata("passages", passages);
    Ok(builder.build())
}

/// Formats the answer as text: a note that it is quoted, then each passage under its source.
fn content(answer: &LensSearchResult) -> String {
    let mut text = format!(
        "The {} closest passage(s) of the reference library, quoted:",
        answer.passages.len()
    );
    for (number, passage) in answer.passages.iter().enumerate() {
        text.push_str(&format!(
            "\n\n[{}] {}\n{}",
            number + 1,
            cited(passage),
            passage.text
        ));
    }
    text
}

/// Formats the citation of a whole passage: title, headings of its sections, page and source.
fn cited(passage: &PassageView) -> String {
    let position = &passage.position;
    let mut headings = position.headings.clone();
    let inside = position.sections.iter();
    let inside = inside.filter_map(|section| section.headings.last());
    let mut last: Vec<&str> = position
        .headings
        .last()
        .map(String::as_str)
        .into_iter()
        .collect();
    for heading in inside {
        if !last.contains(&heading.as_str()) {
            last.push(heading);
        }
    }
    let left_out = last.len().saturating_sub(NAMED_SECTIONS);
    last.truncate(NAMED_SECTIONS);
    if left_out > 0 {
        last.push("…");
    }
    if !last.is_empty() {
        headings.pop();
        headings.push(last.join("; "));
    }
    cited_under(passage, &headings, position.page)
}

/// Formats the citation of a part of a passage: title of its lens, headings, page and source.
pub(super) fn cited_under(passage: &PassageView, headings: &[String], page: Option<u32>) -> String {
    let mut parts = vec![passage.title.as_str()];
    parts.extend(headings.iter().map(String::as_str));
    let page = page.map(|page| format!(", page {page}"));
    let source = passage
        .position
        .file
        .as_deref()
        .unwrap_or(passage.source.reference.as_str());
    format!(
        "{}{} ({source})",
        parts.join(" › "),
        page.unwrap_or_default()
    )
}
