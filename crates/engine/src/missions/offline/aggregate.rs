//! The offline aggregator: groups the findings of all tasks by subject, with their support, the contradictions between
//! tasks, and the gaps that no task covers.

use charter_contract::catalogue::vocabulary::Severity;
use serde_json::{Value, json};

use super::contradictions::contradictions;
use super::subjects::{CitedFinding, Subject, subjects, tally};
use super::text::{bounded, counted, cut, in_one_line, list, text, texts};

/// Maximum claims of a draft, characters of each, and refs that support one.
const CLAIMS: usize = 200;
const CLAIM: usize = 900;
const SUPPORTS: usize = 20;
/// Maximum lines of a result without findings that become claims.
const SENTENCES: usize = 8;
/// Maximum subjects that the summary names, and characters of each.
const NAMED: usize = 8;
const LINE: usize = 420;
/// Maximum recommendations in the summary, and subjects that each names.
const ADVICE: usize = 8;
const ADVISED: usize = 3;
/// Maximum results of one search that the summary names, and characters of each.
const HITS: usize = 3;
const HIT: usize = 260;

/// Drafts a packet.
pub(super) fn draft(context: &Value) -> Value {
    let mut packet = Packet::default();
    let mut found = Vec::new();
    for result in list(context, "results") {
        if result.get("results").is_some_and(Value::is_array) {
            packet.take_research(result);
            continue;
        }
        let cited = CitedFinding::all(&result["structured"]);
        packet.take_gaps(result, &cited);
        if cited.is_empty() {
            packet.take_sentences(result);
        }
        let reference = text(result, "ref");
        found.extend(
            cited
                .into_iter()
                .map(|cited| (cited, Some(reference.clone()))),
        );
    }
    let subjects = subjects(found);
    let mut claims: Vec<Value> = subjects.iter().map(claim).collect();
    claims.append(&mut packet.claims);
    claims.truncate(CLAIMS);
    let mut summary = summary_lines(&subjects);
    summary.append(&mut packet.sentences);
    if !packet.outside.is_empty() {
        summary.push("From outside:".to_owned());
        summary.append(&mut packet.outside);
    }
    if summary.is_empty() {
        summary.push("No task found anything that answers the goal.".to_owned());
    }
    json!({
        "summary": bounded(&summary.join("\n")),
        "evidence_matrix": claims,
        "contradictions": contradictions(&subjects),
        "coverage_gaps": packet.gaps,
        "recommended_output": {"format": "structured_brief"},
    })
}

/// The parts of a packet that are not grouped by subject.
#[derive(Debug, Default)]
struct Packet {
    claims: Vec<Value>,
    sentences: Vec<String>,
    outside: Vec<String>,
    gaps: Vec<Value>,
}

impl Packet {
    fn take_research(&mut self, result: &Value) {
        let hits = list(result, "results");
        if hits.is_empty() {
            let query = in_one_line(&text(result, "query"));
            self.gap(
                &format!("Nothing was found on the web for: {query}"),
                result,
            );
        }
        for hit in hits.iter().take(HITS) {
            let (title, url) = (text(hit, "title"), text(hit, "url"));
            let snippet = in_one_line(&text(hit, "snippet"));
            self.outside
                .push(cut(&format!("- {title} ({url}): {snippet}"), HIT));
            let said = cut(&format!("{title}: {snippet}"), CLAIM);
            self.claims
                .push(json!({"claim": said, "support_refs": [result["ref"], url]}));
        }
    }

    /// Adds the text of a result without findings.
    fn take_sentences(&mut self, result: &Value) {
        let (said, gaps) = (text(result, "text"), texts(&result["structured"], "gaps"));
        let said = said
            .lines()
            .filter(|line| !gaps.iter().any(|gap| gap == line));
        for line in said.take(SENTENCES) {
            let support = [result["ref"].clone()];
            self.claims
                .push(json!({"claim": cut(line, CLAIM), "support_refs": support}));
            self.sentences.push(line.to_owned());
        }
    }

    fn take_gaps(&mut self, result: &Value, found: &[CitedFinding]) {
        for gap in texts(&result["structured"], "gaps") {
            self.gap(&gap, result);
        }
        if found.is_empty() && list(result, "citations").is_empty() {
            let task = text(result, "task");
            self.gap(
                &format!("The task `{task}` found nothing that it could cite."),
                result,
            );
        }
    }

    fn gap(&mut self, description: &str, result: &Value) {
        let description = cut(description, CLAIM);
        self.gaps
            .push(json!({"description": description, "refs": [result["ref"]]}));
    }
}

fn claim(subject: &Subject) -> Value {
    let refs: Vec<&String> = subject.refs.iter().take(SUPPORTS).collect();
    json!({"claim": cut(&subject.line(), CLAIM), "support_refs": refs})
}

/// Summarises the findings: their number, the most serious by name, and the recommendations.
fn summary_lines(subjects: &[Subject]) -> Vec<String> {
    if subjects.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![
        format!("{}.", tally(subjects)),
        "Most serious first:".to_owned(),
    ];
    for (number, subject) in (1..).zip(subjects.iter().take(NAMED)) {
        lines.push(cut(&format!("{number}. {}", subject.line()), LINE));
    }
    if subjects.len() > NAMED {
        let more = subjects.len() - NAMED;
        lines.push(format!("And {more} more, in the evidence matrix."));
    }
    lines.extend(advised(subjects));
    lines
}

/// Returns each recommendation once, with the names of its subjects.
fn advised(subjects: &[Subject]) -> Vec<String> {
    let mut advice: Vec<(&String, Vec<&str>)> = Vec::new();
    // Harmless findings need no recommendation.
    let harmful = subjects
        .iter()
        .filter(|subject| subject.severity != Severity::Info);
    for subject in harmful {
        for said in &subject.advice {
            match advice.iter_mut().find(|(known, _)| *known == said) {
                Some((_, subjects)) => subjects.push(subject.name()),
                None => advice.push((said, vec![subject.name()])),
            }
        }
    }
    let lines = advice.into_iter().take(ADVICE).map(|(said, subjects)| {
        let more = subjects.len().saturating_sub(ADVISED);
        let named = subjects[..subjects.len().min(ADVISED)].join(", ");
        match more {
            0 => format!("- {said} ({named})"),
            more => format!("- {said} ({named} and {})", counted(more, "other")),
        }
    });
    let lines: Vec<String> = lines.collect();
    if lines.is_empty() {
        return lines;
    }
    std::iter::once("Advised:".to_owned())
        .chain(lines)
        .collect()
}
