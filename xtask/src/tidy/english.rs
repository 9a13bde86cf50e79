//! Plain English: how often words of a private dialect occur in comments, documents, descriptions of the REST interface
//! and messages, for each 1,000 lines. The bounds are three times the highest figures of five well-kept Rust projects.
//!
//! The check counts words and knows no grammar: it cannot see that a sentence is clear.

use std::fmt::Write as _;

use super::rust_code::literals;
use super::sources::is_test;
use crate::finding::Finding;
use crate::workspace::{TextFile, Workspace};

/// The file of the bounds.
const BOUNDS: &str = "xtask/src/tidy/english.rs";

/// The descriptions of the REST interface.
const OPENAPI: &str = "schemas/openapi.json";

/// A pattern and its bound, in tenths for each 1,000 lines.
struct Pattern {
    name: &'static str,
    /// `None` if the pattern is counted and not bounded.
    bound: Option<usize>,
    count: fn(&[&str]) -> usize,
}

/// The last pattern holds the words that could replace those of the first.
const PATTERNS: [Pattern; 5] = [
    Pattern {
        name: "whoever, somebody, nobody, anybody, whatever",
        bound: Some(10),
        count: |lines| {
            let listed = ["whoever", "somebody", "nobody", "anybody", "whatever"];
            count_words(lines, &listed)
        },
    },
    Pattern {
        name: "sentences that open with `What`",
        bound: Some(15),
        count: count_openings,
    },
    Pattern {
        name: "say, tell",
        bound: Some(60),
        count: |lines| {
            let listed = ["say", "says", "said", "saying", "tell", "tells", "told"];
            count_words(lines, &listed)
        },
    },
    Pattern {
        name: "stand",
        bound: Some(10),
        count: |lines| count_words(lines, &["stand", "stands", "stood", "standing"]),
    },
    Pattern {
        name: "who, whichever, anyone, someone, is given, is taken",
        bound: None,
        count: |lines| {
            let words = count_words(lines, &["who", "whichever", "anyone", "someone"]);
            words + count_pairs(lines, &["is", "are", "was", "were"], &["given", "taken"])
        },
    },
];

/// A kind of text, with its lines.
struct Kind<'w> {
    name: &'static str,
    lines: Vec<&'w str>,
}

/// The patterns that occur more often than their bounds.
pub(crate) fn check(workspace: &Workspace) -> Vec<Finding> {
    let openapi = openapi(workspace);
    let kinds = kinds(workspace, &openapi);
    kinds.iter().flat_map(check_bounds).collect()
}

/// A table of all figures: count, and count for each 1,000 lines.
pub(crate) fn table(workspace: &Workspace) -> String {
    let openapi = openapi(workspace);
    let mut table = String::new();
    for kind in kinds(workspace, &openapi) {
        _ = writeln!(table, "{}: {} lines", kind.name, kind.lines.len());
        for pattern in &PATTERNS {
            let count = (pattern.count)(&kind.lines);
            let tenths = tenths(count, kind.lines.len());
            let name = pattern.name;
            _ = writeln!(
                table,
                "  {:>5}  {:>3}.{}  {name}",
                count,
                tenths / 10,
                tenths % 10
            );
        }
    }
    table
}

fn check_bounds(kind: &Kind<'_>) -> Vec<Finding> {
    let bounded = PATTERNS.iter().filter_map(|pattern| {
        let bound = pattern.bound?;
        let found = tenths((pattern.count)(&kind.lines), kind.lines.len());
        (found > bound).then(|| {
            let (name, kind) = (pattern.name, kind.name);
            let message = format!(
                "{kind}: {}.{} for each 1,000 lines, allowed: {}.{} ({name}); `cargo run -p xtask -- english` counts them",
                found / 10,
                found % 10,
                bound / 10,
                bound % 10
            );
            Finding::error(BOUNDS, 1, message)
        })
    });
    bounded.collect()
}

fn tenths(count: usize, lines: usize) -> usize {
    (10_000 * count) / lines.max(1)
}

/// The REST interface's document; empty if it cannot be read, which code generation reports.
fn openapi(workspace: &Workspace) -> String {
    std::fs::read_to_string(workspace.root.join(OPENAPI)).unwrap_or_default()
}

fn kinds<'w>(workspace: &'w Workspace, openapi: &'w str) -> [Kind<'w>; 4] {
    let rust = || {
        workspace
            .files
            .iter()
            .filter(|file| file.path.ends_with(".rs"))
    };
    let product = rust().filter(|file| file.path.starts_with("crates/") && !is_test(&file.path));
    let documents = workspace.files.iter().filter(|file| is_document(file));
    [
        Kind {
            name: "comments",
            lines: rust().flat_map(|file| comments(&file.text)).collect(),
        },
        Kind {
            name: "documents",
            lines: documents.flat_map(|file| prose(&file.text)).collect(),
        },
        Kind {
            name: "descriptions of the REST interface",
            lines: openapi.lines().filter_map(description).collect(),
        },
        Kind {
            name: "messages",
            lines: product.flat_map(|file| messages(&file.text)).collect(),
        },
    ]
}

/// The reference of the command line is made from help texts, which are counted as messages.
fn is_document(file: &TextFile) -> bool {
    let path = &file.path;
    path.ends_with(".md") && !path.contains("/tests/") && !path.contains("cli")
}

