//! Tests of the intent of sentences by form alone. The sentences were written for this test, about many fields.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

mod forms;

/// One `label` and text per line; `\\n` is a line break.
const SENTENCES: &str = include_str!("sentences.tsv");

/// Sentences in other languages over the example packages, in the form that `charter route eval --intent` reads.
const FOREIGN: &str = include_str!("foreign_sentences.jsonl");

/// The share of [`FOREIGN`] that must be recognised as not English.
const LEAST_FOREIGN: f64 = 0.98;

/// The share of each label that must be read correctly. The form of some sentences is not sufficient: "open sesame".
const LEAST: [(&str, f64); 5] = [
    ("read", 0.97),
    ("change", 0.99),
    ("knowledge", 0.92),
    ("none", 0.92),
    ("other", 0.99),
];

fn sentences() -> impl Iterator<Item = (&'static str, String)> {
    let lines = SENTENCES.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| {
        let (label, text) = line.split_once('\t').unwrap();
        (label, text.replace("\\n", "\n"))
    })
}

fn label(reading: &IntentReading) -> &'static str {
    match reading.language {
        Language::English => reading.intent.as_str(),
        Language::Other(_) => "other",
    }
}

#[test]
fn b000_20_sentences_are_read_for_what_they_ask() {
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let mut wrong = Vec::new();
    for (wanted, text) in sentences() {
        let reading = read(&text);
        let (right, all) = counts.entry(wanted).or_default();
        *all += 1;
        if label(&reading) == wanted {
            *right += 1;
        } else {
            wrong.push(format!("{wanted} was read as {}: {text}", label(&reading)));
        }
    }
    let total: usize = counts.values().map(|(_, all)| all).sum();
    assert!(total >= 300, "{total} sentences");
    for (label, least) in LEAST {
        let (right, all) = counts[label];
        let share = right as f64 / all as f64;
        assert!(
            share >= least,
            "{label}: {right} of {all}\n{}",
            wrong.join("\n")
        );
    }
}

/// "Note to self: …" has the form of an order; this test does not cover whether a playbook matches it.
const ORDERS_SOMEBODY_ELSE: &str = "note to self";

#[test]
fn b000_20_no_sentence_that_asks_for_no_change_starts_one() {
    for (wanted, text) in sentences().filter(|(wanted, _)| *wanted != "change") {
        let reading = read(&text);
        let starts = reading.intent == Intent::Change && reading.start == ChangeTiming::Now;
        assert!(
            !starts || text.starts_with(ORDERS_SOMEBODY_ELSE),
            "{wanted}: {text}: {:?}",
            reading.reasons
        );
    }
}

#[derive(serde::Deserialize)]
struct ForeignSentence {
    text: String,
    intent: Intent,
    tags: Vec<String>,
}

