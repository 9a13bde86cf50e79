//! The closed word classes and the verbs on which the reading of a sentence depends.
//!
//! Function words are closed classes and listed in full; verbs are the common ones of their class. An unlisted verb is
//! recognised only by its position in the sentence, and never with certainty.

/// The class of a verb, by its effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum VerbClass {
    /// Looks at something and reports: list, check, rank.
    Read,
    /// Explains a rule or a meaning: explain, define.
    Explain,
    /// Alters something: delete, refund, lock.
    Change,
    /// Makes a text, a role or a picture: compose, pretend.
    Compose,
}

/// Verbs that alter something. Those that are also nouns or adjectives are in [`HOMOGRAPHS`] too.
#[rustfmt::skip]
pub(super) const CHANGE_VERBS: &[&str] = &[
    "abolish", "activate", "add", "adjust", "allocate", "alter", "allow", "allowlist", "amend", "append",
    "apply", "archive", "assign", "attach", "authorise", "authorize", "axe", "ban", "bar", "bin", "blacklist",
    "block", "book", "boot", "bump", "cancel", "change", "charge", "chuck", "clean", "clear", "close",
    "compensate", "configure", "convert", "copy", "correct", "create", "credit", "cut", "deactivate", "debit",
    "decommission", "decrease", "delete", "demote", "denylist", "deny", "deploy", "deprovision", "destroy",
    "detach", "disable", "disassociate", "disconnect", "discount", "dispatch", "ditch", "downgrade",
    "downsize", "drain", "drop", "edit", "eject", "eliminate", "email", "empty", "enable", "encrypt",
    "enforce", "enrol", "enroll", "erase", "evict", "exclude", "expand", "expire", "extend", "fix", "flush",
    "forward", "free", "freeze", "give", "grant", "halt", "hand", "harden", "hibernate", "import", "increase",
    "insert", "install", "invalidate", "invite", "invoice", "isolate", "issue", "kick", "kill", "launch",
    "limit", "link", "lock", "lower", "mark", "merge", "message", "migrate", "mitigate", "modify", "move",
    "mute", "neutralise", "neutralize", "notify", "nuke", "offboard", "onboard", "open", "order", "overwrite",
    "patch", "pause", "pay", "permit", "place", "plug", "post", "promote", "provision", "publish", "purge",
    "push", "put", "quarantine", "raise", "reactivate", "reassign", "reboot", "rebuild", "reclaim", "recover",
    "recreate", "recycle", "redeploy", "redirect", "reduce", "refund", "reimburse", "reinstate", "reject",
    "release", "reload", "remediate", "remove", "rename", "renew", "reopen", "repair", "replace", "reply",
    "reschedule", "reset", "resize", "resolve", "restart", "restore", "restrict", "resume", "retire", "retry",
    "return", "revert", "revoke", "rewrite", "roll", "rotate", "scale", "schedule", "scrap", "scrub", "seal",
    "secure", "send", "set", "settle", "ship", "shred", "shrink", "shut", "snooze", "spin", "split", "start",
    "stop", "strip", "submit", "subscribe", "suspend", "swap", "switch", "sync", "tag", "take", "tear",
    "terminate", "throw", "tighten", "touch", "transfer", "trash", "trigger", "trim", "turn", "unassign",
    "unblock", "undelete", "undo", "uninstall", "unlink", "unlock", "unmount", "unpublish", "unsubscribe",
    "untag", "update", "upgrade", "upload", "void", "whitelist", "wipe", "withdraw", "zap",
];

/// Words of [`CHANGE_VERBS`] that also begin noun phrases: "refund policy", "open orders".
pub(super) const HOMOGRAPHS: &[&str] = &[
    "access", "bar", "bin", "block", "book", "boot", "change", "charge", "clean", "clear", "close",
    "copy", "correct", "credit", "cut", "debit", "discount", "dispatch", "drain", "drop", "email",
    "empty", "fix", "forward", "free", "freeze", "grant", "halt", "hand", "import", "invoice",
    "issue", "kick", "kill", "launch", "limit", "link", "lock", "lower", "mark", "message", "mute",
    "open", "order", "patch", "pause", "pay", "permit", "place", "plug", "post", "push", "raise",
    "release", "repair", "reply", "reset", "restart", "return", "refund", "roll", "scale",
    "schedule", "scrap", "seal", "secure", "set", "ship", "spin", "split", "start", "stop", "swap",
    "switch", "tag", "tear", "transfer", "trash", "trigger", "trim", "turn", "update", "upgrade",
    "upload", "void",
];

