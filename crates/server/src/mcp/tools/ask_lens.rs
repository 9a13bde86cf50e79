//! `ask_lens`: passages of the reference library, quoted.

use charter_contract::ids::{DomainId, Label, LensId};
use charter_engine::{Caller, EngineError, LensFilter, MAX_PASSAGES, PassageView, Tier};
use rmcp::model::ToolAnnotations;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::mcp::call::Call;
use crate::mcp::tool::{McpTool, ToolReply, arguments_of};

pub(in crate::mcp) struct AskLens;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::mcp) struct Input {
    /// The question, in plain words.
    question: String,
    /// Only these lenses; all of them when empty.
    #[serde(default)]
    lens_ids: Vec<LensId>,
    /// Only lenses of this domain.
    domain: Option<DomainId>,
    /// Only lenses with all of these tags.
    #[serde(default)]
    tags: Vec<Label>,
    /// Largest number of passages; 5 if absent, up to 50.
    #[schemars(range(min = 1, max = MAX_PASSAGES))]
    limit: Option<usize>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::mcp) struct Output {
    /// Best first.
    passages: Vec<Passage>,
    /// The lenses that were searched.
    lenses: Vec<String>,
    /// The embedding model; absent if only words were compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Passage {
    lens_id: String,
    title: String,
    /// The exact text in the source.
    text: String,
    /// Its position: bytes, characters, headings, page, file.
    position: Map<String, Value>,
    /// The source that it was fetched from.
    source: Map<String, Value>,
    /// Hash of the fetched source.
    content_hash: String,
    /// Probability that it is relevant to the question, 0 to 1; comparable between answers.
    score: f32,
}

impl McpTool for AskLens {
    const NAME: &'static str = "ask_lens";
    const TITLE: &'static str = "Ask the reference library";
    const DESCRIPTION: &'static str = "Finds the passages of the organisation's reference library (frameworks, \
        policies, runbooks, manuals) that are closest to a question, quoted exactly, with position and source to \
        cite. Nothing is generated; an empty answer means that no passage is close enough.";
    type Input = Input;
    type Output = Output;

    fn annotations() -> ToolAnnotations {
        ToolAnnotations::new().read_only(true).open_world(false)
    }

    fn serves(caller: &Caller) -> bool {
        caller.tier >= Tier::Advanced
    }

    async fn call(call: &Call, input: Input) -> Result<ToolReply<Output>, EngineError> {
        let filter = LensFilter {
            lens_ids: input.lens_ids,
            domain: input.domain,
            tags: input.tags,
            top_k: input.limit,
        };
        let engine = call.engine();
        let answer = engine
            .lenses()
            .ask_lenses(&call.caller, &input.question, &filter)
            .await
            .map_err(|error| error.as_sent(&arguments_of(Self::NAME), argument))?;
        let passages: Result<_, EngineError> = answer.passages.into_iter().map(passage).collect();
        Ok(ToolReply::Done(Output {
            passages: passages?,
            lenses: answer.lenses.iter().map(ToString::to_string).collect(),
            model: answer.model,
        }))
    }
}

fn passage(shown: PassageView) -> Result<Passage, EngineError> {
    Ok(Passage {
        lens_id: shown.lens_id.to_string(),
        title: shown.title,
        text: shown.text,
        position: object(&shown.position)?,
        source: object(&shown.source)?,
        content_hash: shown.content_hash,
        score: shown.score,
    })
}

fn object(value: &impl Serialize) -> Result<Map<String, Value>, EngineError> {
    match serde_json::to_value(value) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(_) => Err(EngineError::internal(
            "writing a passage",
            "its place is not an object",
        )),
        Err(error) => Err(EngineError::internal("writing a passage", error)),
    }
}

/// The argument for `pointer` of a lens search.
fn argument(pointer: &str) -> String {
    match pointer {
        "/query" => "/question".to_owned(),
        "/top_k" => "/limit".to_owned(),
        other => other.to_owned(),
    }
}
