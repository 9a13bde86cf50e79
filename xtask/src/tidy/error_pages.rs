//! Checks that every public error code has a page, every page has a code, and the list names all pages.

use anyhow::bail;

use crate::finding::Finding;
use crate::workspace::{TextFile, Workspace};

/// File that declares the codes.
const CODES: &str = "crates/contract/src/error_code.rs";

/// Directory of the pages.
const PAGES: &str = "docs/errors/";

/// Path of the list of pages.
const LIST: &str = "docs/errors/README.md";

/// A declared code.
#[derive(Debug, PartialEq, Eq)]
struct Code<'t> {
    line: usize,
    name: &'t str,
}

/// Reports codes without pages and pages without codes.
///
/// # Errors
/// If no codes are found, because the check would then pass vacuously.
pub(crate) fn check(workspace: &Workspace) -> anyhow::Result<Vec<Finding>> {
    let declared = workspace.files.iter().find(|file| file.path == CODES);
    let codes = declared.map(|file| codes(&file.text)).unwrap_or_default();
    if codes.is_empty() {
        bail!("{CODES} declares no error code that xtask can read");
    }
    let pages: Vec<&TextFile> = workspace
        .markdown()
        .filter(|file| file.path.starts_with(PAGES))
        .collect();
    Ok(compare(&codes, &pages))
}

/// Returns the codes in the `error_codes!` table: lines of the form `Variant = "code", …`.
fn codes(text: &str) -> Vec<Code<'_>> {
    let lines = text.lines().enumerate();
    let table = lines
        .skip_while(|(_, line)| *line != "error_codes! {")
        .skip(1)
        .take_while(|(_, line)| *line != "}");
    table
        .filter_map(|(at, line)| {
            let (variant, rest) = line.trim().split_once(" = \"")?;
            let (name, _) = rest.split_once('"')?;
            let is_variant = variant.chars().all(char::is_alphanumeric);
            is_variant.then_some(Code { line: at + 1, name })
        })
        .collect()
}

fn compare(codes: &[Code<'_>], pages: &[&TextFile]) -> Vec<Finding> {
    let page = |path: &str| pages.iter().find(|page| page.path == path);
    let mut findings = Vec::new();
    for Code { line, name } in codes {
        let path = format!("{PAGES}{name}.md");
        match page(&path) {
            None => {
                let message = format!("the code `{name}` has no page {path}");
                findings.push(Finding::error(CODES, *line, message));
            }
            Some(page) if !page.text.starts_with(&format!("# `{name}`\n")) => {
                let message = format!("the page opens with the heading # `{name}`");
                findings.push(Finding::error(&path, 1, message));
            }
            Some(_) => {}
        }
        let listed = |list: &&TextFile| list.text.contains(&format!("({name}.md)"));
        if !page(LIST).is_some_and(listed) {
            let message = format!("the list does not name `{name}`");
            findings.push(Finding::error(LIST, 1, message));
        }
    }
    let orphans = pages.iter().filter(|page| {
        let name = page.path[PAGES.len()..].trim_end_matches(".md");
        page.path != LIST && codes.iter().all(|code| code.name != name)
    });
    findings.extend(orphans.map(|page| {
        let message = format!("no code of {CODES} has this page");
        Finding::error(&page.path, 1, message)
    }));
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "macro_rules! error_codes {\n    ($x:ident) => {};\n}\n\nerror_codes! {\n    /// One.\n    NotFound = \"not_found\", InputError, no, \"Say \", \"x = \";\n    Internal = \"internal\", SystemError, no, \"m\", \"h\";\n}\n\nconst A: &str = \"a\";\n";

    fn page(path: &str, text: &str) -> TextFile {
        TextFile {
            path: path.to_owned(),
            text: text.to_owned(),
        }
    }

    #[test]
    fn codes_are_read_from_the_table() {
        let expected = [("not_found", 7), ("internal", 8)];
        assert_eq!(
            codes(TABLE),
            expected.map(|(name, line)| Code { line, name })
        );
    }

    #[test]
    fn every_code_has_a_page_and_every_page_a_code() {
        let list = page(LIST, "- [a](not_found.md)\n- [b](internal.md)\n");
        let not_found = page("docs/errors/not_found.md", "# `not_found`\n");
        let internal = page("docs/errors/internal.md", "# `internal`\n");
        assert_eq!(compare(&codes(TABLE), &[&list, &not_found, &internal]), []);

        let gone = page("docs/errors/gone.md", "# `gone`\n");
        let wrong = page("docs/errors/internal.md", "# Internal\n");
        let short = page(LIST, "- [b](internal.md)\n");
        let found = compare(&codes(TABLE), &[&short, &wrong, &gone]);
        let places: Vec<(&str, usize)> = found.iter().map(|f| (f.file.as_str(), f.line)).collect();
        assert_eq!(
            places,
            [
                (CODES, 7),
                (LIST, 1),
                ("docs/errors/internal.md", 1),
                ("docs/errors/gone.md", 1)
            ]
        );
    }
}
