//! Common words, which name nothing at the beginning of a sentence or in a hyphenated word.

/// Numerals that are written as words, with their values.
pub(super) const NUMERALS: &[(&str, u64)] = &[
    ("zero", 0),
    ("one", 1),
    ("two", 2),
    ("both", 2),
    ("three", 3),
    ("four", 4),
    ("five", 5),
    ("six", 6),
    ("seven", 7),
    ("eight", 8),
    ("nine", 9),
    ("ten", 10),
    ("eleven", 11),
    ("twelve", 12),
    ("dozen", 12),
    ("thirteen", 13),
    ("fourteen", 14),
    ("fifteen", 15),
    ("sixteen", 16),
    ("seventeen", 17),
    ("eighteen", 18),
    ("nineteen", 19),
    ("twenty", 20),
    ("thirty", 30),
    ("forty", 40),
    ("fifty", 50),
    ("sixty", 60),
    ("seventy", 70),
    ("eighty", 80),
    ("ninety", 90),
];

/// Numerals that multiply the preceding value.
pub(super) const MULTIPLIERS: &[(&str, u64)] = &[
    ("hundred", 100),
    ("thousand", 1_000),
    ("million", 1_000_000),
    ("billion", 1_000_000_000),
];

/// Words after which `one` is a pronoun, not a number.
pub(super) const BEFORE_A_PRONOUN: &[&str] = &[
    "the", "this", "that", "each", "every", "which", "any", "no", "another",
];

/// Units that follow a number without a space.
pub(super) const UNITS: &[&str] = &[
    "st", "nd", "rd", "th", "ms", "s", "m", "min", "h", "d", "w", "y", "b", "kb", "mb", "gb", "tb",
    "kib", "mib", "gib", "tib", "k", "x", "px", "eur", "usd", "gbp", "aed", "pct", "am",
];

/// Abbreviations with a full stop inside.
pub(super) const ABBREVIATIONS: &[&str] = &["e.g", "i.e", "a.m", "p.m", "u.s", "u.k"];

/// Function words, and the verbs and adverbs that describe findings. None of them names a thing.
const COMMON: &str = "\
    a about above add additionally after again against all allow also although among an and another any \
    anyone apply are as ask at attach avoid based be because before below between block but by call can \
    change check close compared confirm consider could currently delete despite did disable do does \
    doesn don due during each either enable encrypt ensure every everything except facing few first fix \
    follow for from further give given half has have he here how however i if immediately in instead \
    into is isn it its keep last later less likewise limit ll lock look make many meanwhile more \
    moreover most move multiple must neither next no non none nor not notably nothing now of off on once \
    one only open or other others otherwise our out over overall per please prefer public publicly re \
    read remove replace restrict review rotate s second see send set several she should similarly since \
    so some still such t tag take than that the their them then there therefore these they this those \
    though through thus to together treat turn under unless until up update use ve very via was we were \
    what when where whether which while who why will with within without would yes yet you your";

/// Returns whether a word in lower case is a common word.
pub(super) fn is_common(word: &str) -> bool {
    COMMON.split_whitespace().any(|common| common == word)
}
