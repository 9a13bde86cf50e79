//! Checks citations of the specification: each resolves to a heading of `docs/spec/`, and a test names each behaviour.
//!
//! `docs/spec/README.md` describes the forms of citations.

use anyhow::bail;

use super::named_tests::Functions;
use super::rust_code::{Token, tokens};
use crate::finding::Finding;
use crate::workspace::TextFile;

/// Path of the page of behaviours.
const BEHAVIOURS: &str = "docs/spec/behaviours.md";

/// The pages of the specification, and the prefix of their headings' names.
const PAGES: [(&str, &str); 3] = [
    (BEHAVIOURS, "B"),
    ("docs/spec/rulings.md", "ruling "),
    ("docs/spec/sources.md", "seed "),
];

/// Directory of this check, which contains example citations.
const XTASK: &str = "xtask/";

/// Every line with a citation contains one of these.
const MARKS: [&str; 5] = ["B0", "b0", "00", "uling", "§"];

/// A heading that citations resolve to.
#[derive(Debug, PartialEq, Eq)]
struct Heading {
    file: &'static str,
    line: usize,
    /// Citation for the heading, such as `B000-12`, `ruling 28` or `seed 000 §2.2`.
    name: String,
}

/// The headings of the specification.
#[derive(Debug)]
pub(crate) struct Specification(Vec<Heading>);

impl Specification {
    /// Reads the headings of the specification's pages.
    ///
    /// # Errors
    /// If a page has no named heading, because the check would then pass vacuously.
    pub(crate) fn parse<'w>(files: impl Iterator<Item = &'w TextFile>) -> anyhow::Result<Self> {
        let mut headings: Vec<Heading> = Vec::new();
        for file in files {
            let page = PAGES.iter().find(|(path, _)| *path == file.path);
            if let Some(&(path, beginning)) = page {
                headings.extend(headings_of(file, path, beginning));
            }
        }
        for (path, _) in PAGES {
            if headings.iter().all(|heading| heading.file != path) {
                bail!("{path} has no heading that xtask can read");
            }
        }
        Ok(Self(headings))
    }

    /// Whether a citation resolves. A line end may cut off the name of a section.
    fn resolves(&self, name: &str) -> bool {
        let begins = name.contains(", ");
        self.0
            .iter()
            .any(|heading| heading.name == name || (begins && heading.name.starts_with(name)))
    }

    /// Reports headings with equal names, and behaviours that no test names.
    pub(crate) fn check(&self, functions: &Functions<'_>) -> Vec<Finding> {
        let mut findings = Vec::new();
        for (at, heading) in self.0.iter().enumerate() {
            let Heading { file, line, name } = heading;
            if self.0[..at].iter().any(|earlier| earlier.name == *name) {
                let message = format!("`{name}` has a heading already");
                findings.push(Finding::error(file, *line, message));
            }
            if *file == BEHAVIOURS {
                let prefix = format!("{}_", name.to_lowercase().replace('-', "_"));
                if !functions.any_begins_with(&prefix) {
                    let message = format!("no test has a name that begins with `{prefix}`");
                    findings.push(Finding::error(file, *line, message));
                }
            }
        }
        findings
    }
}

/// Returns the headings of a page whose names have the page's prefix.
fn headings_of(file: &TextFile, path: &'static str, beginning: &str) -> Vec<Heading> {
    let lines = file.text.lines().enumerate();
    let headings = lines.filter_map(|(at, line)| {
        let title = line.strip_prefix('#')?.trim_start_matches('#');
        let name = citations_in(title).into_iter().next()?;
        let heading = Heading {
            file: path,
            line: at + 1,
            name,
        };
        heading.name.starts_with(beginning).then_some(heading)
    });
    headings.collect()
}

/// Reports citations in a file that resolve to no heading.
pub(crate) fn check(file: &TextFile, specification: &Specification) -> Vec<Finding> {
    if file.path.starts_with(XTASK) {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for (at, line) in file.text.lines().enumerate() {
        if !MARKS.iter().any(|mark| line.contains(*mark)) {
            continue;
        }
        for name in citations_in(line) {
            if !specification.resolves(&name) {
                let message = format!("`{name}` has no heading in docs/spec");
                findings.push(Finding::error(&file.path, at + 1, message));
            }
        }
    }
    findings
}

/// The document of a section.
#[derive(Debug, Clone, Copy)]
enum Document<'l> {
    /// The line names no document.
    Unknown,
    /// A document outside the specification, such as an RFC.
    Other,
    /// A seed, by its number.
    Seed(&'l str),
}

/// Returns the citations in a line as heading names. A section without a document is `§` and its number.
fn citations_in(line: &str) -> Vec<String> {
    let line = Line(tokens(line));
    let mut names = Vec::new();
    let mut document = Document::Unknown;
    let mut at = 0;
    while at < line.0.len() {
        if line.word(at) == "RFC" {
            document = Document::Other;
        }
        if let Some((seed, name)) = line.seed(at) {
            document = Document::Seed(seed);
            names.extend(name);
        }
        let citation = line
            .behaviour(at)
            .or_else(|| line.rulings(at))
            .or_else(|| line.section(at, document));
        at = match citation {
            Some((next, found)) => {
                names.extend(found);
                next
            }
            None => at + 1,
        };
    }
    names
}

/// The tokens of a line.
struct Line<'l>(Vec<Token<'l>>);

