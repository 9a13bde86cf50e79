//! Extracts the checkable claims of a sentence: numbers, ids, names and quotations. Other words in lower case are not
//! claims. Sources are parsed by the same rules, so that their contents match. Must not know sources.

use super::common_words::{ABBREVIATIONS, BEFORE_A_PRONOUN, MULTIPLIERS, NUMERALS, UNITS};

/// Characters around a word that belong to the sentence.
const AROUND: &str = ",.;!?()[]{}\"'“”‘’«»…—–`|";

/// Characters within a word that make it an id, a link or a path.
const TECHNICAL: &str = "_:/@\\=.*&+#$%^~|<>{}[]";

/// Characters that may precede a number.
const SIGNS: &str = "$€£¥#~≈<>=≥≤+±-−";

/// A claim that the cited sources must contain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Claim {
    /// A number in digits, without its sign, its grouping and its trailing zeros.
    Number(String),
    /// An id, a link or a quotation, in lower case.
    Literal(String),
    /// The words of a name, in lower case.
    Name {
        parts: Vec<String>,
        /// Whether each word may also be a common word: it begins a sentence, or is joined by hyphens.
        or_common: bool,
    },
}

/// Returns the claims of a text.
pub(super) fn claims(text: &str) -> Vec<Claim> {
    let mut reader = Reader::default();
    let outside = reader.quotations(text);
    for written in outside.split_whitespace() {
        reader.word(written);
    }
    reader.count(None);
    reader.claims
}

/// Converts a text to lower case character by character, so that no letter depends on its neighbours.
pub(super) fn lowered(text: &str) -> String {
    text.chars().flat_map(char::to_lowercase).collect()
}

/// Returns the words of a text in lower case, including the parts of camelCase words.
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
    /// The number in words that has been read so far.
    spelled: Option<Spelled>,
    /// The previous word, in lower case.
    before: String,
    /// Whether the next word is not the first one of a sentence.
    inside: bool,
}

/// A number in words.
#[derive(Default)]
struct Spelled {
    /// Thousands and above.
    total: u64,
    /// The value below the last multiplier.
    current: u64,
    /// The number of words.
    words: usize,
}

impl Reader {
    /// Removes the quotations from a text and returns the rest.
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

    /// Adds a word to the number in words, if it is a numeral.
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

    /// Ends the number in words and adds its claim. `next` is the word that follows.
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
    /// Returns whether a value continues the number: a multiplier always does, a smaller value only where it fits.
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

/// Returns a word without the surrounding punctuation and without a possessive ending.
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

/// Returns a number in canonical form: `1,200.50` becomes `1200.5`. Units, currencies and signs are ignored.
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

/// Returns the digits of a number, without thousands separators.
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

/// Returns the parts of `tcp/22` or `20-25`, which are checked one by one.
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

/// Returns whether a word is an id, a link, a path, or in a script without spaces between words.
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

/// Collapses each run of white space to one space.
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
