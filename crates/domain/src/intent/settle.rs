//! The intent from the form of a text and from how well documents fit it.
//!
//! Skills and playbooks are never compared with each other: each is held against the thresholds, and the form says which
//! of them is looked at. Passages are looked at only where the form asks for a rule, or leaves it open, or no skill
//! answers; agents only after a miss. What has not been looked at yet is asked for with [`Settled::Look`].

use super::{Certainty, ChangeTiming, Doubt, Intent, IntentReading, Language, Remark};

/// How well a document fits.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Fit {
    /// The chance that it is right, 0 to 1, which thresholds refer to.
    pub score: f32,
    /// How alike its texts and the question are, 0 to 1: comparable with that of passages.
    pub likeness: f32,
}

/// What is known of the documents.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Evidence {
    /// The best skill.
    pub skill: Fit,
    /// The best playbook.
    pub playbook: Fit,
    /// The likeness of the best sentence of a lens, or of a node of the expert graph; `None` where none was looked at.
    pub passage: Option<f32>,
    /// Whether an agent comes near; `None` where none was looked at.
    pub agent: Option<bool>,
    /// What has this very sentence as an example.
    pub example: Option<ExampleKind>,
    /// The document that the sentence names by id or name.
    pub named: Option<NamedDocument>,
    /// Whether the texts of the best playbook have another verb than the order.
    pub other_action: bool,
    /// The likeness of the nearest everyday topic, which has nothing to do with the catalogue.
    pub everyday: f32,
    /// Score below which a document does not count.
    pub floor: f32,
    /// Score from which it is taken for right.
    pub narrow: f32,
}

/// A document that a sentence names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NamedDocument {
    /// Skill or playbook.
    pub kind: ExampleKind,
    /// Whether the name has a typing error.
    pub mistyped: bool,
}

/// The kind of the documents that have a sentence as an example: who wrote them has said what it asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExampleKind {
    /// Skills alone.
    Skill,
    /// Playbooks alone.
    Playbook,
}

/// What is to be looked at before the intent is settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NeededEvidence {
    /// The passages of lenses and the expert graph.
    Passages,
    /// Agents.
    Agents,
}

/// What answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerSource {
    /// Skills are ranked (phase 2C).
    Skills,
    /// Playbooks are ranked (phase 2W).
    Playbooks,
    /// Lenses and the expert graph.
    Passages,
    /// The text of a skill.
    SkillText,
    /// The text of a playbook.
    PlaybookText,
    /// Nothing that is registered; an agent's boundary may.
    Agents,
    /// Nothing.
    Nothing,
}

/// The intent, what answers, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IntentDecision {
    /// The intent.
    pub intent: Intent,
    /// What answers.
    pub source: AnswerSource,
    /// What may be started, where it is a change.
    pub start: ChangeTiming,
    /// Why, for people.
    pub reason: String,
}

/// A decision, or what is to be looked at first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settled {
    /// It is decided.
    Decided(IntentDecision),
    /// Something is to be looked at first.
    Look(NeededEvidence),
}

/// Share of the everyday topic's likeness that is taken off.
const EVERYDAY_SHARE: f32 = 0.5;
/// Likeness, less the everyday share, from which a passage answers a question that asks for a rule.
const PASSAGE_OF_RULE: f32 = 0.19;
/// The same for a question that leaves it open.
const PASSAGE_OPEN: f32 = 0.25;
/// The same for a question after the state of things that no skill answers.
const PASSAGE_AFTER_MISS: f32 = 0.33;
/// The same for the text of a skill or playbook.
const TEXT: f32 = 0.30;
/// How much more like a question a document's text has to be than the best passage.
const TEXT_LEAD: f32 = 0.10;
/// How much more like an open question a passage has to be than the best skill.
const PASSAGE_LEAD: f32 = 0.06;

/// The likeness from which a passage is worth citing, by the likeness of the nearest everyday topic.
#[must_use]
pub fn cited_from(everyday: f32) -> f32 {
    PASSAGE_OF_RULE + EVERYDAY_SHARE * everyday
}

