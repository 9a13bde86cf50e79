//! Tests of examples and names: those that start a playbook, and those that only show it.

use super::super::tests::{CLEAR, FLOOR, NARROW, WEAK, decision};
use super::super::{IntentDecision, settle};
use super::*;
use crate::intent::read;

/// Decides about a text that equals an example, with other matching documents.
fn by_example(text: &str, kind: ExampleKind) -> IntentDecision {
    let evidence = Evidence {
        passage: Some(0.9),
        playbook: CLEAR,
        example: Some(ExampleMatch {
            kind,
            marked: is_marked(text),
        }),
        floor: FLOOR,
        narrow: NARROW,
        ..Evidence::default()
    };
    decision(text, &evidence)
}

/// A document's author defines with its examples what they request.
#[test]
fn an_example_asks_for_what_it_is_an_example_of() {
    let skill = by_example("what does quorum mean", ExampleKind::Skill);
    assert_eq!(
        (skill.intent, skill.source),
        (Intent::Read, AnswerSource::Skills)
    );
    for text in [
        "overnight restart of the hosts",
        "restart host vm-31",
        "grease the hinges",
    ] {
        let playbook = by_example(text, ExampleKind::Playbook);
        assert_eq!(
            (playbook.intent, playbook.source, playbook.start),
            (Intent::Change, AnswerSource::Playbooks, ChangeTiming::Now),
            "{text}"
        );
    }
}

/// A quoted example, a question about an example, and an example for later are not orders.
#[test]
fn b000_20_an_example_that_is_not_written_as_an_order_starts_nothing() {
    let source = |text: &str| by_example(text, ExampleKind::Playbook).source;
    for quoted in [
        "\"restart host vm-31\"",
        "'restart host vm-31'",
        "> restart host vm-31",
        "`restart host vm-31`",
    ] {
        assert_eq!(source(quoted), AnswerSource::Nothing, "{quoted}");
    }
    for doubtful in [
        "restart host vm-31?",
        "(restart host vm-31)",
        "$ restart host vm-31",
        "restart host vm-31 tomorrow",
        "I want to restart host vm-31",
        "which hosts should be restarted",
    ] {
        let decision = by_example(doubtful, ExampleKind::Playbook);
        assert_eq!(decision.source, AnswerSource::Playbooks, "{doubtful}");
        assert!(
            matches!(decision.start, ChangeTiming::Offer(_)),
            "{doubtful}: {decision:?}"
        );
    }
    assert!(!is_marked("$40 back to Ann, please"));
}

/// `metadata.flow` comes before examples and names of other documents.
#[test]
fn b000_20_an_intent_that_the_caller_states_overrules_examples_and_names() {
    let decided = |text: &str, stated: Intent, evidence: Evidence| {
        let reading = read(text).overruled(stated);
        match settle(&reading, &evidence.for_stated(stated)) {
            Settled::Decided(decision) => (decision.intent, decision.source),
            Settled::Look(look) => panic!("`{text}`: {look:?}"),
        }
    };
    let fitting = Evidence {
        skill: WEAK,
        playbook: CLEAR,
        floor: FLOOR,
        narrow: NARROW,
        ..Evidence::default()
    };
    let example = |kind: ExampleKind| Evidence {
        example: Some(ExampleMatch {
            kind,
            marked: false,
        }),
        ..fitting
    };
    let named = |kind: NamedKind| Evidence {
        named: Some(NamedDocument {
            kind,
            mistyped: false,
            alone: true,
        }),
        ..fitting
    };
    let skills = (Intent::Read, AnswerSource::Skills);
    let playbooks = (Intent::Change, AnswerSource::Playbooks);
    let (order, question) = ("restart host vm-31", "which hosts are down");
    for (text, evidence) in [
        (order, example(ExampleKind::Playbook)),
        ("ops.restart_host", named(NamedKind::Playbook)),
        ("ops.ping", named(NamedKind::Other(DocumentKind::Tool))),
    ] {
        assert_eq!(decided(text, Intent::Read, evidence), skills, "{text}");
    }
    for (text, evidence) in [
        (question, example(ExampleKind::Skill)),
        ("ops.list_hosts", named(NamedKind::Skill)),
    ] {
        assert_eq!(decided(text, Intent::Change, evidence), playbooks, "{text}");
    }
    assert_eq!(
        decided(question, Intent::Read, example(ExampleKind::Skill)),
        skills
    );
}

