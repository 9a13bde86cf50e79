//! Reasons against executing an order at once: its sentence postpones it, makes it conditional, or hedges it.

use super::Doubt;
use super::act::Act;
use super::clause::Joint;
use super::order::OrderForm;
use super::reading::{Ordered, ParsedText};
use super::timing;
use super::words::{AUXILIARIES, QUESTION_WORDS};

impl ParsedText<'_> {
    /// Returns the reason against executing an order at once, if there is one.
    pub(super) fn doubt(&self, ordered: &Ordered<'_>) -> Option<Doubt> {
        let words = self.words(ordered.at);
        let order = &words[words.len().saturating_sub(ordered.order.tail)..];
        let whole = self.sentence(self.clauses[ordered.at].sentence);
        if self.is_supposed(ordered.at) || timing::is_conditional(order) || timing::depends(&whole)
        {
            return Some(Doubt::Condition);
        }
        if timing::is_later(&whole) || self.is_put_off_after(ordered.at) {
            return Some(Doubt::Later);
        }
        if self.asks_after(ordered.at) {
            return Some(Doubt::Question);
        }
        if timing::is_hedged(&whole) && ordered.order.certain {
            return Some(Doubt::Indirect);
        }
        if !ordered.order.certain {
            return Some(match ordered.order.form {
                OrderForm::Imperative => Doubt::Verb,
                OrderForm::Mistyped => Doubt::Spelling,
                OrderForm::Reported => Doubt::Reported,
                OrderForm::Playbook => Doubt::Name,
                OrderForm::Request
                | OrderForm::Wish
                | OrderForm::Suggestion
                | OrderForm::Need
                | OrderForm::Verbless => Doubt::Indirect,
            });
        }
        ordered.order.bare.then_some(Doubt::Object)
    }

    /// Returns whether an order has a supposition, a condition or something to wait for: in its sentence, in the one
    /// before "then", or in a following one that begins with "but" or "only".
    fn is_supposed(&self, at: usize) -> bool {
        let own = self.clauses[at].sentence;
        let begins = |at: usize, words: &[&str]| {
            self.clauses[at].joined == Joint::Start && self.words(at)[0].is_any(words)
        };
        let continues = begins(at, &["afterwards", "then"]);
        let mut acts = self.acts.iter().zip(self.clauses).enumerate();
        acts.any(|(other, (act, clause))| {
            let supposes = matches!(act, Act::Condition | Act::Supposition | Act::Pondered);
            let restricts = clause.sentence == own + 1 && begins(other, &["but", "only"]);
            let before = continues && clause.sentence + 1 == own;
            supposes && (clause.sentence == own || restricts || before)
        })
    }

    /// Returns whether the sentence after an order is only a later time: "Restart it. Tomorrow."
    fn is_put_off_after(&self, at: usize) -> bool {
        let next = self.clauses[at].sentence + 1;
        let own = self.acts.iter().zip(self.clauses);
        let mut own = own.filter(|(_, clause)| clause.sentence == next);
        own.all(|(act, _)| matches!(act, Act::Fragment)) && timing::is_later(&self.sentence(next))
    }

    /// Returns whether a question follows an order in its sentence: "restart vm-31: is it safe?"
    fn asks_after(&self, at: usize) -> bool {
        let sentence = self.clauses[at].sentence;
        let mut later = self.acts.iter().zip(self.clauses).enumerate().skip(at + 1);
        later.any(|(other, (act, clause))| {
            let first = &self.words(other)[0];
            clause.sentence == sentence
                && matches!(act, Act::Question)
                && matches!(clause.joined, Joint::Colon | Joint::Comma)
                && (first.is_any(QUESTION_WORDS) || first.is_any(AUXILIARIES))
        })
    }
}