fn comments(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let comment = line.trim_start().strip_prefix("//")?;
        let comment = comment.strip_prefix(['/', '!']).unwrap_or(comment);
        Some(comment.strip_prefix(' ').unwrap_or(comment))
    })
}

/// The lines of a document outside its code blocks.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut in_code = false;
    text.lines().filter(move |line| {
        let is_fence = line.starts_with("```");
        in_code ^= is_fence;
        !is_fence && !in_code && !line.trim().is_empty()
    })
}

fn description(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let named = ["\"description\": \"", "\"summary\": \""];
    let text = named.iter().find_map(|name| line.strip_prefix(name))?;
    Some(text.trim_end_matches(',').trim_end_matches('"'))
}

/// The string literals of the product that hold more than one word.
fn messages(text: &str) -> Vec<&str> {
    let product = text
        .split("#[cfg(test)]\nmod tests {")
        .next()
        .unwrap_or(text);
    let literals = literals(product).into_iter();
    literals.filter(|literal| literal.contains(' ')).collect()
}

fn is_word_character(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    let words = line.split(|c| !is_word_character(c));
    words.filter(|word| !word.is_empty())
}

fn is_listed(word: &str, listed: &[&str]) -> bool {
    listed.iter().any(|known| word.eq_ignore_ascii_case(known))
}

fn count_words(lines: &[&str], listed: &[&str]) -> usize {
    let all = lines.iter().flat_map(|line| words(line));
    all.filter(|word| is_listed(word, listed)).count()
}

/// Neighbouring words of one line, the first of `firsts` and the second of `seconds`.
fn count_pairs(lines: &[&str], firsts: &[&str], seconds: &[&str]) -> usize {
    let in_line = |line: &&str| {
        let words: Vec<&str> = words(line).collect();
        let pairs = words.windows(2);
        pairs
            .filter(|pair| is_listed(pair[0], firsts) && is_listed(pair[1], seconds))
            .count()
    };
    lines.iter().map(in_line).sum()
}

/// Sentences that open with `What` and go on in lower case, apart from two questions that headings ask.
fn count_openings(lines: &[&str]) -> usize {
    let text = lines.join("\n");
    let at = text.match_indices("What").map(|(at, _)| at);
    at.filter(|at| {
        let (before, after) = (&text[..*at], &text[at + "What".len()..]);
        let sentence = before.trim_end();
        let opens = before.is_empty()
            || before.ends_with('\n')
            || (before.len() > sentence.len() && sentence.ends_with(['.', '!', '?', ':']));
        let rest = after.trim_start();
        let goes_on =
            rest.len() < after.len() && rest.starts_with(|c: char| c.is_ascii_lowercase());
        let asks = rest.starts_with("is this") || rest.starts_with("are you");
        opens && goes_on && !asks
    })
    .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(lines: &[&str]) -> [usize; 5] {
        std::array::from_fn(|at| (PATTERNS[at].count)(lines))
    }

    #[test]
    fn words_are_counted_whole_and_in_any_case() {
        let lines = [
            "Nobody told whoever; the standard stands",
            "essays, foretell, say_it",
        ];
        assert_eq!(counts(&lines), [2, 0, 1, 1, 0]);
        assert_eq!(
            counts(&["Who is given what was Taken, anyone?"]),
            [0, 0, 0, 0, 4]
        );
    }

    #[test]
    fn sentences_opening_with_what_are_counted_anywhere_in_the_line() {
        let lines = [
            "What comes in. What goes out: What is",
            "kept.",
            "What",
            "stays. Whatever. And What not? What is this",
            "What Rust does. (What is quoted)",
        ];
        assert_eq!(counts(&lines)[1], 4);
    }

    #[test]
    fn a_kind_of_text_above_a_bound_is_a_finding() {
        let mut lines = vec!["A plain line."; 999];
        lines.push("Nobody.");
        let kind = Kind {
            name: "comments",
            lines: lines.clone(),
        };
        assert_eq!(check_bounds(&kind), []);
        lines.push("Nobody.");
        let kind = Kind {
            name: "comments",
            lines,
        };
        let [finding] = &check_bounds(&kind)[..] else {
            panic!("one finding is expected");
        };
        let text = finding.to_string();
        assert!(
            text.contains("comments: 1.9 for each 1,000 lines, allowed: 1.0"),
            "{text}"
        );
    }

    #[test]
    fn each_kind_of_text_has_its_own_lines() {
        let rust = "//! One.\nfn f() { // no\n    /// Two.\n    //Three.\n    g(\"a b\", \"c\", r#\"d e\"#);\n}\n\
                    #[cfg(test)]\nmod tests {\n    const T: &str = \"f g\";\n}\n";
        assert_eq!(
            comments(rust).collect::<Vec<_>>(),
            ["One.", "Two.", "Three."]
        );
        assert_eq!(messages(rust), ["a b", "d e"]);
        let document = "# One\n\n```sh\ncode\n```\nTwo\n";
        assert_eq!(prose(document).collect::<Vec<_>>(), ["# One", "Two"]);
        assert_eq!(
            description("  \"summary\": \"List runs.\","),
            Some("List runs.")
        );
        assert_eq!(description("  \"name\": \"what\","), None);
    }
}
