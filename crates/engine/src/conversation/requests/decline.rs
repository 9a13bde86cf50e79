//! Declines requests for nothing that the catalogue covers: a short answer lists possible questions. Searches no agent,
//! and generates nothing.

use std::time::Duration;

use charter_contract::agentic::response::AgentResponse;
use charter_contract::ids::ResponseId;
use serde_json::json;

use super::ActiveRequest;
use super::classification::Classification;
use super::respond::{ResponseService, verdict};
use crate::EngineError;
use crate::catalogue::abilities::{can_ask, changes};
use crate::registry::routing::GatewayResult;

/// Builds the response that lists possible questions.
pub(super) fn response(
    responses: &ResponseService,
    asked: &ActiveRequest,
    classified: &Classification,
    elapsed: Duration,
) -> Result<AgentResponse, EngineError> {
    let because = classified.because.as_deref().unwrap_or_default();
    let view = responses.catalogue.live().view(&asked.caller.tenant);
    let content = match classified.is_closing() {
        true => format!("Nothing was looked up or changed: {because}."),
        false => content(
            because,
            languages(classified.verdict.gateway.as_ref()),
            &can_ask(&view, &asked.caller),
            &changes(&view, &asked.caller),
        ),
    };
    let builder = AgentResponse::builder(
        ResponseId::from_uuid(responses.ids.uuid()),
        asked.id().clone(),
        responses.clock.now(),
        content,
    )
    .execution_time_ms(u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX))
    .metadata("flow", json!(classified.flow))
    .metadata("verdict", verdict(&classified.verdict)?)
    .metadata("because", json!(because));
    Ok(builder.build())
}

/// States the supported languages, given the result of the model of the route `gateway`.
fn languages(gateway: Option<&GatewayResult>) -> &'static str {
    match gateway.and_then(|reading| reading.failure.as_ref()) {
        Some(_) => {
            "Questions and changes are understood in English. The model that translates other languages (model route \
             `gateway`) did not answer; try again, or ask in English."
        }
        None => {
            "Questions and changes are understood in English; in other languages where a model translates them (model \
             route `gateway`)."
        }
    }
}

fn content(because: &str, languages: &str, questions: &[String], changes: &[String]) -> String {
    let mut lines = vec![format!(
        "Nothing was looked up or changed: {because}. {languages}"
    )];
    for (title, names) in [("You can ask:", questions), ("You can have done:", changes)] {
        if !names.is_empty() {
            lines.push(title.to_owned());
            lines.extend(names.iter().map(|name| format!("- {name}")));
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_gives_the_reason_and_what_can_be_asked() {
        let names = |names: &[&str]| {
            names
                .iter()
                .map(|name| (*name).to_owned())
                .collect::<Vec<_>>()
        };
        let text = content(
            "it is a joke",
            languages(None),
            &names(&["Which tanks are full?"]),
            &[],
        );
        assert!(text.starts_with("Nothing was looked up or changed: it is a joke."));
        assert!(
            text.ends_with("You can ask:\n- Which tanks are full?"),
            "{text}"
        );
        assert!(!text.contains("have done"));
    }

    #[test]
    fn a_refusal_tells_a_translating_model_that_failed_from_one_that_is_not_there() {
        let reading = |failure: Option<&str>| GatewayResult {
            model: None,
            translation: None,
            intent: None,
            order: Vec::new(),
            tokens: 0,
            failure: failure.map(str::to_owned),
        };
        let failed = languages(Some(&reading(Some("no answer"))));
        assert!(failed.contains("did not answer"), "{failed}");
        let answered = languages(Some(&reading(None)));
        assert_eq!(answered, languages(None));
        assert!(
            answered.contains("where a model translates them"),
            "{answered}"
        );
    }
}
