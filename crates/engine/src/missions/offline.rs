//! The offline provider: answers without a model and without a network, by what the context holds
//! (DESIGN, mechanism 8). It is deterministic and extractive: it plans from outlines and registered
//! skills, asks for the calls that those recommend, and puts sentences together that are there. What it
//! makes says so in its producer.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use charter_contract::ids::{Label, TenantId};
use charter_contract::mission::task_graph::Role;
use charter_effects::{
    ModelAnswer, ModelFailure, ModelFault, ModelRequest, ModelRoute, ModelStage, Models, Usage,
};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

/// What the offline provider calls itself.
const NAME: &str = "offline/extractive";
/// Sentences of an answer.
const SENTENCES: usize = 8;
/// Longest text of an answer, in characters.
const LONGEST: usize = 6_000;

/// Answers without a model.
#[derive(Debug, Clone, Copy, Default)]
pub struct Offline;

#[async_trait]
impl Models for Offline {
    async fn complete(
        &self,
        request: &ModelRequest,
        _: &CancellationToken,
    ) -> Result<ModelAnswer, ModelFailure> {
        let context = &request.context;
        let draft = match request.stage {
            // It says the same again, so there is nothing to repair.
            _ if !request.earlier.is_empty() => None,
            ModelStage::Role(Role::Planner) => Some(plan(context)),
            ModelStage::Role(Role::Worker) => Some(work(context)),
            ModelStage::Role(Role::Aggregator) => Some(aggregate(context)),
            ModelStage::Role(Role::Reviewer) => Some(review(context)),
            ModelStage::Role(Role::PromptMaster | Role::Researcher | Role::Librarian)
            | ModelStage::CodeAgent
            | ModelStage::Probe => None,
        };
        let refused = || {
            let stage = request.stage.as_str();
            let wrong: Vec<&str> = request
                .earlier
                .iter()
                .flat_map(|turn| turn.wrong.iter().map(String::as_str))
                .collect();
            let message = format!(
                "the offline provider has no other answer for the {stage}: {}",
                wrong.join("; ")
            );
            ModelFailure::new(ModelFault::Refused, message)
        };
        Ok(ModelAnswer {
            draft: draft.ok_or_else(refused)?,
            model: NAME.to_owned(),
            usage: Usage::default(),
            attempts: 1,
            repairs: 0,
            duration_ms: 0,
        })
    }

    fn routes(&self, _: &TenantId) -> BTreeMap<Label, ModelRoute> {
        BTreeMap::new()
    }
}

/// The outline of the mission's kind; else one task for each skill that comes near the goal; else one
/// task without tools.
fn plan(context: &Value) -> Value {
    let goal = text(context, "goal");
    let outline = list(context, "outline");
    if !outline.is_empty() {
        let tasks = outline.iter().map(|task| {
            let mut task = task.clone();
            let objective = text(&task, "objective").replace("${goal}", &goal);
            task["objective"] = json!(objective);
            task
        });
        return json!({"tasks": tasks.collect::<Vec<_>>()});
    }
    let mut tasks: Vec<Value> = Vec::new();
    for (at, skill) in (1..).zip(list(context, "skills")) {
        let calls = list(skill, "calls");
        let tools: BTreeSet<String> = calls.iter().map(|call| text(call, "tool")).collect();
        let offered: BTreeSet<String> = list(context, "tools")
            .iter()
            .map(|tool| text(tool, "tool_id"))
            .collect();
        let tools: Vec<&String> = tools.intersection(&offered).collect();
        if tools.is_empty() {
            continue;
        }
        tasks.push(json!({
            "task_id": format!("look_{at}"), "role_type": "worker",
            "objective": format!("{}: {}", text(skill, "name"), text(skill, "description")),
            "required_capabilities": [skill["skill_id"]],
            "allowed_tools": tools,
        }));
    }
    if tasks.is_empty() {
        tasks.push(json!({"task_id": "answer", "role_type": "worker", "objective": goal}));
    }
    json!({"tasks": tasks})
}

