//! The findings and sentences of an answer as text: one list, and sentences with numbers for their footnotes.

use std::collections::BTreeMap;

use charter_contract::finding::Finding;
use charter_contract::ids::FindingId;
use charter_domain::answer::{CitedSentence, merged, ranked};
use serde_json::Value;

use super::LISTED;
use crate::conversation::requests::words::ModelAnalysis;

/// The combined findings of a request's skills, and a model's sentences about them.
#[derive(Debug)]
pub(super) struct CombinedFindings {
    pub(super) findings: Vec<Finding>,
    pub(super) sentences: Vec<CitedSentence>,
}

/// A source that a sentence cites.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Footnote {
    Finding(FindingId),
    Evidence(String),
    /// As `run/step`.
    Output(String),
    Passage(String),
}

impl CombinedFindings {
    pub(super) fn of(of_skills: Vec<Vec<Finding>>, analysis: Option<&ModelAnalysis>) -> Self {
        let merged = merged(of_skills);
        let mut findings = merged.findings;
        let stands_for = |id: &FindingId| merged.replaced.get(id).unwrap_or(id).clone();
        let Some(analysis) = analysis else {
            return Self {
                findings,
                sentences: Vec::new(),
            };
        };
        let result = &analysis.result;
        let ranking: Vec<FindingId> = result.ranking.iter().map(stands_for).collect();
        ranked(&mut findings, &ranking, LISTED);
        let sentences = result.sentences.iter().map(|sentence| {
            let mut cited: Vec<FindingId> = Vec::with_capacity(sentence.finding_ids.len());
            for finding in sentence.finding_ids.iter().map(stands_for) {
                if !cited.contains(&finding) {
                    cited.push(finding);
                }
            }
            CitedSentence {
                finding_ids: cited,
                ..sentence.clone()
            }
        });
        Self {
            sentences: sentences.collect(),
            findings,
        }
    }

    /// Formats the sentences, each with the numbers of its footnotes.
    pub(super) fn words(&self) -> Option<String> {
        let numbers = self.numbers();
        let sentences = self.sentences.iter().map(|sentence| {
            let mut text = sentence.text.clone();
            for reference in references(sentence) {
                let number = numbers.iter().position(|known| *known == reference);
                let number = number.map_or(0, |at| at + 1);
                text.push_str(&format!(" [{number}]"));
            }
            text
        });
        let sentences: Vec<String> = sentences.collect();
        (!sentences.is_empty()).then(|| sentences.join(" "))
    }

    /// Formats the first findings, one a line; the rest are counted.
    pub(super) fn lines(&self, most: usize) -> Vec<String> {
        let mut lines: Vec<String> = self.findings.iter().take(most).map(line).collect();
        if self.findings.len() > most {
            lines.push(format!("- and {} more", self.findings.len() - most));
        }
        lines
    }

    /// Lists the footnotes, by number.
    pub(super) fn cited(&self) -> Option<String> {
        let resources: BTreeMap<&FindingId, &Finding> = self
            .findings
            .iter()
            .map(|finding| (&finding.finding_id, finding))
            .collect();
        let numbers = self.numbers();
        let lines = numbers.iter().zip(1..).map(|(reference, number)| {
            let name = match reference {
                Footnote::Evidence(id) => format!("evidence {id}"),
                Footnote::Output(place) => match place.split_once('/') {
                    Some((run, step)) => format!("output of {step} ({run})"),
                    None => place.clone(),
                },
                Footnote::Passage(place) => place.clone(),
                Footnote::Finding(id) => match resources.get(id) {
                    Some(of) => format!("{} {} ({id})", of.resource_type, of.resource_id),
                    None => id.to_string(),
                },
            };
            format!("[{number}] {name}")
        });
        let lines: Vec<String> = lines.collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }

    /// Returns all footnotes, once each, in the order of citation.
    fn numbers(&self) -> Vec<Footnote> {
        let mut numbers: Vec<Footnote> = Vec::new();
        for reference in self.sentences.iter().flat_map(references) {
            if !numbers.contains(&reference) {
                numbers.push(reference);
            }
        }
        numbers
    }
}

/// Returns the footnotes of a sentence: its findings, which lead to their evidence, or else its results.
fn references(sentence: &CitedSentence) -> Vec<Footnote> {
    let findings = sentence.finding_ids.iter().cloned().map(Footnote::Finding);
    let mut references: Vec<Footnote> = findings.collect();
    if references.is_empty() {
        let evidence = sentence.evidence_ids.iter();
        references.extend(evidence.map(|id| Footnote::Evidence(id.to_string())));
        references.extend(sentence.outputs.iter().cloned().map(Footnote::Output));
    }
    let passages = sentence.passages.iter().cloned().map(Footnote::Passage);
    references.extend(passages);
    references
}

