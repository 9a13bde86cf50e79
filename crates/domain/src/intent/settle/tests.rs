//! Tests of the intent with evidence about documents.

use super::super::read;
use super::*;

pub(super) const FLOOR: f32 = 0.2;
pub(super) const NARROW: f32 = 0.6;
pub(super) const CLEAR: Fit = Fit {
    score: 0.8,
    likeness: 0.6,
};
pub(super) const WEAK: Fit = Fit {
    score: 0.35,
    likeness: 0.35,
};
/// Above the floor, but below the threshold for offers.
const POOR: Fit = Fit {
    score: 0.27,
    likeness: 0.3,
};
const FAR: Fit = Fit {
    score: 0.05,
    likeness: 0.1,
};

fn settled(
    text: &str,
    skill: Fit,
    playbook: Fit,
    passage: f32,
    agent: bool,
) -> (Intent, AnswerSource) {
    let mut evidence = Evidence {
        skill,
        playbook,
        floor: FLOOR,
        narrow: NARROW,
        ..Evidence::default()
    };
    let reading = read(text);
    for _ in 0..3 {
        match settle(&reading, &evidence) {
            Settled::Decided(decision) => return (decision.intent, decision.source),
            Settled::Look(NeededEvidence::Passages) => evidence.passage = Some(passage),
            Settled::Look(NeededEvidence::Agents) => evidence.agent = Some(agent),
        }
    }
    panic!("`{text}` is never settled")
}