/// Words of [`HOMOGRAPHS`] that are adjectives: before a bare noun they describe it.
pub(super) const ADJECTIVES: &[&str] = &[
    "clean", "clear", "correct", "cut", "empty", "free", "lower", "mute", "open", "secure", "void",
    "split", "forward",
];

/// Nouns that follow another noun: "refund policy", "lock screen".
#[rustfmt::skip]
pub(super) const COMPOUND_HEADS: &[&str] = &[
    "agreement", "amount", "amounts", "date", "dates", "deadline", "definition", "fee", "fees", "form",
    "forms", "guideline", "guidelines", "history", "law", "laws", "level", "levels", "limit", "limits", "list",
    "log", "logs", "count", "counts", "name", "names", "number", "numbers", "policies", "policy", "price",
    "prices", "procedure", "procedures", "process", "processes", "queue", "rate", "rates", "reason", "reasons",
    "report", "reports", "request", "requests", "rule", "rules", "schedule", "screen", "settings",
    "statistics", "stats", "status", "template", "terms", "time", "times", "total", "totals", "window",
    "windows", "workflow",
];

/// Verbs that look at something and report.
#[rustfmt::skip]
pub(super) const READ_VERBS: &[&str] = &[
    "analyse", "analyze", "assess", "audit", "brief", "calculate", "catalogue", "check", "compare", "compute",
    "confirm", "count", "detect", "determine", "diagnose", "dig", "display", "enumerate", "estimate",
    "evaluate", "examine", "explore", "fetch", "figure", "filter", "find", "flag", "forecast", "gather", "get",
    "group", "have", "highlight", "hunt", "identify", "inspect", "inventory", "investigate", "itemise",
    "itemize", "keep", "list", "locate", "look", "measure", "monitor", "name", "outline", "peek", "pinpoint",
    "predict", "prioritise", "prioritize", "probe", "pull", "query", "quantify", "rank", "rate", "read",
    "recap", "report", "retrieve", "reveal", "review", "run", "scan", "score", "search", "see", "show", "sort",
    "spot", "sum", "summarise", "summarize", "survey", "tally", "test", "total", "track", "triage", "verify",
    "view", "watch",
];

/// Verbs that order to run something by its name: "run the playbook …".
pub(super) const RUN_VERBS: &[&str] = &[
    "apply", "begin", "execute", "invoke", "launch", "perform", "run", "start", "trigger", "use",
];

/// Verbs that explain a rule or a meaning.
#[rustfmt::skip]
pub(super) const EXPLAIN_VERBS: &[&str] = &[
    "advise", "clarify", "cite", "define", "describe", "educate", "elaborate", "explain", "illustrate",
    "interpret", "quote", "recommend", "remind", "suggest", "teach", "understand", "learn",
];

/// Verbs that create a text, a role or a picture.
#[rustfmt::skip]
pub(super) const COMPOSE_VERBS: &[&str] = &[
    "act", "bake", "brainstorm", "code", "compose", "cook", "draft", "draw", "dream", "generate", "imagine",
    "invent", "paint", "play", "pretend", "print", "proofread", "recite", "repeat", "rephrase", "rhyme",
    "roleplay", "say", "sing", "solve", "translate", "write",
];

/// Second parts of phrasal verbs.
pub(super) const PARTICLES: &[&str] = &["up", "down", "off", "on", "out", "away", "back", "over"];

/// Words that begin a noun phrase with a definite meaning, or about all of a kind.
#[rustfmt::skip]
pub(super) const DETERMINERS: &[&str] = &[
    "the", "this", "that", "these", "those", "my", "our", "your", "his", "her", "its", "their", "all", "every",
    "each", "any", "some", "both", "a", "an", "no", "whatever", "everything", "anything", "everyone",
    "everybody", "anyone", "another", "such", "more", "one", "two", "three", "four", "five", "ten",
];

/// Pronouns that refer to a thing mentioned before.
pub(super) const PRONOUNS: &[&str] = &[
    "it", "them", "that", "this", "these", "those", "him", "her", "me", "us", "so",
];

/// Personal pronouns that are subjects.
#[rustfmt::skip]
pub(super) const SUBJECTS: &[&str] = &[
    "i", "you", "he", "she", "it", "we", "they", "somebody", "someone", "nobody", "anybody", "anyone",
    "everybody", "everyone", "there", "this", "that", "these", "those", "who",
];

