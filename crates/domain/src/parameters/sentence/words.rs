//! Words with a grammatical function, which are not values. No list is complete: the lists prevent guesses, but never
//! the use of an explicitly named value.

use std::collections::HashSet;
use std::sync::LazyLock;

/// Articles, pronouns, prepositions, conjunctions, auxiliaries and similar words: never a value unless it is written
/// explicitly (`profile=on`).
const FUNCTION: &str = "a an the this that these those some any each every all both no none not nothing never only just \
    also too very more most less least much many few other another same such own i me my mine we us our ours you your \
    yours he him his she her hers it its they them their theirs who whom whose which what when where why how and or but \
    nor so yet if then else than as of at by for from in into on onto to toward towards with without within via per \
    about above across after against along among around before behind below beneath beside besides between beyond \
    despite down during except inside like near off out outside over past since through throughout till under \
    underneath until up upon versus vs am is are was were be been being do does did done doing have has had having can \
    could will would shall should may might must ought let lets please thanks thank hi hello hey dear ok okay yes yeah \
    here there now today tomorrow yesterday again already always ever still soon later currently instead rather etc \
    i'm i'd i'll i've you're we're it's that's don't doesn't didn't can't cannot won't isn't aren't wasn't";

/// Adjectives and other words before nouns that are not names: "the same service", "the affected service".
const ATTRIBUTES: &str = "new old newer older newest oldest first second third last next previous current former latest \
    default main primary secondary whole entire full empty big bigger biggest large larger largest small smaller \
    smallest high higher highest low lower lowest good better best bad worse worst right wrong correct proper actual \
    real true false right real public private internal external local global remote open closed free busy active \
    inactive idle late early overdue recent specific certain particular different separate single double given \
    following missing failing running existing remaining upcoming underlying matching corresponding relevant \
    respective critical important urgent normal usual common general special available several various certain \
    additional extra further possible similar standard custom basic advanced simple complex own old-fashioned top \
    risky safe dangerous unsafe unused";

/// Nouns that follow a thing's name to denote an aspect of it: "profile page", "order status".
const ASPECTS: &str = "name names id ids identifier number numbers page pages picture settings setting file files field \
    fields parameter parameters value values type types kind kinds status state list lists report reports details \
    detail information info data history policy policies rule rules owner owners count counts limit limits total \
    totals update updates issue issues problem problems error errors process processes management manager management \
    review reviews summary summaries overview documentation docs access permission permissions key keys table tables \
    analysis view views group groups set sets size sizes form forms code codes";

/// Verbs of orders and questions, which begin sentences or follow nouns: "order ship", "service restart".
const VERBS: &str = "show list get give tell find check look see make take put add remove delete create update change \
    set reset start stop restart run send open close lock unlock move copy export import fix use using need want know \
    help explain describe compare rank sort filter count refund return cancel ship pay charge approve reject assign \
    assigned belongs belong exist exists work works keep keeps went goes go come comes got gets needs wants should \
    apply applied applies cover covers covered enable disable turn switch reopen rename restore notify warn block \
    blocked broke broken fails failed fail affected created updated deleted changed called named listed found";

/// Hyphenated words that look like codes but are not.
const HYPHENATED: [&str; 14] = [
    "on-call",
    "follow-up",
    "up-to-date",
    "read-only",
    "well-known",
    "long-term",
    "short-term",
    "real-time",
    "end-to-end",
    "one-off",
    "per-user",
    "world-open",
    "right-hand",
    "third-party",
];

/// Months, which are capitalised but denote neither people nor places.
pub(super) const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// Weekdays, from Monday.
pub(super) const WEEKDAYS: [&str; 7] = [
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
];

/// Returns whether a word has only a grammatical function.
pub(super) fn is_function_word(lower: &str) -> bool {
    FUNCTIONS.contains(lower)
}

/// Returns whether a word before a noun cannot be the noun's name.
pub(super) fn is_attribute(lower: &str) -> bool {
    let participle = lower.ends_with("ed") && !lower.contains(|c: char| !c.is_alphabetic());
    participle || ATTRIBUTE_SET.contains(lower)
}

