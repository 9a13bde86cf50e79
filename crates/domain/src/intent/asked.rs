//! The questions of a text, each with its intent. If they are of several kinds, one kind is answered, and the others
//! are listed.

use super::act::Act;
use super::reading::ParsedText;
use super::subject::{carried, says_something};
use super::topic::{Topic, topic};
use super::words::VerbClass;
use super::{ChangeTiming, Intent, IntentReading};

/// The minimum number of content words of a question; "is that ok?" asks for nothing of its own.
const LEAST_CONTENT: usize = 2;

/// A question, or an order to look at something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskedClause {
    /// The words of the clause, without politeness.
    pub text: String,
    /// The intent of the clause: the state of things, or a rule.
    pub intent: Intent,
}

/// Returns the questions of a text whose form reveals what they ask for.
pub(super) fn asked(said: &ParsedText<'_>) -> Vec<AskedClause> {
    let acts = said.acts.iter().enumerate();
    let asked = acts.filter_map(|(at, act)| {
        let words = said.words(at);
        let intent = match act {
            Act::Question => match topic(words, said.clauses[at].asks).0 {
                Topic::Rule => Intent::Knowledge,
                Topic::State => Intent::Read,
                Topic::Open => return None,
            },
            Act::Order(order) if order.negated => return None,
            Act::Order(order) => match order.class {
                VerbClass::Read => Intent::Read,
                VerbClass::Explain => Intent::Knowledge,
                VerbClass::Change | VerbClass::Compose => return None,
            },
            Act::Reported(_)
            | Act::Endorsement
            | Act::Statement
            | Act::Condition
            | Act::Supposition
            | Act::Pondered
            | Act::Fragment => return None,
        };
        let content = words.iter().filter(|token| says_something(token)).count();
        let (first, last) = (words.get(carried(words))?, words.last()?);
        (content >= LEAST_CONTENT).then(|| AskedClause {
            text: said.text[first.place.start..last.place.end].to_owned(),
            intent,
        })
    });
    asked.collect()
}

impl IntentReading {
    /// Returns the questions that an answer to this intent leaves out. A text with a single kind of request leaves out
    /// none. The trial of a change answers the questions about that change.
    #[must_use]
    pub fn left_out_of(&self, intent: Intent, start: ChangeTiming) -> Vec<AskedClause> {
        let asks_for = |intent: Intent| self.asked.iter().any(|clause| clause.intent == intent);
        let kept = match intent {
            Intent::Change if self.intent == Intent::Change && start != ChangeTiming::DryRun => {
                Intent::Change
            }
            Intent::Read | Intent::Knowledge if asks_for(intent) => intent,
            Intent::Read | Intent::Knowledge | Intent::Change | Intent::None => return Vec::new(),
        };
        let others = self.asked.iter().filter(|clause| clause.intent != kept);
        others.cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::read;
    use super::*;

    fn left_out(text: &str, intent: Intent) -> Vec<String> {
        let left_out = read(text).left_out_of(intent, ChangeTiming::Now);
        left_out.into_iter().map(|clause| clause.text).collect()
    }

    #[test]
    fn questions_of_another_kind_than_what_is_answered_are_left_out() {
        for (text, intent, expected) in [
            (
                "which disks are nearly full, and restart host vm-31",
                Intent::Change,
                vec!["which disks are nearly full"],
            ),
            (
                "list the open tickets and then close ticket t-4711",
                Intent::Change,
                vec!["list the open tickets"],
            ),
            (
                "which disks are nearly full? and what is the rule for cleaning them?",
                Intent::Read,
                vec!["what is the rule for cleaning them"],
            ),
            (
                "which disks are nearly full? and what is the rule for cleaning them?",
                Intent::Knowledge,
                vec!["which disks are nearly full"],
            ),
            ("which disks are nearly full?", Intent::Read, vec![]),
            // A passage answered the question about the state, so nothing was left out.
            ("which disks are nearly full?", Intent::Knowledge, vec![]),
            ("restart host vm-31, is that ok?", Intent::Change, vec![]),
            ("restart host vm-31", Intent::Change, vec![]),
        ] {
            assert_eq!(left_out(text, intent), expected, "{text}");
        }
        let trial = read("dry run of the restart of vm-31: which disks are nearly full?");
        assert_eq!(trial.left_out_of(Intent::Change, ChangeTiming::DryRun), []);
    }
}