/// Auxiliary verbs, which come first in a question.
pub(super) const AUXILIARIES: &[&str] = &[
    "am", "are", "can", "could", "did", "do", "does", "had", "has", "have", "is", "may", "might",
    "must", "ought", "shall", "should", "was", "were", "will", "would",
];

/// Interrogative words.
pub(super) const QUESTION_WORDS: &[&str] = &[
    "what", "which", "who", "whom", "whose", "where", "when", "why", "how", "whether",
];

/// Prepositions, before which a homograph is a noun.
pub(super) const PREPOSITIONS: &[&str] = &[
    "of", "for", "by", "from", "in", "at", "with", "about", "per", "vs", "versus", "during",
    "between", "under", "against", "within", "than", "because", "to", "or", "and", "on",
];

/// Words that open a sentence without changing its request.
#[rustfmt::skip]
pub(super) const OPENERS: &[&str] = &[
    "again", "ah", "alright", "also", "and", "anyway", "asap", "besides", "but", "dear", "finally", "first",
    "folks", "fyi", "hello", "hey", "hi", "hmm", "immediately", "instead", "just", "kindly", "maybe", "next",
    "now", "oh", "ok", "okay", "or", "perhaps", "please", "quick", "quickly", "rather", "right", "secondly",
    "simply", "so", "sorry", "sure", "team", "thanks", "then", "therefore", "third", "today", "urgent",
    "urgently", "well", "yeah", "yep", "yes", "yo",
];

/// Conjunctions of condition and time: the clause that they introduce has not happened.
pub(super) const CONDITIONS: &[&str] = &[
    "if", "unless", "once", "until", "provided", "assuming", "whenever", "till", "lest",
];

/// Verbs that report the words or wishes of another person.
#[rustfmt::skip]
pub(super) const REPORTING_VERBS: &[&str] = &[
    "advised", "advises", "announced", "argued", "argues", "asked", "asks", "asking", "believes", "claimed",
    "claims", "complained", "complains", "demanded", "demands", "expects", "heard", "insisted", "insists",
    "instructed", "keeps", "mentioned", "mentions", "ordered", "promised", "proposed", "proposes", "read",
    "reads", "recommended", "recommends", "replied", "reported", "reports", "requested", "requests", "said",
    "saying", "says", "shouted", "stated", "states", "suggested", "suggests", "tells", "thinks", "told",
    "wanted", "wants", "warned", "wishes", "writes", "wrote",
];

/// Words without a subject: a text with only these is about nothing.
#[rustfmt::skip]
pub(super) const EMPTY_WORDS: &[&str] = &[
    "a", "about", "again", "ahead", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be",
    "because", "been", "but", "by", "can", "could", "did", "do", "does", "done", "else", "everything", "first",
    "for", "from", "go", "going", "good", "got", "had", "has", "have", "he", "hello", "help", "her", "here",
    "hey", "hi", "him", "his", "how", "i", "if", "in", "is", "it", "its", "just", "kindly", "know", "let",
    "like", "me", "mean", "more", "my", "need", "no", "not", "now", "of", "off", "ok", "okay", "on", "one",
    "ones", "only", "or", "our", "out", "please", "quick", "really", "right", "same", "see", "she", "should",
    "show", "so", "some", "something", "sorry", "still", "tell", "than", "thank", "thanks", "that", "the",
    "their", "them", "then", "there", "these", "they", "thing", "things", "this", "those", "to", "today",
    "too", "up", "us", "want", "was", "we", "well", "were", "what", "when", "where", "whether", "which", "who",
    "whose", "why", "will", "with", "would", "yes", "yet", "you", "your",
];

/// Returns the class of a verb in its base form; `None` for an unlisted verb.
pub(super) fn verb_class(word: &str) -> Option<VerbClass> {
    if READ_VERBS.contains(&word) {
        Some(VerbClass::Read)
    } else if EXPLAIN_VERBS.contains(&word) {
        Some(VerbClass::Explain)
    } else if CHANGE_VERBS.contains(&word) {
        Some(VerbClass::Change)
    } else if COMPOSE_VERBS.contains(&word) {
        Some(VerbClass::Compose)
    } else {
        None
    }
}