/// The intent of a text that was read, by what is known of the documents.
#[must_use]
pub fn settle(reading: &IntentReading, evidence: &Evidence) -> Settled {
    let case = Case { reading, evidence };
    match evidence.example {
        Some(ExampleKind::Skill) => {
            return case.decided(
                Intent::Read,
                AnswerSource::Skills,
                "it is an example of a skill",
            );
        }
        Some(ExampleKind::Playbook) => {
            let found = "it is an example of a playbook";
            return case.decided_as(
                Intent::Change,
                AnswerSource::Playbooks,
                ChangeTiming::Now,
                found,
            );
        }
        None => {}
    }
    if let Some(named) = evidence.named
        && case.may_name()
    {
        return case.named(named);
    }
    if let Language::Other(name) = reading.language {
        return case.nothing(&format!("it is written in {name}"));
    }
    match (reading.intent, reading.certainty) {
        (Intent::None, certainty) => case.none(certainty),
        (Intent::Change, _) => case.change(),
        (Intent::Knowledge, Certainty::Certain | Certainty::Likely) => case.rule(),
        (Intent::Knowledge, Certainty::Open(_)) => case.open(Intent::Knowledge),
        (Intent::Read, Certainty::Open(_)) => case.open(Intent::Read),
        (Intent::Read, Certainty::Certain | Certainty::Likely) => case.read(),
    }
}

struct Case<'c> {
    reading: &'c IntentReading,
    evidence: &'c Evidence,
}

