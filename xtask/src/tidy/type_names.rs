//! Names of types that hide their nouns: a type is a noun of its domain, and its name is understood where it is used.

use super::rust_code::{Token, blanked, tokens};
use crate::finding::Finding;
use crate::workspace::TextFile;

/// Names without a noun, and metaphors.
const VAGUE_NAMES: [&str; 29] = [
    "Asked", "Desk", "Found", "Given", "Gravity", "Grip", "Heard", "Held", "Hold", "Kept", "Known",
    "Meant", "Named", "Patience", "Place", "Said", "Say", "Seat", "Seen", "Shelf", "Standing",
    "Taken", "Told", "Wanted", "Way", "Whence", "Whose", "Wish", "Wishes",
];

/// Last words that add nothing to a name.
const EMPTY_ENDINGS: [&str; 11] = [
    "Data", "Helper", "Helpers", "Info", "Manager", "Managers", "Stuff", "Thing", "Things", "Util",
    "Utils",
];

/// Keywords that introduce a type.
const KEYWORDS: [&str; 4] = ["enum", "struct", "trait", "type"];

/// Types of a file with a banned name.
pub(crate) fn check(file: &TextFile) -> Vec<Finding> {
    let code = blanked(&file.text);
    let tokens = tokens(&code);
    let named = tokens.windows(2).filter_map(|pair| match pair {
        [keyword, name] if KEYWORDS.contains(&keyword.text) && is_banned(name.text) => {
            (!is_associated(&code, *keyword)).then_some(*name)
        }
        _ => None,
    });
    let findings = named.map(|name| {
        let line = code[..name.at].matches('\n').count() + 1;
        let message = format!(
            "`{}` hides what the type is: name it by a noun of its domain",
            name.text
        );
        Finding::error(&file.path, line, message)
    });
    findings.collect()
}

fn is_banned(name: &str) -> bool {
    let last_word = name
        .rfind(char::is_uppercase)
        .map_or(name, |at| &name[at..]);
    VAGUE_NAMES.contains(&name) || EMPTY_ENDINGS.contains(&last_word)
}

/// Whether a keyword introduces an associated type, whose name its trait determines.
fn is_associated(code: &str, keyword: Token<'_>) -> bool {
    let line = code[..keyword.at].rfind('\n').map_or(0, |end| end + 1);
    keyword.text == "type" && code[line..].starts_with(' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<usize> {
        let findings = check(&TextFile::new("crates/x/src/a.rs", text));
        findings.iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn banned_names_of_types_are_found() {
        let text = "pub(crate) struct Told;\nenum Place {}\n    struct Known(u8);\ntrait RunManager {}\n\
                    type FileInfo = u8;\npub struct Patience<'a> {}\n";
        assert_eq!(lines(text), [1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn other_names_are_not_found() {
        let text = "struct PlaceholderText;\nenum LeaseState { Held }\nstruct DataHolder;\n// struct Told;\n\
                    const A: &str = \"struct Told\";\nfn told() {}\nstruct KnownIds;\n";
        assert_eq!(lines(text), [0; 0]);
    }

    #[test]
    fn the_name_of_an_associated_type_is_its_traits() {
        let text = "impl Body for A {\n    type Data = Bytes;\n}\ntype Data = Bytes;\n";
        assert_eq!(lines(text), [4]);
    }
}
