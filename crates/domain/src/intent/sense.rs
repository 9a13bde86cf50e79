//! Compares the verb of an order with the verbs in the texts of a playbook.
//!
//! A search compares subjects, and "cancel the refund" has the same subject as "refund it". Verbs are therefore
//! compared too: verbs of one sense are equivalent, and a playbook does not match an order if none of its texts has the
//! sense of the order.

use super::action::{OrderedAction, action, action_noun};
use super::clause::clauses;
use super::order::imperative;
use super::phrases::opened;
use super::token::{self, Token, TokenKind};
use super::words::{DETERMINERS, PREPOSITIONS, PRONOUNS, VerbClass, inflected_change};

/// Groups of equivalent verbs. A verb may have several senses; an unlisted verb cannot be compared. Deleting a thing
/// differs from removing it from another thing.
#[rustfmt::skip]
const SENSES: &[&[&str]] = &[
    &["activate", "boot", "enable", "launch", "reactivate", "resume", "start", "trigger", "unblock"],
    &["add", "append", "attach", "enrol", "enroll", "import", "insert", "invite", "link", "onboard", "subscribe", "upload"],
    &["adjust", "alter", "amend", "change", "configure", "correct", "edit", "modify", "rename", "rewrite", "set", "update"],
    &["allocate", "assign", "hand", "migrate", "move", "reassign", "redirect", "switch", "transfer"],
    &["allow", "allowlist", "authorise", "authorize", "give", "grant", "permit", "promote", "whitelist"],
    &["archive", "copy"],
    &["abolish", "axe", "bin", "chuck", "decommission", "delete", "deprovision", "destroy", "ditch", "drop", "eliminate",
        "erase", "free", "kill", "nuke", "offboard", "purge", "reclaim", "remove", "retire", "scrap", "shred", "terminate",
        "trash", "uninstall", "wipe", "zap"],
    &["axe", "detach", "disassociate", "disconnect", "drop", "eject", "evict", "exclude", "kick", "kill", "nuke", "remove",
        "revoke", "strip", "unassign", "unlink", "unmount", "untag", "zap"],
    &["ban", "bar", "blacklist", "block", "close", "denylist", "enforce", "harden", "isolate", "limit", "lock",
        "quarantine", "restrict", "seal", "secure", "shut", "tighten"],
    &["book", "order"],
    &["boot", "reboot", "recycle", "reload", "restart"],
    &["bump", "expand", "extend", "increase", "raise", "resize", "scale", "upgrade"],
    &["cancel", "unsubscribe", "void", "withdraw"],
    &["charge", "debit", "invoice"],
    &["clean", "clear", "empty", "flush", "purge", "scrub", "wipe"],
    &["close", "resolve", "settle"],
    &["compensate", "credit", "refund", "reimburse"],
    &["create", "install", "place", "provision", "rebuild", "recreate", "spin"],
    &["cut", "decrease", "demote", "downgrade", "downsize", "lower", "reduce", "resize", "scale", "shrink", "trim"],
    &["deactivate", "disable", "freeze", "mute", "snooze", "suspend"],
    &["deny", "reject"],
    &["deploy", "post", "publish", "push", "redeploy", "release", "ship", "submit"],
    &["discount"],
    &["dispatch", "email", "forward", "message", "notify", "post", "reply", "send", "tell"],
    &["drain", "empty", "evict"],
    &["encrypt"],
    &["expire", "invalidate", "revoke"],
    &["fix", "mitigate", "neutralise", "neutralize", "patch", "remediate", "repair", "resolve"],
    &["halt", "hibernate", "pause", "shut", "stop", "suspend", "terminate"],
    &["mark", "tag"],
    &["merge"],
    &["open", "reopen", "unblock", "unlock"],
    &["pay", "settle"],
    &["recover", "reinstate", "restore", "undelete"],
    &["recreate", "renew", "replace", "reset", "rotate"],
    &["reschedule", "schedule"],
    &["retry"],
    &["return"],
    &["revert", "undo"],
    &["split"],
    &["swap", "switch"],
    &["sync"],
    &["unpublish"],
];

/// Verbs that reverse, postpone or refuse an action.
#[rustfmt::skip]
const REVERSALS: &[&str] = &[
    "block", "cancel", "delete", "deny", "disable", "freeze", "halt", "kill", "pause", "reject", "remove",
    "reschedule", "revert", "schedule", "stop", "suspend", "terminate", "undo", "void", "withdraw",
];

fn senses(verb: &str) -> impl Iterator<Item = usize> {
    let senses = SENSES.iter().enumerate();
    let of_verb = senses.filter(move |(_, verbs)| verbs.contains(&verb));
    of_verb.map(|(at, _)| at)
}

fn is_same(one: &str, other: &str) -> bool {
    one == other || senses(one).any(|sense| senses(other).any(|own| own == sense))
}

/// Returns whether a document with these texts covers the ordered action. Actions whose verb has no known sense count
/// as covered, and so do texts without a verb of a known sense. A document for an action covers its reversal only if
/// one of its texts has both.
pub(super) fn does(ordered: &OrderedAction, texts: &[&str]) -> bool {
    let own: Vec<OrderedAction> = texts.iter().flat_map(|text| actions_of(text)).collect();
    let is_verb = |action: &&OrderedAction| is_same(&ordered.verb, &action.verb);
    if let Some(of) = ordered.of
        && REVERSALS.contains(&ordered.verb.as_str())
    {
        let does_it = own.iter().any(|action| is_same(&action.verb, of));
        let takes_back = |action: &OrderedAction| action.of.is_some_and(|own| is_same(own, of));
        return own
            .iter()
            .filter(is_verb)
            .any(|action| !does_it || takes_back(action));
    }
    let has_sense = |verb: &str| senses(verb).next().is_some();
    let compared = has_sense(&ordered.verb) && own.iter().any(|action| has_sense(&action.verb));
    !compared || own.iter().any(|action| is_verb(&action))
}

