//! What a sentence claims that can be looked up: numbers, ids, names and quotations. Other words in lower case claim
//! nothing here. Sources are read by the same rules, so that what occurs in one is found. Must not know sources.

use super::common_words::{ABBREVIATIONS, BEFORE_A_PRONOUN, MULTIPLIERS, NUMERALS, UNITS};

/// Characters that may stand around a word and belong to the sentence.
const AROUND: &str = ",.;!?()[]{}\"'“”‘’«»…—–`|";

/// Characters within a word that make it an id, a link or a path.
const TECHNICAL: &str = "_:/@\\=.*&+#$%^~|<>{}[]";

/// Characters in front of a number.
const SIGNS: &str = "$€£¥#~≈<>=≥≤+±-−";

/// Something that has to occur in what a sentence cites.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Claim {
    /// A number, without its sign, in digits without grouping and closing zeros.
    Number(String),
    /// An id, a link or a quotation, in lower case.
    Literal(String),
    /// The words of a name, in lower case.
    Name {
        parts: Vec<String>,
        /// Whether each may also be a common word: it begins a sentence, or is joined by hyphens.
        or_common: bool,
    },
}

/// The claims of a text.
pub(super) fn claims(text: &str) -> Vec<Claim> {
    let mut reader = Reader::default();
    let outside = reader.quotations(text);
    for written in outside.split_whitespace() {
        reader.word(written);
    }
    reader.count(None);
    reader.claims
}

/// A text in lower case, character by character: no letter depends on the ones around it.
pub(super) fn lowered(text: &str) -> String {
    text.chars().flat_map(char::to_lowercase).collect()
}

/// The words of a text in lower case, parts of camelCase among them.
pub(super) fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    for run in text.split(|c: char| !c.is_alphanumeric()) {
        if run.is_empty() {
            continue;
        }
        words.push(lowered(run));
        let parts = camel_parts(run);
        if parts.len() > 1 {
            words.extend(parts.into_iter().map(lowered));
        }
    }
    words
}

fn camel_parts(run: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut from, mut follows_small) = (0, false);
    for (at, c) in run.char_indices() {
        if c.is_uppercase() && follows_small {
            parts.push(&run[from..at]);
            from = at;
        }
        follows_small = !c.is_uppercase();
    }
    parts.push(&run[from..]);
    parts
}

/// Reads a text word by word.
#[derive(Default)]
struct Reader {
    claims: Vec<Claim>,
    /// A number in words, as far as it was read.
    spelled: Option<Spelled>,
    /// The word before, in lower case.
    before: String,
    /// Whether the next word does not begin a sentence.
    inside: bool,
}

/// A number in words.
#[derive(Default)]
struct Spelled {
    /// Thousands and above.
    total: u64,
    /// What is below them so far.
    current: u64,
    /// How many words it has.
    words: usize,
}

impl Reader {
    /// Takes quotations out of a text; what is left stands outside of them.
    fn quotations(&mut self, text: &str) -> String {
        let mut outside = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find(['`', '"', '“']) {
            let (before, quoted) = rest.split_at(at);
            let Some(open) = quoted.chars().next() else {
                break;
            };
            let inner = &quoted[open.len_utf8()..];
            let close = if open == '“' { '”' } else { open };
            let Some(end) = inner.find(close) else {
                break;
            };
            outside.push_str(before);
            outside.push(' ');
            self.quotation(&inner[..end]);
            rest = &inner[end + close.len_utf8()..];
        }
        outside.push_str(rest);
        outside
    }

    fn quotation(&mut self, quoted: &str) {
        let quoted = spaced(&lowered(quoted));
        if let Some(number) = number(&quoted) {
            self.claims.push(Claim::Number(number));
        } else if quoted.contains(char::is_alphanumeric) {
            self.claims.push(Claim::Literal(quoted));
        }
    }

    fn word(&mut self, written: &str) {
        let token = trimmed(written);
        let lower = lowered(token);
        if !self.numeral(&lower) {
            self.count(Some(&lower));
            if token.contains(char::is_alphanumeric) {
                self.classify(token, !self.inside);
            }
        }
        // A comma or a full stop ends a number in words.
        if !written.ends_with(token) {
            self.count(None);
        }
        self.inside = !ends_sentence(written);
        self.before = lower;
    }

    /// Takes a word as a part of a number in words, if it is one.
    fn numeral(&mut self, lower: &str) -> bool {
        let value = |word: &str| {
            let mut known = NUMERALS.iter().chain(MULTIPLIERS);
            let found = known.find(|(name, _)| *name == word);
            found.map(|(_, value)| *value)
        };
        let is_pronoun = lower == "one" && BEFORE_A_PRONOUN.contains(&self.before.as_str());
        let values: Option<Vec<u64>> = lower.split('-').map(value).collect();
        let Some(values) = values.filter(|_| !is_pronoun) else {
            return false;
        };
        for value in values {
            let joins = self
                .spelled
                .as_ref()
                .is_some_and(|so_far| so_far.takes(value));
            if !joins {
                self.count(None);
            }
            self.spelled.get_or_insert_default().take(value);
        }
        true
    }

