//! Measures the interpretation of sentences: their intent, their answers, and whether a change is started.
//!
//! Pure arithmetic over outcomes from elsewhere. Must not route.

use std::collections::BTreeMap;
use std::path::Path;

use charter_contract::intent::Intent;
use serde::{Deserialize, Serialize};

use super::read::{ReadError, read_lines};

/// A sentence with its labels.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct LabelledSentence {
    /// The sentence.
    pub text: String,
    /// Its intent.
    pub intent: Intent,
    /// Other intents that are equally defensible.
    #[serde(default)]
    pub also: Vec<Intent>,
    /// Ids of documents that answer it, any of them; none if no document does.
    #[serde(default)]
    pub relevant: Vec<String>,
    /// Whether it asks for an immediate change.
    #[serde(default)]
    pub may_start_change: bool,
    /// Properties of the sentence, by which figures are grouped.
    #[serde(default)]
    pub tags: Vec<String>,
}

impl LabelledSentence {
    /// Reads sentences as JSON lines, plain or gzipped. Ignores other fields.
    ///
    /// # Errors
    /// [`ReadError`] with file and line: unreadable, malformed.
    pub fn read(path: &Path) -> Result<Vec<Self>, ReadError> {
        let mut sentences = Vec::new();
        read_lines(path, |_, sentence: Self| {
            sentences.push(sentence);
            Ok(())
        })?;
        Ok(sentences)
    }
}

/// The effect that is started for a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartedEffect {
    /// No change: it is answered, offered, asked back or declined.
    Nothing,
    /// A dry run of a change, which alters nothing.
    Trial,
    /// A change, which waits to be confirmed.
    Change,
}

/// The outcome of a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentenceOutcome {
    /// The detected intent.
    pub intent: Intent,
    /// The documents that answer it, act for it or are offered, best first.
    pub documents: Vec<String>,
    /// The effect that is started.
    pub begun: StartedEffect,
    /// Whether the user is asked to choose among several meanings.
    pub is_asked_back: bool,
    /// Whether one of the relevant documents makes a change.
    pub has_relevant_change: bool,
    /// Whether it counts among sentences in English.
    pub is_english: bool,
}

/// Counts over a set of sentences.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct IntentFigures {
    /// Number of sentences.
    pub sentences: usize,
    /// Sentences with the right intent.
    pub intent_right: usize,
    /// Changes that are started although the sentence does not ask for one now; dry runs do not count.
    pub unsafe_starts: usize,
    /// Changes that are started by an irrelevant document.
    pub wrong_starts: usize,
    /// Sentences that ask for a change which a document makes.
    pub changes: usize,
    /// Of those, the ones for which it is neither started nor offered.
    pub missed_changes: usize,
    /// Sentences that some document answers.
    pub answerable: usize,
    /// Of those, the ones whose first document is relevant.
    pub first_right: usize,
    /// Sentences that ask for nothing and that no document answers.
    pub unanswerable: usize,
    /// Of those, the ones that get a document anyway.
    pub answered_all_the_same: usize,
    /// Sentences that one document answers.
    pub with_one: usize,
    /// Of those, the ones for which the user is asked to choose.
    pub asked_back: usize,
}

impl IntentFigures {
    fn add(&mut self, sentence: &LabelledSentence, outcome: &SentenceOutcome) {
        let is_relevant = |id: &String| sentence.relevant.contains(id);
        let first = outcome.documents.first();
        let is_right = sentence.intent == outcome.intent || sentence.also.contains(&outcome.intent);
        let begins = outcome.begun == StartedEffect::Change;
        let changes = sentence.may_start_change && outcome.has_relevant_change;
        let nothing = sentence.relevant.is_empty() && sentence.intent == Intent::None;
        let with_one = sentence.relevant.len() == 1;
        let count = |holds: bool| usize::from(holds);
        self.sentences += 1;
        self.intent_right += count(is_right);
        self.unsafe_starts += count(begins && !sentence.may_start_change);
        self.wrong_starts += count(begins && !first.is_some_and(is_relevant));
        self.changes += count(changes);
        self.missed_changes += count(changes && !outcome.documents.iter().any(is_relevant));
        self.answerable += count(!sentence.relevant.is_empty());
        self.first_right += count(first.is_some_and(is_relevant));
        self.unanswerable += count(nothing);
        self.answered_all_the_same += count(nothing && first.is_some());
        self.with_one += count(with_one);
        self.asked_back += count(with_one && outcome.is_asked_back);
    }
}

/// A sentence whose outcome differs from its label.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SentenceMissed {
    /// The sentence.
    pub text: String,
    /// Its label.
    pub intent: Intent,
    /// The detected intent.
    pub taken_for: Intent,
    /// The documents that answer it according to its label.
    pub relevant: Vec<String>,
    /// The actual documents.
    pub documents: Vec<String>,
}

/// The figures of a set of sentences.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct IntentReport {
    /// Over all sentences in English.
    pub english: IntentFigures,
    /// Over the others.
    pub other_languages: IntentFigures,
    /// Sentences in English, by the intent of their label.
    pub by_intent: BTreeMap<Intent, IntentFigures>,
    /// All sentences, by tag.
    pub by_tag: BTreeMap<String, IntentFigures>,
    /// Sentences whose intent or first document differs from the label.
    pub missed: Vec<SentenceMissed>,
}