fn foreign_sentences() -> Vec<ForeignSentence> {
    FOREIGN
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Without the route `gateway` no text is translated, so the reading alone decides.
#[test]
fn b000_20_no_sentence_in_another_language_starts_a_change() {
    let sentences = foreign_sentences();
    let mut recognised = 0;
    for ForeignSentence { text, .. } in &sentences {
        let reading = read(text);
        assert!(
            reading.intent != Intent::Change || reading.start != ChangeTiming::Now,
            "{text}: {:?}",
            reading.reasons
        );
        recognised += usize::from(reading.language != Language::English);
    }
    let share = recognised as f64 / sentences.len() as f64;
    assert!(
        share >= LEAST_FOREIGN,
        "{recognised} of {}",
        sentences.len()
    );
}

#[test]
fn foreign_sentences_cover_their_languages_and_every_intent() {
    let mut languages: BTreeMap<String, BTreeMap<&str, usize>> = BTreeMap::new();
    for sentence in foreign_sentences() {
        let intents = languages.entry(sentence.tags[0].clone()).or_default();
        *intents.entry(sentence.intent.as_str()).or_default() += 1;
    }
    let found: Vec<(&str, Vec<usize>)> = languages
        .iter()
        .map(|(language, intents)| (language.as_str(), intents.values().copied().collect()))
        .collect();
    // Of change, knowledge, none, read.
    let expected = [
        ("chinese", vec![3, 4, 3, 6]),
        ("german", vec![4, 4, 3, 6]),
        ("spanish", vec![4, 4, 3, 6]),
    ];
    assert_eq!(found, expected);
}

fn start(text: &str) -> Option<ChangeTiming> {
    let reading = read(text);
    (reading.intent == Intent::Change).then_some(reading.start)
}

#[test]
fn b000_20_what_is_put_off_or_only_suggested_is_offered_and_a_trial_changes_nothing() {
    let (now, trial) = (Some(ChangeTiming::Now), Some(ChangeTiming::DryRun));
    for (text, expected) in [
        ("delete the volume vol-77", now),
        ("could you please delete the volume vol-77", now),
        ("never mind the approval, delete the volume vol-77", now),
        (
            "delete the volume vol-77 tomorrow",
            Some(ChangeTiming::Offer(Doubt::Later)),
        ),
        (
            "in three days delete the volume vol-77",
            Some(ChangeTiming::Offer(Doubt::Later)),
        ),
        (
            "delete the volume vol-77 once the copy is done",
            Some(ChangeTiming::Offer(Doubt::Condition)),
        ),
        (
            "if it is empty, delete the volume vol-77",
            Some(ChangeTiming::Offer(Doubt::Condition)),
        ),
        (
            "we should delete the volume vol-77",
            Some(ChangeTiming::Offer(Doubt::Indirect)),
        ),
        (
            "you should delete the volume vol-77",
            Some(ChangeTiming::Offer(Doubt::Indirect)),
        ),
        (
            "vol-77 has to be deleted",
            Some(ChangeTiming::Offer(Doubt::Indirect)),
        ),
        (
            "Ann told me to delete the volume vol-77",
            Some(ChangeTiming::Offer(Doubt::Reported)),
        ),
        ("Ann told her to delete the volume vol-77", None),
        ("please delete it", Some(ChangeTiming::Offer(Doubt::Object))),
        (
            "degauss the tape in slot 4",
            Some(ChangeTiming::Offer(Doubt::Verb)),
        ),
        (
            "delte the volume vol-77",
            Some(ChangeTiming::Offer(Doubt::Spelling)),
        ),
        ("restarte host vm-31", None),
        (
            "draine host vm-31",
            Some(ChangeTiming::Offer(Doubt::Spelling)),
        ),
        ("do a dry run of the deletion of vol-77", trial),
        ("simulate it: delete the volume vol-77", trial),
        ("do not delete the volume vol-77", None),
        ("what does `delete the volume vol-77` do", None),
        ("repeat after me: delete the volume vol-77", None),
    ] {
        assert_eq!(start(text), expected, "{text}: {:?}", read(text));
    }
}

#[test]
fn a_numbered_ranking_asks_for_the_state_of_things() {
    for text in [
        "top 7 suppliers",
        "the ten oldest tickets",
        "largest 3 invoices of June",
    ] {
        let reading = read(text);
        assert_eq!(reading.intent, Intent::Read, "{text}");
        assert_eq!(reading.certainty, Certainty::Likely, "{text}");
    }
    let title = read("top suppliers").certainty;
    assert_eq!(title, Certainty::Open(Intent::Knowledge));
}

#[test]
fn the_subject_leaves_out_what_only_carries_the_request() {
    for (text, subject) in [
        (
            "Hi team, could you please tell me which disks of db-7 are full? Thanks!",
            "which disks of db-7 are full",
        ),
        (
            "I am new here. How is a quorum of voters counted?",
            "How is a quorum of voters counted",
        ),
        (
            "Do not touch anything. Which disks of db-7 are full?",
            "Which disks of db-7 are full",
        ),
        (
            "The log says 'disk full'. Which ones?",
            "The log says Which ones disk full",
        ),
        (
            "Show me which disks are full, and please tell me which hosts are down.",
            "which disks are full, and which hosts are down",
        ),
        (
            "Which disks are full? Which hosts are down?",
            "Which disks are full. Which hosts are down",
        ),
        ("", ""),
    ] {
        assert_eq!(read(text).subject, subject, "{text}");
    }
}

#[test]
fn a_long_text_is_read_at_its_beginning_and_its_end() {
    let log = "2026-01-01 10:00:00 ok\n".repeat(2_000);
    for text in [
        format!("{log}which disks are full?"),
        format!("which disks are full?\n{log}"),
    ] {
        assert_eq!(read(&text).intent, Intent::Read);
    }
}

proptest! {
    /// Every text is read, and quoted or forbidden actions are not ordered.
    #[test]
    fn every_text_is_read(text in "\\PC{0,200}") {
        let reading = read(&text);
        prop_assert!(!reading.reasons.is_empty());
    }

    #[test]
    fn b000_20_a_quoted_or_forbidden_order_starts_nothing(
        verb in prop::sample::select(words::CHANGE_VERBS),
        noun in prop::sample::select(vec!["the volume vol-77", "all hosts", "it", "everything"]),
    ) {
        for text in [
            format!("do not {verb} {noun}"),
            format!("please never {verb} {noun}"),
            format!("what does '{verb} {noun}' mean?"),
            format!("Ann wrote: \"{verb} {noun}\""),
            format!("how do I {verb} {noun}"),
            format!("should we {verb} {noun} or not"),
            format!("suppose I {verb} {noun}"),
        ] {
            prop_assert!(start(&text).is_none_or(|start| matches!(start, ChangeTiming::Offer(_))), "{}", text);
        }
    }
}
