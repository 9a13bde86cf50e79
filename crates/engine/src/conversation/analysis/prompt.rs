//! The instructions for the model, and the schema of its draft. Instructions are fixed, or come from registered
//! documents: hints and guardrails. Results and the question are data.

use charter_contract::bounds::{ANALYSIS_DATA, ANALYSIS_SENTENCES, PROMPT_BYTES};
use charter_contract::catalogue::skill::AnalysisDuty;
use charter_contract::catalogue::vocabulary::Severity;
use charter_contract::ids::Label;
use charter_effects::{ModelRequest, ModelStage, NamedSchema};
use serde_json::{Map, Value, json};

use super::material::{Case, Material};
use super::{route_of, stating};
use crate::execution::runs::AnalysisWork;

/// Limits of a request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Extent {
    /// Bytes of data.
    pub(super) data: usize,
    /// Tokens of one answer.
    tokens: u32,
}

/// Largest first; each smaller one is tried if the model's context window is too small for the one before.
pub(super) const EXTENTS: [Extent; 3] = [
    Extent {
        data: ANALYSIS_DATA,
        tokens: 4_096,
    },
    Extent {
        data: ANALYSIS_DATA / 4,
        tokens: 2_048,
    },
    Extent {
        data: ANALYSIS_DATA / 16,
        tokens: 1_024,
    },
];

/// Maximum findings that a model states.
const MOST_STATED: usize = 50;

const SYSTEM: &str = "You put the results of tools into words for the person who asked a question. The data holds \
                      the question, the results as `evidence`, and where there are rules the `findings` of the rules \
                      with their `totals`. Use nothing else. Every sentence cites in `cites` the ids of what it \
                      rests on, such as f1 or e2. Begin with what the results show; `passages` are reference texts \
                      and `memories` notes that people kept: they come after it, if at all. Name a number, an id or a name only if it occurs in what the \
                      sentence cites, written as it is there. A sentence that does not is discarded. Write plain \
                      English, one statement in a sentence, without links and markup, and without the ids of the \
                      data. Findings and their severity are facts: they are shown beside your sentences, so do not \
                      list them again.";

/// A request to a model.
pub(super) struct Prompt {
    pub(super) request: ModelRequest,
}

impl Prompt {
    /// Builds the request over this material; `None` if the model has nothing to contribute.
    pub(super) fn build(
        work: &AnalysisWork,
        cases: &[Case],
        material: &Material,
        extent: Extent,
    ) -> Option<Self> {
        let route = cases.iter().find_map(|case| route_of(&case.skill))?;
        let schema = schema(cases, material)?;
        let name = Label::parse("analysis").ok()?;
        Some(Self {
            request: ModelRequest {
                route: route.clone(),
                stage: ModelStage::AnalysisAgent,
                system: SYSTEM.to_owned(),
                task: task(work, cases, material),
                context: material.context.clone(),
                earlier: Vec::new(),
                schema: NamedSchema {
                    name,
                    schema: schema.into(),
                },
                max_output_tokens: extent.tokens,
                temperature: 0.0,
                tenant: work.caller.tenant.clone(),
                idempotency_key: work.key.clone(),
                timeout: work.timeout,
            },
        })
    }
}

/// Returns whether one of the skills lets the model contribute this.
fn may(cases: &[Case], duty: AnalysisDuty) -> bool {
    cases.iter().any(|case| case.may(duty))
}

fn task(work: &AnalysisWork, cases: &[Case], material: &Material) -> String {
    let mut task = "Put the results of the data into words.".to_owned();
    if may(cases, AnalysisDuty::Answer) {
        task.push_str(" Answer the question of the data first, in `sentences`.");
    }
    if may(cases, AnalysisDuty::Summary) {
        task.push_str(" Sum up what was found in a few `sentences`.");
    }
    if !material.wanted.is_empty() {
        task.push_str(
            " Give each name that a finding lists under `wanted` a value in `values`: one sentence that rests on the \
             finding.",
        );
    }
    if material.has_ranking() {
        task.push_str(
            " List all findings by their ids in `ranking`, the one to look at first in front.",
        );
    }
    if stating(cases).is_some() {
        task.push_str(
            " State in `findings` what the evidence shows and the question asks for, each about one resource, by the \
             id that the evidence has for it.",
        );
    }
    // Rules come first: a task that is too long loses hints.
    let rules = work.guardrails.values().map(String::as_str);
    list(&mut task, "Applicable rules:", rules);
    let hints = cases.iter().flat_map(|case| &case.skill.approach_hints);
    list(
        &mut task,
        "Hints of the skills:",
        hints.map(|hint| hint.as_str()),
    );
    task.truncate(task.floor_char_boundary(PROMPT_BYTES));
    task
}

fn list<'t>(task: &mut String, head: &str, lines: impl Iterator<Item = &'t str>) {
    let mut lines = lines.peekable();
    if lines.peek().is_some() {
        task.push_str("\n\n");
        task.push_str(head);
    }
    for line in lines {
        task.push_str("\n- ");
        task.push_str(line);
    }
}

/// Builds the schema of the draft. Citations may be any text: a wrong one costs its sentence and not the draft.
fn schema(cases: &[Case], material: &Material) -> Option<Map<String, Value>> {
    let text = || json!({"type": "string"});
    let texts = || json!({"type": "array", "items": {"type": "string"}});
    let mut properties = Map::new();
    if may(cases, AnalysisDuty::Answer) || may(cases, AnalysisDuty::Summary) {
        let sentence = object(&json!({"text": text(), "cites": texts()}));
        let sentences = json!({"type": "array", "items": sentence, "maxItems": ANALYSIS_SENTENCES});
        properties.insert("sentences".to_owned(), sentences);
    }
    if !material.wanted.is_empty() {
        let name = json!({"type": "string", "enum": material.wanted});
        let value = object(&json!({"finding": text(), "name": name, "value": text()}));
        properties.insert(
            "values".to_owned(),
            json!({"type": "array", "items": value}),
        );
    }
    if material.has_ranking() {
        properties.insert("ranking".to_owned(), texts());
    }
    if stating(cases).is_some() {
        let severities: Vec<&str> = Severity::ALL.iter().map(|one| one.as_str()).collect();
        let values = material.stated.iter().map(|name| (name.clone(), text()));
        let values: Map<String, Value> = values.collect();
        let finding = object(&json!({
            "severity": {"type": "string", "enum": severities}, "resource_type": text(), "resource_id": text(),
            "values": object(&Value::Object(values)), "cites": texts(),
        }));
        let findings = json!({"type": "array", "items": finding, "maxItems": MOST_STATED});
        properties.insert("findings".to_owned(), findings);
    }
    if properties.is_empty() {
        return None;
    }
    match object(&Value::Object(properties)) {
        Value::Object(schema) => Some(schema),
        _ => None,
    }
}

/// Builds an object schema in which all fields are required and no others allowed: the form that providers enforce.
fn object(properties: &Value) -> Value {
    let names = properties.as_object().into_iter().flat_map(Map::keys);
    let required: Vec<String> = names.cloned().collect();
    json!({
        "type": "object", "properties": properties, "required": required,
        "additionalProperties": false,
    })
}