/// Returns whether a word after a thing's name denotes an aspect or an action of the thing.
pub(super) fn speaks_about(lower: &str) -> bool {
    ASPECT_SET.contains(singular(lower)) || VERB_SET.contains(lower)
}

/// Returns whether a word may begin an order.
pub(super) fn is_verb(lower: &str) -> bool {
    VERB_SET.contains(lower)
}

/// Returns whether a word is in none of these lists, so that it may be a value in a suitable context.
pub(super) fn may_be_value(lower: &str) -> bool {
    !is_function_word(lower) && !is_attribute(lower) && !speaks_about(lower)
}

/// Returns whether a word looks like a code, a machine's name or an address: it has a digit, or letters joined by a
/// sign.
pub(super) fn looks_like_code(text: &str) -> bool {
    let digit = text.contains(|c: char| c.is_ascii_digit());
    let inner = text.trim_matches(|c: char| !c.is_alphanumeric());
    let joined = inner.contains(['_', '-', '/', '@', ':', '.', '\\']);
    (digit || joined) && !HYPHENATED.contains(&text.to_lowercase().as_str())
}

/// Returns the form of a code: its signs, with `a` for letters, `0` for digits and `x` for both.
pub(super) fn likeness(text: &str) -> String {
    let mut look = String::with_capacity(text.len());
    for c in text.chars() {
        let kind = match c {
            c if c.is_ascii_digit() => '0',
            c if c.is_alphanumeric() => 'a',
            sign => {
                look.push(sign);
                continue;
            }
        };
        match look.pop() {
            Some(last) if last == kind || last == 'x' => look.push(last),
            Some('a' | '0') => look.push('x'),
            Some(sign) => look.extend([sign, kind]),
            None => look.push(kind),
        }
    }
    look
}

/// Returns whether a word is written like a name: one capital, then lower-case letters.
pub(super) fn is_capitalised(text: &str) -> bool {
    let mut chars = text.chars();
    let first = chars.next().is_some_and(char::is_uppercase);
    let rest = chars.as_str();
    let small = rest
        .chars()
        .all(|c| c.is_lowercase() || matches!(c, '-' | '\'' | '’' | '.'));
    let lower = text.to_lowercase();
    let of_calendar = MONTHS.contains(&lower.as_str()) || WEEKDAYS.contains(&lower.as_str());
    first && !rest.is_empty() && small && !of_calendar
}

/// Returns a word without its plural `s`.
pub(super) fn singular(lower: &str) -> &str {
    match lower.strip_suffix('s') {
        Some(stem) if stem.len() > 1 && !stem.ends_with(['s', 'u', 'i']) => stem,
        _ => lower,
    }
}

/// Returns the number of a month, from 1, by its name or first three letters.
pub(super) fn month(lower: &str) -> Option<i8> {
    let short = lower.trim_end_matches('.');
    let found = MONTHS.iter().position(|name| {
        *name == short
            || (short.len() == 3 && name.starts_with(short))
            || short == "sept" && *name == "september"
    });
    found.and_then(|at| i8::try_from(at + 1).ok())
}

/// Returns the number of a weekday, from 0 for Monday, by its name or first three letters.
pub(super) fn weekday(lower: &str) -> Option<usize> {
    WEEKDAYS
        .iter()
        .position(|name| *name == lower || (lower.len() == 3 && name.starts_with(lower)))
}

type Set = LazyLock<HashSet<&'static str>>;

static FUNCTIONS: Set = LazyLock::new(|| FUNCTION.split_whitespace().collect());
static ATTRIBUTE_SET: Set = LazyLock::new(|| ATTRIBUTES.split_whitespace().collect());
static ASPECT_SET: Set = LazyLock::new(|| ASPECTS.split_whitespace().collect());
static VERB_SET: Set = LazyLock::new(|| VERBS.split_whitespace().collect());