/// Text, best skill, best playbook, best passage, whether an agent is related; intent and source.
type Row = (&'static str, Fit, Fit, f32, bool, Intent, AnswerSource);

const ROWS: &[Row] = {
    use AnswerSource::{
        Agents, NoMatch, Nothing, Passages, PlaybookText, Playbooks, SkillText, Skills,
    };
    &[
        // A playbook with a better match never turns a question into a change.
        (
            "which hosts are down",
            WEAK,
            CLEAR,
            0.0,
            false,
            Intent::Read,
            Skills,
        ),
        (
            "which hosts are down",
            FAR,
            CLEAR,
            0.0,
            false,
            Intent::None,
            NoMatch,
        ),
        (
            "which hosts are down",
            FAR,
            CLEAR,
            0.0,
            true,
            Intent::Read,
            Agents,
        ),
        (
            "which hosts are down",
            FAR,
            FAR,
            0.5,
            true,
            Intent::Knowledge,
            Passages,
        ),
        (
            "restart host vm-31",
            CLEAR,
            WEAK,
            0.9,
            true,
            Intent::Change,
            Playbooks,
        ),
        (
            "restart host vm-31",
            CLEAR,
            FAR,
            0.1,
            true,
            Intent::Change,
            Agents,
        ),
        // A passage about a change that no playbook makes comes before agents.
        (
            "restart host vm-31",
            CLEAR,
            FAR,
            0.9,
            true,
            Intent::Change,
            Passages,
        ),
        (
            "restart host vm-31",
            FAR,
            FAR,
            0.9,
            false,
            Intent::Change,
            Passages,
        ),
        (
            "restart host vm-31",
            FAR,
            FAR,
            0.1,
            false,
            Intent::None,
            NoMatch,
        ),
        // A playbook barely above the floor does something else.
        (
            "restart host vm-31",
            FAR,
            POOR,
            0.1,
            true,
            Intent::Change,
            Agents,
        ),
        (
            "restart counts by week and host",
            WEAK,
            FAR,
            0.0,
            false,
            Intent::Read,
            Skills,
        ),
        (
            "what does quorum mean",
            FAR,
            FAR,
            0.5,
            false,
            Intent::Knowledge,
            Passages,
        ),
        (
            "what does quorum mean",
            CLEAR,
            FAR,
            0.1,
            false,
            Intent::Knowledge,
            SkillText,
        ),
        (
            "what does quorum mean",
            FAR,
            FAR,
            0.1,
            false,
            Intent::None,
            NoMatch,
        ),
        (
            "how do I restart a host",
            FAR,
            CLEAR,
            0.5,
            false,
            Intent::Knowledge,
            PlaybookText,
        ),
        (
            "is the library open on Sunday",
            FAR,
            FAR,
            0.3,
            false,
            Intent::None,
            NoMatch,
        ),
        (
            "is the library open on Sunday",
            FAR,
            FAR,
            0.35,
            false,
            Intent::Knowledge,
            Passages,
        ),
        (
            "good morning",
            CLEAR,
            CLEAR,
            0.9,
            true,
            Intent::None,
            Nothing,
        ),
        (
            "welche Server laufen noch",
            CLEAR,
            CLEAR,
            0.9,
            true,
            Intent::None,
            Nothing,
        ),
    ]
};

#[test]
fn b000_20_the_form_says_which_kind_of_document_is_looked_at() {
    for &(text, skill, playbook, passage, agent, intent, source) in ROWS {
        assert_eq!(
            settled(text, skill, playbook, passage, agent),
            (intent, source),
            "{text}"
        );
    }
}

/// Decides about a text with complete evidence.
pub(super) fn decision(text: &str, evidence: &Evidence) -> IntentDecision {
    match settle(&read(text), evidence) {
        Settled::Decided(decision) => decision,
        Settled::Look(look) => panic!("`{text}`: {look:?}"),
    }
}

/// A playbook is offered from a quarter of the distance between the floor and the narrow threshold.
#[test]
fn what_is_offered_scores_clearly_more_than_the_floor() {
    assert!(POOR.score >= FLOOR && POOR.score < offered_from(FLOOR, NARROW));
    assert!(WEAK.score >= offered_from(FLOOR, NARROW));
}

/// A text without a request has the intent `none`; a question without a matching document is no match.
#[test]
fn b000_20_none_is_told_from_a_question_that_nothing_fits() {
    let evidence = Evidence {
        skill: WEAK,
        agent: Some(false),
        passage: Some(0.0),
        floor: FLOOR,
        narrow: NARROW,
        ..Evidence::default()
    };
    let read_as_none = IntentReading {
        intent: Intent::None,
        certainty: Certainty::Likely,
        ..read("host load vs disk load")
    };
    let Settled::Decided(decision) = settle(&read_as_none, &evidence) else {
        panic!("it is not settled");
    };
    assert_eq!(
        (decision.intent, decision.source),
        (Intent::None, AnswerSource::Nothing)
    );
    let far = Evidence {
        skill: FAR,
        ..evidence
    };
    assert_eq!(
        decision_of("which hosts are down", &far),
        (Intent::None, AnswerSource::NoMatch)
    );
    assert_eq!(
        decision_of("compose a sea shanty", &far),
        (Intent::None, AnswerSource::Nothing)
    );
}

fn decision_of(text: &str, evidence: &Evidence) -> (Intent, AnswerSource) {
    let decision = decision(text, evidence);
    (decision.intent, decision.source)
}

/// A playbook is found by its subject; the verb decides whether it is what the order asks for.
#[test]
fn b000_20_an_order_of_another_action_than_the_playbooks_is_offered() {
    let start = |text: &str, other_action: bool, named: Option<NamedDocument>| {
        let evidence = Evidence {
            playbook: CLEAR,
            named,
            other_action,
            floor: FLOOR,
            narrow: NARROW,
            ..Evidence::default()
        };
        match settle(&read(text), &evidence) {
            Settled::Decided(decision) => (decision.source, decision.start),
            Settled::Look(look) => panic!("{look:?}"),
        }
    };
    let named = NamedDocument {
        kind: NamedKind::Playbook,
        mistyped: false,
        alone: false,
    };
    let begun = (AnswerSource::Playbooks, ChangeTiming::Now);
    let offered = |doubt| (AnswerSource::Playbooks, ChangeTiming::Offer(doubt));
    assert_eq!(start("restart host vm-31", false, None), begun);
    assert_eq!(start("restart host vm-31", false, Some(named)), begun);
    for named in [None, Some(named)] {
        assert_eq!(
            start("cancel the restart of vm-31", true, named),
            offered(Doubt::OtherAction)
        );
    }
    let later = start("cancel the restart of vm-31 tomorrow", true, None);
    assert_eq!(later, offered(Doubt::Later));
}

#[test]
fn an_everyday_topic_takes_away_from_what_a_passage_answers() {
    let reading = read("what does quorum mean");
    let evidence = |everyday: f32| Evidence {
        passage: Some(0.4),
        agent: Some(false),
        everyday,
        floor: FLOOR,
        narrow: NARROW,
        ..Evidence::default()
    };
    let source = |everyday: f32| match settle(&reading, &evidence(everyday)) {
        Settled::Decided(decision) => decision.source,
        Settled::Look(look) => panic!("{look:?}"),
    };
    assert_eq!(
        (source(0.1), source(0.6)),
        (AnswerSource::Passages, AnswerSource::NoMatch)
    );
}