fn by_name(text: &str, kind: NamedKind, mistyped: bool, alone: bool) -> IntentDecision {
    let evidence = Evidence {
        passage: Some(0.9),
        skill: CLEAR,
        playbook: CLEAR,
        named: Some(NamedDocument {
            kind,
            mistyped,
            alone,
        }),
        floor: FLOOR,
        narrow: NARROW,
        ..Evidence::default()
    };
    decision(text, &evidence)
}

/// A name decides even if other documents fit better. A playbook runs only for an order.
#[test]
fn what_a_sentence_names_answers_and_a_playbook_is_shown_unless_it_is_ordered() {
    use NamedKind::{Playbook, Skill};
    let named = |text: &str, kind: NamedKind, mistyped: bool| {
        let decision = by_name(text, kind, mistyped, false);
        (decision.source, decision.start)
    };
    let shown = (AnswerSource::Playbooks, ChangeTiming::Offer(Doubt::Name));
    assert_eq!(named("ops.restart_host", Playbook, false), shown);
    assert_eq!(
        named("restart vm-31 with ops.restrat_host", Playbook, true),
        shown
    );
    assert_eq!(
        named("run ops.restart_host on vm-31", Playbook, false),
        shown
    );
    assert_eq!(
        named("restart vm-31 with ops.restart_host", Playbook, false),
        (AnswerSource::Playbooks, ChangeTiming::Now)
    );
    assert_eq!(
        named("what does ops.restart_host mean", Playbook, false).0,
        AnswerSource::PlaybookText
    );
    assert_eq!(
        named("ops.list_hosts", Skill, false).0,
        AnswerSource::Skills
    );
    assert_eq!(
        named("run ops.list_hosts", Skill, false).0,
        AnswerSource::Skills
    );
    assert_eq!(
        named("do not run ops.restart_host", Playbook, false).0,
        AnswerSource::Nothing
    );
}

/// The name of a playbook has the form of an order, but names no object.
#[test]
fn b000_20_a_text_that_is_only_a_playbooks_name_shows_it() {
    for text in ["Restart the hosts", "restart a host", "\"restart a host\""] {
        let decision = by_name(text, NamedKind::Playbook, false, true);
        assert_eq!(
            (decision.source, decision.start),
            (AnswerSource::Playbooks, ChangeTiming::Offer(Doubt::Name)),
            "{text}"
        );
    }
    let quoted = by_name("`ops.list_hosts`", NamedKind::Skill, false, true);
    assert_eq!(quoted.source, AnswerSource::Skills);
    // Words next to the quoted name are quoted too.
    let reported = by_name("\"run ops.list_hosts\"", NamedKind::Skill, false, false);
    assert_eq!(reported.source, AnswerSource::Nothing);
}

/// A sentence that names a tool, an agent or a mission type is answered with its description.
#[test]
fn a_document_that_no_request_is_routed_to_is_described_by_its_name() {
    let tool = NamedKind::Other(DocumentKind::MissionType);
    for text in ["ops.ping", "restart vm-31 with ops.ping", "`ops.ping`"] {
        let decision = by_name(text, tool, false, true);
        assert_eq!(
            (decision.intent, decision.source),
            (Intent::Knowledge, AnswerSource::Description),
            "{text}"
        );
        assert!(
            decision
                .reason
                .ends_with("it names a registered mission type"),
            "{decision:?}"
        );
    }
}