    /// Claims the number in words that ends before `next`.
    fn count(&mut self, next: Option<&str>) {
        let Some(spelled) = self.spelled.take() else {
            return;
        };
        let number = spelled.total.saturating_add(spelled.current);
        // "one of them"
        if number == 1 && spelled.words == 1 && next == Some("of") {
            return;
        }
        self.claims.push(Claim::Number(number.to_string()));
    }

    fn classify(&mut self, token: &str, opens: bool) {
        if let Some(number) = number(token) {
            self.claims.push(Claim::Number(number));
        } else if let Some(parts) = apart(token) {
            for part in parts {
                self.classify(part, opens);
            }
        } else if is_literal(token) {
            self.claims.push(Claim::Literal(lowered(token)));
        } else {
            self.name(token, opens);
        }
    }

    fn name(&mut self, token: &str, opens: bool) {
        let is_joined = token.contains('-');
        let is_capital = token.contains(char::is_uppercase);
        if token == "I" || !(is_capital || is_joined) {
            return;
        }
        let only_first = !token.chars().skip(1).any(char::is_uppercase);
        let parts = token.split(|c: char| !c.is_alphanumeric());
        let parts = parts.filter(|part| !part.is_empty()).map(lowered);
        self.claims.push(Claim::Name {
            parts: parts.collect(),
            or_common: is_joined || (opens && only_first),
        });
    }
}

impl Spelled {
    /// Whether a value continues the number: a multiplier always, a smaller one where there is room for it.
    fn takes(&self, value: u64) -> bool {
        let is_multiplier = MULTIPLIERS.iter().any(|(_, known)| *known == value);
        let room = match self.current {
            0 => self.total > 0,
            current if current % 100 == 0 => true,
            current => current % 10 == 0 && value < 10,
        };
        is_multiplier || (value < 100 && room)
    }

    fn take(&mut self, value: u64) {
        self.words += 1;
        if value >= 1_000 {
            let thousands = self.current.max(1).saturating_mul(value);
            self.total = self.total.saturating_add(thousands);
            self.current = 0;
        } else if value == 100 {
            self.current = self.current.max(1).saturating_mul(value);
        } else {
            self.current = self.current.saturating_add(value);
        }
    }
}

/// A word without the punctuation of its sentence and without the ending of a possessive.
fn trimmed(written: &str) -> &str {
    let is_around = |c: char| AROUND.contains(c);
    let closes = |c: char| AROUND.contains(c) || c == ':';
    let mut token = written.trim_start_matches(is_around);
    token = token.trim_end_matches(closes);
    if token.starts_with("**") {
        token = token.trim_matches('*');
        token = token.trim_start_matches(is_around).trim_end_matches(closes);
    }
    let possessive = ["'s", "’s"].iter().find_map(|end| token.strip_suffix(*end));
    possessive.unwrap_or(token)
}

fn ends_sentence(written: &str) -> bool {
    let closed = written.trim_end_matches(['"', '\'', '”', '’', '»', ')', ']', '*']);
    closed.ends_with(['.', '!', '?', ':'])
}

/// A number as it is compared: `1,200.50` is `1200.5`. A unit, a currency and a sign do not count.
fn number(token: &str) -> Option<String> {
    let unsigned = token.trim_start_matches(|c: char| SIGNS.contains(c));
    let bare = unsigned.trim_end_matches(['%', '+', '°']);
    let is_digits = |c: char| c.is_ascii_digit() || matches!(c, '.' | ',' | '_');
    let end = bare.find(|c| !is_digits(c)).unwrap_or(bare.len());
    let (digits, unit) = bare.split_at(end);
    let unit = unit.to_ascii_lowercase();
    let is_unit = unit.is_empty() || UNITS.contains(&unit.as_str());
    if is_unit { decimal(digits) } else { None }
}

fn decimal(digits: &str) -> Option<String> {
    let (whole, fraction) = match digits.split_once('.') {
        None => (digits, ""),
        Some((_, "")) => return None,
        Some(parts) => parts,
    };
    if !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let whole = ungrouped(whole)?;
    let whole = match whole.trim_start_matches('0') {
        "" => "0",
        digits => digits,
    };
    Some(match fraction.trim_end_matches('0') {
        "" => whole.to_owned(),
        fraction => format!("{whole}.{fraction}"),
    })
}