/// A worker's turn: the recommended calls first, then what they, the findings and the passages say.
fn work(context: &Value) -> Value {
    let offered: BTreeSet<String> = list(context, "tools")
        .iter()
        .map(|tool| text(tool, "tool"))
        .collect();
    if !offered.is_empty() && list(context, "calls").is_empty() {
        let calls = calls(context, &offered);
        if !calls.is_empty() {
            return json!({"calls": calls});
        }
    }
    let answer = answer(context);
    if offered.is_empty() {
        answer
    } else {
        json!({"answer": answer})
    }
}

/// The calls of the task's skills; else each tool of its scope, as far as its mandatory parameters are
/// known.
fn calls(context: &Value, offered: &BTreeSet<String>) -> Vec<Value> {
    let recommended = list(context, "recommended_calls").iter();
    let mut calls: Vec<Value> = recommended
        .filter(|call| offered.contains(&text(call, "tool")))
        .cloned()
        .collect();
    let named: BTreeSet<String> = calls.iter().map(|call| text(call, "tool")).collect();
    for tool in list(context, "tools") {
        let id = text(tool, "tool");
        if named.contains(&id) {
            continue;
        }
        if let Some(parameters) = known(context, tool) {
            calls.push(json!({"tool": id, "parameters": parameters}));
        }
    }
    calls.truncate(super::draft::MAX_CALLS);
    calls
}

/// Values of a tool's mandatory parameters: the question for a query, an entity of the mission for a
/// parameter that is called like its reference; `None` when one is not known.
fn known(context: &Value, tool: &Value) -> Option<Map<String, Value>> {
    let mut parameters = Map::new();
    for parameter in list(tool, "parameters") {
        let name = text(parameter, "name");
        let given = &context["context_refs"][&name];
        let required = parameter["required"] == json!(true);
        let has_default = parameter
            .get("default")
            .is_some_and(|value| !value.is_null());
        if !given.is_null() {
            parameters.insert(name, given.clone());
        } else if name == "query" || name == "question" {
            parameters.insert(name, json!(text(context, "objective")));
        } else if required && !has_default {
            return None;
        }
    }
    Some(parameters)
}

