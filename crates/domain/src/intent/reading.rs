//! Combines the acts of a text: which acts are the writer's own, and which intent follows from them.
//!
//! An order is the writer's own unless it is reported, quoted or introduced by a colon. It applies now unless its
//! sentence has a condition or a later time.

use super::act::Act;
use super::clause::{Clause, Joint};
use super::order::OrderClause;
use super::token::{Token, TokenKind};
use super::topic::{self, Topic, holds};
use super::words::{self, VerbClass};
use super::{Certainty, ChangeTiming, Doubt, Intent, IntentReading, Remark};
use charter_contract::foreign_text::Foreign;

/// The weight of a condition in a question, as a cue for a rule: "if I do this, does that happen?"
const SUPPOSED: i32 = 6;

/// A text with its clauses and their acts.
pub(super) struct ParsedText<'t> {
    pub(super) text: &'t str,
    pub(super) all: &'t [Token],
    pub(super) clauses: &'t [Clause],
    pub(super) acts: &'t [Act],
    pub(super) foreign: &'t [Foreign],
}

/// An order with the properties of its clause.
pub(super) struct Ordered<'t> {
    pub(super) at: usize,
    pub(super) order: &'t OrderClause,
}

impl<'t> ParsedText<'t> {
    pub(super) fn words(&self, at: usize) -> &'t [Token] {
        &self.all[self.clauses[at].tokens.clone()]
    }

    pub(super) fn reading(&self) -> IntentReading {
        let orders = self.orders();
        let changes: Vec<&Ordered<'_>> = orders
            .iter()
            .filter(|ordered| ordered.order.class == VerbClass::Change && !ordered.order.negated)
            .collect();
        let forbids = orders.iter().any(|ordered| ordered.order.negated);
        let questions: Vec<usize> = self.at(|act| matches!(act, Act::Question));
        let reads = orders
            .iter()
            .any(|ordered| ordered.order.class == VerbClass::Read && !ordered.order.negated);
        let explains = orders
            .iter()
            .any(|ordered| ordered.order.class == VerbClass::Explain && !ordered.order.negated);
        let composes = orders
            .iter()
            .any(|ordered| ordered.order.class == VerbClass::Compose && !ordered.order.negated);
        if let Some(first) = changes.first() {
            return self.change(first, &changes);
        }
        if self.is_trial() && (!questions.is_empty() || reads || forbids || composes) {
            return self.plain(
                Intent::Read,
                Certainty::Likely,
                "it asks what a change would do",
            );
        }
        if let Some(order) = self.endorsed() {
            return self.offered(
                order,
                Doubt::Reported,
                "it repeats another person's request",
            );
        }
        if explains && !self.asks_for_state(&questions) {
            return self.plain(
                Intent::Knowledge,
                Certainty::Certain,
                "it asks for an explanation",
            );
        }
        if !questions.is_empty()
            && questions.iter().all(|at| asks_the_system(self.words(*at)))
            && !reads
        {
            let mut reading = self.plain(
                Intent::None,
                Certainty::Open(Intent::Read),
                Remark::AboutSystem.reason(),
            );
            reading.remark = Some(Remark::AboutSystem);
            return reading;
        }
        if !questions.is_empty() {
            return self.question(&questions, reads);
        }
        if reads {
            return self.ordered_reading();
        }
        if composes {
            return self.plain(
                Intent::None,
                Certainty::Open(Intent::Read),
                "it asks for a text to be written",
            );
        }
        if forbids && !self.names_subject() {
            return IntentReading::of_remark(Remark::Forbids, self.text);
        }
        self.without_an_act()
    }

    /// Returns the number of requests.
    pub(super) fn parts(&self) -> usize {
        let asks = |act: &Act| match act {
            Act::Question => true,
            Act::Order(order) => !order.negated && order.class == VerbClass::Read,
            Act::Reported(_)
            | Act::Endorsement
            | Act::Statement
            | Act::Condition
            | Act::Supposition
            | Act::Pondered
            | Act::Fragment => false,
        };
        self.at(asks).len()
    }

    fn at(&self, is: impl Fn(&Act) -> bool) -> Vec<usize> {
        let acts = self.acts.iter().enumerate();
        acts.filter(|(_, act)| is(act)).map(|(at, _)| at).collect()
    }

    /// Returns the writer's own orders: not those that a colon introduces after "repeat" or "she said".
    fn orders(&self) -> Vec<Ordered<'_>> {
        let mut mentioned = false;
        let mut found = Vec::new();
        for (at, act) in self.acts.iter().enumerate() {
            let clause = &self.clauses[at];
            if clause.joined == Joint::Start {
                mentioned = false;
            }
            if clause.joined == Joint::Colon && at > 0 {
                let wants = |words: &[Token]| {
                    words.iter().any(|token| {
                        token.is_any(&["wants", "wanted", "expects", "needs", "wishes"])
                    })
                };
                mentioned = match &self.acts[at - 1] {
                    Act::Reported(_) => !wants(self.words(at - 1)),
                    Act::Order(order) => {
                        matches!(order.class, VerbClass::Compose | VerbClass::Explain)
                    }
                    Act::Question
                    | Act::Endorsement
                    | Act::Statement
                    | Act::Condition
                    | Act::Supposition
                    | Act::Pondered
                    | Act::Fragment => mentioned,
                };
            }
            if let Act::Order(order) = act
                && !mentioned
            {
                found.push(Ordered { at, order });
            }
        }
        found
    }

    /// Returns whether a change is described as a trial.
    fn is_trial(&self) -> bool {
        #[rustfmt::skip]
        const TRIALS: [&[&str]; 14] = [
            &["dry", "run"], &["dry-run"], &["dryrun"], &["simulate"], &["simulation"], &["trial", "run"],
            &["test", "run"], &["rehearse"], &["preview"], &["but", "do", "not", "actually"],
            &["without", "actually"], &["without", "doing", "it"], &["would", "change"],
            &["would", "take", "away"],
        ];
        TRIALS.iter().any(|phrase| holds(self.all, phrase))
    }

    /// Returns the reading of a text that orders a change.
    fn change(&self, first: &Ordered<'_>, changes: &[&Ordered<'_>]) -> IntentReading {
        let surest = changes
            .iter()
            .find(|ordered| ordered.order.certain)
            .copied()
            .unwrap_or(first);
        let doubt = self.doubt(surest);
        let verb = &surest.order.verb;
        let mut reading = match doubt {
            None => self.plain(
                Intent::Change,
                Certainty::Certain,
                &format!("it orders: `{verb}`"),
            ),
            Some(doubt) => {
                let why = format!("`{verb}`: {}", doubt.reason());
                self.offered(surest.order, doubt, &why)
            }
        };
        reading.start = match doubt {
            Some(doubt) => ChangeTiming::Offer(doubt),
            None if self.is_trial() => ChangeTiming::DryRun,
            None => ChangeTiming::Now,
        };
        if matches!(self.acts.first(), Some(Act::Supposition)) {
            return self.plain(
                Intent::Read,
                Certainty::Open(Intent::Knowledge),
                "it supposes a change",
            );
        }
        let orders = || changes.iter().map(|ordered| ordered.order);
        reading.verbs = orders().map(|order| order.verb.clone()).collect();
        let certain: Vec<&OrderClause> = orders().filter(|order| order.certain).collect();
        let meant: Vec<&OrderClause> = if certain.is_empty() {
            orders().collect()
        } else {
            certain
        };
        reading.actions = meant.iter().map(|order| order.action.clone()).collect();
        reading
    }

    fn offered(&self, order: &OrderClause, doubt: Doubt, why: &str) -> IntentReading {
        let mut reading = self.plain(Intent::Change, Certainty::Likely, why);
        reading.start = ChangeTiming::Offer(doubt);
        reading.verbs = vec![order.verb.clone()];
        reading
    }

    /// Returns whether the text has a noun phrase besides a prohibition: "late orders, do not refund them". A noun
    /// phrase after the prohibition in its sentence belongs to the prohibition.
    fn names_subject(&self) -> bool {
        let forbids = |act: &Act| matches!(act, Act::Order(order) if order.negated);
        let mut clauses = self.acts.iter().zip(self.clauses).enumerate();
        clauses.any(|(at, (act, clause))| {
            let mut before = self.acts[..at].iter().zip(self.clauses);
            let belongs = clause.joined != Joint::Colon
                && before.any(|(act, other)| other.sentence == clause.sentence && forbids(act));
            matches!(act, Act::Fragment) && !belongs && names_things(self.words(at))
        })
    }

    /// Returns the tokens of a sentence.
    pub(super) fn sentence(&self, number: usize) -> Vec<Token> {
        let own = self
            .clauses
            .iter()
            .filter(|clause| clause.sentence == number);
        own.flat_map(|clause| self.all[clause.tokens.clone()].iter().cloned())
            .collect()
    }

    /// Returns an order of another person, if the writer endorses it or requests nothing else.
    fn endorsed(&self) -> Option<&OrderClause> {
        let reported = self.acts.iter().find_map(|act| match act {
            Act::Reported(order) => order.as_ref(),
            Act::Question
            | Act::Order(_)
            | Act::Endorsement
            | Act::Statement
            | Act::Condition
            | Act::Supposition
            | Act::Pondered
            | Act::Fragment => None,
        })?;
        let asks = self.acts.iter().any(|act| match act {
            Act::Question | Act::Supposition | Act::Pondered => true,
            Act::Order(order) => {
                !order.negated && matches!(order.class, VerbClass::Read | VerbClass::Explain)
            }
            Act::Reported(_)
            | Act::Endorsement
            | Act::Statement
            | Act::Condition
            | Act::Fragment => false,
        });
        (!asks).then_some(reported)
    }

    /// Returns whether one of the questions asks for a state.
    fn asks_for_state(&self, questions: &[usize]) -> bool {
        questions
            .iter()
            .any(|at| topic::topic(self.words(*at), self.clauses[*at].asks).0 == Topic::State)
    }

    fn question(&self, questions: &[usize], reads: bool) -> IntentReading {
        let told = self
            .acts
            .iter()
            .any(|act| matches!(act, Act::Reported(_) | Act::Statement));
        if told && questions.iter().any(|at| topic::verifies(self.words(*at))) {
            return self.plain(
                Intent::Read,
                Certainty::Likely,
                "it asks whether a statement is true",
            );
        }
        let mut reading = self.asked(questions, reads);
        reading.asks_how = questions
            .iter()
            .map(|at| self.words(*at))
            .any(|words| topic::asks_how_to_change(words) || topic::asks_whether_possible(words));
        reading
    }

    fn asked(&self, questions: &[usize], reads: bool) -> IntentReading {
        let scored: Vec<(Topic, i32)> = questions
            .iter()
            .map(|at| {
                let clause = &self.clauses[*at];
                let (own, sum) = topic::topic(self.words(*at), clause.asks);
                // Other clauses often complete a question: "redis, open to all: may it be?"
                match own {
                    Topic::Open => topic::topic(&self.sentence(clause.sentence), clause.asks),
                    Topic::Rule | Topic::State => (own, sum),
                }
            })
            .collect();
        let is = |topic: Topic| scored.iter().any(|(own, _)| *own == topic);
        let supposed = self
            .acts
            .iter()
            .any(|act| matches!(act, Act::Condition | Act::Supposition));
        let sum: i32 =
            scored.iter().map(|(_, sum)| sum).sum::<i32>() + if supposed { SUPPOSED } else { 0 };
        match (is(Topic::Rule), is(Topic::State) || reads) {
            (true, true) => match scored.first() {
                Some((Topic::Rule, _)) => self.plain(
                    Intent::Knowledge,
                    Certainty::Open(Intent::Read),
                    "it asks for a rule and for the current state",
                ),
                Some(_) | None => self.plain(
                    Intent::Read,
                    Certainty::Open(Intent::Knowledge),
                    "it asks for the current state and for a rule",
                ),
            },
            (true, false) => self.plain(
                Intent::Knowledge,
                Certainty::Likely,
                "it asks for a rule, a meaning or a procedure",
            ),
            (false, true) => self.plain(
                Intent::Read,
                Certainty::Likely,
                "it asks for the current state",
            ),
            (false, false) if sum > 0 => self.plain(
                Intent::Knowledge,
                Certainty::Open(Intent::Read),
                "it is a question about a rule rather than the current state",
            ),
            (false, false) => self.plain(
                Intent::Read,
                Certainty::Open(Intent::Knowledge),
                "it is a question about the current state rather than a rule",
            ),
        }
    }

    /// Reads "list …" and "show me …": they ask for a state, unless the listed things are rules.
    fn ordered_reading(&self) -> IntentReading {
        let (topic, sum) = topic::topic(self.all, false);
        match topic {
            Topic::Rule | Topic::Open if sum > 0 => self.plain(
                Intent::Read,
                Certainty::Open(Intent::Knowledge),
                "it orders a lookup of something that sounds like a rule",
            ),
            Topic::Rule | Topic::Open | Topic::State => self.plain(
                Intent::Read,
                Certainty::Likely,
                "it orders a lookup of the current state",
            ),
        }
    }

    /// Reads a text without a question or an order: a noun phrase requests the named thing, a statement nothing.
    fn without_an_act(&self) -> IntentReading {
        let trial = self.is_trial();
        let stated = self
            .acts
            .iter()
            .any(|act| matches!(act, Act::Statement | Act::Reported(_) | Act::Pondered));
        let supposed = self
            .acts
            .iter()
            .any(|act| matches!(act, Act::Supposition | Act::Condition));
        if trial && !stated {
            let mut reading = self.plain(
                Intent::Change,
                Certainty::Likely,
                "it names a trial of a change",
            );
            reading.start = ChangeTiming::Offer(Doubt::Indirect);
            return reading;
        }
        if stated || supposed {
            let mut reading = self.plain(
                Intent::None,
                Certainty::Open(Intent::Read),
                Remark::Statement.reason(),
            );
            reading.remark = Some(Remark::Statement);
            return reading;
        }
        if topic::ranks(self.all) {
            return self.plain(
                Intent::Read,
                Certainty::Likely,
                "it asks for the first of a ranking",
            );
        }
        let (topic, _) = topic::topic(self.all, false);
        match topic {
            Topic::Rule => self.plain(
                Intent::Knowledge,
                Certainty::Open(Intent::Read),
                "it names a rule or a comparison",
            ),
            Topic::State | Topic::Open => self.plain(
                Intent::Read,
                Certainty::Open(Intent::Knowledge),
                "it names a subject",
            ),
        }
    }

    fn plain(&self, intent: Intent, certainty: Certainty, why: &str) -> IntentReading {
        IntentReading {
            intent,
            certainty,
            remark: None,
            reasons: vec![why.to_owned()],
            ..IntentReading::of_remark(Remark::Statement, self.text)
        }
    }
}

/// Returns whether a noun phrase names several things: "late orders", "hosts in eu-west-1", not "order A-7".
fn names_things(words: &[Token]) -> bool {
    let content = || {
        words.iter().filter(|token| {
            token.kind == TokenKind::Word
                && !token.is_any(words::EMPTY_WORDS)
                && !token.is_any(words::OPENERS)
        })
    };
    content().count() > 1 || content().any(|token| token.word.ends_with('s'))
}

/// Returns whether the subject of a question is the system: "do you ever sleep".
fn asks_the_system(words: &[Token]) -> bool {
    let at = words
        .windows(2)
        .position(|pair| pair[0].is_any(words::AUXILIARIES) && pair[1].is("you"));
    at.is_some_and(|at| {
        let knows = words.get(at + 2).is_some_and(|verb| {
            verb.is_any(&[
                "have",
                "got",
                "know",
                "see",
                "think",
                "mean",
                "recommend",
                "suggest",
                "call",
                "define",
                "decide",
            ])
        });
        at <= 1 && !knows
    })
}