/// The digits of a number that may be grouped by thousands.
fn ungrouped(whole: &str) -> Option<String> {
    let are_digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if are_digits(whole) {
        return Some(whole.to_owned());
    }
    [',', '_'].into_iter().find_map(|mark| {
        let (first, rest) = whole.split_once(mark)?;
        let grouped = rest
            .split(mark)
            .all(|group| group.len() == 3 && are_digits(group));
        let fits = first.len() <= 3 && are_digits(first) && grouped;
        fits.then(|| whole.replace(mark, ""))
    })
}

/// The parts of `tcp/22` and of `20-25`, which are looked up one by one.
fn apart(token: &str) -> Option<Vec<&str>> {
    let is_word = |part: &str| !part.is_empty() && part.chars().all(is_latin);
    if token.contains('/') {
        let parts: Vec<&str> = token.split('/').collect();
        let simple = |part: &&str| is_word(part) || number(part).is_some();
        return parts.iter().all(simple).then_some(parts);
    }
    let (low, high) = token.split_once(['-', '–'])?;
    let is_range = number(low).is_some() && number(high).is_some();
    is_range.then(|| vec![low, high])
}

/// Whether a word is an id, a link, a path or in a script whose words cannot be told apart.
fn is_literal(token: &str) -> bool {
    if ABBREVIATIONS.contains(&lowered(token).as_str()) {
        return false;
    }
    let is_foreign = |c: char| c.is_alphanumeric() && !c.is_ascii_digit() && !is_latin(c);
    token.contains(|c: char| c.is_ascii_digit() || TECHNICAL.contains(c) || is_foreign(c))
}

fn is_latin(c: char) -> bool {
    c.is_alphabetic() && c <= '\u{24f}'
}

/// A text with one space wherever it has white space.
pub(super) fn spaced(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number_of(digits: &str) -> Claim {
        Claim::Number(digits.to_owned())
    }

    fn literal(text: &str) -> Claim {
        Claim::Literal(text.to_owned())
    }

    fn name(parts: &[&str], or_common: bool) -> Claim {
        Claim::Name {
            parts: parts.iter().map(|part| (*part).to_owned()).collect(),
            or_common,
        }
    }

    #[test]
    fn numbers_are_claims_however_they_are_written() {
        for (text, numbers) in [
            ("it has 3 rules", vec!["3"]),
            ("it costs €1,200.50 a month", vec!["1200.5"]),
            ("about 40% of 007", vec!["40", "7"]),
            ("ports 20-25 and 443/tcp", vec!["20", "25", "443"]),
            ("three of them", vec!["3"]),
            ("twenty-one groups", vec!["21"]),
            ("two hundred and six", vec!["200", "6"]),
            ("a dozen groups, two dozen rules", vec!["12", "2", "12"]),
            ("five thousand three hundred ten", vec!["5310"]),
            ("two, three or four", vec!["2", "3", "4"]),
            ("both are open", vec!["2"]),
            ("after 30d or 10GiB", vec!["30", "10"]),
            ("one of them is the one", vec![]),
            ("one group", vec!["1"]),
        ] {
            let found: Vec<Claim> = claims(text);
            let found: Vec<Claim> = found
                .into_iter()
                .filter(|claim| matches!(claim, Claim::Number(_)))
                .collect();
            let expected: Vec<Claim> = numbers.into_iter().map(number_of).collect();
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn ids_links_and_quotations_are_claims_as_a_whole() {
        for (text, expected) in [
            ("open to 0.0.0.0/0.", literal("0.0.0.0/0")),
            ("(sg-0a1B)", literal("sg-0a1b")),
            (
                "see https://x.example/a?b=1,",
                literal("https://x.example/a?b=1"),
            ),
            ("the group `web front`", literal("web front")),
            ("it is called “Web  front”", literal("web front")),
            ("on 2026-05-13", literal("2026-05-13")),
            ("in version 1.2.3", literal("1.2.3")),
            ("it is 三", literal("三")),
            ("it has ３ rules", literal("３")),
        ] {
            let found = claims(text);
            assert_eq!(found, [expected], "{text}");
        }
    }

    #[test]
    fn capitals_and_hyphens_make_names() {
        for (text, expected) in [
            ("Payroll is open", vec![name(&["payroll"], true)]),
            ("it belongs to Ben", vec![name(&["ben"], false)]),
            ("it belongs to Ben's team", vec![name(&["ben"], false)]),
            ("the AWS account", vec![name(&["aws"], false)]),
            ("AWS answered", vec![name(&["aws"], false)]),
            ("it is read-only", vec![name(&["read", "only"], true)]),
            ("it is open. Close it", vec![name(&["close"], true)]),
            ("i.e. it is open", vec![]),
            ("and I think so", vec![]),
        ] {
            assert_eq!(claims(text), expected, "{text}");
        }
    }
}