/// Returns the actions that a text names: "restart a host", "a host has to be restarted", "lockdown of a group".
fn actions_of(text: &str) -> Vec<OrderedAction> {
    let text = text.replace(['_', '.'], " ");
    let tokens = token::tokens(&text);
    let mut found = Vec::new();
    for clause in clauses(&tokens) {
        let words = &tokens[clause.tokens];
        let words = &words[opened(words)..];
        found.extend(of_clause(words));
        for (at, token) in words.iter().enumerate() {
            let rest = &words[at + 1..];
            let ordered = match token.word.as_str() {
                "be" | "being" | "get" | "gets" => participle(rest),
                "to" => imperative(rest, false)
                    .filter(|order| order.class == VerbClass::Change)
                    .map(|order| order.action),
                word => action_noun(word)
                    .filter(|_| {
                        rest.first()
                            .is_none_or(|next| next.is_any(PREPOSITIONS) || next.is_specific())
                    })
                    .map(OrderedAction::plain),
            };
            found.extend(ordered);
        }
        if gives_back(words) {
            found.push(OrderedAction::plain("refund"));
        }
    }
    found
}

/// Returns the action at the beginning of a clause: "restart a host", "restarting a host", "restarts a host".
fn of_clause(words: &[Token]) -> Option<OrderedAction> {
    if let Some(order) = imperative(words, false) {
        return (order.class == VerbClass::Change && !order.negated).then_some(order.action);
    }
    let first = words.first()?;
    let object = words.get(1).is_some_and(|next| {
        next.is_any(DETERMINERS) || next.is_any(PRONOUNS) || next.kind == TokenKind::Word
    });
    let stated = first.word.ends_with("ing") || first.word.ends_with('s');
    let verb = inflected_change(&first.word).filter(|_| stated && object)?;
    Some(action(verb, words))
}

fn participle(rest: &[Token]) -> Option<OrderedAction> {
    let verb = inflected_change(&rest.first()?.word)?;
    Some(action(verb, rest))
}

/// "a customer gets money back".
fn gives_back(words: &[Token]) -> bool {
    let money = words
        .iter()
        .any(|token| token.is_money() || token.is_any(&["cash", "money"]));
    money && words.iter().any(|token| token.is("back"))
}

#[cfg(test)]
mod tests {
    use super::super::read;

    const RESTART: [&str; 3] = [
        "Restart a turbine",
        "a turbine has to be restarted",
        "reboot the turbine t-7",
    ];
    const REFUND: [&str; 3] = [
        "travel.refund_ticket",
        "a traveller gets money back for a ticket",
        "give the traveller his money back",
    ];

    fn done(text: &str, texts: &[&str]) -> bool {
        read(text).is_done_by(texts)
    }

    #[test]
    fn b000_20_an_order_is_done_by_a_playbook_whose_texts_have_a_verb_of_its_sense() {
        for text in [
            "restart turbine t-7",
            "Please reboot turbine t-7",
            "do a restart of turbine t-7",
            "trigger a restart of turbine t-7",
            "could you please restart turbine t-7",
        ] {
            assert!(done(text, &RESTART), "{text}");
        }
        for text in [
            "refund ticket K-12 30 euros",
            "reimburse the traveller of ticket K-12",
            "give Ida 30€ back for ticket K-12",
            "send 30 euros back on ticket K-12",
            "issue a refund of 30 euros for ticket K-12",
        ] {
            assert!(done(text, &REFUND), "{text}");
        }
    }

    #[test]
    fn b000_20_an_order_of_another_verb_is_not_done_by_the_playbook() {
        for text in [
            "stop restarting turbine t-7",
            "cancel the restart of turbine t-7",
            "Undo the restart of turbine t-7",
            "disable the restart of turbine t-7",
            "the restart of turbine t-7 must be cancelled",
            "delete turbine t-7",
            "schedule a restart of turbine t-7",
            "rename turbine t-7",
        ] {
            assert!(!done(text, &RESTART), "{text}");
        }
        for text in [
            "charge Ida 30 euros for ticket K-12",
            "reject the refund of ticket K-12",
            "cancel ticket K-12",
            "pause all refunds",
            "email Ida that ticket K-12 is refunded",
            "notify Ida about the refund of ticket K-12",
            "send Ida a voucher over 30 euros",
            "roll back the refund of ticket K-12",
            "mark the refund of ticket K-12 as done",
        ] {
            assert!(!done(text, &REFUND), "{text}");
        }
    }

    #[test]
    fn a_playbook_that_takes_something_back_does_so_by_its_own_verb() {
        let cancels = ["Cancel a refund", "the refund has to be cancelled"];
        assert!(done("cancel the refund of ticket K-12", &cancels));
        assert!(!done("reject the refund of ticket K-12", &cancels));
        let stops = ["Stop a turbine", "shut the turbine t-7 down"];
        assert!(done("stop turbine t-7", &stops));
        assert!(!done("stop the shutdown of turbine t-7", &stops));
    }

    #[test]
    fn an_order_that_cannot_be_compared_passes() {
        assert!(done("delete turbine t-7", &["it has to be off"]));
        assert!(done("which turbines are down", &RESTART));
    }
}