/// Returns the verb of change behind a misspelt word: with one additional letter, one missing letter, or two swapped
/// letters. A wrong letter is not corrected, because it makes other words ("remote", "remove").
pub(super) fn misspelt_change(word: &str) -> Option<&'static str> {
    const SHORTEST: usize = 5;
    if word.len() < SHORTEST - 1 || !word.is_ascii() || inflected_change(word).is_some() {
        return None;
    }
    let verbs = CHANGE_VERBS.iter().filter(|verb| verb.len() >= SHORTEST);
    let mut found = verbs.filter(|verb| is_slip(word.as_bytes(), verb.as_bytes()));
    found.next().copied()
}

/// Returns whether one text becomes the other by removing one letter or swapping two neighbours. The first letter must
/// be equal.
fn is_slip(a: &[u8], b: &[u8]) -> bool {
    let same = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    if same == 0 {
        return false;
    }
    let (a, b) = (&a[same..], &b[same..]);
    match (a, b) {
        ([first, second, a @ ..], [other_second, other_first, b @ ..])
            if a.len() == b.len() && first == other_first && second == other_second =>
        {
            a == b
        }
        ([_, a @ ..], b) if a.len() == b.len() => a == b,
        (a, [_, b @ ..]) if a.len() == b.len() => a == b,
        _ => false,
    }
}

/// Returns the verb of change of a participle or a third person: "locked", "removing", "refunds".
pub(super) fn inflected_change(word: &str) -> Option<&'static str> {
    #[rustfmt::skip]
    const IRREGULAR: &[(&str, &str)] = &[
        ("given", "give"), ("gave", "give"), ("paid", "pay"), ("put", "put"), ("sent", "send"), ("set", "set"),
        ("shut", "shut"), ("taken", "take"), ("took", "take"), ("torn", "tear"), ("undone", "undo"),
        ("cut", "cut"), ("frozen", "freeze"), ("withdrawn", "withdraw"), ("rewritten", "rewrite"),
        ("split", "split"),
    ];
    if let Some((_, verb)) = IRREGULAR.iter().find(|(form, _)| *form == word) {
        return Some(verb);
    }
    CHANGE_VERBS
        .iter()
        .copied()
        .find(|verb| is_form_of(word, verb))
}

/// Returns whether a word is a regular form of a verb, other than its base.
pub(super) fn is_form_of(word: &str, verb: &str) -> bool {
    let stem = verb.strip_suffix('e').unwrap_or(verb);
    let of = |stem: &str| {
        let rest = word.strip_prefix(stem);
        rest.is_some_and(|rest| matches!(rest, "ed" | "ing" | "es" | "s"))
    };
    if of(verb) && word.len() > verb.len() || of(stem) && word.len() > stem.len() {
        return true;
    }
    // "stopped", "shutting"; "copied".
    let doubled = verb.chars().next_back().map(|last| format!("{verb}{last}"));
    doubled.is_some_and(|doubled| of(&doubled))
        || verb.strip_suffix('y').is_some_and(|stem| {
            word.strip_prefix(stem)
                .is_some_and(|rest| matches!(rest, "ied" | "ies"))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_a_verb_are_told_from_other_words() {
        for (word, verb) in [
            ("locked", "lock"),
            ("removing", "remove"),
            ("stopped", "stop"),
            ("copies", "copy"),
            ("closes", "close"),
            ("paid", "pay"),
            ("taken", "take"),
        ] {
            assert_eq!(inflected_change(word), Some(verb), "{word}");
        }
        for word in ["lock", "remote", "logs", "locker"] {
            assert_eq!(inflected_change(word), None, "{word}");
        }
    }

    #[test]
    fn slips_of_the_pen_are_mended_and_other_words_are_not_verbs() {
        for (word, verb) in [
            ("delte", "delete"),
            ("revokee", "revoke"),
            ("clsoe", "close"),
        ] {
            assert_eq!(misspelt_change(word), Some(verb), "{word}");
        }
        for word in ["remote", "look", "locked", "deleted", "chose", "grand"] {
            assert_eq!(misspelt_change(word), None, "{word}");
        }
    }

    #[test]
    fn every_homograph_is_a_verb_and_every_adjective_a_homograph() {
        assert!(
            HOMOGRAPHS
                .iter()
                .all(|word| *word == "access" || CHANGE_VERBS.contains(word))
        );
        assert!(ADJECTIVES.iter().all(|word| HOMOGRAPHS.contains(word)));
    }
}
