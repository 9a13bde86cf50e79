//! Cues of exclusions, and the words around them.

/// Cues that exclude the rest of the clause.
pub(super) const STRICT: [&[&str]; 25] = [
    &["except"],
    &["except", "for"],
    &["excepting"],
    &["excluding"],
    &["exclude"],
    &["apart", "from"],
    &["aside", "from"],
    &["other", "than"],
    &["all", "but"],
    &["everything", "but"],
    &["anything", "but"],
    &["everyone", "but"],
    &["everybody", "but"],
    &["with", "the", "exception", "of"],
    &["with", "exception", "of"],
    &["leave", "out"],
    &["leaving", "out"],
    &["omit"],
    &["omitting"],
    &["save", "for"],
    &["barring"],
    &["außer"],
    &["ausser"],
    &["excepto"],
    &["sauf"],
];

/// As above, for cues that do not always exclude a value: "instead of waiting".
pub(super) const LOOSE: [&[&str]; 20] = [
    &["ignoring"],
    &["ignore"],
    &["instead", "of"],
    &["rather", "than"],
    &["unlike"],
    &["skip"],
    &["skipping"],
    &["not", "in"],
    &["not", "for"],
    &["not", "on"],
    &["not", "from"],
    &["not", "with"],
    &["not", "the"],
    &["not", "to"],
    &["outside", "of"],
    &["hands", "off"],
    &["away", "from"],
    &["clear", "of"],
    &["neither"],
    &["w/o"],
];

/// Words like "all", from which a later "but" excludes a part.
pub(super) const ALL: [&str; 17] = [
    "all",
    "every",
    "each",
    "any",
    "everything",
    "anything",
    "nothing",
    "everyone",
    "everybody",
    "anyone",
    "anybody",
    "nobody",
    "whole",
    "entire",
    "else",
    "both",
    "none",
];

/// Words that exclude a part after "all".
pub(super) const BUT: [&str; 8] = [
    "but", "bar", "minus", "save", "without", "besides", "less", "barring",
];

/// Orders to spare something.
pub(super) const SPARE: [&str; 9] = [
    "leave", "keep", "spare", "avoid", "exempt", "protect", "preserve", "bypass", "retain",
];

/// Words after a thing that remains as it is.
pub(super) const AS_IT_IS: [&[&str]; 28] = [
    &["alone"],
    &["out"],
    &["untouched"],
    &["unchanged"],
    &["intact"],
    &["running"],
    &["up"],
    &["on"],
    &["online"],
    &["open"],
    &["alive"],
    &["active"],
    &["enabled"],
    &["available"],
    &["going"],
    &["off"],
    &["down"],
    &["stopped"],
    &["closed"],
    &["locked"],
    &["unlocked"],
    &["as", "is"],
    &["as", "it", "is"],
    &["as", "they", "are"],
    &["in", "peace"],
    &["in", "place"],
    &["be"],
    &["where"],
];

/// Words after an excluded thing.
pub(super) const AFTER: [&[&str]; 38] = [
    &["must", "stay"],
    &["must", "remain"],
    &["must", "not"],
    &["mustn't"],
    &["must", "be", "left"],
    &["must", "be", "kept"],
    &["must", "be", "spared"],
    &["should", "stay"],
    &["should", "remain"],
    &["should", "not"],
    &["shouldn't"],
    &["should", "be", "left"],
    &["should", "be", "kept"],
    &["should", "be", "spared"],
    &["may", "not"],
    &["has", "to", "stay"],
    &["have", "to", "stay"],
    &["needs", "to", "stay"],
    &["need", "to", "stay"],
    &["is", "to", "stay"],
    &["are", "to", "stay"],
    &["stays"],
    &["stay"],
    &["remains"],
    &["remain"],
    &["keeps", "running"],
    &["keep", "running"],
    &["is", "off", "limits"],
    &["are", "off", "limits"],
    &["is", "off-limits"],
    &["are", "off-limits"],
    &["is", "excluded"],
    &["are", "excluded"],
    &["is", "exempt"],
    &["are", "exempt"],
    &["excluded"],
    &["excepted"],
    &["aside"],
];

/// Words after "stay" for a thing that must not be touched.
pub(super) const STAYS: [&str; 14] = [
    "up",
    "on",
    "online",
    "running",
    "as",
    "untouched",
    "unchanged",
    "alone",
    "out",
    "open",
    "alive",
    "active",
    "available",
    "where",
];

/// Words after which a clause begins without punctuation.
pub(super) const CLAUSE: [&str; 20] = [
    "but", "and", "or", "please", "then", "so", "also", "just", "only", "though", "however",
    "while", "with", "because", "since", "to", "must", "should", "you", "we",
];

/// Verbs whose negation forbids nothing: "do not forget web-01".
pub(super) const HARMLESS: [&str; 16] = [
    "forget", "hesitate", "wait", "worry", "mind", "bother", "just", "only", "need", "have",
    "know", "want", "think", "see", "find", "miss",
];

/// Words that may separate a cue from the excluded thing.
pub(super) const DETERMINERS: [&str; 15] = [
    "the", "a", "an", "this", "that", "these", "those", "our", "my", "your", "their", "his", "her",
    "its", "any",
];

/// Words between a noun and its value: "the ones in eu-west-1".
pub(super) const BETWEEN: [&str; 7] = ["in", "on", "of", "from", "at", "to", "with"];

/// The prepositions among them that may follow a noun without an article.
pub(super) const PLACES: [&str; 3] = ["in", "of", "from"];
