//! The offline worker: the recommended calls first, then the findings of rules in them; without rules, the sentences of
//! the context that are nearest to the objective.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::super::draft::MAX_CALLS;
use super::subjects::{CitedFinding, subjects, tally};
use super::text::{bounded, cut, in_one_line, list, sentences, text, words};

/// Maximum sentences of an answer.
const SENTENCES: usize = 8;
/// Maximum subjects that an answer names, and characters of each.
const SUBJECTS: usize = 25;
const LINE: usize = 400;
/// Maximum findings of a result.
const FINDINGS: usize = 200;
/// Maximum sentences of the reference knowledge that an answer quotes, and the words that each must share with the
/// findings.
const QUOTES: usize = 2;
const SHARED: usize = 3;
/// Maximum citations of a result.
const CITATIONS: usize = 50;

/// Drafts a turn: calls, or an answer.
pub(super) fn draft(context: &Value) -> Value {
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

/// Returns the calls of the task's skills; else each tool of its scope whose mandatory parameters are known.
fn calls(context: &Value, offered: &BTreeSet<String>) -> Vec<Value> {
    let mut calls: Vec<Value> = Vec::new();
    for call in list(context, "recommended_calls") {
        if offered.contains(&text(call, "tool")) && !calls.contains(call) {
            calls.push(call.clone());
        }
    }
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
    calls.truncate(MAX_CALLS);
    calls
}

/// Returns values of a tool's mandatory parameters: the objective for a query, an entity of the mission for a parameter
/// named like its reference. `None` if one is unknown.
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

/// An answer under construction.
#[derive(Debug, Default)]
struct Answer {
    lines: Vec<String>,
    citations: Vec<Value>,
    findings: Vec<CitedFinding>,
    gaps: Vec<String>,
}

fn answer(context: &Value) -> Value {
    let mut answer = Answer {
        findings: CitedFinding::all(context),
        gaps: list(context, "calls").iter().filter_map(failed).collect(),
        ..Answer::default()
    };
    let judges: Vec<String> = list(context, "skills")
        .iter()
        .map(|skill| text(skill, "name"))
        .collect();
    let confidence = if !answer.findings.is_empty() {
        answer.describe_findings(context, &judges);
        0.9
    } else if answer.describe_nothing_found(context, &judges) {
        0.9
    } else {
        answer.quote(context);
        if answer.citations.is_empty() {
            0.1
        } else {
            0.5
        }
    };
    // A call that failed may hide the opposite.
    let confidence = if answer.gaps.is_empty() {
        confidence
    } else {
        f64::min(confidence, 0.6)
    };
    if answer.lines.is_empty() {
        answer
            .lines
            .push("Nothing was found that answers this.".to_owned());
    }
    answer.lines.extend(answer.gaps.iter().cloned());
    answer.findings.truncate(FINDINGS);
    json!({
        "output_text": bounded(&answer.lines.join("\n")),
        "structured_output": {
            "findings": answer.findings, "gaps": answer.gaps, "judged_by": judges, "extractive": true,
        },
        "citations": answer.citations,
        "confidence": confidence,
    })
}

/// Describes a failed call.
fn failed(call: &Value) -> Option<String> {
    let why = call["failed"].as_str()?;
    Some(format!("Not examined: {}", in_one_line(why)))
}

/// Describes a call: the tool, and its arguments.
fn looked_at(call: &Value) -> String {
    let tool = text(call, "tool");
    let given = call["parameters"].as_object().into_iter().flatten();
    let given = given.filter_map(|(name, value)| match value {
        Value::String(text) if !text.is_empty() => Some(format!("{name} {text}")),
        Value::Number(number) => Some(format!("{name} {number}")),
        Value::String(_) | Value::Bool(_) | Value::Null | Value::Array(_) | Value::Object(_) => {
            None
        }
    });
    let given: Vec<String> = given.collect();
    if given.is_empty() {
        tool
    } else {
        format!("{tool} ({})", given.join(", "))
    }
}

impl Answer {
    /// Adds the findings of the skills' rules: exact, a line for each subject, most serious first.
    fn describe_findings(&mut self, context: &Value, judges: &[String]) {
        let found = self
            .findings
            .iter()
            .map(|cited| (cited.clone(), None))
            .collect();
        let subjects = subjects(found);
        let by = if judges.is_empty() {
            String::new()
        } else {
            format!(" ({})", judges.join(", "))
        };
        self.lines.push(format!("{}{by}.", tally(&subjects)));
        for subject in subjects.iter().take(SUBJECTS) {
            self.lines.push(cut(&subject.line(), LINE));
        }
        if subjects.len() > SUBJECTS {
            let more = subjects.len() - SUBJECTS;
            self.lines
                .push(format!("And {more} more, in the structured output."));
        }
        for subject in &subjects {
            for reference in &subject.refs {
                self.cite("internal", reference);
            }
        }
        let said: Vec<String> = subjects.iter().map(|subject| subject.statement()).collect();
        self.refer(context, &words(&said.join(" ")));
    }

    /// Reports that rules exist and found nothing in the calls; `false` if there are no rules or no answered calls.
    fn describe_nothing_found(&mut self, context: &Value, judges: &[String]) -> bool {
        let calls = list(context, "calls").iter();
        let answered: Vec<&Value> = calls.filter(|call| call.get("failed").is_none()).collect();
        if judges.is_empty() || answered.is_empty() {
            return false;
        }
        let mut tools: Vec<String> = answered.iter().map(|call| looked_at(call)).collect();
        tools.dedup();
        self.lines.push(format!(
            "{} found nothing in what {} answered.",
            judges.join(", "),
            tools.join(", ")
        ));
        for call in answered {
            self.cite("internal", &text(call, "ref"));
        }
        true
    }

    /// Quotes the reference knowledge on the findings.
    fn refer(&mut self, context: &Value, found: &BTreeSet<String>) {
        let mut ranked: Vec<(usize, String, String)> = Vec::new();
        for preview in list(context, "previews") {
            for sentence in sentences(&text(preview, "text")) {
                // A heading is no statement.
                let shared = words(&sentence).intersection(found).count();
                if shared >= SHARED && !sentence.starts_with(['#', '|']) {
                    ranked.push((shared, sentence, text(preview, "ref")));
                }
            }
        }
        ranked.sort_by_key(|(shared, ..)| std::cmp::Reverse(*shared));
        for (_, sentence, reference) in ranked.into_iter().take(QUOTES) {
            let line = format!("From the reference: {sentence}");
            if !self.lines.contains(&line) {
                self.lines.push(line);
                self.cite("internal", &reference);
            }
        }
    }

    /// Quotes the sentences of the context that share most words with the objective, each with its source.
    fn quote(&mut self, context: &Value) {
        let wanted = words(&text(context, "objective"));
        let mut ranked: Vec<(usize, usize, ContextSentence)> = Vec::new();
        for (at, told) in everything_told(context).into_iter().enumerate() {
            let shared = words(&told.sentence).intersection(&wanted).count();
            ranked.push((shared, at, told));
        }
        ranked.sort_by_key(|(shared, at, _)| (std::cmp::Reverse(*shared), *at));
        ranked.truncate(SENTENCES);
        ranked.sort_by_key(|(_, at, _)| *at);
        for (_, _, told) in ranked {
            self.cite(told.kind, &told.reference);
            self.lines.push(told.sentence);
        }
    }

    fn cite(&mut self, kind: &str, reference: &str) {
        let citation = json!({"kind": kind, "ref": reference});
        let room = self.citations.len() < CITATIONS;
        if room && !reference.is_empty() && !self.citations.contains(&citation) {
            self.citations.push(citation);
        }
    }
}

/// A sentence of the context, with its source.
struct ContextSentence {
    kind: &'static str,
    reference: String,
    sentence: String,
}

fn everything_told(context: &Value) -> Vec<ContextSentence> {
    let mut found = Vec::new();
    let mut tell = |kind, reference: String, sentence| {
        found.push(ContextSentence {
            kind,
            reference,
            sentence,
        });
    };
    for earlier in list(context, "earlier") {
        if earlier["kind"] == json!("external") {
            for hit in list(earlier, "results") {
                let said = format!("{}: {}", text(hit, "title"), text(hit, "snippet"));
                tell("external", text(hit, "url"), said);
            }
            continue;
        }
        for sentence in sentences(&text(earlier, "text")) {
            tell("internal", text(earlier, "ref"), sentence);
        }
    }
    for call in list(context, "calls") {
        for line in records(&call["output"]) {
            tell("internal", text(call, "ref"), line);
        }
    }
    for preview in list(context, "previews") {
        for sentence in sentences(&text(preview, "text")) {
            tell("internal", text(preview, "ref"), sentence);
        }
    }
    found
}

/// Describes a call's output: a line for each record, in its own words.
fn records(output: &Value) -> Vec<String> {
    match output {
        Value::Array(records) => records.iter().map(record).collect(),
        Value::Object(fields) => {
            let lists = fields.values().filter_map(Value::as_array);
            let lines: Vec<String> = lists.flatten().map(record).collect();
            if lines.is_empty() {
                vec![record(output)]
            } else {
                lines
            }
        }
        Value::Null => Vec::new(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => vec![record(output)],
    }
}

fn record(of: &Value) -> String {
    match of {
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
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => of.to_string(),
    }
}
