//! The quoted sentence of a passage, and its section.

use charter_contract::package::PackageScope;
use charter_search::RouteQuery;
use serde_json::json;

use super::*;
use crate::{PassageSection, Position};

const TEXT: &str = "# Patching\n\nEvery host is patched within thirty days.\n\n# On-call\n\n\
                    The engineer on duty acknowledges a page within five minutes. After fifteen minutes the page \
                    goes to the deputy.\n\n# Renew a certificate by hand\n\n## Before\n\nCall the authority first.\n";

fn at(of: &str) -> usize {
    TEXT.find(of).unwrap()
}

fn section(start: usize, headings: &[&str], page: u32) -> PassageSection {
    PassageSection {
        start,
        headings: headings.iter().map(|title| (*title).to_owned()).collect(),
        page: Some(page),
    }
}

fn passage() -> PassageView {
    PassageView {
        lens_id: LensId::parse("fleet.runbooks").unwrap(),
        title: "Runbooks".to_owned(),
        domain: serde_json::from_value(json!("fleet")).unwrap(),
        scope: PackageScope::Tenant,
        text: TEXT.to_owned(),
        position: Position {
            file: None,
            start: 0,
            end: TEXT.len(),
            start_char: 0,
            end_char: TEXT.chars().count(),
            headings: vec!["Patching".to_owned()],
            page: Some(1),
            sections: vec![
                section(at("# On-call"), &["On-call"], 1),
                section(at("# Renew"), &["Renew a certificate by hand"], 1),
                section(
                    at("## Before"),
                    &["Renew a certificate by hand", "Before"],
                    2,
                ),
            ],
        },
        source: serde_json::from_value(json!({"type": "file", "ref": "runbook.md"})).unwrap(),
        content_hash: String::new(),
        score: 0.5,
        fused: 1.0,
        lexical: 1.0,
        cosine: None,
    }
}

/// Cites the passage. Each sentence with one of these beginnings has the given likeness, and others have none.
fn cited(question: &str, likeness: Option<&[(&str, f32)]>) -> CitedPassage {
    let query = RouteQuery::parse(question).unwrap().lexical_only();
    let passage = passage();
    let sentences = sentences_of(&passage);
    let of = |sentence: &Sentence| {
        let known = likeness.into_iter().flatten();
        let mut known = known.filter(|(start, _)| sentence.text.starts_with(start));
        known.next().map_or(0.0, |(_, likeness)| *likeness)
    };
    let all: Vec<f32> = sentences.iter().map(of).collect();
    cite(&query, passage, &sentences, likeness.map(|_| &all[..]))
}

/// Of sentences with about the same likeness, the one with the question's words is quoted, under its own heading.
#[test]
fn a_sentence_is_chosen_by_the_words_of_the_question_too() {
    let question = "how fast must a page be acknowledged?";
    let found = cited(
        question,
        Some(&[("The engineer", 0.429), ("After fifteen", 0.45)]),
    );
    assert_eq!(
        found.sentence.as_deref(),
        Some("The engineer on duty acknowledges a page within five minutes.")
    );
    // The threshold for answers applies to the likeness alone.
    assert!((found.likeness - 0.45).abs() < 1e-6, "{found:?}");
    assert_eq!(found.section.headings, ["On-call"]);
    assert!(
        found.section.text.starts_with("# On-call\n") && found.section.text.ends_with("deputy."),
        "{found:?}"
    );
}

/// A heading names the topic of its section, and answers nothing: a sentence below it is quoted.
#[test]
fn a_heading_is_not_quoted_where_its_section_has_a_sentence() {
    let found = cited("Show patching", Some(&[("Patching", 0.9)]));
    let sentence = "Every host is patched within thirty days.";
    assert_eq!(found.sentence.as_deref(), Some(sentence));
    // If only a part of the section has a sentence, that part is quoted, with its heading and its page.
    let found = cited(
        "How do I renew a certificate?",
        Some(&[("Renew a certificate", 0.9), ("After", 0.5)]),
    );
    assert_eq!(found.sentence.as_deref(), Some("Call the authority first."));
    let headings = ["Renew a certificate by hand", "Before"];
    assert_eq!(
        (&found.section.headings[..], found.section.page),
        (&headings.map(str::to_owned)[..], Some(2))
    );
    assert_eq!(found.section.text, "## Before\n\nCall the authority first.");
}

/// Without vectors, words decide; without a common word, the whole passage is cited.
#[test]
fn without_vectors_words_choose_a_sentence() {
    let found = cited("who is the deputy?", None);
    assert_eq!(
        found.sentence.as_deref(),
        Some("After fifteen minutes the page goes to the deputy.")
    );
    assert!((found.likeness - BY_WORDS * 0.5).abs() < 1e-6);
    let found = cited("bananas", None);
    assert_eq!(
        (found.sentence, found.section.text),
        (None, TEXT.to_owned())
    );
    assert_eq!(found.section.headings, ["Patching"]);
}