/// Findings first, because they are exact; then the sentences of the context that share most words with
/// the objective, each with its source.
fn answer(context: &Value) -> Value {
    let mut lines: Vec<String> = Vec::new();
    let mut citations: Vec<Value> = Vec::new();
    let mut findings: Vec<Value> = Vec::new();
    for found in list(context, "findings") {
        let finding = &found["finding"];
        lines.push(format!(
            "{} ({}): {}",
            text(finding, "resource_id"),
            text(finding, "severity"),
            title_of(finding)
        ));
        findings.push(finding.clone());
        cite(&mut citations, "internal", &text(found, "ref"));
    }
    if lines.is_empty() {
        let wanted = words(&text(context, "objective"));
        let mut ranked: Vec<(usize, usize, String, &'static str, String)> = Vec::new();
        for (at, (kind, reference, sentence)) in sentences(context).into_iter().enumerate() {
            let shared = words(&sentence).intersection(&wanted).count();
            ranked.push((shared, at, sentence, kind, reference));
        }
        ranked.sort_by_key(|(shared, at, ..)| (std::cmp::Reverse(*shared), *at));
        ranked.truncate(SENTENCES);
        ranked.sort_by_key(|(_, at, ..)| *at);
        for (_, _, sentence, kind, reference) in ranked {
            lines.push(sentence);
            cite(&mut citations, kind, &reference);
        }
    }
    let confidence = match (findings.is_empty(), citations.is_empty()) {
        (false, _) => 0.9,
        (true, false) => 0.5,
        (true, true) => 0.1,
    };
    if lines.is_empty() {
        lines.push("Nothing that is known here answers this.".to_owned());
    }
    let output_text = shortened(&lines.join("\n"));
    json!({
        "output_text": output_text,
        "structured_output": {"findings": findings, "extractive": true},
        "citations": citations,
        "confidence": confidence,
    })
}

fn title_of(finding: &Value) -> String {
    let own = ["title", "summary", "message", "description"];
    let fields = &finding["fields"];
    let named = own
        .iter()
        .find_map(|name| fields[*name].as_str().or(finding[*name].as_str()));
    named.map_or_else(|| text(finding, "rule_id"), ToOwned::to_owned)
}

/// Everything that the context says in words, with where it is from.
fn sentences(context: &Value) -> Vec<(&'static str, String, String)> {
    let mut found = Vec::new();
    for earlier in list(context, "earlier") {
        if earlier["kind"] == json!("external") {
            for hit in list(earlier, "results") {
                let said = format!("{}: {}", text(hit, "title"), text(hit, "snippet"));
                found.push(("external", text(hit, "url"), said));
            }
            continue;
        }
        for sentence in split(&text(earlier, "text")) {
            found.push(("internal", text(earlier, "ref"), sentence));
        }
    }
    for call in list(context, "calls") {
        for line in told(&call["output"]) {
            found.push(("internal", text(call, "ref"), line));
        }
    }
    for preview in list(context, "previews") {
        for sentence in split(&text(preview, "text")) {
            found.push(("internal", text(preview, "ref"), sentence));
        }
    }
    found
}

/// What a call's output tells: a line for each record, in its own words.
fn told(output: &Value) -> Vec<String> {
    match output {
        Value::Array(records) => records.iter().map(line).collect(),
        Value::Object(fields) => {
            let lists = fields.values().filter_map(Value::as_array);
            let lines: Vec<String> = lists.flatten().map(line).collect();
            if lines.is_empty() {
                vec![line(output)]
            } else {
                lines
            }
        }
        Value::Null => Vec::new(),
        plain => vec![line(plain)],
    }
}

fn line(record: &Value) -> String {
    match record {
        Value::Object(fields) => {
            let parts = fields.iter().filter(|(_, value)| !value.is_null());
            let parts: Vec<String> = parts
                .map(|(name, value)| match value {
                    Value::String(text) => format!("{name} {text}"),
                    other => format!("{name} {other}"),
                })
                .collect();
            parts.join(", ")
        }
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The results one after the other, each a claim with what it rests on.
fn aggregate(context: &Value) -> Value {
    let mut claims: Vec<Value> = Vec::new();
    let mut summary: Vec<String> = Vec::new();
    let mut best: Option<(f64, Value)> = None;
    for result in list(context, "results") {
        let reference = result["ref"].clone();
        if result.get("results").is_some_and(Value::is_array) {
            continue;
        }
        let said = text(result, "text");
        for sentence in said.lines().take(SENTENCES) {
            claims.push(json!({"claim": cut(sentence, 900), "support_refs": [reference]}));
        }
        summary.push(said);
        let confidence = result["confidence"].as_f64().unwrap_or_default();
        if best.as_ref().is_none_or(|(known, _)| confidence > *known) {
            best = Some((confidence, result["structured"].clone()));
        }
    }
    if summary.is_empty() {
        for result in list(context, "results") {
            for hit in list(result, "results").iter().take(SENTENCES) {
                let said = format!("{}: {}", text(hit, "title"), text(hit, "snippet"));
                claims.push(json!({"claim": cut(&said, 900), "support_refs": [result["ref"]]}));
                summary.push(said);
            }
        }
    }
    if summary.is_empty() {
        summary.push("The tasks came to nothing that answers the goal.".to_owned());
    }
    claims.truncate(200);
    json!({
        "summary": shortened(&summary.join("\n")),
        "evidence_matrix": claims,
        "recommended_output": {"format": "structured_brief"},
    })
}

/// What is supported is approved as it is; a draft without a claim, or with gaps, is approved with what
/// lacks written into it. Each write-back that is offered is proposed for the finding that comes first,
/// where its payload asks for nothing that is not known.
fn review(context: &Value) -> Value {
    let summary = text(context, "summary");
    let gaps: Vec<String> = list(context, "coverage_gaps")
        .iter()
        .map(|gap| text(gap, "description"))
        .collect();
    let contradictions = list(context, "contradictions").len();
    let issues: Vec<Value> = gaps
        .iter()
        .map(|gap| json!({"severity": "medium", "message": cut(gap, 900)}))
        .collect();
    let proposals = proposals(context);
    let output = |summary: String| {
        json!({
            "summary": summary, "claims": context["evidence_matrix"],
            "contradictions": contradictions, "gaps": gaps,
        })
    };
    if gaps.is_empty() {
        return json!({
            "review_status": "approved", "issues": issues,
            "approved_output": output(summary), "proposals": proposals,
        });
    }
    let said = format!("{summary}\nNot covered: {}", gaps.join(" "));
    json!({
        "review_status": "approved_with_edits", "issues": issues,
        "required_edits": ["Say what is not covered."],
        "approved_output": output(shortened(&said)), "proposals": proposals,
    })
}

fn proposals(context: &Value) -> Vec<Value> {
    let results = list(context, "results");
    let findings: Vec<&Value> = results
        .iter()
        .flat_map(|result| list(&result["structured"], "findings"))
        .collect();
    let mut proposals = Vec::new();
    for offered in list(context, "write_backs") {
        let entity = text(offered, "target_entity_type");
        let finding = findings
            .iter()
            .find(|finding| same_kind(&text(finding, "resource_type"), &entity));
        let target = match finding {
            Some(finding) => text(finding, "resource_id"),
            None => match named_entity(context, &entity) {
                Some(target) => target,
                None => continue,
            },
        };
        let values = finding.map_or(Value::Null, |finding| finding["fields"].clone());
        if let Some(payload) = payload(&offered["payload_schema"], &values, context) {
            proposals.push(json!({
                "action_type": offered["action_type"], "target_entity_type": entity,
                "target_entity_id": target, "payload": payload,
            }));
        }
    }
    proposals
}

/// `AWS::EC2::SecurityGroup`, `security_group` and `security-group` are the same kind of thing.
fn same_kind(a: &str, b: &str) -> bool {
    let plain = |text: &str| -> String {
        text.rsplit("::")
            .next()
            .unwrap_or_default()
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .collect::<String>()
            .to_lowercase()
    };
    let (a, b) = (plain(a), plain(b));
    !a.is_empty() && a == b
}

/// The first entity that the mission is about, of a reference called like the type: `lead_ids`.
fn named_entity(context: &Value, entity: &str) -> Option<String> {
    let refs = context["context_refs"].as_object()?;
    let (_, value) = refs.iter().find(|(name, _)| name.starts_with(entity))?;
    let first = value
        .as_array()
        .map_or(Some(value), |items| items.first())?;
    first.as_str().map(ToOwned::to_owned)
}

/// A payload that keeps its schema: what the finding and the mission know by name, and what has only one
/// value or a default; `None` when something mandatory is not known.
fn payload(schema: &Value, finding: &Value, context: &Value) -> Option<Map<String, Value>> {
    let mut payload = Map::new();
    let required: BTreeSet<String> = list(schema, "required")
        .iter()
        .filter_map(|name| name.as_str().map(ToOwned::to_owned))
        .collect();
    let Some(properties) = schema["properties"].as_object() else {
        return required.is_empty().then_some(payload);
    };
    for (name, of) in properties {
        let only = of
            .get("const")
            .cloned()
            .or_else(|| of.get("default").cloned());
        let known = [&finding[name], &context["context_refs"][name]];
        let known = known.into_iter().find(|value| !value.is_null()).cloned();
        match known.or(only) {
            Some(value) => {
                payload.insert(name.clone(), value);
            }
            None if required.contains(name) => return None,
            None => {}
        }
    }
    Some(payload)
}

fn cite(citations: &mut Vec<Value>, kind: &str, reference: &str) {
    let citation = json!({"kind": kind, "ref": reference});
    if !reference.is_empty() && !citations.contains(&citation) && citations.len() < 50 {
        citations.push(citation);
    }
}

fn text(of: &Value, name: &str) -> String {
    of[name].as_str().unwrap_or_default().to_owned()
}

fn list<'v>(of: &'v Value, name: &str) -> &'v [Value] {
    of.get(name)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

fn words(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_alphanumeric());
    words
        .filter(|word| word.chars().count() > 2)
        .map(str::to_lowercase)
        .collect()
}

/// Its sentences, those of a few words alone left out unless there are no others.
fn split(text: &str) -> Vec<String> {
    let sentences = text.split_inclusive(['.', '\n', '!', '?']);
    let plain = sentences.map(|sentence| sentence.split_whitespace().collect::<Vec<_>>().join(" "));
    let all: Vec<String> = plain.filter(|sentence| !sentence.is_empty()).collect();
    let (long, short): (Vec<_>, Vec<_>) = all
        .into_iter()
        .partition(|sentence| sentence.chars().count() > 20);
    if long.is_empty() { short } else { long }
}

fn shortened(text: &str) -> String {
    cut(text, LONGEST)
}

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
