//! The intent from the form of a text and from how well documents fit it.
//!
//! Skills and playbooks are never compared with each other: each is held against the thresholds, and the form says which
//! of them is looked at. Passages are looked at only where the form asks for a rule, or leaves it open, or no skill
//! answers; agents only after a miss. What has not been looked at yet is asked for with [`Settled::Look`].

mod named;

use super::{Certainty, ChangeTiming, Doubt, Intent, IntentReading, Language, Remark};
pub use named::{ExampleKind, ExampleMatch, NamedDocument, NamedKind, is_marked};

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
    pub example: Option<ExampleMatch>,
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
    /// The description of another document that is named: a tool, an agent, a kind of missions.
    Description,
    /// Nothing that is registered; an agent's boundary may.
    Agents,
    /// Nothing that is registered, although it asks for something.
    NoMatch,
    /// Nothing: it asks for nothing that is looked after here.
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
/// How far from the floor to the narrow threshold a playbook has to be to be offered. Fitted on changes that are asked for
/// in words: half way, some that fit are missed.
const OFFERED_SHARE: f32 = 0.25;

/// The likeness from which a passage is worth citing, by the likeness of the nearest everyday topic.
#[must_use]
pub fn cited_from(everyday: f32) -> f32 {
    PASSAGE_OF_RULE + EVERYDAY_SHARE * everyday
}

/// The score from which a playbook is offered for a change: what scores less is no better than no playbook.
#[must_use]
pub fn offered_from(floor: f32, narrow: f32) -> f32 {
    floor + OFFERED_SHARE * (narrow - floor).max(0.0)
}

/// The intent of a text that was read, by what is known of the documents.
#[must_use]
pub fn settle(reading: &IntentReading, evidence: &Evidence) -> Settled {
    let case = Case { reading, evidence };
    if let Some(settled) = evidence.example.and_then(|example| case.example(example)) {
        return settled;
    }
    if let Some(named) = evidence.named
        && case.may_name(named)
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

    /// It asks for nothing that can be looked up: no agent is searched.
    fn nothing(&self, found: &str) -> Settled {
        self.unanswered(AnswerSource::Nothing, found)
    }

    /// It asks for something, and nothing that is registered has to do with it.
    fn no_match(&self) -> Settled {
        let found = "nothing registered matches it";
        self.unanswered(AnswerSource::NoMatch, found)
    }

    fn unanswered(&self, source: AnswerSource, found: &str) -> Settled {
        Settled::Decided(IntentDecision {
            intent: Intent::None,
            source,
            start: self.reading.start,
            reason: found.to_owned(),
        })
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
        let Evidence {
            skill,
            playbook,
            passage,
            floor,
            narrow,
            ..
        } = *self.evidence;
        if playbook.score >= offered_from(floor, narrow) {
            return self.ordered("");
        }
        // "stop times of the ferries": the verb was a noun.
        if self.fits(skill) && self.reading.start == ChangeTiming::Offer(Doubt::Verb) {
            return self.decided(
                Intent::Read,
                AnswerSource::Skills,
                "no playbook matches, but a skill does",
            );
        }
        match passage {
            None => return Settled::Look(NeededEvidence::Passages),
            Some(passage) if self.above_everyday(passage) >= PASSAGE_AFTER_MISS => {
                return self.decided(
                    Intent::Change,
                    AnswerSource::Passages,
                    "no playbook matches, but a passage does",
                );
            }
            Some(_) => {}
        }
        if self.fits(skill) {
            return self.decided(
                Intent::Change,
                AnswerSource::Agents,
                "no registered playbook matches",
            );
        }
        self.missed(Intent::Change)
    }

    /// An order that a playbook fits. One whose verb is not the playbook's is only offered: "cancel the refund".
    pub(super) fn ordered(&self, found: &str) -> Settled {
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
            Some(false) => self.no_match(),
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
                "no skill answers it, but a passage does",
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
                        "no passage answers it, but a skill does",
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
                AnswerSource::NoMatch,
                "no passage and no document answers it",
            ),
            Some(false) => self.no_match(),
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
                "a playbook matches",
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
mod tests;