impl IntentReport {
    /// Computes the figures of sentences with their outcomes.
    #[must_use]
    pub fn over(outcomes: &[(LabelledSentence, SentenceOutcome)]) -> Self {
        let mut report = Self::default();
        for (sentence, outcome) in outcomes {
            report.add(sentence, outcome);
        }
        report
    }

    fn add(&mut self, sentence: &LabelledSentence, outcome: &SentenceOutcome) {
        let mut one = IntentFigures::default();
        one.add(sentence, outcome);
        if outcome.is_english {
            self.english.add(sentence, outcome);
            let of_intent = self.by_intent.entry(sentence.intent).or_default();
            of_intent.add(sentence, outcome);
        } else {
            self.other_languages.add(sentence, outcome);
        }
        for tag in &sentence.tags {
            let of_tag = self.by_tag.entry(tag.clone()).or_default();
            of_tag.add(sentence, outcome);
        }
        let is_missed = one.intent_right == 0
            || one.first_right < one.answerable
            || one.answered_all_the_same > 0
            || one.missed_changes + one.unsafe_starts + one.wrong_starts > 0;
        if is_missed {
            self.missed.push(SentenceMissed {
                text: sentence.text.clone(),
                intent: sentence.intent,
                taken_for: outcome.intent,
                relevant: sentence.relevant.clone(),
                documents: outcome.documents.clone(),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn sentence(intent: Intent, relevant: &[&str], may_start_change: bool) -> LabelledSentence {
        LabelledSentence {
            text: "a sentence".to_owned(),
            intent,
            also: Vec::new(),
            relevant: relevant.iter().map(|id| (*id).to_owned()).collect(),
            may_start_change,
            tags: vec!["plain".to_owned()],
        }
    }

    fn outcome(intent: Intent, documents: &[&str], begun: StartedEffect) -> SentenceOutcome {
        SentenceOutcome {
            intent,
            documents: documents.iter().map(|id| (*id).to_owned()).collect(),
            begun,
            is_asked_back: false,
            has_relevant_change: true,
            is_english: true,
        }
    }

    #[test]
    fn changes_are_unsafe_wrong_or_missed() {
        let change = |may: bool, documents: &[&str], begun: StartedEffect| {
            let mut figures = IntentFigures::default();
            let labelled = sentence(Intent::Change, &["p.right"], may);
            figures.add(&labelled, &outcome(Intent::Change, documents, begun));
            [
                figures.unsafe_starts,
                figures.wrong_starts,
                figures.missed_changes,
            ]
        };
        assert_eq!(change(true, &["p.right"], StartedEffect::Change), [0, 0, 0]);
        assert_eq!(
            change(false, &["p.right"], StartedEffect::Change),
            [1, 0, 0]
        );
        assert_eq!(change(false, &["p.right"], StartedEffect::Trial), [0, 0, 0]);
        assert_eq!(change(true, &["p.wrong"], StartedEffect::Change), [0, 1, 1]);
        assert_eq!(
            change(true, &["p.right"], StartedEffect::Nothing),
            [0, 0, 0]
        );
        assert_eq!(change(true, &[], StartedEffect::Nothing), [0, 0, 1]);
    }

    #[test]
    fn a_report_tells_languages_intents_and_tags_apart() {
        let mut german = outcome(Intent::None, &[], StartedEffect::Nothing);
        german.is_english = false;
        let report = IntentReport::over(&[
            (
                sentence(Intent::Read, &["s.right"], false),
                outcome(
                    Intent::Read,
                    &["s.right", "s.other"],
                    StartedEffect::Nothing,
                ),
            ),
            (
                sentence(Intent::None, &[], false),
                outcome(Intent::Read, &["s.right"], StartedEffect::Nothing),
            ),
            (sentence(Intent::Read, &["s.right"], false), german),
        ]);
        let english = report.english;
        assert_eq!(
            (english.sentences, english.intent_right, english.first_right),
            (2, 1, 1)
        );
        assert_eq!(
            (english.unanswerable, english.answered_all_the_same),
            (1, 1)
        );
        assert_eq!(report.other_languages.sentences, 1);
        assert_eq!(report.by_intent[&Intent::Read].sentences, 1);
        assert_eq!(report.by_tag["plain"].sentences, 3);
        assert_eq!(report.missed.len(), 2);
    }

    #[test]
    fn sentences_are_read_as_lines_and_a_bad_line_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sentences.jsonl");
        let mut file = std::fs::File::create(&path).unwrap();
        writeln!(
            file,
            r#"{{"text": "which tanks", "intent": "read", "package": "x"}}"#
        )
        .unwrap();
        assert_eq!(LabelledSentence::read(&path).unwrap().len(), 1);
        writeln!(file, r#"{{"text": "which tanks", "intent": "guess"}}"#).unwrap();
        let error = LabelledSentence::read(&path).unwrap_err().to_string();
        assert!(error.contains(":2:"), "{error}");
    }
}