/// Formats a finding as a line: its template's summary or title, or the name of its resource.
fn line(finding: &Finding) -> String {
    let rendered = finding.rendered.as_ref();
    let text = |field: &str| {
        rendered
            .and_then(|rendered| rendered.get(field))
            .and_then(Value::as_str)
    };
    let said = text("summary").or_else(|| text("title")).map(str::to_owned);
    let said = said.unwrap_or_else(|| format!("{} {}", finding.resource_type, finding.resource_id));
    format!("- [{}] {said}", finding.severity)
}

#[cfg(test)]
mod tests {
    use charter_contract::ids::{EvidenceId, RunId};
    use charter_domain::answer::AnalysisResult;
    use charter_domain::run::TokenUsage;
    use serde_json::json;

    use super::*;

    fn finding(skill: &str, resource: &str, severity: &str) -> Finding {
        serde_json::from_value(json!({
            "finding_id": format!("fnd_{skill}_{resource}"), "rule_id": "open", "skill_id": skill,
            "severity": severity, "resource_type": "gate", "resource_id": resource,
            "evidence_ids": [format!("ev_{skill}")],
        }))
        .unwrap()
    }

    fn sentence(text: &str, findings: &[&str], evidence: &[&str]) -> CitedSentence {
        CitedSentence {
            text: text.to_owned(),
            evidence_ids: evidence
                .iter()
                .map(|id| EvidenceId::parse(id).unwrap())
                .collect(),
            finding_ids: findings
                .iter()
                .map(|id| FindingId::parse(id).unwrap())
                .collect(),
            outputs: Vec::new(),
            passages: Vec::new(),
        }
    }

    fn analysis(sentences: Vec<CitedSentence>, ranking: &[&str]) -> ModelAnalysis {
        ModelAnalysis {
            run: RunId::from_uuid(uuid::Uuid::nil()),
            result: AnalysisResult {
                sentences,
                ranking: ranking
                    .iter()
                    .map(|id| FindingId::parse(id).unwrap())
                    .collect(),
                ..AnalysisResult::default()
            },
            tokens: TokenUsage::default(),
            skills: Vec::new(),
        }
    }

    /// Everything that a sentence cites is in the answer, even if another skill had the same finding and only that one
    /// is kept.
    #[test]
    fn sentences_are_numbered_by_what_they_rest_on() {
        let analysis = analysis(
            vec![
                sentence("Gate g-1 is open.", &["fnd_a_g-1"], &["ev_a"]),
                sentence("It was looked at.", &[], &["ev_a", "ev_b"]),
                sentence("Both are open.", &["fnd_a_g-1", "fnd_b_g-2"], &[]),
            ],
            &[],
        );
        let of_skills = vec![
            vec![finding("a", "g-1", "low")],
            vec![finding("b", "g-1", "high"), finding("b", "g-2", "low")],
        ];
        let found = CombinedFindings::of(of_skills, Some(&analysis));
        assert_eq!(
            found.words().unwrap(),
            "Gate g-1 is open. [1] It was looked at. [2] [3] Both are open. [1] [4]"
        );
        assert_eq!(
            found.cited().unwrap(),
            "[1] gate g-1 (fnd_b_g-1)\n[2] evidence ev_a\n[3] evidence ev_b\n[4] gate g-2 (fnd_b_g-2)"
        );
        assert_eq!(found.lines(1), ["- [high] gate g-1", "- and 1 more"]);
    }

    /// A ranking that omits a finding, or puts a lesser one in front, changes neither the list nor the order of
    /// severities.
    #[test]
    fn a_model_cannot_leave_a_finding_out() {
        let findings = vec![
            finding("a", "g-1", "high"),
            finding("a", "g-2", "high"),
            finding("a", "g-3", "low"),
        ];
        let analysis = analysis(Vec::new(), &["fnd_a_g-3", "fnd_a_g-2"]);
        let found = CombinedFindings::of(vec![findings], Some(&analysis));
        assert_eq!(
            found.lines(20),
            ["- [high] gate g-2", "- [high] gate g-1", "- [low] gate g-3"]
        );
        assert_eq!((found.words(), found.cited()), (None, None));
    }
}
