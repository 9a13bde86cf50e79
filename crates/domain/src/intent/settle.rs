//! Determines the intent from the form of a text and from the match of documents.
//!
//! Skills and playbooks are never compared with each other: each is compared with the thresholds, and the form selects
//! which of them is considered. Passages are searched only if the form asks for a rule, or is ambiguous, or no skill
//! answers; agents are searched only after a miss. [`Settled::Look`] requests evidence that is still missing.

mod named;

use super::{Certainty, ChangeTiming, Doubt, Intent, IntentReading, Language, Remark};
pub use named::{ExampleKind, ExampleMatch, NamedDocument, NamedKind, is_marked};

/// How well a document matches.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Fit {
    /// The probability that the document is right, from 0 to 1; thresholds apply to it.
    pub score: f32,
    /// The similarity of its texts to the question, from 0 to 1, which is comparable with that of passages.
    pub likeness: f32,
}

/// The evidence about documents.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Evidence {
    /// The best skill.
    pub skill: Fit,
    /// The best playbook.
    pub playbook: Fit,
    /// The similarity of the best sentence of a lens, or of a node of the expert graph; `None` if none was searched.
    pub passage: Option<f32>,
    /// Whether an agent is related; `None` if none was searched.
    pub agent: Option<bool>,
    /// The documents that have exactly this sentence as an example.
    pub example: Option<ExampleMatch>,
    /// The document that the sentence names by id or name.
    pub named: Option<NamedDocument>,
    /// Whether the texts of the best playbook have another verb than the order.
    pub other_action: bool,
    /// The similarity of the nearest everyday topic, which is unrelated to the catalogue.
    pub everyday: f32,
    /// The score below which a document is ignored.
    pub floor: f32,
    /// The score from which a document counts as right.
    pub narrow: f32,
}

/// Evidence that is needed before the intent can be decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NeededEvidence {
    /// The passages of lenses and the expert graph.
    Passages,
    /// Agents.
    Agents,
}

/// The source of the answer.
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
    /// The description of another named document: a tool, an agent, a mission type.
    Description,
    /// No registered document; an agent may generate a candidate.
    Agents,
    /// No match, although the text is a request.
    NoMatch,
    /// None: the text requests nothing from the catalogue.
    Nothing,
}

/// The intent, the source of the answer, and the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IntentDecision {
    /// The intent.
    pub intent: Intent,
    /// The source of the answer.
    pub source: AnswerSource,
    /// The part that may start, if the intent is a change.
    pub start: ChangeTiming,
    /// The reason, for people.
    pub reason: String,
}

/// A decision, or a request for more evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settled {
    /// The decision.
    Decided(IntentDecision),
    /// Evidence that is needed first.
    Look(NeededEvidence),
}

/// The share of the everyday topic's similarity that is subtracted.
const EVERYDAY_SHARE: f32 = 0.5;
/// The similarity, minus the everyday share, from which a passage answers a question about a rule.
const PASSAGE_OF_RULE: f32 = 0.19;
/// As above, for a question with an ambiguous form.
const PASSAGE_OPEN: f32 = 0.25;
/// As above, for a question about a state that no skill answers.
const PASSAGE_AFTER_MISS: f32 = 0.33;
/// As above, for the text of a skill or playbook.
const TEXT: f32 = 0.30;
/// The required lead in similarity of a document's text over the best passage.
const TEXT_LEAD: f32 = 0.10;
/// The required lead in similarity of a passage over the best skill, for an ambiguous question.
const PASSAGE_LEAD: f32 = 0.06;
/// The position between the floor and the narrow threshold from which a playbook is offered. Fitted on requests for
/// changes: at one half, some matching playbooks are missed.
const OFFERED_SHARE: f32 = 0.25;

/// Returns the similarity from which a passage is cited, for this similarity of the nearest everyday topic.
#[must_use]
pub fn cited_from(everyday: f32) -> f32 {
    PASSAGE_OF_RULE + EVERYDAY_SHARE * everyday
}

/// Returns the score from which a playbook is offered for a change. A lower score is no better than no playbook.
#[must_use]
pub fn offered_from(floor: f32, narrow: f32) -> f32 {
    floor + OFFERED_SHARE * (narrow - floor).max(0.0)
}

/// Determines the intent of a text from its reading and the evidence about documents.
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

    /// Decides that the text requests nothing that can be found; agents are not searched.
    fn nothing(&self, found: &str) -> Settled {
        self.unanswered(AnswerSource::Nothing, found)
    }

    /// Decides that the text is a request without a related document.
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

    /// Returns the similarity minus the share of the everyday topic.
    fn above_everyday(&self, likeness: f32) -> f32 {
        likeness - EVERYDAY_SHARE * self.evidence.everyday
    }

    /// Settles a text whose form is not a request. An ambiguous one is answered if a skill matches clearly.
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

    /// Settles an order with a matching playbook. If the playbook has another verb, it is only offered: "cancel the
    /// refund".
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

    /// Settles a question without a matching document: an agent may answer it, or no source.
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

    /// Settles a question about a rule.
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

    /// Settles a question about a rule without an answer. An agent grounds code, not knowledge.
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

    /// Settles a question that may or may not be about a rule.
    fn open(&self, leaning: Intent) -> Settled {
        let Evidence { skill, passage, .. } = *self.evidence;
        let Some(passage) = passage else {
            return Settled::Look(NeededEvidence::Passages);
        };
        let lead = match leaning {
            Intent::Knowledge => -TEXT_LEAD,
            Intent::Read | Intent::Change | Intent::None => PASSAGE_LEAD,
        };
        // If no skill matches, a passage needs a higher similarity, as for a question about a state.
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

    /// Answers with a passage, or with the text of a document that is more similar to the question.
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
