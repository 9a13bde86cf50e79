//! Texts of descriptions: what their authors wrote, on one line and shortened; and names made of words.

use charter_contract::visible::is_hidden;

/// Returns a text on one line, without control characters, cut at a word if it has more than `most` characters.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    let mut line = String::new();
    let mut length = 0;
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()) {
        let word: String = word.chars().filter(|c| !is_hidden(*c)).collect();
        if word.is_empty() {
            continue;
        }
        let needed = word.chars().count() + usize::from(length > 0);
        if length + needed > most {
            if length == 0 {
                line.extend(word.chars().take(most));
            }
            line.push('…');
            return line;
        }
        if length > 0 {
            line.push(' ');
        }
        line.push_str(&word);
        length += needed;
    }
    line
}

/// Returns the first sentence of a text, as [`shortened`].
pub(crate) fn first_sentence(text: &str, most: usize) -> String {
    let line = shortened(text, most.saturating_mul(4));
    let end = line.find(". ").map_or(line.len(), |at| at + 1);
    shortened(&line[..end], most)
}

/// Returns a text without its final full stop.
pub(crate) fn unpunctuated(text: &str) -> &str {
    text.trim().trim_end_matches(['.', ';', ':', ','])
}

/// Splits a name or an address into words in lower case: `getHTTPStatus` into `get`, `http` and `status`. A plural or a
/// version belongs to its acronym: `listVLANs` has the words `list` and `vlans`, `getIPv6Range` has `get`, `ipv6`, `range`.
pub(crate) fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    let letters: Vec<char> = name.chars().collect();
    for (at, letter) in letters.iter().enumerate() {
        if !letter.is_ascii_alphanumeric() {
            words.extend(Some(std::mem::take(&mut word)).filter(|word| !word.is_empty()));
            continue;
        }
        let before = at.checked_sub(1).and_then(|at| letters.get(at));
        let after = letters.get(at + 1);
        let begins = letter.is_ascii_uppercase()
            && (before.is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
                || (before.is_some_and(char::is_ascii_uppercase)
                    && after.is_some_and(char::is_ascii_lowercase)
                    && !ends_acronym(&letters[at + 1..])));
        if begins {
            words.extend(Some(std::mem::take(&mut word)).filter(|word| !word.is_empty()));
        }
        word.push(letter.to_ascii_lowercase());
    }
    words.extend(Some(word).filter(|word| !word.is_empty()));
    words
}

/// Whether the letters after an acronym are the end of its word: a plural's `s`, or a version such as `v6`.
fn ends_acronym(rest: &[char]) -> bool {
    match rest {
        ['s'] => true,
        ['s', next, ..] => !next.is_ascii_lowercase(),
        ['v', next, ..] => next.is_ascii_digit(),
        _ => false,
    }
}

/// Returns the words of a name, joined: `getHTTPStatus` becomes `get_http_status`. Cuts it at `most` bytes.
pub(crate) fn snake(name: &str, most: usize) -> String {
    let mut joined = words(name).join("_");
    joined.truncate(most);
    joined.trim_end_matches('_').to_owned()
}

/// Returns the name of an environment variable, made of words: `PETS_API_KEY`.
pub(crate) fn variable_name(words: &str, most: usize) -> String {
    let mut name = snake(words, most).to_ascii_uppercase();
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        name.insert_str(0, "API_");
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_one_line_without_hidden_characters() {
        assert_eq!(shortened("  a\n\tb\u{0}c \u{200b} d ", 99), "a b c d");
        assert_eq!(
            shortened("de\u{ad}le\u{61c}te\u{e0100} \u{fff9}all", 99),
            "delete all"
        );
        assert_eq!(shortened("one two three", 8), "one two…");
        assert_eq!(shortened("extraordinary", 5), "extra…");
        assert_eq!(shortened("", 5), "");
        assert_eq!(
            first_sentence("Lists pets. All of them.\nMore", 99),
            "Lists pets."
        );
        assert_eq!(unpunctuated("List pets. "), "List pets");
    }

    #[test]
    fn names_are_split_into_words() {
        for (name, joined) in [
            ("listPets", "list_pets"),
            ("getHTTPStatus", "get_http_status"),
            ("listVLANs", "list_vlans"),
            ("getIPsForURLs", "get_ips_for_urls"),
            ("getIPv6Range", "get_ipv6_range"),
            ("getHTTPsecret", "get_htt_psecret"),
            ("repos/list-for-org", "repos_list_for_org"),
            ("/v1/pets/{petId}", "v1_pets_pet_id"),
            ("Überprüfung", "berpr_fung"),
            ("___", ""),
        ] {
            assert_eq!(snake(name, 99), joined, "{name}");
        }
        assert_eq!(snake("list_all_pets", 9), "list_all");
    }
}