impl<'l> Line<'l> {
    /// Returns the token at an index; empty outside the line.
    fn word(&self, at: usize) -> &'l str {
        self.0.get(at).map_or("", |token| token.text)
    }

    /// Whether a token follows the previous one without a space.
    fn is_joined(&self, at: usize) -> bool {
        let before = at.checked_sub(1).and_then(|before| self.0.get(before));
        match (before, self.0.get(at)) {
            (Some(before), Some(token)) => before.at + before.text.len() == token.at,
            (None, _) | (_, None) => false,
        }
    }

    /// Reads `B000-12`, or a test name `b000_12_…`, and returns the index after it.
    fn behaviour(&self, at: usize) -> Option<(usize, Vec<String>)> {
        let word = self.word(at);
        let number = self.word(at + 2);
        let is_seed = |digits: &str| digits.len() == 3 && is_number(digits);
        let is_id = word.strip_prefix('B').is_some_and(is_seed)
            && self.word(at + 1) == "-"
            && self.is_joined(at + 1)
            && self.is_joined(at + 2)
            && is_number(number);
        if is_id {
            return Some((at + 3, vec![format!("{word}-{number}")]));
        }
        let mut parts = word.strip_prefix('b')?.split('_');
        let seed = parts.next().filter(|part| is_seed(part))?;
        let number = parts.next().filter(|part| is_number(part))?;
        Some((at + 1, vec![format!("B{seed}-{number}")]))
    }

    /// Reads `ruling 28`, `rulings 10 and 28`, or a test name `ruling_11_and_15_…`, and returns the index after it.
    fn rulings(&self, at: usize) -> Option<(usize, Vec<String>)> {
        let word = self.word(at).to_lowercase();
        let name = |number: &str| format!("ruling {number}");
        if let Some(parts) = word.strip_prefix("ruling_") {
            let numbers = parts.split('_').filter(|part| *part != "and");
            let numbers = numbers.take_while(|part| is_number(part));
            return Some((at + 1, numbers.map(name).collect()));
        }
        if word != "ruling" && word != "rulings" {
            return None;
        }
        let mut names = Vec::new();
        let mut next = at + 1;
        while is_number(self.word(next)) {
            names.push(name(self.word(next)));
            next += 1;
            let joins = matches!(self.word(next), "," | "and" | "or" | "to");
            if joins && is_number(self.word(next + 1)) {
                next += 1;
            }
        }
        Some((next, names))
    }

    /// Reads `§2.10` of a document, and returns the index after it.
    fn section(&self, at: usize, document: Document<'_>) -> Option<(usize, Vec<String>)> {
        let is_part = |at: usize| self.is_joined(at) && is_number(self.word(at));
        if self.word(at) != "§" || !is_part(at + 1) {
            return None;
        }
        let mut section = format!("§{}", self.word(at + 1));
        let mut next = at + 2;
        while self.word(next) == "." && self.is_joined(next) && is_part(next + 1) {
            section.push('.');
            section.push_str(self.word(next + 1));
            next += 2;
        }
        let names = match document {
            Document::Unknown => vec![section],
            Document::Other => Vec::new(),
            Document::Seed(seed) => vec![format!("seed {seed} {section}")],
        };
        Some((next, names))
    }

    /// Reads the number of a seed, with the citation of the seed or of a named section. A section number is a separate
    /// token.
    fn seed(&self, at: usize) -> Option<(&'l str, Option<String>)> {
        let number = self.word(at);
        if number.len() != 3 || !number.starts_with("00") || !is_number(number) {
            return None;
        }
        if self.word(at + 1) == "§" {
            return Some((number, None));
        }
        let before = at.checked_sub(1).map_or("", |before| self.word(before));
        let is_named = matches!(before.to_lowercase().as_str(), "seed" | "seeds");
        let is_end = self.is_joined(at) && matches!(before, "," | ".");
        match self.section_name(at + 1, is_named) {
            Some(name) if is_named || !is_end => {
                Some((number, Some(format!("seed {number}, {name}"))))
            }
            Some(_) | None if is_named => Some((number, Some(format!("seed {number}")))),
            Some(_) | None => None,
        }
    }

    /// Reads the capitalised name of a section after the number of a seed: `Request Schema`, or `phase 2C`.
    fn section_name(&self, at: usize, may_be_phase: bool) -> Option<String> {
        let mut at = at;
        for sign in [",", "\""] {
            if self.word(at) == sign {
                at += 1;
            }
        }
        if may_be_phase && self.word(at) == "phase" {
            return Some(format!("phase {}", self.word(at + 1)));
        }
        let is_title = |word: &str| {
            word.starts_with(|c: char| c.is_ascii_uppercase())
                && word.chars().all(char::is_alphabetic)
        };
        let mut words = Vec::new();
        loop {
            let word = self.word(at);
            let joins = word == "and" && !words.is_empty() && is_title(self.word(at + 1));
            if !is_title(word) && !joins {
                break;
            }
            words.push(word);
            at += 1;
        }
        (!words.is_empty()).then(|| words.join(" "))
    }
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCES: &str = "# Sources\n\n## Seed 000: Engine\n\n### Seed 000 §2.2 Skill\n\n### Seed 000 §2.10 Tags\n\n### Seed 000, phase 2C\n\n## Seed 003: agents\n\n### Seed 003, Context and Memory\n\n### Seed 003, Request Schema\n";

    fn pages(behaviours: &str) -> [TextFile; 3] {
        [
            TextFile::new(BEHAVIOURS, behaviours),
            TextFile::new(
                "docs/spec/rulings.md",
                "# Rulings\n\n## Ruling 1: A (B000-1)\n\n## Ruling 28: B\n",
            ),
            TextFile::new("docs/spec/sources.md", SOURCES),
        ]
    }

    fn specification(behaviours: &str) -> Specification {
        Specification::parse(pages(behaviours).iter()).unwrap()
    }

    fn unresolved(line: &str) -> usize {
        let specification = specification("## B000: Engine\n\n### B000-12 Guardrails\n");
        check(&TextFile::new("crates/a/src/a.rs", line), &specification).len()
    }

    #[test]
    fn citations_of_every_form_are_read() {
        let cases: [(&str, &[&str]); 17] = [
            ("(B000-12, B001-4, -6)", &["B000-12", "B001-4"]),
            ("fn b000_12_it_is_strict() {", &["B000-12"]),
            ("fn b003_nothing_is_allowed() {", &[]),
            ("RFC B-000-1, XB000-1", &[]),
            (
                "Rulings 10, 27 and 28: 5 calls",
                &["ruling 10", "ruling 27", "ruling 28"],
            ),
            (
                "fn ruling_11_and_15_inputs() {",
                &["ruling 11", "ruling 15"],
            ),
            ("the ruling carries a note", &[]),
            (
                "seed 000 §2.4, §2.10.",
                &["seed 000 §2.4", "seed 000 §2.10"],
            ),
            ("(000 §2.2 `context`)", &["seed 000 §2.2"]),
            (
                "seed 002 names `mission_type` (§4)",
                &["seed 002", "seed 002 §4"],
            ),
            ("RFC 9162 §2.1.3.2 and §2.1.4.2", &[]),
            ("§2.12), and so has a tool", &["§2.12"]),
            (
                "seed 003, Tool Result Schema\"",
                &["seed 003, Tool Result Schema"],
            ),
            ("(003 Request Schema)", &["seed 003, Request Schema"]),
            ("Seed 000, phase 7: a model", &["seed 000, phase 7"]),
            (
                "003 \"Context and Memory\"",
                &["seed 003, Context and Memory"],
            ),
            ("1,000 Times, seed 000. Each", &["seed 000"]),
        ];
        for (line, names) in cases {
            assert_eq!(citations_in(line), names, "{line}");
        }
    }

    #[test]
    fn a_citation_resolves_to_a_heading() {
        for line in [
            "B000-12 and ruling 28",
            "seed 000 §2.2, §2.10",
            "seed 000, phase 2C",
            "seed 003, Request",
            "no citation",
        ] {
            assert_eq!(unresolved(line), 0, "{line}");
        }
        for line in [
            "B000-1",
            "ruling 2",
            "seed 000 §2.1",
            "seed 000 §2",
            "seed 001",
            "seed 003, Response Schema",
            "see §2.2",
        ] {
            assert_eq!(unresolved(line), 1, "{line}");
        }
    }

    #[test]
    fn a_behaviour_needs_a_test_and_one_heading() {
        let code = [TextFile::new(
            "crates/a/tests/a.rs",
            "fn b000_12_a_test() {}\nfn b000_10_a_test() {}\n",
        )];
        let functions = Functions::new(code.iter());
        let specification =
            specification("### B000-12 A\n\n### B000-1 B\n\n### B000-12 C\n\n#### B000-10 D\n");
        let findings = specification.check(&functions);
        let lines: Vec<usize> = findings.iter().map(|finding| finding.line).collect();
        assert_eq!(lines, [3, 5]);
    }

    #[test]
    fn a_page_without_headings_is_an_error() {
        assert!(Specification::parse(pages("# Behaviours\n").iter()).is_err());
        assert!(Specification::parse(pages("### B000-1 A\n")[..2].iter()).is_err());
    }
}