impl Case<'_> {
    fn decided(&self, intent: Intent, source: AnswerSource, found: &str) -> Settled {
        self.decided_as(intent, source, self.reading.start, found)
    }

    fn decided_as(
        &self,
        intent: Intent,
        source: AnswerSource,
        start: ChangeTiming,
        found: &str,
    ) -> Settled {
        let form = self.reading.reasons.join("; ");
        let reason = match found {
            "" => form,
            found => format!("{form}; {found}"),
        };
        Settled::Decided(IntentDecision {
            intent,
            source,
            start,
            reason,
        })
    }

    fn nothing(&self, found: &str) -> Settled {
        let reason = found.to_owned();
        Settled::Decided(IntentDecision {
            intent: Intent::None,
            source: AnswerSource::Nothing,
            start: self.reading.start,
            reason,
        })
    }

    /// Whether the sentence can name a document: it forbids nothing, quotes nothing and plays no role.
    fn may_name(&self) -> bool {
        match self.reading.remark {
            None
            | Some(Remark::Statement | Remark::NamesSystem | Remark::FollowUp | Remark::Chat) => {
                true
            }
            Some(_) => false,
        }
    }

    /// The named document answers, even if others fit better. A playbook runs only for an order that names it without a
    /// typing error; otherwise it is shown.
    fn named(&self, named: NamedDocument) -> Settled {
        let NamedDocument { kind, mistyped } = named;
        match (kind, self.reading.intent) {
            (ExampleKind::Skill, Intent::Knowledge) => self.decided(
                Intent::Knowledge,
                AnswerSource::SkillText,
                "it names a skill",
            ),
            (ExampleKind::Skill, Intent::Read | Intent::Change | Intent::None) => {
                self.decided(Intent::Read, AnswerSource::Skills, "it names a skill")
            }
            (ExampleKind::Playbook, Intent::Knowledge) => self.decided(
                Intent::Knowledge,
                AnswerSource::PlaybookText,
                "it names a playbook",
            ),
            (ExampleKind::Playbook, Intent::Change) if !mistyped => {
                self.ordered("it names a playbook")
            }
            (ExampleKind::Playbook, Intent::Read | Intent::Change | Intent::None) => self
                .decided_as(
                    Intent::Change,
                    AnswerSource::Playbooks,
                    ChangeTiming::Offer(Doubt::Name),
                    "it names a playbook",
                ),
        }
    }

    fn fits(&self, fit: Fit) -> bool {
        fit.score >= self.evidence.floor
    }

    fn is_clear(&self, fit: Fit) -> bool {
        fit.score >= self.evidence.narrow
    }

    /// Likeness, less the share of the everyday topic's.
    fn above_everyday(&self, likeness: f32) -> f32 {
        likeness - EVERYDAY_SHARE * self.evidence.everyday
    }

    /// A text that asks for nothing by its form: one that may mean something registered does, if a skill is clear.
    fn none(&self, certainty: Certainty) -> Settled {
        let open = match (certainty, self.reading.remark) {
            (Certainty::Open(_), _) | (_, Some(Remark::NamesSystem | Remark::AboutRuns)) => true,
            (Certainty::Certain | Certainty::Likely, _) => false,
        };
        if open && self.is_clear(self.evidence.skill) {
            return self.decided(
                Intent::Read,
                AnswerSource::Skills,
                "a skill clearly answers it",
            );
        }
        self.decided(Intent::None, AnswerSource::Nothing, "")
    }

    fn change(&self) -> Settled {
        if self.fits(self.evidence.playbook) {
            return self.ordered("");
        }
        if self.fits(self.evidence.skill) {
            // "stop times of the ferries": the verb was a noun.
            return match self.reading.start {
                ChangeTiming::Offer(Doubt::Verb) => self.decided(
                    Intent::Read,
                    AnswerSource::Skills,
                    "no playbook does it, and a skill tells of it",
                ),
                ChangeTiming::Now | ChangeTiming::DryRun | ChangeTiming::Offer(_) => self.decided(
                    Intent::Change,
                    AnswerSource::Agents,
                    "no registered playbook does it",
                ),
            };
        }
        self.missed(Intent::Change)
    }

    /// An order that a playbook fits. One whose verb is not the playbook's is only offered: "cancel the refund".
    fn ordered(&self, found: &str) -> Settled {
        let playbooks = AnswerSource::Playbooks;
        match self.reading.start {
            ChangeTiming::Now | ChangeTiming::DryRun if self.evidence.other_action => {
                let doubt = Doubt::OtherAction;
                let start = ChangeTiming::Offer(doubt);
                self.decided_as(Intent::Change, playbooks, start, doubt.reason())
            }
            ChangeTiming::Now | ChangeTiming::DryRun | ChangeTiming::Offer(_) => {
                self.decided(Intent::Change, playbooks, found)
            }
        }
    }

    /// A question that no document answers: one that an agent's boundary may, or nothing.
    fn missed(&self, intent: Intent) -> Settled {
        match self.evidence.agent {
            None => Settled::Look(NeededEvidence::Agents),
            Some(true) => self.decided(
                intent,
                AnswerSource::Agents,
                "nothing registered answers it",
            ),
            Some(false) => self.nothing("nothing that is registered has to do with it"),
        }
    }

    fn read(&self) -> Settled {
        if self.fits(self.evidence.skill) {
            return self.decided(Intent::Read, AnswerSource::Skills, "");
        }
        match self.evidence.passage {
            None => Settled::Look(NeededEvidence::Passages),
            Some(passage) if self.above_everyday(passage) >= PASSAGE_AFTER_MISS => self.decided(
                Intent::Knowledge,
                AnswerSource::Passages,
                "no skill answers it, and a passage does",
            ),
            Some(_) => self.missed(Intent::Read),
        }
    }

    /// A question for a rule.
    fn rule(&self) -> Settled {
        match self.evidence.passage {
            None => Settled::Look(NeededEvidence::Passages),
            Some(passage) => self.known(passage, PASSAGE_OF_RULE).unwrap_or_else(|| {
                if self.fits(self.evidence.skill) {
                    return self.decided(
                        Intent::Read,
                        AnswerSource::Skills,
                        "no passage answers it, and a skill does",
                    );
                }
                self.missed_rule()
            }),
        }
    }

    /// A question for a rule that nothing answers. An agent grounds code, not knowledge.
    fn missed_rule(&self) -> Settled {
        match self.evidence.agent {
            None => Settled::Look(NeededEvidence::Agents),
            Some(true) => self.decided(
                Intent::Knowledge,
                AnswerSource::Nothing,
                "no passage and no document answers it",
            ),
            Some(false) => self.nothing("nothing that is registered has to do with it"),
        }
    }

    /// A question whose form leaves open whether it asks for a rule.
    fn open(&self, leaning: Intent) -> Settled {
        let Evidence { skill, passage, .. } = *self.evidence;
        let Some(passage) = passage else {
            return Settled::Look(NeededEvidence::Passages);
        };
        let lead = match leaning {
            Intent::Knowledge => -TEXT_LEAD,
            Intent::Read | Intent::Change | Intent::None => PASSAGE_LEAD,
        };
        // If no skill fits, a passage has to fit better, as for a question about the state of things.
        let from = match leaning {
            Intent::Knowledge => PASSAGE_OPEN,
            Intent::Read | Intent::Change | Intent::None if self.fits(skill) => PASSAGE_OPEN,
            Intent::Read | Intent::Change | Intent::None => PASSAGE_AFTER_MISS,
        };
        let answers = self.above_everyday(passage) >= from && passage > skill.likeness + lead;
        if answers && let Some(known) = self.known(passage, from) {
            return known;
        }
        if self.fits(skill) {
            return self.decided(Intent::Read, AnswerSource::Skills, "a skill answers it");
        }
        match self.known(passage, from) {
            Some(known) => known,
            None => self.missed(leaning),
        }
    }

    /// The answer by a passage, or by the text of a document that is more like the question.
    fn known(&self, passage: f32, from: f32) -> Option<Settled> {
        let Evidence {
            skill, playbook, ..
        } = *self.evidence;
        if self.reading.asks_how && self.is_clear(playbook) {
            return Some(self.decided(
                Intent::Knowledge,
                AnswerSource::PlaybookText,
                "a playbook does it",
            ));
        }
        let (text, source) = match playbook.likeness > skill.likeness {
            true => (playbook.likeness, AnswerSource::PlaybookText),
            false => (skill.likeness, AnswerSource::SkillText),
        };
        if self.above_everyday(passage) >= from && passage + TEXT_LEAD >= text {
            return Some(self.decided(Intent::Knowledge, AnswerSource::Passages, ""));
        }
        (self.above_everyday(text) >= TEXT).then(|| {
            self.decided(
                Intent::Knowledge,
                source,
                "the text of a document answers it",
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::read;
    use super::*;

    const FLOOR: f32 = 0.2;
    const NARROW: f32 = 0.6;
    const CLEAR: Fit = Fit {
        score: 0.8,
        likeness: 0.6,
    };
    const WEAK: Fit = Fit {
        score: 0.3,
        likeness: 0.35,
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

    /// Text, best skill, best playbook, best passage, whether an agent is near; intent and source.
    type Row = (&'static str, Fit, Fit, f32, bool, Intent, AnswerSource);

    const ROWS: &[Row] = {
        use AnswerSource::{Agents, Nothing, Passages, PlaybookText, Playbooks, SkillText, Skills};
        &[
            // A playbook that fits better never makes a change of a question.
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
                Nothing,
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
                0.9,
                true,
                Intent::Change,
                Agents,
            ),
            (
                "restart host vm-31",
                FAR,
                FAR,
                0.9,
                false,
                Intent::None,
                Nothing,
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
                Nothing,
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
                Nothing,
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

    /// Who registers a document says with its examples what they ask for.
    #[test]
    fn an_example_asks_for_what_it_is_an_example_of() {
        for (text, example, intent, source) in [
            (
                "what does quorum mean",
                ExampleKind::Skill,
                Intent::Read,
                AnswerSource::Skills,
            ),
            (
                "overnight restart of the hosts",
                ExampleKind::Playbook,
                Intent::Change,
                AnswerSource::Playbooks,
            ),
        ] {
            let evidence = Evidence {
                passage: Some(0.9),
                example: Some(example),
                ..Evidence::default()
            };
            let Settled::Decided(decision) = settle(&read(text), &evidence) else {
                panic!("`{text}` is not settled");
            };
            assert_eq!((decision.intent, decision.source), (intent, source));
        }
    }

    /// A name decides even if other documents fit better. A playbook runs only for an order.
    #[test]
    fn what_a_sentence_names_answers_and_a_playbook_is_shown_unless_it_is_ordered() {
        let named = |text: &str, kind: ExampleKind, mistyped: bool| {
            let evidence = Evidence {
                passage: Some(0.9),
                skill: CLEAR,
                playbook: CLEAR,
                named: Some(NamedDocument { kind, mistyped }),
                floor: FLOOR,
                narrow: NARROW,
                ..Evidence::default()
            };
            let Settled::Decided(decision) = settle(&read(text), &evidence) else {
                panic!("`{text}` is not settled");
            };
            (decision.source, decision.start)
        };
        use ExampleKind::{Playbook, Skill};
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

    /// A playbook is found by what it is about; the verb says whether it is its order.
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
            kind: ExampleKind::Playbook,
            mistyped: false,
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
            (AnswerSource::Passages, AnswerSource::Nothing)
        );
    }
}
